use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "replicas",
        meaning: "The maximum number of replicas is lower than the minimum.",
        remedy: "Make `maxReplicas` at least as large as `minReplicas`.",
    },
    why: "An overlay often changes only one of the two fields of a HorizontalPodAutoscaler.",
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

fn replicas(of: Subject<'_>, faults: &mut Faults) {
    let least = of.int("minReplicas").unwrap_or(1);
    if of.int("maxReplicas").is_some_and(|most| most < least) {
        faults.field(of, "maxReplicas", "`maxReplicas` must not be less than `minReplicas`");
    }
}
