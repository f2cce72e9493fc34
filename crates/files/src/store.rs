//! Cache directories.
//!
//! Entries are completed in another directory and then moved into the cache by a rename, so that several programs can
//! share it. Entries have a seal: a changed or damaged entry is treated as missing. Symlinks in a store are never
//! followed. This module does not depend on the cached content.

mod prune;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

pub use self::prune::{CacheEntry, CacheKind, Cleared};
pub use self::prune::{MAX_UNUSED_AGE, Removal, StoredEntry};
use super::disk::DiskTree;
use super::handle::Handle;
use super::lock::{self, LockMode};
use super::seal::{Description, Seal, hex};
use super::temporary::TemporaryDirectory;
use super::tree::{DirectoryEntry, FileTree as _};
use super::write::{create_directories, replace_file_with};

/// The prefix of staging directories. They only remain if a program was killed.
const STAGING: &str = "new-";
/// The lock file. It is locked while a program writes into its directory.
const STORE_LOCK: &str = "lock";
/// The files of a cached directory: its seal, which is locked while the directory is used, and the content.
const SEAL: &str = "seal";
const CONTENT: &str = "tree";

/// The number of attempts, since another program may remove the folder just before an entry is moved into it.
const ATTEMPTS: usize = 4;

/// The maximum length of a seal line.
const LONGEST_SEAL: u64 = 1 << 16;

/// The maximum size of a cached file. This program writes no larger files.
const LARGEST_FILE: u64 = 256 << 20;

/// A cache directory. It is created with its first entry.
#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
}

/// Returns a cache key: a hash of the parts that is long enough to be unique.
pub fn cache_key(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part);
    }
    hex(&hasher.finalize()[..16])
}

/// Returns true if a name has the format of [`cache_key`].
pub fn is_cache_key(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Returns this program's directory in the user's cache directory, or `None` if there is no cache directory, as for
/// users without a home directory.
#[must_use]
pub fn user_cache() -> Option<PathBuf> {
    dirs::cache_dir().map(|caches| caches.join("kubectl-smp"))
}

/// A staging directory for an incomplete entry. It is removed when this value is dropped. If it remains, other programs
/// remove it.
#[derive(Debug)]
pub struct Staging {
    _lock: Option<File>,
    directory: TemporaryDirectory,
    /// The number of names that were already used.
    names: AtomicUsize,
}

impl Staging {
    /// Creates the empty content directory for [`Store::put_directory`].
    pub fn content(&self) -> io::Result<PathBuf> {
        self.directory.create_directory("entry")?;
        let content = self.entry().join(CONTENT);
        fs::create_dir(&content).map(|()| content)
    }

    /// Removes a directory from the content.
    pub fn remove_from_content(&self, name: &Path) -> io::Result<()> {
        fs::remove_dir_all(self.entry().join(CONTENT).join(name))
    }

    fn entry(&self) -> PathBuf {
        self.directory.path().join("entry")
    }

    /// Returns an unused name in the staging directory.
    fn free_name(&self) -> PathBuf {
        let number = self.names.fetch_add(1, Ordering::Relaxed);
        self.directory.path().join(format!("old-{number}"))
    }
}

/// The result of looking up a cached directory.
#[derive(Debug)]
pub enum CachedDirectory {
    /// The directory is unchanged.
    Valid(HeldDirectory),
    /// The entry is damaged or has another description.
    Damaged,
    /// There is no such entry.
    Missing,
}

/// A cached directory that is in use. It is not removed while this value exists.
#[derive(Debug)]
pub struct HeldDirectory {
    /// The real path of the content.
    pub path: PathBuf,
    _hold: File,
}

impl Store {
    /// Returns the store in a directory. The directory is created with the first entry.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Returns the directory of the store.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Reads a file.
    pub fn read(&self, name: &Path) -> io::Result<Vec<u8>> {
        DiskTree.read(&self.without_links(name)?)
    }

    /// Returns the names in a folder, or no names if the folder does not exist.
    pub fn names(&self, folder: &Path) -> Vec<OsString> {
        let entries = self.without_links(folder).and_then(|folder| DiskTree.list(&folder));
        entries.unwrap_or_default().into_iter().map(|DirectoryEntry { name, .. }| name).collect()
    }

    /// Stores a file, whose content is given in parts. Creates the folder if necessary.
    pub fn put(&self, name: &Path, parts: &[&[u8]]) -> io::Result<()> {
        self.make_folder(name.parent().unwrap_or(Path::new("")))?;
        replace_file_with(&self.directory.join(name), parts, STAGING)
    }

    /// Stores a file with a seal.
    pub fn put_sealed(&self, name: &Path, about: Description, content: &[u8]) -> io::Result<()> {
        let seal = Seal::of_bytes(about, content).to_line()?;
        self.put(name, &[&seal, content])
    }

    /// Reads a file with a seal if it is unchanged, and marks it as used.
    pub fn read_sealed(&self, name: &Path, about: &Description) -> Option<Vec<u8>> {
        let content = self.whole_file(name, about)?;
        self.touch(name);
        Some(content)
    }

    fn whole_file(&self, name: &Path, about: &Description) -> Option<Vec<u8>> {
        let (seal, reader) = self.open_sealed(name)?;
        let mut content = Vec::new();
        // The file may have grown in the meantime.
        reader.take(seal.size).read_to_end(&mut content).ok()?;
        let is_whole = seal.about == *about && Seal::of_bytes(seal.about.clone(), &content) == seal;
        is_whole.then_some(content)
    }

    /// Opens a sealed file. Returns its seal, and a reader of the content, whose length matches the seal.
    fn open_sealed(&self, name: &Path) -> Option<(Seal, BufReader<File>)> {
        let file = open_file(&self.without_links(name).ok()?).ok()?;
        let length = file.metadata().ok()?.len();
        let (mut reader, mut line) = (BufReader::new(file), Vec::new());
        (&mut reader).take(LONGEST_SEAL).read_until(b'\n', &mut line).ok()?;
        let seal = Seal::parse(&line).filter(|seal| seal.size <= LARGEST_FILE)?;
        let whole = u64::try_from(line.len()).ok()?.checked_add(seal.size)?;
        (length == whole).then_some((seal, reader))
    }

    /// Removes a file, if it exists and can be removed.
    pub fn remove_file(&self, name: &Path) {
        // Another program may have removed or replaced it at the same time.
        let _ = fs::remove_file(self.directory.join(name));
    }

    /// Marks an entry as used now.
    pub fn touch(&self, name: &Path) {
        // If the cache is read-only, the error has no consequences.
        let _ = File::open(self.directory.join(name)).and_then(|file| file.set_modified(SystemTime::now()));
    }

    /// Creates a staging directory.
    pub fn staging(&self) -> io::Result<Staging> {
        let mut staging = self.make_staging();
        for _ in 1..ATTEMPTS {
            // Another program has cleared the cache at the same time.
            if staging.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
                staging = self.make_staging();
            }
        }
        staging
    }

    fn make_staging(&self) -> io::Result<Staging> {
        create_directories(&self.directory)?;
        let directory = TemporaryDirectory::new_in(&self.directory, STAGING)?;
        let lock = lock_in(directory.path())?;
        Ok(Staging { _lock: lock, directory, names: AtomicUsize::new(0) })
    }

    /// Moves the content of a staging directory into the cache, with a seal, and marks the entry as in use.
    ///
    /// If there already is a valid entry, it is kept, so that programs that use it are not disturbed. An invalid entry
    /// is replaced.
    pub fn put_directory(
        &self,
        staging: &Staging,
        name: &Path,
        about: &Description,
    ) -> io::Result<HeldDirectory> {
        let seal = Seal::of_directory(about.clone(), &staging.entry().join(CONTENT))?;
        staging.directory.write(&format!("entry/{SEAL}"), &seal.to_line()?)?;
        // The seal is locked before the entry is visible to other programs, so that they cannot remove it.
        let hold = File::open(staging.entry().join(SEAL))?;
        // If files cannot be locked, the only effect is that other programs may remove the entry.
        let _ = hold.lock_shared();
        let mut moved = self.move_entry(staging, name, about);
        for _ in 1..ATTEMPTS {
            if moved.is_ok() {
                break;
            }
            moved = self.move_entry(staging, name, about);
        }
        if let Some(existing) = moved? {
            return Ok(existing);
        }
        let path = self.directory.canonicalize()?.join(name).join(CONTENT);
        Ok(HeldDirectory { path, _hold: hold })
    }

    /// Moves the entry of a staging directory to its final path. Returns the existing entry if there is a
    /// valid one.
    fn move_entry(
        &self,
        staging: &Staging,
        name: &Path,
        about: &Description,
    ) -> io::Result<Option<HeldDirectory>> {
        let folder = name.parent().unwrap_or(Path::new(""));
        self.make_folder(folder)?;
        let _one_at_a_time = lock_in(&self.directory.join(folder))?;
        if let CachedDirectory::Valid(held) = self.open_directory(name, about) {
            return Ok(Some(held));
        }
        let kept = self.directory.join(name);
        match fs::rename(&kept, staging.free_name()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::rename(staging.entry(), &kept).map(|()| None)
    }

    /// Looks up a cached directory, verifies its seal, and marks it as used.
    pub fn open_directory(&self, name: &Path, about: &Description) -> CachedDirectory {
        match self.hold(name, about) {
            Ok(held) => {
                self.touch(name);
                CachedDirectory::Valid(held)
            }
            Err(_) if fs::symlink_metadata(self.directory.join(name)).is_ok() => CachedDirectory::Damaged,
            Err(_) => CachedDirectory::Missing,
        }
    }

    fn hold(&self, name: &Path, about: &Description) -> io::Result<HeldDirectory> {
        let hold = self.hold_seal(name)?;
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        let mut line = Vec::new();
        (&hold).take(LONGEST_SEAL).read_to_end(&mut line)?;
        let seal = Seal::parse(&line).filter(|seal| seal.about == *about).ok_or_else(damaged)?;
        let content = self.without_links(&name.join(CONTENT))?;
        if Seal::of_directory(about.clone(), &content)? != seal {
            return Err(damaged());
        }
        Ok(HeldDirectory { path: content.canonicalize()?, _hold: hold })
    }

    /// Opens and locks the seal of an entry, and checks that it is still at its path.
    ///
    /// A program that removes an entry holds the lock until the entry is gone. After that, there may be a new entry.
    fn hold_seal(&self, name: &Path) -> io::Result<File> {
        loop {
            let path = self.without_links(&name.join(SEAL))?;
            let seal = open_file(&path)?;
            // If files cannot be locked, the only effect is that other programs may remove the entry.
            let _ = seal.lock_shared();
            if lock::is_at(&seal, &path)? {
                return Ok(seal);
            }
        }
    }

    /// Returns the path of an entry, if no part of its name is a symlink or special file. The path of the store itself
    /// may contain symlinks.
    fn without_links(&self, name: &Path) -> io::Result<PathBuf> {
        let mut path = self.directory.clone();
        for part in name {
            path.push(part);
            let kind = fs::symlink_metadata(&path)?.file_type();
            if !kind.is_dir() && !kind.is_file() {
                return Err(io::Error::other(format!(
                    "{} is not a regular file or directory",
                    path.display()
                )));
            }
        }
        Ok(path)
    }

    /// Creates a folder. Symlinks and files at its path are removed.
    fn make_folder(&self, folder: &Path) -> io::Result<()> {
        create_directories(&self.directory)?;
        let mut path = self.directory.clone();
        for part in folder {
            path.push(part);
            if fs::symlink_metadata(&path).is_ok_and(|metadata| !metadata.is_dir()) {
                fs::remove_file(&path)?;
            }
            match fs::create_dir(&path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Waits for the lock of a directory, which is released when the file is closed. Returns `None` if files cannot be
/// locked.
///
/// # Errors
/// The directory does not exist any more.
fn lock_in(directory: &Path) -> io::Result<Option<File>> {
    match lock::lock(&directory.join(STORE_LOCK), LockMode::Wait) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        // If files cannot be locked, the only effect is that entries are not protected from other programs.
        locked => Ok(locked.ok().flatten()),
    }
}

/// Opens a regular file. Does not block if a pipe has replaced it.
fn open_file(path: &Path) -> io::Result<File> {
    let opened = Handle::open(path)?;
    if opened.metadata()?.is_file() { Ok(opened.into_file()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

#[cfg(test)]
mod tests;
