use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "autoscaler-metric",
        meaning: "A metric of a HorizontalPodAutoscaler does not match its type.",
        remedy: "Add the field that corresponds to `type`, with a target that has exactly one value.",
    },
    why: "The API server rejects the HorizontalPodAutoscaler. It compares each metric with one target value: \
          `averageUtilization`, `averageValue` or `value`.",
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

fn source(subject: Subject<'_>, violations: &mut RuleViolations) {
    let kind = subject.text_or_empty("type");
    let is_source = |field: &&str| {
        let (first, rest) = field.split_at(1);
        kind.strip_prefix(first.to_ascii_uppercase().as_str()) == Some(rest)
    };
    let Some(source) = SOURCES.into_iter().find(is_source) else {
        return violations.report_field(
            subject,
            "type",
            "must be `Resource`, `ContainerResource`, `Pods`, `Object` or `External`",
        );
    };
    if subject.get(source).is_none() || subject.count(&SOURCES) != 1 {
        violations.report_value(subject, format!("must specify `{source}` and no other metric source"));
    }
    let Some(target) = subject.get(source).and_then(|source| source.get("target")) else { return };
    let has = |field: &str| target.get(field).is_some_and(|value| !value.is_null());
    let fits = match source {
        "resource" | "containerResource" => has("averageUtilization") != has("averageValue"),
        "pods" => has("averageValue"),
        _ => has("value") != has("averageValue"),
    };
    if !fits {
        let path = [Field(source), Field("target")];
        violations.report_path(
            subject,
            &path,
            "the target value is missing or not supported for this metric type",
        );
    }
}

fn target(subject: Subject<'_>, violations: &mut RuleViolations) {
    if !matches!(subject.text_or_empty("type"), "Utilization" | "Value" | "AverageValue") {
        violations.report_field(subject, "type", "must be `Utilization`, `Value` or `AverageValue`");
    }
}
