//! Rule: container with more privileges.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "privileged-container",
        meaning: "A change gives a container more privileges on its node.",
        remedy: "Drop the privilege, or grant the single capability that is needed.",
    }),
    title: "Container with more privileges",
    severity: Severity::Error,
    why: "A privileged container, or one with capabilities such as SYS_ADMIN, can take over its node and all Pods on it.",
    suppress: Some("The container manages nodes, such as a network plugin."),
    documentation: "https://kubernetes.io/docs/concepts/security/pod-security-standards/",
    bad: change!(
        BEFORE,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\", securityContext: {privileged: true}}]\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\", securityContext: {privileged: false, readOnlyRootFilesystem: true}}]\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\", securityContext: {privileged: false}}]\n";

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let mut found = Vec::new();
    for container in object.containers() {
        let context = |side: Option<&'_ Node>, field: &str| {
            is_true(side.and_then(|side| side.get_path(&["securityContext", field])))
        };
        for field in ["privileged", "allowPrivilegeEscalation"] {
            if context(container.new, field) && !context(container.old, field) {
                let message = format!("the container `{}` gets `{field}: true`", container.name);
                found.push(Danger::at(&container.field(&["securityContext", field]), message));
            }
        }
        let path = ["securityContext", "capabilities", "add"];
        let capabilities = |side: Option<&'_ Node>| -> Vec<String> {
            let list = entries(side.and_then(|side| side.get_path(&path)));
            list.iter().filter_map(|entry| text(Some(entry)).map(str::to_string)).collect()
        };
        let known = capabilities(container.old);
        let added: Vec<_> =
            capabilities(container.new).into_iter().filter(|one| !known.contains(one)).collect();
        if !added.is_empty() {
            let message =
                format!("the container `{}` gets the capabilities {}", container.name, added.join(", "));
            found.push(Danger::at(&container.field(&path), message));
        }
    }
    found
}
