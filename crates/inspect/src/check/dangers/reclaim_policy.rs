//! Rule: reclaim policy set to Delete.

use super::prelude::*;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "reclaim-policy",
        meaning: "A change lets volumes be deleted together with their claims.",
        remedy: "Keep `Retain` where data must survive the deletion of a claim.",
    }),
    title: "Reclaim policy set to Delete",
    severity: Severity::Error,
    why: "With the reclaim policy `Delete`, a volume and its data are deleted together with its claim. With `whenDeleted: Delete` or `whenScaled: Delete`, deleting or scaling down a StatefulSet deletes its claims.",
    suppress: Some("The data can be recreated."),
    documentation: "https://kubernetes.io/docs/tasks/administer-cluster/change-pv-reclaim-policy/",
    bad: change!(
        BEFORE,
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: data}\nspec:\n  capacity: {storage: 1Gi}\n  accessModes: [ReadWriteOnce]\n  persistentVolumeReclaimPolicy: Delete\n  csi: {driver: csi.example.com, volumeHandle: data}\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: data}\nspec:\n  capacity: {storage: 2Gi}\n  accessModes: [ReadWriteOnce]\n  persistentVolumeReclaimPolicy: Retain\n  csi: {driver: csi.example.com, volumeHandle: data}\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: data}\nspec:\n  capacity: {storage: 1Gi}\n  accessModes: [ReadWriteOnce]\n  persistentVolumeReclaimPolicy: Retain\n  csi: {driver: csi.example.com, volumeHandle: data}\n";

/// The fields with a policy.
const POLICIES: [&[&str]; 4] = [
    &["reclaimPolicy"],
    &["spec", "persistentVolumeReclaimPolicy"],
    &["spec", "persistentVolumeClaimRetentionPolicy", "whenDeleted"],
    &["spec", "persistentVolumeClaimRetentionPolicy", "whenScaled"],
];

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    let is_meant = object.is_kind("storage.k8s.io", &["StorageClass"])
        || object.is_kind("", &["PersistentVolume"])
        || object.is_kind("apps", &["StatefulSet"]);
    let (true, Some(_), Some(_)) = (is_meant, object.old, object.new) else { return Vec::new() };
    let is_deleting = |path: &&&[&str]| {
        let [old, new] = object.texts(path);
        new == Some("Delete") && old != Some("Delete")
    };
    let danger = |path: &&[&str]| {
        let message = match path.last() {
            Some(&"whenDeleted") => "the claims are now deleted together with the StatefulSet",
            Some(&"whenScaled") => {
                "the claims of removed Pods are now deleted when the StatefulSet is scaled down"
            }
            _ => "volumes are now deleted together with their claims",
        };
        Danger::at(path, message)
    };
    POLICIES.iter().filter(is_deleting).map(danger).collect()
}
