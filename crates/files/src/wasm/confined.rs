//! Stands for trees that nothing leads out of where the system has no handles of directories: there are none.
//!
//! What they are for is fetched repositories, which no program can be run for there either.

use std::io;
use std::path::{Path, PathBuf};

use super::tree::{DirectoryEntry, FileTree, Located, OpenFile};

/// A directory that nothing leads out of; this system has none.
#[derive(Debug)]
pub enum ConfinedTree {}

impl ConfinedTree {
    /// The files below a directory, by its real path.
    ///
    /// # Errors
    /// Always [`io::ErrorKind::Unsupported`].
    pub fn open(_top: impl Into<PathBuf>) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl FileTree for ConfinedTree {
    fn working_directory(&self) -> io::Result<PathBuf> {
        match *self {}
    }

    fn locate(&self, _from: &Path, _path: &Path) -> io::Result<Located> {
        match *self {}
    }

    fn open(&self, _path: &Path) -> io::Result<OpenFile> {
        match *self {}
    }

    fn list(&self, _directory: &Path) -> io::Result<Vec<DirectoryEntry>> {
        match *self {}
    }

    fn is_on_disk(&self) -> bool {
        match *self {}
    }
}

/// Whether a path was refused since it leads out of a [`ConfinedTree`].
#[must_use]
pub fn leads_out(_error: &io::Error) -> bool {
    false
}
