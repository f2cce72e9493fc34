//! The directory in which fetched trees and files are kept.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::super::repo_spec::RepoSpec;
use super::git;
use crate::diagnostic::{Code, Diagnostic, Result};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Trees that nobody used for so long are removed when the same repository is fetched.
const UNUSED: Duration = Duration::from_secs(30 * DAY.as_secs());

/// What a fetch works in; left behind only by programs that were killed.
const STAGING: &str = "new-";

/// Trees by repository and commit, files by URL.
#[derive(Debug)]
pub(super) struct Cache {
    wanted: PathBuf,
    /// Used when the wanted directory cannot be written, as in containers.
    temporary: OnceLock<Option<TempDir>>,
}

impl Cache {
    pub(super) fn new(wanted: PathBuf) -> Self {
        Self { wanted, temporary: OnceLock::new() }
    }

    /// Where everything is, as long as nothing has to be written.
    fn home(&self) -> &Path {
        match self.temporary.get() {
            Some(Some(temporary)) => temporary.path(),
            _ => &self.wanted,
        }
    }

    /// A new directory in a cache that can be written.
    fn staging(&self) -> Result<TempDir> {
        let staging_in = |home: &Path| tempfile::Builder::new().prefix(STAGING).tempdir_in(home);
        let first = || fs::create_dir_all(&self.wanted).and_then(|()| staging_in(&self.wanted));
        self.temporary.get_or_init(|| if first().is_ok() { None } else { tempfile::tempdir().ok() });
        staging_in(self.home()).map_err(|error| {
            let message = format!("the cache directory {} cannot be written: {error}", self.wanted.display());
            Diagnostic::error(Code::Io, message)
        })
    }

    fn repository(&self, spec: &RepoSpec) -> PathBuf {
        let submodules = if spec.submodules { "" } else { "\nno submodules" };
        self.home().join("repositories").join(hash(&format!("{}{submodules}", spec.url())))
    }

    /// The tree of a reference that names its commit.
    pub(super) fn pinned(&self, spec: &RepoSpec) -> Option<PathBuf> {
        if !spec.is_pinned() {
            return None;
        }
        used(&self.repository(spec).join(&spec.reference))
    }

    /// The tree and commit that a reference meant when it was last fetched.
    pub(super) fn remembered(&self, spec: &RepoSpec) -> Option<(PathBuf, String)> {
        let repository = self.repository(spec);
        let commit = fs::read_to_string(repository.join(ref_name(spec))).ok()?;
        let commit = commit.trim().to_string();
        is_hash(&commit).then(|| used(&repository.join(&commit)))?.map(|tree| (tree, commit))
    }

    /// Fetches what a reference names and keeps it.
    pub(super) fn fetch(&self, spec: &RepoSpec) -> Result<(PathBuf, String)> {
        let staging = self.staging()?;
        let tree = staging.path().join("tree");
        let failed = |error: io::Error| {
            let message = format!("{} cannot be kept in the cache: {error}", spec.shown());
            Diagnostic::error(Code::Io, message).note(format!("the cache is {}", self.home().display()))
        };
        fs::create_dir(&tree).map_err(failed)?;
        let commit = git::check_out(spec, &tree)?;
        if !is_hash(&commit) {
            let message = format!("git names the commit of {} `{commit}`", spec.shown());
            return Err(Diagnostic::error(Code::Command, message));
        }
        // It holds the URL, with a password if there is one.
        fs::remove_dir_all(tree.join(".git")).map_err(failed)?;
        let repository = self.repository(spec);
        fs::create_dir_all(&repository).map_err(failed)?;
        let kept = repository.join(&commit);
        // Another program may have been faster, or the commit is known from another reference.
        if let Err(error) = fs::rename(&tree, &kept)
            && !kept.is_dir()
        {
            return Err(failed(error));
        }
        if commit != spec.reference {
            write(&repository, &ref_name(spec), commit.as_bytes()).map_err(failed)?;
        }
        let kept = used(&kept).ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        tidy(self.home(), &repository, staging.path());
        Ok((kept, commit))
    }

    /// The last content of a URL.
    pub(super) fn file(&self, url: &str) -> Option<Vec<u8>> {
        fs::read(self.home().join("files").join(hash(url))).ok()
    }

    /// Remembers the content of a URL for offline runs; without a place for it, it is not kept.
    pub(super) fn keep_file(&self, url: &str, content: &[u8]) {
        if self.staging().is_ok() {
            let files = self.home().join("files");
            // What cannot be kept was read all the same.
            let _ = fs::create_dir_all(&files).and_then(|()| write(&files, &hash(url), content));
        }
    }
}

/// Writes a file so that others see it whole or not at all.
fn write(directory: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(STAGING).tempfile_in(directory)?;
    file.write_all(content)?;
    file.persist(directory.join(name)).map(drop).map_err(|error| error.error)
}

/// The real path of a tree, which counts as used from now on.
fn used(tree: &Path) -> Option<PathBuf> {
    let real = tree.canonicalize().ok().filter(|path| path.is_dir())?;
    // Of no consequence in a cache that can only be read.
    let _ = File::open(&real).and_then(|directory| directory.set_modified(SystemTime::now()));
    Some(real)
}

/// Removes old trees of a repository and what killed programs left behind.
fn tidy(home: &Path, repository: &Path, staging: &Path) {
    let old = |directory: &Path, age: Duration, is_ours: fn(&str) -> bool| -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let mine = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_ours));
        mine.filter(|entry| is_older(&entry.path(), age)).map(|entry| entry.path()).collect()
    };
    let trees = old(repository, UNUSED, is_hash);
    let remains = old(home, DAY, |name| name.starts_with(STAGING));
    for (i, path) in trees.iter().chain(&remains).enumerate() {
        // Out of the way at once, then removed with the directory that it is in now.
        let _ = fs::rename(path, staging.join(format!("old-{i}")));
    }
}

fn is_older(path: &Path, age: Duration) -> bool {
    let modified = fs::symlink_metadata(path).and_then(|meta| meta.modified());
    modified.is_ok_and(|time| time.elapsed().is_ok_and(|elapsed| elapsed > age))
}

fn ref_name(spec: &RepoSpec) -> String {
    format!("ref-{}", hash(&spec.reference))
}

fn is_hash(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A name for a text, as long as is needed to tell all texts of the world apart.
fn hash(text: &str) -> String {
    use std::fmt::Write as _;

    Sha256::digest(text).iter().take(16).fold(String::new(), |mut name, byte| {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
        name
    })
}
