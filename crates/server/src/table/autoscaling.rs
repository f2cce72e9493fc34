//! Columns of HorizontalPodAutoscalers: current and target values of metrics.

use serde_json::{Value, json};

use super::column::{
    AGE, Cell, Column, Kinds, NAME, NONE, UNKNOWN, UNSET, entries, first, scalar, string, text_column,
};
use crate::state::text;

pub(super) const KINDS: Kinds = &[("HorizontalPodAutoscaler", AUTOSCALER)];

const AUTOSCALER: &[Column] = &[
    NAME,
    text_column(
        "Reference",
        Cell::Show(|one| {
            format!("{}/{}", text(one, "/spec/scaleTargetRef/kind"), text(one, "/spec/scaleTargetRef/name"))
        }),
    ),
    text_column("Targets", Cell::Show(targets)),
    text_column("MinPods", Cell::Show(|one| scalar(&one["spec"]["minReplicas"], UNSET))),
    text_column("MaxPods", Cell::Number("/spec/maxReplicas")),
    text_column("Replicas", Cell::Number("/status/currentReplicas")),
    AGE,
];

fn targets(autoscaler: &Value) -> String {
    let old = of_first_version(autoscaler);
    let metrics: Vec<&Value> =
        entries(autoscaler, "/spec/metrics").chain(old.iter().map(|(metric, _)| metric)).collect();
    let statuses: Vec<&Value> =
        entries(autoscaler, "/status/currentMetrics").chain(old.iter().map(|(_, status)| status)).collect();
    let shown = |(index, metric): (usize, &&Value)| shown(metric, statuses.get(index).copied());
    let all: Vec<String> = metrics.iter().enumerate().map(shown).collect();
    if all.is_empty() { NONE.into() } else { first(&all, 2, ", ") }
}

/// Returns the single metric of `autoscaling/v1`, and its status, in the form of `autoscaling/v2`.
fn of_first_version(autoscaler: &Value) -> Option<(Value, Value)> {
    let metric = |field: &str, percent: &Value| json!({"type": "Resource", "resource": {"name": "cpu", field: {"type": "Utilization", "averageUtilization": percent}}});
    let target = autoscaler["spec"].get("targetCPUUtilizationPercentage")?;
    let current = autoscaler["status"].get("currentCPUUtilizationPercentage");
    let status = current.map(|percent| metric("current", percent)).unwrap_or_default();
    Some((metric("target", target), status))
}

/// Returns a metric, such as `cpu: 10%/80%`.
fn shown(metric: &Value, status: Option<&Value>) -> String {
    let (field, has_name, has_average) = match string(metric, "type") {
        "External" => ("external", false, true),
        "Object" => ("object", false, true),
        "Pods" => ("pods", false, false),
        "Resource" => ("resource", true, true),
        "ContainerResource" => ("containerResource", true, true),
        _ => return "<unknown type>".into(),
    };
    let target = &metric[field]["target"];
    let current = status.and_then(|status| status.get(field)).map(|status| &status["current"]);
    let pair = match (has_name, target.get("averageValue")) {
        (true, None) => {
            let percent = |value: &Value| value.as_i64().map(|percent| format!("{percent}%"));
            let current = current.and_then(|current| percent(&current["averageUtilization"]));
            let target = percent(&target["averageUtilization"]).unwrap_or_else(|| "<auto>".into());
            format!("{}/{target}", current.unwrap_or_else(|| UNKNOWN.into()))
        }
        (false, Some(average)) if has_average => {
            let current = current.and_then(|current| current.get("averageValue"));
            format!("{}/{} (avg)", scalar(current.unwrap_or(&Value::Null), UNKNOWN), scalar(average, ""))
        }
        (_, Some(average)) => format!("{}/{}", of_pods(current), scalar(average, "")),
        (false, None) => {
            let current =
                current.map_or_else(|| UNKNOWN.into(), |current| scalar(&current["value"], "<nil>"));
            format!("{current}/{}", scalar(&target["value"], "<nil>"))
        }
    };
    if has_name { format!("{}: {pair}", string(&metric[field], "name")) } else { pair }
}

/// Returns the average value of Pods.
fn of_pods(current: Option<&Value>) -> String {
    current.map_or_else(|| UNKNOWN.into(), |current| scalar(&current["averageValue"], "<nil>"))
}
