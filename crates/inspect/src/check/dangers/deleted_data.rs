//! Rule: deletion of an object that holds data.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "deleted-data",
        meaning: "A change deletes an object that holds data or other objects, or removes a version of a CustomResourceDefinition.",
        remedy: "Keep the object, or back up its data first. To rename it, create the new one, move the data, then delete the old one.",
    }),
    title: "Deletion of an object that holds data",
    severity: Severity::Error,
    why: "Deleting a Namespace deletes all objects in it, and deleting a CustomResourceDefinition all its custom resources. Deleting a PersistentVolumeClaim deletes its volume if the reclaim policy is `Delete`. The claims of a StatefulSet remain unless `persistentVolumeClaimRetentionPolicy.whenDeleted` is `Delete`, but a StatefulSet with another name does not use them. A StatefulSet without `volumeClaimTemplates` has none, and is not reported. Custom resources cannot be read in a version that is no longer served. A new name or namespace also deletes the object, and creates another one without its data.",
    suppress: Some("The data is no longer needed."),
    documentation: "https://kubernetes.io/docs/concepts/storage/persistent-volumes/#reclaiming",
    bad: change!(
        BEFORE,
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: store}\nspec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 2Gi}}\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n";

/// The kinds of objects that contain data, by group.
const KINDS: [(&str, &[&str]); 3] = [
    ("", &["PersistentVolumeClaim", "PersistentVolume", "Namespace"]),
    ("apps", &["StatefulSet"]),
    ("apiextensions.k8s.io", &["CustomResourceDefinition"]),
];

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let has_data = KINDS.iter().any(|(group, kinds)| object.is_kind(group, kinds));
    if !has_data || !object.is_gone() {
        return removed_versions(object);
    }
    let kind = object.id.gvk.kind.as_str();
    let claims = object.old.and_then(|old| old.get_path(&["spec", "volumeClaimTemplates"]));
    if kind == "StatefulSet" && entries(claims).is_empty() {
        return Vec::new();
    }
    let is_renamed = object.former.is_some_and(|former| former.name != object.id.name);
    let (field, message) = match object.new {
        None => ("name", format!("the {kind} is deleted{}", consequence(object))),
        Some(_) if is_renamed => {
            ("name", format!("the {kind} is deleted and recreated under another name, without its data"))
        }
        Some(_) => (
            "namespace",
            format!("the {kind} is deleted and recreated in another namespace, without its data"),
        ),
    };
    vec![Danger::at(&["metadata", field], message)]
}

/// Returns the dangers of versions of a CustomResourceDefinition that are no longer served.
fn removed_versions(object: &ChangedObject<'_>) -> Vec<Danger> {
    if !object.is_kind("apiextensions.k8s.io", &["CustomResourceDefinition"]) || object.new.is_none() {
        return Vec::new();
    }
    let served = |version: &&Node| is_true(version.get("served"));
    let versions = object.values(&["spec", "versions"]).map(entries);
    let left: Vec<_> = versions[1].iter().filter(served).map(|version| text(version.get("name"))).collect();
    let gone = versions[0].iter().filter(served).filter_map(|version| text(version.get("name")));
    let danger = |name: &str| {
        let position = |side: &[Node]| side.iter().position(|one| text(one.get("name")) == Some(name));
        let position = position(versions[1]).or_else(|| position(versions[0])).unwrap_or_default();
        let message = format!("the version `{name}` is no longer served");
        Danger::at(&["spec", "versions", &position.to_string()], message)
    };
    gone.filter(|name| !left.contains(&Some(*name))).map(danger).collect()
}

/// Returns the consequence of a deletion, as the last part of a sentence.
fn consequence(object: &ChangedObject<'_>) -> &'static str {
    let [retention, _] = object.texts(&["spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted"]);
    match object.id.gvk.kind.as_str() {
        "Namespace" => ", and all objects in it",
        "CustomResourceDefinition" => ", and all its custom resources",
        "StatefulSet" if retention == Some("Delete") => ", and its claims",
        "StatefulSet" => "; its claims remain",
        _ => "; the volume is also deleted if its reclaim policy is `Delete`",
    }
}
