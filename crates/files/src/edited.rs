//! A tree with edited files.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::tree::{DirectoryEntry, FileTree, Located, OpenFile};

/// The files of another tree, some with changed content, so that a change can be tried before it is written.
#[derive(Debug)]
pub struct EditedTree {
    tree: Arc<dyn FileTree>,
    /// The changed content, by real path.
    texts: BTreeMap<PathBuf, Arc<[u8]>>,
}

impl EditedTree {
    /// Creates a tree with changed content for some files, by their real paths.
    #[must_use]
    pub fn new(tree: Arc<dyn FileTree>, texts: impl IntoIterator<Item = (PathBuf, String)>) -> Self {
        let texts = texts.into_iter().map(|(path, text)| (path, text.into_bytes().into())).collect();
        Self { tree, texts }
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
        if let Ok(found) = self.tree.locate(Path::new(""), path)
            && let Some(text) = self.texts.get(found.path())
        {
            return Ok(OpenFile::in_memory(found.into_path(), Arc::clone(text)));
        }
        self.tree.open(path)
    }

    fn open_stream(&self, path: &Path) -> io::Result<OpenFile> {
        self.tree.open_stream(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<DirectoryEntry>> {
        self.tree.list(directory)
    }

    fn is_on_disk(&self) -> bool {
        self.tree.is_on_disk()
    }

    fn record_program_access(&self, path: &Path) {
        self.tree.record_program_access(path);
    }
}
