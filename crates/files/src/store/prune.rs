//! Removes unneeded entries from a store that other programs may use.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{SEAL, STAGING, STORE_LOCK, Staging, Store, lock_in, open_file};
use crate::lock::{self, LockMode};
use crate::seal::{Description, Seal};

/// The time (30 days) after which an unused entry is removed.
pub const MAX_UNUSED_AGE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The maximum age of an incomplete directory without a lock.
const MAX_UNLOCKED_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// The maximum time between the creation of a staging directory and its lock.
const MAX_TIME_TO_LOCK: Duration = Duration::from_secs(60);

/// An entry of a store.
#[derive(Debug, Clone)]
pub struct StoredEntry {
    /// The name in the store.
    pub name: PathBuf,
    /// The description in the seal; empty if it cannot be read.
    pub about: Description,
    /// The size in bytes.
    pub size: u64,
    /// The time of the last use.
    pub used: SystemTime,
}

impl StoredEntry {
    /// Returns true if the entry has not been used for this time.
    pub fn is_unused_for(&self, age: Duration) -> bool {
        self.used.elapsed().is_ok_and(|elapsed| elapsed > age)
    }
}

/// A cache entry for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    /// The kind of entry.
    pub kind: CacheKind,
    /// The URL without secrets, or the group-version of a document; empty if unknown.
    pub source: String,
    /// The version: a commit, or the hash of a document on a server.
    pub version: String,
    /// The size in bytes.
    pub size: u64,
    /// The time of the last use.
    pub used: SystemTime,
}

/// The kinds of cache entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheKind {
    /// The files of a commit.
    Repository,
    /// A file that was fetched over HTTP.
    File,
    /// The compiled schema of a document.
    Schema,
    /// The list of documents of a server.
    Server,
}

/// The result of clearing a cache.
#[derive(Debug, Clone, Default)]
pub struct Cleared {
    /// The removed entries.
    pub removed: Vec<CacheEntry>,
    /// The entries that were kept because other programs use them.
    pub in_use: Vec<CacheEntry>,
    /// The entries whose removal the system denied.
    pub denied: Vec<CacheEntry>,
}

impl Cleared {
    /// Adds the result for one entry.
    pub fn add(&mut self, entry: CacheEntry, removal: Removal) {
        match removal {
            Removal::Removed => self.removed.push(entry),
            Removal::InUse => self.in_use.push(entry),
            Removal::Denied => self.denied.push(entry),
        }
    }
}

/// The result of removing an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// The entry is removed.
    Removed,
    /// Another program uses the entry.
    InUse,
    /// The system does not allow the removal.
    Denied,
}

impl Store {
    /// Removes entries with `take`, then the leftovers of killed programs in the folders, and finally empty folders.
    pub fn clear(&self, folders: [&str; 2], take: impl FnOnce(&Staging) -> Cleared) -> io::Result<Cleared> {
        if !self.has_folder(Path::new("")) {
            return Ok(Cleared::default());
        }
        let staging = self.staging()?;
        let cleared = take(&staging);
        for folder in folders.map(Path::new) {
            self.sweep_folder(folder);
            self.remove_folder(folder);
        }
        self.sweep(&staging);
        drop(staging);
        self.remove_folder(Path::new(""));
        Ok(cleared)
    }

    /// Returns the entries of a folder, sorted by name. Only names in the format of this program are included.
    pub fn entries(&self, folder: &Path, is_ours: fn(&str) -> bool) -> Vec<StoredEntry> {
        let names = self.names(folder).into_iter();
        let ours = names.filter(|name| name.to_str().is_some_and(is_ours));
        ours.filter_map(|name| self.entry(folder.join(name))).collect()
    }

    fn entry(&self, name: PathBuf) -> Option<StoredEntry> {
        let metadata = fs::symlink_metadata(self.directory.join(&name)).ok()?;
        let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let seal = if metadata.is_dir() {
            self.read(&name.join(SEAL)).ok().and_then(|line| Seal::parse(&line))
        } else {
            self.open_sealed(&name).map(|(seal, _)| seal)
        };
        let size = if metadata.is_file() { metadata.len() } else { seal.as_ref().map_or(0, |s| s.size) };
        Some(StoredEntry { name, about: seal.map(|seal| seal.about).unwrap_or_default(), size, used })
    }

    /// Returns true if an entry is unchanged. Does not mark it as used.
    pub fn is_valid(&self, entry: &StoredEntry) -> bool {
        self.hold(&entry.name, &entry.about).is_ok() || self.whole_file(&entry.name, &entry.about).is_some()
    }

    /// Returns true if a directory with this name exists and is not a symlink.
    pub fn has_folder(&self, folder: &Path) -> bool {
        self.without_links(folder).is_ok_and(|path| path.is_dir())
    }

    /// Removes an entry, unless it is in use.
    pub fn remove(&self, name: &Path, staging: &Staging) -> Removal {
        let path = self.directory.join(name);
        // While the folder is locked, no entry can be added, and this entry cannot be used before it is moved away.
        let folder = path.parent().unwrap_or(&self.directory);
        let had_lock = folder.join(STORE_LOCK).exists();
        let Ok(_one_at_a_time) = lock_in(folder) else { return Removal::Removed };
        let removal = Self::move_away(&path, staging);
        if !had_lock {
            // A program that waits for this lock creates a new file.
            let _ = fs::remove_file(folder.join(STORE_LOCK));
        }
        removal
    }

    /// Moves an entry to the staging directory, unless it is in use.
    fn move_away(path: &Path, staging: &Staging) -> Removal {
        let seal = unused_seal(&path.join(SEAL));
        if matches!(&seal, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
            return Removal::InUse;
        }
        // The rename is atomic. The content is removed together with the staging directory.
        match fs::rename(path, staging.free_name()) {
            Ok(()) => Removal::Removed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Removal::Removed,
            Err(_) => Removal::Denied,
        }
    }

    /// Removes a folder that is empty except for its lock. Returns true if it is removed.
    pub fn remove_folder(&self, folder: &Path) -> bool {
        let path = self.directory.join(folder);
        let lock_path = path.join(STORE_LOCK);
        let mut held = None;
        if self.names(folder) == [STORE_LOCK] {
            held = lock::lock(&lock_path, LockMode::Try).ok().flatten();
            if held.is_none() {
                return false;
            }
            // A program that waits for this lock creates a new file, or creates the folder again.
            let _ = fs::remove_file(&lock_path);
        }
        let is_removed = fs::remove_dir(&path).is_ok();
        drop(held);
        is_removed
    }

    /// Removes incomplete files that killed programs left in a folder. Their locks are free.
    pub fn sweep_folder(&self, folder: &Path) {
        for name in self.names(folder).into_iter().filter(|name| is_staging(name)) {
            let path = self.directory.join(folder).join(name);
            if let Ok(file) = open_file(&path)
                && lock::lock_open(&file, LockMode::Try).unwrap_or(false)
            {
                // Another program may have removed it at the same time.
                let _ = fs::remove_file(path);
            }
        }
    }

    /// Removes staging directories that killed programs left behind.
    pub fn sweep(&self, staging: &Staging) {
        let staged = self.names(Path::new("")).into_iter().filter(|name| is_staging(name));
        for path in staged.map(|name| self.directory.join(name)).filter(|path| is_left_behind(path)) {
            let _ = fs::rename(path, staging.free_name());
        }
        self.sweep_folder(Path::new(""));
    }
}

fn is_staging(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(STAGING))
}

/// Returns true if a staging directory is old and its lock is free or missing.
fn is_left_behind(directory: &Path) -> bool {
    match File::options().write(true).open(directory.join(STORE_LOCK)) {
        Ok(file) => {
            is_older(directory, MAX_TIME_TO_LOCK) && lock::lock_open(&file, LockMode::Try).unwrap_or(false)
        }
        Err(_) => is_older(directory, MAX_UNLOCKED_AGE),
    }
}

/// Opens and exclusively locks the seal of an entry.
///
/// # Errors
/// The entry is in use (`WouldBlock`), or the seal does not exist or cannot be locked.
fn unused_seal(path: &Path) -> io::Result<File> {
    loop {
        let seal = open_file(path)?;
        if !lock::lock_open(&seal, LockMode::Try)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // Another entry, which is in use, may have replaced this one.
        if lock::is_at(&seal, path)? {
            return Ok(seal);
        }
    }
}

fn is_older(path: &Path, age: Duration) -> bool {
    let modified = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|time| time.elapsed().is_ok_and(|elapsed| elapsed > age))
}
