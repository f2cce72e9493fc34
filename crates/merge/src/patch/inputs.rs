//! Inputs and options for creating patches.

use crate::merge::PatchRules;
use smp_text::yaml::{Map, Node};

/// The versions of an object from which a patch is created.
#[derive(Debug, Clone, Copy)]
pub struct PatchInputs<'n> {
    /// For a three-way patch (`current` is set), the last-applied object; otherwise the existing object.
    pub original: &'n Node,
    /// The desired object.
    pub modified: &'n Node,
    /// The live object, for a three-way patch. The patch is then applied to this object.
    pub current: Option<&'n Node>,
}

impl<'n> PatchInputs<'n> {
    /// Returns the object to which the patch will be applied.
    #[must_use]
    pub fn input(&self) -> &'n Node {
        self.current.unwrap_or(self.original)
    }
}

/// Copies the namespace of the first version that has one to the versions without one, as `kubectl apply` does before
/// it compares them.
pub fn share_namespace(versions: &mut [&mut Node]) {
    let text = |node: &Node| node.get_path(&["metadata", "namespace"])?.scalar_text().cloned();
    let named = |node: &Node| text(node).filter(|name| !name.is_empty());
    let Some(namespace) = versions.iter().find_map(|node| named(node)) else { return };
    for version in versions.iter_mut().filter(|node| named(node).is_none()) {
        let metadata = version.as_map_mut().and_then(|map| map.get_mut("metadata"));
        if let Some(metadata) = metadata.and_then(Node::as_map_mut) {
            Map::remove(metadata, "namespace");
            metadata.push("namespace", Node::string(namespace.clone()));
        }
    }
}

/// Options for creating a three-way patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreeWayOptions {
    /// Allows the patch to overwrite changes by other owners. Otherwise such changes are errors.
    pub overwrite: bool,
    /// Rejects changes of `apiVersion`, `kind` and `metadata.name`.
    pub same_identity: bool,
}

impl Default for ThreeWayOptions {
    /// Returns the options of `kubectl apply`: changes are overwritten, and the identity must stay the same.
    fn default() -> Self {
        Self { overwrite: true, same_identity: true }
    }
}

impl ThreeWayOptions {
    /// Sets whether the patch may overwrite changes by other owners.
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// Sets whether `apiVersion`, `kind` and `metadata.name` must not change.
    #[must_use]
    pub fn same_identity(mut self, same_identity: bool) -> Self {
        self.same_identity = same_identity;
        self
    }
}

/// Options for creating a patch. The defaults are those of kubectl.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CreateOptions {
    /// The rules by which a strategic merge patch will be applied.
    pub rules: PatchRules,
    /// The options for three-way patches.
    pub three_way: ThreeWayOptions,
    /// Makes patches for the API server use the recommended merge keys of ports and of other lists whose patch merge
    /// key does not identify entries. No released API server supports `$patchMergeKey`.
    pub recommended_keys: bool,
}

impl Default for CreateOptions {
    fn default() -> Self {
        Self { rules: PatchRules::Apiserver, three_way: ThreeWayOptions::default(), recommended_keys: false }
    }
}

impl CreateOptions {
    /// Sets the rules for strategic merge patches.
    #[must_use]
    pub fn rules(mut self, rules: PatchRules) -> Self {
        self.rules = rules;
        self
    }

    /// Sets whether patches contain `$patchMergeKey` for lists in which the schema recommends several keys.
    #[must_use]
    pub fn recommended_keys(mut self, named: bool) -> Self {
        self.recommended_keys = named;
        self
    }

    /// Sets the options for three-way patches.
    #[must_use]
    pub fn three_way(mut self, options: ThreeWayOptions) -> Self {
        self.three_way = options;
        self
    }
}
