//! A directory of a tree, as a handle.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::DiskTree;
use super::tree::{DirectoryEntry, FileTree, Located, OpenFile};
use super::walk::{TreeWalk, WalkOptions};
use super::write::check_finished;
use smp_text::diagnostic::Result;

/// A directory of a tree: who has it may look for files from there and read them.
///
/// Which of the files that a path leads to may be used, who has the directory decides.
#[derive(Debug, Clone)]
pub struct Directory {
    tree: Arc<dyn FileTree>,
    /// The real path.
    path: Arc<Path>,
}

impl Directory {
    /// A directory of a tree, by its real path.
    #[must_use]
    pub fn new(tree: Arc<dyn FileTree>, path: impl Into<Arc<Path>>) -> Self {
        Self { tree, path: path.into() }
    }

    /// A directory on disk, by its real path.
    #[must_use]
    pub fn on_disk(path: impl Into<Arc<Path>>) -> Self {
        Self::new(Arc::new(DiskTree), path)
    }

    /// Its real path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its real path, to be shared.
    #[must_use]
    pub fn shared_path(&self) -> &Arc<Path> {
        &self.path
    }

    /// Another directory of the same tree, by its real path.
    #[must_use]
    pub fn at(&self, path: PathBuf) -> Self {
        Self { tree: self.tree.clone(), path: path.into() }
    }

    /// Another directory of the same tree, whose reads are recorded separately.
    #[must_use]
    pub fn part_at(&self, path: PathBuf) -> Self {
        Self { tree: self.tree.part().unwrap_or_else(|| self.tree.clone()), path: path.into() }
    }

    /// Records that results of this directory depend on everything that is read from another one.
    pub fn uses(&self, other: &Self) {
        self.tree.uses(&other.tree);
    }

    /// Whether other programs find it by its path.
    #[must_use]
    pub fn is_on_disk(&self) -> bool {
        self.tree.is_on_disk()
    }

    /// Follows a path from here.
    ///
    /// # Errors
    /// As [`FileTree::locate`].
    pub fn locate(&self, path: impl AsRef<Path>) -> io::Result<Located> {
        self.tree.locate(&self.path, path.as_ref())
    }

    /// What is in it, sorted by name.
    ///
    /// # Errors
    /// As [`FileTree::list`].
    pub fn list(&self) -> io::Result<Vec<DirectoryEntry>> {
        self.tree.list(&self.path)
    }

    /// Opens a file, by a path that is absolute.
    ///
    /// # Errors
    /// As [`FileTree::open`].
    pub fn open(&self, path: &Path) -> io::Result<OpenFile> {
        self.tree.open(path)
    }

    /// Says that another program is given a file or a directory, by a path from here.
    pub fn give(&self, path: impl AsRef<Path>) {
        self.tree.give(&self.path.join(path));
    }

    /// Fails for a directory of the same tree that was changed in part only.
    ///
    /// # Errors
    /// As [`check_finished`].
    pub fn check_finished(&self, path: &Path) -> Result<()> {
        check_finished(&*self.tree, path)
    }

    /// All that is in it, and in the directories in it.
    #[must_use]
    pub fn walk(&self, options: WalkOptions) -> TreeWalk<'_> {
        TreeWalk::new(&*self.tree, &self.path, options)
    }
}
