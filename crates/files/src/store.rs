//! Directories of caches.
//!
//! What is kept there appears whole, by renaming what is complete, so that any number of programs can share
//! one, and is sealed: what was changed or damaged since counts as absent. Nothing in a store is reached over
//! a link. Must not know what is kept.

mod tidy;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

pub use self::tidy::{CacheEntry, CacheKind, Cleared};
pub use self::tidy::{Removal, StoredEntry, UNUSED};
use super::disk::DiskTree;
use super::handle::Handle;
use super::lock::{self, Waiting};
use super::seal::{About, Seal, hex};
use super::temporary::TemporaryDirectory;
use super::tree::{DirectoryEntry, FileTree as _};
use super::write::{create_directories, replace_file_with};

/// What is not complete yet; left behind only by programs that were killed.
const STAGING: &str = "new-";
/// Locked by who writes where it stands.
const STORE_LOCK: &str = "lock";
/// What a directory that is kept consists of: its seal, which is locked by who uses it, and the content.
const SEAL: &str = "seal";
const CONTENT: &str = "tree";

/// Another program may remove the folder just before something is moved there.
const ATTEMPTS: usize = 4;

/// The longest line of a seal.
const LONGEST_SEAL: u64 = 1 << 16;

/// What is larger was not kept by this program, whatever its seal says.
const LARGEST_FILE: u64 = 256 << 20;

/// A directory of a cache. It is made when something is kept in it.
#[derive(Debug, Clone)]
pub struct Store {
    directory: PathBuf,
}

/// A name for texts, as long as is needed to tell all texts of the world apart.
pub fn key(parts: &[&[u8]]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part);
    }
    hex(&hasher.finalize()[..16])
}

/// Whether a name is one that [`key`] gives.
pub fn is_key(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Where the system keeps the caches of users: the directory for those of this program. None when there is no
/// such place, as for users without a home.
#[must_use]
pub fn user_cache() -> Option<PathBuf> {
    dirs::cache_dir().map(|caches| caches.join("kubectl-smp"))
}

/// A place for what is not complete yet. It goes with this value, or when others find it left behind.
#[derive(Debug)]
pub struct Staging {
    _lock: Option<File>,
    directory: TemporaryDirectory,
    /// How many names were given out.
    names: AtomicUsize,
}

impl Staging {
    /// An empty directory, which [`Store::keep_directory`] takes.
    pub fn content(&self) -> io::Result<PathBuf> {
        self.directory.create_directory("entry")?;
        let content = self.entry().join(CONTENT);
        fs::create_dir(&content).map(|()| content)
    }

    /// Removes a directory of the content.
    pub fn remove_from_content(&self, name: &Path) -> io::Result<()> {
        fs::remove_dir_all(self.entry().join(CONTENT).join(name))
    }

    fn entry(&self) -> PathBuf {
        self.directory.path().join("entry")
    }

    /// A name in it that nothing has.
    fn free_name(&self) -> PathBuf {
        let number = self.names.fetch_add(1, Ordering::Relaxed);
        self.directory.path().join(format!("old-{number}"))
    }
}

/// A directory that was kept.
#[derive(Debug)]
pub enum KeptDirectory {
    /// It is what was kept.
    Whole(HeldDirectory),
    /// There is something else in its place.
    Damaged,
    /// There is nothing.
    Absent,
}

/// A directory that is used: it is not removed as long as this lives.
#[derive(Debug)]
pub struct HeldDirectory {
    /// The real path of the content.
    pub path: PathBuf,
    _hold: File,
}

impl Store {
    /// Returns the store in a directory, which is created with its first entry.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// The directory of the store.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The content of a file.
    pub fn read(&self, name: &Path) -> io::Result<Vec<u8>> {
        DiskTree.read(&self.without_links(name)?)
    }

    /// The names in a folder; none when it is not there.
    pub fn names(&self, folder: &Path) -> Vec<OsString> {
        let entries = self.without_links(folder).and_then(|folder| DiskTree.list(&folder));
        entries.unwrap_or_default().into_iter().map(|DirectoryEntry { name, .. }| name).collect()
    }

    /// Keeps a file, given in parts; its folder is made.
    pub fn keep(&self, name: &Path, parts: &[&[u8]]) -> io::Result<()> {
        self.make_folder(name.parent().unwrap_or(Path::new("")))?;
        replace_file_with(&self.directory.join(name), parts, STAGING)
    }

    /// Keeps a file under a seal.
    pub fn keep_sealed(&self, name: &Path, about: About, content: &[u8]) -> io::Result<()> {
        let seal = Seal::of_bytes(about, content).to_line()?;
        self.keep(name, &[&seal, content])
    }

    /// The content of a file that was kept under a seal, if it is what was kept. It counts as used now.
    pub fn read_sealed(&self, name: &Path, about: &About) -> Option<Vec<u8>> {
        let content = self.whole_file(name, about)?;
        self.touch(name);
        Some(content)
    }

    fn whole_file(&self, name: &Path, about: &About) -> Option<Vec<u8>> {
        let (seal, reader) = self.open_sealed(name)?;
        let mut content = Vec::new();
        // It may have grown since.
        reader.take(seal.size).read_to_end(&mut content).ok()?;
        let is_whole = seal.about == *about && Seal::of_bytes(seal.about.clone(), &content) == seal;
        is_whole.then_some(content)
    }

    /// The seal of a file and what stands behind it, which is as long as the seal says.
    fn open_sealed(&self, name: &Path) -> Option<(Seal, BufReader<File>)> {
        let file = open_file(&self.without_links(name).ok()?).ok()?;
        let length = file.metadata().ok()?.len();
        let (mut reader, mut line) = (BufReader::new(file), Vec::new());
        (&mut reader).take(LONGEST_SEAL).read_until(b'\n', &mut line).ok()?;
        let seal = Seal::read(&line).filter(|seal| seal.size <= LARGEST_FILE)?;
        let whole = u64::try_from(line.len()).ok()?.checked_add(seal.size)?;
        (length == whole).then_some((seal, reader))
    }

    /// Drops a file, if it is there and can be.
    pub fn drop_file(&self, name: &Path) {
        // Another program may have dropped or replaced it just now.
        let _ = fs::remove_file(self.directory.join(name));
    }

    /// Notes that something is used now.
    pub fn touch(&self, name: &Path) {
        // Of no consequence in a cache that can only be read.
        let _ = File::open(self.directory.join(name)).and_then(|file| file.set_modified(SystemTime::now()));
    }

    /// A new place for what is not complete yet.
    pub fn staging(&self) -> io::Result<Staging> {
        let mut staging = self.make_staging();
        for _ in 1..ATTEMPTS {
            // Another program cleared the cache just now.
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

    /// Keeps the content of a staging place under a seal, and holds it. One that is there already and whole
    /// stays, so that programs that use it are not disturbed; anything else in its place goes.
    pub fn keep_directory(&self, staging: &Staging, name: &Path, about: &About) -> io::Result<HeldDirectory> {
        let seal = Seal::of_directory(about.clone(), &staging.entry().join(CONTENT))?;
        staging.directory.write(&format!("entry/{SEAL}"), &seal.to_line()?)?;
        // Held before others can see it: nobody takes it out in between.
        let hold = File::open(staging.entry().join(SEAL))?;
        // Where files cannot be locked, nothing is lost but that care is taken of others.
        let _ = hold.lock_shared();
        let mut placed = self.place(staging, name, about);
        for _ in 1..ATTEMPTS {
            if placed.is_ok() {
                break;
            }
            placed = self.place(staging, name, about);
        }
        if let Some(there_already) = placed? {
            return Ok(there_already);
        }
        let path = self.directory.canonicalize()?.join(name).join(CONTENT);
        Ok(HeldDirectory { path, _hold: hold })
    }

    /// Moves the entry of a staging place to where it belongs, unless it is there already: then that one.
    fn place(&self, staging: &Staging, name: &Path, about: &About) -> io::Result<Option<HeldDirectory>> {
        let folder = name.parent().unwrap_or(Path::new(""));
        self.make_folder(folder)?;
        let _one_at_a_time = lock_in(&self.directory.join(folder))?;
        if let KeptDirectory::Whole(held) = self.open_directory(name, about) {
            return Ok(Some(held));
        }
        let kept = self.directory.join(name);
        match fs::rename(&kept, staging.free_name()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        fs::rename(staging.entry(), &kept).map(|()| None)
    }

    /// Looks a directory up that was kept, and whether it is still what was kept. It counts as used now.
    pub fn open_directory(&self, name: &Path, about: &About) -> KeptDirectory {
        match self.hold(name, about) {
            Ok(held) => {
                self.touch(name);
                KeptDirectory::Whole(held)
            }
            Err(_) if fs::symlink_metadata(self.directory.join(name)).is_ok() => KeptDirectory::Damaged,
            Err(_) => KeptDirectory::Absent,
        }
    }

    fn hold(&self, name: &Path, about: &About) -> io::Result<HeldDirectory> {
        let hold = self.hold_seal(name)?;
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        let mut line = Vec::new();
        (&hold).take(LONGEST_SEAL).read_to_end(&mut line)?;
        let seal = Seal::read(&line).filter(|seal| seal.about == *about).ok_or_else(damaged)?;
        let content = self.without_links(&name.join(CONTENT))?;
        if Seal::of_directory(about.clone(), &content)? != seal {
            return Err(damaged());
        }
        Ok(HeldDirectory { path: content.canonicalize()?, _hold: hold })
    }

    /// The seal of an entry, which is locked and still in its place: who removes has the lock until the entry
    /// is gone, and another one may be there by then.
    fn hold_seal(&self, name: &Path) -> io::Result<File> {
        loop {
            let path = self.without_links(&name.join(SEAL))?;
            let seal = open_file(&path)?;
            // Where files cannot be locked, nothing is lost but that care is taken of others.
            let _ = seal.lock_shared();
            if lock::is_at(&seal, &path)? {
                return Ok(seal);
            }
        }
    }

    /// The path of something in the store, if no part of its name is a link, and what is in the way to it are
    /// directories. The store itself may lie behind one.
    fn without_links(&self, name: &Path) -> io::Result<PathBuf> {
        let mut path = self.directory.clone();
        for part in name {
            path.push(part);
            let kind = fs::symlink_metadata(&path)?.file_type();
            if !kind.is_dir() && !kind.is_file() {
                return Err(io::Error::other(format!("{} is no file", path.display())));
            }
        }
        Ok(path)
    }

    /// Makes a folder; links and files in its place go.
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

/// Waits for the lock of a directory, which is free again when the file is closed; none where files cannot be
/// locked.
///
/// # Errors
/// The directory is gone.
fn lock_in(directory: &Path) -> io::Result<Option<File>> {
    match lock::lock(&directory.join(STORE_LOCK), Waiting::UntilFree) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
        // Nothing is lost but that care is taken of others.
        locked => Ok(locked.ok().flatten()),
    }
}

/// Opens a file, and nothing else that may have come into its place: no pipe is waited for.
fn open_file(path: &Path) -> io::Result<File> {
    let opened = Handle::open(path)?;
    if opened.metadata()?.is_file() { Ok(opened.into_file()) } else { Err(io::ErrorKind::InvalidData.into()) }
}

#[cfg(test)]
mod tests;
