//! Where the members of a set are: their kinds and namespaces, as parents have them in annotations.

use std::collections::BTreeSet;
use std::fmt;

use smol_str::SmolStr;

use smp_merge::schema::Gvk;

/// A kind, whatever its version.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKind {
    /// The kind.
    pub kind: SmolStr,
    /// The group; empty for the core group.
    pub group: SmolStr,
}

impl fmt::Display for GroupKind {
    /// `ConfigMap`, `Deployment.apps`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if self.group.is_empty() { Ok(()) } else { write!(f, ".{}", self.group) }
    }
}

impl GroupKind {
    pub(super) fn of(gvk: &Gvk) -> Self {
        Self { kind: gvk.kind.clone(), group: gvk.group.clone() }
    }

    /// From `Deployment.apps`.
    pub(super) fn read(text: &str) -> Self {
        let (kind, group) = text.split_once('.').unwrap_or((text, ""));
        Self { kind: kind.into(), group: group.into() }
    }
}

/// Where members are.
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

    /// Both together.
    pub(super) fn with(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.extend(other);
        all
    }

    /// What this has and the other has not.
    pub(super) fn beyond(&self, other: &Self) -> Self {
        Self {
            kinds: self.kinds.difference(&other.kinds).cloned().collect(),
            namespaces: self.namespaces.difference(&other.namespaces).cloned().collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.namespaces.is_empty()
    }

    /// The annotation with the kinds: sorted as texts.
    pub(super) fn kinds_text(&self) -> String {
        let texts: BTreeSet<String> = self.kinds.iter().map(ToString::to_string).collect();
        texts.into_iter().collect::<Vec<_>>().join(",")
    }

    /// The annotation with the namespaces but that of the parent.
    pub(super) fn namespaces_text(&self, own: &str) -> String {
        let others = self.namespaces.iter().map(SmolStr::as_str).filter(|namespace| *namespace != own);
        others.collect::<Vec<_>>().join(",")
    }
}

/// The entries of such an annotation; an empty one has none.
pub(super) fn entries(annotation: &str) -> impl Iterator<Item = &str> {
    annotation.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(kinds: &str, namespaces: &str) -> SetScope {
        SetScope {
            kinds: entries(kinds).map(GroupKind::read).collect(),
            namespaces: entries(namespaces).map(SmolStr::from).collect(),
        }
    }

    #[test]
    fn annotations_are_sorted_and_leave_the_own_namespace_out() {
        let all = scope("Ingress.networking.k8s.io,Deployment.apps,ConfigMap,ConfigMap", "shop,a,b");
        assert_eq!(all.kinds_text(), "ConfigMap,Deployment.apps,Ingress.networking.k8s.io");
        assert_eq!(all.namespaces_text("a"), "b,shop");
        assert_eq!(all.namespaces_text(""), "a,b,shop");
        assert_eq!(scope("", "").kinds_text(), "");
        // As texts: by kind and then group the first two would change places.
        assert_eq!(scope("Foo.z,Foo,Foo-a.b", "").kinds_text(), "Foo,Foo-a.b,Foo.z");
    }

    #[test]
    fn scopes_are_joined_and_compared() {
        let (old, new) = (scope("ConfigMap,Secret", "a"), scope("ConfigMap,Role.rbac.x", "b"));
        assert_eq!(old.with(&new), scope("ConfigMap,Secret,Role.rbac.x", "a,b"));
        assert_eq!(old.beyond(&new), scope("Secret", "a"));
        assert!(old.beyond(&old).is_empty() && !old.is_empty());
    }
}
