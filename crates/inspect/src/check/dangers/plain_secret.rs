//! Rule: password or token added as plain text.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "plain-secret",
        meaning: "A change adds a password or token as plain text.",
        remedy: "Store it in a Secret that is encrypted in git or comes from a secret store, and refer to it with `valueFrom`.",
    }),
    title: "Password or token added as plain text",
    severity: Severity::Error,
    why: "Everyone who can read the repository, the object or the environment of a process can read the value.",
    suppress: Some("The value is a placeholder."),
    documentation: "https://kubernetes.io/docs/concepts/configuration/secret/",
    bad: change!(
        DEPLOYMENT,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\", env: [{name: DB_PASSWORD, value: hunter2}]}]\n"
    ),
    good: change!(
        DEPLOYMENT,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\", env: [{name: DB_PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}]}]\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let mut found = Vec::new();
    for container in object.containers() {
        let known = entries(container.old.and_then(|old| old.get("env")));
        for (i, variable) in entries(container.new.and_then(|new| new.get("env"))).iter().enumerate() {
            let name = text(variable.get("name")).unwrap_or_default();
            let is_plain =
                text(variable.get("value")).is_some_and(|value| !value.is_empty() && !value.contains("$("));
            if is_plain && is_secret_key(name) && !known.contains(variable) {
                let path = container.field(&["env", &i.to_string(), "value"]);
                found.push(Danger::at(
                    &path,
                    format!("the variable `{name}` contains a secret as plain text"),
                ));
            }
        }
    }
    if object.is_kind("", &["ConfigMap"]) {
        let [old, new] = object.values(&["data"]);
        for (key, value) in new.and_then(Node::as_map).into_iter().flat_map(Map::iter) {
            let is_new = old.and_then(|old| old.get(key)) != Some(value);
            if is_new && is_secret_key(key) && text(Some(value)).is_some_and(|value| !value.is_empty()) {
                found.push(Danger::at(
                    &["data", key],
                    format!("the key `{key}` contains a secret as plain text"),
                ));
            }
        }
    }
    found
}
