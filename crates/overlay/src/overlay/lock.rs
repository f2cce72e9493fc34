//! Lock files, which pin remote references and the schemas of custom kinds.
//!
//! Owns the format of `smp.lock` and the search for the lock file of a target. A lock file is JSON:
//!
//! ```json
//! {
//!   "version": 1,
//!   "remotes": [
//!     {"url": "https://github.com/org/repo", "ref": "main", "commit": "0123456789abcdef0123456789abcdef01234567"},
//!     {"url": "https://example.com/all.yaml", "sha256": "<the SHA-256 of the content>"}
//!   ],
//!   "schemas": []
//! }
//! ```
//!
//! Equal content is written as equal text, because entries are sorted. Secrets in URLs are not written.

mod read;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::repo_spec::{RepoSpec, is_commit, without_secrets};
use crate::schema_chain::LockedSchema;
use smp_files::{FileTree, RejectedFile, nearest_file};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The name of lock files.
pub const LOCK_FILE: &str = "smp.lock";

/// The version of the format.
const VERSION: u32 = 1;

/// The content of a lock file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LockFile {
    /// The commit or SHA-256 of each remote reference.
    pub remotes: BTreeMap<RemoteReference, String>,
    /// The schemas of kinds, sorted by kind when written. [`LockFile::read`] leaves them out.
    pub schemas: Vec<LockedSchema>,
}

/// A remote reference without secrets. References that differ only in secrets are equal.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RemoteReference {
    /// A branch, tag or commit of a repository. `HEAD` is the default branch.
    Repository {
        /// The URL that git fetches from.
        url: String,
        /// The branch, tag or commit.
        reference: String,
    },
    /// A file.
    File {
        /// The URL.
        url: String,
    },
}

impl RemoteReference {
    /// Creates a reference to a repository. An empty revision means `HEAD`.
    #[must_use]
    pub fn repository(url: &str, reference: &str) -> Self {
        let reference = if reference.is_empty() { "HEAD" } else { reference };
        Self::Repository { url: without_secrets(url), reference: reference.to_string() }
    }

    /// Creates a reference to a file.
    #[must_use]
    pub fn file(url: &str) -> Self {
        Self::File { url: without_secrets(url) }
    }

    /// Returns true if the reference is a full commit hash, which never changes its meaning.
    #[must_use]
    pub fn is_commit_hash(&self) -> bool {
        match self {
            Self::Repository { reference, .. } => is_commit(reference),
            Self::File { .. } => false,
        }
    }
}

#[derive(Serialize)]
struct LockText<'l> {
    version: u32,
    remotes: Vec<RemoteText<'l>>,
    schemas: &'l [LockedSchema],
}

#[derive(Serialize)]
struct RemoteText<'l> {
    url: &'l str,
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    reference: Option<&'l str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit: Option<&'l str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<&'l str>,
}

impl<'l> RemoteText<'l> {
    fn new(reference: &'l RemoteReference, version: &'l str) -> Self {
        match reference {
            RemoteReference::Repository { url, reference } => {
                Self { url, reference: Some(reference), commit: Some(version), sha256: None }
            }
            RemoteReference::File { url } => {
                Self { url, reference: None, commit: None, sha256: Some(version) }
            }
        }
    }
}

impl LockFile {
    /// Returns the text of the file.
    ///
    /// # Errors
    /// A schema is not valid JSON.
    pub fn to_text(&self) -> Result<String> {
        let mut schemas = self.schemas.clone();
        schemas.sort_by(|a, b| a.gvk.cmp(&b.gvk));
        let remotes = self.remotes.iter().map(|(reference, version)| RemoteText::new(reference, version));
        let text = LockText { version: VERSION, remotes: remotes.collect(), schemas: &schemas };
        let text = serde_json::to_string_pretty(&text).map_err(|error| {
            Diagnostic::error(Code::InvalidValue, format!("cannot write the lock file: {error}"))
        })?;
        Ok(text + "\n")
    }

    /// Returns the lock file of a target: the nearest one in its directory or a parent directory. A remote target
    /// has none.
    ///
    /// # Errors
    /// The lock file is not a regular file, or it is above the target and belongs to another user, who may have planted
    /// it.
    pub fn nearest(tree: &dyn FileTree, target: &Path) -> Result<Option<PathBuf>> {
        let is_remote = target.to_str().is_some_and(|text| RepoSpec::parse(text).is_ok());
        let Some(directory) = tree.locate(Path::new(""), target).ok().filter(|_| !is_remote) else {
            return Ok(None);
        };
        let directory = directory.path();
        nearest_file(tree, directory, LOCK_FILE).map_err(|distrust| {
            let help = match distrust {
                RejectedFile::NotRegular(_) => {
                    "replace it with a file, or pass the lock file with --lock-file"
                }
                RejectedFile::OtherOwner(_) => "pass it with --lock-file to use it",
            };
            Diagnostic::error(Code::Locked, distrust.message(directory)).help(help)
        })
    }
}

#[cfg(test)]
mod tests;
