//! Errors of printing, with the path from the root to the failing node.
//!
//! The path is only built while an error is returned. Successful printing does not track paths.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// The maximum nesting depth of trees that can be printed. It is sufficient for a parsed document (whose depth is
/// limited) with patches to its leaves. Code that copies values to other locations must also check this limit.
pub const MAX_DEPTH: usize = 512;

/// An error, and the steps from the failing node to the root, the innermost first.
pub(super) struct PrintError {
    diagnostic: Diagnostic,
    steps: Vec<String>,
}

/// The return type of functions that print.
pub(super) type PrintResult = Result<(), PrintError>;

impl PrintError {
    pub(super) fn new(code: Code, message: impl Into<String>, span: Span) -> Self {
        Self { diagnostic: Diagnostic::error(code, message).at(span), steps: Vec::new() }
    }

    /// Creates the error for a number that neither JSON nor kustomize's YAML can represent.
    pub(super) fn not_finite(span: Span) -> Self {
        Self::new(Code::InvalidValue, "infinity and NaN cannot be represented in JSON", span)
    }

    /// Creates the error for a character that kustomize's YAML cannot represent.
    pub(super) fn forbidden(c: char, span: Span) -> Self {
        let message = format!("character U+{:04X} cannot be represented in YAML", u32::from(c));
        Self::new(Code::InvalidValue, message, span)
    }

    pub(super) fn too_deep(span: Span) -> Self {
        let message = format!("maps and lists nest more than {MAX_DEPTH} levels deep");
        Self::new(Code::LimitExceeded, message, span)
    }

    /// Adds a help text.
    pub(super) fn help(self, help: &str) -> Self {
        Self { diagnostic: self.diagnostic.help(help), steps: self.steps }
    }

    /// Prepends a field to the path of the error.
    pub(super) fn in_field(mut self, name: &str) -> Self {
        let simple = |b: u8| b.is_ascii_alphanumeric() || b"_-$".contains(&b);
        self.steps.push(if !name.is_empty() && name.bytes().all(simple) {
            format!(".{name}")
        } else {
            format!("[{name:?}]")
        });
        self
    }

    /// Prepends a list entry to the path of the error.
    pub(super) fn in_entry(mut self, index: usize) -> Self {
        self.steps.push(format!("[{index}]"));
        self
    }

    pub(super) fn into_diagnostic(self) -> Diagnostic {
        let mut path = String::new();
        for step in self.steps.iter().rev() {
            let step = if path.is_empty() { step.strip_prefix('.').unwrap_or(step) } else { step };
            path.push_str(step);
        }
        if path.is_empty() { self.diagnostic } else { self.diagnostic.field(path) }
    }
}
