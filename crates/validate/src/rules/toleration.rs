use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "toleration",
        meaning: "Fields of a toleration contradict each other.",
        remedy: "Use `operator: Exists` without a value, or `Equal` with a key and a value; `tolerationSeconds` needs `effect: NoExecute`.",
    },
    why: "The API server rejects combinations of fields that can match no taint.",
    documentation: "https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/",
    example: pod!("tolerations: [{key: gpu, operator: Exists, value: large}]"),
    fix: ("Exists, value: large", "Exists"),
    checks: &[("Toleration", Check::Type(toleration))],
    ..ValidationRule::DEFAULT
};

fn toleration(of: Subject<'_>, faults: &mut Faults) {
    let operator = of.text_or_empty("operator");
    if of.text_or_empty("key").is_empty() && operator != "Exists" {
        faults.field(of, "operator", "a toleration without a key needs the operator `Exists`");
    }
    if operator == "Exists" && !of.text_or_empty("value").is_empty() {
        faults.field(of, "value", "a toleration with `Exists` has no value");
    }
    if of.get("tolerationSeconds").is_some() && of.text("effect") != Some("NoExecute") {
        faults.field(of, "effect", "`tolerationSeconds` needs the effect `NoExecute`");
    }
}
