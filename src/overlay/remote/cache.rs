//! The directory in which fetched trees and files are kept.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::super::repo_spec::RepoSpec;
use super::git;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::files::{Store, TemporaryDirectory};

/// Trees that nobody used for so long, 30 days, are removed when the same repository is fetched.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Trees by repository and commit, files by URL.
#[derive(Debug)]
pub(super) struct Cache {
    wanted: Store,
    /// Used when the wanted directory cannot be written, as in containers.
    temporary: OnceLock<Option<(Store, TemporaryDirectory)>>,
}

impl Cache {
    pub(super) fn new(wanted: PathBuf) -> Self {
        Self { wanted: Store::new(wanted), temporary: OnceLock::new() }
    }

    /// Where everything is, as long as nothing has to be written.
    fn store(&self) -> &Store {
        match self.temporary.get() {
            Some(Some((store, _))) => store,
            _ => &self.wanted,
        }
    }

    pub(super) fn directory(&self) -> &Path {
        self.store().directory()
    }

    /// A new directory in a cache that can be written.
    fn staging(&self) -> Result<TemporaryDirectory> {
        let instead = || {
            let temporary = TemporaryDirectory::new(".tmp").ok()?;
            Some((Store::new(temporary.path()), temporary))
        };
        self.temporary.get_or_init(|| if self.wanted.staging().is_ok() { None } else { instead() });
        self.store().staging().map_err(|error| {
            let wanted = self.wanted.directory().display();
            Diagnostic::error(Code::Io, format!("the cache directory {wanted} cannot be written: {error}"))
        })
    }

    /// The tree of a reference that names its commit.
    pub(super) fn pinned(&self, spec: &RepoSpec) -> Option<PathBuf> {
        if !spec.is_pinned() {
            return None;
        }
        self.store().use_directory(&folder(spec).join(&spec.reference))
    }

    /// The tree and commit that a reference meant when it was last fetched.
    pub(super) fn remembered(&self, spec: &RepoSpec) -> Option<(PathBuf, String)> {
        let folder = folder(spec);
        let commit = String::from_utf8(self.store().read(&folder.join(ref_name(spec))).ok()?).ok()?;
        let commit = commit.trim().to_string();
        let tree = || self.store().use_directory(&folder.join(&commit));
        is_hash(&commit).then(tree)?.map(|tree| (tree, commit))
    }

    /// Fetches what a reference names and keeps it.
    pub(super) fn fetch(&self, spec: &RepoSpec) -> Result<(PathBuf, String)> {
        const TREE: &str = "tree";

        let staging = self.staging()?;
        let store = self.store();
        let failed = |error: io::Error| {
            let message = format!("{} cannot be kept in the cache: {error}", spec.shown());
            let note = format!("the cache is {}", store.directory().display());
            Diagnostic::error(Code::Io, message).note(note)
        };
        staging.create_directory(TREE).map_err(failed)?;
        let tree = staging.path().join(TREE);
        let commit = git::check_out(spec, &tree)?;
        if !is_hash(&commit) {
            let message = format!("git names the commit of {} `{commit}`", spec.shown());
            return Err(Diagnostic::error(Code::Command, message));
        }
        // It holds the URL, with a password if there is one.
        staging.remove_directory(&Path::new(TREE).join(".git")).map_err(failed)?;
        // The commit may be known from another reference.
        let folder = folder(spec);
        let kept = folder.join(&commit);
        store.keep_directory(&tree, &kept).map_err(failed)?;
        if commit != spec.reference {
            store.keep(&folder.join(ref_name(spec)), &[commit.as_bytes()]).map_err(failed)?;
        }
        let kept = store.use_directory(&kept).ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        store.tidy(&folder, UNUSED, is_hash, &staging);
        Ok((kept, commit))
    }

    /// The last content of a URL.
    pub(super) fn file(&self, url: &str) -> Option<Vec<u8>> {
        self.store().read(&file(url)).ok()
    }

    /// Remembers the content of a URL for offline runs; without a place for it, it is not kept.
    pub(super) fn keep_file(&self, url: &str, content: &[u8]) {
        if self.staging().is_ok() {
            // What cannot be kept was read all the same.
            let _ = self.store().keep(&file(url), &[content]);
        }
    }
}

/// What is kept of a repository.
fn folder(spec: &RepoSpec) -> PathBuf {
    let submodules = if spec.submodules { "" } else { "\nno submodules" };
    Path::new("repositories").join(hash(&format!("{}{submodules}", spec.url())))
}

fn file(url: &str) -> PathBuf {
    Path::new("files").join(hash(url))
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
