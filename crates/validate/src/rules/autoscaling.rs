//! Autoscalers and disruption budgets.

use super::super::quantity::Quantity;
use super::super::violation::ViolationRule;
use super::forms::quantity;
use super::subject::{Below, Faults, RuleOfType, Subject, count_of};
use smp_text::yaml::Node;

pub(super) const RULES: &[(&str, RuleOfType)] = &[
    ("HorizontalPodAutoscalerSpec", replicas),
    ("MetricSpec", source),
    ("MetricTarget", target),
    ("PodDisruptionBudgetSpec", budget),
];

fn replicas(of: Subject<'_>, faults: &mut Faults) {
    let least = of.int("minReplicas").unwrap_or(1);
    if of.int("maxReplicas").is_some_and(|most| most < least) {
        faults.field(
            ViolationRule::Replicas,
            of,
            "maxReplicas",
            "`maxReplicas` must not be less than `minReplicas`",
        );
    }
}

const SOURCES: [(&str, &str); 5] = [
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
    ("Pods", "pods"),
    ("Object", "object"),
    ("External", "external"),
];

fn source(of: Subject<'_>, faults: &mut Faults) {
    let kind = of.text_or_empty("type");
    let Some((_, field)) = SOURCES.iter().find(|(name, _)| *name == kind) else {
        return faults.field(
            ViolationRule::Metric,
            of,
            "type",
            "this must be a type of metrics, such as `Resource`",
        );
    };
    let others = SOURCES.map(|(_, field)| field);
    if of.get(field).is_none() || count_of(of, &others) != 1 {
        faults.below(
            ViolationRule::Metric,
            &[],
            of.node.span(),
            format!("a metric of this type has `{field}` and nothing else"),
        );
    }
    target_of_source(of, field, faults);
}

fn target_of_source(of: Subject<'_>, source: &str, faults: &mut Faults) {
    let Some(target) = of.get(source).and_then(|source| source.get("target")) else { return };
    let has = |field: &str| target.get(field).is_some_and(|value| !value.is_null());
    let fits = match source {
        "resource" | "containerResource" => has("averageUtilization") != has("averageValue"),
        "pods" => has("averageValue"),
        "object" | "external" => has("value") != has("averageValue"),
        _ => true,
    };
    if !fits {
        let path = [Below::Field(source), Below::Field("target")];
        faults.below(
            ViolationRule::Metric,
            &path,
            target.span(),
            "the target of this metric needs another value",
        );
    }
}

fn target(of: Subject<'_>, faults: &mut Faults) {
    if !matches!(of.text_or_empty("type"), "Utilization" | "Value" | "AverageValue") {
        faults.field(
            ViolationRule::Metric,
            of,
            "type",
            "this must be `Utilization`, `Value` or `AverageValue`",
        );
    }
    for field in ["value", "averageValue"] {
        let is_none = |value: &Node| {
            quantity(value).is_some_and(|amount: Quantity| amount.is_negative() || amount.is_zero())
        };
        if of.get(field).is_some_and(is_none) {
            faults.field(ViolationRule::Quantity, of, field, "this must be more than 0");
        }
    }
}

fn budget(of: Subject<'_>, faults: &mut Faults) {
    if count_of(of, &["minAvailable", "maxUnavailable"]) == 2 {
        faults.field(
            ViolationRule::Budget,
            of,
            "maxUnavailable",
            "a budget has `minAvailable` or `maxUnavailable`, not both",
        );
    }
}
