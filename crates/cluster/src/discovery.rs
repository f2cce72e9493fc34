//! API discovery: the resource name and scope of each kind.
//!
//! With aggregated discovery (Kubernetes 1.26 and later), one request returns the core group and another one all other
//! groups. Each request is sent only when one of its kinds is needed. Older servers, and groups that the summary does
//! not contain yet, are queried one version at a time.

use futures::future::try_join_all;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{APIGroup, APIResourceList};
use serde::Deserialize;
use smol_str::SmolStr;

use super::client::Cluster;
use super::errors::invalid_response;
use super::json::{self, or_default};
use super::mapping::{ResourceMapping, encode_segment};
use super::request::ApiRequest;
use smp_merge::schema::{Gvk, version_priority};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// Requests aggregated discovery. Older servers return a list of groups.
const SUMMARY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,\
    application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json";

impl Cluster {
    /// Discovers the resources of these kinds. Kinds that are not served, or that the server does not list, remain
    /// unknown.
    pub(super) async fn discover(&self, kinds: &[Gvk]) -> Result<()> {
        let roots = kinds.iter().map(|gvk| if gvk.group.is_empty() { "/api" } else { "/apis" });
        let roots = roots.map(String::from).collect();
        let summaries = self.not_queried(roots).into_iter().map(|path| self.summary(path));
        try_join_all(summaries).await?;
        let unknown = kinds.iter().filter(|gvk| self.mapping(gvk).is_none());
        let versions = unknown.map(path_of_version).collect();
        try_join_all(self.not_queried(versions).into_iter().map(|path| self.version(ApiRequest::get(path))))
            .await?;
        Ok(())
    }

    /// Returns all resources that the server lists.
    ///
    /// # Errors
    /// The server cannot be queried.
    pub fn resources(&self) -> Result<Vec<ResourceMapping>> {
        self.block_on(self.discover_all())?;
        Ok(self.known_mappings())
    }

    /// Discovers all resources that the server serves. Versions whose aggregated API server is down are queried only
    /// once, since most runs do not need them.
    pub(super) async fn discover_all(&self) -> Result<()> {
        let summaries = ["/api", "/apis"].map(|path| self.summary(path.into()));
        let (unlisted, stale): (Vec<_>, Vec<_>) = try_join_all(summaries).await?.into_iter().unzip();
        let unlisted = self.not_queried(unlisted.concat()).into_iter().map(ApiRequest::get);
        let mut stale = self.not_queried(stale.concat());
        stale.retain(|path| !self.discovery.lock().errors.contains_key(path));
        let once = stale.into_iter().map(|path| ApiRequest { is_retried: false, ..ApiRequest::get(path) });
        try_join_all(unlisted.chain(once).map(|request| self.version(request))).await?;
        Ok(())
    }

    /// Returns the resources discovered so far.
    pub(super) fn known_mappings(&self) -> Vec<ResourceMapping> {
        self.discovery.lock().mappings.values().cloned().collect()
    }

    /// Returns a path whose discovery failed, with the error, or `None` if discovery is complete.
    pub(super) fn discovery_failure(&self) -> Option<String> {
        let known = self.discovery.lock();
        known
            .errors
            .iter()
            .min_by_key(|(path, _)| *path)
            .map(|(path, why)| format!("{path}: {}", why.message()))
    }

    /// Returns the resource of a kind in its most stable version, if it was discovered.
    pub(super) fn mapping_of(&self, group: &str, kind: &str) -> Option<ResourceMapping> {
        let known = self.discovery.lock();
        let same = known.mappings.values().filter(|found| found.gvk.group == group && found.gvk.kind == kind);
        same.max_by_key(|found| version_priority(&found.gvk.version)).cloned()
    }

    /// Returns true if the server certainly does not serve a kind. Discovery summaries also lack groups that are
    /// temporarily unavailable, such as those of an aggregated API server.
    pub(super) async fn is_kind_unserved(&self, group: &str, kind: &str) -> Result<bool> {
        let versions = if group.is_empty() {
            vec!["v1".to_string()]
        } else {
            let response = self.send(&ApiRequest::get(format!("/apis/{}", encode_segment(group)))).await?;
            if response.status == 404 {
                return Ok(true);
            }
            let response =
                response.into_result().map_err(|api_error| api_error.diagnostic(&self.endpoint))?;
            let group: APIGroup = self.parse_response(json::decode, &response)?;
            group.versions.into_iter().map(|version| version.group_version).collect()
        };
        let root = if group.is_empty() { "/api" } else { "/apis" };
        let paths: Vec<String> = versions.iter().map(|version| format!("{root}/{version}")).collect();
        try_join_all(paths.iter().map(|path| self.version(ApiRequest::get(path.as_str())))).await?;
        if self.mapping_of(group, kind).is_some() {
            return Ok(false);
        }
        let known = self.discovery.lock();
        match paths.iter().find_map(|path| known.errors.get(path)) {
            Some(reason) => Err(reason.clone().note(format!("it may serve {kind}.{group}"))),
            None => Ok(true),
        }
    }

    /// Returns the resource of a kind if [`Cluster::discover`] found it.
    pub(super) fn mapping(&self, gvk: &Gvk) -> Option<ResourceMapping> {
        self.discovery.lock().mappings.get(gvk).cloned()
    }

    /// Returns the resources of a group that [`Cluster::discover`] found.
    pub(super) fn group_mappings(&self, group: &str) -> Vec<ResourceMapping> {
        let known = self.discovery.lock();
        known.mappings.values().filter(|mapping| mapping.gvk.group == group).cloned().collect()
    }

    /// Returns the error for a kind that the server does not serve or does not list.
    pub(super) fn unknown_kind(&self, gvk: &Gvk) -> Diagnostic {
        let known = self.discovery.lock();
        if let Some(reason) = known.errors.get(&path_of_version(gvk)) {
            let message = format!("discovery of {} failed", gvk.api_version());
            let error = Diagnostic::error(Code::Remote, message).note(reason.message());
            return error
                .help("check with `kubectl get apiservices` whether an aggregated API server is down");
        }
        let same =
            |other: &&Gvk| other.kind == gvk.kind && (other.group == gvk.group || gvk.group.is_empty());
        let mut others: Vec<String> =
            known.mappings.keys().filter(same).map(|gvk| gvk.api_version().to_string()).collect();
        others.sort_unstable();
        let message = format!("the server has no kind {} in {}", gvk.kind, gvk.api_version());
        let error = Diagnostic::error(Code::NoMatch, message).note(format!("reported by {}", self.endpoint));
        if others.is_empty() {
            return error.help("install its CustomResourceDefinition, or apply it together with the object");
        }
        error.help(format!("the server has {} in {}", gvk.kind, others.join(", ")))
    }

    /// Returns the paths that have not been queried yet, without duplicates.
    fn not_queried(&self, mut paths: Vec<String>) -> Vec<String> {
        paths.sort_unstable();
        paths.dedup();
        let known = self.discovery.lock();
        paths.into_iter().filter(|path| !known.queried.contains(path)).collect()
    }

    /// Queries a summary. Returns the paths of versions whose resources are not in the summary: first those that a
    /// summary never contains, then those whose aggregated API server is down.
    async fn summary(&self, path: String) -> Result<(Vec<String>, Vec<String>)> {
        let request = ApiRequest { accept: SUMMARY, ..ApiRequest::get(path.as_str()) };
        let summary: GroupDiscoveryList = self.get_json(&request).await?;
        let groups = summary.groups.iter().flat_map(|group| &group.versions);
        let versions = groups.map(|version| &version.group_version).chain(&summary.versions);
        let unlisted = versions.map(|version| format!("{path}/{version}")).collect();
        let stale = summary.items.iter().flat_map(GroupDiscovery::stale_versions);
        let stale = stale.map(|version| format!("{path}/{version}")).collect();
        self.learn(path, summary.items.into_iter().flat_map(GroupDiscovery::mappings));
        Ok((unlisted, stale))
    }

    /// Records the response of a path.
    fn learn(&self, path: String, mappings: impl Iterator<Item = ResourceMapping>) {
        let mut known = self.discovery.lock();
        known.mappings.extend(mappings.map(|mapping| (mapping.gvk.clone(), mapping)));
        known.queried.insert(path);
    }

    async fn version(&self, request: ApiRequest) -> Result<()> {
        let response = self.send(&request).await?;
        let path = request.path;
        if response.status == 404 {
            self.learn(path, std::iter::empty());
            return Ok(());
        }
        let response = match response.into_result() {
            Ok(response) => response,
            Err(api_error) => {
                self.discovery.lock().errors.insert(path, api_error.diagnostic(&self.endpoint));
                return Ok(());
            }
        };
        let list: APIResourceList = self.parse_response(json::decode, &response)?;
        if list.group_version.is_empty() {
            return Err(invalid_response(&self.endpoint, &path, &"the group version is missing"));
        }
        self.learn(path, listed_mappings(list));
        Ok(())
    }
}

/// Returns the discovery path of a kind's version.
fn path_of_version(gvk: &Gvk) -> String {
    match gvk.group.as_str() {
        "" => format!("/api/{}", encode_segment(&gvk.version)),
        group => format!("/apis/{}/{}", encode_segment(group), encode_segment(&gvk.version)),
    }
}

/// `APIGroupDiscoveryList`, or the response of older servers: `APIGroupList`, or `APIVersions` for the core group.
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
    /// `Stale` if the aggregated API server did not respond when the summary was created.
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
    /// Returns the versions whose resources are missing because their server is down.
    fn stale_versions(&self) -> impl Iterator<Item = String> {
        let stale = self.versions.iter().filter(|one| one.freshness == "Stale" && one.resources.is_empty());
        stale.map(|version| format!("{}/{}", self.metadata.name, version.version))
    }

    fn mappings(self) -> impl Iterator<Item = ResourceMapping> {
        let group = self.metadata.name;
        self.versions.into_iter().flat_map(move |version| {
            let (group, number) = (SmolStr::from(&group), SmolStr::from(version.version));
            version.resources.into_iter().filter_map(move |resource| {
                let kind = resource.response_kind?.kind.into();
                let mut names = resource.short_names;
                names.extend(Some(resource.singular_resource).filter(|name| !name.is_empty()));
                Some(ResourceMapping {
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

/// Returns the resources of a list without subresources.
fn listed_mappings(list: APIResourceList) -> impl Iterator<Item = ResourceMapping> {
    let resources = list.resources.into_iter().filter(|resource| !resource.name.contains('/'));
    resources.map(move |resource| {
        let names = resource.short_names.unwrap_or_default().into_iter().chain([resource.singular_name]);
        ResourceMapping {
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
    fn discovery_summaries_are_parsed() {
        let text = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"apps"},"versions":[{
            "version":"v1","freshness":"Current","resources":[
              {"resource":"deployments","responseKind":{"group":"","version":"","kind":"Deployment"},
               "scope":"Namespaced","verbs":["get","list"],"shortNames":["deploy"],"singularResource":"deployment","subresources":[{"subresource":"scale"}]},
              {"resource":"other","scope":"Cluster"}]}]}]}"#;
        let summary: GroupDiscoveryList = serde_json::from_str(text).expect("a summary");
        let mappings: Vec<_> = summary.items.into_iter().flat_map(GroupDiscovery::mappings).collect();
        let gvk = Gvk::from_manifest("apps/v1", "Deployment");
        let names = vec!["deploy".into(), "deployment".into()];
        let verbs = vec!["get".into(), "list".into()];
        assert_eq!(
            mappings,
            [ResourceMapping { gvk, plural: "deployments".into(), namespaced: true, names, verbs }]
        );
        assert!(mappings[0].can_be_listed());
    }

    #[test]
    fn resource_lists_are_parsed_without_subresources() {
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
