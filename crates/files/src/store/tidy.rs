//! Taking out of a store what nobody needs any more, while other programs use it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::{SEAL, STAGING, STORE_LOCK, Staging, Store, lock_in, open_file};
use crate::lock::{self, Waiting};
use crate::seal::{About, Seal};

/// What nobody used for so long, 30 days, is taken out.
pub const UNUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How long something without a lock may stay incomplete.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long it takes at most from the making of a staging place to its lock.
const MINUTE: Duration = Duration::from_secs(60);

/// Something in a store.
#[derive(Debug, Clone)]
pub struct StoredEntry {
    /// Its name in the store.
    pub name: PathBuf,
    /// What its seal says that it is; empty when that cannot be read.
    pub about: About,
    /// How many bytes it has.
    pub size: u64,
    /// When it was last used.
    pub used: SystemTime,
}

impl StoredEntry {
    /// Whether it was not used for a while.
    pub fn is_unused_for(&self, age: Duration) -> bool {
        self.used.elapsed().is_ok_and(|elapsed| elapsed > age)
    }
}

/// What a cache has, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheEntry {
    /// What sort of thing it is.
    pub kind: CacheKind,
    /// What it is: a URL without secrets, or the group-version of a document; empty when that is not known.
    pub what: String,
    /// Which version of it: a commit, or the hash that a server has for a document.
    pub version: String,
    /// How many bytes it has.
    pub size: u64,
    /// When it was last used.
    pub used: SystemTime,
}

/// The sorts of things that caches have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheKind {
    /// The tree of a commit.
    Repository,
    /// A file that came over HTTP.
    File,
    /// The compiled schema of a document.
    Schema,
    /// What a server said of its documents.
    Server,
}

/// What came of taking things out of a cache.
#[derive(Debug, Clone, Default)]
pub struct Cleared {
    /// They are gone.
    pub removed: Vec<CacheEntry>,
    /// They stay, since other programs use them.
    pub in_use: Vec<CacheEntry>,
    /// They stay, since the system does not let them go.
    pub refused: Vec<CacheEntry>,
}

impl Cleared {
    /// Adds what came of one of them.
    pub fn add(&mut self, entry: CacheEntry, removal: Removal) {
        match removal {
            Removal::Removed => self.removed.push(entry),
            Removal::InUse => self.in_use.push(entry),
            Removal::Refused => self.refused.push(entry),
        }
    }
}

/// What came of removing something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// It is gone.
    Removed,
    /// Another program uses it.
    InUse,
    /// The system does not let it go.
    Refused,
}

impl Store {
    /// Takes something out of the store, then what killed programs left in its folders, and those that are empty.
    pub fn take_out(
        &self,
        folders: [&str; 2],
        take: impl FnOnce(&Staging) -> Cleared,
    ) -> io::Result<Cleared> {
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

    /// What is in a folder, of the names that are ours, by name.
    pub fn entries(&self, folder: &Path, is_ours: fn(&str) -> bool) -> Vec<StoredEntry> {
        let names = self.names(folder).into_iter();
        let ours = names.filter(|name| name.to_str().is_some_and(is_ours));
        ours.filter_map(|name| self.entry(folder.join(name))).collect()
    }

    fn entry(&self, name: PathBuf) -> Option<StoredEntry> {
        let metadata = fs::symlink_metadata(self.directory.join(&name)).ok()?;
        let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let seal = if metadata.is_dir() {
            self.read(&name.join(SEAL)).ok().and_then(|line| Seal::read(&line))
        } else {
            self.open_sealed(&name).map(|(seal, _)| seal)
        };
        let size = if metadata.is_file() { metadata.len() } else { seal.as_ref().map_or(0, |s| s.size) };
        Some(StoredEntry { name, about: seal.map(|seal| seal.about).unwrap_or_default(), size, used })
    }

    /// Whether an entry is what was kept, without using it.
    pub fn is_whole(&self, entry: &StoredEntry) -> bool {
        self.hold(&entry.name, &entry.about).is_ok() || self.whole_file(&entry.name, &entry.about).is_some()
    }

    /// Whether there is a directory of that name, which is no link.
    pub fn has_folder(&self, folder: &Path) -> bool {
        self.without_links(folder).is_ok_and(|path| path.is_dir())
    }

    /// Removes an entry, unless it is used.
    pub fn remove(&self, name: &Path, staging: &Staging) -> Removal {
        let path = self.directory.join(name);
        // Nothing can come into its place from here on, nor be used before it is out of the way.
        let folder = path.parent().unwrap_or(&self.directory);
        let had_lock = folder.join(STORE_LOCK).exists();
        let Ok(_one_at_a_time) = lock_in(folder) else { return Removal::Removed };
        let removal = Self::take_away(&path, staging);
        if !had_lock {
            // Who waits for it makes another one.
            let _ = fs::remove_file(folder.join(STORE_LOCK));
        }
        removal
    }

    /// Moves an entry out of the way, unless it is used.
    fn take_away(path: &Path, staging: &Staging) -> Removal {
        let seal = unused_seal(&path.join(SEAL));
        if matches!(&seal, Err(error) if error.kind() == io::ErrorKind::WouldBlock) {
            return Removal::InUse;
        }
        // Out of the way at once, then removed with the directory that it is in now.
        match fs::rename(path, staging.free_name()) {
            Ok(()) => Removal::Removed,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Removal::Removed,
            Err(_) => Removal::Refused,
        }
    }

    /// Removes a folder that is empty but for its lock, and says whether it is gone.
    pub fn remove_folder(&self, folder: &Path) -> bool {
        let path = self.directory.join(folder);
        let lock_path = path.join(STORE_LOCK);
        let mut had = None;
        if self.names(folder) == [STORE_LOCK] {
            had = lock::lock(&lock_path, Waiting::Never).ok().flatten();
            if had.is_none() {
                return false;
            }
            // Who waits for it makes another one, or finds the folder gone and makes it again.
            let _ = fs::remove_file(&lock_path);
        }
        let is_gone = fs::remove_dir(&path).is_ok();
        drop(had);
        is_gone
    }

    /// Removes the files in a folder that killed programs left incomplete: nobody has their locks any more.
    pub fn sweep_folder(&self, folder: &Path) {
        for name in self.names(folder).into_iter().filter(|name| is_staging(name)) {
            let path = self.directory.join(folder).join(name);
            if let Ok(file) = open_file(&path)
                && lock::lock_open(&file, Waiting::Never).unwrap_or(false)
            {
                // Another program may have been faster.
                let _ = fs::remove_file(path);
            }
        }
    }

    /// Removes the staging places that killed programs left behind.
    pub fn sweep(&self, staging: &Staging) {
        let places = self.names(Path::new("")).into_iter().filter(|name| is_staging(name));
        for path in places.map(|name| self.directory.join(name)).filter(|path| is_left_behind(path)) {
            let _ = fs::rename(path, staging.free_name());
        }
        self.sweep_folder(Path::new(""));
    }
}

fn is_staging(name: &std::ffi::OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(STAGING))
}

/// Whether nobody has the lock of a staging place any more; one without a lock must be old.
fn is_left_behind(place: &Path) -> bool {
    match File::options().write(true).open(place.join(STORE_LOCK)) {
        Ok(had) => is_older(place, MINUTE) && lock::lock_open(&had, Waiting::Never).unwrap_or(false),
        Err(_) => is_older(place, DAY),
    }
}

/// The seal of an entry for oneself.
///
/// # Errors
/// Somebody uses the entry: it would block. There is no seal, or it cannot be locked.
fn unused_seal(path: &Path) -> io::Result<File> {
    loop {
        let seal = open_file(path)?;
        if !lock::lock_open(&seal, Waiting::Never)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        // Another entry may have come into its place, which somebody uses.
        if lock::is_at(&seal, path)? {
            return Ok(seal);
        }
    }
}

fn is_older(path: &Path, age: Duration) -> bool {
    let modified = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    modified.is_ok_and(|time| time.elapsed().is_ok_and(|elapsed| elapsed > age))
}
