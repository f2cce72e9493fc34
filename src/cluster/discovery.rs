//! Which resource a kind is: its plural and scope, as the server itself says.
//!
//! One request tells all groups (aggregated discovery, Kubernetes 1.26 and later), another the
//! core group; each is sent only when a kind of it is asked for. Older servers, and groups that a
//! server's summary does not have yet, are asked for one version at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use futures::future::try_join_all;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;
use smol_str::SmolStr;

use super::client::{Ask, Cluster};
use super::failure::not_understood;
use super::json::or_default;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::schema::Gvk;

/// A kind and the resource that serves it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    /// The kind.
    pub gvk: Gvk,
    /// The resource, such as `deployments`.
    pub plural: SmolStr,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
}

impl Mapping {
    /// The path of an object; the namespace counts only for kinds that have one.
    pub(super) fn path(&self, namespace: &str, name: &str) -> String {
        let Gvk { group, version, .. } = &self.gvk;
        let version = match group.as_str() {
            "" => format!("/api/{}", encode(version)),
            group => format!("/apis/{}/{}", encode(group), encode(version)),
        };
        let namespace =
            if self.namespaced { format!("/namespaces/{}", encode(namespace)) } else { String::new() };
        format!("{version}{namespace}/{}/{}", encode(&self.plural), encode(name))
    }
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
pub(super) struct Discovery(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    mappings: FxHashMap<Gvk, Mapping>,
    /// The paths that were asked for, found or not.
    asked: FxHashSet<String>,
}

impl Discovery {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets everything: the server may serve more than it did.
    pub(super) fn forget(&self) {
        *self.lock() = Known::default();
    }
}

/// Asks for the summary of all groups, and for less from servers that have none.
const SUMMARY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

impl Cluster {
    /// Learns what the server serves of these kinds; those that it does not serve stay unknown.
    pub(super) async fn discover(&self, kinds: &[Gvk]) -> Result<()> {
        let roots = kinds.iter().map(|gvk| if gvk.group.is_empty() { "/api" } else { "/apis" });
        let roots = roots.map(String::from).collect();
        let summaries = self.unasked(roots).into_iter().map(|path| self.summary(path));
        try_join_all(summaries).await?;
        let unknown = kinds.iter().filter(|gvk| self.mapping(gvk).is_none());
        let versions = unknown.map(|gvk| match gvk.group.as_str() {
            "" => format!("/api/{}", encode(&gvk.version)),
            group => format!("/apis/{}/{}", encode(group), encode(&gvk.version)),
        });
        let versions = versions.collect();
        try_join_all(self.unasked(versions).into_iter().map(|path| self.version(path))).await?;
        Ok(())
    }

    /// The resource of a kind, as far as [`Cluster::discover`] found it.
    pub(super) fn mapping(&self, gvk: &Gvk) -> Option<Mapping> {
        self.discovery.lock().mappings.get(gvk).cloned()
    }

    /// The error for a kind that the server does not have.
    pub(super) fn unknown_kind(&self, gvk: &Gvk) -> Diagnostic {
        let known = self.discovery.lock();
        let same =
            |other: &&Gvk| other.kind == gvk.kind && (other.group == gvk.group || gvk.group.is_empty());
        let mut others: Vec<String> =
            known.mappings.keys().filter(same).map(|gvk| gvk.api_version().to_string()).collect();
        others.sort_unstable();
        let message = format!("the server has no kind {} in {}", gvk.kind, gvk.api_version());
        let error = Diagnostic::error(Code::NoMatch, message).note(format!("said by {}", self.place));
        if others.is_empty() {
            return error.help("install its CustomResourceDefinition, or apply it together with this");
        }
        error.help(format!("it has {} in {}", gvk.kind, others.join(", ")))
    }

    /// The paths that were never asked for; they count as asked from now on.
    fn unasked(&self, paths: Vec<String>) -> Vec<String> {
        let mut known = self.discovery.lock();
        paths.into_iter().filter(|path| known.asked.insert(path.clone())).collect()
    }

    async fn summary(&self, path: String) -> Result<()> {
        let summary: Summary = self.get_json(&Ask { accept: SUMMARY, ..Ask::get(path) }).await?;
        let mut known = self.discovery.lock();
        for mapping in summary.items.into_iter().flat_map(SummaryGroup::mappings) {
            known.mappings.insert(mapping.gvk.clone(), mapping);
        }
        Ok(())
    }

    async fn version(&self, path: String) -> Result<()> {
        let answer = self.ask(&Ask::get(path.clone())).await?;
        if answer.status == 404 {
            return Ok(());
        }
        let answer = answer.accepted().map_err(|refusal| refusal.diagnostic(&self.place))?;
        let list: ResourceList = serde_json::from_slice(&answer.body)
            .map_err(|error| not_understood(&self.place, &path, &error))?;
        let mut known = self.discovery.lock();
        for mapping in list.mappings() {
            known.mappings.insert(mapping.gvk.clone(), mapping);
        }
        Ok(())
    }
}

/// `APIGroupDiscoveryList`; of an older server's `APIGroupList` nothing is read.
#[derive(Debug, Deserialize)]
struct Summary {
    #[serde(default, deserialize_with = "or_default")]
    items: Vec<SummaryGroup>,
}

#[derive(Debug, Deserialize)]
struct SummaryGroup {
    #[serde(default)]
    metadata: SummaryMetadata,
    #[serde(default, deserialize_with = "or_default")]
    versions: Vec<SummaryVersion>,
}

#[derive(Debug, Default, Deserialize)]
struct SummaryMetadata {
    #[serde(default)]
    name: String,
}

#[derive(Debug, Deserialize)]
struct SummaryVersion {
    version: String,
    #[serde(default, deserialize_with = "or_default")]
    resources: Vec<SummaryResource>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SummaryResource {
    resource: String,
    response_kind: Option<SummaryKind>,
    #[serde(default)]
    scope: String,
}

#[derive(Debug, Deserialize)]
struct SummaryKind {
    kind: String,
}

impl SummaryGroup {
    fn mappings(self) -> impl Iterator<Item = Mapping> {
        let group = self.metadata.name;
        self.versions.into_iter().flat_map(move |version| {
            let (group, number) = (SmolStr::from(&group), SmolStr::from(version.version));
            version.resources.into_iter().filter_map(move |resource| {
                let kind = resource.response_kind?.kind.into();
                Some(Mapping {
                    gvk: Gvk { group: group.clone(), version: number.clone(), kind },
                    plural: resource.resource.into(),
                    namespaced: resource.scope == "Namespaced",
                })
            })
        })
    }
}

/// `APIResourceList`
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceList {
    group_version: String,
    #[serde(default, deserialize_with = "or_default")]
    resources: Vec<ListedResource>,
}

#[derive(Debug, Deserialize)]
struct ListedResource {
    name: String,
    kind: String,
    #[serde(default)]
    namespaced: bool,
}

impl ResourceList {
    fn mappings(self) -> impl Iterator<Item = Mapping> {
        let group_version = self.group_version;
        let resources = self.resources.into_iter().filter(|r| !r.name.contains('/'));
        resources.map(move |resource| Mapping {
            gvk: Gvk::from_manifest(&group_version, &resource.kind),
            plural: resource.name.into(),
            namespaced: resource.namespaced,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_read() {
        let text = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[{
            "version":"v1","freshness":"Current","resources":[
              {"resource":"deployments","responseKind":{"group":"","version":"","kind":"Deployment"},
               "scope":"Namespaced","subresources":[{"subresource":"scale"}]},
              {"resource":"odd","scope":"Cluster"}]}]}]}"#;
        let summary: Summary = serde_json::from_str(text).expect("a summary");
        let mappings: Vec<_> = summary.items.into_iter().flat_map(SummaryGroup::mappings).collect();
        let gvk = Gvk::from_manifest("apps/v1", "Deployment");
        assert_eq!(mappings, [Mapping { gvk, plural: "deployments".into(), namespaced: true }]);
    }

    #[test]
    fn lists_of_one_version_are_read_without_subresources() {
        let text = r#"{"groupVersion":"v1","resources":[
            {"name":"pods","kind":"Pod","namespaced":true},
            {"name":"pods/status","kind":"Pod","namespaced":true},
            {"name":"nodes","kind":"Node","namespaced":false}]}"#;
        let list: ResourceList = serde_json::from_str(text).expect("a list");
        let names: Vec<_> = list.mappings().map(|m| (m.plural, m.namespaced)).collect();
        assert_eq!(names, [("pods".into(), true), ("nodes".into(), false)]);
    }

    #[test]
    fn paths_of_objects() {
        let mapping = |api_version, kind, plural: &str, namespaced| Mapping {
            gvk: Gvk::from_manifest(api_version, kind),
            plural: plural.into(),
            namespaced,
        };
        let deployment = mapping("apps/v1", "Deployment", "deployments", true);
        assert_eq!(deployment.path("shop", "web"), "/apis/apps/v1/namespaces/shop/deployments/web");
        let role = mapping("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false);
        let want = "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:a%2Fb";
        assert_eq!(role.path("shop", "system:a/b"), want);
        assert_eq!(mapping("v1", "Node", "nodes", false).path("", "n"), "/api/v1/nodes/n");
    }
}
