//! Suggested fixes, as data.

use crate::source::Span;

/// An edit that fixes a problem, such as the correct name of a misspelled field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// The range that is replaced.
    pub span: Span,
    /// The new text, exactly as it is written to the file.
    pub replacement: String,
    /// The confidence in the fix, which determines if a program may apply it.
    pub applicability: Applicability,
}

/// The confidence in a fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applicability {
    /// The fix is probably correct, but the user should review it.
    MaybeIncorrect,
    /// The fix is always correct, since no other meaning is possible.
    MachineApplicable,
}
