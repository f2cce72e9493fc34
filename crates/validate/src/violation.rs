//! The findings of validation, as data.

use super::rule::ValidationRule;
use smp_text::diagnostic::{Diagnostic, Severity};
use smp_text::path::{FieldPath, PathElement};
use smp_text::source::Span;

/// A finding about an object: in most cases, a reason why the API server rejects it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: &'static ValidationRule,
    /// The path of the field.
    pub path: FieldPath,
    /// The location of the value. For an unknown field it is the location of the key, for a missing field that of the
    /// surrounding map.
    pub at: Span,
    /// The message with its subject: lower case, without a full stop.
    pub message: String,
    /// A suggestion for fixing the violation.
    pub help: Option<String>,
    /// Error: the API server rejects the object. Warning: the API server accepts it, but it has a problem. Note:
    /// something was not checked.
    pub severity: Severity,
}

impl Violation {
    /// Creates a violation that the API server rejects. If the message begins with a verb, such as `must be a port`, its
    /// subject is the field at the end of the path.
    pub(super) fn error(
        rule: &'static ValidationRule,
        path: FieldPath,
        at: Span,
        message: impl Into<String>,
    ) -> Self {
        let message = with_subject(message.into(), &path);
        Self { rule, path, at, message, help: None, severity: Severity::Error }
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

/// The first words of messages that have no subject. `with_subject` adds one.
const VERBS: [&str; 5] = ["must ", "may ", "is ", "requires ", "cannot "];

/// Adds the subject to a message that begins with a verb.
fn with_subject(message: String, path: &FieldPath) -> String {
    if !VERBS.iter().any(|verb| message.starts_with(verb)) {
        return message;
    }
    let field = path.elements().iter().rev().find_map(|element| match element {
        PathElement::Field(name) => Some(name),
        _ => None,
    });
    match (path.elements().last(), field) {
        (Some(PathElement::Field(name)), _) => format!("`{name}` {message}"),
        (_, Some(list)) => format!("the entry of `{list}` {message}"),
        (_, None) => format!("the object {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_their_subject() {
        let path = |names: &[&str]| names.iter().fold(FieldPath::root(), |path, name| path.field(*name));
        let ports = path(&["spec", "ports"]);
        let entry: FieldPath = ports.elements().iter().cloned().chain([PathElement::Index(0)]).collect();
        let table = [
            (path(&["spec", "port"]), "must be a port", "`port` must be a port"),
            (entry, "requires a name", "the entry of `ports` requires a name"),
            (FieldPath::root(), "must be a map", "the object must be a map"),
            (path(&["spec"]), "unknown field `a`", "unknown field `a`"),
        ];
        for (path, message, want) in table {
            assert_eq!(with_subject(message.to_string(), &path), want);
        }
    }
}
