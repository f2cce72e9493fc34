//! The list of the files that a build wrote to a directory.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use smp_files::{DiskTree, FileTree as _, hex};
use smp_overlay::overlay::OUTPUT_LIST;
use smp_text::diagnostic::{Code, Diagnostic, Result, read_error};

/// The list of the files of the last run.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenFiles {
    version: u32,
    /// Paths relative to the directory, with the SHA-256 of the written content.
    pub files: BTreeMap<PathBuf, String>,
}

impl WrittenFiles {
    /// Returns true if this program may have written the list: its version is known, and each path
    /// is that of a YAML or JSON file in the directory that is not hidden.
    fn is_ours(&self) -> bool {
        let is_name =
            |part| matches!(part, Component::Normal(name) if !name.to_string_lossy().starts_with('.'));
        let is_output = |path: &Path| path.extension().is_some_and(|kind| kind == "yaml" || kind == "json");
        self.version == 1 && self.files.keys().all(|path| path.components().all(is_name) && is_output(path))
    }

    /// Creates the list of these files.
    pub(super) fn new(files: BTreeMap<PathBuf, String>) -> Self {
        Self { version: 1, files }
    }

    /// Reads the list in a directory. Returns `None` if there is no list.
    ///
    /// # Errors
    /// The list cannot be read, or this program did not write it.
    pub(super) fn read(directory: &Path) -> Result<Option<Self>> {
        let path = directory.join(OUTPUT_LIST);
        if !DiskTree.contains(&path) {
            return Ok(None);
        }
        let wrong = |error: &(dyn std::error::Error + 'static)| Self::read_error(directory, error);
        let text = DiskTree.read(&path).map_err(|error| wrong(&error))?;
        let written: Self = serde_json::from_slice(&text).map_err(|error| wrong(&error))?;
        if !written.is_ours() {
            return Err(wrong(&std::io::Error::other("it was not written by kubectl-smp")));
        }
        Ok(Some(written))
    }

    /// Returns the error for a list in a directory that cannot be read.
    pub(super) fn read_error(directory: &Path, error: &(dyn std::error::Error + 'static)) -> Diagnostic {
        let path = directory.join(OUTPUT_LIST);
        read_error(format_args!("the list of written files {}", path.display()), error)
            .help("remove it, and remove outdated files by hand")
    }

    /// Returns the text of the list.
    pub(super) fn to_json(&self) -> Result<String> {
        let text = serde_json::to_string_pretty(self);
        let text = text.map_err(|error| {
            Diagnostic::error(Code::Io, format!("cannot serialize the list of files: {error}"))
        })?;
        Ok(text + "\n")
    }
}

/// Returns the SHA-256 of a text.
pub(super) fn sha256(text: &[u8]) -> String {
    hex(&Sha256::digest(text))
}
