//! The cache of schemas fetched from servers: compiled graphs, addressed by the server's own hash of the
//! document.
//!
//! Entries never change, so clusters share them. A small record per server contains its hashes and the time they were
//! fetched, so that the cache also works without network access. Everything is written to a temporary file and renamed.
//! Unreadable files are removed and ignored. This module does not depend on the way in which documents are fetched.

mod inventory;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use smp_files::{Store, cache_key, user_cache};
use smp_merge::schema::MAGIC;
use smp_merge::schema::named_kinds;
use smp_merge::schema::{Gvk, TypeGraph};
use smp_merge::schema::{NamedKind, SchemaSource};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The key in an index for a single document with all group-versions, as in OpenAPI v2.
pub const ALL_GROUPS: &str = "*";

/// A cache directory of compiled schemas.
#[derive(Debug, Clone)]
pub struct SchemaCache {
    store: Store,
}

/// The folder of the server records.
const SERVERS: &str = "servers";
/// The folder of the compiled schemas.
const DOCUMENTS: &str = "documents";

/// A server, distinguished from others that may be behind the same URL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerId {
    /// The URL.
    pub url: String,
    /// A digest of everything that identifies the server: the URL, the CA certificates, the expected server name,
    /// and the proxy.
    pub identity: String,
}

impl ServerId {
    /// Creates an ID from a URL and further identifying parts.
    #[must_use]
    pub fn new(url: impl Into<String>, parts: &[&[u8]]) -> Self {
        let url = url.into();
        let identity = cache_key(&[&[url.as_bytes()], parts].concat());
        Self { url, identity }
    }

    /// Returns the cache key for a document whose hash is only claimed by the server and not verified. The key is
    /// specific to the server.
    #[must_use]
    pub fn server_hash(&self, hash: &str) -> String {
        format!("{} {hash}", self.identity)
    }
}

/// The documents of a server by group-version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerIndex {
    /// The server.
    pub server: ServerId,
    /// The time when the index was fetched.
    pub fetched: SystemTime,
    /// The hash per `apiVersion` (`apps/v1`, `v1`), or one for [`ALL_GROUPS`].
    pub hashes: BTreeMap<String, String>,
    /// The names of kinds in addition to the kind itself, by `apps/v1 Deployment`: first the plural, then
    /// singular and short names. They come from the last discovery, because documents do not contain them. Empty
    /// for kinds that were never requested.
    #[serde(default)]
    pub names: BTreeMap<String, Vec<SmolStr>>,
}

impl ServerIndex {
    /// Creates an index with the current time.
    #[must_use]
    pub fn new(server: ServerId, hashes: BTreeMap<String, String>) -> Self {
        Self { server, fetched: SystemTime::now(), hashes, names: BTreeMap::new() }
    }

    /// Returns the key of a kind in `names`.
    #[must_use]
    pub fn kind_key(gvk: &Gvk) -> String {
        format!("{} {}", gvk.api_version(), gvk.kind)
    }

    /// Adds the known names to a kind.
    fn with_names(&self, mut kind: NamedKind) -> NamedKind {
        kind.add_names(self.names.get(&Self::kind_key(&kind.gvk)).cloned().unwrap_or_default());
        kind
    }

    /// Returns the key and the hash of the document for a group-version.
    #[must_use]
    pub fn document(&self, api_version: &str) -> Option<(&str, &str)> {
        let found = self.hashes.get_key_value(api_version).or_else(|| self.hashes.get_key_value(ALL_GROUPS));
        found.map(|(key, hash)| (key.as_str(), hash.as_str()))
    }
}

impl SchemaCache {
    /// Opens the schema cache in `root`, the directory of all caches. The default is the cache directory of the user.
    ///
    /// Returns `None` if there is no such directory, for example for users without a home. Creates nothing yet.
    #[must_use]
    pub fn open(root: Option<PathBuf>) -> Option<Self> {
        root.or_else(user_cache).map(|root| Self { store: Store::new(root.join("schema")) })
    }

    /// Returns the directory of the cache.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.store.directory()
    }

    /// Returns the graph of a document, if it is cached.
    #[must_use]
    pub fn get(&self, document: &str, hash: &str) -> Option<Arc<TypeGraph>> {
        let name = entry(document, hash);
        let graph = TypeGraph::from_bytes(self.store.read(&name).ok()?).ok();
        if graph.is_none() {
            // Another process may have just replaced it. This only causes one more fetch.
            self.store.remove_file(&name);
        } else {
            self.store.touch(&name);
        }
        graph.map(Arc::new)
    }

    /// Returns the graph of a server's document, stored under its hash or under [`ServerId::server_hash`].
    #[must_use]
    pub fn get_for_server(&self, server: &ServerId, document: &str, hash: &str) -> Option<Arc<TypeGraph>> {
        self.get(document, hash).or_else(|| self.get(document, &server.server_hash(hash)))
    }

    /// Stores the graph of a document.
    pub fn put(&self, document: &str, hash: &str, graph: &TypeGraph) -> Result<()> {
        self.keep(&entry(document, hash), &[&graph.to_bytes()])
    }

    /// Returns the last index of a server.
    #[must_use]
    pub fn index(&self, server: &ServerId) -> Option<ServerIndex> {
        self.read_index(&record(server)).filter(|index| index.server == *server)
    }

    /// Removes the index of a server, because it is outdated.
    pub fn remove_index(&self, server: &ServerId) {
        self.store.remove_file(&record(server));
    }

    /// Stores the index of a server.
    pub fn put_index(&self, index: &ServerIndex) -> Result<()> {
        let name = record(&index.server);
        let text = serde_json::to_vec(index).map_err(|error| self.failed(&name, &error.into()))?;
        self.keep(&name, &[&text])
    }

    /// Returns the indexes of all servers, the newest first.
    fn indexes(&self) -> Vec<ServerIndex> {
        let folder = Path::new(SERVERS);
        let names = self.store.names(folder).into_iter();
        let mut all: Vec<_> = names.filter_map(|name| self.read_index(&folder.join(name))).collect();
        all.sort_by(|a, b| b.fetched.cmp(&a.fetched).then_with(|| a.server.url.cmp(&b.server.url)));
        all
    }

    fn keep(&self, name: &Path, parts: &[&[u8]]) -> Result<()> {
        self.store.put(name, parts).map_err(|error| self.failed(name, &error))
    }

    fn failed(&self, name: &Path, error: &std::io::Error) -> Diagnostic {
        let path = self.directory().join(name);
        Diagnostic::error(Code::Io, format!("cannot write to the schema cache {}: {error}", path.display()))
    }

    fn read_index(&self, name: &Path) -> Option<ServerIndex> {
        let index = serde_json::from_slice(&self.store.read(name).ok()?);
        if index.is_err() {
            self.store.remove_file(name);
        }
        index.ok()
    }
}

/// Returns the file name of a document. It contains the version of the binary format, so that different versions of the
/// program can share the cache. Servers choose the hashes, so they are hashed again before they are used in file names.
fn entry(document: &str, hash: &str) -> PathBuf {
    Path::new(DOCUMENTS).join(cache_key(&[MAGIC, document.as_bytes(), hash.as_bytes()]))
}

fn record(server: &ServerId) -> PathBuf {
    Path::new(SERVERS).join(format!("{}.json", server.identity))
}

/// The cache as a source of the schema chain.
#[derive(Debug, Clone)]
pub struct CacheSource {
    cache: SchemaCache,
    server: Option<ServerId>,
}

impl CacheSource {
    /// Creates a source with the last index of `server`, or with the indexes of all servers if it is `None`.
    #[must_use]
    pub fn new(cache: SchemaCache, server: Option<ServerId>) -> Self {
        Self { cache, server }
    }
}

impl CacheSource {
    fn indexes(&self) -> Vec<ServerIndex> {
        match &self.server {
            Some(server) => self.cache.index(server).into_iter().collect(),
            None => self.cache.indexes(),
        }
    }
}

impl SchemaSource for CacheSource {
    fn name(&self) -> &'static str {
        "cache"
    }

    fn lookup(&self, gvk: &Gvk) -> Result<Option<Arc<TypeGraph>>> {
        let indexes = self.indexes();
        let api_version = gvk.api_version();
        let graphs = indexes.iter().filter_map(|index| {
            let (document, hash) = index.document(&api_version)?;
            self.cache.get_for_server(&index.server, document, hash)
        });
        Ok(graphs.into_iter().find(|graph| graph.kind(gvk).is_some()))
    }

    fn kinds(&self) -> Result<Vec<NamedKind>> {
        let indexes = self.indexes();
        let kinds_of = |index: &ServerIndex| -> Vec<NamedKind> {
            let documents = index.hashes.iter();
            let get = |(document, hash): (&String, &String)| {
                self.cache.get_for_server(&index.server, document, hash)
            };
            let graphs = documents.filter_map(get);
            let kinds = graphs.flat_map(|graph| named_kinds(&graph).collect::<Vec<_>>());
            kinds.map(|kind| index.with_names(kind)).collect()
        };
        Ok(indexes.iter().flat_map(kinds_of).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;
    use smp_merge::schema::{KindDef, Model, TypeDef, TypeKind};

    fn thing() -> Gvk {
        Gvk::from_manifest("example.com/v1", "Thing")
    }

    fn graph(field: &str) -> TypeGraph {
        let mut root = TypeDef::new(TypeKind::Object);
        root.fields.insert(field.into(), TypeDef::new(TypeKind::String));
        let kind = KindDef { root: Some(root), ..KindDef::default() };
        Model { kinds: [(thing(), kind)].into(), ..Model::default() }.compile().expect("small")
    }

    fn cache() -> (tempfile::TempDir, SchemaCache) {
        let directory = tempfile::tempdir().expect("a directory");
        let cache = SchemaCache::open(Some(directory.path().join("deep/schema"))).expect("given");
        (directory, cache)
    }

    fn server(url: &str) -> ServerId {
        ServerId::new(url, &[])
    }

    fn index(url: &str, hash: &str, age: u64) -> ServerIndex {
        let hashes = [("example.com/v1".to_string(), hash.to_string())].into();
        let fetched = SystemTime::now() - Duration::from_secs(age);
        ServerIndex { fetched, ..ServerIndex::new(server(url), hashes) }
    }

    fn has(source: &CacheSource, field: &str) -> Option<bool> {
        let graph = source.lookup(&thing()).expect("no error")?;
        graph.kind(&thing()).map(|root| root.has_field(field))
    }

    #[test]
    fn entries_are_distinguished_by_document_and_hash() {
        let (_guard, cache) = cache();
        assert!(cache.get("v1", "A").is_none());
        cache.put("v1", "A", &graph("a")).expect("written");
        cache.put("v1", "../../A", &graph("b")).expect("any hash is valid");
        assert_eq!(cache.get("v1", "A").expect("there").to_bytes(), graph("a").to_bytes());
        assert_eq!(cache.get("v1", "../../A").expect("there").to_bytes(), graph("b").to_bytes());
        assert!(cache.get("v2", "A").is_none() && cache.get("v1", "B").is_none());
    }

    #[test]
    fn corrupt_entries_and_records_are_removed() {
        let (_guard, cache) = cache();
        cache.put("v1", "A", &graph("a")).expect("written");
        let path = cache.directory().join(entry("v1", "A"));
        let good = fs::read(&path).expect("there");
        for bad in [&good[..10], &good[..good.len() - 1], &[&good[..40], b"x", &good[41..]].concat()] {
            fs::write(&path, bad).expect("writable");
            assert!(cache.get("v1", "A").is_none());
            assert!(!path.exists());
        }
        cache.put_index(&index("https://a", "A", 0)).expect("written");
        let record = cache.directory().join(record(&server("https://a")));
        fs::write(&record, "{").expect("writable");
        assert_eq!(cache.index(&server("https://a")), None);
        assert!(!record.exists());
    }

    #[test]
    fn lookup_uses_the_given_server_or_the_newest_index() {
        let (_guard, cache) = cache();
        for (server, hash, age) in [("https://a", "A", 60), ("https://b", "B", 30), ("https://c", "C", 5)] {
            cache.put_index(&index(server, hash, age)).expect("written");
        }
        cache.put("example.com/v1", "A", &graph("a")).expect("written");
        cache.put("example.com/v1", "B", &graph("b")).expect("written");
        let source = |url: Option<&str>| CacheSource::new(cache.clone(), url.map(server));
        assert_eq!(has(&source(Some("https://a")), "a"), Some(true));
        assert_eq!(has(&source(Some("https://c")), "a"), None, "the document was never fetched");
        assert_eq!(has(&source(None), "b"), Some(true), "the newest cached one");
        cache.remove_index(&server("https://a"));
        assert_eq!(has(&source(Some("https://a")), "a"), None, "the index was removed");
    }

    #[test]
    fn servers_behind_one_url_are_distinguished() {
        let (_guard, cache) = cache();
        let ids = [&b"one"[..], b"two"].map(|authority| ServerId::new("https://a", &[authority]));
        for (id, hash) in ids.iter().zip(["A", "B"]) {
            let index = ServerIndex { server: id.clone(), ..index("https://a", hash, 0) };
            cache.put_index(&index).expect("written");
            cache.put("example.com/v1", hash, &graph(&hash.to_lowercase())).expect("written");
        }
        let source = |id: &ServerId| CacheSource::new(cache.clone(), Some(id.clone()));
        assert_eq!(has(&source(&ids[0]), "a"), Some(true));
        assert_eq!(has(&source(&ids[1]), "b"), Some(true));
        assert_eq!(has(&source(&server("https://a")), "a"), None);
    }

    #[test]
    fn one_document_may_have_all_groups() {
        let (_guard, cache) = cache();
        let hashes = [(ALL_GROUPS.to_string(), "H".to_string())].into();
        cache.put_index(&ServerIndex::new(server("https://a"), hashes)).expect("written");
        cache.put(ALL_GROUPS, "H", &graph("a")).expect("written");
        assert_eq!(has(&CacheSource::new(cache, Some(server("https://a"))), "a"), Some(true));
    }
}
