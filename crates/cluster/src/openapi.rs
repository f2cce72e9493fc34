//! The schema of a live cluster, one group-version at a time.
//!
//! The index of OpenAPI v3 gives each document's address with a hash of its content. A document
//! whose hash is in the cache is never fetched again, from whatever cluster it came; when nothing
//! has changed, the index is all that is asked for. Servers without OpenAPI v3 give one document
//! for everything.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use sha2::{Digest as _, Sha256, Sha512};
use tokio::time::{Instant, sleep};

use super::client::Cluster;
use super::definition::{PublishedDefinition, schema_by_definition};
use super::exchange::Ask;
use super::failure::not_understood;
use super::json::{self, or_default};
use super::kubeconfig::ConnectOptions;
use super::mapping::Mapping;
use smp_files::hex;
use smp_merge::schema::openapi::read_document;
use smp_merge::schema::{Gvk, NamedKind, SchemaSource, TypeGraph};
use smp_overlay::schema_chain::cache::{ALL_GROUPS, SchemaCache, ServerIndex};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The live link of the schema chain. It connects when it is asked for the first time.
#[derive(Debug)]
pub struct LiveSchema {
    options: ConnectOptions,
    cache: Option<SchemaCache>,
    cluster: OnceLock<Result<Cluster>>,
    known: Mutex<KnownSchemas>,
    /// Whether what a server may not have published yet is waited for.
    awaits_changes: bool,
}

/// How long servers take at most to publish what became of a CRD: they look for changes once a second.
const PUBLISHED_AFTER: Duration = Duration::from_secs(3);

/// How long a kind is waited for that is served, and whose schema is not published.
const SCHEMA_IS_COMING: Duration = Duration::from_secs(10);

/// What the server has said so far.
#[derive(Debug, Default)]
struct KnownSchemas {
    documents: Option<Documents>,
    /// The graphs by `apiVersion`, or one for [`ALL_GROUPS`].
    graphs: BTreeMap<String, Arc<TypeGraph>>,
    /// What CRDs say of kinds.
    definitions: BTreeMap<Gvk, PublishedDefinition>,
    /// When the server was asked for the first time.
    since: Option<Instant>,
    /// Whether it was asked again so late that it had the time to publish what was true then.
    is_settled: bool,
    /// How many documents the server gave.
    fetched: usize,
}

/// Where the document of each `apiVersion` is.
pub(super) type Documents = BTreeMap<String, DocumentAddress>;

/// Where a document is, and which one it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DocumentAddress {
    /// Path and query.
    pub(super) path: String,
    /// What the query says of the content; empty when it says nothing.
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
    /// The schema of the cluster that the options name, kept in `cache` if there is one.
    #[must_use]
    pub fn new(options: ConnectOptions, cache: Option<SchemaCache>) -> Self {
        Self { options, cache, cluster: OnceLock::new(), known: Mutex::default(), awaits_changes: false }
    }

    /// Waits a few seconds, once, where a custom kind's CRD cannot be read: what the server publishes may be what was
    /// true before the CRD changed. For what is merged with live objects or sent, which must not lose entries of lists.
    #[must_use]
    pub fn awaiting_changes(self) -> Self {
        Self { awaits_changes: true, ..self }
    }

    /// The group-versions whose schemas the server has; [`ALL_GROUPS`] where it has one document for all.
    ///
    /// # Errors
    /// It cannot be asked.
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

    /// Brings the schema of a group-version into the cache; none when the server has no such one.
    ///
    /// # Errors
    /// The server cannot be asked, or its answer cannot be used.
    pub fn fetch(&self, api_version: &str) -> Result<Option<(FetchedFrom, Arc<TypeGraph>)>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known.fetched;
        let graph = self.graph(&mut known, api_version)?;
        let is_new = known.fetched > before || api_version == ALL_GROUPS;
        let from = if is_new { FetchedFrom::Server } else { FetchedFrom::Cache };
        Ok(graph.map(|graph| (from, graph)))
    }

    fn cluster(&self) -> Result<&Cluster> {
        let cluster = self.cluster.get_or_init(|| Cluster::connect(&self.options));
        cluster.as_ref().map_err(Clone::clone)
    }

    /// The document that has a group-version, and with it the graph of [`ALL_GROUPS`] on servers
    /// that have only one for all.
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
                self.keep(api_version, &cluster.id().own_hash(&address.hash), &graph);
            }
            self.record_addresses(cluster, known);
            graph
        };
        known.graphs.insert(api_version.into(), Arc::clone(&graph));
        Ok(Some(graph))
    }

    /// A document that was kept before: by its hash, if that was seen to be the hash of its text, else by the hash and
    /// the server. What one server calls its documents must not count for another.
    fn cached(
        &self,
        cluster: &Cluster,
        api_version: &str,
        address: &DocumentAddress,
    ) -> Option<Arc<TypeGraph>> {
        let cache = self.cache.as_ref().filter(|_| !address.hash.is_empty())?;
        cache.get_of(cluster.id(), api_version, &address.hash)
    }

    /// Learns where the documents are now, in place of where they were.
    fn index_into(&self, known: &mut KnownSchemas, cluster: &Cluster) -> Result<()> {
        let KnownSchemas { documents, graphs, .. } = self.index(cluster)?;
        (known.documents, known.graphs) = (documents, graphs);
        Ok(())
    }

    /// The schema of a kind that the documents have.
    fn published(&self, known: &mut KnownSchemas, gvk: &Gvk) -> Result<Option<Arc<TypeGraph>>> {
        Ok(self.graph(known, &gvk.api_version())?.filter(|graph| graph.kind(gvk).is_some()))
    }

    /// The schema of a kind by its CRD, or by the documents when the server had the time to publish what was true when
    /// it was first asked. A kind that it serves has a schema.
    fn settled(&self, known: &mut KnownSchemas, gvk: &Gvk) -> Result<Option<Arc<TypeGraph>>> {
        let cluster = self.cluster()?;
        let since = known.since.unwrap_or_else(Instant::now);
        let mut pause = PUBLISHED_AFTER.saturating_sub(since.elapsed());
        loop {
            if !known.is_settled {
                pause_for(cluster, pause)?;
                self.index_into(known, cluster)?;
                cluster.discovery.forget();
            }
            known.is_settled = true;
            if let Some(published) = self.published(known, gvk)? {
                return Ok(Some(published));
            }
            if let PublishedDefinition::Found(graph) = schema_by_definition(cluster, gvk, None)? {
                return Ok(Some(graph));
            }
            cluster.wait(cluster.discover(std::slice::from_ref(gvk)))?;
            if cluster.mapping(gvk).is_none() {
                return Ok(None);
            }
            if since.elapsed() >= SCHEMA_IS_COMING {
                return Err(unpublished(cluster, gvk));
            }
            (pause, known.is_settled) = (Duration::from_millis(500), false);
        }
    }

    /// Asks for the index; a server that has none is asked for everything at once.
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

    /// A cache that cannot be written to costs time, no more.
    fn keep(&self, document: &str, hash: &str, graph: &TypeGraph) {
        if let Some(cache) = &self.cache {
            let _ = cache.put(document, hash, graph);
        }
    }

    /// What kinds are called stays as it was told last.
    fn record(&self, cluster: &Cluster, hashes: BTreeMap<String, String>) {
        if let Some(cache) = &self.cache {
            let names = cache.index(cluster.id()).map(|before| before.names).unwrap_or_default();
            let index = ServerIndex { names, ..ServerIndex::now(cluster.id().clone(), hashes) };
            let _ = cache.put_index(&index);
        }
    }

    /// Keeps what kinds are called, for when the server is not asked.
    fn record_names(&self, cluster: &Cluster, kinds: &[NamedKind]) {
        if let Some(cache) = &self.cache {
            let now = ServerIndex::now(cluster.id().clone(), BTreeMap::new());
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

    /// By its CRD where there is one to be seen; the documents may say what was true a second ago.
    fn lookup(&self, gvk: &Gvk) -> Result<Option<Arc<TypeGraph>>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let published = self.published(&mut known, gvk)?;
        if !gvk.group.contains('.') {
            return Ok(published);
        }
        let defined = if let Some(defined) = known.definitions.get(gvk) {
            defined.clone()
        } else {
            let plural = published.as_ref().and_then(|graph| graph.plural(gvk));
            schema_by_definition(self.cluster()?, gvk, plural)?
        };
        known.definitions.insert(gvk.clone(), defined.clone());
        match defined {
            PublishedDefinition::Found(graph) => Ok(Some(graph)),
            PublishedDefinition::Missing if published.is_some() => Ok(published),
            PublishedDefinition::Missing | PublishedDefinition::Hidden if self.awaits_changes => {
                self.settled(&mut known, gvk)
            }
            PublishedDefinition::Missing | PublishedDefinition::Hidden => Ok(published),
        }
    }

    fn kinds(&self) -> Result<Vec<NamedKind>> {
        let cluster = self.cluster()?;
        let kinds: Vec<NamedKind> = cluster.resources()?.iter().map(Mapping::named_kind).collect();
        self.record_names(cluster, &kinds);
        Ok(kinds)
    }
}

fn pause_for(cluster: &Cluster, pause: Duration) -> Result<()> {
    cluster.wait(async {
        sleep(pause).await;
        Ok(())
    })
}

/// The error for a kind that a server has, and does not say the schema of.
fn unpublished(cluster: &Cluster, gvk: &Gvk) -> Diagnostic {
    let message = format!("the server has the kind {gvk}, and says nothing of its schema");
    Diagnostic::error(Code::NoSchema, message).note(format!("said by {}", cluster.endpoint)).help(
        "add its CRD to the build, give the schema with --schema FILE, or ask for the right to read CRDs",
    )
}

/// What [`LiveSchema::fetch`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchedFrom {
    /// The cache had the document that the server has now.
    Cache,
    /// The server gave it.
    Server,
}

/// Asks for the documents of OpenAPI v3; none when the server has no such index.
pub(super) fn document_index(cluster: &Cluster) -> Result<Option<Documents>> {
    let answer = cluster.wait(cluster.ask(&Ask::get("/openapi/v3")))?;
    if answer.status == 404 {
        return Ok(None);
    }
    let answer = answer.accepted().map_err(|refusal| refusal.diagnostic(&cluster.endpoint))?;
    cluster.read_with(json::decode, &answer).map(|index: OpenApiIndex| Some(index.documents()))
}

/// A document that a server gave.
struct Fetched {
    graph: TypeGraph,
    /// The SHA-512 of its text in capitals, which API servers call it by, and the SHA-256.
    digests: [String; 2],
    /// Where it was in the end. A server whose documents changed since it gave their addresses sends
    /// who asks for the old one to the new one; so do the servers of one cluster that differ for a moment.
    path: String,
}

/// Fetches and compiles a document.
fn document(cluster: &Cluster, path: &str) -> Result<Fetched> {
    let answer = cluster.wait(async { cluster.answer(&Ask::get(path)).await })?;
    let strange = |error: &dyn std::fmt::Display| not_understood(&cluster.endpoint, path, error);
    let node = json::read(&answer.body).map_err(|error| strange(&error))?;
    let graph = read_document(&node).and_then(|model| model.compile()).map_err(|error| strange(&error))?;
    let digests = [hex(&Sha512::digest(&answer.body)).to_uppercase(), hex(&Sha256::digest(&answer.body))];
    Ok(Fetched { graph, digests, path: answer.path })
}

/// The answer of `/openapi/v3`.
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
    /// The documents of group-versions; the index has others, such as `version`.
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
    fn the_index_lists_group_versions() {
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
