//! Mappings from kinds to API resources, and a cache of those that were discovered.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use smp_merge::schema::{Gvk, NamedKind, Scope};
use smp_text::diagnostic::Diagnostic;

/// The path of CRDs.
pub(super) const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A kind and the API resource that serves it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ResourceMapping {
    /// The kind.
    pub gvk: Gvk,
    /// The resource, such as `deployments`.
    pub plural: SmolStr,
    /// True if its objects have a namespace.
    pub namespaced: bool,
    /// Its singular and short names.
    pub names: Vec<SmolStr>,
    /// Supported verbs, such as `list`. Empty if unknown.
    pub verbs: Vec<SmolStr>,
}

impl ResourceMapping {
    /// Returns a mapping without other names and verbs.
    pub(super) fn new(gvk: Gvk, plural: impl Into<SmolStr>, namespaced: bool) -> Self {
        Self { gvk, plural: plural.into(), namespaced, names: Vec::new(), verbs: Vec::new() }
    }

    /// Returns the kind with all its names.
    pub(super) fn named_kind(&self) -> NamedKind {
        let names = std::iter::once(&self.plural).chain(&self.names).cloned().collect();
        let scope = if self.namespaced { Scope::Namespaced } else { Scope::Cluster };
        NamedKind { gvk: self.gvk.clone(), scope: Some(scope), names }
    }

    /// Returns true if objects of the resource can be listed. Resources whose objects are not stored, such as access
    /// reviews, cannot.
    pub(super) fn can_be_listed(&self) -> bool {
        self.verbs.is_empty() || self.verbs.iter().any(|verb| verb == "list")
    }

    /// Returns the path of the kind's CRD. The kind must be that of a custom resource.
    pub(super) fn crd_path(&self) -> String {
        crd_path(&format!("{}.{}", self.plural, self.gvk.group))
    }

    /// Returns the path of an object. The namespace is ignored for cluster-scoped kinds.
    pub(super) fn path(&self, namespace: &str, name: &str) -> String {
        format!("{}/{}", self.collection(namespace), encode_segment(name))
    }

    /// Returns the path of all objects, in one namespace for namespaced kinds.
    pub(super) fn collection(&self, namespace: &str) -> String {
        let Gvk { group, version, .. } = &self.gvk;
        let version = match group.as_str() {
            "" => format!("/api/{}", encode_segment(version)),
            group => format!("/apis/{}/{}", encode_segment(group), encode_segment(version)),
        };
        let namespace = if self.namespaced {
            format!("/namespaces/{}", encode_segment(namespace))
        } else {
            String::new()
        };
        format!("{version}{namespace}/{}", encode_segment(&self.plural))
    }
}

/// Returns the path of a CRD.
pub(super) fn crd_path(name: &str) -> String {
    format!("{CRDS}/{}", encode_segment(name))
}

/// Escapes characters that are not allowed in a path segment. Names of roles may contain colons.
pub(super) fn encode_segment(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |out, byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => {
            out + char::from(byte).encode_utf8(&mut [0; 4])
        }
        _ => out + &format!("%{byte:02X}"),
    })
}

/// The resources discovered so far.
#[derive(Debug, Default)]
pub(super) struct DiscoveryCache(Mutex<KnownMappings>);

#[derive(Debug, Default)]
pub(super) struct KnownMappings {
    pub(super) mappings: FxHashMap<Gvk, ResourceMapping>,
    /// The paths that were queried successfully, including those that were not found.
    pub(super) queried: FxHashSet<String>,
    /// Errors of other paths, for example of groups whose aggregated API server is down.
    pub(super) errors: FxHashMap<String, Diagnostic>,
}

impl DiscoveryCache {
    pub(super) fn lock(&self) -> MutexGuard<'_, KnownMappings> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Clears the cache, since the server may serve more kinds now.
    pub(super) fn clear(&self) {
        *self.lock() = KnownMappings::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_paths_are_escaped() {
        let mapping = |api_version, kind, plural: &str, namespaced| ResourceMapping {
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
