//! Rule: probe removed.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "removed-probe",
        meaning: "A change removes a probe of a container.",
        remedy: "Keep the probe, or replace it with one that suits the new version.",
    }),
    title: "Probe removed",
    severity: Severity::Warning,
    why: "Without a readiness probe, Pods get requests before they can answer. Without a liveness probe, a container that hangs is not restarted.",
    suppress: Some("The container serves no requests."),
    documentation: "https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/",
    bad: change!(
        BEFORE,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\"}]\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\", readinessProbe: {httpGet: {path: /ready, port: 80}}}]\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\", readinessProbe: {httpGet: {path: /, port: 80}}}]\n";

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let mut found = Vec::new();
    for container in object.containers() {
        let (Some(old), Some(new)) = (container.old, container.new) else { continue };
        for probe in PROBES.iter().filter(|probe| old.get(probe).is_some() && new.get(probe).is_none()) {
            let message = format!("the container `{}` loses its {probe}", container.name);
            found.push(Danger::at(&container.field(&[probe]), message));
        }
    }
    found
}
