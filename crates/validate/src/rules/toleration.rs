use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "toleration",
        meaning: "Fields of a toleration contradict each other.",
        remedy: "Use `operator: Exists` without a value, or `Equal` with a key and a value. Use `tolerationSeconds` only with `effect: NoExecute`.",
    },
    why: "A contradictory toleration could match no taint, so the Pod would never be scheduled to the intended \
          nodes.",
    documentation: "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
    example: pod!("tolerations: [{key: gpu, operator: Exists, value: large}]"),
    fix: ("Exists, value: large", "Exists"),
    checks: &[("Toleration", Check::Type(toleration))],
    ..ValidationRule::DEFAULT
};

fn toleration(subject: Subject<'_>, violations: &mut RuleViolations) {
    let operator = subject.text_or_empty("operator");
    if subject.text_or_empty("key").is_empty() && operator != "Exists" {
        violations.report_field(subject, "operator", "must be `Exists` if `key` is empty");
    }
    if operator == "Exists" && !subject.text_or_empty("value").is_empty() {
        violations.report_field(subject, "value", "must be empty if `operator` is `Exists`");
    }
    if subject.get("tolerationSeconds").is_some() && subject.text("effect") != Some("NoExecute") {
        violations.report_field(subject, "effect", "must be `NoExecute` if `tolerationSeconds` is set");
    }
}
