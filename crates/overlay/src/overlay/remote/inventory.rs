//! Lists and clears the cache of remote trees and files.

use std::io;
use std::path::{Path, PathBuf};

use super::super::repo_spec::is_commit;
use super::cache::{FILES, MAX_FILE_BYTES, REPOSITORIES, files_to_evict};
use smp_files::{
    CacheEntry, CacheKind, Cleared, MAX_UNUSED_AGE, Removal, Staging, Store, StoredEntry, is_cache_key,
    user_cache,
};

/// The cache of fetched trees and files.
#[derive(Debug, Clone)]
pub struct RemoteCache {
    store: Store,
}

impl RemoteCache {
    /// Opens the cache in `root`, the directory of all caches. The default is the cache directory of the user. Returns
    /// `None` if there is no such directory. Creates nothing yet.
    #[must_use]
    pub fn open(root: Option<PathBuf>) -> Option<Self> {
        root.or_else(user_cache).map(|root| Self { store: Store::new(root.join("remote")) })
    }

    /// Returns the directory of the cache.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.store.directory()
    }

    /// Returns the entries by URL: repositories, then files.
    #[must_use]
    pub fn list(&self) -> Vec<CacheEntry> {
        let trees = self.folders().into_iter().flat_map(|folder| self.store.entries(&folder, is_commit));
        let mut all: Vec<_> = trees.map(|tree| shown(CacheKind::Repository, &tree)).collect();
        all.extend(self.files().iter().map(|file| shown(CacheKind::File, file)));
        all.sort_by(|a, b| (a.kind as u8, &a.source, &a.version).cmp(&(b.kind as u8, &b.source, &b.version)));
        all
    }

    /// Removes entries unused for 30 days, damaged entries, the oldest files beyond 1 GiB, and leftovers of
    /// killed programs.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn prune(&self) -> io::Result<Cleared> {
        self.remove_entries(
            |entry, store| entry.is_unused_for(MAX_UNUSED_AGE) || !store.is_valid(entry),
            MAX_FILE_BYTES,
        )
    }

    /// Removes all entries that no other program is using. Does not touch files that are not part of the cache.
    ///
    /// # Errors
    /// The directory cannot be written.
    pub fn clear(&self) -> io::Result<Cleared> {
        self.remove_entries(|_, _| true, 0)
    }

    fn remove_entries(
        &self,
        is_removed: fn(&StoredEntry, &Store) -> bool,
        most_bytes: u64,
    ) -> io::Result<Cleared> {
        self.store.clear([REPOSITORIES, FILES], |staging| {
            let mut cleared = Cleared::default();
            for folder in self.folders() {
                self.remove_from_repository(&folder, is_removed, staging, &mut cleared);
            }
            let (gone, rest): (Vec<_>, Vec<_>) =
                self.files().into_iter().partition(|file| is_removed(file, &self.store));
            for file in gone.into_iter().chain(files_to_evict(rest, most_bytes)) {
                cleared.add(shown(CacheKind::File, &file), self.store.remove(&file.name, staging));
            }
            cleared
        })
    }

    fn remove_from_repository(
        &self,
        folder: &Path,
        is_removed: fn(&StoredEntry, &Store) -> bool,
        staging: &Staging,
        cleared: &mut Cleared,
    ) {
        if !self.store.has_folder(folder) {
            // A symlink or a file instead of the folder.
            self.store.remove(folder, staging);
            return;
        }
        let mut is_empty = true;
        for tree in self.store.entries(folder, is_commit) {
            if is_removed(&tree, &self.store) {
                let removal = self.store.remove(&tree.name, staging);
                is_empty &= removal == Removal::Removed;
                cleared.add(shown(CacheKind::Repository, &tree), removal);
            } else {
                is_empty = false;
            }
        }
        for reference in
            self.store.entries(folder, |name| name.strip_prefix("ref-").is_some_and(is_cache_key))
        {
            // Without trees, a reference cannot resolve to anything.
            if is_empty || is_removed(&reference, &self.store) {
                self.store.remove(&reference.name, staging);
            }
        }
        self.store.sweep_folder(folder);
        self.store.remove_folder(folder);
    }

    /// Returns the folders of repositories.
    fn folders(&self) -> Vec<PathBuf> {
        let names = self.store.names(Path::new(REPOSITORIES)).into_iter();
        let ours = names.filter(|name| name.to_str().is_some_and(is_cache_key));
        ours.map(|name| Path::new(REPOSITORIES).join(name)).collect()
    }

    fn files(&self) -> Vec<StoredEntry> {
        self.store.entries(Path::new(FILES), is_cache_key)
    }
}

fn shown(kind: CacheKind, entry: &StoredEntry) -> CacheEntry {
    let part = |name: &str| entry.about.get(name).cloned().unwrap_or_default();
    let (size, used) = (entry.size, entry.used);
    CacheEntry { kind, source: part("url"), version: part("commit"), size, used }
}
