//! Resources as people name them on a command line.

use super::id::ResId;
use smp_merge::schema::{Gvk, names_kind};

/// A resource named as `KIND/NAME` or `KIND/NAMESPACE/NAME`, the kind as kubectl takes it: `deploy`, `deployments.apps`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectWords<'w> {
    /// The kind, with its group or without.
    pub kind: &'w str,
    /// The namespace, where one is named.
    pub namespace: Option<&'w str>,
    /// The name.
    pub name: &'w str,
}

impl<'w> ObjectWords<'w> {
    /// None for what names no kind.
    pub fn parse(text: &'w str) -> Option<Self> {
        let (kind, rest) = text.split_once('/')?;
        let (namespace, name) = match rest.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, rest),
        };
        Some(Self { kind, namespace, name })
    }

    /// Returns true if an id is in the namespace, or none is named.
    pub fn is_in(&self, id: &ResId) -> bool {
        self.namespace.is_none_or(|name| id.namespace == name || id.effective_namespace() == name)
    }

    /// Returns true if a kind has the name.
    pub fn is_kind(&self, gvk: &Gvk) -> bool {
        is_kind(gvk, self.kind)
    }

    /// Returns true if an id has the kind, the namespace and the name.
    pub fn means(&self, id: &ResId) -> bool {
        id.name == self.name && self.is_in(id) && self.is_kind(&id.gvk)
    }
}

/// Whether a kind is meant by a word as kubectl takes it, with its group or without.
pub fn is_kind(gvk: &Gvk, word: &str) -> bool {
    names_kind(gvk, &word.split('.').collect::<Vec<_>>())
}
