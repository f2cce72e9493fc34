//! Atomic changes of many files: either all or none are made, even if the program is interrupted.
//!
//! The new content is written to a directory `.kubectl-smp-journal` in the changed directory, with hard links to the
//! old files. After all content is on disk, the list of changes is moved into the journal by a rename. If the program
//! is interrupted before that, nothing has changed. If it is interrupted after that, the next program that writes into
//! the directory, or [`recover`], completes all changes or rolls them back.

mod change;
mod commit;
mod list;
mod prepare;
#[cfg(test)]
pub(super) mod testing;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

pub use self::change::{Expected, FileChange, Recovery};
use self::commit::{Attempt, Commit, CommitError};
use self::list::{Changes, JournalState, LOCK};
use super::super::cleanup::{self, TemporaryKind};
use super::super::lock::{LockMode, lock, lock_for_reading};
use super::super::tree::FileTree;
use super::error::{with_unchanged_note, write_error};
use super::permission;
use super::resolve::create_directories;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The time that reading a directory waits for a write in progress. Changes are prepared before, so a write is short.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// The directory of a journal.
pub const JOURNAL: &str = ".kubectl-smp-journal";

/// Changes files in and below a directory: all of them, or none.
///
/// An interrupted write in the directory is completed or rolled back first. Files keep their mode and owner. A file
/// with several hard links keeps them.
///
/// # Errors
/// A file cannot be written or removed, is read-only, is outside of the directory, has two changes, or is not in the
/// expected state. In that case, no file is changed.
pub fn change_files(directory: &Path, changes: &[FileChange<'_>]) -> Result<()> {
    if changes.is_empty() {
        return Ok(());
    }
    let created = NewDirectories::new(directory)?;
    let changed = change_all(directory, changes);
    if changed.is_ok() {
        created.keep();
    }
    changed
}

/// Completes or rolls back an interrupted write in a directory.
///
/// # Errors
/// The path is not a directory, another program is writing and `waiting` is `Try`, or the journal is invalid.
pub fn recover(directory: &Path, waiting: LockMode) -> Result<Recovery> {
    let root = real(directory)?;
    if fs::symlink_metadata(root.join(JOURNAL)).is_err() {
        return Ok(Recovery::Nothing);
    }
    Journal::open(&root, waiting, &root)?.recover()
}

/// Completes or rolls back an interrupted write in a directory or in a parent directory. If it were completed later, it
/// would overwrite files that are written now.
///
/// # Errors
/// The errors of [`recover`].
pub fn recover_directory_and_parents(directory: &Path) -> Result<()> {
    match find_interrupted(directory) {
        Some(root) => Journal::open(&root, LockMode::Wait, &root)?.recover().map(drop),
        None => Ok(()),
    }
}

/// Checks that no interrupted write is pending for a directory. Otherwise its files could be a mix of old and new ones.
/// Waits for a write that is in progress, but at most 5 seconds.
///
/// # Errors
/// A write to the directory or to a parent directory is in progress or was interrupted.
pub fn check_no_pending_write(tree: &dyn FileTree, directory: &Path) -> Result<()> {
    if !tree.is_on_disk() {
        return Ok(());
    }
    let start = Instant::now();
    while let Some(root) = find_interrupted(directory) {
        // While the lock is held, no program changes the journal.
        let lock = lock_for_reading(&root.join(JOURNAL).join(LOCK));
        let is_interrupted = lock.is_some() && find_interrupted(directory).as_ref() == Some(&root);
        if is_interrupted || start.elapsed() >= WRITE_TIMEOUT {
            return Err(partially_written(&root));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn partially_written(root: &Path) -> Diagnostic {
    let shown = root.display();
    let message = format!("{shown} is partially written: a write is in progress or was interrupted");
    Diagnostic::error(Code::Io, message).help(format!("run `kubectl smp recover {shown}`"))
}

/// Returns the directory or nearest parent directory with an interrupted write. Journals that were not written on this
/// machine are ignored.
fn find_interrupted(directory: &Path) -> Option<PathBuf> {
    let real = directory.is_relative().then(|| directory.canonicalize().ok());
    let real = real.flatten().unwrap_or_else(|| directory.to_path_buf());
    let is_interrupted = |root: &&Path| {
        let journal = root.join(JOURNAL);
        fs::symlink_metadata(&journal).is_ok_and(|metadata| metadata.is_dir())
            && matches!(
                JournalState::read(&journal),
                Ok(JournalState::Ready(_) | JournalState::RollingBack(_))
            )
    };
    real.ancestors().find(is_interrupted).map(Path::to_path_buf)
}

fn change_all(directory: &Path, changes: &[FileChange<'_>]) -> Result<()> {
    let root = real(directory)?;
    recover_directory_and_parents(&root)?;
    let first = changes.first().map_or(directory, |change| change.path);
    let journal = Journal::open(&root, LockMode::Wait, first)?;
    if journal.is_pending() {
        // Another program was just interrupted, or the journal is invalid.
        journal.recover()?;
        return change_all(directory, changes);
    }
    let prepared = journal.prepare(changes);
    match prepared {
        Ok(Some(changes)) => journal.commit(&changes),
        Ok(None) => journal.discard(),
        Err(error) => {
            // The first error is more specific.
            let _ = journal.discard();
            Err(error)
        }
    }
}

/// Directories that are created for files. They are removed unless the files are written.
struct NewDirectories(Vec<PathBuf>);

impl NewDirectories {
    /// Creates a directory and its missing parents.
    fn new(directory: &Path) -> Result<Self> {
        let mut registered = cleanup::lock_registered();
        let above = directory.ancestors().filter(|path| !path.as_os_str().is_empty());
        let missing = above.take_while(|path| fs::symlink_metadata(path).is_err()).map(Path::to_path_buf);
        let created = Self(missing.collect());
        created.0.iter().for_each(|path| registered.add(path, TemporaryKind::EmptyDirectory));
        drop(registered);
        let done = create_directories(directory);
        done.map_err(|error| {
            let message = format!("cannot create directory {}: {error}", directory.display());
            Diagnostic::error(Code::Io, message).help("use another directory")
        })?;
        Ok(created)
    }

    /// Keeps the directories.
    fn keep(mut self) {
        let mut registered = cleanup::lock_registered();
        self.0.drain(..).for_each(|path| registered.remove(&path));
    }
}

impl Drop for NewDirectories {
    fn drop(&mut self) {
        let mut registered = cleanup::lock_registered();
        for path in &self.0 {
            // A directory to which another program has added files cannot be removed, and is kept.
            let _ = fs::remove_dir(path);
            registered.remove(path);
        }
    }
}

fn real(directory: &Path) -> Result<PathBuf> {
    let is_directory =
        |real: PathBuf| if real.is_dir() { Ok(real) } else { Err(io::ErrorKind::NotADirectory.into()) };
    let found = directory.canonicalize().and_then(is_directory);
    found.map_err(|error| Diagnostic::error(Code::Io, format!("{}: {error}", directory.display())))
}

/// The locked journal of a directory.
struct Journal<'r> {
    root: &'r Path,
    path: PathBuf,
    _lock: File,
}

impl<'r> Journal<'r> {
    /// Opens the journal. `written` is named in the error for a directory in which nothing can be created.
    fn open(root: &'r Path, waiting: LockMode, written: &Path) -> Result<Self> {
        let path = root.join(JOURNAL);
        let failed = |error: io::Error| {
            let is_denied =
                matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem);
            with_unchanged_note(write_error(if is_denied { written } else { &path }, &error))
        };
        loop {
            if let Some(journal) = Self::try_open(root, &path).map_err(&failed)? {
                return Ok(journal);
            }
            if waiting == LockMode::Try {
                return Err(in_use(root));
            }
            match lock(&path.join(LOCK), waiting) {
                // The previous holder has just removed the directory.
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
        }
    }

    /// Creates and locks the journal. Returns `None` if another program holds the lock. Only a journal without pending
    /// changes is registered to be removed when the program is terminated.
    fn try_open(root: &'r Path, path: &Path) -> io::Result<Option<Self>> {
        let mut registered = cleanup::lock_registered();
        permission::make_private_directory(path)?;
        match lock(&path.join(LOCK), LockMode::Try) {
            Ok(None) => Ok(None),
            Ok(Some(lock)) => {
                let journal = Self { root, path: path.to_path_buf(), _lock: lock };
                if !journal.is_pending() {
                    registered.add(path, TemporaryKind::FileOrDirectory);
                }
                Ok(Some(journal))
            }
            // The previous holder has just removed the directory.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                let _ = fs::remove_dir(path);
                Err(error)
            }
        }
    }

    /// Returns true if changes are pending or the journal is invalid.
    fn is_pending(&self) -> bool {
        !matches!(JournalState::read(&self.path), Ok(JournalState::Preparing))
    }

    /// Prepares the content of all changes. Returns `None` if there is nothing to do.
    fn prepare(&self, changes: &[FileChange<'_>]) -> Result<Option<Changes>> {
        self.clear().map_err(|error| with_unchanged_note(write_error(&self.path, &error)))?;
        let plan = prepare::plan(changes, self.root)?;
        if plan.is_empty() { Ok(None) } else { plan.prepare(&self.path, self.root).map(Some) }
    }

    /// Makes prepared changes. Rolls them back if one of them fails.
    fn commit(self, changes: &Changes) -> Result<()> {
        // While this guard exists, `cleanup::remove_all` waits.
        let mut registered = cleanup::lock_registered();
        registered.remove(&self.path);
        let failed =
            |CommitError { path, cause }: CommitError| with_unchanged_note(write_error(&path, &cause));
        let ready = Commit::new(changes, self.root, &self.path).map_err(failed).and_then(|commit| {
            commit.check().map_err(failed)?;
            changes
                .write(&self.path)
                .map_err(|error| with_unchanged_note(write_error(&self.path, &error)))?;
            Ok(commit)
        });
        let done = ready.and_then(|commit| {
            let Err(failure) = commit.make(Attempt::First) else { return self.finish() };
            let problem = write_error(&failure.path, &failure.cause);
            Err(match self.roll_back(&commit) {
                Ok(()) => with_unchanged_note(problem),
                Err(other) => other.note(format!("the first error was: {}", problem.message())),
            })
        });
        let removed = self.remove();
        done.and(removed)
    }

    /// Completes or rolls back the interrupted write of another program.
    fn recover(self) -> Result<Recovery> {
        // While this guard exists, `cleanup::remove_all` waits.
        let mut registered = cleanup::lock_registered();
        registered.remove(&self.path);
        let recovery = match JournalState::read(&self.path).map_err(|error| self.invalid_journal(&error))? {
            JournalState::Preparing => Recovery::Discarded,
            JournalState::RollingBack(changes) => {
                self.roll_back(&self.open_interrupted(&changes)?)?;
                Recovery::RolledBack(changes.files.len())
            }
            JournalState::Ready(changes) => {
                let commit = self.open_interrupted(&changes)?;
                match commit.make(Attempt::Again) {
                    Ok(()) => self.finish().map(|()| Recovery::Finished(changes.files.len()))?,
                    Err(_) => self.roll_back(&commit).map(|()| Recovery::RolledBack(changes.files.len()))?,
                }
            }
        };
        self.remove().map(|()| recovery)
    }

    /// Opens an interrupted write. Fails if a file has changed since then, because it must not be overwritten.
    fn open_interrupted<'c>(&'c self, changes: &'c Changes) -> Result<Commit<'c>> {
        let commit = Commit::new(changes, self.root, &self.path);
        commit.and_then(|commit| commit.check().map(|()| commit)).map_err(|CommitError { path, cause }| {
            let journal = self.path.display();
            write_error(&path, &cause)
                .note(format!(
                    "the write of another program was interrupted; its old and new content is in {journal}"
                ))
                .help(format!("copy the content that you need, then remove {journal}"))
        })
    }

    fn roll_back(&self, commit: &Commit<'_>) -> Result<()> {
        let started = match JournalState::read(&self.path) {
            Ok(JournalState::RollingBack(_)) => Ok(()),
            _ => Changes::start_rollback(&self.path),
        };
        started.map_err(|error| write_error(&self.path, &error))?;
        commit.roll_back().map_err(|CommitError { path, cause }| {
            let root = self.root.display();
            write_error(&path, &cause)
                .note(format!("the old content is in {}", self.path.display()))
                .help(format!("make the file writable, then run `kubectl smp recover {root}`"))
        })?;
        self.finish()
    }

    /// Marks the changes as done.
    fn finish(&self) -> Result<()> {
        Changes::remove(&self.path).map_err(|error| write_error(&self.path, &error))
    }

    /// Removes prepared content (`N.new`, `N.old`, the list), but not the lock and unrelated files.
    fn clear(&self) -> io::Result<()> {
        let is_prepared = |name: &OsStr| {
            let (stem, kind) = (Path::new(name).file_stem(), Path::new(name).extension());
            let is_number = stem.and_then(OsStr::to_str).is_some_and(|stem| stem.parse::<usize>().is_ok());
            (is_number && kind.is_some_and(|kind| kind == "new" || kind == "old")) || name == list::NEW
        };
        for entry in fs::read_dir(&self.path)?.flatten().filter(|entry| is_prepared(&entry.file_name())) {
            fs::remove_file(entry.path())?;
        }
        Ok(())
    }

    /// Removes the journal if nothing was changed.
    fn discard(self) -> Result<()> {
        let _registered = cleanup::lock_registered();
        self.remove()
    }

    /// Removes the journal unless changes are pending. The caller must hold the lock of the registered paths, so that
    /// the program is not terminated in between.
    fn remove(&self) -> Result<()> {
        if self.is_pending() {
            return Ok(());
        }
        let removed = self.clear().and_then(|()| {
            fs::remove_file(self.path.join(LOCK))?;
            match fs::remove_dir(&self.path) {
                // Another program that waited for the lock has created a new file in the directory.
                Err(error) if error.kind() != io::ErrorKind::DirectoryNotEmpty => Err(error),
                _ => Ok(()),
            }
        });
        removed.map_err(|error| {
            let message = format!("cannot remove {}: {error}", self.path.display());
            Diagnostic::error(Code::Io, message).help("remove it: it contains no pending changes")
        })
    }

    fn invalid_journal(&self, error: &io::Error) -> Diagnostic {
        let message = format!("invalid journal {}: {error}", self.path.display());
        Diagnostic::error(Code::Io, message)
            .note("a journal describes how to complete an interrupted write")
            .help(
                "compare its content with the files, then remove it; a journal from elsewhere is never used",
            )
    }
}

impl Drop for Journal<'_> {
    fn drop(&mut self) {
        cleanup::lock_registered().remove(&self.path);
    }
}

fn in_use(root: &Path) -> Diagnostic {
    let message = format!("another program is writing to {}", root.display());
    Diagnostic::error(Code::Io, message).help("try again when it has finished")
}
