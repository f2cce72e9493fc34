use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "disruption-budget",
        meaning: "A PodDisruptionBudget has both `minAvailable` and `maxUnavailable`.",
        remedy: "Keep only one of these fields. In a patch, set the other one to `null`.",
    },
    why: "The two limits can contradict each other. A typical cause is an overlay that sets one field while its \
          base sets the other, which leaves the workload without protection during node drains.",
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

fn budget(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.count(&["minAvailable", "maxUnavailable"]) == 2 {
        violations.report_field(
            subject,
            "maxUnavailable",
            "`minAvailable` and `maxUnavailable` cannot both be set",
        );
    }
}
