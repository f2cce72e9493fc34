use super::prelude::*;
use crate::names::is_label_value;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "label-value",
        meaning: "The value of a label has invalid characters or is too long.",
        remedy: "Use letters, digits, `-`, `_` and `.`, at most 63 characters; other texts belong in an annotation.",
    },
    why: "Labels are indexed for selectors, so their values are short and plain. They begin and end with a letter or digit.",
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

/// The fields whose values are labels.
pub(super) const LABELS: &str = "LabelSelector matchLabels; ObjectMeta labels; PodSpec nodeSelector; \
                                 ReplicationControllerSpec selector; Scheduling nodeSelector; ServiceSpec selector";

const MESSAGE: &str = "the value of a label has letters, digits, `-`, `_` and `.`, 63 at most";

fn is_wrong(value: &Node) -> bool {
    value.as_str().is_some_and(|text| !is_label_value(text))
}

fn values(of: Subject<'_>, field: &str, faults: &mut Faults) {
    for (key, _) in of.map(field).filter(|(_, value)| is_wrong(value)) {
        faults.at(of, &[Field(field), Field(key)], MESSAGE);
    }
}

fn requirement_values(of: Subject<'_>, faults: &mut Faults) {
    for (i, _) in of.list("values").iter().enumerate().filter(|(_, value)| is_wrong(value)) {
        faults.at(of, &[Field("values"), Entry(i)], MESSAGE);
    }
}
