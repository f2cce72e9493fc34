//! Why an object is not applied.

use crate::failure::Refusal;
use smp_text::diagnostic::Diagnostic;

/// Why an object is not applied.
pub(super) enum Unapplied {
    /// There was no answer.
    Unanswered(Diagnostic),
    Refused(Refusal),
    Problem(Diagnostic),
}
