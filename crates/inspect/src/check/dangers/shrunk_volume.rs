//! Rule: volume shrunk.

use super::prelude::*;
use std::cmp::Ordering;

use smp_validate::compare_quantities;

pub(super) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "shrunk-volume",
        meaning: "A change requests less storage for a volume.",
        remedy: "Request at least the former size. A volume can only grow.",
    }),
    title: "Volume shrunk",
    severity: Severity::Error,
    why: "The API server rejects a request below the capacity of the volume. Deleting and recreating the claim loses the data, unless the reclaim policy is `Retain`.",
    suppress: Some("The claim is recreated on purpose."),
    documentation: "https://kubernetes.io/docs/concepts/storage/persistent-volumes/#expanding-persistent-volumes-claims",
    bad: change!(
        BEFORE,
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 5Gi}}\n"
    ),
    good: change!(
        BEFORE,
        "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 20Gi}}\n"
    ),
    finder: Finder::Change(find),
    ..DANGER
};

const BEFORE: &str = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec:\n  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 10Gi}}\n";

const REQUEST: [&str; 4] = ["spec", "resources", "requests", "storage"];

fn find(object: &ChangedObject<'_>) -> Vec<Danger> {
    if !object.is_kind("", &["PersistentVolumeClaim"]) {
        return Vec::new();
    }
    let [Some(old), Some(new)] = object.values(&REQUEST) else { return Vec::new() };
    let is_smaller = compare_quantities(new, old) == Some(Ordering::Less);
    let message = || format!("the requested storage shrinks from {} to {}", shown(old), shown(new));
    is_smaller.then(|| Danger::at(&REQUEST, message())).into_iter().collect()
}
