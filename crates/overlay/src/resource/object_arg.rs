//! Resources in arguments of the command line.

use super::id::ResId;
use smp_merge::schema::{Gvk, matches_kind};

/// A resource given as `KIND/NAME` or `KIND/NAMESPACE/NAME`. The kind is written as in kubectl: `deploy`,
/// `deployments.apps`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjectArg<'w> {
    /// The kind, with or without its group.
    pub kind: &'w str,
    /// The namespace, if given.
    pub namespace: Option<&'w str>,
    /// The name.
    pub name: &'w str,
}

impl<'w> ObjectArg<'w> {
    /// Parses an argument. Returns `None` if it has no kind.
    pub fn parse(text: &'w str) -> Option<Self> {
        let (kind, rest) = text.split_once('/')?;
        let (namespace, name) = match rest.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, rest),
        };
        Some(Self { kind, namespace, name })
    }

    /// Returns true if the ID is in the namespace, or if no namespace is given.
    pub fn is_in(&self, id: &ResId) -> bool {
        self.namespace.is_none_or(|name| id.namespace == name || id.effective_namespace() == name)
    }

    /// Returns true if the argument has this kind.
    pub fn is_kind(&self, gvk: &Gvk) -> bool {
        is_kind(gvk, self.kind)
    }

    /// Returns true if the ID has this kind, namespace and name.
    pub fn matches(&self, id: &ResId) -> bool {
        id.name == self.name && self.is_in(id) && self.is_kind(&id.gvk)
    }
}

/// Returns true if `word` is a name of a kind in kubectl, with or without its group.
pub fn is_kind(gvk: &Gvk, word: &str) -> bool {
    matches_kind(gvk, &word.split('.').collect::<Vec<_>>())
}
