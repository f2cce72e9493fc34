//! What became of a package: its files with their new texts, and what changed in them.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostic, Result};
use crate::files::{
    DiskTree, Expected, FileChange, FileStamp, FileTree as _, Located, change_files, end_unfinished,
};
use crate::path::FieldPath;

/// A package after it was merged or patched; nothing is written yet.
#[derive(Debug, Clone, Default)]
pub struct ChangedPackage {
    /// All its files, sorted by path.
    pub files: Vec<ChangedFile>,
    /// What changed, in the order of the files.
    pub changes: Vec<ManifestChange>,
    /// What both sides of a three-way merge changed; which one was taken, the options said.
    pub conflicts: Vec<Diagnostic>,
    /// What was done and perhaps not meant.
    pub warnings: Vec<Diagnostic>,
}

/// One file of it.
#[derive(Debug, Clone)]
pub struct ChangedFile {
    /// Where it is or shall be.
    pub path: PathBuf,
    /// Its text; none when nothing is left in it and it shall go.
    pub text: Option<String>,
    /// Whether it is another text than before.
    pub is_changed: bool,
    /// The file on the disk that the text was made of; none when it is new, or was never on a disk.
    pub read: Option<FileStamp>,
}

/// What happened to one manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestChange {
    /// The manifest, as messages call it.
    pub resource: String,
    /// The file that it is in, was in, or shall be in.
    pub path: PathBuf,
    /// What happened.
    pub kind: ChangeKind,
}

/// What can happen to a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// These fields changed; only comments did when there are none.
    Changed(Vec<FieldPath>),
}

impl fmt::Display for ManifestChange {
    /// `shop/web.yaml: Deployment.apps web: changed spec.replicas`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: ", self.path.display(), self.resource)?;
        match &self.kind {
            ChangeKind::Added => f.write_str("added"),
            ChangeKind::Removed => f.write_str("removed"),
            ChangeKind::Changed(paths) if paths.is_empty() => f.write_str("changed comments"),
            ChangeKind::Changed(paths) => {
                let paths: Vec<_> = paths.iter().map(ToString::to_string).collect();
                write!(f, "changed {}", paths.join(", "))
            }
        }
    }
}

impl ChangedPackage {
    /// The texts of all files as one stream of documents.
    #[must_use]
    pub fn stream(&self) -> String {
        let mut out = String::new();
        for text in self.files.iter().filter_map(|file| file.text.as_deref()) {
            // A byte order mark may only stand first.
            let text = if out.is_empty() { text } else { text.trim_start_matches('\u{feff}') };
            if text.trim().is_empty() {
                continue;
            }
            if !out.is_empty() {
                out.push_str(if out.ends_with('\n') { "" } else { "\n" });
                out.push_str(match text {
                    _ if text.starts_with("---") => "",
                    _ if text.starts_with('%') => "...\n",
                    _ => "---\n",
                });
            }
            out.push_str(text);
        }
        out
    }

    /// How many manifests were added, changed and removed.
    #[must_use]
    pub fn counts(&self) -> [usize; 3] {
        let count = |is: fn(&ChangeKind) -> bool| self.changes.iter().filter(|c| is(&c.kind)).count();
        [
            count(|kind| *kind == ChangeKind::Added),
            count(|kind| matches!(kind, ChangeKind::Changed(_))),
            count(|kind| *kind == ChangeKind::Removed),
        ]
    }
}

/// Writes the files of a package that changed and removes those that shall go: all of them, or none.
///
/// `target` is what the package was read from: a directory, outside of which nothing is changed, or a file.
///
/// # Errors
/// As [`change_files`].
pub fn write_files(target: &Path, files: &[ChangedFile]) -> Result<()> {
    let changed = files.iter().filter(|file| file.is_changed);
    let changes = changed.map(|file| FileChange {
        path: &file.path,
        content: file.text.as_deref().map(str::as_bytes),
        expected: file.read.as_ref().map_or(Expected::Nothing, Expected::Read),
    });
    change_files(&directory_of(target), &changes.collect::<Vec<_>>())
}

/// Ends what a stopped program began to change in a package, which is read afterwards.
///
/// # Errors
/// As [`end_unfinished`].
pub fn recover_target(target: &Path) -> Result<()> {
    // What is not there is an error of who reads it.
    if DiskTree.has(target) { end_unfinished(&directory_of(target)) } else { Ok(()) }
}

/// The directory in which a package is changed.
fn directory_of(target: &Path) -> PathBuf {
    if DiskTree.is_directory(target) {
        return target.to_path_buf();
    }
    // What a link leads to is changed.
    let real =
        DiskTree.locate(Path::new(""), target).map_or_else(|_| target.to_path_buf(), Located::into_path);
    let parent = real.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_path_buf()
}
