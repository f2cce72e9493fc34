//! The cache directory of fetched trees and files.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use super::super::repo_spec::{RepoSpec, is_commit, without_secrets};
use super::git;
use smp_files::{
    CachedDirectory, Description, HeldDirectory, MAX_UNUSED_AGE, Staging, Store, StoredEntry,
    TemporaryDirectory, cache_key, is_cache_key,
};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The maximum total size of all files: 1 GiB.
pub(super) const MAX_FILE_BYTES: u64 = 1 << 30;

pub(super) const REPOSITORIES: &str = "repositories";
pub(super) const FILES: &str = "files";

/// A cache of trees by repository and commit, and of files by URL.
#[derive(Debug)]
pub(super) struct Cache {
    /// The configured cache; `None` if the user has no cache directory.
    configured: Option<Store>,
    /// A temporary cache, used if the configured directory cannot be written, for example in containers.
    temporary: OnceLock<Option<(Store, TemporaryDirectory)>>,
    /// The trees in use, each compared with its seal once.
    held: Mutex<FxHashMap<PathBuf, HeldTree>>,
    tidied: Once,
}

/// A tree that is in use or being looked up.
type HeldTree = Arc<Mutex<Option<HeldDirectory>>>;

/// The cached tree of a commit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CachedTree {
    /// The complete tree, with its real path.
    Complete(PathBuf),
    /// A tree that was changed after it was fetched, or that another version of this program wrote.
    Damaged,
    /// No tree.
    Absent,
}

impl Cache {
    /// Opens the cache in a directory. Without a directory, a temporary one is used.
    pub(super) fn new(configured: Option<PathBuf>) -> Self {
        Self {
            configured: configured.map(Store::new),
            temporary: OnceLock::new(),
            held: Mutex::default(),
            tidied: Once::new(),
        }
    }

    /// Returns the current store. Returns `None` if there is only a temporary one that is not needed yet.
    fn store(&self) -> Option<&Store> {
        match self.temporary.get() {
            Some(Some((store, _))) => Some(store),
            _ => self.configured.as_ref(),
        }
    }

    pub(super) fn directory(&self) -> Option<&Path> {
        self.store().map(Store::directory)
    }

    /// Returns a writable store and a new staging directory in it.
    fn staging(&self) -> Result<(&Store, Staging)> {
        let instead = || {
            let temporary = TemporaryDirectory::new(".tmp").ok()?;
            Some((Store::new(temporary.path()), temporary))
        };
        let is_writable = || self.configured.as_ref().is_some_and(|store| store.staging().is_ok());
        self.temporary.get_or_init(|| if is_writable() { None } else { instead() });
        let failed = |why: &dyn std::fmt::Display| {
            let configured =
                self.configured.as_ref().map_or(Path::new("of the user"), Store::directory).display();
            Diagnostic::error(Code::Io, format!("cannot write to the cache directory {configured}: {why}"))
        };
        let store = self.store().ok_or_else(|| failed(&"no such directory"))?;
        store.staging().map(|staging| (store, staging)).map_err(|error| failed(&error))
    }

    /// Returns true if there is an entry for the tree of a commit.
    pub(super) fn has_tree(&self, spec: &RepoSpec, commit: &str) -> bool {
        self.store().is_some_and(|store| store.names(&folder(spec)).iter().any(|name| name == commit))
    }

    /// Returns the tree of a commit after comparing it with its seal.
    pub(super) fn tree(&self, spec: &RepoSpec, commit: &str) -> CachedTree {
        let entry = folder(spec).join(commit);
        let held = self.held(&entry);
        let mut held = held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*held {
            return CachedTree::Complete(known.path.clone());
        }
        let Some(store) = self.store() else { return CachedTree::Absent };
        match store.open_directory(&entry, &about_tree(spec, commit)) {
            CachedDirectory::Damaged => CachedTree::Damaged,
            CachedDirectory::Missing => CachedTree::Absent,
            CachedDirectory::Valid(found) => {
                let path = found.path.clone();
                *held = Some(found);
                CachedTree::Complete(path)
            }
        }
    }

    /// Returns the slot of a tree. Each tree has its own lock, so that lookups of different trees do not block
    /// each other.
    fn held(&self, entry: &Path) -> HeldTree {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.entry(entry.to_path_buf()).or_default().clone()
    }

    /// Returns the commit that a reference resolved to when it was last fetched.
    pub(super) fn last_commit(&self, spec: &RepoSpec) -> Option<String> {
        let name = folder(spec).join(ref_name(spec));
        let commit = String::from_utf8(self.store()?.read_sealed(&name, &about_reference(spec))?).ok()?;
        is_commit(&commit).then_some(commit)
    }

    /// Fetches a reference and stores the tree. `locked` is the required commit.
    pub(super) fn fetch(&self, spec: &RepoSpec, locked: Option<&str>) -> Result<(PathBuf, String)> {
        let (store, staging) = self.staging()?;
        let failed = |error: io::Error| {
            let message = format!("cannot store {} in the cache: {error}", spec.shown());
            let note = format!("cache directory: {}", store.directory().display());
            Diagnostic::error(Code::Io, message).note(note)
        };
        let tree = staging.content().map_err(failed)?;
        let commit = git::check_out(spec, locked, &tree)?;
        if !is_commit(&commit) {
            let message = format!("git returned the invalid commit `{commit}` for {}", spec.shown());
            return Err(Diagnostic::error(Code::Command, message));
        }
        if let Some(locked) = locked.filter(|locked| *locked != commit) {
            return Err(commit_mismatch_error(spec, locked, &commit));
        }
        // `.git` contains the URL, including a password if there is one.
        staging.remove_from_content(Path::new(".git")).map_err(failed)?;
        // The commit may already be cached for another reference.
        let folder = folder(spec);
        let entry = folder.join(&commit);
        let kept = store.put_directory(&staging, &entry, &about_tree(spec, &commit)).map_err(failed)?;
        let path = kept.path.clone();
        *self.held(&entry).lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        if commit != spec.revision && locked.is_none() {
            let name = folder.join(ref_name(spec));
            store.put_sealed(&name, about_reference(spec), commit.as_bytes()).map_err(failed)?;
        }
        tidy_folder(store, &folder, is_commit, &staging);
        store.sweep(&staging);
        Ok((path, commit))
    }

    /// Returns the last content of a URL.
    pub(super) fn file(&self, url: &str) -> Option<Vec<u8>> {
        self.store()?.read_sealed(&file(url), &about_file(url))
    }

    /// Stores the content of a URL. Without a writable cache it is not stored.
    pub(super) fn keep_file(&self, url: &str, content: &[u8]) {
        let Ok((store, staging)) = self.staging() else { return };
        // The content was fetched in any case, so a failure to store it is ignored.
        let _ = store.put_sealed(&file(url), about_file(url), content);
        self.tidied.call_once(|| {
            for entry in files_to_evict(store.entries(Path::new(FILES), is_cache_key), MAX_FILE_BYTES) {
                store.remove(&entry.name, &staging);
            }
            store.sweep_folder(Path::new(FILES));
            store.sweep(&staging);
        });
    }
}

/// Removes unused entries from the folder of a repository that was just fetched.
fn tidy_folder(store: &Store, folder: &Path, is_ours: fn(&str) -> bool, staging: &Staging) {
    for entry in store.entries(folder, is_ours).iter().filter(|entry| entry.is_unused_for(MAX_UNUSED_AGE)) {
        store.remove(&entry.name, staging);
    }
    store.sweep_folder(folder);
}

/// Returns the files that were not used for a while, and the oldest ones of the rest beyond the size limit.
pub(super) fn files_to_evict(mut files: Vec<StoredEntry>, most_bytes: u64) -> Vec<StoredEntry> {
    files.sort_by(|a, b| b.used.cmp(&a.used).then_with(|| a.name.cmp(&b.name)));
    let mut bytes = 0_u64;
    files.retain(|file| {
        bytes = bytes.saturating_add(file.size);
        bytes > most_bytes || file.is_unused_for(MAX_UNUSED_AGE)
    });
    files
}

fn commit_mismatch_error(spec: &RepoSpec, locked: &str, found: &str) -> Diagnostic {
    let reference = if spec.revision.is_empty() { "HEAD" } else { &spec.revision };
    let message = format!("`{reference}` of {} is now commit {found}, but {locked} is locked", spec.shown());
    Diagnostic::error(Code::Locked, message)
        .note("the server does not allow fetching the locked commit directly")
        .help("review the changes in the repository, then run `kubectl smp lock`")
}

/// Returns the folder of a repository.
fn folder(spec: &RepoSpec) -> PathBuf {
    let submodules = if spec.submodules { "" } else { "no submodules" };
    Path::new(REPOSITORIES).join(cache_key(&[spec.url().as_bytes(), submodules.as_bytes()]))
}

fn file(url: &str) -> PathBuf {
    Path::new(FILES).join(cache_key(&[url.as_bytes()]))
}

fn ref_name(spec: &RepoSpec) -> String {
    format!("ref-{}", cache_key(&[spec.revision.as_bytes()]))
}

fn about(parts: [(&str, String); 2]) -> Description {
    parts.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

fn about_tree(spec: &RepoSpec, commit: &str) -> Description {
    about([("url", without_secrets(&spec.url())), ("commit", commit.to_string())])
}

fn about_reference(spec: &RepoSpec) -> Description {
    about([("url", without_secrets(&spec.url())), ("ref", spec.revision.clone())])
}

fn about_file(url: &str) -> Description {
    [("url".to_string(), without_secrets(url))].into()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    fn file(name: &str, size: u64, days: u64) -> StoredEntry {
        let used = SystemTime::now() - Duration::from_secs(days * 86_400);
        StoredEntry { name: name.into(), about: Description::new(), size, used }
    }

    #[test]
    fn oldest_files_are_removed_beyond_the_limit() {
        let files =
            || vec![file("old", 10, 3), file("new", 10, 1), file("unused", 1, 31), file("older", 5, 4)];
        let names = |most_bytes| -> Vec<String> {
            let gone = files_to_evict(files(), most_bytes);
            gone.iter().map(|file| file.name.display().to_string()).collect()
        };
        assert_eq!(names(25), ["unused"]);
        assert_eq!(names(24), ["older", "unused"]);
        assert_eq!(names(19), ["old", "older", "unused"]);
        assert_eq!(names(0), ["new", "old", "older", "unused"]);
    }
}
