//! Rule: YAML reads an unquoted scalar differently than it looks.

use crate::check::quoting::ScalarFixes;
use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use crate::check::target::CheckedTarget;
use smp_merge::schema::{Cursor, TypeKind};
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::{Node, Resolved, parse_yaml_1_1_bool, resolve_plain};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "ambiguous-scalar",
        meaning: "YAML reads an unquoted value as another type or another value.",
        remedy: "Quote the value if a string is meant. Write `true` or `false` if a boolean is meant.",
    }),
    title: "Unquoted value with a surprising type",
    group: RuleGroup::UnintendedResult,
    severity: Severity::Error,
    default: RuleDefault::Enabled,
    scope: RuleScope::Overlays,
    why: "`0777`, `1.10`, `12e3`, `1_000` and `True` are numbers and a boolean, and reach the server as `511`, \
          `1.1`, `12000`, `1000` and `true`. kubectl reads `yes`, `on` and the like as booleans (YAML 1.1), but \
          kustomize reads them as strings (YAML 1.2). In a field of type string, they are reported as errors. Two cases are \
          warnings: a date, which kustomize prints in another format, and a key such as `on` or `n`, which kubectl \
          reads as `true` or `false`.",
    suppress: Some("The converted value is the intended one."),
    documentation: "https://yaml.org/spec/1.2.2/",
    bad: &[
        ("kustomization.yaml", "resources: [map.yaml]\n"),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {release: 1.10}\n"),
    ],
    good: &[
        ("kustomization.yaml", "resources: [map.yaml]\n"),
        ("map.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {release: \"1.10\"}\n"),
    ],
    finder: Finder::Schema,
};

/// An unquoted scalar with another type than its field.
pub(in crate::check) struct PlainScalar<'n> {
    at: Span,
    written: String,
    value: Resolved<'n>,
    cursor: Cursor<'n>,
}

impl<'n> PlainScalar<'n> {
    /// Creates the scalar, or returns `None` if it is quoted or generated.
    pub(in crate::check) fn new(node: &'n Node, cursor: Cursor<'n>, sources: &SourceMap) -> Option<Self> {
        let (at, value) = (node.span(), node.resolve()?);
        let written = sources.text_at(at)?;
        let is_read = resolve_plain(&written) == value
            || parse_yaml_1_1_bool(&written).is_some_and(|own| Resolved::Bool(own) == value);
        (is_read && !written.is_empty()).then_some(Self { at, written, value, cursor })
    }

    /// Returns a finding if the type is surprising. The finding never contains the value, which may be a secret.
    pub(in crate::check) fn surprise(&self, quoting: &ScalarFixes<'_, '_>) -> Option<Diagnostic> {
        match (self.cursor.type_kind(), self.value) {
            (TypeKind::Boolean, Resolved::Str(text)) => {
                let meant = if parse_yaml_1_1_bool(text)? { "true" } else { "false" };
                let message =
                    "YAML 1.2 reads this value as a string, but the field must be `true` or `false`";
                let finding = Diagnostic::error(RULE.code, message).at(self.at);
                let finding = finding.help(format!("write `{meant}`"));
                Some(quoting.replaced(finding, self.at, (meant, TypeKind::Boolean)))
            }
            (TypeKind::String, value) if self.written != printed(value)? => {
                let message =
                    format!("YAML reads this value as {}, but the field must be a string", value.type_name());
                let finding = Diagnostic::error(RULE.code, message).at(self.at).help("quote the value");
                Some(self.quoted(finding, quoting))
            }
            _ => None,
        }
    }

    /// Adds a fix that quotes the scalar, if the field accepts any string.
    pub(in crate::check) fn quoted(&self, finding: Diagnostic, quoting: &ScalarFixes<'_, '_>) -> Diagnostic {
        let is_text = self.cursor.type_kind() == TypeKind::String
            && self.cursor.type_name().is_none()
            && self.cursor.constraints_text().is_none();
        if is_text && self.value != Resolved::Null { quoting.quoted(finding, self.at) } else { finding }
    }
}

/// Returns a value that is not a string as it is printed.
fn printed(value: Resolved<'_>) -> Option<String> {
    match value {
        Resolved::Null => Some("null".into()),
        Resolved::Bool(value) => Some(value.to_string()),
        Resolved::Int(value) => Some(value.to_string()),
        Resolved::UInt(value) => Some(value.to_string()),
        Resolved::Float(value) => Some(value.to_string()),
        Resolved::Timestamp(_) | Resolved::Str(_) => None,
    }
}

/// Reports dates in string fields that are printed differently than they are written.
pub(in crate::check) fn dates(target: &CheckedTarget<'_>, quoting: &ScalarFixes<'_, '_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for resource in target.resources() {
        target.walk(resource, &mut |visit| {
            let is_text = visit.cursor.type_kind() == TypeKind::String && visit.cursor.type_name().is_none();
            let Some(Resolved::Timestamp(_)) = visit.node.resolve().filter(|_| is_text) else { return };
            let Some(date) = PlainScalar::new(visit.node, visit.cursor, target.sources) else { return };
            // The value is printed as it was written.
            if date.value == Resolved::Str(&date.written) {
                return;
            }
            let message = "YAML reads this value as a date, which is printed in another format";
            let finding = Diagnostic::warning(RULE.code, message).at(date.at).help("quote the value");
            let finding = finding.resource(resource.id()).field(visit.path());
            found.push(date.quoted(finding, quoting));
        });
    }
    found
}

/// Reports keys that kubectl reads as YAML 1.1 booleans.
pub(in crate::check) fn keys(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for resource in target.resources() {
        target.walk(resource, &mut |visit| {
            let Some(key) = visit.entry.map(|entry| &entry.key) else { return };
            if !matches!(key.text.as_str(), "true" | "false") {
                return;
            }
            let written = target.sources.text_at(key.meta.span).unwrap_or_default();
            if parse_yaml_1_1_bool(&written).is_none() {
                return;
            }
            let message = format!("kubectl reads this key as `{}`", key.text);
            let finding = Diagnostic::warning(RULE.code, message).at(key.meta.span).help("quote the key");
            let finding = finding.resource(resource.id()).field(visit.path());
            found.push(finding.fix(key.meta.span, format!("\"{written}\"")));
        });
    }
    found
}
