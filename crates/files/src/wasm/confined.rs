//! A placeholder for confined trees on systems without directory handles. It cannot be created.
//!
//! Confined trees are used for fetched repositories. They cannot be fetched on these systems either, since no program
//! can be run.

use std::io;
use std::path::{Path, PathBuf};

use super::tree::{DirectoryEntry, FileTree, Located, OpenFile};

/// A directory sandbox, which cannot exist on this system.
#[derive(Debug)]
pub enum ConfinedTree {}

impl ConfinedTree {
    /// Returns an error, because this system has no directory handles.
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

/// Returns true if a path was rejected because it is outside of a [`ConfinedTree`].
#[must_use]
pub fn is_outside_error(_error: &io::Error) -> bool {
    false
}
