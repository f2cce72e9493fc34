//! Directory handles of a tree.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::DiskTree;
use super::tree::{DirectoryEntry, FileTree, Located, OpenFile};
use super::walk::{TreeWalk, WalkOptions};
use super::write::check_no_pending_write;
use smp_text::diagnostic::Result;

/// A directory of a tree, from which files can be looked up and read.
///
/// The owner of the handle determines which of the located files may be used.
#[derive(Debug, Clone)]
pub struct Directory {
    tree: Arc<dyn FileTree>,
    /// The real path.
    path: Arc<Path>,
}

impl Directory {
    /// Creates a handle for a directory of a tree, by its real path.
    #[must_use]
    pub fn new(tree: Arc<dyn FileTree>, path: impl Into<Arc<Path>>) -> Self {
        Self { tree, path: path.into() }
    }

    /// Creates a handle for a directory on disk, by its real path.
    #[must_use]
    pub fn on_disk(path: impl Into<Arc<Path>>) -> Self {
        Self::new(Arc::new(DiskTree), path)
    }

    /// Returns the real path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the real path as a shared pointer.
    #[must_use]
    pub fn shared_path(&self) -> &Arc<Path> {
        &self.path
    }

    /// Returns another directory of the same tree, by its real path.
    #[must_use]
    pub fn at(&self, path: PathBuf) -> Self {
        Self { tree: self.tree.clone(), path: path.into() }
    }

    /// Returns another directory of the same tree. Reads from it are recorded separately.
    #[must_use]
    pub fn part_at(&self, path: PathBuf) -> Self {
        Self { tree: self.tree.part().unwrap_or_else(|| self.tree.clone()), path: path.into() }
    }

    /// Records that results of this directory depend on all reads from another directory.
    pub fn record_dependency(&self, other: &Self) {
        self.tree.record_dependency(&other.tree);
    }

    /// Returns true if other programs can access the directory by its path.
    #[must_use]
    pub fn is_on_disk(&self) -> bool {
        self.tree.is_on_disk()
    }

    /// Resolves a path relative to this directory.
    ///
    /// # Errors
    /// The errors of [`FileTree::locate`].
    pub fn locate(&self, path: impl AsRef<Path>) -> io::Result<Located> {
        self.tree.locate(&self.path, path.as_ref())
    }

    /// Returns the directory entries, sorted by name.
    ///
    /// # Errors
    /// The errors of [`FileTree::list`].
    pub fn list(&self) -> io::Result<Vec<DirectoryEntry>> {
        self.tree.list(&self.path)
    }

    /// Opens a file by its absolute path.
    ///
    /// # Errors
    /// The errors of [`FileTree::open`].
    pub fn open(&self, path: &Path) -> io::Result<OpenFile> {
        self.tree.open(path)
    }

    /// Records that another program gets access to a file or directory, by a path relative to this directory.
    pub fn record_program_access(&self, path: impl AsRef<Path>) {
        self.tree.record_program_access(&self.path.join(path));
    }

    /// Checks that no interrupted write is pending in a directory of the same tree.
    ///
    /// # Errors
    /// The errors of [`check_no_pending_write`].
    pub fn check_finished(&self, path: &Path) -> Result<()> {
        check_no_pending_write(&*self.tree, path)
    }

    /// Walks the directory recursively.
    #[must_use]
    pub fn walk(&self, options: WalkOptions) -> TreeWalk<'_> {
        TreeWalk::new(&*self.tree, &self.path, options)
    }
}
