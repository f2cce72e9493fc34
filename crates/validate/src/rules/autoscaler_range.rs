use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "autoscaler-range",
        meaning: "`maxReplicas` of a HorizontalPodAutoscaler is less than `minReplicas`.",
        remedy: "Raise `maxReplicas` or lower `minReplicas`.",
    },
    why: "A typical cause is an overlay that changes only one of the two fields. The autoscaler is rejected, and \
          the workload keeps a fixed size.",
    documentation: "https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/",
    example: "\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 5
  maxReplicas: 3
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
",
    fix: ("3", "10"),
    checks: &[("HorizontalPodAutoscalerSpec", Check::Type(replicas))],
    ..ValidationRule::DEFAULT
};

fn replicas(subject: Subject<'_>, violations: &mut RuleViolations) {
    let least = subject.int("minReplicas").unwrap_or(1);
    if subject.int("maxReplicas").is_some_and(|most| most < least) {
        violations.report_field(subject, "maxReplicas", "must be greater than or equal to `minReplicas`");
    }
}
