//! Commits the changes of a journal and rolls them back.
//!
//! Both operations can be repeated after any interruption. They use handles of the two directories, so that replaced
//! symlinks cannot lead outside of them.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};

use super::super::super::stamp;
use super::super::resolve::{PREFIX, parent_directory};
use super::list::{ChangeMode, Changes, ListedChange};

/// A failed change: its path and cause.
#[derive(Debug)]
pub(super) struct CommitError {
    pub path: PathBuf,
    pub cause: io::Error,
}

/// The attempt to make changes: the first one, or a repeated one after an interruption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    First,
    /// A repeated attempt. An earlier attempt has moved new content that is missing from the journal to its path.
    Again,
}

/// The error for a file that is neither the old file nor the new one.
const CHANGED: &str = "another program changed it";

/// Returns the name of the new content of the nth change.
pub(super) fn new_content_name(n: usize) -> PathBuf {
    format!("{n}.new").into()
}

/// Returns the name of the old content of the nth change.
pub(super) fn old_content_name(n: usize) -> PathBuf {
    format!("{n}.old").into()
}

/// A commit of changes in a directory.
pub(super) struct Commit<'c> {
    changes: &'c Changes,
    /// The path of the directory, for messages.
    path: &'c Path,
    root: Dir,
    journal: Dir,
}

impl<'c> Commit<'c> {
    pub(super) fn new(changes: &'c Changes, path: &'c Path, journal: &Path) -> Result<Self, CommitError> {
        let open = |path: &Path| {
            Dir::open_ambient_dir(path, ambient_authority())
                .map_err(|cause| CommitError { path: path.to_path_buf(), cause })
        };
        Ok(Self { changes, path, root: open(path)?, journal: open(journal)? })
    }

    /// Checks that no file was changed since the changes were prepared. Such a file must not be overwritten.
    pub(super) fn check(&self) -> Result<(), CommitError> {
        self.each(|_, change| {
            let now = stamp::stamp_at(&self.root, &change.path)?;
            if change.expects_stamp(now.as_deref()) { Ok(()) } else { Err(io::Error::other(CHANGED)) }
        })
    }

    /// Makes all changes that have not been made yet.
    pub(super) fn make(&self, attempt: Attempt) -> Result<(), CommitError> {
        self.make_directories()?;
        self.each(|n, change| {
            if attempt == Attempt::First
                && change.way != ChangeMode::Remove
                && !self.has_content(&new_content_name(n))
            {
                return Err(io::Error::other("its new content is missing in the journal"));
            }
            self.make_one(n, change)
        })?;
        self.sync_directories();
        Ok(())
    }

    /// Rolls back all changes that were made.
    pub(super) fn roll_back(&self) -> Result<(), CommitError> {
        // The changes are undone in reverse order, so that each one finds the state that it left.
        for (n, change) in self.changes.files.iter().enumerate().rev() {
            match self.roll_back_one(n, change) {
                // The directory of the file was not created yet, or another program removed it.
                Err(error) if is_missing(&error) => {}
                Err(cause) => return Err(self.commit_error(change, cause)),
                Ok(()) => {}
            }
        }
        self.sync_directories();
        for directory in self.changes.directories.iter().rev() {
            // A directory that contains files of other programs is kept.
            let _ = self.root.remove_dir(directory);
        }
        Ok(())
    }

    fn each(&self, change: impl Fn(usize, &ListedChange) -> io::Result<()>) -> Result<(), CommitError> {
        let mut all = self.changes.files.iter().enumerate();
        all.try_for_each(|(n, one)| change(n, one).map_err(|cause| self.commit_error(one, cause)))
    }

    fn commit_error(&self, change: &ListedChange, cause: io::Error) -> CommitError {
        CommitError { path: self.path.join(&change.path), cause }
    }

    pub(super) fn make_directories(&self) -> Result<(), CommitError> {
        for directory in &self.changes.directories {
            match self.root.create_dir(directory) {
                Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(CommitError { path: self.path.join(directory), cause });
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn make_one(&self, n: usize, change: &ListedChange) -> io::Result<()> {
        let new = new_content_name(n);
        match change.way {
            ChangeMode::Create | ChangeMode::Replace if self.has_content(&new) => {
                self.move_to(&new, &change.path)
            }
            ChangeMode::Create | ChangeMode::Replace => Ok(()),
            ChangeMode::Write => self.write_into(&new, change),
            ChangeMode::Remove => self.remove(&change.path),
        }
    }

    pub(super) fn roll_back_one(&self, n: usize, change: &ListedChange) -> io::Result<()> {
        let (new, old) = (new_content_name(n), old_content_name(n));
        match change.way {
            // If the content is missing from the journal, it was moved to its path.
            ChangeMode::Create if !self.has_content(&new) => self.remove(&change.path),
            ChangeMode::Replace if !self.has_content(&new) && self.has_content(&old) => {
                self.move_to(&old, &change.path)
            }
            ChangeMode::Remove
                if self.has_content(&old) && stamp::stamp_at(&self.root, &change.path)?.is_none() =>
            {
                self.move_to(&old, &change.path)
            }
            ChangeMode::Write if self.has_content(&old) => self.write_into(&old, change),
            _ => Ok(()),
        }
    }

    fn has_content(&self, name: &Path) -> bool {
        self.journal.symlink_metadata(name).is_ok_and(|metadata| metadata.is_file())
    }

    /// Moves a file of the journal to its path.
    fn move_to(&self, text: &Path, path: &Path) -> io::Result<()> {
        match self.journal.rename(text, &self.root, path) {
            // The path is on another file system.
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => self.copy_to(text, path),
            other => other,
        }
    }

    fn copy_to(&self, text: &Path, path: &Path) -> io::Result<()> {
        let temporary = parent_directory(path).join(format!("{PREFIX}{}", std::process::id()));
        let copied = self.journal.copy(text, &self.root, &temporary).and_then(|_| {
            self.root.open(&temporary)?.sync_all()?;
            self.root.rename(&temporary, &self.root, path)
        });
        if copied.is_err() {
            let _ = self.root.remove_file(&temporary);
        }
        copied?;
        self.journal.remove_file(text)
    }

    /// Writes content into a file in place.
    fn write_into(&self, text: &Path, change: &ListedChange) -> io::Result<()> {
        let mut file = self.root.open_with(&change.path, OpenOptions::new().write(true))?;
        let now = stamp::stamp_of_open(&file)?;
        if !change.old.as_deref().is_some_and(|old| stamp::is_same_file(&now, old)) {
            return Err(io::Error::other(CHANGED));
        }
        let mut text = self.journal.open(text)?;
        file.set_len(0)?;
        io::copy(&mut text, &mut file)?;
        keep_mode(&text, &file)?;
        file.sync_all()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        match self.root.remove_file(path) {
            Err(error) if is_missing(&error) => Ok(()),
            other => other,
        }
    }

    /// Flushes the directories of changed files to disk.
    fn sync_directories(&self) {
        let files = self.changes.files.iter().map(|change| &change.path);
        let paths: BTreeSet<_> =
            files.chain(&self.changes.directories).map(|path| parent_directory(path)).collect();
        for path in paths {
            // Some file systems do not support this, and there is no alternative.
            let _ = self.root.open_dir(path).and_then(|directory| directory.into_std_file().sync_all());
        }
    }
}

/// Sets the mode of a file to that of another one. An equal mode is not set, since only the owner may set it.
fn keep_mode(from: &File, to: &File) -> io::Result<()> {
    let expected = from.metadata()?.permissions();
    if to.metadata()?.permissions() == expected { Ok(()) } else { to.set_permissions(expected) }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

impl ListedChange {
    /// Returns true if a file is the old one, the new one, or the old one with partially written new content.
    fn expects_stamp(&self, now: Option<&str>) -> bool {
        let is_written = self.way == ChangeMode::Write
            && now.zip(self.old.as_deref()).is_some_and(|(now, old)| stamp::is_same_file(now, old));
        now == self.old.as_deref() || now == self.new.as_deref() || is_written
    }
}
