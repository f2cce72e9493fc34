//! Finds the reads of a build that have another result in another tree.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::read_set::ReadSet;
use super::tree::{FileKind, FileTree};

/// The aspect of a path on which a build depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChangedRead {
    /// The content of a file.
    Content,
    /// The entries of a directory.
    Entries,
    /// The existence of the path, its kind, or the target of a symlink.
    Existence,
}

/// Compares the paths of two trees that a build read. If all reads have the same result in both trees, so has the
/// build. It can be shared between threads.
#[derive(Debug)]
pub struct TreeChanges {
    trees: [Arc<dyn FileTree>; 2],
    /// The results of paths that were already compared.
    known: Mutex<FxHashMap<(PathBuf, ChangedRead), bool>>,
    /// The results of comparing the IDs of directories.
    equal: Mutex<FxHashMap<PathBuf, bool>>,
}

impl TreeChanges {
    /// Creates a comparison of two trees.
    #[must_use]
    pub fn new(old: Arc<dyn FileTree>, new: Arc<dyn FileTree>) -> Self {
        Self { trees: [old, new], known: Mutex::default(), equal: Mutex::default() }
    }

    /// Returns true if any read has another result in the other tree.
    #[must_use]
    pub fn affects(&self, read: &ReadSet) -> bool {
        reads(read).any(|(path, aspect)| self.differs(path, aspect))
    }

    /// Returns the reads that have another result in the other tree.
    #[must_use]
    pub fn changed_reads(&self, read: &ReadSet) -> Vec<(PathBuf, ChangedRead)> {
        let changed = reads(read).filter(|(path, aspect)| self.differs(path, *aspect));
        changed.map(|(path, aspect)| (path.clone(), aspect)).collect()
    }

    /// Returns true if a differing path cannot be read, such as a git submodule. In that case, it is unknown what a
    /// build would read.
    #[must_use]
    pub fn has_unreadable(&self, read: &ReadSet) -> bool {
        let is_unreadable = |tree: &Arc<dyn FileTree>, path: &Path| {
            tree.read(path).is_err_and(|error| error.kind() == ErrorKind::Unsupported)
        };
        let changed = self.changed_reads(read);
        changed.iter().any(|(path, _)| self.trees.iter().any(|tree| is_unreadable(tree, path)))
    }

    /// Returns true if a real directory has an equal ID in both trees, or is in such a directory. In that case, its
    /// content is equal, but its symlinks may refer to something else.
    #[must_use]
    pub fn is_equal_directory(&self, path: &Path) -> bool {
        if let Some(known) = self.equal.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            return *known;
        }
        // The directories are compared from the top, since the content of an equal directory need not be read.
        let is_equal =
            path.parent().is_some_and(|above| self.is_equal_directory(above)) || self.has_equal_id(path);
        self.equal.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_path_buf(), is_equal);
        is_equal
    }

    fn has_equal_id(&self, path: &Path) -> bool {
        let [old, new] = &self.trees;
        old.content_id(path).is_some_and(|id| new.has_content(path, &id))
    }

    /// Returns true if the read of a real path has another result in the other tree.
    #[must_use]
    pub fn differs(&self, path: &Path, aspect: ChangedRead) -> bool {
        let key = (path.to_path_buf(), aspect);
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return *known;
        }
        let is_inside_equal = || path.parent().is_some_and(|above| self.is_equal_directory(above));
        let differs = !match aspect {
            ChangedRead::Content | ChangedRead::Entries if is_inside_equal() => true,
            ChangedRead::Content => self.has_same_content(path),
            ChangedRead::Entries => self.has_same_entries(path),
            ChangedRead::Existence => self.has_same_location(path),
        };
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(key, differs);
        differs
    }

    fn has_same_content(&self, path: &Path) -> bool {
        if self.has_equal_id(path) {
            return true;
        }
        let [old, new] = &self.trees;
        match (old.read(path), new.read(path)) {
            (Ok(old), Ok(new)) => old == new,
            (Err(old), Err(new)) => old.kind() == new.kind() && old.kind() != ErrorKind::Unsupported,
            _ => false,
        }
    }

    fn has_same_entries(&self, path: &Path) -> bool {
        let [old, new] = &self.trees;
        match (old.list(path), new.list(path)) {
            (Ok(old), Ok(new)) => {
                let mut others = new.iter().filter(|entry| entry.kind == FileKind::Other);
                old == new && others.all(|entry| self.has_same_location(&path.join(&entry.name)))
            }
            (Err(old), Err(new)) => self.has_same_absence(path, [&old, &new]),
            _ => false,
        }
    }

    fn has_same_location(&self, path: &Path) -> bool {
        let [old, new] = &self.trees;
        match (old.locate(Path::new(""), path), new.locate(Path::new(""), path)) {
            (Ok(old), Ok(new)) => old == new,
            (Err(old), Err(new)) => self.has_same_absence(path, [&old, &new]),
            // git does not record directories that are empty or contain only ignored files. They may exist on disk.
            _ => false,
        }
    }

    /// Returns true if neither tree has the path. A path that neither tree can read, such as a git submodule, must have
    /// the same object ID in both.
    fn has_same_absence(&self, path: &Path, errors: [&io::Error; 2]) -> bool {
        errors.iter().all(|error| error.kind() != ErrorKind::Unsupported) || self.has_equal_id(path)
    }
}

/// Returns all paths that a build read, each with the aspect on which the build depends.
fn reads(read: &ReadSet) -> impl Iterator<Item = (&PathBuf, ChangedRead)> {
    let files = read.files.iter().chain(&read.program_files).map(|path| (path, ChangedRead::Content));
    let directories = read.directories.iter().map(|path| (path, ChangedRead::Entries));
    let found = read.found.keys().chain(&read.absent).chain(read.links.keys());
    files.chain(directories).chain(found.map(|path| (path, ChangedRead::Existence)))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{MemoryTree, RecordingTree};

    #[test]
    fn only_reads_with_another_result_are_changes() {
        let old = MemoryTree::new([("a/x", "1"), ("a/y", "2"), ("b", "3")]).expect("a tree");
        let new = MemoryTree::new([("a/x", "1"), ("a/z", "2"), ("b", "4")]).expect("a tree");
        let recording = RecordingTree::new(Arc::new(new.clone()));
        let changes = TreeChanges::new(Arc::new(old), Arc::new(new));
        recording.read(Path::new("/a/x")).expect("a file");
        assert!(!changes.affects(&recording.read_set()));
        assert!(!recording.contains(Path::new("/a/y")));
        recording.list(Path::new("/a")).expect("a directory");
        recording.read(Path::new("/b")).expect("a file");
        let changed = changes.changed_reads(&recording.read_set());
        let changed: Vec<_> =
            changed.iter().map(|(path, aspect)| (path.to_str().expect("text"), *aspect)).collect();
        let want =
            [("/b", ChangedRead::Content), ("/a", ChangedRead::Entries), ("/a/y", ChangedRead::Existence)];
        assert_eq!(changed, want);
    }
}
