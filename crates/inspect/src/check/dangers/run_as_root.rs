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
    let mut found = Vec::new();
    for one in object.containers_and_pod() {
        let Some(new) = one.new else { continue };
        let of = |side: Option<&Node>, field: &str| {
            side.and_then(|side| text(side.get_path(&["securityContext", field]))).map(str::to_string)
        };
        let is_root = of(Some(new), "runAsUser").as_deref() == Some("0");
        let was_root = of(one.old, "runAsUser").as_deref() == Some("0");
        let loses = of(one.old, "runAsNonRoot").as_deref() == Some("true")
            && of(Some(new), "runAsNonRoot").as_deref() != Some("true");
        let who = one.title();
        if is_root && !was_root {
            found.push(Danger::at(
                &one.field(&["securityContext", "runAsUser"]),
                format!("{who} may run as root"),
            ));
        } else if loses {
            found.push(Danger::at(
                &one.field(&["securityContext", "runAsNonRoot"]),
                format!("{who} may run as root"),
            ));
        }
    }
    found
}
