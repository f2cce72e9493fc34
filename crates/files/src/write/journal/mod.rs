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

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

pub use self::change::{Expected, FileChange, Recovery};
use self::commit::{Attempt, Commit, NotMade};
use self::list::{Changes, JournalState, LOCK};
use super::super::cleanup::{self, Leftover};
use super::super::lock::{Waiting, lock};
use super::super::tree::FileTree;
use super::permission;
use super::place::create_directories;
use super::problem::{not_written, unchanged};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The directory of a journal.
pub const JOURNAL: &str = ".kubectl-smp-journal";

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
    let made = MadeDirectories::new(directory)?;
    let changed = change_all(directory, changes);
    if changed.is_ok() {
        made.keep();
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

/// Ends what a program began to change in a directory, or one that it is in, and did not end: it would be
/// written over what is written there now.
///
/// # Errors
/// As [`recover`].
pub fn end_unfinished(directory: &Path) -> Result<()> {
    match unfinished(directory) {
        Some(root) => Journal::open(&root, Waiting::UntilFree)?.recover().map(drop),
        None => Ok(()),
    }
}

/// Fails for a directory that was changed in part only: what is read there is neither old nor new.
///
/// # Errors
/// Somebody began to change it, or one that it is in, and did not end, or is about to end.
pub fn check_finished(tree: &dyn FileTree, directory: &Path) -> Result<()> {
    let Some(root) = tree.is_on_disk().then(|| unfinished(directory)).flatten() else { return Ok(()) };
    let shown = root.display();
    let message = format!("{shown} is changed in part: a program was stopped, or is at it just now");
    Err(Diagnostic::error(Code::Io, message).help(format!("run `kubectl smp recover {shown}`")))
}

/// The nearest directory upward with changes that were begun and not ended. Journals that nobody wrote here
/// say nothing.
fn unfinished(directory: &Path) -> Option<PathBuf> {
    let real = directory.is_relative().then(|| directory.canonicalize().ok());
    let real = real.flatten().unwrap_or_else(|| directory.to_path_buf());
    let is_unfinished = |root: &&Path| {
        let journal = root.join(JOURNAL);
        fs::symlink_metadata(&journal).is_ok_and(|there| there.is_dir())
            && matches!(JournalState::of(&journal), Ok(JournalState::Ready(_) | JournalState::TakingBack(_)))
    };
    real.ancestors().find(is_unfinished).map(Path::to_path_buf)
}

fn change_all(directory: &Path, changes: &[FileChange<'_>]) -> Result<()> {
    let root = real(directory)?;
    end_unfinished(&root)?;
    let journal = Journal::open(&root, Waiting::UntilFree)?;
    if journal.is_needed() {
        // Another program was stopped just now, or somebody else wrote it.
        journal.recover()?;
        return change_all(directory, changes);
    }
    let prepared = journal.prepare(changes);
    match prepared {
        Ok(Some(changes)) => journal.commit(&changes),
        Ok(None) => journal.give_up(),
        Err(error) => {
            // The first error says more.
            let _ = journal.give_up();
            Err(error)
        }
    }
}

/// Directories that are made for files, and go with them.
struct MadeDirectories(Vec<PathBuf>);

impl MadeDirectories {
    /// Makes a directory, and those that it is in, unless they are there.
    fn new(directory: &Path) -> Result<Self> {
        let mut notes = cleanup::notes();
        let above = directory.ancestors().filter(|path| !path.as_os_str().is_empty());
        let made = above.take_while(|path| fs::symlink_metadata(path).is_err()).map(Path::to_path_buf);
        let made = Self(made.collect());
        made.0.iter().for_each(|path| notes.add(path, Leftover::EmptyDirectory));
        drop(notes);
        let done = create_directories(directory);
        done.map_err(|error| {
            let message = format!("the directory {} cannot be made: {error}", directory.display());
            Diagnostic::error(Code::Io, message).help("name another directory")
        })?;
        Ok(made)
    }

    /// Lets them stay.
    fn keep(mut self) {
        let mut notes = cleanup::notes();
        self.0.drain(..).for_each(|path| notes.remove(&path));
    }
}

impl Drop for MadeDirectories {
    fn drop(&mut self) {
        let mut notes = cleanup::notes();
        for path in &self.0 {
            // What others put there meanwhile stays.
            let _ = fs::remove_dir(path);
            notes.remove(path);
        }
    }
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
        let failed = |error: io::Error| unchanged(not_written(&path, &error));
        loop {
            if let Some(journal) = Self::take(root, &path).map_err(failed)? {
                return Ok(journal);
            }
            if waiting == Waiting::Never {
                return Err(in_use(root));
            }
            match lock(&path.join(LOCK), waiting) {
                // Who had it was done just now, and removed it.
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
        }
    }

    /// Takes the journal, unless somebody else has it. Only one that is not needed goes when the program is
    /// ended.
    fn take(root: &'r Path, path: &Path) -> io::Result<Option<Self>> {
        let mut notes = cleanup::notes();
        permission::make_private_directory(path)?;
        match lock(&path.join(LOCK), Waiting::Never) {
            Ok(None) => Ok(None),
            Ok(Some(lock)) => {
                let journal = Self { root, path: path.to_path_buf(), _lock: lock };
                if !journal.is_needed() {
                    notes.add(path, Leftover::Whole);
                }
                Ok(Some(journal))
            }
            // Who had it was done just now, and removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => {
                let _ = fs::remove_dir(path);
                Err(error)
            }
        }
    }

    /// Whether changes were begun and not ended.
    fn is_needed(&self) -> bool {
        !matches!(JournalState::of(&self.path), Ok(JournalState::Preparing))
    }

    /// Gets all texts ready; none when there is nothing to do.
    fn prepare(&self, changes: &[FileChange<'_>]) -> Result<Option<Changes>> {
        self.clear().map_err(|error| unchanged(not_written(&self.path, &error)))?;
        let plan = prepare::plan(changes, self.root)?;
        if plan.is_empty() { Ok(None) } else { plan.prepare(&self.path, self.root).map(Some) }
    }

    /// Makes prepared changes; takes them back when one cannot be made.
    fn commit(self, changes: &Changes) -> Result<()> {
        // From here on the program is not ended before all is done.
        let mut notes = cleanup::notes();
        notes.remove(&self.path);
        let failed = |NotMade { path, cause }: NotMade| unchanged(not_written(&path, &cause));
        let ready = Commit::new(changes, self.root, &self.path).map_err(failed).and_then(|commit| {
            commit.check().map_err(failed)?;
            changes.write(&self.path).map_err(|error| unchanged(not_written(&self.path, &error)))?;
            Ok(commit)
        });
        let done = ready.and_then(|commit| {
            let Err(failure) = commit.make(Attempt::First) else { return self.end() };
            let problem = not_written(&failure.path, &failure.cause);
            Err(match self.take_back(&commit) {
                Ok(()) => unchanged(problem),
                Err(other) => other.note(format!("at first, {}", problem.message())),
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
            JournalState::TakingBack(changes) => {
                self.take_back(&self.begun(&changes)?).map(|()| changes.taken_back())?
            }
            JournalState::Ready(changes) => {
                let commit = self.begun(&changes)?;
                match commit.make(Attempt::Again) {
                    Ok(()) => self.end().map(|()| Recovery::Finished(changes.files.len()))?,
                    Err(_) => self.take_back(&commit).map(|()| changes.taken_back())?,
                }
            }
        };
        self.remove().map(|()| recovery)
    }

    /// What a program began. Fails when somebody changed a file since: neither of the texts may be written over
    /// it.
    fn begun<'c>(&'c self, changes: &'c Changes) -> Result<Commit<'c>> {
        let commit = Commit::new(changes, self.root, &self.path);
        commit.and_then(|commit| commit.check().map(|()| commit)).map_err(|NotMade { path, cause }| {
            let journal = self.path.display();
            not_written(&path, &cause)
                .note(format!(
                    "a program that was stopped had begun to change it; its texts are in {journal}"
                ))
                .help(format!("take what you need of them, then remove {journal}"))
        })
    }

    fn take_back(&self, commit: &Commit<'_>) -> Result<()> {
        let noted = match JournalState::of(&self.path) {
            Ok(JournalState::TakingBack(_)) => Ok(()),
            _ => Changes::take_back(&self.path),
        };
        noted.map_err(|error| not_written(&self.path, &error))?;
        commit.take_back().map_err(|NotMade { path, cause }| {
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

    /// Removes what another program prepared, but neither the lock nor what others put there.
    fn clear(&self) -> io::Result<()> {
        let is_ours = |name: &OsStr| {
            let (stem, kind) = (Path::new(name).file_stem(), Path::new(name).extension());
            let is_number = stem.and_then(OsStr::to_str).is_some_and(|stem| stem.parse::<usize>().is_ok());
            (is_number && kind.is_some_and(|kind| kind == "new" || kind == "old")) || name == list::NEW
        };
        for entry in fs::read_dir(&self.path)?.flatten().filter(|entry| is_ours(&entry.file_name())) {
            fs::remove_file(entry.path())?;
        }
        Ok(())
    }

    /// Removes the journal when nothing was changed.
    fn give_up(self) -> Result<()> {
        let _notes = cleanup::notes();
        self.remove()
    }

    /// Removes the journal, unless it is needed to take changes back. Only who has the notes may, so that
    /// nobody is ended in between.
    fn remove(&self) -> Result<()> {
        if self.is_needed() {
            return Ok(());
        }
        let removed = self.clear().and_then(|()| {
            fs::remove_file(self.path.join(LOCK))?;
            match fs::remove_dir(&self.path) {
                // Somebody who waited for the lock made another one, or put something there.
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

impl Drop for Journal<'_> {
    fn drop(&mut self) {
        cleanup::notes().remove(&self.path);
    }
}

fn in_use(root: &Path) -> Diagnostic {
    let message = format!("{} is being changed by another program", root.display());
    Diagnostic::error(Code::Io, message).help("wait until it is done")
}
