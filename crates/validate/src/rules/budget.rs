use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "budget",
        meaning: "A PodDisruptionBudget has both `minAvailable` and `maxUnavailable`.",
        remedy: "Keep one of the two; a patch removes the other one by `null`.",
    },
    why: "The two limits can contradict each other, so only one is allowed.",
    documentation: "https://kubernetes.io/docs/tasks/run-application/configure-pdb/",
    example: "\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, maxUnavailable: 1}
",
    fix: ("1, maxUnavailable: 1", "1"),
    checks: &[("PodDisruptionBudgetSpec", Check::Type(budget))],
    ..ValidationRule::DEFAULT
};

fn budget(of: Subject<'_>, faults: &mut Faults) {
    if of.count(&["minAvailable", "maxUnavailable"]) == 2 {
        faults.field(of, "maxUnavailable", "a budget has `minAvailable` or `maxUnavailable`, not both");
    }
}
