//! Rule: service selects other Pods.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "service-selector",
        meaning: "A change makes a Service select other Pods.",
        remedy: "Check that running Pods have the new labels before the Service selects them.",
    }),
    title: "Service selects other Pods",
    severity: Severity::Warning,
    why: "The Service sends traffic to no Pod until Pods with the new labels are ready.",
    suppress: Some("The labels of the Pods were changed earlier."),
    documentation: "https://kubernetes.io/docs/concepts/services-networking/service/#defining-a-service",
    bad: change!(
        SERVICE,
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  type: ClusterIP\n  selector: {app: shop}\n  ports: [{port: 80}]\n"
    ),
    good: change!(
        SERVICE,
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  type: ClusterIP\n  selector: {app: web}\n  ports: [{port: 81}]\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let path = ["spec", "selector"];
    let [Some(old), Some(new)] = object.values(&path) else { return Vec::new() };
    let is_changed = object.is_kind("", &["Service"]) && old != new;
    is_changed.then(|| Danger::at(&path, "the Service selects other Pods")).into_iter().collect()
}
