//! Lists and clears the schema cache.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::{DOCUMENTS, SERVERS, SchemaCache, ServerIndex, entry};
use smp_files::{CacheEntry, CacheKind, Cleared, MAX_UNUSED_AGE, StoredEntry, is_cache_key};
use smp_merge::schema::TypeGraph;

impl SchemaCache {
    /// Returns the entries: schemas by group-version, then servers.
    #[must_use]
    pub fn list(&self) -> Vec<CacheEntry> {
        let mut all: Vec<CacheEntry> = self.stored().into_iter().map(|(cached, _)| cached).collect();
        all.sort_by(|a, b| (a.kind as u8, &a.source, &a.version).cmp(&(b.kind as u8, &b.source, &b.version)));
        all
    }

    /// Removes entries unused for 30 days, and unreadable entries.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn prune(&self) -> io::Result<Cleared> {
        self.remove_entries(|cached, entry| {
            entry.is_unused_for(MAX_UNUSED_AGE) || !self.is_readable(cached.kind, &entry.name)
        })
    }

    /// Removes all entries. Does not touch files that are not part of the cache.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn clear(&self) -> io::Result<Cleared> {
        self.remove_entries(|_, _| true)
    }

    fn remove_entries(&self, is_removed: impl Fn(&CacheEntry, &StoredEntry) -> bool) -> io::Result<Cleared> {
        self.store.clear([DOCUMENTS, SERVERS], |staging| {
            let mut cleared = Cleared::default();
            for (cached, stored) in self.stored() {
                if is_removed(&cached, &stored) {
                    cleared.add(cached, self.store.remove(&stored.name, staging));
                }
            }
            cleared
        })
    }

    fn is_readable(&self, kind: CacheKind, name: &Path) -> bool {
        match kind {
            CacheKind::Server => self.read_index(name).is_some(),
            _ => self.store.read(name).is_ok_and(|bytes| TypeGraph::from_bytes(bytes).is_ok()),
        }
    }

    fn stored(&self) -> Vec<(CacheEntry, StoredEntry)> {
        let names = self.document_names();
        let documents = self.store.entries(Path::new(DOCUMENTS), is_cache_key).into_iter().map(|entry| {
            let (source, version) = names.get(&entry.name).cloned().unwrap_or_default();
            (cache_entry(CacheKind::Schema, source, version, &entry), entry)
        });
        let is_record = |name: &str| name.strip_suffix(".json").is_some_and(is_cache_key);
        let records = self.store.entries(Path::new(SERVERS), is_record).into_iter().map(|entry| {
            let server = self.read_index(&entry.name).map(|index| index.server.url).unwrap_or_default();
            (cache_entry(CacheKind::Server, server, String::new(), &entry), entry)
        });
        documents.chain(records).collect()
    }

    /// Returns group-version and hash of the known documents of servers, by the names of their entries.
    fn document_names(&self) -> BTreeMap<PathBuf, (String, String)> {
        let mut names = BTreeMap::new();
        for ServerIndex { server, hashes, .. } in self.indexes() {
            for (document, hash) in hashes {
                names.insert(entry(&document, &server.server_hash(&hash)), (document.clone(), hash.clone()));
                names.insert(entry(&document, &hash), (document, hash));
            }
        }
        names
    }
}

fn cache_entry(kind: CacheKind, source: String, version: String, entry: &StoredEntry) -> CacheEntry {
    CacheEntry { kind, source, version, size: entry.size, used: entry.used }
}
