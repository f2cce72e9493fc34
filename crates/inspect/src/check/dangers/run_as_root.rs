//! Rule: container runs as root.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "run-as-root",
        meaning: "A change lets a container run as root.",
        remedy: "Keep `runAsNonRoot: true`, and use an image that runs as another user.",
    }),
    title: "Container runs as root",
    severity: Severity::Error,
    why: "A process that runs as root and breaks out of its container is root on the node.",
    suppress: Some("The container needs root, and runs in a user namespace."),
    documentation: "https://kubernetes.io/docs/tasks/configure-pod-container/security-context/",
    bad: change!(
        BEFORE,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\", securityContext: {runAsUser: 0}}]\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\", securityContext: {runAsNonRoot: true, runAsUser: 1000}}]\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\", securityContext: {runAsNonRoot: true}}]\n";

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let Some((pods, pod_path)) = object.pods() else { return Vec::new() };
    let mut found: Vec<Danger> = Vec::new();
    for container in object.containers().iter().filter(|container| container.new.is_some()) {
        let sides = [container.old, container.new];
        let Some(field) = root_field(pods, sides) else { continue };
        let path = ["securityContext", field];
        let is_own = sides.iter().flatten().any(|side| side.get_path(&path).is_some());
        let (who, path) = if is_own {
            (container.title(), container.field(&path))
        } else {
            let steps = pod_path.iter().copied().chain(path).map(SmolStr::new_static);
            ("the Pods".to_string(), steps.collect())
        };
        if found.iter().all(|known| known.path != path) {
            found.push(Danger::at(&path, format!("{who} may run as root")));
        }
    }
    found
}

/// Returns the field that allows a container to run as root after a change but not before it.
fn root_field(pods: [Option<&Node>; 2], containers: [Option<&Node>; 2]) -> Option<&'static str> {
    let values = |field: &str| [0, 1].map(|side| effective(containers[side], pods[side], field));
    let [old, user] = values("runAsUser");
    if user == Some("0") && old != Some("0") {
        return Some("runAsUser");
    }
    let is_root_possible = user.is_none() || user == Some("0");
    let [old, new] = values("runAsNonRoot");
    (is_root_possible && old == Some("true") && new != Some("true")).then_some("runAsNonRoot")
}

/// Returns a field of the security context of a container. It is inherited from the Pod if the container does not set
/// it.
fn effective<'n>(container: Option<&'n Node>, pod: Option<&'n Node>, field: &str) -> Option<&'n str> {
    let own = |node: Option<&'n Node>| text(node?.get_path(&["securityContext", field]));
    own(container).or_else(|| own(pod))
}
