use super::prelude::*;
use crate::names::is_label_value;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "label-value",
        meaning: "The value of a label contains invalid characters or is too long.",
        remedy: "Use at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends. Put other values in an annotation.",
    },
    why: "The API server limits label values to 63 characters. Git branch names and timestamps are typical offenders.",
    documentation: "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set",
    example: "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web, labels: {app: \"web server\"}}
data: {mode: prod}
",
    fix: ("\"web server\"", "web-server"),
    checks: &[(LABELS, Check::Field(values)), ("LabelSelectorRequirement", Check::Type(requirement_values))],
    ..ValidationRule::DEFAULT
};

/// The fields that contain labels.
pub(super) const LABELS: &str = "LabelSelector matchLabels; ObjectMeta labels; PodSpec nodeSelector; \
                                 ReplicationControllerSpec selector; Scheduling nodeSelector; ServiceSpec selector";

const MESSAGE: &str = "a label value must have at most 63 letters, digits, `-`, `_` or `.`, and begin and end with a letter or digit";

fn is_wrong(value: &Node) -> bool {
    value.as_str().is_some_and(|text| !is_label_value(text))
}

fn values(subject: Subject<'_>, field: &str, violations: &mut RuleViolations) {
    for (key, _) in subject.map(field).filter(|(_, value)| is_wrong(value)) {
        violations.report_path(subject, &[Field(field), Field(key)], MESSAGE);
    }
}

fn requirement_values(subject: Subject<'_>, violations: &mut RuleViolations) {
    for (i, _) in subject.list("values").iter().enumerate().filter(|(_, value)| is_wrong(value)) {
        violations.report_path(subject, &[Field("values"), Entry(i)], MESSAGE);
    }
}
