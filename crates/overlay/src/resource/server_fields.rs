//! Fields of `metadata` that only servers set. Manifests from `kubectl get -o yaml` or a backup have them.

use super::Resource;
use smp_text::yaml::{Entry, Map, Node};

/// The fields that only servers set.
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

/// The field that refers to owners by their `uid`. In a manifest with fields of [`FIELDS`] it is from a server as well.
const OWNERS: &str = "ownerReferences";

impl Resource {
    /// Returns the fields of `metadata` that only servers set. Null fields are treated as absent.
    pub fn server_fields(&self) -> impl Iterator<Item = &Entry> {
        let metadata = self.node().get("metadata").and_then(Node::as_map);
        let entries = metadata.map(Map::entries).unwrap_or_default();
        let is_one = |entry: &Entry| FIELDS.contains(&entry.key.text.as_str()) && !entry.value.is_null();
        let has_any = entries.iter().any(is_one);
        entries.iter().filter(move |entry| has_any && (is_one(entry) || entry.key.text == OWNERS))
    }
}

/// Removes the fields of `metadata` that only servers set. Returns the number of objects that had any.
pub fn strip_server_fields(resources: &mut [Resource]) -> usize {
    let mut changed = 0;
    for resource in resources {
        if resource.server_fields().next().is_none() {
            continue;
        }
        if let Some(metadata) = resource.node_mut().get_mut("metadata").and_then(Node::as_map_mut) {
            changed += 1;
            for field in FIELDS.into_iter().chain([OWNERS]) {
                metadata.remove(field);
            }
        }
    }
    changed
}
