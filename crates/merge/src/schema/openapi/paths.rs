//! Reads scopes and plurals of kinds from the paths of an OpenAPI document.

use super::keywords::gvks;
use crate::schema::Scope;
use crate::schema::model::Model;
use smp_text::yaml::{Map, Node};

const OPERATIONS: [&str; 7] = ["get", "post", "put", "patch", "delete", "head", "options"];

/// Sets the scope and plural of each kind that an operation refers to.
///
/// A kind is namespaced if one of its paths has a namespace parameter, otherwise it is cluster-scoped. Unusual paths
/// are not errors.
pub(super) fn read_paths(paths: &Map, model: &mut Model) {
    for (path, item) in paths.iter() {
        let namespaced = path.contains("namespaces/{namespace}");
        let operations = OPERATIONS.iter().filter_map(|operation| item.get(operation));
        let kinds = operations.filter_map(|operation| operation.get("x-kubernetes-group-version-kind"));
        for gvk in kinds.flat_map(|node: &Node| gvks(node)) {
            let group = gvk.group.clone();
            let kind = model.kinds.entry(gvk).or_default();
            if namespaced {
                kind.scope = Some(Scope::Namespaced);
            }
            kind.scope.get_or_insert(Scope::Cluster);
            if let Some(plural) = plural(path).filter(|_| kind.names.is_empty() && in_group(path, &group)) {
                kind.names.push(plural.into());
            }
        }
    }
}

/// Returns true if a path belongs to a group. This excludes subresources, which may have kinds of other groups:
/// `/api/v1/.../pods/{name}/eviction`.
fn in_group(path: &str, group: &str) -> bool {
    let prefix = path.trim_start_matches('/');
    if group.is_empty() {
        return prefix.starts_with("api/");
    }
    prefix.strip_prefix("apis/").and_then(|rest| rest.strip_prefix(group)).is_some_and(|r| r.starts_with('/'))
}

/// Returns the plural in the path of a collection or an object, such as `/api/v1/namespaces/{namespace}/pods`.
fn plural(path: &str) -> Option<&str> {
    let mut segments = path.trim_matches('/').split('/');
    let versions = if segments.next()? == "api" { 1 } else { 2 };
    let rest: Vec<&str> = segments.skip(versions).collect();
    match rest.as_slice() {
        ["watch", _, ..] => None,
        ["namespaces", "{namespace}", plural] | ["namespaces", "{namespace}", plural, "{name}"] => {
            Some(plural)
        }
        [plural] | [plural, "{name}"] => Some(plural),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_come_from_the_paths_of_objects() {
        let table = [
            ("/api/v1/pods", Some("pods")),
            ("/api/v1/namespaces/{namespace}/pods/{name}", Some("pods")),
            ("/api/v1/namespaces/{name}", Some("namespaces")),
            ("/api/v1/namespaces", Some("namespaces")),
            ("/api/v1/namespaces/{namespace}/pods/{name}/log", None),
            ("/api/v1/watch/pods", None),
            ("/apis/apps/v1/deployments", Some("deployments")),
            ("/apis/apps/v1/", None),
            ("/version/", None),
        ];
        for (path, want) in table {
            assert_eq!(plural(path), want, "{path}");
        }
    }

    #[test]
    fn a_kind_belongs_to_the_paths_of_its_group() {
        assert!(in_group("/api/v1/pods", ""));
        assert!(in_group("/apis/apps/v1/deployments", "apps"));
        assert!(!in_group("/apis/apps/v1/deployments", "app"));
        assert!(!in_group("/api/v1/namespaces/{namespace}/pods/{name}/eviction", "policy"));
    }
}
