//! The cache of schemas that servers gave: compiled graphs, addressed by the hash that the server
//! itself has for the document.
//!
//! Entries never change, so clusters share them. Beside them a small record says which server had
//! which hashes, and when; with it the cache answers without a network. Everything is written to a
//! temporary file and renamed; what cannot be read is dropped and counts as absent. Knows nothing of
//! how documents are fetched.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::graph::MAGIC;
use super::source::SchemaSource;
use super::{Gvk, TypeGraph};
use crate::diagnostic::{Code, Diagnostic, Result};

/// The key of a record's hash for a document that has all group-versions, as OpenAPI v2 has.
pub const ALL_GROUPS: &str = "*";

/// A directory with compiled schemas.
#[derive(Debug, Clone)]
pub struct SchemaCache {
    directory: PathBuf,
}

/// Which document a server had for each of its group-versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ServerIndex {
    /// The server's URL.
    pub server: String,
    /// When it said so.
    pub fetched: SystemTime,
    /// The hash per `apiVersion` (`apps/v1`, `v1`), or one for [`ALL_GROUPS`].
    pub hashes: BTreeMap<String, String>,
}

impl ServerIndex {
    /// What a server says now.
    #[must_use]
    pub fn now(server: impl Into<String>, hashes: BTreeMap<String, String>) -> Self {
        Self { server: server.into(), fetched: SystemTime::now(), hashes }
    }

    /// The key and hash of the document that has a group-version.
    #[must_use]
    pub fn document(&self, api_version: &str) -> Option<(&str, &str)> {
        let found = self.hashes.get_key_value(api_version).or_else(|| self.hashes.get_key_value(ALL_GROUPS));
        found.map(|(key, hash)| (key.as_str(), hash.as_str()))
    }

    /// How long ago the server said so; none when the clock was set back since.
    fn age(&self) -> Option<Duration> {
        self.fetched.elapsed().ok()
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error(Code::Io, format!("cannot write to the schema cache {}: {error}", path.display()))
}

/// A file name for any texts; servers choose the hashes, so they are no file names themselves.
fn file_name(parts: &[&[u8]]) -> String {
    use std::fmt::Write as _;
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part);
    }
    let mut name = String::new();
    for byte in &hasher.finalize()[..16] {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

impl SchemaCache {
    /// The cache in `directory`, or else where the operating system keeps caches of users.
    ///
    /// None when there is no such place, as for users without a home. Nothing is created yet.
    #[must_use]
    pub fn open(directory: Option<PathBuf>) -> Option<Self> {
        let default = || Some(dirs::cache_dir()?.join("kubectl-smp").join("schema"));
        directory.or_else(default).map(|directory| Self { directory })
    }

    /// Where it is.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The graph of a document, when it is here.
    #[must_use]
    pub fn get(&self, document: &str, hash: &str) -> Option<Arc<TypeGraph>> {
        let path = self.entry(document, hash);
        let bytes = fs::read(&path).ok()?;
        let graph = open_entry(bytes);
        if graph.is_none() {
            // Another process may have replaced it just now; then one fetch is wasted, no more.
            let _ = fs::remove_file(&path);
        }
        graph.map(Arc::new)
    }

    /// Keeps the graph of a document.
    pub fn put(&self, document: &str, hash: &str, graph: &TypeGraph) -> Result<()> {
        let bytes = graph.as_bytes();
        self.write(&self.entry(document, hash), &[&Sha256::digest(bytes), bytes])
    }

    /// What a server said last.
    #[must_use]
    pub fn index(&self, server: &str) -> Option<ServerIndex> {
        let path = self.record(server);
        read_index(&path).filter(|index| index.server == server)
    }

    /// Keeps what a server says.
    pub fn put_index(&self, index: &ServerIndex) -> Result<()> {
        let path = self.record(&index.server);
        let text = serde_json::to_vec(index).map_err(|error| failed(&path, &error.into()))?;
        self.write(&path, &[&text])
    }

    /// The records of all servers, the newest first.
    fn indexes(&self) -> Vec<ServerIndex> {
        let entries = fs::read_dir(self.directory.join("servers")).into_iter().flatten().flatten();
        let mut all: Vec<_> = entries.filter_map(|entry| read_index(&entry.path())).collect();
        all.sort_by(|a, b| b.fetched.cmp(&a.fetched).then_with(|| a.server.cmp(&b.server)));
        all
    }

    /// The layout's version is part of the name, so that programs of several versions get along.
    fn entry(&self, document: &str, hash: &str) -> PathBuf {
        let name = file_name(&[MAGIC, document.as_bytes(), hash.as_bytes()]);
        self.directory.join("documents").join(name)
    }

    fn record(&self, server: &str) -> PathBuf {
        self.directory.join("servers").join(file_name(&[server.as_bytes()]) + ".json")
    }

    fn write(&self, path: &Path, parts: &[&[u8]]) -> Result<()> {
        let folder = path.parent().unwrap_or(&self.directory);
        let written = || {
            fs::create_dir_all(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            parts.iter().try_for_each(|part| file.write_all(part))?;
            file.persist(path).map_err(|error| error.error)
        };
        written().map(drop).map_err(|error| failed(path, &error))
    }
}

/// An entry is the checksum of a graph, then the graph.
fn open_entry(mut bytes: Vec<u8>) -> Option<TypeGraph> {
    let (checksum, graph) = bytes.split_at_checked(32)?;
    if Sha256::digest(graph).as_slice() != checksum {
        return None;
    }
    bytes.drain(..32);
    TypeGraph::from_bytes(bytes).ok()
}

fn read_index(path: &Path) -> Option<ServerIndex> {
    let text = fs::read(path).ok()?;
    let index = serde_json::from_slice(&text);
    if index.is_err() {
        let _ = fs::remove_file(path);
    }
    index.ok()
}

/// The cache as a link of the chain.
#[derive(Debug, Clone)]
pub struct CacheSource {
    cache: SchemaCache,
    server: Option<String>,
    max_age: Option<Duration>,
}

impl CacheSource {
    /// Answers with what `server` said last, or without one with what any server said last.
    #[must_use]
    pub fn new(cache: SchemaCache, server: Option<String>) -> Self {
        Self { cache, server, max_age: None }
    }

    /// Passes over what is older, so that the next link, the server itself, is asked again.
    #[must_use]
    pub fn fresh(mut self, max_age: Duration) -> Self {
        self.max_age = Some(max_age);
        self
    }
}

impl SchemaSource for CacheSource {
    fn name(&self) -> &'static str {
        "cache"
    }

    fn lookup(&self, gvk: &Gvk) -> Result<Option<Arc<TypeGraph>>> {
        let indexes = match &self.server {
            Some(server) => self.cache.index(server).into_iter().collect(),
            None => self.cache.indexes(),
        };
        let fresh = |index: &&ServerIndex| {
            self.max_age.is_none_or(|limit| index.age().is_some_and(|age| age <= limit))
        };
        let api_version = gvk.api_version();
        let graphs = indexes.iter().filter(fresh).filter_map(|index| {
            let (document, hash) = index.document(&api_version)?;
            self.cache.get(document, hash)
        });
        Ok(graphs.into_iter().find(|graph| graph.kind(gvk).is_some()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{KindDef, Model, TypeDef, TypeKind};

    fn thing() -> Gvk {
        Gvk::from_manifest("example.com/v1", "Thing")
    }

    fn graph(field: &str) -> TypeGraph {
        let mut root = TypeDef::of(TypeKind::Object);
        root.fields.insert(field.into(), TypeDef::of(TypeKind::String));
        let kind = KindDef { root: Some(root), ..KindDef::default() };
        Model { kinds: [(thing(), kind)].into(), ..Model::default() }.compile().expect("small")
    }

    fn cache() -> (tempfile::TempDir, SchemaCache) {
        let directory = tempfile::tempdir().expect("a directory");
        let cache = SchemaCache::open(Some(directory.path().join("deep/schema"))).expect("given");
        (directory, cache)
    }

    fn index(server: &str, hash: &str, age: u64) -> ServerIndex {
        let hashes = [("example.com/v1".to_string(), hash.to_string())].into();
        let fetched = SystemTime::now() - Duration::from_secs(age);
        ServerIndex { fetched, ..ServerIndex::now(server, hashes) }
    }

    fn has(source: &CacheSource, field: &str) -> Option<bool> {
        let graph = source.lookup(&thing()).expect("no error")?;
        graph.kind(&thing()).map(|root| root.has_field(field))
    }

    #[test]
    fn entries_are_told_apart_by_document_and_hash() {
        let (_guard, cache) = cache();
        assert!(cache.get("v1", "A").is_none());
        cache.put("v1", "A", &graph("a")).expect("written");
        cache.put("v1", "../../A", &graph("b")).expect("any hash will do");
        assert_eq!(cache.get("v1", "A").expect("there").as_bytes(), graph("a").as_bytes());
        assert_eq!(cache.get("v1", "../../A").expect("there").as_bytes(), graph("b").as_bytes());
        assert!(cache.get("v2", "A").is_none() && cache.get("v1", "B").is_none());
    }

    #[test]
    fn corrupt_entries_and_records_are_dropped() {
        let (_guard, cache) = cache();
        cache.put("v1", "A", &graph("a")).expect("written");
        let path = cache.entry("v1", "A");
        let good = fs::read(&path).expect("there");
        for bad in [&good[..10], &good[..good.len() - 1], &[&good[..40], b"x", &good[41..]].concat()] {
            fs::write(&path, bad).expect("writable");
            assert!(cache.get("v1", "A").is_none());
            assert!(!path.exists());
        }
        cache.put_index(&index("https://a", "A", 0)).expect("written");
        fs::write(cache.record("https://a"), "{").expect("writable");
        assert_eq!(cache.index("https://a"), None);
        assert!(!cache.record("https://a").exists());
    }

    #[test]
    fn the_cache_answers_for_a_server_or_with_the_newest_record() {
        let (_guard, cache) = cache();
        for (server, hash, age) in [("https://a", "A", 60), ("https://b", "B", 30), ("https://c", "C", 5)] {
            cache.put_index(&index(server, hash, age)).expect("written");
        }
        cache.put("example.com/v1", "A", &graph("a")).expect("written");
        cache.put("example.com/v1", "B", &graph("b")).expect("written");
        let of = |server: Option<&str>| CacheSource::new(cache.clone(), server.map(str::to_string));
        assert_eq!(has(&of(Some("https://a")), "a"), Some(true));
        assert_eq!(has(&of(Some("https://c")), "a"), None, "its document was never fetched");
        assert_eq!(has(&of(None), "b"), Some(true), "the newest that is here");
        let fresh = |seconds| of(Some("https://a")).fresh(Duration::from_secs(seconds));
        assert_eq!(has(&fresh(30), "a"), None);
        assert_eq!(has(&fresh(90), "a"), Some(true));
    }

    #[test]
    fn one_document_may_have_all_groups() {
        let (_guard, cache) = cache();
        let hashes = [(ALL_GROUPS.to_string(), "H".to_string())].into();
        cache.put_index(&ServerIndex::now("https://a", hashes)).expect("written");
        cache.put(ALL_GROUPS, "H", &graph("a")).expect("written");
        assert_eq!(has(&CacheSource::new(cache, Some("https://a".into())), "a"), Some(true));
    }
}
