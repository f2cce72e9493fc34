//! The result of a merge or patch of a package: its files with their new content, and the changes.

use std::fmt;
use std::path::{Path, PathBuf};

use super::conflict::PackageConflict;
use super::origins::ChangeOrigin;
use super::read::as_text;
use smp_files::{
    DiskTree, Expected, FileChange, FileStamp, FileTree as _, Located, change_files,
    recover_directory_and_parents,
};
use smp_text::diagnostic::{Diagnostic, Result};
use smp_text::path::FieldPath;

/// A merged or patched package. Nothing is written to disk yet.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ChangedPackage {
    /// All files of the package, sorted by path.
    pub files: Vec<ChangedFile>,
    /// Changes, in the order of the files.
    pub changes: Vec<PackageChange>,
    /// Conflicts, resolved according to the options.
    pub conflicts: Vec<PackageConflict>,
    /// Origins of the parts that differ from the original, in the order of the files. `None` unless recording is
    /// enabled for a three-way merge.
    pub origins: Option<Vec<ChangeOrigin>>,
    /// Number of list entries that were removed from changed manifests.
    pub removed_entries: usize,
    /// Warnings about changes that may be unintended.
    pub warnings: Vec<Diagnostic>,
    /// Paths that were neither read nor written: symlinks, and git's own files.
    pub skipped: Vec<PathBuf>,
}

/// One file of a changed package.
#[derive(Debug, Clone)]
pub struct ChangedFile {
    /// Location of the file, which may not exist yet.
    pub path: PathBuf,
    /// Path relative to the package.
    pub relative: PathBuf,
    /// New content; `None` if the file is removed because it would be empty.
    pub content: Option<FileContent>,
    /// Executable bit of the file.
    pub executable: bool,
    /// Role of the file in the package.
    pub role: FileRole,
    /// True if the content or the executable bit changed.
    pub is_changed: bool,
    /// Stamp of the file on disk that was read; `None` for new files and in-memory packages.
    pub stamp: Option<FileStamp>,
}

/// The role of a file in a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileRole {
    /// The file holds manifests.
    Manifests,
    /// The file holds no manifests, or they cannot be parsed.
    Other,
}

/// Content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileContent {
    /// Valid UTF-8 without NUL.
    Text(String),
    /// Binary content.
    Bytes(Vec<u8>),
}

impl FileContent {
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        as_text(bytes).map_or_else(|| Self::Bytes(bytes.to_vec()), |text| Self::Text(text.into()))
    }

    /// Returns the content as bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// A change to one manifest, or to a file that holds none.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackageChange {
    /// Display name of the manifest; `None` for files that hold no manifests.
    pub resource: Option<String>,
    /// Path of the file: the new file if it was added or moved, the old one if it was removed.
    pub path: PathBuf,
    /// Kind of the change.
    pub kind: ChangeKind,
}

/// The kinds of changes to a manifest or file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChangeKind {
    /// Added.
    Added,
    /// Removed.
    Removed,
    /// Changed fields; empty if only comments changed.
    Fields(Vec<FieldPath>),
    /// Moved from this file.
    Moved(PathBuf),
    /// Content or executable bit of a file that holds no manifests, or a whole manifest between conflict markers.
    Content,
}

impl ChangeKind {
    /// Returns `added`, `changed`, `moved` or `removed`.
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
    /// Returns the text; `None` if the file is removed or binary.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Some(FileContent::Text(text)) => Some(text),
            Some(FileContent::Bytes(_)) | None => None,
        }
    }
}

impl ChangedPackage {
    /// Joins the text of all manifest files into one YAML stream.
    #[must_use]
    pub fn stream(&self) -> String {
        if let [file] = self.files.as_slice() {
            return file.text().unwrap_or_default().to_string();
        }
        let mut out = String::new();
        let manifests = self.files.iter().filter(|file| file.role == FileRole::Manifests);
        for text in manifests.filter_map(ChangedFile::text) {
            // A byte order mark is only valid at the start of the stream.
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

    /// Returns the number of added, changed, moved and removed manifests and other files.
    #[must_use]
    pub fn counts(&self) -> [usize; 4] {
        ["added", "changed", "moved", "removed"]
            .map(|action| self.changes.iter().filter(|change| change.kind.action() == action).count())
    }
}

/// Writes the changed files of a package and deletes the removed ones, all or nothing.
///
/// `target` is the directory or file that the package was read from. Nothing outside of that directory is
/// changed.
///
/// # Errors
/// The errors of [`change_files`].
pub fn write_files(target: &Path, files: &[ChangedFile]) -> Result<()> {
    let changed = files.iter().filter(|file| file.is_changed);
    let changes = changed.map(|file| FileChange {
        path: &file.path,
        content: file.content.as_ref().map(FileContent::as_bytes),
        executable: Some(file.executable),
        expected: file.stamp.as_ref().map_or(Expected::Missing, Expected::Read),
    });
    change_files(&containing_directory(target), &changes.collect::<Vec<_>>())
}

/// Writes all files, changed or not, to a new directory, all or nothing.
///
/// # Errors
/// The errors of [`change_files`].
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

/// Finishes or rolls back an interrupted write to a package or to a parent directory of it. Call this before
/// reading the package.
///
/// # Errors
/// The errors of [`recover_directory_and_parents`].
pub fn recover_target(target: &Path) -> Result<()> {
    // A missing target is reported when it is read.
    if DiskTree.contains(target) {
        recover_directory_and_parents(&containing_directory(target))
    } else {
        Ok(())
    }
}

/// Returns the directory in which files are changed.
fn containing_directory(target: &Path) -> PathBuf {
    if DiskTree.is_directory(target) {
        return target.to_path_buf();
    }
    // Writes go to the target of a symlink.
    let real =
        DiskTree.locate(Path::new(""), target).map_or_else(|_| target.to_path_buf(), Located::into_path);
    let parent = real.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new(".")).to_path_buf()
}
