//! The schema of a live cluster, one group-version at a time.
//!
//! The index of OpenAPI v3 gives each document's address with a hash of its content. A document
//! whose hash is in the cache is never fetched again, from whatever cluster it came; when nothing
//! has changed, the index is all that is asked for. Servers without OpenAPI v3 give one document
//! for everything.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::client::{Ask, Cluster};
use super::failure::not_understood;
use super::json::{self, or_default};
use super::kubeconfig::ConnectOptions;
use crate::diagnostic::Result;
use crate::schema::SchemaSource;
use crate::schema::cache::{ALL_GROUPS, SchemaCache, ServerIndex};
use crate::schema::openapi::read_document;
use crate::schema::{Gvk, TypeGraph};

/// The live link of the schema chain. It connects when it is asked for the first time.
#[derive(Debug)]
pub struct LiveSchema {
    options: ConnectOptions,
    cache: Option<SchemaCache>,
    cluster: OnceLock<Result<Cluster>>,
    known: Mutex<KnownSchemas>,
}

/// What the server has said so far.
#[derive(Debug, Default)]
struct KnownSchemas {
    documents: Option<Documents>,
    /// The graphs by `apiVersion`, or one for [`ALL_GROUPS`].
    graphs: BTreeMap<String, Arc<TypeGraph>>,
}

/// Address and hash of each document by `apiVersion`; the hash is empty when there is none.
pub(super) type Documents = BTreeMap<String, (String, String)>;

impl LiveSchema {
    /// The schema of the cluster that the options name, kept in `cache` if there is one.
    #[must_use]
    pub fn new(options: ConnectOptions, cache: Option<SchemaCache>) -> Self {
        Self { options, cache, cluster: OnceLock::new(), known: Mutex::default() }
    }

    fn cluster(&self) -> Result<&Cluster> {
        let cluster = self.cluster.get_or_init(|| Cluster::connect(&self.options));
        cluster.as_ref().map_err(Clone::clone)
    }

    /// The document that has a group-version, and with it the graph of [`ALL_GROUPS`] on servers
    /// that have only one for all.
    fn graph(&self, known: &mut KnownSchemas, api_version: &str) -> Result<Option<Arc<TypeGraph>>> {
        let cluster = self.cluster()?;
        if known.documents.is_none() {
            *known = self.index(cluster)?;
        }
        if let Some(graph) = known.graphs.get(api_version).or_else(|| known.graphs.get(ALL_GROUPS)) {
            return Ok(Some(Arc::clone(graph)));
        }
        let documents = known.documents.as_ref();
        let Some((path, hash)) = documents.and_then(|d| d.get(api_version)) else { return Ok(None) };
        let cached = self.cache.as_ref().filter(|_| !hash.is_empty()).and_then(|c| c.get(api_version, hash));
        let graph = if let Some(graph) = cached {
            graph
        } else {
            let graph = Arc::new(document(cluster, path)?.0);
            self.keep(api_version, hash, &graph);
            graph
        };
        known.graphs.insert(api_version.into(), Arc::clone(&graph));
        Ok(Some(graph))
    }

    /// Asks for the index; a server that has none is asked for everything at once.
    fn index(&self, cluster: &Cluster) -> Result<KnownSchemas> {
        let Some(documents) = document_index(cluster)? else {
            let (graph, hash) = document(cluster, "/openapi/v2")?;
            self.keep(ALL_GROUPS, &hash, &graph);
            self.record(cluster, [(ALL_GROUPS.to_string(), hash)].into());
            let graphs = [(ALL_GROUPS.to_string(), Arc::new(graph))].into();
            return Ok(KnownSchemas { documents: Some(Documents::new()), graphs });
        };
        let hashed = documents.iter().filter(|(_, (_, hash))| !hash.is_empty());
        self.record(cluster, hashed.map(|(version, (_, hash))| (version.clone(), hash.clone())).collect());
        Ok(KnownSchemas { documents: Some(documents), graphs: BTreeMap::new() })
    }

    /// A cache that cannot be written to costs time, no more.
    fn keep(&self, document: &str, hash: &str, graph: &TypeGraph) {
        if let Some(cache) = self.cache.as_ref().filter(|_| !hash.is_empty()) {
            let _ = cache.put(document, hash, graph);
        }
    }

    fn record(&self, cluster: &Cluster, hashes: BTreeMap<String, String>) {
        if let Some(cache) = &self.cache {
            let _ = cache.put_index(&ServerIndex::now(cluster.server(), hashes));
        }
    }
}

impl SchemaSource for LiveSchema {
    fn name(&self) -> &'static str {
        "cluster"
    }

    fn lookup(&self, gvk: &Gvk) -> Result<Option<Arc<TypeGraph>>> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let graph = self.graph(&mut known, &gvk.api_version())?;
        Ok(graph.filter(|graph| graph.kind(gvk).is_some()))
    }
}

/// Asks for the documents of OpenAPI v3; none when the server has no such index.
pub(super) fn document_index(cluster: &Cluster) -> Result<Option<Documents>> {
    let ask = Ask::get("/openapi/v3");
    let answer = cluster.wait(cluster.ask(&ask))?;
    if answer.status == 404 {
        return Ok(None);
    }
    let answer = answer.accepted().map_err(|refusal| refusal.diagnostic(&cluster.endpoint))?;
    let index: OpenApiIndex =
        json::decode(&answer.body).map_err(|error| not_understood(&cluster.endpoint, &ask.path, &error))?;
    Ok(Some(index.documents()))
}

/// Fetches and compiles a document; returns the hash of its text as well.
fn document(cluster: &Cluster, path: &str) -> Result<(TypeGraph, String)> {
    let answer = cluster.wait(cluster.ask(&Ask::get(path)))?;
    let answer = answer.accepted().map_err(|refusal| refusal.diagnostic(&cluster.endpoint))?;
    let strange = |error: &dyn std::fmt::Display| not_understood(&cluster.endpoint, path, error);
    let node = json::read(&answer.body).map_err(|error| strange(&error))?;
    let graph = read_document(&node).and_then(|model| model.compile()).map_err(|error| strange(&error))?;
    let mut hash = String::new();
    for byte in Sha256::digest(&answer.body) {
        // Writing to a string cannot fail.
        let _ = write!(hash, "{byte:02x}");
    }
    Ok((graph, hash))
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
            let (_, query) = entry.server_relative_url.split_once('?').unwrap_or_default();
            let hash = query.split('&').find_map(|pair| pair.strip_prefix("hash=")).unwrap_or_default();
            let hash = hash.to_string();
            Some((api_version, (entry.server_relative_url, hash)))
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
        let entry = |url: &str, hash: &str| (url.to_string(), hash.to_string());
        let want: Documents = [
            ("v1".to_string(), entry("/openapi/v3/api/v1?a=b&hash=C", "C")),
            ("apps/v1".to_string(), entry("/openapi/v3/apis/apps/v1", "")),
        ]
        .into();
        assert_eq!(documents, want);
    }
}
