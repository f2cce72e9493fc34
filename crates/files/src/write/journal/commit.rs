//! Making the changes of a journal, and taking them back.
//!
//! Both can be done again from any point where a program was stopped. All of it goes by handles of the two
//! directories: whatever is exchanged on the way meanwhile, nothing leads out of them.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};

use super::super::super::stamp;
use super::super::place::{PREFIX, directory_of};
use super::list::{Changes, ListedChange, Way};

/// What a change could not be made of, and why.
#[derive(Debug)]
pub(super) struct NotMade {
    pub path: PathBuf,
    pub cause: io::Error,
}

/// Whether changes are made for the first time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attempt {
    First,
    /// A text that is not in the journal any more was put in its place before.
    Again,
}

/// What is said of a file that is neither the old one nor the new one.
const CHANGED: &str = "somebody else changed it meanwhile";

/// The new text of the nth change.
pub(super) fn new_text(n: usize) -> PathBuf {
    format!("{n}.new").into()
}

/// The old text of the nth change.
pub(super) fn old_text(n: usize) -> PathBuf {
    format!("{n}.old").into()
}

/// Changes that are made in a directory.
pub(super) struct Commit<'c> {
    changes: &'c Changes,
    /// Its path, for messages.
    path: &'c Path,
    root: Dir,
    journal: Dir,
}

impl<'c> Commit<'c> {
    pub(super) fn new(changes: &'c Changes, path: &'c Path, journal: &Path) -> Result<Self, NotMade> {
        let open = |path: &Path| {
            Dir::open_ambient_dir(path, ambient_authority())
                .map_err(|cause| NotMade { path: path.to_path_buf(), cause })
        };
        Ok(Self { changes, path, root: open(path)?, journal: open(journal)? })
    }

    /// Fails when somebody else changed a file since the changes were prepared: what he wrote is not ours to
    /// replace.
    pub(super) fn check(&self) -> Result<(), NotMade> {
        self.each(|_, change| {
            let now = stamp::at(&self.root, &change.path)?;
            if change.may_be(now.as_deref()) { Ok(()) } else { Err(io::Error::other(CHANGED)) }
        })
    }

    /// Makes all changes that are not made yet.
    pub(super) fn make(&self, attempt: Attempt) -> Result<(), NotMade> {
        self.make_directories()?;
        self.each(|n, change| {
            if attempt == Attempt::First && change.way != Way::Remove && !self.has_text(&new_text(n)) {
                return Err(io::Error::other("its new text is gone"));
            }
            self.make_one(n, change)
        })?;
        self.sync_directories();
        Ok(())
    }

    /// Takes all changes back that were made.
    pub(super) fn take_back(&self) -> Result<(), NotMade> {
        // The latest first, so that each finds the place as it left it.
        for (n, change) in self.changes.files.iter().enumerate().rev() {
            match self.take_one_back(n, change) {
                // Its directory was not even made, or somebody removed it.
                Err(error) if is_nothing_there(&error) => {}
                Err(cause) => return Err(self.not_made(change, cause)),
                Ok(()) => {}
            }
        }
        self.sync_directories();
        for directory in self.changes.directories.iter().rev() {
            // What others put there meanwhile stays.
            let _ = self.root.remove_dir(directory);
        }
        Ok(())
    }

    fn each(&self, change: impl Fn(usize, &ListedChange) -> io::Result<()>) -> Result<(), NotMade> {
        let mut all = self.changes.files.iter().enumerate();
        all.try_for_each(|(n, one)| change(n, one).map_err(|cause| self.not_made(one, cause)))
    }

    fn not_made(&self, change: &ListedChange, cause: io::Error) -> NotMade {
        NotMade { path: self.path.join(&change.path), cause }
    }

    pub(super) fn make_directories(&self) -> Result<(), NotMade> {
        for directory in &self.changes.directories {
            match self.root.create_dir(directory) {
                Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(NotMade { path: self.path.join(directory), cause });
                }
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn make_one(&self, n: usize, change: &ListedChange) -> io::Result<()> {
        let new = new_text(n);
        match change.way {
            Way::Create | Way::Replace if self.has_text(&new) => self.put(&new, &change.path),
            Way::Create | Way::Replace => Ok(()),
            Way::Write => self.write_into(&new, change),
            Way::Remove => self.remove(&change.path),
        }
    }

    pub(super) fn take_one_back(&self, n: usize, change: &ListedChange) -> io::Result<()> {
        let (new, old) = (new_text(n), old_text(n));
        match change.way {
            // What is not in the journal any more was put in its place.
            Way::Create if !self.has_text(&new) => self.remove(&change.path),
            Way::Replace if !self.has_text(&new) && self.has_text(&old) => self.put(&old, &change.path),
            Way::Remove if self.has_text(&old) && stamp::at(&self.root, &change.path)?.is_none() => {
                self.put(&old, &change.path)
            }
            Way::Write if self.has_text(&old) => self.write_into(&old, change),
            _ => Ok(()),
        }
    }

    fn has_text(&self, name: &Path) -> bool {
        self.journal.symlink_metadata(name).is_ok_and(|there| there.is_file())
    }

    /// Puts a file of the journal in its place.
    fn put(&self, text: &Path, path: &Path) -> io::Result<()> {
        match self.journal.rename(text, &self.root, path) {
            // Something else is mounted there.
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => self.put_by_copy(text, path),
            other => other,
        }
    }

    fn put_by_copy(&self, text: &Path, path: &Path) -> io::Result<()> {
        let beside = directory_of(path).join(format!("{PREFIX}{}", std::process::id()));
        let copied = self.journal.copy(text, &self.root, &beside).and_then(|_| {
            self.root.open(&beside)?.sync_all()?;
            self.root.rename(&beside, &self.root, path)
        });
        if copied.is_err() {
            let _ = self.root.remove_file(&beside);
        }
        copied?;
        self.journal.remove_file(text)
    }

    /// Writes a text into a file, which stays the same file.
    fn write_into(&self, text: &Path, change: &ListedChange) -> io::Result<()> {
        let mut file = self.root.open_with(&change.path, OpenOptions::new().write(true))?;
        let now = stamp::of_open(&file)?;
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
            Err(error) if is_nothing_there(&error) => Ok(()),
            other => other,
        }
    }

    /// Writes the names of what was changed to the disk.
    fn sync_directories(&self) {
        let files = self.changes.files.iter().map(|change| &change.path);
        let paths: BTreeSet<_> =
            files.chain(&self.changes.directories).map(|path| directory_of(path)).collect();
        for path in paths {
            // Some file systems cannot, and then nothing can be done about it.
            let _ = self.root.open_dir(path).and_then(|directory| directory.into_std_file().sync_all());
        }
    }
}

/// Gives a file the mode of another one, unless it has it: only its owner may.
fn keep_mode(from: &File, to: &File) -> io::Result<()> {
    let wanted = from.metadata()?.permissions();
    if to.metadata()?.permissions() == wanted { Ok(()) } else { to.set_permissions(wanted) }
}

fn is_nothing_there(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

impl ListedChange {
    /// Whether a file is the old one, the new one, or the old one with a part of the new text.
    fn may_be(&self, now: Option<&str>) -> bool {
        let is_written = self.way == Way::Write
            && now.zip(self.old.as_deref()).is_some_and(|(now, old)| stamp::is_same_file(now, old));
        now == self.old.as_deref() || now == self.new.as_deref() || is_written
    }
}
