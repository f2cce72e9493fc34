//! Directories of caches.
//!
//! What is kept there appears whole, by renaming what is complete, so that any number of programs can share
//! one. Must not know what is kept.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::disk::DiskTree;
use super::temporary::TemporaryDirectory;
use super::tree::{DirectoryEntry, FileTree as _};
use super::write::{create_directories, replace_file_with};

/// What is not complete yet; left behind only by programs that were killed.
const STAGING: &str = "new-";

/// How long something may stay incomplete.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// A directory of a cache. It is made when something is kept in it.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    directory: PathBuf,
}

impl Store {
    pub(crate) fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// The one of a name where the system keeps the caches of users; none when there is no such place, as
    /// for users without a home.
    pub(crate) fn of_user(name: &str) -> Option<Self> {
        dirs::cache_dir().map(|caches| Self::new(caches.join("kubectl-smp").join(name)))
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The content of a file.
    pub(crate) fn read(&self, name: &Path) -> io::Result<Vec<u8>> {
        DiskTree.read(&self.directory.join(name))
    }

    /// The names in a folder; none when it is not there.
    pub(crate) fn names(&self, folder: &Path) -> Vec<OsString> {
        let entries = DiskTree.list(&self.directory.join(folder)).unwrap_or_default();
        entries.into_iter().map(|DirectoryEntry { name, .. }| name).collect()
    }

    /// Keeps a file, given in parts; its folder is made.
    pub(crate) fn keep(&self, name: &Path, parts: &[&[u8]]) -> io::Result<()> {
        let path = self.directory.join(name);
        create_directories(path.parent().unwrap_or(&self.directory))?;
        replace_file_with(&path, parts, STAGING)
    }

    /// Drops a file, if it is there and can be.
    pub(crate) fn drop_file(&self, name: &Path) {
        // Another program may have dropped or replaced it just now.
        let _ = fs::remove_file(self.directory.join(name));
    }

    /// A new directory for what is not complete yet.
    pub(crate) fn staging(&self) -> io::Result<TemporaryDirectory> {
        create_directories(&self.directory)?;
        TemporaryDirectory::new_in(&self.directory, STAGING)
    }

    /// Keeps a directory that is complete; one that is there already stays.
    pub(crate) fn keep_directory(&self, complete: &Path, name: &Path) -> io::Result<()> {
        let kept = self.directory.join(name);
        create_directories(kept.parent().unwrap_or(&self.directory))?;
        fs::rename(complete, &kept).or_else(|error| {
            // Another program may have been faster.
            if DiskTree.is_directory(&kept) { Ok(()) } else { Err(error) }
        })
    }

    /// The real path of a directory that is kept, which counts as used from now on.
    pub(crate) fn use_directory(&self, name: &Path) -> Option<PathBuf> {
        let found = DiskTree.locate(Path::new(""), &self.directory.join(name)).ok()?;
        let real = found.is_directory().then(|| found.into_path())?;
        // Of no consequence in a cache that can only be read.
        let _ = File::open(&real).and_then(|directory| directory.set_modified(SystemTime::now()));
        Some(real)
    }

    /// Takes out of a folder what was not used for a while, and what killed programs left behind. It goes
    /// when `staging` does.
    pub(crate) fn tidy(
        &self,
        folder: &Path,
        unused: Duration,
        is_kept_there: fn(&str) -> bool,
        staging: &TemporaryDirectory,
    ) {
        let old = |folder: &Path, age: Duration, is_ours: &dyn Fn(&str) -> bool| -> Vec<PathBuf> {
            let names = self.names(folder).into_iter();
            let ours = names.filter(|name| name.to_str().is_some_and(is_ours));
            ours.map(|name| self.directory.join(folder).join(name))
                .filter(|path| is_older(path, age))
                .collect()
        };
        let remains = old(Path::new(""), DAY, &|name| name.starts_with(STAGING));
        let unused = old(folder, unused, &is_kept_there);
        for (i, path) in unused.iter().chain(&remains).enumerate() {
            // Out of the way at once, then removed with the directory that it is in now.
            let _ = fs::rename(path, staging.path().join(format!("old-{i}")));
        }
    }
}

fn is_older(path: &Path, age: Duration) -> bool {
    let modified = fs::symlink_metadata(path).and_then(|meta| meta.modified());
    modified.is_ok_and(|time| time.elapsed().is_ok_and(|elapsed| elapsed > age))
}
