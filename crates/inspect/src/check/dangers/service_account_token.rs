//! Rule: service account token mounted.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "service-account-token",
        meaning: "A change mounts the token of a service account into Pods.",
        remedy: "Keep `automountServiceAccountToken: false` for Pods that do not call the API server.",
    }),
    title: "Service account token mounted",
    severity: Severity::Warning,
    why: "An attacker who takes over such a Pod can call the API server with the permissions of its service account.",
    suppress: Some("The program calls the API server."),
    documentation: "https://kubernetes.io/docs/tasks/configure-pod-container/configure-service-account/",
    bad: change!(
        BEFORE,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      automountServiceAccountToken: true\n      containers: [{name: web, image: \"nginx:1.27\"}]\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 3\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      automountServiceAccountToken: false\n      containers: [{name: web, image: \"nginx:1.27\"}]\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      automountServiceAccountToken: false\n      containers: [{name: web, image: \"nginx:1.27\"}]\n";

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let field = "automountServiceAccountToken";
    let mut path: Vec<&str> = object.pod_path().unwrap_or_default().to_vec();
    path.push(field);
    let is_meant = path.len() > 1 || object.is_kind("", &["ServiceAccount"]);
    let [old, new] = object.texts(&path);
    let is_mounted = is_meant && object.new.is_some() && old == Some("false") && new != Some("false");
    is_mounted.then(|| Danger::at(&path, "Pods get the token of their service account")).into_iter().collect()
}
