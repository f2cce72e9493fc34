//! Fields that only servers set, as in manifests from `kubectl get -o yaml` or a backup.

use super::plan::ObjectTarget;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::Diagnostic;
use smp_text::yaml::Node;

/// The fields of `metadata` that only servers set.
const FIELDS: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Those for which a server rejects an object: it has another value, or allows none.
const REJECTED: [&str; 3] = ["managedFields", "resourceVersion", "uid"];

/// Removes the fields of `metadata` that only servers set. Returns the number of objects that had any.
pub fn strip_server_fields(resources: &mut [Resource]) -> usize {
    let mut changed = 0;
    for resource in resources {
        let metadata = resource.node().get("metadata");
        if !FIELDS.iter().any(|field| metadata.is_some_and(|metadata| metadata.get(field).is_some())) {
            continue;
        }
        if let Some(metadata) = resource.node_mut().get_mut("metadata").and_then(Node::as_map_mut) {
            changed += 1;
            for field in FIELDS {
                metadata.remove(field);
            }
        }
    }
    changed
}

/// Adds a help to the error of a rejected object if its manifest has fields that only servers set.
pub(super) fn with_server_fields_help(problem: Diagnostic, target: &ObjectTarget<'_>) -> Diagnostic {
    let metadata = target.resource.node().get("metadata");
    let has = |field: &&str| {
        metadata.and_then(|metadata| metadata.get(field)).is_some_and(|value| !value.is_null())
    };
    let found: Vec<String> =
        REJECTED.iter().filter(|field| has(field)).map(|field| format!("metadata.{field}")).collect();
    if found.is_empty() {
        return problem;
    }
    problem.help(format!(
        "only servers set {}: remove {} from the manifest, or use --strip-server-fields",
        found.join(", "),
        if found.len() == 1 { "it" } else { "them" }
    ))
}
