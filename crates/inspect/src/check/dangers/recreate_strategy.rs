//! Rule: rollout that stops all Pods before new ones start.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "recreate-strategy",
        meaning: "A change makes a rollout stop all Pods before new ones start.",
        remedy: "Use `RollingUpdate` with `maxUnavailable` below 100%.",
    }),
    title: "Rollout stops all Pods before new ones start",
    severity: Severity::Warning,
    why: "With the strategy `Recreate`, or `maxUnavailable: 100%`, the workload may be unavailable during each rollout.",
    suppress: Some(
        "Two versions must never run at the same time, for example because of a volume that only one Pod can mount.",
    ),
    documentation: "https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#strategy",
    bad: change!(
        DEPLOYMENT,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  strategy: {type: Recreate}\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\"}]\n"
    ),
    good: change!(
        DEPLOYMENT,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  strategy: {rollingUpdate: {maxUnavailable: 1}}\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\"}]\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let stops_all: [(&[&str], &str); 3] = [
        (&["spec", "strategy", "type"], "Recreate"),
        (&["spec", "strategy", "rollingUpdate", "maxUnavailable"], "100%"),
        (&["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"], "100%"),
    ];
    if object.old.is_none() {
        return Vec::new();
    }
    let is_new = |(path, word): &&(&[&str], &str)| {
        let [old, new] = object.texts(path);
        new == Some(*word) && old != new
    };
    let danger = |(path, word): &(&[&str], &str)| {
        Danger::at(path, format!("with `{word}`, a rollout does not keep Pods running"))
    };
    stops_all.iter().filter(is_new).map(danger).collect()
}
