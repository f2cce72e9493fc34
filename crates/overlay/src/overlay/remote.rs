//! Remote files and bases: fetched, kept in a cache, asked for once in a run.
//!
//! Knows references and bytes; knows nothing of kustomizations. Nothing here touches the network
//! unless a reference is passed to [`Remotes`].
//!
//! # The cache
//!
//! `repositories/KEY/COMMIT` holds the `tree` of one commit, without its `.git`, and its `seal`: a checksum
//! over all that is in the tree, made when git had checked it out. A tree is compared with its seal when a
//! run uses it for the first time; one that is something else is fetched again. `KEY` is a hash of the
//! repository's URL, so that no secret of a URL is stored. A reference that names a commit by its
//! full hash is fetched once and never again. What a branch or tag means can change: it is fetched
//! in every run, and `repositories/KEY/ref-HASH` remembers its commit for `offline` runs.
//! `files/HASH` is the last content of a URL under a seal, fetched in every run, too. Trees and files appear
//! by renaming what is complete, so any number of programs can share a cache; a tree that one of them uses is
//! not removed. What was not used for a month is, and of the files the oldest when they grow too large.
//!
//! # Locks
//!
//! What a lock file names is what it was when it was locked: a branch stands for one commit, which is taken
//! from the cache without asking anyone, and a file must have the content that it had.

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
use self::missing::{Lack, Missing};
use super::lock::{LockFile, RemoteReference};
use super::repo_spec::{RepoSpec, without_password};
use smp_files::{ConfinedTree, Directory, hex, leads_out};
use smp_text::diagnostic::{Code, Diagnostic, Result, unreadable};
use smp_text::source::Span;

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
            let what = format!("the copy of {}", self.spec.shown());
            unreadable(what, &error).note(format!("it is {}", self.clone_dir.display()))
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

/// Which lock a run goes by.
#[derive(Debug, Clone, Default)]
pub struct Pins {
    /// What it says; none: there is no lock file.
    pub lock: Option<Arc<LockFile>>,
    /// How messages call it.
    pub name: String,
    /// Whether it must have all that is asked for.
    pub enforced: bool,
}

/// Fetches remote files and repositories, each once in a run; clones are of the same run.
#[derive(Debug, Clone)]
pub struct Remotes {
    cache: Arc<Cache>,
    offline: bool,
    /// Whether git cannot be run any more; shared by all that go by different locks.
    in_sandbox: Arc<AtomicBool>,
    pins: Pins,
    files: Arc<Memo<RemoteFile, FileFailure>>,
    repositories: Arc<Memo<(PathBuf, String), RepositoryFailure>>,
    used: Arc<Mutex<BTreeMap<RemoteReference, String>>>,
    warnings: Arc<Mutex<Vec<Diagnostic>>>,
    /// Of one build.
    missing: Arc<Missing>,
}

/// A file, and its SHA-256.
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

/// Why there is no file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FileFailure {
    Lacks(Lack),
    Http(HttpFailure),
    /// It is another one than was locked.
    Differs {
        locked: String,
        found: String,
    },
}

/// Why there is no repository.
#[derive(Debug, Clone)]
enum RepositoryFailure {
    Lacks(Lack),
    Problem(Diagnostic),
}

impl Remotes {
    /// Keeps what is fetched in `cache_dir`, which is made when it is needed; in a temporary
    /// directory when there is none or it cannot be made. `offline`: takes everything from there.
    #[must_use]
    pub fn new(cache_dir: Option<PathBuf>, offline: bool) -> Self {
        Self::with(Arc::new(Cache::new(cache_dir)), offline, Pins::default(), Arc::default())
    }

    /// The same, by a lock; what was asked for so far is forgotten.
    #[must_use]
    pub fn pinned_by(&self, pins: Pins) -> Self {
        Self::with(self.cache.clone(), self.offline, pins, self.in_sandbox.clone())
    }

    fn with(cache: Arc<Cache>, offline: bool, pins: Pins, in_sandbox: Arc<AtomicBool>) -> Self {
        Self {
            cache,
            offline,
            in_sandbox,
            pins,
            files: Arc::default(),
            repositories: Arc::default(),
            used: Arc::default(),
            warnings: Arc::default(),
            missing: Arc::default(),
        }
    }

    /// The same, for a build that has a list of its own of what is missing.
    #[must_use]
    pub fn of_one_build(&self) -> Self {
        Self { missing: Arc::default(), ..self.clone() }
    }

    /// Says that a sandbox was closed, in which git cannot be run.
    pub fn run_no_programs(&self) {
        self.in_sandbox.store(true, Ordering::Relaxed);
    }

    /// Whether nothing may be used of elsewhere that is not locked.
    #[must_use]
    pub fn must_be_locked(&self) -> bool {
        self.pins.enforced
    }

    /// Where all of it is kept, if there is a place.
    #[must_use]
    pub fn cache(&self) -> Option<&Path> {
        self.cache.directory()
    }

    /// The content of an `http` or `https` URL.
    ///
    /// # Errors
    /// The server cannot be reached or answers with an error; the URL is missing in an offline
    /// cache, or in a lock that must have it; the content is not the one that was locked; this program has no
    /// HTTP (feature `remote`).
    pub fn file(&self, url: &str, at: Span) -> Result<Vec<u8>> {
        match self.get(url) {
            Ok(file) => {
                self.note_file(url, &file);
                Ok(file.content.to_vec())
            }
            Err(failure) => Err(self.no_file(url, failure, at)),
        }
    }

    /// The tree of a repository.
    ///
    /// # Errors
    /// git is not installed, fails, or takes longer than the reference allows; the repository is
    /// missing in an offline cache, or in a lock that must have it; the locked commit cannot be had.
    pub fn repository(&self, spec: &RepoSpec, at: Span) -> Result<Checkout> {
        let key = format!("{}\n{}\n{}", spec.url(), spec.reference, spec.submodules);
        match self.repositories.get(&key, || self.resolve(spec)) {
            Ok((clone_dir, commit)) => {
                let reference = RemoteReference::repository(&spec.url(), &spec.reference);
                self.note(reference, &commit, spec.raw());
                Ok(Checkout { spec: spec.clone(), clone_dir, commit })
            }
            Err(RepositoryFailure::Problem(problem)) => Err(problem.at(at)),
            Err(RepositoryFailure::Lacks(lack)) => Err(self.lacks(spec.raw(), at, lack)),
        }
    }

    /// The tree and commit of a reference: the locked one, or else what it means.
    fn resolve(&self, spec: &RepoSpec) -> std::result::Result<(PathBuf, String), RepositoryFailure> {
        let reference = RemoteReference::repository(&spec.url(), &spec.reference);
        let locked = self.pin(&reference).map_err(RepositoryFailure::Lacks)?;
        let known = match &locked {
            Some(commit) => Some(commit.clone()),
            None if spec.is_pinned() => Some(spec.reference.clone()),
            None if self.offline => self.cache.remembered(spec),
            None => None,
        };
        let cached = known.as_ref().map_or(CachedTree::Absent, |commit| self.cache.tree(spec, commit));
        match (cached, known) {
            (CachedTree::Whole(tree), Some(commit)) => Ok((tree, commit)),
            (CachedTree::Damaged, _) if self.offline => Err(RepositoryFailure::Lacks(Lack::Damaged)),
            _ if self.offline => Err(RepositoryFailure::Lacks(Lack::Cache)),
            _ if self.in_sandbox.load(Ordering::Relaxed) => {
                Err(RepositoryFailure::Problem(found_too_late(spec)))
            }
            _ => self.cache.fetch(spec, locked.as_deref()).map_err(RepositoryFailure::Problem),
        }
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
        if !is_remote_file(reference) || spec.as_ref().is_ok_and(|spec| self.is_known_repository(spec)) {
            return self.repository(&spec.map_err(|e| e.at(at))?, at).map(Found::Repository);
        }
        let failure = match (self.get(reference), &spec) {
            (Ok(file), _) => match read(file.content.to_vec()) {
                Ok(read) => {
                    self.note_file(reference, &file);
                    return Ok(Found::File(read));
                }
                Err(error) => error,
            },
            (Err(failure), Err(_)) => return Err(self.no_file(reference, failure, at)),
            (Err(failure), _) if failure.is_final() => return Err(self.no_file(reference, failure, at)),
            (Err(failure), _) => failure.diagnostic(reference, &self.pins.name).at(at),
        };
        let Ok(spec) = spec else { return Err(failure) };
        self.repository(&spec, at).map(Found::Repository).map_err(|error| {
            // A file that cannot be read is more likely than a repository that cannot be cloned.
            if failure.code() == Code::Syntax && !git::is_too_late(&error) {
                return failure;
            }
            if self.offline { error } else { error.note(format!("as a file: {failure}")) }
        })
    }

    /// Whether a reference was a repository before, so that nobody need be asked for a file.
    fn is_known_repository(&self, spec: &RepoSpec) -> bool {
        let reference = RemoteReference::repository(&spec.url(), &spec.reference);
        self.locked(&reference).is_some() || (spec.is_pinned() && self.cache.has_tree(spec, &spec.reference))
    }

    /// One error with all references that this build asked for and may not fetch.
    #[must_use]
    pub fn missing(&self) -> Option<Diagnostic> {
        self.missing.error(&self.pins.name)
    }

    /// A problem of this build; where it is that something may not be fetched, one list of all that is missing
    /// says more than the first of it.
    #[must_use]
    pub fn explained(&self, problem: Diagnostic) -> Diagnostic {
        let Some(all) = self.missing() else { return problem };
        let (missing, others): (Vec<_>, Vec<_>) =
            problem.into_each().partition(|problem| problem.code() == Code::NotFetched);
        let all = (!missing.is_empty()).then_some(all);
        let mut each = all.into_iter().chain(others);
        let first = each.next().unwrap_or_else(|| Diagnostic::error(Code::NotFetched, "nothing is missing"));
        each.fold(first, Diagnostic::and)
    }

    /// What was used of elsewhere, and the commit or the SHA-256 that it was.
    #[must_use]
    pub fn used(&self) -> BTreeMap<RemoteReference, String> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What is odd about what the run asked for, each once, whoever asked first.
    #[must_use]
    pub fn take_warnings(&self) -> Vec<Diagnostic> {
        let mut warnings = std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner));
        warnings.sort_by(|a, b| a.message().cmp(b.message()));
        warnings
    }

    /// Notes what a reference was, and that it may become something else if it can.
    fn note(&self, reference: RemoteReference, version: &str, raw: &str) {
        let is_loose = self.pins.lock.is_some() && !reference.is_fixed() && self.locked(&reference).is_none();
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = used.insert(reference, version.to_string()).is_none();
        if is_loose && is_new {
            let message = format!("`{}` is not in {}", without_password(raw), self.pins.name);
            let warning = Diagnostic::warning(Code::Locked, message)
                .note("it is what it means now, which may be something else tomorrow")
                .help("run `kubectl smp lock`");
            self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(warning);
        }
    }

    fn note_file(&self, url: &str, file: &RemoteFile) {
        self.note(RemoteReference::file(url), &file.sha256, url);
    }

    fn locked(&self, reference: &RemoteReference) -> Option<String> {
        self.pins.lock.as_ref().and_then(|lock| lock.remotes.get(reference)).cloned()
    }

    /// What is locked of a reference, which may be nothing unless it must be something.
    fn pin(&self, reference: &RemoteReference) -> std::result::Result<Option<String>, Lack> {
        let locked = self.locked(reference);
        if locked.is_none() && self.pins.enforced { Err(Lack::Lock) } else { Ok(locked) }
    }

    /// Adds to the references that cannot be had; the error for this one.
    fn lacks(&self, reference: &str, at: Span, lack: Lack) -> Diagnostic {
        self.missing.add(reference, at, lack, &self.pins.name)
    }

    fn no_file(&self, url: &str, failure: FileFailure, at: Span) -> Diagnostic {
        match failure {
            FileFailure::Lacks(lack) => self.lacks(url, at, lack),
            failure => failure.diagnostic(url, &self.pins.name).at(at),
        }
    }

    fn get(&self, url: &str) -> std::result::Result<RemoteFile, FileFailure> {
        self.files.get(url, || {
            let locked = self.pin(&RemoteReference::file(url)).map_err(FileFailure::Lacks)?;
            let is_right = |file: &RemoteFile| locked.as_ref().is_none_or(|locked| **locked == *file.sha256);
            if self.offline || locked.is_some() {
                let cached = self.cache.file(url).map(RemoteFile::new);
                if let Some(file) = cached.filter(is_right) {
                    return Ok(file);
                }
            }
            if self.offline {
                return Err(FileFailure::Lacks(Lack::Cache));
            }
            let file = RemoteFile::new(http::get(url, http::MAX_SIZE).map_err(FileFailure::Http)?);
            if let Some(locked) = locked.filter(|locked| **locked != *file.sha256) {
                return Err(FileFailure::Differs { locked, found: file.sha256.to_string() });
            }
            self.cache.keep_file(url, &file.content);
            Ok(file)
        })
    }
}

impl FileFailure {
    /// Whether it would be wrong to try the URL as a repository.
    fn is_final(&self) -> bool {
        match self {
            Self::Lacks(lack) => *lack == Lack::Lock,
            Self::Http(failure) => matches!(failure, HttpFailure::TooLarge(_)),
            Self::Differs { .. } => true,
        }
    }

    fn diagnostic(&self, url: &str, lock: &str) -> Diagnostic {
        let shown = without_password(url);
        let failure = match self {
            Self::Http(failure) => failure,
            Self::Lacks(_) => {
                return Diagnostic::error(Code::Remote, format!("`{shown}` is not in the cache"));
            }
            Self::Differs { locked, found } => {
                return Diagnostic::error(Code::Locked, format!("`{shown}` is not what {lock} says"))
                    .note(format!("its SHA-256 is {found}"))
                    .note(format!("locked is {locked}"))
                    .help("see what has changed there, then run `kubectl smp lock`");
            }
        };
        let code = if *failure == HttpFailure::Unsupported { Code::Unsupported } else { Code::Remote };
        let error = Diagnostic::error(code, format!("`{shown}` cannot be fetched: {failure}"));
        match failure {
            HttpFailure::Status(_) if RepoSpec::parse(url).is_ok() => {
                error.help("this may be the URL of a repository; a file is needed here")
            }
            HttpFailure::Unsupported => error.help("build it with the feature `remote`, or use a local copy"),
            _ => error,
        }
    }
}

/// The error for a repository that only the build itself leads to.
fn found_too_late(spec: &RepoSpec) -> Diagnostic {
    let message = format!("{} cannot be fetched in the sandbox, where no program is run", spec.shown());
    Diagnostic::error(Code::Remote, message)
        .note("only what the files name as they stand is fetched before; this comes of building them")
        .help("build with --sandbox=off if you trust what is built")
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

#[cfg(test)]
pub(super) mod tests;
