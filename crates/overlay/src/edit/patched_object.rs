//! The object that a patch changes.

use super::fields::{entry_of, entry_text};
use smp_text::yaml::{Map, Node};

/// The object that a patch changes, with the identity that the patches of the kustomization match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchedObject {
    /// The API version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The name.
    pub name: String,
    /// The namespace, or empty.
    pub namespace: String,
}

impl PatchedObject {
    pub(super) fn node(&self) -> Node {
        let mut fields: Map = entry_of(&[("apiVersion", &self.api_version), ("kind", &self.kind)])
            .as_map()
            .cloned()
            .unwrap_or_default();
        fields.push("metadata", entry_of(&[("name", &self.name), ("namespace", &self.namespace)]));
        Node::map(fields)
    }

    pub(super) fn is_patched_by(&self, node: &Node) -> bool {
        let metadata = |name| node.get("metadata").map_or("", |metadata| entry_text(metadata, name));
        entry_text(node, "kind") == self.kind
            && metadata("name") == self.name
            && metadata("namespace") == self.namespace
    }
}
