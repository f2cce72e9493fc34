//! Access to the files below one directory on disk only.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, FileType};

use super::handle::Handle;
use super::tree::{DirectoryEntry, FileKind, FileTree, Located, OpenFile};

/// A directory sandbox: paths outside of the directory are rejected, including `..` and symlinks that leave the
/// directory.
///
/// Used for files from other people, such as fetched repositories. Its paths are real paths on disk, so that other
/// programs can find the files. The opened directory stays the same even if another directory is moved to its path.
#[derive(Debug)]
pub struct ConfinedTree {
    /// The real path of the directory.
    top: PathBuf,
    directory: Dir,
}

impl ConfinedTree {
    /// Opens a directory. `top` must be its real path.
    ///
    /// # Errors
    /// The directory does not exist or cannot be read.
    pub fn open(top: impl Into<PathBuf>) -> io::Result<Self> {
        let top = top.into();
        let directory = Dir::open_ambient_dir(&top, ambient_authority())?;
        Ok(Self { top, directory })
    }

    /// Resolves a path, and returns its real path relative to the directory.
    fn follow(&self, path: &Path) -> io::Result<PathBuf> {
        self.directory.canonicalize(self.below(path)?).map_err(normalize_error)
    }

    fn real(&self, found: &Path) -> PathBuf {
        let names = found.components().filter(|part| matches!(part, Component::Normal(_)));
        self.top.join(names.collect::<PathBuf>())
    }

    /// Returns a path relative to the directory. Symlinks and `..` in it are not resolved.
    fn below<'p>(&self, path: &'p Path) -> io::Result<&'p Path> {
        let below = path.strip_prefix(&self.top).map_err(|_| outside_error())?;
        Ok(if below.as_os_str().is_empty() { Path::new(".") } else { below })
    }
}

impl FileTree for ConfinedTree {
    fn working_directory(&self) -> io::Result<PathBuf> {
        Ok(self.top.clone())
    }

    fn locate(&self, from: &Path, path: &Path) -> io::Result<Located> {
        let from = if from.as_os_str().is_empty() { &self.top } else { from };
        // An absolute `path` replaces `from`.
        let found = self.follow(&from.join(path))?;
        let kind = self.directory.symlink_metadata(&found).map_err(normalize_error)?.file_type();
        Ok(Located::new(self.real(&found), kind_of(kind)))
    }

    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        // A located path contains no symlinks, unless it was replaced since then.
        if let Some(handle) = Handle::open_real_in(&self.directory, self.below(path)?, path) {
            return Ok(OpenFile::on_disk(handle));
        }
        let found = self.follow(path)?;
        let handle = Handle::open_in(&self.directory, &found, self.real(&found)).map_err(normalize_error)?;
        Ok(OpenFile::on_disk(handle))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<DirectoryEntry>> {
        let entries = self.directory.read_dir(self.below(directory)?).map_err(normalize_error)?;
        let listed = entries.map(|entry| {
            let entry = entry?;
            Ok(DirectoryEntry { name: entry.file_name(), kind: kind_of(entry.file_type()?) })
        });
        let mut listed: Vec<DirectoryEntry> = listed.collect::<io::Result<_>>().map_err(normalize_error)?;
        listed.sort_by(|a, b| OsString::cmp(&a.name, &b.name));
        Ok(listed)
    }

    fn is_on_disk(&self) -> bool {
        true
    }
}

fn kind_of(file_type: FileType) -> FileKind {
    match file_type {
        t if t.is_file() => FileKind::File,
        t if t.is_dir() => FileKind::Directory,
        t if t.is_symlink() => FileKind::Link,
        _ => FileKind::Other,
    }
}

/// The error for paths outside of a [`ConfinedTree`].
#[derive(Debug)]
struct OutsideError;

impl std::fmt::Display for OutsideError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the path is outside of the fetched files")
    }
}

impl std::error::Error for OutsideError {}

fn outside_error() -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, OutsideError)
}

/// Returns true if a path was rejected because it is outside of a [`ConfinedTree`].
#[must_use]
pub fn is_outside_error(error: &io::Error) -> bool {
    matches!(error.get_ref(), Some(why) if why.is::<OutsideError>())
}

/// Converts the error with which cap-std rejects paths outside of the directory, since it is not a system error.
fn normalize_error(error: io::Error) -> io::Error {
    let is_from_cap_std = error.kind() == ErrorKind::PermissionDenied && error.raw_os_error().is_none();
    if is_from_cap_std { outside_error() } else { error }
}
