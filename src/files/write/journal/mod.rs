//! Many files: all of them, or none, whatever stops the program.
//!
//! The new texts are written to a directory `.kubectl-smp-journal` in the directory that is changed, with
//! links to the old files. A list, renamed into it when all texts are on the disk, is the point from which
//! on the changes are made: before it a stopped program has changed nothing, after it the next one that
//! writes there, or [`recover`], makes those that are missing, or takes all of them back.

mod change;
mod commit;
mod list;
mod prepare;
#[cfg(test)]
pub(super) mod testing;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

pub use self::change::{FileChange, Recovery};
use self::commit::NotMade;
use self::list::{Changes, JournalState, LOCK};
use super::super::cleanup;
use super::super::lock::{Waiting, lock};
use super::super::tree::FileTree;
use super::create_directories;
use super::replace::not_written;
use crate::diagnostic::{Code, Diagnostic, Result};

/// The directory of a journal.
const JOURNAL: &str = ".kubectl-smp-journal";

/// Changes files in and below a directory: all of them, or none.
///
/// What an earlier program left unfinished there is ended first. Files keep their mode and owner; one with
/// several names keeps them.
///
/// # Errors
/// A file cannot be written or removed, is read-only, or is elsewhere. All is then as it was before.
pub fn change_files(directory: &Path, changes: &[FileChange<'_>]) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let made = make_root(directory)?;
    let changed = change_all(directory, changes);
    if changed.is_err() {
        // What others put there meanwhile stays.
        made.iter().rev().for_each(|directory| drop(fs::remove_dir(directory)));
    }
    changed
}

/// Ends what a program began to change in a directory and did not end.
///
/// # Errors
/// It is no directory, is being changed just now and nobody waits, or has a journal that cannot be followed.
pub fn recover(directory: &Path, waiting: Waiting) -> Result<Recovery> {
    let root = real(directory)?;
    if fs::symlink_metadata(root.join(JOURNAL)).is_err() {
        return Ok(Recovery::Nothing);
    }
    Journal::open(&root, waiting)?.recover()
}

/// Fails for a directory that was changed in part only: what is read there is neither old nor new.
///
/// # Errors
/// Somebody began to change it and did not end, or is about to end.
pub fn check_finished(tree: &dyn FileTree, directory: &Path) -> Result<()> {
    let journal = directory.join(JOURNAL);
    if !tree.has(&journal) || list::NAMES.iter().all(|name| !tree.has(&journal.join(name))) {
        return Ok(());
    }
    let shown = directory.display();
    let message = format!("{shown} is changed in part: a program was stopped, or is at it just now");
    Err(Diagnostic::error(Code::Io, message).help(format!("run `kubectl smp recover {shown}`")))
}

fn change_all(directory: &Path, changes: &[FileChange<'_>]) -> Result<()> {
    let root = real(directory)?;
    if fs::symlink_metadata(root.join(JOURNAL)).is_ok() {
        // Where the changes go may depend on what is ended first.
        Journal::open(&root, Waiting::UntilFree)?.recover()?;
    }
    let plan = prepare::plan(changes, &root)?;
    if plan.is_empty() {
        return Ok(());
    }
    let journal = Journal::open(&root, Waiting::UntilFree)?;
    if journal.is_needed() {
        // Another program was stopped just now.
        drop(journal);
        return change_all(directory, changes);
    }
    journal.clear().map_err(|error| not_written(&journal.path, &error).note("no file was changed"))?;
    match plan.prepare(&journal.path, &root) {
        Ok(changes) => journal.commit(&changes),
        Err(error) => {
            let _notes = cleanup::notes();
            journal.remove().and(Err(error))
        }
    }
}

/// Makes the directory; returns what was made, the outer ones first.
fn make_root(directory: &Path) -> Result<Vec<PathBuf>> {
    let above = directory.ancestors().filter(|path| !path.as_os_str().is_empty());
    let mut made: Vec<_> =
        above.take_while(|path| fs::symlink_metadata(path).is_err()).map(Path::to_path_buf).collect();
    made.reverse();
    create_directories(directory).map_err(|error| {
        made.iter().rev().for_each(|directory| drop(fs::remove_dir(directory)));
        let message = format!("the directory {} cannot be made: {error}", directory.display());
        Diagnostic::error(Code::Io, message).help("name another directory")
    })?;
    Ok(made)
}

fn real(directory: &Path) -> Result<PathBuf> {
    let is_directory =
        |real: PathBuf| if real.is_dir() { Ok(real) } else { Err(io::ErrorKind::NotADirectory.into()) };
    let found = directory.canonicalize().and_then(is_directory);
    found.map_err(|error| Diagnostic::error(Code::Io, format!("{}: {error}", directory.display())))
}

/// The journal of a directory, which nobody else has.
struct Journal<'r> {
    root: &'r Path,
    path: PathBuf,
    _lock: File,
}

impl<'r> Journal<'r> {
    fn open(root: &'r Path, waiting: Waiting) -> Result<Self> {
        let path = root.join(JOURNAL);
        let failed = |error: io::Error| not_written(&path, &error).note("no file was changed");
        loop {
            let made = cleanup::make(|| make_directory(&path).map(|()| path.clone()), PathBuf::as_path);
            made.map_err(failed)?;
            match lock(&path.join(LOCK), waiting) {
                Ok(Some(lock)) => return Ok(Self { root, path, _lock: lock }),
                Ok(None) => {
                    cleanup::notes().remove(&path);
                    return Err(in_use(root));
                }
                // Who had it was done just now, and removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Whether changes were begun and not ended.
    fn is_needed(&self) -> bool {
        !matches!(JournalState::of(&self.path), Ok(JournalState::Preparing))
    }

    /// Makes prepared changes; takes them back when one cannot be made.
    fn commit(self, changes: &Changes) -> Result<()> {
        // From here on the program is not ended before all is done.
        let mut notes = cleanup::notes();
        notes.remove(&self.path);
        let failed = |error: io::Error| not_written(&self.path, &error).note("no file was changed");
        let done = changes.write(&self.path).map_err(failed).and_then(|()| {
            let Err(failure) = commit::make(changes, &self.path, self.root) else { return self.end() };
            let problem = not_written(&failure.path, &failure.cause);
            Err(match self.take_back(changes) {
                Ok(()) => problem.note("no file was changed"),
                Err(other) => {
                    problem.note(format!("what was done cannot be taken back: {}", other.message()))
                }
            })
        });
        let removed = self.remove();
        done.and(removed)
    }

    /// Ends what another program began.
    fn recover(self) -> Result<Recovery> {
        let mut notes = cleanup::notes();
        notes.remove(&self.path);
        let recovery = match JournalState::of(&self.path).map_err(|error| self.not_understood(&error))? {
            JournalState::Preparing => Recovery::Dropped,
            JournalState::TakingBack(changes) => self.take_back(&changes).map(|()| changes.taken_back())?,
            JournalState::Ready(changes) => match commit::make(&changes, &self.path, self.root) {
                Ok(()) => self.end().map(|()| Recovery::Finished(changes.files.len()))?,
                Err(_) => self.take_back(&changes).map(|()| changes.taken_back())?,
            },
        };
        self.remove().map(|()| recovery)
    }

    fn take_back(&self, changes: &Changes) -> Result<()> {
        let noted = match JournalState::of(&self.path) {
            Ok(JournalState::TakingBack(_)) => Ok(()),
            _ => Changes::take_back(&self.path),
        };
        noted.map_err(|error| not_written(&self.path, &error))?;
        commit::take_back(changes, &self.path, self.root).map_err(|NotMade { path, cause }| {
            let root = self.root.display();
            not_written(&path, &cause)
                .note(format!("the old texts are in {}", self.path.display()))
                .help(format!("make it writable, then run `kubectl smp recover {root}`"))
        })?;
        self.end()
    }

    /// Notes that all is done.
    fn end(&self) -> Result<()> {
        Changes::remove(&self.path).map_err(|error| not_written(&self.path, &error))
    }

    /// Removes what another program prepared, but not the lock.
    fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)?.flatten().filter(|entry| entry.file_name() != LOCK) {
            fs::remove_file(entry.path())?;
        }
        Ok(())
    }

    /// Removes the journal, unless it is needed to take changes back. Only who has the notes may, so that
    /// nobody is ended in between.
    fn remove(self) -> Result<()> {
        if self.is_needed() {
            return Ok(());
        }
        let removed = self.clear().and_then(|()| {
            fs::remove_file(self.path.join(LOCK))?;
            match fs::remove_dir(&self.path) {
                // Somebody who waited for the lock made another one.
                Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => Err(error),
                _ => Ok(()),
            }
        });
        removed.map_err(|error| {
            let message = format!("{} cannot be removed: {error}", self.path.display());
            Diagnostic::error(Code::Io, message).help("remove it: what it was for is done")
        })
    }

    fn not_understood(&self, error: &io::Error) -> Diagnostic {
        let message = format!("the journal {} cannot be followed: {error}", self.path.display());
        Diagnostic::error(Code::Io, message)
            .note("it says how to end changes that a program began and did not end")
            .help("compare its texts with the files, then remove it; nobody else should have put it there")
    }
}

/// A journal is a directory of its own; nobody is led elsewhere by it.
fn make_directory(path: &Path) -> io::Result<()> {
    match fs::create_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let is_directory = fs::symlink_metadata(path)?.is_dir();
            if is_directory { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) }
        }
        other => other,
    }
}

fn in_use(root: &Path) -> Diagnostic {
    let message = format!("{} is being changed by another program", root.display());
    Diagnostic::error(Code::Io, message).help("wait until it is done")
}
