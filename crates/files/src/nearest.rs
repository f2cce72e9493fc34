//! Search for a file in a directory and its parent directories.

use std::path::{Path, PathBuf};

use super::disk::DiskTree;
use super::tree::{FileKind, FileTree};

/// The reason why the nearest file is rejected.
#[derive(Debug)]
pub enum RejectedFile {
    /// The file is not a regular file, but a symlink, for example. A repository must not be able to make the program
    /// read another file.
    NotRegular(PathBuf),
    /// The file is in a parent directory and belongs to another user, who may have put it there to change the
    /// configuration of others.
    OtherOwner(PathBuf),
}

impl RejectedFile {
    /// Returns the message about the file. `directory` is the directory from which it was found.
    pub fn message(&self, directory: &Path) -> String {
        match self {
            Self::NotRegular(file) => format!("{} is not a regular file", file.display()),
            Self::OtherOwner(file) => {
                format!("{} and {} have different owners", file.display(), directory.display())
            }
        }
    }
}

/// Finds the nearest file with a name, in a real directory or its parents.
pub fn nearest_file(
    tree: &dyn FileTree,
    directory: &Path,
    name: &str,
) -> Result<Option<PathBuf>, RejectedFile> {
    let exists = |path: &PathBuf| tree.contains(path) || tree.is_link(path);
    let Some(file) = directory.ancestors().map(|above| above.join(name)).find(exists) else {
        return Ok(None);
    };
    let found = tree.locate(Path::new(""), &file);
    if !found.is_ok_and(|found| found.path() == file && found.kind() == FileKind::File) {
        return Err(RejectedFile::NotRegular(file));
    }
    let is_trusted =
        !tree.is_on_disk() || file.parent() == Some(directory) || DiskTree::is_trusted(&file, directory);
    if is_trusted { Ok(Some(file)) } else { Err(RejectedFile::OtherOwner(file)) }
}
