//! What stops printing, and the way from it up to the root.
//!
//! The path is put together only while an error travels up; printing itself keeps none.

use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

/// How deep trees may nest to be printed: what a bounded parse and patches to its leaves make. What copies values to
/// other places keeps to it.
pub const MAX_DEPTH: usize = 512;

/// An error and the steps that lead to it, the innermost first.
pub(super) struct PrintFailure {
    diagnostic: Diagnostic,
    steps: Vec<String>,
}

/// What the functions that print return.
pub(super) type Printed = Result<(), PrintFailure>;

impl PrintFailure {
    pub(super) fn new(code: Code, message: impl Into<String>, span: Span) -> Self {
        Self { diagnostic: Diagnostic::error(code, message).at(span), steps: Vec::new() }
    }

    /// A number that neither JSON nor kustomize's YAML can write.
    pub(super) fn not_finite(span: Span) -> Self {
        Self::new(Code::InvalidValue, "infinity and NaN cannot be written as JSON", span)
    }

    /// A character that kustomize's YAML cannot write.
    pub(super) fn forbidden(c: char, span: Span) -> Self {
        let message = format!("the character U+{:04X} cannot be written as YAML", u32::from(c));
        Self::new(Code::InvalidValue, message, span)
    }

    pub(super) fn too_deep(span: Span) -> Self {
        let message = format!("maps and lists nest more than {MAX_DEPTH} levels deep");
        Self::new(Code::LimitExceeded, message, span)
    }

    /// What to do about it.
    pub(super) fn help(self, help: &str) -> Self {
        Self { diagnostic: self.diagnostic.help(help), steps: self.steps }
    }

    /// The error happened in, or below, this field.
    pub(super) fn in_field(mut self, name: &str) -> Self {
        let simple = |b: u8| b.is_ascii_alphanumeric() || b"_-$".contains(&b);
        self.steps.push(if !name.is_empty() && name.bytes().all(simple) {
            format!(".{name}")
        } else {
            format!("[{name:?}]")
        });
        self
    }

    /// The error happened in, or below, this entry of a list.
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
