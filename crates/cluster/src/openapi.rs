//! The schema of a live cluster, fetched one group-version at a time.
//!
//! The OpenAPI v3 index contains the address of each document with a hash of its content. A document whose hash is in
//! the cache is never fetched again, whichever cluster it came from. If nothing has changed, only the index is fetched.
//! Servers without OpenAPI v3 have a single document for all groups.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use sha2::{Digest as _, Sha256, Sha512};
use tokio::time::{Instant, sleep};

use super::client::Cluster;
use super::crd_schema::{CrdSchema, crd_schema};
use super::errors::invalid_response;
use super::json::{self, or_default};
use super::kubeconfig::ConnectOptions;
use super::mapping::ResourceMapping;
use super::request::ApiRequest;
use smp_files::hex;
use smp_merge::schema::openapi::read_document;
use smp_merge::schema::{Gvk, NamedKind, SchemaSource, TypeGraph};
use smp_overlay::schema_chain::cache::{ALL_GROUPS, SchemaCache, ServerIndex};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The schema source of a live cluster. Connects on first use.
#[derive(Debug)]
pub struct LiveSchema {
    options: ConnectOptions,
    cache: Option<SchemaCache>,
    cluster: OnceLock<Result<Cluster>>,
    known: Mutex<KnownSchemas>,
    /// True to wait for schemas that the server may not have published yet.
    waits_for_changes: bool,
}

/// The maximum time until servers publish a changed CRD. They check for changes once a second.
const PUBLISH_DELAY: Duration = Duration::from_secs(3);

/// Maximum time to wait for the schema of a kind that is already served.
const SCHEMA_TIMEOUT: Duration = Duration::from_secs(10);

/// The schemas fetched so far.
#[derive(Debug, Default)]
struct KnownSchemas {
    documents: Option<Documents>,
    /// Schemas by `apiVersion`, or a single one for [`ALL_GROUPS`].
    graphs: BTreeMap<String, Arc<TypeGraph>>,
    /// Schemas of kinds from their CRDs.
    crd_schemas: BTreeMap<Gvk, CrdSchema>,
    /// Time of the first request.
    since: Option<Instant>,
    /// True if the index was fetched at least [`PUBLISH_DELAY`] after the first request, so that it contains all
    /// changes made before that request.
    is_up_to_date: bool,
    /// Number of documents that were fetched from the server.
    fetched: usize,
}

/// The address of the document of each `apiVersion`.
pub(super) type Documents = BTreeMap<String, DocumentAddress>;

/// Address and version of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentAddress {
    /// Path and query.
    pub(super) path: String,
    /// The hash in the query; empty if there is none.
    hash: String,
}

impl DocumentAddress {
    fn new(path: String) -> Self {
        let (_, query) = path.split_once('?').unwrap_or_default();
        let hash = query.split('&').find_map(|pair| pair.strip_prefix("hash=")).unwrap_or_default();
        Self { hash: hash.to_string(), path }
    }
}

impl LiveSchema {
    /// Returns the schema source of a cluster. `cache` is the cache to use, if any.
    #[must_use]
    pub fn new(options: ConnectOptions, cache: Option<SchemaCache>) -> Self {
        Self { options, cache, cluster: OnceLock::new(), known: Mutex::default(), waits_for_changes: false }
    }

    /// Waits a few seconds, once, if the CRD of a custom kind cannot be read, because the published schema may be older
    /// than the last change of the CRD. Needed for objects that are merged with live ones or sent, since an outdated
    /// schema loses list entries.
    #[must_use]
    pub fn waiting_for_changes(self) -> Self {
        Self { waits_for_changes: true, ..self }
    }

    /// Returns the group-versions whose schemas the server has, or [`ALL_GROUPS`] if it has a single document for all.
    ///
    /// # Errors
    /// The server cannot be queried.
    pub fn group_versions(&self) -> Result<Vec<String>> {
        let cluster = self.cluster()?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.documents.is_none() {
            self.index_into(&mut known, cluster)?;
        }
        let documents = known.documents.iter().flat_map(BTreeMap::keys).cloned();
        let graphs = known.graphs.keys().filter(|key| key.as_str() == ALL_GROUPS).cloned();
        Ok(documents.chain(graphs).collect())
    }

    /// Fetches the schema of a group-version into the cache. Returns `None` if the server does not have it.
    ///
    /// # Errors
    /// The server cannot be queried, or its response is invalid.
    pub fn fetch(&self, api_version: &str) -> Result<Option<(FetchSource, Arc<TypeGraph>)>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.fetched;
        let graph = self.graph(&mut known, api_version)?;
        let is_new = known.fetched > before || api_version == ALL_GROUPS;
        let from = if is_new { FetchSource::Server } else { FetchSource::Cache };
        Ok(graph.map(|graph| (from, graph)))
    }

    fn cluster(&self) -> Result<&Cluster> {
        let cluster = self.cluster.get_or_init(|| Cluster::connect(&self.options));
        cluster.as_ref().map_err(Clone::clone)
    }

    /// Returns the document with a group-version, or that of [`ALL_GROUPS`] if the server has a single one.
    fn graph(&self, known: &mut KnownSchemas, api_version: &str) -> Result<Option<Arc<TypeGraph>>> {
        let cluster = self.cluster()?;
        known.since.get_or_insert_with(Instant::now);
        if known.documents.is_none() {
            self.index_into(known, cluster)?;
        }
        if let Some(graph) = known.graphs.get(api_version).or_else(|| known.graphs.get(ALL_GROUPS)) {
            return Ok(Some(Arc::clone(graph)));
        }
        let documents = known.documents.as_mut();
        let Some(address) = documents.and_then(|d| d.get_mut(api_version)) else { return Ok(None) };
        let graph = if let Some(graph) = self.cached(cluster, api_version, address) {
            graph
        } else {
            let fetched = document(cluster, &address.path)?;
            known.fetched += 1;
            *address = DocumentAddress::new(fetched.path);
            let graph = Arc::new(fetched.graph);
            if fetched.digests.contains(&address.hash) {
                self.keep(api_version, &address.hash, &graph);
            } else if !address.hash.is_empty() {
                self.keep(api_version, &cluster.id().server_hash(&address.hash), &graph);
            }
            self.record_addresses(cluster, known);
            graph
        };
        known.graphs.insert(api_version.into(), Arc::clone(&graph));
        Ok(Some(graph))
    }

    /// Returns a cached document. A document is stored by hash if the hash was verified against its text, otherwise by
    /// hash and server: unverified hashes of one server must not be used for another.
    fn cached(
        &self,
        cluster: &Cluster,
        api_version: &str,
        address: &DocumentAddress,
    ) -> Option<Arc<TypeGraph>> {
        let cache = self.cache.as_ref().filter(|_| !address.hash.is_empty())?;
        cache.get_for_server(cluster.id(), api_version, &address.hash)
    }

    /// Fetches the index, and replaces the known addresses.
    fn index_into(&self, known: &mut KnownSchemas, cluster: &Cluster) -> Result<()> {
        let KnownSchemas { documents, graphs, .. } = self.index(cluster)?;
        (known.documents, known.graphs) = (documents, graphs);
        Ok(())
    }

    /// Returns the schema of a kind from the OpenAPI documents.
    fn published(&self, known: &mut KnownSchemas, gvk: &Gvk) -> Result<Option<Arc<TypeGraph>>> {
        Ok(self.graph(known, &gvk.api_version())?.filter(|graph| graph.kind(gvk).is_some()))
    }

    /// Returns the schema of a kind from the documents, as soon as they must contain all changes that were made before
    /// the first request. If they lack the kind, returns the schema from its CRD. Tries again until [`SCHEMA_TIMEOUT`]
    /// if both lack it, because every served kind has a schema. Returns `None` if the kind is not served.
    fn up_to_date(&self, known: &mut KnownSchemas, gvk: &Gvk) -> Result<Option<Arc<TypeGraph>>> {
        let cluster = self.cluster()?;
        let since = known.since.unwrap_or_else(Instant::now);
        let mut pause = PUBLISH_DELAY.saturating_sub(since.elapsed());
        loop {
            if !known.is_up_to_date {
                sleep_for(cluster, pause)?;
                self.index_into(known, cluster)?;
                cluster.discovery.clear();
            }
            known.is_up_to_date = true;
            if let Some(published) = self.published(known, gvk)? {
                return Ok(Some(published));
            }
            if let CrdSchema::Found(graph) = crd_schema(cluster, gvk, None)? {
                return Ok(Some(graph));
            }
            cluster.block_on(cluster.discover(std::slice::from_ref(gvk)))?;
            if cluster.mapping(gvk).is_none() {
                return Ok(None);
            }
            if since.elapsed() >= SCHEMA_TIMEOUT {
                return Err(missing_schema(cluster, gvk));
            }
            (pause, known.is_up_to_date) = (Duration::from_millis(500), false);
        }
    }

    /// Fetches the index. If the server has none, fetches the document for all groups.
    fn index(&self, cluster: &Cluster) -> Result<KnownSchemas> {
        let Some(documents) = document_index(cluster)? else {
            let Fetched { graph, digests: [_, digest], .. } = document(cluster, "/openapi/v2")?;
            self.keep(ALL_GROUPS, &digest, &graph);
            self.record(cluster, [(ALL_GROUPS.to_string(), digest)].into());
            let graphs = [(ALL_GROUPS.to_string(), Arc::new(graph))].into();
            return Ok(KnownSchemas { documents: Some(Documents::new()), graphs, ..KnownSchemas::default() });
        };
        let known = KnownSchemas { documents: Some(documents), ..KnownSchemas::default() };
        self.record_addresses(cluster, &known);
        Ok(known)
    }

    fn record_addresses(&self, cluster: &Cluster, known: &KnownSchemas) {
        let hashed = known.documents.iter().flatten().filter(|(_, address)| !address.hash.is_empty());
        self.record(cluster, hashed.map(|(version, a)| (version.clone(), a.hash.clone())).collect());
    }

    /// Stores a document in the cache. Errors are ignored, since they only cost time.
    fn keep(&self, document: &str, hash: &str, graph: &TypeGraph) {
        if let Some(cache) = &self.cache {
            let _ = cache.put(document, hash, graph);
        }
    }

    /// Records the hashes of documents. The known names of kinds are kept.
    fn record(&self, cluster: &Cluster, hashes: BTreeMap<String, String>) {
        if let Some(cache) = &self.cache {
            let names = cache.index(cluster.id()).map(|before| before.names).unwrap_or_default();
            let index = ServerIndex { names, ..ServerIndex::new(cluster.id().clone(), hashes) };
            let _ = cache.put_index(&index);
        }
    }

    /// Records the names of kinds for offline use.
    fn record_names(&self, cluster: &Cluster, kinds: &[NamedKind]) {
        if let Some(cache) = &self.cache {
            let now = ServerIndex::new(cluster.id().clone(), BTreeMap::new());
            let mut index = cache.index(cluster.id()).unwrap_or(now);
            let names = kinds.iter().map(|kind| (ServerIndex::kind_key(&kind.gvk), kind.names.clone()));
            index.names = names.collect();
            let _ = cache.put_index(&index);
        }
    }
}

impl SchemaSource for LiveSchema {
    fn name(&self) -> &'static str {
        "cluster"
    }

    /// Looks up the schema of a kind, in its CRD if that can be read, because the server's OpenAPI documents may be a
    /// second older.
    fn lookup(&self, gvk: &Gvk) -> Result<Option<Arc<TypeGraph>>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let published = self.published(&mut known, gvk)?;
        if !gvk.group.contains('.') {
            return Ok(published);
        }
        let defined = if let Some(defined) = known.crd_schemas.get(gvk) {
            defined.clone()
        } else {
            let plural = published.as_ref().and_then(|graph| graph.plural(gvk));
            crd_schema(self.cluster()?, gvk, plural)?
        };
        known.crd_schemas.insert(gvk.clone(), defined.clone());
        match defined {
            CrdSchema::Found(graph) => Ok(Some(graph)),
            CrdSchema::Missing if published.is_some() => Ok(published),
            CrdSchema::Missing | CrdSchema::Unknown if self.waits_for_changes => {
                self.up_to_date(&mut known, gvk)
            }
            CrdSchema::Missing | CrdSchema::Unknown => Ok(published),
        }
    }

    fn kinds(&self) -> Result<Vec<NamedKind>> {
        let cluster = self.cluster()?;
        let kinds: Vec<NamedKind> = cluster.resources()?.iter().map(ResourceMapping::named_kind).collect();
        self.record_names(cluster, &kinds);
        Ok(kinds)
    }
}

fn sleep_for(cluster: &Cluster, pause: Duration) -> Result<()> {
    cluster.block_on(async {
        sleep(pause).await;
        Ok(())
    })
}

/// Returns the error for a served kind without a published schema.
fn missing_schema(cluster: &Cluster, gvk: &Gvk) -> Diagnostic {
    let message = format!("the server serves the kind {gvk} but has no schema for it");
    Diagnostic::error(Code::NoSchema, message).note(format!("reported by {}", cluster.endpoint)).help(
        "add its CRD to the build, pass the schema with --schema FILE, or request permission to read CRDs",
    )
}

/// The source of a schema that [`LiveSchema::fetch`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchSource {
    /// The cache contained the server's current document.
    Cache,
    /// The document was fetched from the server.
    Server,
}

/// Fetches the index of OpenAPI v3 documents. Returns `None` if the server has no index.
pub(super) fn document_index(cluster: &Cluster) -> Result<Option<Documents>> {
    let answer = cluster.block_on(cluster.send(&ApiRequest::get("/openapi/v3")))?;
    if answer.status == 404 {
        return Ok(None);
    }
    let answer = answer.into_result().map_err(|refusal| refusal.diagnostic(&cluster.endpoint))?;
    cluster.parse_response(json::decode, &answer).map(|index: OpenApiIndex| Some(index.documents()))
}

/// A fetched document.
struct Fetched {
    graph: TypeGraph,
    /// The SHA-512 of its text in upper case, which API servers use in addresses, and the SHA-256.
    digests: [String; 2],
    /// The final path. A server whose documents have changed redirects from the old address to the new one. So do
    /// servers of one cluster that temporarily differ.
    path: String,
}

/// Fetches and compiles a document.
fn document(cluster: &Cluster, path: &str) -> Result<Fetched> {
    let answer = cluster.block_on(async { cluster.get(&ApiRequest::get(path)).await })?;
    let invalid = |error: &dyn std::fmt::Display| invalid_response(&cluster.endpoint, path, error);
    let node = json::parse(&answer.body).map_err(|error| invalid(&error))?;
    let graph = read_document(&node).and_then(|model| model.compile()).map_err(|error| invalid(&error))?;
    let digests = [hex(&Sha512::digest(&answer.body)).to_uppercase(), hex(&Sha256::digest(&answer.body))];
    Ok(Fetched { graph, digests, path: answer.path })
}

/// The response of `/openapi/v3`.
#[derive(Debug, Deserialize)]
struct OpenApiIndex {
    #[serde(deserialize_with = "or_default")]
    paths: BTreeMap<String, IndexEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct IndexEntry {
    #[serde(default, rename = "serverRelativeURL")]
    server_relative_url: String,
}

impl OpenApiIndex {
    /// Returns the documents of group-versions. The index also contains others, such as `version`.
    fn documents(self) -> Documents {
        let documents = self.paths.into_iter().filter_map(|(path, entry)| {
            let api_version = match path.split('/').collect::<Vec<_>>()[..] {
                ["api", version] => version.to_string(),
                ["apis", group, version] => format!("{group}/{version}"),
                _ => return None,
            };
            Some((api_version, DocumentAddress::new(entry.server_relative_url)))
        });
        documents.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_lists_group_versions() {
        let text = r#"{"paths":{
            ".well-known/openid-configuration":{"serverRelativeURL":"/openapi/v3/.well-known/x?hash=A"},
            "api":{"serverRelativeURL":"/openapi/v3/api?hash=B"},
            "api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?a=b&hash=C"},
            "apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1"}}}"#;
        let index: OpenApiIndex = serde_json::from_str(text).expect("an index");
        let documents = index.documents();
        let entry = |path: &str, hash: &str| DocumentAddress { path: path.into(), hash: hash.into() };
        let want: Documents = [
            ("v1".to_string(), entry("/openapi/v3/api/v1?a=b&hash=C", "C")),
            ("apps/v1".to_string(), entry("/openapi/v3/apis/apps/v1", "")),
        ]
        .into();
        assert_eq!(documents, want);
    }
}
