//! What a journal says is to be done.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::super::stamp;
use super::super::permission::{self, sync_directory};
use super::change::Recovery;

/// The layout of journals; others are not understood.
const VERSION: u32 = 1;

/// The list of a journal whose texts are all on the disk.
const READY: &str = "list";
/// The same when what was done is being taken back.
const TAKING_BACK: &str = "taking-back";

/// A list that is not whole yet.
pub(super) const NEW: &str = "list.new";

/// What a journal has as long as it is needed.
const NAMES: [&str; 2] = [READY, TAKING_BACK];

/// What shows that nobody else uses a journal.
pub(super) const LOCK: &str = "lock";

/// What is to be done, in order.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Changes {
    version: u32,
    /// What the lock is to the file system of this machine. Who only has files written here, such as the
    /// author of a repository that is cloned, cannot know it, and so gets nothing changed by a journal.
    lock: String,
    /// Directories that are made, the outer ones first; below the directory that the journal is in, as all
    /// paths are.
    pub directories: Vec<PathBuf>,
    /// The texts of the nth change are `n.new` and `n.old`.
    pub files: Vec<ListedChange>,
}

/// What becomes of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListedChange {
    pub path: PathBuf,
    pub way: Way,
    /// The stamp of what was there when it was prepared; none: nothing.
    pub old: Option<String>,
    /// The stamp of the new text; none: the file goes.
    pub new: Option<String>,
}

/// How a file is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Way {
    /// It is made.
    Create,
    /// A new file takes its name.
    Replace,
    /// The new text is written into it, since it has other names, or an owner that another file cannot have.
    Write,
    /// It goes.
    Remove,
}

/// How far a journal came.
#[derive(Debug)]
pub(super) enum JournalState {
    /// Nothing was changed.
    Preparing,
    /// Everything may have been changed.
    Ready(Changes),
    /// Some may have been taken back.
    TakingBack(Changes),
}

impl Changes {
    pub(super) fn new(
        journal: &Path,
        directories: Vec<PathBuf>,
        files: Vec<ListedChange>,
    ) -> io::Result<Self> {
        Ok(Self { version: VERSION, lock: stamp::of_lock(&journal.join(LOCK))?, directories, files })
    }

    pub(super) fn taken_back(&self) -> Recovery {
        Recovery::TakenBack(self.files.len())
    }

    /// Says that all is prepared: from now on the changes are made, whatever happens.
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

    /// Says that what was done is taken back.
    pub(super) fn take_back(journal: &Path) -> io::Result<()> {
        fs::rename(journal.join(READY), journal.join(TAKING_BACK))?;
        sync_directory(journal);
        Ok(())
    }

    /// Says that all is done: what is left of the journal is of no use.
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
            Ok(_) if !permission::is_file(&path) => return Err(strange("its list is no file")),
            Ok(_) => {}
        }
        let list: Self = serde_json::from_slice(&fs::read(path)?)?;
        if list.version != VERSION {
            return Err(strange("another version of this program wrote it"));
        }
        if stamp::of_lock(&journal.join(LOCK))? != list.lock {
            return Err(strange("it was not written here, but copied"));
        }
        let paths = list.directories.iter().chain(list.files.iter().map(|change| &change.path));
        match paths.into_iter().find(|path| !is_below(path)) {
            Some(path) => Err(strange(&format!("it names {}, which is elsewhere", path.display()))),
            None => Ok(Some(list)),
        }
    }
}

impl JournalState {
    /// How far a journal came.
    pub(super) fn of(journal: &Path) -> io::Result<Self> {
        if let Some(list) = Changes::read(journal, TAKING_BACK)? {
            return Ok(Self::TakingBack(list));
        }
        Ok(Changes::read(journal, READY)?.map_or(Self::Preparing, Self::Ready))
    }
}

fn strange(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

/// Whether a path leads down only, as far as its text says.
fn is_below(path: &Path) -> bool {
    let is_name = |part| matches!(part, Component::Normal(_));
    path.components().all(is_name) && path.components().next().is_some()
}
