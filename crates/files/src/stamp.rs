//! Stamps, which show whether a file is still the same and unchanged.

use std::fs;
use std::io;
use std::path::Path;

#[cfg(not(target_family = "wasm"))]
use cap_std::fs::{Dir, File, Metadata};
#[cfg(target_family = "wasm")]
use fs::Metadata;

/// Returns the identity of a file in the file system. A copy of the file has another identity.
#[cfg(unix)]
pub(super) fn of_lock(path: &Path) -> io::Result<String> {
    use std::os::unix::fs::MetadataExt as _;

    let metadata = fs::symlink_metadata(path)?;
    Ok(format!("{} {}.{:09}", metadata.ino(), metadata.ctime(), metadata.ctime_nsec()))
}

/// Returns the identity of a file in the file system: its creation time, if known.
#[cfg(not(unix))]
pub(super) fn of_lock(path: &Path) -> io::Result<String> {
    let made = fs::symlink_metadata(path)?.created()?.duration_since(std::time::UNIX_EPOCH);
    Ok(made.map_or_else(|_| String::new(), |time| time.as_nanos().to_string()))
}

/// The identity of a file and its content at the time it was read, according to size, mode and modification time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStamp(String);

impl FileStamp {
    /// Creates the stamp of an open file. A stamp that was created before the file is read shows later if the file has
    /// changed.
    pub(super) fn new(metadata: &fs::Metadata) -> Self {
        Self(stamp_of(metadata))
    }

    /// Returns true if the file is still the same and unchanged.
    pub(super) fn matches(&self, metadata: &fs::Metadata) -> bool {
        self.0 == stamp_of(metadata)
    }
}

/// Returns the stamp of a file and its content, according to size, mode and modification time.
pub(super) fn stamp_of(metadata: &fs::Metadata) -> String {
    #[cfg(not(target_family = "wasm"))]
    let metadata = &Metadata::from_just_metadata(metadata.clone());
    of_metadata(metadata)
}

/// Returns the stamp of an open file.
#[cfg(not(target_family = "wasm"))]
pub(super) fn stamp_of_open(file: &File) -> io::Result<String> {
    file.metadata().map(|metadata| of_metadata(&metadata))
}

/// Returns the stamp of a path in a directory, or `None` if it does not exist.
#[cfg(not(target_family = "wasm"))]
pub(super) fn stamp_at(directory: &Dir, path: &Path) -> io::Result<Option<String>> {
    match directory.symlink_metadata(path) {
        Ok(metadata) => Ok(Some(of_metadata(&metadata))),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(unix)]
fn of_metadata(metadata: &Metadata) -> String {
    use cap_std::fs::MetadataExt as _;

    let (time, nanoseconds) = (metadata.mtime(), metadata.mtime_nsec());
    format!("{} {} {:o} {time}.{nanoseconds:09}", metadata.ino(), metadata.size(), metadata.mode())
}

#[cfg(not(unix))]
fn of_metadata(metadata: &Metadata) -> String {
    let changed = metadata.modified().ok();
    #[cfg(not(target_family = "wasm"))]
    let changed = changed.map(cap_std::time::SystemTime::into_std);
    let changed = changed.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    format!("- {} {}", metadata.len(), changed.map_or(0, |time| time.as_nanos()))
}

/// Returns true if two stamps are those of the same file, whatever its content is.
pub(super) fn is_same_file(one: &str, other: &str) -> bool {
    one.split(' ').next() == other.split(' ').next()
}
