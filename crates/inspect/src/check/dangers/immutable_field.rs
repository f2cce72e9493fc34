//! Rule: immutable field changed.

use super::prelude::*;
use smp_merge::defaults;
use smp_merge::schema::Schema;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "immutable-field",
        meaning: "A change sets a field that cannot be changed once the object exists.",
        remedy: "Keep the value, or recreate the object: `kubectl smp apply --replace-immutable KIND`.",
    }),
    title: "Immutable field changed",
    severity: Severity::Error,
    why: "The API server rejects the update, so a sync of the whole application fails. Recreating the object deletes what belongs to it, such as running Pods.",
    suppress: Some(
        "The object is recreated on every deployment, such as a Job that is a hook of Helm or Argo CD.",
    ),
    documentation: "https://kubernetes.io/docs/concepts/workloads/controllers/statefulset/",
    bad: change!(
        BEFORE,
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  replicas: 1\n  serviceName: database\n  selector: {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    spec:\n      containers: [{name: db, image: \"postgres:17\"}]\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  replicas: 3\n  serviceName: db\n  selector: {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    spec:\n      containers: [{name: db, image: \"postgres:17\"}]\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec:\n  replicas: 1\n  serviceName: db\n  selector: {matchLabels: {app: db}}\n  template:\n    metadata: {labels: {app: db}}\n    spec:\n      containers: [{name: db, image: \"postgres:17\"}]\n";

/// A kind, the path of the part that is immutable, and the fields of that part that may change.
type Immutable = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const IMMUTABLE: [Immutable; 23] = [
    ("apps", "Deployment", &["spec", "selector"], &[]),
    ("apps", "DaemonSet", &["spec", "selector"], &[]),
    ("apps", "ReplicaSet", &["spec", "selector"], &[]),
    ("apps", "StatefulSet", &["spec"], &STATEFUL_SET),
    ("batch", "Job", &["spec", "selector"], &[]),
    ("batch", "Job", &["spec", "template"], &[]),
    ("batch", "Job", &["spec", "completionMode"], &[]),
    ("batch", "Job", &["spec", "podFailurePolicy"], &[]),
    ("", "PersistentVolumeClaim", &["spec"], &["resources", "volumeAttributesClassName", "volumeName"]),
    ("storage.k8s.io", "StorageClass", &["provisioner"], &[]),
    ("storage.k8s.io", "StorageClass", &["parameters"], &[]),
    ("storage.k8s.io", "StorageClass", &["reclaimPolicy"], &[]),
    ("storage.k8s.io", "StorageClass", &["volumeBindingMode"], &[]),
    ("rbac.authorization.k8s.io", "RoleBinding", &["roleRef"], &[]),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", &["roleRef"], &[]),
    ("", "Secret", &["type"], &[]),
    ("", "Service", &["spec", "clusterIP"], &[]),
    ("networking.k8s.io", "IngressClass", &["spec", "controller"], &[]),
    ("scheduling.k8s.io", "PriorityClass", &["value"], &[]),
    ("scheduling.k8s.io", "PriorityClass", &["preemptionPolicy"], &[]),
    ("node.k8s.io", "RuntimeClass", &["handler"], &[]),
    ("apiextensions.k8s.io", "CustomResourceDefinition", &["spec", "scope"], &[]),
    ("apiextensions.k8s.io", "CustomResourceDefinition", &["spec", "group"], &[]),
];

/// The fields of a StatefulSet's spec that may change.
const STATEFUL_SET: [&str; 7] = [
    "replicas",
    "template",
    "updateStrategy",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
    "ordinals",
    "revisionHistoryLimit",
];

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let (Some(old), Some(new), false) = (object.old, object.new, object.is_gone()) else { return Vec::new() };
    let mut found = changed_spec(object);
    let data = ["data", "binaryData", "stringData"];
    if object.is_kind("", &["ConfigMap", "Secret"]) && is_true(old.get("immutable")) {
        let changed = data.iter().filter(|field| old.get(field) != new.get(field));
        found.extend(
            changed.map(|field| Danger::at(&[field], "the object is immutable, and its data changes")),
        );
    }
    found
}

/// Returns the dangers of changed fields that are immutable in every object of a kind.
fn changed_spec(object: &ChangedObject<'_>) -> Vec<Danger> {
    let is_meant = |(group, kind, ..): &&Immutable| object.is_kind(group, &[kind]);
    let mut parts = IMMUTABLE.iter().filter(is_meant).peekable();
    if parts.peek().is_none() {
        return Vec::new();
    }
    let stored = [object.old, object.new].map(|side| side.map(with_defaults));
    let mut found = Vec::new();
    for (group, kind, path, mutable) in parts {
        let [before, after] = stored.each_ref().map(|side| side.as_ref()?.get_path(path));
        let path: Vec<String> = path.iter().map(ToString::to_string).collect();
        for field in changed_fields([before, after], mutable) {
            // The API server sets the clusterIP of a Service and the storage class of a PersistentVolumeClaim if they
            // are absent.
            let is_defaulted = after.is_none() && group.is_empty() && *kind != "Secret";
            if !is_defaulted {
                let path: Vec<String> = path.iter().cloned().chain(field).collect();
                found.push(Danger::at(
                    &path,
                    format!("the field {} of a {kind} is immutable", path.join(".")),
                ));
            }
        }
    }
    found
}

/// Returns an object as the API server stores it, with the defaults of absent fields.
fn with_defaults(node: &Node) -> Node {
    let mut json = node.to_json_value();
    defaults::fill(&mut json, &Schema::embedded());
    Node::from(&json)
}

/// Returns the names of the fields of a map that differ, except those in `mutable`. If `mutable` is empty, compares the
/// whole values and returns `None` for a difference.
fn changed_fields([old, new]: [Option<&Node>; 2], mutable: &[&str]) -> Vec<Option<String>> {
    if mutable.is_empty() {
        return if old == new { Vec::new() } else { vec![None] };
    }
    let fields = |node: Option<&Node>| -> Vec<String> {
        node.and_then(Node::as_map)
            .into_iter()
            .flat_map(Map::iter)
            .map(|(name, _)| name.to_string())
            .collect()
    };
    let mut names = fields(old);
    names.extend(fields(new));
    names.sort();
    names.dedup();
    names.retain(|name| !mutable.contains(&name.as_str()));
    let differs = |name: &String| old.and_then(|old| old.get(name)) != new.and_then(|new| new.get(name));
    names.into_iter().filter(differs).map(Some).collect()
}
