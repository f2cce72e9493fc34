//! Parses REST API paths of objects and collections: `/apis/apps/v1/namespaces/shop/deployments/web`.

use super::kinds::find_resource;
use super::{Gvk, Schema, Scope};

/// The REST API path of an object, or of all objects of a kind.
///
/// ```
/// use strategic_merge_patch::schema::{ResourcePath, Schema};
///
/// let schema = Schema::embedded();
/// let path = ResourcePath::parse(&schema, "/apis/apps/v1/namespaces/shop/deployments/web").expect("served");
/// assert_eq!(path.gvk.to_string(), "apps/v1 Deployment");
/// assert_eq!((path.plural.as_str(), path.namespace.as_str(), path.name.as_str()), ("deployments", "shop", "web"));
/// // Nodes are cluster-scoped.
/// assert!(ResourcePath::parse(&schema, "/api/v1/namespaces/shop/nodes").is_none());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct ResourcePath {
    /// The kind.
    pub gvk: Gvk,
    /// The plural in the path.
    pub plural: String,
    /// The namespace; empty for cluster-scoped objects and for collections across all namespaces.
    pub namespace: String,
    /// The name; empty for a collection.
    pub name: String,
    /// The subresource, such as `status`; empty for the object itself.
    pub subresource: String,
}

/// The parts of a REST API path, as written. A part is empty if the path lacks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathParts<'p> {
    /// The API version, such as `apps/v1`.
    pub api_version: &'p str,
    /// The namespace.
    pub namespace: &'p str,
    /// The plural of the resource.
    pub plural: &'p str,
    /// The name of the object.
    pub name: &'p str,
    /// The subresource, which contains slashes if it has several parts.
    pub subresource: &'p str,
}

impl<'p> PathParts<'p> {
    /// Splits a path without a query. Returns `None` if it is not the path of a resource.
    #[must_use]
    pub fn parse(path: &'p str) -> Option<Self> {
        let (api_version, rest) = if let Some(rest) = path.strip_prefix("/api/") {
            rest.split_once('/')?
        } else {
            let rest = path.strip_prefix("/apis/")?;
            let end = rest.match_indices('/').nth(1)?.0;
            (&rest[..end], &rest[end + 1..])
        };
        let parts: Vec<&str> = rest.splitn(5, '/').collect();
        // A namespace is also an object, and has subresources.
        let is_of_namespace = |rest: &[&str]| matches!(rest, [] | ["status" | "finalize"]);
        let (namespace, rest) = match parts.as_slice() {
            ["namespaces", namespace, rest @ ..] if !is_of_namespace(rest) => (*namespace, rest),
            rest => ("", rest),
        };
        if rest.iter().any(|part| part.is_empty()) {
            return None;
        }
        let (plural, name, subresource) = match rest {
            [plural] => (*plural, "", ""),
            [plural, name] => (*plural, *name, ""),
            [plural, name, subresource] => (*plural, *name, *subresource),
            _ => return None,
        };
        Some(Self { api_version, namespace, plural, name, subresource })
    }
}

impl ResourcePath {
    /// Parses a path without a query. Returns `None` if no kind of the schema has this path.
    #[must_use]
    pub fn parse(schema: &Schema, path: &str) -> Option<Self> {
        let PathParts { api_version, namespace, plural, name, subresource } =
            PathParts::parse(path).filter(|parts| !parts.subresource.contains('/'))?;
        let gvk = find_resource(schema, plural, api_version)?;
        let is_there = match schema.scope(&gvk) {
            Some(Scope::Cluster) => namespace.is_empty(),
            _ => name.is_empty() || !namespace.is_empty(),
        };
        let [plural, namespace, name, subresource] =
            [plural, namespace, name, subresource].map(str::to_string);
        is_there.then_some(Self { gvk, plural, namespace, name, subresource })
    }

    /// Returns true for a collection of a namespaced kind in all namespaces.
    #[must_use]
    pub fn is_of_all_namespaces(&self, schema: &Schema) -> bool {
        self.namespace.is_empty() && schema.scope(&self.gvk) != Some(Scope::Cluster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_objects_and_collections_are_parsed() {
        let schema = Schema::embedded();
        let parts = |path: &str| {
            let ResourcePath { gvk, namespace, name, subresource, .. } = ResourcePath::parse(&schema, path)?;
            Some(format!("{gvk}|{namespace}|{name}|{subresource}"))
        };
        let table = [
            ("/api/v1/namespaces/a/pods/p", Some("v1 Pod|a|p|")),
            ("/api/v1/namespaces/a/pods/p/log", Some("v1 Pod|a|p|log")),
            ("/api/v1/namespaces/a/pods", Some("v1 Pod|a||")),
            ("/api/v1/pods", Some("v1 Pod|||")),
            ("/api/v1/namespaces", Some("v1 Namespace|||")),
            ("/api/v1/namespaces/a", Some("v1 Namespace||a|")),
            ("/api/v1/namespaces/a/status", Some("v1 Namespace||a|status")),
            ("/api/v1/nodes/n", Some("v1 Node||n|")),
            ("/apis/batch/v1/namespaces/a/jobs/j", Some("batch/v1 Job|a|j|")),
            // The scope must match: the path of a namespaced object needs a namespace, that of a cluster-scoped one has
            // none.
            ("/api/v1/pods/p", None),
            ("/api/v1/namespaces/a/nodes", None),
            ("/api/v1/namespaces/a/namespaces/b", None),
            ("/api/v1/namespaces/a/pod", None),
            ("/api/v1/namespaces/a/Pods", None),
            ("/api/v1/namespaces/a/po", None),
            ("/apis/v1/namespaces/a/pods", None),
            ("/api/v1/namespaces/a/deployments", None),
            ("/apis/apps/v9/deployments", None),
            ("/api/v1/namespaces/a/pods/p/log/more", None),
            ("/api/v1/namespaces/a/pods/", None),
            ("/version", None),
            ("", None),
        ];
        for (path, want) in table {
            assert_eq!(parts(path).as_deref(), want, "{path}");
        }
        let all = |path: &str| ResourcePath::parse(&schema, path).expect(path).is_of_all_namespaces(&schema);
        assert!(all("/api/v1/pods") && !all("/api/v1/namespaces/a/pods") && !all("/api/v1/nodes"));
    }
}
