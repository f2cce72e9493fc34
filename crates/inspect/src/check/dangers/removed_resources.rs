//! Rule: requests or limits removed.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "removed-resources",
        meaning: "A change removes the resource requests or limits of a container.",
        remedy: "Keep them, or move them to a LimitRange.",
    }),
    title: "Requests or limits removed",
    severity: Severity::Warning,
    why: "Without requests, the scheduler may place Pods on nodes that are full, and they are among the first to be evicted. (A container with a limit but no request gets the limit as its request.) Without a memory limit, one Pod can use the memory of a whole node.",
    suppress: Some("A LimitRange of the namespace sets them."),
    documentation: "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",
    bad: change!(
        BEFORE,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\", resources: {limits: {memory: 1Gi}}}]\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\", resources: {requests: {cpu: 200m}, limits: {memory: 1Gi}}}]\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\", resources: {requests: {cpu: 100m}, limits: {memory: 1Gi}}}]\n";

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let mut found = Vec::new();
    for container in object.containers() {
        let (Some(old), Some(new)) = (container.old, container.new) else { continue };
        for part in ["requests", "limits"] {
            let path = ["resources", part];
            let is_set =
                |node: &Node| node.get_path(&path).and_then(Node::as_map).is_some_and(|map| !map.is_empty());
            if is_set(old) && !is_set(new) {
                let message = format!("the container `{}` loses its resource {part}", container.name);
                found.push(Danger::at(&container.field(&path), message));
            }
        }
    }
    found
}
