//! The findings of validation, as data.

use super::rule::ValidationRule;
use smp_text::diagnostic::{Diagnostic, Severity};
use smp_text::path::FieldPath;
use smp_text::source::Span;

/// A reason why the API server rejects an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: &'static ValidationRule,
    /// The path of the field.
    pub path: FieldPath,
    /// The location of the value. For an unknown field that of its key, for a missing field that of the
    /// surrounding map.
    pub at: Span,
    /// The message: lower case, without a full stop and without the value.
    pub message: String,
    /// A suggestion for fixing the violation.
    pub help: Option<String>,
    /// Error: rejected. Warning: accepted, but still a problem. Note: not checked.
    pub severity: Severity,
}

impl Violation {
    /// Creates a violation that the API server rejects.
    pub(super) fn error(
        rule: &'static ValidationRule,
        path: FieldPath,
        at: Span,
        message: impl Into<String>,
    ) -> Self {
        Self { rule, path, at, message: message.into(), help: None, severity: Severity::Error }
    }

    pub(super) fn help(mut self, help: Option<String>) -> Self {
        self.help = help;
        self
    }

    pub(super) fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// Converts the violation to a diagnostic.
    #[must_use]
    pub fn into_diagnostic(self) -> Diagnostic {
        let code = self.rule.diagnostic_code();
        let diagnostic = match self.severity {
            Severity::Error => Diagnostic::error(code, self.message),
            Severity::Warning => Diagnostic::warning(code, self.message),
            Severity::Note => Diagnostic::info(code, self.message),
        };
        let diagnostic = diagnostic.at(self.at).field(&self.path);
        self.help.into_iter().fold(diagnostic, Diagnostic::help)
    }
}
