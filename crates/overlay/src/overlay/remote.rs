//! Remote files and bases: fetches them, keeps them in a cache, and resolves each once per run.
//!
//! Works on references and bytes, not on kustomizations. Uses the network only for references given to [`Remotes`].
//!
//! # The cache
//!
//! `repositories/KEY/COMMIT` contains the `tree` of one commit without its `.git`, and its `seal`: a checksum of the
//! whole tree after the checkout. A tree is compared with its seal when a run first uses it, and fetched again if it
//! differs. `KEY` is a hash of the URL, so that no secrets are stored. A full commit hash is fetched only once.
//! Branches and tags can move, so they are fetched in every run; `repositories/KEY/ref-HASH` stores their commit for
//! `offline` runs. `files/HASH` contains the content that was last fetched from a URL, with its checksum. URLs are also
//! fetched in every run. Trees and files are renamed into place when complete, so that any number of programs can share
//! a cache. Everything unused for a month is removed, except trees in use, and so are the oldest files beyond a limit.
//!
//! # Lock files
//!
//! References in a lock file are pinned. A branch resolves to the locked commit, taken from the cache without
//! network access. A file must have the locked content.

mod cache;
mod git;
mod http;
mod inventory;
mod missing;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustc_hash::FxHashMap;
use sha2::{Digest as _, Sha256};

pub use self::inventory::RemoteCache;

use self::cache::{Cache, CachedTree};
use self::http::HttpFailure;
use self::missing::{MissingReason, MissingReferences};
use super::lock::{LockFile, RemoteReference};
use super::repo_spec::{RepoSpec, without_password};
use smp_files::{ConfinedTree, Directory, hex, is_outside_error};
use smp_text::diagnostic::{Code, Diagnostic, Result, read_error};
use smp_text::source::Span;

/// Returns true if a path is an `http` or `https` URL.
///
/// The URL may be that of a file or a repository; [`Remotes::resource`] distinguishes them.
#[must_use]
pub fn is_remote_file(path: &str) -> bool {
    path.split_once(':')
        .is_some_and(|(scheme, _)| ["http", "https"].iter().any(|s| s.eq_ignore_ascii_case(scheme)))
}

/// The kind of a remote entry of `resources`.
#[derive(Debug)]
pub enum RemoteResource<T> {
    /// A file, as read by the caller.
    File(T),
    /// A directory of a repository.
    Repository(Checkout),
}

/// A checkout of a repository on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The reference that was resolved.
    pub spec: RepoSpec,
    /// The real path of the tree. It is shared and must not be modified.
    pub clone_dir: PathBuf,
    /// The full hash of the commit.
    pub commit: String,
}

impl Checkout {
    /// Opens the tree of files. No path can refer to a file outside of it.
    ///
    /// # Errors
    /// The tree was removed.
    pub fn tree(&self) -> Result<Directory> {
        let tree = ConfinedTree::open(&self.clone_dir).map_err(|error| {
            let what = format!("the cached copy of {}", self.spec.shown());
            read_error(what, &error).note(format!("path: {}", self.clone_dir.display()))
        })?;
        Ok(Directory::new(Arc::new(tree), self.clone_dir.as_path()))
    }

    /// Returns the directory of the reference in [`Checkout::tree`].
    ///
    /// # Errors
    /// The path does not exist, is not a directory, or a symlink points outside the repository.
    pub fn directory_in(&self, tree: &Directory) -> Result<Directory> {
        let (directory, shown) = (&self.spec.directory, self.spec.shown());
        // A leading slash would make the path absolute.
        let path = directory.trim_start_matches('/');
        let found = tree.locate(path).map_err(|error| {
            if is_outside_error(&error) {
                let message = format!("`{directory}` is outside of the repository {shown}");
                return Diagnostic::error(Code::OutsideRoot, message);
            }
            Diagnostic::error(Code::Io, format!("no directory `{directory}` in {shown}"))
                .note(format!("at commit {}", self.commit))
        })?;
        if !found.is_directory() {
            let message = format!("`{directory}` in {shown} is a file, expected a directory");
            return Err(Diagnostic::error(Code::Io, message).help("use the directory that contains the file"));
        }
        Ok(tree.at(found.into_path()))
    }
}

/// The lock file of a run.
#[derive(Debug, Clone, Default)]
pub struct Pins {
    /// The content; `None` if there is no lock file.
    pub lock: Option<Arc<LockFile>>,
    /// The name in messages.
    pub name: String,
    /// Requires every fetched reference to be locked.
    pub enforced: bool,
}

/// Fetches remote files and repositories, each once per run. Clones share the state of the run.
#[derive(Debug, Clone)]
pub struct Remotes {
    cache_directory: Arc<Cache>,
    offline: bool,
    /// True once git can no longer be run. Shared by all copies with different lock files.
    in_sandbox: Arc<AtomicBool>,
    pins: Pins,
    files: Arc<Memo<RemoteFile, FileFailure>>,
    repositories: Arc<Memo<(PathBuf, String), RepositoryFailure>>,
    used_references: Arc<Mutex<BTreeMap<RemoteReference, String>>>,
    warnings: Arc<Mutex<Vec<Diagnostic>>>,
    /// The missing references of one build.
    missing_references_error: Arc<MissingReferences>,
}

/// A file with its SHA-256.
#[derive(Debug, Clone)]
struct RemoteFile {
    content: Arc<Vec<u8>>,
    sha256: Arc<str>,
}

impl RemoteFile {
    fn new(content: Vec<u8>) -> Self {
        Self { sha256: hex(&Sha256::digest(&content)).into(), content: content.into() }
    }
}

/// The reason why a file is not available.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FileFailure {
    Missing(MissingReason),
    Http(HttpFailure),
    /// The content differs from the locked one.
    Differs {
        locked: String,
        found: String,
    },
}

/// The reason why a repository is not available.
#[derive(Debug, Clone)]
enum RepositoryFailure {
    Missing(MissingReason),
    Problem(Diagnostic),
}

impl Remotes {
    /// Creates a fetcher that stores everything in `cache_dir`, which is created when needed. A temporary
    /// directory is used if there is none or it cannot be created. With `offline`, only the cache is used.
    #[must_use]
    pub fn new(cache_dir: Option<PathBuf>, offline: bool) -> Self {
        Self::with_pins_and_cache(Arc::new(Cache::new(cache_dir)), offline, Pins::default(), Arc::default())
    }

    /// Returns a fetcher with the same cache and other pins, and without the references resolved so far.
    #[must_use]
    pub fn with_pins(&self, pins: Pins) -> Self {
        Self::with_pins_and_cache(self.cache_directory.clone(), self.offline, pins, self.in_sandbox.clone())
    }

    fn with_pins_and_cache(
        cache: Arc<Cache>,
        offline: bool,
        pins: Pins,
        in_sandbox: Arc<AtomicBool>,
    ) -> Self {
        Self {
            cache_directory: cache,
            offline,
            in_sandbox,
            pins,
            files: Arc::default(),
            repositories: Arc::default(),
            used_references: Arc::default(),
            warnings: Arc::default(),
            missing_references_error: Arc::default(),
        }
    }

    /// Returns a fetcher for one build, with its own list of missing references.
    #[must_use]
    pub fn for_build(&self) -> Self {
        Self { missing_references_error: Arc::default(), ..self.clone() }
    }

    /// Disables git, because a sandbox is now active in which it cannot run.
    pub fn disable_programs(&self) {
        self.in_sandbox.store(true, Ordering::Relaxed);
    }

    /// Returns true if every remote reference must be locked.
    #[must_use]
    pub fn requires_lock(&self) -> bool {
        self.pins.enforced
    }

    /// Returns the directory of the cache, if there is one.
    #[must_use]
    pub fn cache_directory(&self) -> Option<&Path> {
        self.cache_directory.directory()
    }

    /// Returns the content of an `http` or `https` URL.
    ///
    /// # Errors
    /// The server cannot be reached or answers with an error. The URL is missing in the cache of an offline run,
    /// or in a lock file that must contain it. The content differs from the locked one. The program was built
    /// without HTTP (feature `remote`).
    pub fn file(&self, url: &str, at: Span) -> Result<Vec<u8>> {
        match self.get(url) {
            Ok(file) => {
                self.record_file(url, &file);
                Ok(file.content.to_vec())
            }
            Err(failure) => Err(self.file_error(url, failure, at)),
        }
    }

    /// Returns the checkout of a repository.
    ///
    /// # Errors
    /// git is not installed, fails, or exceeds the timeout of the reference. The repository is missing in the
    /// cache of an offline run, or in a lock file that must contain it. The locked commit cannot be fetched.
    pub fn repository(&self, spec: &RepoSpec, at: Span) -> Result<Checkout> {
        let key = format!("{}\n{}\n{}", spec.url(), spec.revision, spec.submodules);
        match self.repositories.get(&key, || self.resolve(spec)) {
            Ok((clone_dir, commit)) => {
                let reference = RemoteReference::repository(&spec.url(), &spec.revision);
                self.record(reference, &commit, spec.raw());
                Ok(Checkout { spec: spec.clone(), clone_dir, commit })
            }
            Err(RepositoryFailure::Problem(problem)) => Err(problem.at(at)),
            Err(RepositoryFailure::Missing(lack)) => Err(self.missing_error(spec.raw(), at, lack)),
        }
    }

    /// Returns the tree and the commit of a reference. A locked reference resolves to its locked commit.
    fn resolve(&self, spec: &RepoSpec) -> std::result::Result<(PathBuf, String), RepositoryFailure> {
        let reference = RemoteReference::repository(&spec.url(), &spec.revision);
        let locked = self.pin(&reference).map_err(RepositoryFailure::Missing)?;
        let known = match &locked {
            Some(commit) => Some(commit.clone()),
            None if spec.is_pinned() => Some(spec.revision.clone()),
            None if self.offline => self.cache_directory.last_commit(spec),
            None => None,
        };
        let cached =
            known.as_ref().map_or(CachedTree::Absent, |commit| self.cache_directory.tree(spec, commit));
        match (cached, known) {
            (CachedTree::Complete(tree), Some(commit)) => Ok((tree, commit)),
            (CachedTree::Damaged, _) if self.offline => {
                Err(RepositoryFailure::Missing(MissingReason::Damaged))
            }
            _ if self.offline => Err(RepositoryFailure::Missing(MissingReason::NotCached)),
            _ if self.in_sandbox.load(Ordering::Relaxed) => {
                Err(RepositoryFailure::Problem(not_fetched_before_sandbox(spec)))
            }
            _ => self.cache_directory.fetch(spec, locked.as_deref()).map_err(RepositoryFailure::Problem),
        }
    }

    /// Resolves a remote entry of `resources`. As in kustomize it is a file if the server has one that `read`
    /// accepts, otherwise a repository.
    ///
    /// # Errors
    /// The entry is neither. If the URL cannot be a repository, or if git fails and the content is not YAML, the error
    /// is that of the file.
    pub fn resource<T>(
        &self,
        reference: &str,
        at: Span,
        read: impl FnOnce(Vec<u8>) -> Result<T>,
    ) -> Result<RemoteResource<T>> {
        let spec = RepoSpec::parse(reference);
        if !is_remote_file(reference) || spec.as_ref().is_ok_and(|spec| self.is_known_repository(spec)) {
            return self.repository(&spec.map_err(|e| e.at(at))?, at).map(RemoteResource::Repository);
        }
        let failure = match (self.get(reference), &spec) {
            (Ok(file), _) => match read(file.content.to_vec()) {
                Ok(read) => {
                    self.record_file(reference, &file);
                    return Ok(RemoteResource::File(read));
                }
                Err(error) => error,
            },
            (Err(failure), Err(_)) => return Err(self.file_error(reference, failure, at)),
            (Err(failure), _) if failure.is_final() => return Err(self.file_error(reference, failure, at)),
            (Err(failure), _) => failure.diagnostic(reference, &self.pins.name).at(at),
        };
        let Ok(spec) = spec else { return Err(failure) };
        self.repository(&spec, at).map(RemoteResource::Repository).map_err(|error| {
            // A malformed file is more likely than a repository that cannot be cloned.
            if failure.code() == Code::Syntax && error.code() != Code::CommandTimeout {
                return failure;
            }
            if self.offline {
                error
            } else {
                error.note(format!("fetching it as a file failed, too: {failure}"))
            }
        })
    }

    /// Returns true if a reference is known to be a repository, so that no request for a file is necessary.
    fn is_known_repository(&self, spec: &RepoSpec) -> bool {
        let reference = RemoteReference::repository(&spec.url(), &spec.revision);
        self.locked(&reference).is_some()
            || (spec.is_pinned() && self.cache_directory.has_tree(spec, &spec.revision))
    }

    /// Returns one error with all missing references of this build.
    #[must_use]
    pub fn missing_references_error(&self) -> Option<Diagnostic> {
        self.missing_references_error.error(&self.pins.name)
    }

    /// Replaces errors about single missing references by one error with the list of all.
    #[must_use]
    pub fn with_missing_references(&self, problem: Diagnostic) -> Diagnostic {
        let Some(all) = self.missing_references_error() else { return problem };
        let (missing, others): (Vec<_>, Vec<_>) =
            problem.into_each().partition(|problem| problem.code() == Code::NotFetched);
        let all = (!missing.is_empty()).then_some(all);
        let mut each = all.into_iter().chain(others);
        let first =
            each.next().unwrap_or_else(|| Diagnostic::error(Code::NotFetched, "no references are missing"));
        each.fold(first, Diagnostic::with_attached)
    }

    /// Returns the remote references used so far, each with its commit or SHA-256.
    #[must_use]
    pub fn used_references(&self) -> BTreeMap<RemoteReference, String> {
        self.used_references.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the warnings of the run, each once, and clears them.
    #[must_use]
    pub fn take_warnings(&self) -> Vec<Diagnostic> {
        let mut warnings = std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner));
        warnings.sort_by(|a, b| a.message().cmp(b.message()));
        warnings
    }

    /// Records the version of a reference. If there is a lock file, warns if the reference is neither a commit hash nor
    /// locked.
    fn record(&self, reference: RemoteReference, version: &str, raw: &str) {
        let is_unlocked =
            self.pins.lock.is_some() && !reference.is_commit_hash() && self.locked(&reference).is_none();
        let mut used = self.used_references.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = used.insert(reference, version.to_string()).is_none();
        if is_unlocked && is_new {
            let message = format!("`{}` is not in {}", without_password(raw), self.pins.name);
            let warning = Diagnostic::warning(Code::Locked, message)
                .note("it resolves to its current version, which can change")
                .help("run `kubectl smp lock` to pin it");
            self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(warning);
        }
    }

    fn record_file(&self, url: &str, file: &RemoteFile) {
        self.record(RemoteReference::file(url), &file.sha256, url);
    }

    fn locked(&self, reference: &RemoteReference) -> Option<String> {
        self.pins.lock.as_ref().and_then(|lock| lock.remotes.get(reference)).cloned()
    }

    /// Returns the locked version of a reference. If everything must be locked, a missing version is an error.
    fn pin(&self, reference: &RemoteReference) -> std::result::Result<Option<String>, MissingReason> {
        let locked = self.locked(reference);
        if locked.is_none() && self.pins.enforced { Err(MissingReason::NotLocked) } else { Ok(locked) }
    }

    /// Adds the reference to the list of missing references, and returns the error for it.
    fn missing_error(&self, reference: &str, at: Span, lack: MissingReason) -> Diagnostic {
        self.missing_references_error.add(reference, at, lack, &self.pins.name)
    }

    fn file_error(&self, url: &str, failure: FileFailure, at: Span) -> Diagnostic {
        match failure {
            FileFailure::Missing(lack) => self.missing_error(url, at, lack),
            failure => failure.diagnostic(url, &self.pins.name).at(at),
        }
    }

    fn get(&self, url: &str) -> std::result::Result<RemoteFile, FileFailure> {
        self.files.get(url, || {
            let locked = self.pin(&RemoteReference::file(url)).map_err(FileFailure::Missing)?;
            let matches_lock =
                |file: &RemoteFile| locked.as_ref().is_none_or(|locked| **locked == *file.sha256);
            if self.offline || locked.is_some() {
                let cached = self.cache_directory.file(url).map(RemoteFile::new);
                if let Some(file) = cached.filter(matches_lock) {
                    return Ok(file);
                }
            }
            if self.offline {
                return Err(FileFailure::Missing(MissingReason::NotCached));
            }
            let file = RemoteFile::new(http::get(url, http::MAX_SIZE).map_err(FileFailure::Http)?);
            if let Some(locked) = locked.filter(|locked| **locked != *file.sha256) {
                return Err(FileFailure::Differs { locked, found: file.sha256.to_string() });
            }
            self.cache_directory.keep_file(url, &file.content);
            Ok(file)
        })
    }
}

impl FileFailure {
    /// Returns true if the URL must not be tried as a repository.
    fn is_final(&self) -> bool {
        match self {
            Self::Missing(lack) => *lack == MissingReason::NotLocked,
            Self::Http(failure) => matches!(failure, HttpFailure::TooLarge(_)),
            Self::Differs { .. } => true,
        }
    }

    fn diagnostic(&self, url: &str, lock: &str) -> Diagnostic {
        let shown = without_password(url);
        let failure = match self {
            Self::Http(failure) => failure,
            Self::Missing(_) => {
                return Diagnostic::error(Code::Remote, format!("`{shown}` is not in the cache"));
            }
            Self::Differs { locked, found } => {
                return Diagnostic::error(Code::Locked, format!("`{shown}` does not match {lock}"))
                    .note(format!("SHA-256: {found}"))
                    .note(format!("locked SHA-256: {locked}"))
                    .help("review the changed content, then run `kubectl smp lock`");
            }
        };
        let code = if *failure == HttpFailure::Unsupported { Code::Unsupported } else { Code::Remote };
        let error = Diagnostic::error(code, format!("cannot fetch `{shown}`: {failure}"));
        match failure {
            HttpFailure::Status(_) if RepoSpec::parse(url).is_ok() => {
                error.help("this may be the URL of a repository; use the URL of a file")
            }
            HttpFailure::Unsupported => {
                error.help("build the program with the feature `remote`, or use a local copy")
            }
            HttpFailure::NoAnswer(_) => {
                error.help("check the URL and the network, or use `--offline` if a copy is in the cache")
            }
            _ => error,
        }
    }
}

/// Returns the error for a repository that is only found during the build.
fn not_fetched_before_sandbox(spec: &RepoSpec) -> Diagnostic {
    let message = format!("cannot fetch {} in the sandbox, where git cannot run", spec.shown());
    Diagnostic::error(Code::Remote, message)
        .note("only references in the files themselves are fetched before the build; this one is a result of the build")
        .help("use --sandbox=off if you trust the target")
}

/// Results that are computed once. Concurrent callers wait for the first one.
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

#[cfg(test)]
pub(super) mod tests;
