//! What became of a package: its files with their new texts, and what changed in them.

use std::fmt;
use std::path::{Path, PathBuf};

use super::conflict::PackageConflict;
use super::origins::ChangeOrigin;
use super::read::text_of;
use smp_files::{
    DiskTree, Expected, FileChange, FileStamp, FileTree as _, Located, change_files, recover_directory_and_parents,
};
use smp_text::diagnostic::{Diagnostic, Result};
use smp_text::path::FieldPath;

/// A package after it was merged or patched; nothing is written yet.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ChangedPackage {
    /// All its files, sorted by path.
    pub files: Vec<ChangedFile>,
    /// What changed, in the order of the files.
    pub changes: Vec<PackageChange>,
    /// What both sides of a merge changed; which one was taken, the options said.
    pub conflicts: Vec<PackageConflict>,
    /// Where the parts of the result come from that are not as the original has them, in the order of the files; none
    /// unless a three-way merge was asked for it.
    pub origins: Option<Vec<ChangeOrigin>>,
    /// How many entries of lists changed manifests no longer have.
    pub removed_entries: usize,
    /// What was done and perhaps not meant.
    pub warnings: Vec<Diagnostic>,
    /// What was neither read nor written: links, and what git keeps for itself.
    pub left_alone: Vec<PathBuf>,
}

/// One file of it.
#[derive(Debug, Clone)]
pub struct ChangedFile {
    /// Where it is or shall be.
    pub path: PathBuf,
    /// Its path in the package.
    pub relative: PathBuf,
    /// What is in it; none when nothing is left in it and it shall go.
    pub content: Option<FileContent>,
    /// Whether it may be run as a program.
    pub executable: bool,
    /// What it is to the package.
    pub role: FileRole,
    /// Whether it is another file than before.
    pub is_changed: bool,
    /// The file on the disk that the text was made of; none when it is new, or was never on a disk.
    pub read: Option<FileStamp>,
}

/// What a file is to a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileRole {
    /// It holds manifests.
    Manifests,
    /// It does not, or they cannot be read.
    Other,
}

/// What is in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileContent {
    /// A text.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

impl FileContent {
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        text_of(bytes).map_or_else(|| Self::Bytes(bytes.to_vec()), |text| Self::Text(text.into()))
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// What happened to one manifest, or to a file that is none.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackageChange {
    /// The manifest, as messages call it; none for files that are none.
    pub resource: Option<String>,
    /// The file that it is in, was in, or shall be in.
    pub path: PathBuf,
    /// What happened.
    pub kind: ChangeKind,
}

/// What can happen to a manifest or file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// These fields changed; only comments did when there are none.
    Fields(Vec<FieldPath>),
    /// It was in this file before.
    Moved(PathBuf),
    /// The content of a file that is no manifest changed, or whether it may be run; or of a manifest that stands
    /// between markers as a whole.
    Content,
}

impl ChangeKind {
    /// `added`, `changed`, `moved` or `removed`.
    #[must_use]
    pub fn action(&self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Fields(_) | Self::Content => "changed",
            Self::Moved(_) => "moved",
        }
    }
}

impl fmt::Display for PackageChange {
    /// `shop/web.yaml: Deployment.apps web: changed spec.replicas`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        if let Some(resource) = &self.resource {
            write!(f, "{resource}: ")?;
        }
        if let ChangeKind::Moved(from) = &self.kind {
            return write!(f, "moved from {}", from.display());
        }
        f.write_str(self.kind.action())?;
        match &self.kind {
            ChangeKind::Fields(paths) if paths.is_empty() => f.write_str(" comments"),
            ChangeKind::Fields(paths) => {
                let paths: Vec<_> = paths.iter().map(ToString::to_string).collect();
                write!(f, " {}", paths.join(", "))
            }
            ChangeKind::Added | ChangeKind::Removed | ChangeKind::Moved(_) | ChangeKind::Content => Ok(()),
        }
    }
}

impl ChangedFile {
    /// Its text; none when it is gone, or has none.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Some(FileContent::Text(text)) => Some(text),
            Some(FileContent::Bytes(_)) | None => None,
        }
    }
}

impl ChangedPackage {
    /// The texts of all files that hold manifests as one stream of documents.
    #[must_use]
    pub fn stream(&self) -> String {
        if let [file] = self.files.as_slice() {
            return file.text().unwrap_or_default().to_string();
        }
        let mut out = String::new();
        let manifests = self.files.iter().filter(|file| file.role == FileRole::Manifests);
        for text in manifests.filter_map(ChangedFile::text) {
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

    /// How many manifests and other files were added, changed, moved and removed.
    #[must_use]
    pub fn counts(&self) -> [usize; 4] {
        ["added", "changed", "moved", "removed"]
            .map(|action| self.changes.iter().filter(|change| change.kind.action() == action).count())
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
        content: file.content.as_ref().map(FileContent::as_bytes),
        executable: Some(file.executable),
        expected: file.read.as_ref().map_or(Expected::Missing, Expected::Read),
    });
    change_files(&directory_of(target), &changes.collect::<Vec<_>>())
}

/// Writes all files, changed or not, below another directory, which is made: all of them, or none.
///
/// # Errors
/// As [`change_files`].
pub fn write_copy(files: &[ChangedFile], directory: &Path) -> Result<()> {
    let present = files.iter().filter(|file| file.content.is_some());
    let paths: Vec<_> = present.clone().map(|file| directory.join(&file.relative)).collect();
    let changes = present.zip(&paths).map(|(file, path)| FileChange {
        path,
        content: file.content.as_ref().map(FileContent::as_bytes),
        executable: Some(file.executable),
        expected: Expected::Missing,
    });
    change_files(directory, &changes.collect::<Vec<_>>())
}

/// Ends what a stopped program began to change in a package, or in a directory that it is in; it is read
/// afterwards.
///
/// # Errors
/// As [`end_unfinished`].
pub fn recover_target(target: &Path) -> Result<()> {
    // What is not there is an error of who reads it.
    if DiskTree.exists(target) { recover_directory_and_parents(&directory_of(target)) } else { Ok(()) }
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
