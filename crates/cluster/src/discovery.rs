//! Which resource a kind is: its plural and scope, as the server itself says.
//!
//! One request tells all groups (aggregated discovery, Kubernetes 1.26 and later), another the
//! core group; each is sent only when a kind of it is asked for. Older servers, and groups that a
//! server's summary does not have yet, are asked for one version at a time.

use futures::future::try_join_all;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIResourceList};
use serde::Deserialize;
use smol_str::SmolStr;

use super::client::Cluster;
use super::exchange::Ask;
use super::failure::not_understood;
use super::json::{self, or_default};
use super::mapping::{Mapping, encode};
use smp_merge::schema::{Gvk, priority};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// Asks for the summary of all groups, and for less from servers that have none.
const SUMMARY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

impl Cluster {
    /// Learns what the server serves of these kinds; those that it does not serve stay unknown, and those of which it
    /// does not tell.
    pub(super) async fn discover(&self, kinds: &[Gvk]) -> Result<()> {
        let roots = kinds.iter().map(|gvk| if gvk.group.is_empty() { "/api" } else { "/apis" });
        let roots = roots.map(String::from).collect();
        let summaries = self.unasked(roots).into_iter().map(|path| self.summary(path));
        try_join_all(summaries).await?;
        let unknown = kinds.iter().filter(|gvk| self.mapping(gvk).is_none());
        let versions = unknown.map(path_of_version).collect();
        try_join_all(self.unasked(versions).into_iter().map(|path| self.version(path))).await?;
        Ok(())
    }

    /// Everything that the server serves, and tells of.
    ///
    /// # Errors
    /// It cannot be asked.
    pub fn resources(&self) -> Result<Vec<Mapping>> {
        self.wait(self.discover_all())?;
        Ok(self.known_mappings())
    }

    /// Learns everything that the server serves.
    pub(super) async fn discover_all(&self) -> Result<()> {
        let summaries = ["/api", "/apis"].map(|path| self.summary(path.into()));
        let old = try_join_all(summaries).await?;
        try_join_all(self.unasked(old.concat()).into_iter().map(|path| self.version(path))).await?;
        Ok(())
    }

    /// All that was found so far.
    pub(super) fn known_mappings(&self) -> Vec<Mapping> {
        self.discovery.lock().mappings.values().cloned().collect()
    }

    /// A part of what it serves of which the server did not tell, and why; none when it told all.
    pub(super) fn untold(&self) -> Option<String> {
        let known = self.discovery.lock();
        known
            .refused
            .iter()
            .min_by_key(|(path, _)| *path)
            .map(|(path, why)| format!("{path}: {}", why.message()))
    }

    /// The resource that serves a kind of a group in its most stable version, as far as it was found.
    pub(super) fn mapping_of(&self, group: &str, kind: &str) -> Option<Mapping> {
        let known = self.discovery.lock();
        let same = known.mappings.values().filter(|found| found.gvk.group == group && found.gvk.kind == kind);
        same.max_by_key(|found| priority(&found.gvk.version)).cloned()
    }

    /// Whether the server certainly has no such kind. A summary lacks what is only away for a moment, such as a group
    /// that another server answers for.
    pub(super) async fn has_lost(&self, group: &str, kind: &str) -> Result<bool> {
        let versions = if group.is_empty() {
            vec!["v1".to_string()]
        } else {
            let answer = self.ask(&Ask::get(format!("/apis/{}", encode(group)))).await?;
            if answer.status == 404 {
                return Ok(true);
            }
            let answer = answer.accepted().map_err(|refusal| refusal.diagnostic(&self.endpoint))?;
            let group: APIGroup = self.read_with(json::decode, &answer)?;
            group.versions.into_iter().map(|version| version.group_version).collect()
        };
        let root = if group.is_empty() { "/api" } else { "/apis" };
        let paths: Vec<String> = versions.iter().map(|version| format!("{root}/{version}")).collect();
        try_join_all(paths.iter().map(|path| self.version(path.clone()))).await?;
        if self.mapping_of(group, kind).is_some() {
            return Ok(false);
        }
        let known = self.discovery.lock();
        match paths.iter().find_map(|path| known.refused.get(path)) {
            Some(reason) => Err(reason.clone().note(format!("it may serve {kind}.{group}"))),
            None => Ok(true),
        }
    }

    /// The resource of a kind, as far as [`Cluster::discover`] found it.
    pub(super) fn mapping(&self, gvk: &Gvk) -> Option<Mapping> {
        self.discovery.lock().mappings.get(gvk).cloned()
    }

    /// The resources of a group, as far as [`Cluster::discover`] found them.
    pub(super) fn mappings_of(&self, group: &str) -> Vec<Mapping> {
        let known = self.discovery.lock();
        known.mappings.values().filter(|mapping| mapping.gvk.group == group).cloned().collect()
    }

    /// The error for a kind that the server does not have, or does not tell of.
    pub(super) fn unknown_kind(&self, gvk: &Gvk) -> Diagnostic {
        let known = self.discovery.lock();
        if let Some(reason) = known.refused.get(&path_of_version(gvk)) {
            let message = format!("the server does not tell what it serves in {}", gvk.api_version());
            let error = Diagnostic::error(Code::Remote, message).note(reason.message());
            return error.help("`kubectl get apiservices` says which of the servers behind it are down");
        }
        let same =
            |other: &&Gvk| other.kind == gvk.kind && (other.group == gvk.group || gvk.group.is_empty());
        let mut others: Vec<String> =
            known.mappings.keys().filter(same).map(|gvk| gvk.api_version().to_string()).collect();
        others.sort_unstable();
        let message = format!("the server has no kind {} in {}", gvk.kind, gvk.api_version());
        let error = Diagnostic::error(Code::NoMatch, message).note(format!("said by {}", self.endpoint));
        if others.is_empty() {
            return error.help("install its CustomResourceDefinition, or apply it together with this");
        }
        error.help(format!("it has {} in {}", gvk.kind, others.join(", ")))
    }

    /// The paths that were not answered yet, each once.
    fn unasked(&self, mut paths: Vec<String>) -> Vec<String> {
        paths.sort_unstable();
        paths.dedup();
        let known = self.discovery.lock();
        paths.into_iter().filter(|path| !known.answered.contains(path)).collect()
    }

    /// Learns what a summary says; returns the paths of versions of which it says nothing more.
    async fn summary(&self, path: String) -> Result<Vec<String>> {
        let ask = Ask { accept: SUMMARY, ..Ask::get(path.as_str()) };
        let summary: GroupDiscoveryList = self.get_json(&ask).await?;
        let groups = summary.groups.iter().flat_map(|group| &group.versions);
        let versions = groups.map(|version| &version.group_version).chain(&summary.versions);
        let silent = versions.map(|version| format!("{path}/{version}"));
        let stale = summary.items.iter().flat_map(GroupDiscovery::untold);
        let silent = silent.chain(stale.map(|version| format!("{path}/{version}"))).collect();
        self.learn(path, summary.items.into_iter().flat_map(GroupDiscovery::mappings));
        Ok(silent)
    }

    /// Records the answer of a path.
    fn learn(&self, path: String, mappings: impl Iterator<Item = Mapping>) {
        let mut known = self.discovery.lock();
        known.mappings.extend(mappings.map(|mapping| (mapping.gvk.clone(), mapping)));
        known.answered.insert(path);
    }

    async fn version(&self, path: String) -> Result<()> {
        let answer = self.ask(&Ask::get(path.clone())).await?;
        if answer.status == 404 {
            self.learn(path, std::iter::empty());
            return Ok(());
        }
        let answer = match answer.accepted() {
            Ok(answer) => answer,
            Err(refusal) => {
                self.discovery.lock().refused.insert(path, refusal.diagnostic(&self.endpoint));
                return Ok(());
            }
        };
        let list: APIResourceList = self.read_with(json::decode, &answer)?;
        if list.group_version.is_empty() {
            return Err(not_understood(&self.endpoint, &path, &"it names no version"));
        }
        self.learn(path, listed_mappings(list));
        Ok(())
    }
}

/// Where a server tells what it serves of a kind's version.
fn path_of_version(gvk: &Gvk) -> String {
    match gvk.group.as_str() {
        "" => format!("/api/{}", encode(&gvk.version)),
        group => format!("/apis/{}/{}", encode(group), encode(&gvk.version)),
    }
}

/// `APIGroupDiscoveryList`, or what older servers say instead: an `APIGroupList`, or of the core group `APIVersions`.
#[derive(Debug, Deserialize)]
struct GroupDiscoveryList {
    #[serde(default, deserialize_with = "or_default")]
    items: Vec<GroupDiscovery>,
    #[serde(default, deserialize_with = "or_default")]
    groups: Vec<APIGroup>,
    #[serde(default, deserialize_with = "or_default")]
    versions: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct GroupDiscovery {
    #[serde(default)]
    metadata: DiscoveryMetadata,
    #[serde(default, deserialize_with = "or_default")]
    versions: Vec<VersionDiscovery>,
}

#[derive(Debug, Default, Deserialize)]
struct DiscoveryMetadata {
    #[serde(default)]
    name: String,
}

#[derive(Debug, Deserialize)]
struct VersionDiscovery {
    version: String,
    /// `Stale` where the server behind it did not answer when the summary was made.
    #[serde(default)]
    freshness: String,
    #[serde(default, deserialize_with = "or_default")]
    resources: Vec<ResourceDiscovery>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResourceDiscovery {
    resource: String,
    response_kind: Option<DiscoveredKind>,
    #[serde(default)]
    scope: String,
    #[serde(default)]
    singular_resource: SmolStr,
    #[serde(default, deserialize_with = "or_default")]
    short_names: Vec<SmolStr>,
    #[serde(default, deserialize_with = "or_default")]
    verbs: Vec<SmolStr>,
}

#[derive(Debug, Deserialize)]
struct DiscoveredKind {
    kind: String,
}

impl GroupDiscovery {
    /// The versions of which the summary says nothing, since their server is down.
    fn untold(&self) -> impl Iterator<Item = String> {
        let stale = self.versions.iter().filter(|one| one.freshness == "Stale" && one.resources.is_empty());
        stale.map(|version| format!("{}/{}", self.metadata.name, version.version))
    }

    fn mappings(self) -> impl Iterator<Item = Mapping> {
        let group = self.metadata.name;
        self.versions.into_iter().flat_map(move |version| {
            let (group, number) = (SmolStr::from(&group), SmolStr::from(version.version));
            version.resources.into_iter().filter_map(move |resource| {
                let kind = resource.response_kind?.kind.into();
                let mut names = resource.short_names;
                names.extend(Some(resource.singular_resource).filter(|name| !name.is_empty()));
                Some(Mapping {
                    gvk: Gvk { group: group.clone(), version: number.clone(), kind },
                    plural: resource.resource.into(),
                    namespaced: resource.scope == "Namespaced",
                    names,
                    verbs: resource.verbs,
                })
            })
        })
    }
}

/// The resources of a list, without subresources.
fn listed_mappings(list: APIResourceList) -> impl Iterator<Item = Mapping> {
    let resources = list.resources.into_iter().filter(|resource| !resource.name.contains('/'));
    resources.map(move |resource| {
        let names = resource.short_names.unwrap_or_default().into_iter().chain([resource.singular_name]);
        Mapping {
            gvk: Gvk::from_manifest(&list.group_version, &resource.kind),
            plural: resource.name.into(),
            namespaced: resource.namespaced,
            names: names.filter(|name| !name.is_empty()).map(SmolStr::from).collect(),
            verbs: resource.verbs.into_iter().map(SmolStr::from).collect(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_are_read() {
        let text = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[{
            "version":"v1","freshness":"Current","resources":[
              {"resource":"deployments","responseKind":{"group":"","version":"","kind":"Deployment"},
               "scope":"Namespaced","verbs":["get","list"],"shortNames":["deploy"],"singularResource":"deployment","subresources":[{"subresource":"scale"}]},
              {"resource":"odd","scope":"Cluster"}]}]}]}"#;
        let summary: GroupDiscoveryList = serde_json::from_str(text).expect("a summary");
        let mappings: Vec<_> = summary.items.into_iter().flat_map(GroupDiscovery::mappings).collect();
        let gvk = Gvk::from_manifest("apps/v1", "Deployment");
        let names = vec!["deploy".into(), "deployment".into()];
        let verbs = vec!["get".into(), "list".into()];
        assert_eq!(mappings, [Mapping { gvk, plural: "deployments".into(), namespaced: true, names, verbs }]);
        assert!(mappings[0].can_be_listed());
    }

    #[test]
    fn lists_of_one_version_are_read_without_subresources() {
        let text = r#"{"groupVersion":"v1","resources":[
            {"name":"pods","kind":"Pod","namespaced":true},
            {"name":"pods/status","kind":"Pod","namespaced":true},
            {"name":"bindings","kind":"Binding","namespaced":true,"verbs":["create"]},
            {"name":"nodes","kind":"Node","namespaced":false}]}"#;
        let list: APIResourceList = serde_json::from_str(text).expect("a list");
        let names: Vec<_> =
            listed_mappings(list).map(|m| (m.can_be_listed(), m.plural, m.namespaced)).collect();
        let want = [(true, "pods", true), (false, "bindings", true), (true, "nodes", false)];
        assert_eq!(names, want.map(|(listed, plural, namespaced)| (listed, plural.into(), namespaced)));
    }
}
