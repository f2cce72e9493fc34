//! A tree with edited files.

use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::tree::{DirectoryEntry, FileTree, Located, OpenFile};

/// The files of another tree with changed content for some of them, so that a change can be tested before it is
/// written.
#[derive(Debug)]
pub struct EditedTree {
    tree: Arc<dyn FileTree>,
    /// The changed content, by real path.
    contents: Arc<BTreeMap<PathBuf, Arc<[u8]>>>,
}

impl EditedTree {
    /// Creates a tree with changed content for some files, by their real paths.
    #[must_use]
    pub fn new(tree: Arc<dyn FileTree>, texts: impl IntoIterator<Item = (PathBuf, String)>) -> Self {
        let contents = texts.into_iter().map(|(path, text)| (path, text.into_bytes().into()));
        Self { tree, contents: Arc::new(contents.collect()) }
    }

    /// Opens a file with changed content. Returns `None` for any other file.
    fn open_edited(&self, path: &Path) -> Option<OpenFile> {
        let found = self.tree.locate(Path::new(""), path).ok()?;
        let content = self.contents.get(found.path())?;
        Some(OpenFile::in_memory(found.into_path(), Arc::clone(content)))
    }
}

impl FileTree for EditedTree {
    fn working_directory(&self) -> io::Result<PathBuf> {
        self.tree.working_directory()
    }

    fn locate(&self, from: &Path, path: &Path) -> io::Result<Located> {
        self.tree.locate(from, path)
    }

    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        self.open_edited(path).map_or_else(|| self.tree.open(path), Ok)
    }

    fn open_stream(&self, path: &Path) -> io::Result<OpenFile> {
        self.open_edited(path).map_or_else(|| self.tree.open_stream(path), Ok)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<DirectoryEntry>> {
        self.tree.list(directory)
    }

    fn is_on_disk(&self) -> bool {
        self.tree.is_on_disk()
    }

    fn is_link(&self, path: &Path) -> bool {
        self.tree.is_link(path)
    }

    fn part(&self) -> Option<Arc<dyn FileTree>> {
        Some(Arc::new(Self { tree: self.tree.part()?, contents: Arc::clone(&self.contents) }))
    }

    fn record_dependency(&self, part: &Arc<dyn FileTree>) {
        self.tree.record_dependency(part);
    }

    fn recording(&self) -> Option<Box<dyn Any>> {
        self.tree.recording()
    }

    fn record_program_access(&self, path: &Path) {
        self.tree.record_program_access(path);
    }
}
