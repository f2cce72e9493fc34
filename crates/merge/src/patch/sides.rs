//! What a patch is made of, and how.

use crate::merge::PatchRules;
use smp_text::yaml::{Map, Node};

/// The versions of an object that a patch is made of.
#[derive(Debug, Clone, Copy)]
pub struct PatchSides<'n> {
    /// The object as it was applied last; as it is, where there is no other version of it.
    pub original: &'n Node,
    /// The object as it shall be.
    pub modified: &'n Node,
    /// The object as it is, if others may have changed it since: the patch is for this one.
    pub current: Option<&'n Node>,
}

impl<'n> PatchSides<'n> {
    /// The object that the patch will be applied to.
    #[must_use]
    pub fn input(&self) -> &'n Node {
        self.current.unwrap_or(self.original)
    }
}

/// Gives each of some versions of an object that names no namespace the one that another version names, the first
/// that does: `kubectl apply`, too, fills it in before it compares.
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

/// How a three-way patch is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreeWayOptions {
    /// Whether the patch may undo what others changed since the last apply; otherwise that is an error.
    pub overwrite: bool,
    /// Whether `apiVersion`, `kind` and `metadata.name` must stay what they are.
    pub same_identity: bool,
}

impl Default for ThreeWayOptions {
    /// As `kubectl apply`: it overwrites, and an object stays what it is.
    fn default() -> Self {
        Self { overwrite: true, same_identity: true }
    }
}

impl ThreeWayOptions {
    /// The same with another answer to whether changes of others are undone.
    #[must_use]
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.overwrite = overwrite;
        self
    }

    /// The same with another answer to whether the object must stay what it is.
    #[must_use]
    pub fn same_identity(mut self, same_identity: bool) -> Self {
        self.same_identity = same_identity;
        self
    }
}

/// How a patch is made. By default as kubectl does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct CreateOptions {
    /// By whose rules a strategic merge patch will be applied.
    pub rules: PatchRules,
    /// What becomes of what others changed, and of what names the object.
    pub three_way: ThreeWayOptions,
    /// Whether patches for the API server name the recommended merge keys of ports and other lists that their patch
    /// merge key does not tell apart. No released server knows `$patchMergeKey`.
    pub recommended_keys: bool,
}

impl Default for CreateOptions {
    fn default() -> Self {
        Self { rules: PatchRules::Apiserver, three_way: ThreeWayOptions::default(), recommended_keys: false }
    }
}

impl CreateOptions {
    /// The same by other rules of strategic merge patches.
    #[must_use]
    pub fn rules(mut self, rules: PatchRules) -> Self {
        self.rules = rules;
        self
    }

    /// The same with or without `$patchMergeKey` where the schema recommends several keys.
    #[must_use]
    pub fn recommended_keys(mut self, named: bool) -> Self {
        self.recommended_keys = named;
        self
    }

    /// The same with three-way patches made in another way.
    #[must_use]
    pub fn three_way(mut self, options: ThreeWayOptions) -> Self {
        self.three_way = options;
        self
    }
}
