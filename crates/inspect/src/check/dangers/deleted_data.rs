//! Rule: object with data deleted.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "deleted-data",
        meaning: "A change deletes an object whose deletion removes data or other objects.",
        remedy: "Keep the object, or back up its data first. To rename it, create the new one, move the data, then delete the old one.",
    }),
    name: "Object with data deleted",
    severity: Severity::Error,
    why: "Deleting a PersistentVolumeClaim, PersistentVolume, StatefulSet, Namespace or CustomResourceDefinition removes its volumes, its objects or all its custom resources. A new name or namespace deletes the object, too, and creates an empty one.",
    suppress: Some("The data is no longer needed."),
    documentation: "https://kubernetes.io/docs/concepts/storage/persistent-volumes/#reclaiming",
    bad: &[
        ("before.yaml", BEFORE),
        (
            "after.yaml",
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: store}\nspec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n",
        ),
    ],
    good: &[
        ("before.yaml", BEFORE),
        (
            "after.yaml",
            "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 2Gi}}\n",
        ),
    ],
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n";

/// The kinds by group.
const KINDS: [(&str, &[&str]); 3] = [
    ("", &["PersistentVolumeClaim", "PersistentVolume", "Namespace"]),
    ("apps", &["StatefulSet"]),
    ("apiextensions.k8s.io", &["CustomResourceDefinition"]),
];

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let has_data = KINDS.iter().any(|(group, kinds)| object.is_kind(group, kinds));
    if !has_data || !object.is_gone() {
        return Vec::new();
    }
    let kind = &object.id.gvk.kind;
    let message = match object.new {
        None => format!("the {kind} is deleted, and its data with it"),
        Some(_) => format!("the {kind} is deleted and created anew under another name, without its data"),
    };
    vec![Danger::at(&["metadata", "name"], message)]
}
