//! A scalar without quotes that YAML reads as something else than it looks.

use crate::check::quoting::Quoting;
use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use crate::check::target::CheckedTarget;
use smp_merge::schema::{Cursor, TypeKind};
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::source::{SourceMap, Span};
use smp_text::yaml::{Node, Resolved, old_boolean, resolve_plain};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "yaml-surprise",
        meaning: "A scalar without quotes that YAML reads as something else than it looks.",
        remedy: "Put it in quotes where a text is meant; write `true` or `false` where a boolean is.",
    }),
    name: "Scalar that YAML reads in another way",
    group: RuleGroup::MeansElse,
    severity: Severity::Error,
    standing: RuleStanding::On,
    reach: RuleReach::Users,
    why: "`0777`, `1.10`, `12e3`, `1_000` and `True` are numbers and a boolean, which are written in another way when a \
          server has them: `511`, `1.1`, `12000`, `1000`, `true`. `yes`, `on` and their like are booleans where kubectl reads \
          them (YAML 1.1), and texts in what a kustomization loads (YAML 1.2). A date in a kustomization becomes a time. \
          Where a text is wanted, the first are refused, and the date is changed, which is a warning. A key such as `on` or \
          `n` in a manifest that kubectl reads is `true` or `false` for it, which is a warning, too.",
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

/// A scalar without quotes that is of another type than its field.
pub(in crate::check) struct PlainScalar<'n> {
    at: Span,
    written: String,
    value: Resolved<'n>,
    cursor: Cursor<'n>,
}

impl<'n> PlainScalar<'n> {
    /// None for what is written otherwise, or made by something.
    pub(in crate::check) fn of(node: &'n Node, cursor: Cursor<'n>, sources: &SourceMap) -> Option<Self> {
        let (at, value) = (node.span(), node.resolve()?);
        let written = sources.written(at)?;
        let is_read = resolve_plain(&written) == value
            || old_boolean(&written).is_some_and(|own| Resolved::Bool(own) == value);
        (is_read && !written.is_empty()).then_some(Self { at, written, value, cursor })
    }

    /// What there is to say of it, if it is a surprise. No value is told: it may be secret.
    pub(in crate::check) fn surprise(&self, quoting: &Quoting<'_, '_>) -> Option<Diagnostic> {
        match (self.cursor.type_kind(), self.value) {
            (TypeKind::Boolean, Resolved::Str(text)) => {
                let meant = if old_boolean(text)? { "true" } else { "false" };
                let message = "YAML 1.2 reads this as a text, and this must be `true` or `false`";
                let finding = Diagnostic::error(RULE.code, message).at(self.at);
                let finding = finding.help(format!("write `{meant}`"));
                Some(quoting.replaced(finding, self.at, (meant, TypeKind::Boolean)))
            }
            (TypeKind::String, value) if self.written != printed(value)? => {
                let message =
                    format!("YAML reads this as {}, and not as the text that it is", value.type_name());
                let finding = Diagnostic::error(RULE.code, message).at(self.at).help("put it in quotes");
                Some(self.quoted(finding, quoting))
            }
            _ => None,
        }
    }

    /// A finding with what puts it in quotes, where a text is wanted and no more than that.
    pub(in crate::check) fn quoted(&self, finding: Diagnostic, quoting: &Quoting<'_, '_>) -> Diagnostic {
        let is_text = self.cursor.type_kind() == TypeKind::String
            && self.cursor.type_name().is_none()
            && self.cursor.constraints_text().is_none();
        if is_text && self.value != Resolved::Null { quoting.quoted(finding, self.at) } else { finding }
    }
}

/// How a value is printed that is no text.
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

/// Dates that are printed as other texts than they are written as, where texts are wanted.
pub(in crate::check) fn dates(target: &CheckedTarget<'_>, quoting: &Quoting<'_, '_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for resource in target.resources() {
        target.walk(resource, &mut |visit| {
            let is_text = visit.cursor.type_kind() == TypeKind::String && visit.cursor.type_name().is_none();
            let Some(Resolved::Timestamp(_)) = visit.node.resolve().filter(|_| is_text) else { return };
            let Some(date) = PlainScalar::of(visit.node, visit.cursor, target.sources) else { return };
            // It is equal to the text that it is printed as.
            if date.value == Resolved::Str(&date.written) {
                return;
            }
            let message = "YAML reads this as a date, which is printed as another text";
            let finding = Diagnostic::warning(RULE.code, message).at(date.at).help("put it in quotes");
            let finding = finding.resource(resource.id()).field(visit.path());
            found.push(date.quoted(finding, quoting));
        });
    }
    found
}

/// Keys that are read as something else than they are written as: those of YAML 1.1 in what kubectl reads.
pub(in crate::check) fn keys(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for resource in target.resources() {
        target.walk(resource, &mut |visit| {
            let Some(key) = visit.entry.map(|entry| &entry.key) else { return };
            if !matches!(key.text.as_str(), "true" | "false") {
                return;
            }
            let written = target.sources.written(key.meta.span).unwrap_or_default();
            if old_boolean(&written).is_none() {
                return;
            }
            let message = format!("kubectl reads this key as `{}`", key.text);
            let finding = Diagnostic::warning(RULE.code, message).at(key.meta.span).help("put it in quotes");
            let finding = finding.resource(resource.id()).field(visit.path());
            found.push(finding.fix(key.meta.span, format!("\"{written}\"")));
        });
    }
    found
}
