//! A kind and the resource that serves it, and which of them are known so far.
//!
//! Knows nothing of how the server is asked.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use smp_merge::schema::{Gvk, NamedKind, Scope};
use smp_text::diagnostic::Diagnostic;

/// Where CRDs are.
pub(super) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A kind and the resource that serves it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Mapping {
    /// The kind.
    pub gvk: Gvk,
    /// The resource, such as `deployments`.
    pub plural: SmolStr,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// Its singular and short names.
    pub names: Vec<SmolStr>,
    /// What can be done with it, such as `list`; empty where that is not told.
    pub verbs: Vec<SmolStr>,
}

impl Mapping {
    /// A resource of which no more is known.
    pub(super) fn new(gvk: Gvk, plural: impl Into<SmolStr>, namespaced: bool) -> Self {
        Self { gvk, plural: plural.into(), namespaced, names: Vec::new(), verbs: Vec::new() }
    }

    /// The kind with all of its names.
    pub(super) fn named_kind(&self) -> NamedKind {
        let names = std::iter::once(&self.plural).chain(&self.names).cloned().collect();
        let scope = if self.namespaced { Scope::Namespaced } else { Scope::Cluster };
        NamedKind { gvk: self.gvk.clone(), scope: Some(scope), names }
    }

    /// Whether there can be objects that a list would tell of: questions, such as for a review of access, are kept nowhere.
    pub(super) fn can_be_listed(&self) -> bool {
        self.verbs.is_empty() || self.verbs.iter().any(|verb| verb == "list")
    }

    /// The path of the kind's CRD, if it is a custom one.
    pub(super) fn definition_path(&self) -> String {
        definition_path(&format!("{}.{}", self.plural, self.gvk.group))
    }

    /// The path of an object; the namespace counts only for kinds that have one.
    pub(super) fn path(&self, namespace: &str, name: &str) -> String {
        format!("{}/{}", self.collection(namespace), encode(name))
    }

    /// The path of all objects, of one namespace if the kind has them in namespaces.
    pub(super) fn collection(&self, namespace: &str) -> String {
        let Gvk { group, version, .. } = &self.gvk;
        let version = match group.as_str() {
            "" => format!("/api/{}", encode(version)),
            group => format!("/apis/{}/{}", encode(group), encode(version)),
        };
        let namespace =
            if self.namespaced { format!("/namespaces/{}", encode(namespace)) } else { String::new() };
        format!("{version}{namespace}/{}", encode(&self.plural))
    }
}

/// The path of a CRD.
pub(super) fn definition_path(name: &str) -> String {
    format!("{DEFINITIONS}/{}", encode(name))
}

/// Escapes what cannot stand in a segment of a path. Names of roles may have colons.
pub(super) fn encode(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |out, byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => {
            out + char::from(byte).encode_utf8(&mut [0; 4])
        }
        _ => out + &format!("%{byte:02X}"),
    })
}

/// What is known so far of what the server serves.
#[derive(Debug, Default)]
pub(super) struct Discovery(Mutex<KnownMappings>);

#[derive(Debug, Default)]
pub(super) struct KnownMappings {
    pub(super) mappings: FxHashMap<Gvk, Mapping>,
    /// The paths that were answered, found or not.
    pub(super) answered: FxHashSet<String>,
    /// Why the server does not tell what it serves at other paths, such as of a group whose own server is down.
    pub(super) refused: FxHashMap<String, Diagnostic>,
}

impl Discovery {
    pub(super) fn lock(&self) -> MutexGuard<'_, KnownMappings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything: the server may serve more than it did.
    pub(super) fn forget(&self) {
        *self.lock() = KnownMappings::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_objects() {
        let mapping = |api_version, kind, plural: &str, namespaced| Mapping {
            gvk: Gvk::from_manifest(api_version, kind),
            plural: plural.into(),
            namespaced,
            names: Vec::new(),
            verbs: Vec::new(),
        };
        let deployment = mapping("apps/v1", "Deployment", "deployments", true);
        assert_eq!(deployment.path("shop", "web"), "/apis/apps/v1/namespaces/shop/deployments/web");
        let role = mapping("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false);
        let want = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:a%2Fb";
        assert_eq!(role.path("shop", "system:a/b"), want);
        assert_eq!(mapping("v1", "Node", "nodes", false).path("", "n"), "/api/v1/nodes/n");
    }
}
