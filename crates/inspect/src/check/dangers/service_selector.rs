//! Rule: service selects other Pods.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "service-selector",
        meaning: "A change makes a Service select other Pods, or none.",
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
    let [Some(old), new] = object.values(&path) else { return Vec::new() };
    if !object.is_kind("", &["Service"]) || object.new.is_none() || Some(old) == new {
        return Vec::new();
    }
    let pods = if new.is_some() { "other Pods" } else { "no Pods" };
    vec![Danger::at(&path, format!("the Service selects {pods}"))]
}
