use super::label_value::LABELS;
use super::prelude::*;
use crate::names::is_qualified_name;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "qualified-name",
        meaning: "The key of a label, annotation, taint or topology constraint is not a qualified name.",
        remedy: "Use a name such as `app` or `example.com/app`: letters, digits, `-`, `_` and `.`, with an optional DNS prefix and `/`.",
    },
    why: "A key has at most 63 characters, starts and ends with an alphanumeric character, and may have a DNS \
          subdomain and `/` in front. Keys with spaces or two slashes are typical mistakes.",
    documentation: "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set",
    example: "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web, labels: {\"the app\": web}}
data: {mode: prod}
",
    fix: ("\"the app\":", "app:"),
    checks: &[
    ("ServicePort appProtocol", Check::RequiredString(QUALIFIED)),
    (
        "MatchCondition name; PodAffinityTerm topologyKey; PodReadinessGate conditionType; PodSchedulingGate name;
        ServiceSpec loadBalancerClass; Taint key; TopologySelectorLabelRequirement key;
        TopologySpreadConstraint topologyKey",
        Check::RequiredString(QUALIFIED),
    ),
    ("Toleration key", Check::OptionalString(QUALIFIED)),
    ("LabelSelectorRequirement key; NodeSelectorRequirement key", Check::AnyString(QUALIFIED)),
    // The API server converts provisioners to lowercase before it validates them.
    ("StorageClass provisioner", Check::RequiredString((|text| is_qualified_name(&text.to_lowercase()), WANTED))),
    (LABELS, Check::Field(|subject, field, violations| keys(subject, field, is_qualified_name, violations))),
    (
        "ObjectMeta annotations",
        Check::Field(|subject, field, violations| {
            keys(subject, field, |key| is_qualified_name(&key.to_ascii_lowercase()), violations);
        }),
    ),
    ],
    ..ValidationRule::DEFAULT
};

const WANTED: &str = "a name such as `app` or `example.com/app`";
const QUALIFIED: StringFormat = (is_qualified_name, WANTED);

fn keys(subject: Subject<'_>, field: &str, form: fn(&str) -> bool, violations: &mut RuleViolations) {
    for key in subject.entries(field).iter().map(|entry| &entry.key).filter(|key| !form(&key.text)) {
        let path = [Field(field), Field(&key.text)];
        violations.report_at(&path, key.meta.span, format!("the key must be {WANTED}"));
    }
}
