//! Rule: workload scaled to zero.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "no-replicas",
        meaning: "A change scales a workload to zero.",
        remedy: "Keep at least one replica, or delete the workload if it is no longer needed.",
    }),
    title: "Workload scaled to zero",
    severity: Severity::Warning,
    why: "No Pod is left to answer requests or to process jobs.",
    suppress: Some(
        "The workload is switched off on purpose, or an autoscaler such as KEDA scales it from zero. A HorizontalPodAutoscaler does not.",
    ),
    documentation: "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#scaling-a-deployment",
    bad: change!(
        DEPLOYMENT,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 0\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\"}]\n"
    ),
    good: change!(
        DEPLOYMENT,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 1\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\"}]\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let path = ["spec", "replicas"];
    let [old, new] = object.texts(&path);
    let is_scaled_down = object.old.is_some() && new == Some("0") && old != Some("0");
    is_scaled_down.then(|| Danger::at(&path, "the workload is scaled to zero")).into_iter().collect()
}
