//! What validation finds, as data.

use super::rule::ValidationRule;
use smp_text::diagnostic::{Diagnostic, Severity};
use smp_text::path::FieldPath;
use smp_text::source::Span;

/// One reason for which a server would refuse an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: &'static ValidationRule,
    /// The field.
    pub path: FieldPath,
    /// The place of the value; of the key for an unknown field, of the map around it for a missing one.
    pub at: Span,
    /// What is wrong, in a sentence without a capital or a full stop, and without the value.
    pub message: String,
    /// What can be done.
    pub help: Option<String>,
    /// Error: refused. Warning: taken, and still a problem. Note: not checked.
    pub severity: Severity,
}

impl Violation {
    /// What a server refuses.
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

    /// The same as a diagnostic.
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
