//! The scope of a set: the kinds and namespaces of its members, as stored in the parent's annotations.

use std::collections::BTreeSet;
use std::fmt;

use smol_str::SmolStr;

use smp_merge::schema::Gvk;

/// A kind, whatever its version is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKind {
    /// The kind.
    pub kind: SmolStr,
    /// The group; empty for the core group.
    pub group: SmolStr,
}

impl fmt::Display for GroupKind {
    /// Formats the kind as `ConfigMap` or `Deployment.apps`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if self.group.is_empty() { Ok(()) } else { write!(f, ".{}", self.group) }
    }
}

impl GroupKind {
    pub(super) fn from_gvk(gvk: &Gvk) -> Self {
        Self { kind: gvk.kind.clone(), group: gvk.group.clone() }
    }

    /// Parses a kind such as `Deployment.apps`.
    pub(super) fn parse(text: &str) -> Self {
        let (kind, group) = text.split_once('.').unwrap_or((text, ""));
        Self { kind: kind.into(), group: group.into() }
    }
}

/// The kinds and namespaces of members.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct SetScope {
    pub(super) kinds: BTreeSet<GroupKind>,
    pub(super) namespaces: BTreeSet<SmolStr>,
}

impl SetScope {
    pub(super) fn extend(&mut self, other: &Self) {
        self.kinds.extend(other.kinds.iter().cloned());
        self.namespaces.extend(other.namespaces.iter().cloned());
    }

    /// Returns the union of two scopes.
    pub(super) fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.extend(other);
        all
    }

    /// Returns the kinds and namespaces that are not in `other`.
    pub(super) fn difference(&self, other: &Self) -> Self {
        Self {
            kinds: self.kinds.difference(&other.kinds).cloned().collect(),
            namespaces: self.namespaces.difference(&other.namespaces).cloned().collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.namespaces.is_empty()
    }

    /// Returns the value of the annotation with the kinds, sorted as text.
    pub(super) fn kinds_annotation(&self) -> String {
        let texts: BTreeSet<String> = self.kinds.iter().map(ToString::to_string).collect();
        texts.into_iter().collect::<Vec<_>>().join(",")
    }

    /// Returns the value of the annotation with the namespaces, except the parent's namespace.
    pub(super) fn namespaces_annotation(&self, own: &str) -> String {
        let others = self.namespaces.iter().map(SmolStr::as_str).filter(|namespace| *namespace != own);
        others.collect::<Vec<_>>().join(",")
    }
}

/// Splits the value of one of these annotations. An empty value has no entries.
pub(super) fn split_annotation(annotation: &str) -> impl Iterator<Item = &str> {
    annotation.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(kinds: &str, namespaces: &str) -> SetScope {
        SetScope {
            kinds: split_annotation(kinds).map(GroupKind::parse).collect(),
            namespaces: split_annotation(namespaces).map(SmolStr::from).collect(),
        }
    }

    #[test]
    fn annotations_are_sorted_and_omit_the_parents_namespace() {
        let all = scope("Ingress.networking.k8s.io,Deployment.apps,ConfigMap,ConfigMap", "shop,a,b");
        assert_eq!(all.kinds_annotation(), "ConfigMap,Deployment.apps,Ingress.networking.k8s.io");
        assert_eq!(all.namespaces_annotation("a"), "b,shop");
        assert_eq!(all.namespaces_annotation(""), "a,b,shop");
        assert_eq!(scope("", "").kinds_annotation(), "");
        // Sorted as text. If the kinds were sorted by kind and then group, the first two would be swapped.
        assert_eq!(scope("Foo.z,Foo,Foo-a.b", "").kinds_annotation(), "Foo,Foo-a.b,Foo.z");
    }

    #[test]
    fn scopes_have_union_and_difference() {
        let (old, new) = (scope("ConfigMap,Secret", "a"), scope("ConfigMap,Role.rbac.x", "b"));
        assert_eq!(old.union(&new), scope("ConfigMap,Secret,Role.rbac.x", "a,b"));
        assert_eq!(old.difference(&new), scope("Secret", "a"));
        assert!(old.difference(&old).is_empty() && !old.is_empty());
    }
}
