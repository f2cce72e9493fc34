//! Lock files: what remote references were, and the schemas of custom kinds, when somebody wrote them down.
//!
//! Owns the format of `smp.lock` and which of them a target goes by. A lock file is JSON:
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
//! The same content is the same text: entries are sorted, and no secret of a URL is written.

mod read;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::repo_spec::{RepoSpec, is_commit, without_secrets};
use crate::schema_chain::LockedSchema;
use smp_files::{Distrust, FileTree, nearest_file};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The name of lock files.
pub const LOCK_FILE: &str = "smp.lock";

/// The version of the format.
const VERSION: u32 = 1;

/// What a lock file says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LockFile {
    /// The commit, or the SHA-256, of each remote reference.
    pub remotes: BTreeMap<RemoteReference, String>,
    /// The schemas of kinds, by kind, as they are written; reading leaves them out.
    pub schemas: Vec<LockedSchema>,
}

/// What is referred to, without secrets: references that differ in nothing else are the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RemoteReference {
    /// A branch, tag or commit of a repository; `HEAD` where none is named.
    Repository {
        /// What git fetches from.
        url: String,
        /// The branch, tag or commit.
        reference: String,
    },
    /// A file.
    File {
        /// Where it is.
        url: String,
    },
}

impl RemoteReference {
    /// A reference of a repository; the empty one stands for `HEAD`.
    #[must_use]
    pub fn repository(url: &str, reference: &str) -> Self {
        let reference = if reference.is_empty() { "HEAD" } else { reference };
        Self::Repository { url: without_secrets(url), reference: reference.to_string() }
    }

    /// A file.
    #[must_use]
    pub fn file(url: &str) -> Self {
        Self::File { url: without_secrets(url) }
    }

    /// Whether it can never mean anything else: it names a commit by its full hash.
    #[must_use]
    pub fn is_fixed(&self) -> bool {
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
    /// The text of the file.
    ///
    /// # Errors
    /// A schema is no JSON.
    pub fn to_text(&self) -> Result<String> {
        let mut schemas = self.schemas.clone();
        schemas.sort_by(|a, b| a.gvk.cmp(&b.gvk));
        let remotes = self.remotes.iter().map(|(reference, version)| RemoteText::new(reference, version));
        let text = LockText { version: VERSION, remotes: remotes.collect(), schemas: &schemas };
        let text = serde_json::to_string_pretty(&text).map_err(|error| {
            Diagnostic::error(Code::InvalidValue, format!("no lock can be written: {error}"))
        })?;
        Ok(text + "\n")
    }

    /// The lock file that a target goes by: the nearest in its directory and those above. A target that is
    /// fetched has none.
    ///
    /// # Errors
    /// One above the target belongs to another user, who may have put it there for others to find.
    pub fn nearest(tree: &dyn FileTree, target: &Path) -> Result<Option<PathBuf>> {
        let is_remote = target.to_str().is_some_and(|text| RepoSpec::parse(text).is_ok());
        let Some(directory) = tree.locate(Path::new(""), target).ok().filter(|_| !is_remote) else {
            return Ok(None);
        };
        let directory = directory.path();
        nearest_file(tree, directory, LOCK_FILE).map_err(|distrust| {
            let help = match distrust {
                Distrust::NoFile(_) => "put a file there, or name the one that is meant with --lock-file",
                Distrust::OfAnother(_) => "name it with --lock-file if it shall be used",
            };
            Diagnostic::error(Code::Locked, distrust.message(directory)).help(help)
        })
    }
}

#[cfg(test)]
mod tests;
