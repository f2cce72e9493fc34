//! The list of changes in a journal.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::super::stamp;
use super::super::permission::{self, sync_directory};

/// The version of the journal format. Other versions are rejected.
const VERSION: u32 = 1;

/// The list of a complete journal: all content is on disk.
const READY: &str = "list";
/// The list of a journal that is being rolled back.
const TAKING_BACK: &str = "taking-back";

/// An incomplete list.
pub(super) const NEW: &str = "list.new";

/// The files that exist while the journal is needed.
const NAMES: [&str; 2] = [READY, TAKING_BACK];

/// The lock file. It is locked while a journal is used.
pub(super) const LOCK: &str = "lock";

/// The changes to make, in order.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Changes {
    version: u32,
    /// The identity of the lock file in the file system of this machine. The author of a cloned repository cannot know
    /// it, so a journal in the repository is never executed.
    lock: String,
    /// The directories to create, parents first. All paths are relative to the directory that contains the
    /// journal.
    pub directories: Vec<PathBuf>,
    /// The changes of files. The content of the nth change is in the files `n.new` and `n.old`.
    pub files: Vec<ListedChange>,
}

/// The change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListedChange {
    pub path: PathBuf,
    pub way: ChangeMode,
    /// The stamp of the old file when the change was prepared, or `None` if it did not exist.
    pub old: Option<String>,
    /// The stamp of the new content, or `None` to remove the file.
    pub new: Option<String>,
}

/// The method by which a file is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ChangeMode {
    /// Create the file.
    Create,
    /// Replaces the file by a new one.
    Replace,
    /// Writes the new content into the file, since it has several hard links, or an owner that a new file cannot get.
    Write,
    /// Remove the file.
    Remove,
}

/// The state of a journal.
#[derive(Debug)]
pub(super) enum JournalState {
    /// The journal is being prepared. No file was changed.
    Preparing,
    /// The journal is prepared. Any file may have been changed.
    Ready(Changes),
    /// The journal is being rolled back. Some changes may already have been rolled back.
    RollingBack(Changes),
}

impl Changes {
    pub(super) fn new(
        journal: &Path,
        directories: Vec<PathBuf>,
        files: Vec<ListedChange>,
    ) -> io::Result<Self> {
        Ok(Self { version: VERSION, lock: stamp::of_lock(&journal.join(LOCK))?, directories, files })
    }

    /// Writes the list, which completes the preparation. After an interruption from now on, the changes are completed.
    pub(super) fn write(&self, journal: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self)?;
        let new = journal.join(NEW);
        let mut file = File::create(&new)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(new, journal.join(READY))?;
        sync_directory(journal);
        Ok(())
    }

    /// Starts the rollback.
    pub(super) fn start_rollback(journal: &Path) -> io::Result<()> {
        fs::rename(journal.join(READY), journal.join(TAKING_BACK))?;
        sync_directory(journal);
        Ok(())
    }

    /// Removes the list. The rest of the journal is not needed any more.
    pub(super) fn remove(journal: &Path) -> io::Result<()> {
        for name in NAMES {
            match fs::remove_file(journal.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        sync_directory(journal);
        Ok(())
    }

    fn read(journal: &Path, name: &str) -> io::Result<Option<Self>> {
        let path = journal.join(name);
        match fs::symlink_metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
            Ok(_) if !permission::is_file(&path) => {
                return Err(invalid("its list of changes is not a regular file"));
            }
            Ok(_) => {}
        }
        let list: Self = serde_json::from_slice(&fs::read(path)?)?;
        if list.version != VERSION {
            return Err(invalid("it was written by another version of this program"));
        }
        if stamp::of_lock(&journal.join(LOCK))? != list.lock {
            return Err(invalid("it was copied from another directory or machine"));
        }
        let paths = list.directories.iter().chain(list.files.iter().map(|change| &change.path));
        match paths.into_iter().find(|path| !is_below(path)) {
            Some(path) => Err(invalid(&format!(
                "it contains the path {}, which is outside of the directory",
                path.display()
            ))),
            None => Ok(Some(list)),
        }
    }
}

impl JournalState {
    /// Reads the state of a journal.
    pub(super) fn read(journal: &Path) -> io::Result<Self> {
        if let Some(list) = Changes::read(journal, TAKING_BACK)? {
            return Ok(Self::RollingBack(list));
        }
        Ok(Changes::read(journal, READY)?.map_or(Self::Preparing, Self::Ready))
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Returns true if a path is relative and contains only names.
fn is_below(path: &Path) -> bool {
    let is_name = |part| matches!(part, Component::Normal(_));
    path.components().all(is_name) && path.components().next().is_some()
}
