//! What must be gone when a program is ended from outside.
//!
//! Whoever makes a file or directory for a while makes it through [`make`], which notes its path; [`end`]
//! removes all that is noted. Must not know of signals: a program that wants to leave nothing behind calls
//! [`end`] before it ends.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static NOTED: Mutex<BTreeMap<PathBuf, Leftover>> = Mutex::new(BTreeMap::new());

/// What would be left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leftover {
    /// A file, or a directory with all that is in it.
    Whole,
    /// A directory, in which there may be what others put there.
    EmptyDirectory,
}

/// The paths of what is there for a while. As long as somebody has them, the program is not ended.
pub(super) struct Notes(MutexGuard<'static, BTreeMap<PathBuf, Leftover>>);

/// Waits until nobody else has the notes.
pub(super) fn notes() -> Notes {
    Notes(NOTED.lock().unwrap_or_else(PoisonError::into_inner))
}

impl Notes {
    pub(super) fn add(&mut self, path: &Path, leftover: Leftover) {
        self.0.insert(path.to_path_buf(), leftover);
    }

    pub(super) fn remove(&mut self, path: &Path) {
        self.0.remove(path);
    }

    #[cfg(test)]
    pub(super) fn has(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }
}

/// Makes something and notes its path, so that there is no moment in which it is there and not noted.
pub(super) fn make<T>(make: impl FnOnce() -> io::Result<T>, path: impl FnOnce(&T) -> &Path) -> io::Result<T> {
    let mut notes = notes();
    let made = make()?;
    notes.add(path(&made), Leftover::Whole);
    Ok(made)
}

/// Removes all that is there for a while, for programs that end without returning to who made it.
///
/// Files that are being changed are changed to the end first. Nothing can be made any more, or changed, as
/// long as the returned value is held, so hold it until the end.
#[must_use = "what was removed could be made again"]
pub fn end() -> impl Sized {
    let notes = notes();
    // What is in a directory comes behind it.
    for (path, leftover) in notes.0.iter().rev() {
        match leftover {
            Leftover::Whole => remove_whole(path),
            // What others put there meanwhile stays.
            Leftover::EmptyDirectory => drop(fs::remove_dir(path)),
        }
    }
    notes
}

fn remove_whole(path: &Path) {
    /// Others may still be writing into a directory that goes.
    const TRIES: usize = 100;

    for _ in 0..TRIES {
        let removed = match fs::symlink_metadata(path) {
            Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
            Ok(_) => fs::remove_file(path),
            Err(_) => return,
        };
        if removed.is_ok() {
            return;
        }
    }
}
