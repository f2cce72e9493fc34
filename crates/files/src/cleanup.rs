//! Removal of temporary files when a program is terminated.
//!
//! Temporary files and directories are created with [`create`], which registers their paths. [`remove_all`] removes all
//! registered paths. This module does not handle signals: a program must call [`remove_all`] before it exits.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

static REGISTERED: Mutex<BTreeMap<PathBuf, TemporaryKind>> = Mutex::new(BTreeMap::new());

/// The kind of a temporary path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TemporaryKind {
    /// A file, or a directory with its content.
    FileOrDirectory,
    /// A directory that is only removed if it is empty, since other programs may have put files into it.
    EmptyDirectory,
}

/// The registered paths. While this value exists, [`remove_all`] waits.
pub(super) struct RegisteredPaths(MutexGuard<'static, BTreeMap<PathBuf, TemporaryKind>>);

/// Locks the registered paths.
pub(super) fn lock_registered() -> RegisteredPaths {
    RegisteredPaths(REGISTERED.lock().unwrap_or_else(PoisonError::into_inner))
}

impl RegisteredPaths {
    pub(super) fn add(&mut self, path: &Path, leftover: TemporaryKind) {
        self.0.insert(path.to_path_buf(), leftover);
    }

    pub(super) fn remove(&mut self, path: &Path) {
        self.0.remove(path);
    }

    #[cfg(test)]
    pub(super) fn contains(&self, path: &Path) -> bool {
        self.0.contains_key(path)
    }
}

/// Creates a file or directory and registers its path under the same lock, so that no path is missed.
pub(super) fn create<T>(
    make: impl FnOnce() -> io::Result<T>,
    path: impl FnOnce(&T) -> &Path,
) -> io::Result<T> {
    let mut registered = lock_registered();
    let made = make()?;
    registered.add(path(&made), TemporaryKind::FileOrDirectory);
    Ok(made)
}

/// Removes all temporary files and directories, for programs that exit without unwinding.
///
/// A running commit of a journal is finished first. While the returned value exists, no temporary files can be created
/// and no files can be changed, so keep it until the program exits.
#[must_use = "removed files could be created again"]
pub fn remove_all() -> impl Sized {
    let registered = lock_registered();
    // The content of a directory is sorted after the directory.
    for (path, leftover) in registered.0.iter().rev() {
        match leftover {
            TemporaryKind::FileOrDirectory => remove_whole(path),
            // Files of other programs in the directory are kept.
            TemporaryKind::EmptyDirectory => drop(fs::remove_dir(path)),
        }
    }
    registered
}

fn remove_whole(path: &Path) {
    /// The number of attempts, since other processes may still write into the directory.
    const ATTEMPTS: usize = 100;

    for _ in 0..ATTEMPTS {
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
