//! Discovery: the groups, versions and resources, aggregated and in the older formats; the version; health.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use smol_str::SmolStr;
use smp_merge::schema::version_priority;

use crate::request::Request;
use crate::resources::{Resource, Resources, Subresource};

/// The version of the server whose behavior is imitated: major, minor, full version, and the oldest minor version with
/// which it is compatible.
const VERSION: [&str; 4] = ["1", "36", "v1.36.3", "35"];

/// The version of Go that this server is built with.
const GO_VERSION: &str = "go1.26.5";

/// The media type of aggregated discovery.
pub(crate) const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The resources of each version, the preferred version first.
type Versions<'r> = Vec<(SmolStr, Vec<&'r Resource>)>;

/// Returns the response to a discovery request, and true if it is aggregated.
pub(crate) fn respond(resources: &Resources, request: &Request) -> Option<(Value, bool)> {
    let parts: Vec<&str> = request.path.trim_matches('/').split('/').collect();
    // Only requests for objects have longer paths.
    if let [_, _, _, _, ..] = parts[..] {
        return None;
    }
    let groups = groups(resources);
    let is_aggregated = request.accept().contains("as=APIGroupDiscoveryList");
    let named = groups.iter().filter(|(group, _)| !group.is_empty());
    let found = match parts.as_slice() {
        ["version"] => version(),
        ["api"] if is_aggregated => {
            aggregated_json(groups.get("").map(|versions| ("", versions)).into_iter())
        }
        ["apis"] if is_aggregated => {
            aggregated_json(named.map(|(group, versions)| (group.as_str(), versions)))
        }
        ["api"] => json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:443"}],
        }),
        ["apis"] => {
            let all: Vec<Value> = named.map(|(group, versions)| group_json(group, versions)).collect();
            json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": all})
        }
        ["apis", group] => {
            let mut found = group_json(group, groups.get(*group)?);
            found["kind"] = "APIGroup".into();
            found["apiVersion"] = "v1".into();
            found
        }
        ["api", version] => resource_list(groups.get("")?, "", version)?,
        ["apis", group, version] => resource_list(groups.get(*group)?, group, version)?,
        _ => return None,
    };
    Some((found, is_aggregated && parts.len() == 1))
}

/// Returns true for a path of the health checks.
pub(crate) fn is_health_path(path: &str) -> bool {
    matches!(path, "/healthz" | "/livez" | "/readyz")
        || path.starts_with("/healthz/")
        || path.starts_with("/readyz/")
        || path.starts_with("/livez/")
}

fn version() -> Value {
    let [major, minor, git, compatible_minor] = VERSION;
    json!({
        "major": major, "minor": minor, "gitVersion": git, "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": GO_VERSION, "compiler": "gc", "platform": "linux/amd64",
        "emulationMajor": major, "emulationMinor": minor,
        "minCompatibilityMajor": major, "minCompatibilityMinor": compatible_minor,
    })
}

fn groups(resources: &Resources) -> BTreeMap<SmolStr, Versions<'_>> {
    let mut groups: BTreeMap<SmolStr, Versions<'_>> = BTreeMap::new();
    for one in resources.all() {
        let versions = groups.entry(one.gvk.group.clone()).or_default();
        match versions.iter_mut().find(|(version, _)| *version == one.gvk.version) {
            Some((_, all)) => all.push(one),
            None => versions.push((one.gvk.version.clone(), vec![one])),
        }
    }
    for versions in groups.values_mut() {
        versions.sort_by_key(|(version, _)| std::cmp::Reverse(version_priority(version)));
    }
    groups
}

fn aggregated_json<'g>(groups: impl Iterator<Item = (&'g str, &'g Versions<'g>)>) -> Value {
    let items: Vec<Value> = groups
        .map(|(group, versions)| {
            let metadata = if group.is_empty() {
                json!({"creationTimestamp": null})
            } else {
                json!({"name": group, "creationTimestamp": null})
            };
            let versions: Vec<Value> = versions
                .iter()
                .map(|(version, all)| {
                    let resources: Vec<Value> = all.iter().map(|one| aggregated_resource(one)).collect();
                    json!({"version": version, "resources": resources, "freshness": "Current"})
                })
                .collect();
            json!({"metadata": metadata, "versions": versions})
        })
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn aggregated_resource(resource: &Resource) -> Value {
    let kind =
        |gvk: &smp_merge::schema::Gvk| json!({"group": gvk.group, "version": gvk.version, "kind": gvk.kind});
    let mut found = json!({
        "resource": resource.plural, "responseKind": kind(&resource.gvk), "singularResource": resource.singular,
        "scope": if resource.is_namespaced { "Namespaced" } else { "Cluster" }, "verbs": resource.verbs(),
    });
    set_names(&mut found, resource);
    let subresources: Vec<Value> = resource
        .subresources
        .iter()
        .map(|sub| json!({"subresource": sub.name, "responseKind": kind(&sub.gvk), "verbs": sub.verbs()}))
        .collect();
    if !subresources.is_empty() {
        found["subresources"] = subresources.into();
    }
    found
}

fn set_names(found: &mut Value, resource: &Resource) {
    if !resource.short_names.is_empty() {
        found["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        found["categories"] = json!(resource.categories);
    }
}

fn group_json(group: &str, versions: &Versions<'_>) -> Value {
    let described =
        |version: &SmolStr| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    let all: Vec<Value> = versions.iter().map(|(version, _)| described(version)).collect();
    json!({"name": group, "versions": all, "preferredVersion": all.first()})
}

fn resource_list(versions: &Versions<'_>, group: &str, version: &str) -> Option<Value> {
    let (_, all) = versions.iter().find(|(known, _)| known == version)?;
    let slash = if group.is_empty() { "" } else { "/" };
    let resources: Vec<Value> = all.iter().flat_map(|one| resource_entries(one)).collect();
    let mut list = json!({
        "kind": "APIResourceList", "groupVersion": format!("{group}{slash}{version}"), "resources": resources,
    });
    // The list of the core group has no `apiVersion`.
    if !group.is_empty() {
        list["apiVersion"] = "v1".into();
    }
    Some(list)
}

fn resource_entries(resource: &Resource) -> Vec<Value> {
    let mut main = json!({
        "name": resource.plural, "singularName": resource.singular, "namespaced": resource.is_namespaced,
        "kind": resource.gvk.kind, "verbs": resource.verbs(),
    });
    set_names(&mut main, resource);
    if let Some(hash) = resource.storage_hash() {
        main["storageVersionHash"] = hash.into();
    }
    let sub = |sub: &Subresource| {
        let mut found = json!({
            "name": format!("{}/{}", resource.plural, sub.name), "singularName": "",
            "namespaced": resource.is_namespaced, "kind": sub.gvk.kind, "verbs": sub.verbs(),
        });
        if sub.gvk.api_version() != resource.gvk.api_version() {
            found["group"] = json!(sub.gvk.group);
            found["version"] = json!(sub.gvk.version);
        }
        found
    };
    std::iter::once(main).chain(resource.subresources.iter().map(sub)).collect()
}
