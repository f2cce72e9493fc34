//! The files below one directory of this machine, and no others.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, FileType};

use super::handle::Handle;
use super::tree::{DirectoryEntry, FileKind, FileTree, Located, OpenFile};

/// A directory that nothing leads out of: neither `..` nor any link, not even one that leads back in.
///
/// For what others wrote, such as fetched repositories. Its paths are those of the disk, so that other programs
/// find its files by them. The directory that was opened stays the same one, whatever becomes of its path.
#[derive(Debug)]
pub struct ConfinedTree {
    /// Its real path.
    top: PathBuf,
    directory: Dir,
}

impl ConfinedTree {
    /// The files below a directory, by its real path.
    ///
    /// # Errors
    /// It is not there, or may not be read.
    pub fn open(top: impl Into<PathBuf>) -> io::Result<Self> {
        let top = top.into();
        let directory = Dir::open_ambient_dir(&top, ambient_authority())?;
        Ok(Self { top, directory })
    }

    /// The real path of what a path leads to, from the top.
    fn follow(&self, path: &Path) -> io::Result<PathBuf> {
        self.directory.canonicalize(self.below(path)?).map_err(said)
    }

    fn real(&self, found: &Path) -> PathBuf {
        let names = found.components().filter(|part| matches!(part, Component::Normal(_)));
        self.top.join(names.collect::<PathBuf>())
    }

    /// A path from the top, where it may lead wherever it likes.
    fn below<'p>(&self, path: &'p Path) -> io::Result<&'p Path> {
        let below = path.strip_prefix(&self.top).map_err(|_| leaves())?;
        Ok(if below.as_os_str().is_empty() { Path::new(".") } else { below })
    }
}

impl FileTree for ConfinedTree {
    fn working_directory(&self) -> io::Result<PathBuf> {
        Ok(self.top.clone())
    }

    fn locate(&self, from: &Path, path: &Path) -> io::Result<Located> {
        let from = if from.as_os_str().is_empty() { &self.top } else { from };
        // An absolute path takes the place of where it starts.
        let found = self.follow(&from.join(path))?;
        let kind = self.directory.symlink_metadata(&found).map_err(said)?.file_type();
        Ok(Located::new(self.real(&found), kind_of(kind)))
    }

    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        // What was located has no links in it, unless it was exchanged since.
        if let Some(handle) = Handle::open_real_in(&self.directory, self.below(path)?, path) {
            return Ok(OpenFile::on_disk(handle));
        }
        let found = self.follow(path)?;
        let handle = Handle::open_in(&self.directory, &found, self.real(&found)).map_err(said)?;
        Ok(OpenFile::on_disk(handle))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<DirectoryEntry>> {
        let entries = self.directory.read_dir(self.below(directory)?).map_err(said)?;
        let listed = entries.map(|entry| {
            let entry = entry?;
            Ok(DirectoryEntry { name: entry.file_name(), kind: kind_of(entry.file_type()?) })
        });
        let mut listed: Vec<DirectoryEntry> = listed.collect::<io::Result<_>>().map_err(said)?;
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

/// What a path is told that leads out of a [`ConfinedTree`].
#[derive(Debug)]
struct LeadsOut;

impl std::fmt::Display for LeadsOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("it leads out of what was fetched")
    }
}

impl std::error::Error for LeadsOut {}

fn leaves() -> io::Error {
    io::Error::new(ErrorKind::PermissionDenied, LeadsOut)
}

/// Whether that is why a path was refused: it leads out of a [`ConfinedTree`].
#[must_use]
pub fn leads_out(error: &io::Error) -> bool {
    matches!(error.get_ref(), Some(why) if why.is::<LeadsOut>())
}

/// cap-std refuses what leads out by an error that is not the system's.
fn said(error: io::Error) -> io::Error {
    let is_its_own = error.kind() == ErrorKind::PermissionDenied && error.raw_os_error().is_none();
    if is_its_own { leaves() } else { error }
}
