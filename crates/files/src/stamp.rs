//! Telling whether a file is still the one that it was.

use std::fs;
use std::io;
use std::path::Path;

#[cfg(not(target_family = "wasm"))]
use cap_std::fs::{Dir, File, Metadata};
#[cfg(target_family = "wasm")]
use fs::Metadata;

/// What a file is to the file system, and no copy of it.
#[cfg(unix)]
pub(super) fn of_lock(path: &Path) -> io::Result<String> {
    use std::os::unix::fs::MetadataExt as _;

    let metadata = fs::symlink_metadata(path)?;
    Ok(format!("{} {}.{:09}", metadata.ino(), metadata.ctime(), metadata.ctime_nsec()))
}

/// What a file is to the file system: when it was made, as far as that is known.
#[cfg(not(unix))]
pub(super) fn of_lock(path: &Path) -> io::Result<String> {
    let made = fs::symlink_metadata(path)?.created()?.duration_since(std::time::UNIX_EPOCH);
    Ok(made.map_or_else(|_| String::new(), |time| time.as_nanos().to_string()))
}

/// Which file was read, and which content it had, as far as its size, its mode and the time of its last change
/// tell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStamp(String);

impl FileStamp {
    /// The stamp of a file that is open: taken before it is read, it tells whether it changed since.
    pub(super) fn of(metadata: &fs::Metadata) -> Self {
        Self(of_content(metadata))
    }

    /// Whether a file is still the one that was read.
    pub(super) fn is_of(&self, metadata: &fs::Metadata) -> bool {
        self.0 == of_content(metadata)
    }
}

/// Which file it is, and which content it has, as far as its size, its mode and the time of its last change tell.
pub(super) fn of_content(metadata: &fs::Metadata) -> String {
    #[cfg(not(target_family = "wasm"))]
    let metadata = &Metadata::from_just_metadata(metadata.clone());
    of_metadata(metadata)
}

/// The same of a file that is open.
#[cfg(not(target_family = "wasm"))]
pub(super) fn of_open(file: &File) -> io::Result<String> {
    file.metadata().map(|metadata| of_metadata(&metadata))
}

/// The stamp of what a path in a directory names; none when nothing is there.
#[cfg(not(target_family = "wasm"))]
pub(super) fn at(directory: &Dir, path: &Path) -> io::Result<Option<String>> {
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

/// Whether two stamps are of one file, whatever its content is.
pub(super) fn is_same_file(one: &str, other: &str) -> bool {
    one.split(' ').next() == other.split(' ').next()
}
