//! The nearest file of a name, from a directory upwards.

use std::path::{Path, PathBuf};

use super::disk::DiskTree;
use super::tree::{FileKind, FileTree};

/// Why the nearest file is not used.
#[derive(Debug)]
pub enum Distrust {
    /// It is a link, a directory and the like: what came with a repository shall not choose another file to be read.
    NoFile(PathBuf),
    /// It lies above the directory and belongs to another user, who may have put it there for others to find.
    OfAnother(PathBuf),
}

impl Distrust {
    /// What is wrong with the file that is found from a directory.
    pub fn message(&self, directory: &Path) -> String {
        match self {
            Self::NoFile(file) => format!("{} is no file of its own", file.display()),
            Self::OfAnother(file) => {
                format!("{} belongs to another user than {}", file.display(), directory.display())
            }
        }
    }
}

/// The nearest file of a name in a real directory and those above.
pub fn nearest_file(tree: &dyn FileTree, directory: &Path, name: &str) -> Result<Option<PathBuf>, Distrust> {
    let is_there = |path: &PathBuf| tree.has(path) || (tree.is_on_disk() && DiskTree::is_link(path));
    let Some(file) = directory.ancestors().map(|above| above.join(name)).find(is_there) else {
        return Ok(None);
    };
    let found = tree.locate(Path::new(""), &file);
    if !found.is_ok_and(|found| found.path() == file && found.kind() == FileKind::File) {
        return Err(Distrust::NoFile(file));
    }
    let is_ours =
        !tree.is_on_disk() || file.parent() == Some(directory) || DiskTree::is_trusted(&file, directory);
    if is_ours { Ok(Some(file)) } else { Err(Distrust::OfAnother(file)) }
}
