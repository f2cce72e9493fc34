//! What most likely mends a problem, as data.

use crate::source::Span;

/// A change of one text that most likely mends a problem, such as the name of the field that was meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What is replaced.
    pub span: Span,
    /// By what, as it has to stand there.
    pub replacement: String,
}
