//! What most likely mends a problem, as data.

use crate::source::Span;

/// A change of one text that most likely mends a problem, such as the name of the field that was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What is replaced.
    pub span: Span,
    /// By what, as it has to stand there.
    pub replacement: String,
    /// Whether a program may do it.
    pub applicability: Applicability,
}

/// How sure it is that a change mends a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applicability {
    /// Most likely: a person should look.
    Likely,
    /// Certain: the meaning that is left is the only one that there can be.
    Certain,
}
