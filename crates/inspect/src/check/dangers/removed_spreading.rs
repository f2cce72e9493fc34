//! Rule: topology spread constraints or Pod anti-affinity removed.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "removed-spreading",
        meaning: "A change removes the topology spread constraints or the Pod anti-affinity of a workload.",
        remedy: "Keep them, or replace them with others.",
    }),
    title: "Topology spread constraints or Pod anti-affinity removed",
    severity: Severity::Warning,
    why: "Without them, all Pods may run on one node, and fail together with it.",
    suppress: Some("The default constraints of the cluster spread the Pods."),
    documentation: "https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/",
    bad: change!(
        BEFORE,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers: [{name: web, image: \"nginx:1.27\"}]\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      topologySpreadConstraints: [{maxSkew: 2, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}]\n      containers: [{name: web, image: \"nginx:1.27\"}]\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app: web}}}]\n      containers: [{name: web, image: \"nginx:1.27\"}]\n";

const FIELDS: [&[&str]; 2] = [&["topologySpreadConstraints"], &["affinity", "podAntiAffinity"]];

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let Some(([Some(old), Some(new)], pod)) = object.pods() else { return Vec::new() };
    let is_removed = |path: &&&[&str]| old.get_path(path).is_some() && new.get_path(path).is_none();
    let danger = |path: &&[&str]| {
        let steps: Vec<&str> = pod.iter().chain(path.iter()).copied().collect();
        Danger::at(&steps, format!("the Pods lose {}", path.join(".")))
    };
    FIELDS.iter().filter(is_removed).map(danger).collect()
}
