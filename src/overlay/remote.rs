//! Remote files and bases: fetched, kept in a cache, asked for once in a run.
//!
//! Knows references and bytes; knows nothing of kustomizations. Nothing here touches the network
//! unless a reference is passed to [`Remotes`].
//!
//! # The cache
//!
//! `repositories/KEY/COMMIT` is the tree of one commit, without its `.git`; `KEY` is a hash of the
//! repository's URL, so that no secret of a URL is stored. A reference that names a commit by its
//! full hash is fetched once and never again. What a branch or tag means can change: it is fetched
//! in every run, and `repositories/KEY/ref-HASH` remembers its commit for `offline` runs.
//! `files/HASH` is the last content of a URL, fetched in every run, too. Trees and files appear by
//! renaming what is complete, so any number of programs can share a cache. Trees that were not
//! used for a month are removed.

mod cache;
mod git;
mod http;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;

use self::cache::Cache;
use super::repo_spec::{RepoSpec, without_password};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::files::{ConfinedTree, Directory, Store, leads_out};
use crate::source::Span;

/// Whether a path is the URL of a file: its scheme is `http` or `https`.
///
/// It may still be the URL of a repository; [`Remotes::resource`] finds out.
#[must_use]
pub fn is_remote_file(path: &str) -> bool {
    path.split_once(':')
        .is_some_and(|(scheme, _)| ["http", "https"].iter().any(|s| s.eq_ignore_ascii_case(scheme)))
}

/// What a remote entry of `resources` turned out to be.
#[derive(Debug)]
pub enum Found<T> {
    /// A file, as it was read.
    File(T),
    /// A directory of a repository.
    Repository(Checkout),
}

/// A repository on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// What was asked for.
    pub spec: RepoSpec,
    /// The real path of the tree. It is shared: nothing may be written there.
    pub clone_dir: PathBuf,
    /// The full hash of the commit.
    pub commit: String,
}

impl Checkout {
    /// Its files, which nothing leads out of.
    ///
    /// # Errors
    /// It is not there any more.
    pub fn tree(&self) -> Result<Directory> {
        let tree = ConfinedTree::open(&self.clone_dir).map_err(|error| {
            let message = format!("the copy of {} cannot be read: {error}", self.spec.shown());
            Diagnostic::error(Code::Io, message).note(format!("it is {}", self.clone_dir.display()))
        })?;
        Ok(Directory::new(Arc::new(tree), self.clone_dir.as_path()))
    }

    /// The directory that the reference names, in [`Checkout::tree`].
    ///
    /// # Errors
    /// It is not there, is no directory, or a symbolic link leads out of the repository.
    pub fn root_in(&self, tree: &Directory) -> Result<Directory> {
        let (directory, shown) = (&self.spec.directory, self.spec.shown());
        // A leading slash would make the path absolute.
        let path = directory.trim_start_matches('/');
        let found = tree.locate(path).map_err(|error| {
            if leads_out(&error) {
                let message = format!("`{directory}` leads out of the repository {shown}");
                return Diagnostic::error(Code::OutsideRoot, message);
            }
            Diagnostic::error(Code::Io, format!("{shown} has no directory `{directory}`"))
                .note(format!("looked at commit {}", self.commit))
        })?;
        if !found.is_directory() {
            let message = format!("`{directory}` of {shown} is a file; a directory is needed here");
            return Err(Diagnostic::error(Code::Io, message).help("name the directory that the file is in"));
        }
        Ok(tree.at(found.into_path()))
    }
}

/// Fetches remote files and repositories, each once in a run.
#[derive(Debug)]
pub struct Remotes {
    cache: Cache,
    offline: bool,
    files: Memo<Arc<[u8]>, http::HttpFailure>,
    repositories: Memo<(PathBuf, String), Diagnostic>,
    missing: Mutex<Vec<(String, Span)>>,
}

impl Remotes {
    /// Keeps what is fetched in `cache_dir`, which is made when it is needed; in a temporary
    /// directory when it cannot be made. `offline`: takes everything from there.
    #[must_use]
    pub fn new(cache_dir: impl Into<PathBuf>, offline: bool) -> Self {
        Self {
            cache: Cache::new(cache_dir.into()),
            offline,
            files: Memo::default(),
            repositories: Memo::default(),
            missing: Mutex::default(),
        }
    }

    /// Where all of it is kept.
    #[must_use]
    pub fn cache(&self) -> &Path {
        self.cache.directory()
    }

    /// The content of an `http` or `https` URL.
    ///
    /// # Errors
    /// The server cannot be reached or answers with an error; the URL is missing in an offline
    /// cache; this program has no HTTP (feature `remote`).
    pub fn file(&self, url: &str, at: Span) -> Result<Vec<u8>> {
        match self.get(url) {
            Ok(bytes) => Ok(bytes.to_vec()),
            Err(_) if self.offline => Err(self.is_missing(url, at)),
            Err(failure) => Err(no_file(url, &failure).at(at)),
        }
    }

    /// The tree of a repository.
    ///
    /// # Errors
    /// git is not installed, fails, or takes longer than the reference allows; the repository is
    /// missing in an offline cache.
    pub fn repository(&self, spec: &RepoSpec, at: Span) -> Result<Checkout> {
        let found = match self.cache.pinned(spec) {
            Some(tree) => Some((tree, spec.reference.clone())),
            None if self.offline => self.cache.remembered(spec),
            None => {
                let key = format!("{}\n{}\n{}", spec.url(), spec.reference, spec.submodules);
                let fetched = self.repositories.get(&key, || self.cache.fetch(spec));
                Some(fetched.map_err(|error| error.at(at))?)
            }
        };
        let (clone_dir, commit) = found.ok_or_else(|| self.is_missing(spec.raw(), at))?;
        Ok(Checkout { spec: spec.clone(), clone_dir, commit })
    }

    /// What a remote entry of `resources` is: a file if the server has one that `read` can read,
    /// else a repository. This is kustomize's order of attempts.
    ///
    /// # Errors
    /// It is neither. When the server answers with an error and the URL cannot be a repository,
    /// or git fails on what is no YAML, the error is that of the file.
    pub fn resource<T>(
        &self,
        reference: &str,
        at: Span,
        read: impl FnOnce(Vec<u8>) -> Result<T>,
    ) -> Result<Found<T>> {
        let spec = RepoSpec::parse(reference);
        if !is_remote_file(reference) || spec.as_ref().is_ok_and(|s| self.cache.pinned(s).is_some()) {
            return self.repository(&spec.map_err(|e| e.at(at))?, at).map(Found::Repository);
        }
        let failure = match (self.get(reference), &spec) {
            (Ok(bytes), _) => match read(bytes.to_vec()) {
                Ok(file) => return Ok(Found::File(file)),
                Err(error) => error,
            },
            (Err(_), Err(_)) if self.offline => return Err(self.is_missing(reference, at)),
            (Err(failure), _) => no_file(reference, &failure).at(at),
        };
        let Ok(spec) = spec else { return Err(failure) };
        self.repository(&spec, at).map(Found::Repository).map_err(|error| {
            // A file that cannot be read is more likely than a repository that cannot be cloned.
            if failure.code() == Code::Syntax && !error.message().contains("did not end within") {
                return failure;
            }
            if self.offline { error } else { error.note(format!("as a file: {failure}")) }
        })
    }

    /// One error with all references that were asked for offline and are not in the cache.
    #[must_use]
    pub fn missing(&self) -> Option<Diagnostic> {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        let count = match missing.len() {
            0 => return None,
            1 => "1 remote reference is".to_string(),
            n => format!("{n} remote references are"),
        };
        let message = format!("{count} not in the cache, and nothing may be fetched offline");
        let mut error = Diagnostic::error(Code::Remote, message)
            .help("run it once without --offline, with the same cache directory");
        for (reference, at) in missing.iter() {
            error = error.label(*at, "").note(format!("missing: {}", without_password(reference)));
        }
        Some(error)
    }

    /// Adds to the missing references; the error with all of them so far.
    fn is_missing(&self, reference: &str, at: Span) -> Diagnostic {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        if !missing.iter().any(|(known, _)| known == reference) {
            missing.push((reference.to_string(), at));
        }
        drop(missing);
        let unreachable = || Diagnostic::error(Code::Remote, format!("`{reference}` is not in the cache"));
        self.missing().unwrap_or_else(unreachable)
    }

    fn get(&self, url: &str) -> std::result::Result<Arc<[u8]>, http::HttpFailure> {
        self.files.get(url, || {
            if self.offline {
                let bytes = self.cache.file(url).map(Arc::from);
                return bytes.ok_or_else(|| http::HttpFailure::NoAnswer("it is not in the cache".into()));
            }
            let bytes = http::get(url)?;
            self.cache.keep_file(url, &bytes);
            Ok(bytes.into())
        })
    }
}

fn no_file(url: &str, failure: &http::HttpFailure) -> Diagnostic {
    let shown = without_password(url);
    let code = if *failure == http::HttpFailure::Unsupported { Code::Unsupported } else { Code::Remote };
    let error = Diagnostic::error(code, format!("`{shown}` cannot be fetched: {failure}"));
    match failure {
        http::HttpFailure::Status(_) if RepoSpec::parse(url).is_ok() => {
            error.help("this may be the URL of a repository; a file is needed here")
        }
        http::HttpFailure::Unsupported => {
            error.help("build it with the feature `remote`, or use a local copy")
        }
        _ => error,
    }
}

/// Results that are worked out once; whoever asks meanwhile waits.
#[derive(Debug)]
struct Memo<T, E> {
    slots: Mutex<FxHashMap<String, Slot<T, E>>>,
}

type Slot<T, E> = Arc<OnceLock<std::result::Result<T, E>>>;

impl<T, E> Default for Memo<T, E> {
    fn default() -> Self {
        Self { slots: Mutex::default() }
    }
}

impl<T: Clone, E: Clone> Memo<T, E> {
    fn get(&self, key: &str, make: impl FnOnce() -> std::result::Result<T, E>) -> std::result::Result<T, E> {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            slots.entry(key.to_string()).or_default().clone()
        };
        slot.get_or_init(make).clone()
    }
}

/// The directory in which a program keeps what it fetched, below the cache directory of the system.
#[must_use]
pub fn default_cache_dir() -> Option<PathBuf> {
    Store::of_user("remote").map(|store| store.directory().to_path_buf())
}

#[cfg(test)]
pub(super) mod tests;
