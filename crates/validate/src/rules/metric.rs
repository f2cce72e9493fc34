use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "metric",
        meaning: "A metric of a HorizontalPodAutoscaler lacks the source or the target of its type.",
        remedy: "Give the metric the field that its `type` names, and in it a target with one value.",
    },
    why: "The autoscaler compares the metric with one target: `averageUtilization`, `averageValue` or `value`.",
    documentation: "https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale-walkthrough/",
    example: "\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  maxReplicas: 3
  metrics:
  - type: Resource
    resource: {name: cpu, target: {type: Value, value: 80}}
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
    fix: ("Value, value:", "AverageValue, averageValue:"),
    checks: &[("MetricSpec", Check::Type(source)), ("MetricTarget", Check::Type(target))],
    ..ValidationRule::DEFAULT
};

const SOURCES: [&str; 5] = ["resource", "containerResource", "pods", "object", "external"];

fn source(of: Subject<'_>, faults: &mut Faults) {
    let kind = of.text_or_empty("type");
    let is_source = |field: &&str| {
        let (first, rest) = field.split_at(1);
        kind.strip_prefix(first.to_ascii_uppercase().as_str()) == Some(rest)
    };
    let Some(source) = SOURCES.into_iter().find(is_source) else {
        return faults.field(of, "type", "this must be a type of metrics, such as `Resource`");
    };
    if of.get(source).is_none() || of.count(&SOURCES) != 1 {
        faults.value(of, format!("a metric of this type has `{source}` and nothing else"));
    }
    let Some(target) = of.get(source).and_then(|source| source.get("target")) else { return };
    let has = |field: &str| target.get(field).is_some_and(|value| !value.is_null());
    let fits = match source {
        "resource" | "containerResource" => has("averageUtilization") != has("averageValue"),
        "pods" => has("averageValue"),
        _ => has("value") != has("averageValue"),
    };
    if !fits {
        let path = [Field(source), Field("target")];
        faults.at(of, &path, "the target of this metric needs another value");
    }
}

fn target(of: Subject<'_>, faults: &mut Faults) {
    if !matches!(of.text_or_empty("type"), "Utilization" | "Value" | "AverageValue") {
        faults.field(of, "type", "this must be `Utilization`, `Value` or `AverageValue`");
    }
}
