//! Suggested fixes, as data.

use crate::source::Span;

/// An edit that fixes a problem, such as the correct name of a misspelled field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// The part that is replaced.
    pub span: Span,
    /// The new text, exactly as it is written to the file.
    pub replacement: String,
    /// The confidence in the fix, which decides whether a program may apply it.
    pub applicability: Applicability,
}

/// The confidence in a fix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applicability {
    /// Probably correct; the user should review it.
    MaybeIncorrect,
    /// Always correct: no other meaning is possible.
    MachineApplicable,
}
