//! The files on disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::handle::Handle;
#[cfg(feature = "watch")]
use super::stamp::stamp_of;
use super::tree::{DirectoryEntry, FileKind, FileTree, Located, OpenFile, may_run};

/// The file system of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DiskTree;

impl FileTree for DiskTree {
    fn working_directory(&self) -> io::Result<PathBuf> {
        std::env::current_dir()?.canonicalize()
    }

    /// Resolves a path. `from` contains no symlinks, so only `path` is examined. If `path` contains a symlink, the
    /// system resolves the whole path.
    fn locate(&self, from: &Path, path: &Path) -> io::Result<Located> {
        without_links(from, path).unwrap_or_else(|| {
            let real = from.join(path).canonicalize()?;
            let kind = fs::metadata(&real).map_or(FileKind::Other, |metadata| metadata.file_type().into());
            Ok(Located::new(real, kind))
        })
    }

    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        Handle::open(path).map(OpenFile::on_disk)
    }

    fn open_stream(&self, path: &Path) -> io::Result<OpenFile> {
        Handle::open_blocking(path).map(OpenFile::stream)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<DirectoryEntry>> {
        // The dot makes the system reject paths that are not directories.
        let listed = fs::read_dir(directory.join("."))?.map(|entry| {
            let entry = entry?;
            Ok(DirectoryEntry { name: entry.file_name(), kind: entry.file_type()?.into() })
        });
        let mut listed = listed.collect::<io::Result<Vec<_>>>()?;
        listed.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(listed)
    }

    fn is_on_disk(&self) -> bool {
        true
    }

    fn is_link(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink())
    }

    /// Reads the metadata once. Also works for files without a path of their own, such as `/dev/fd/3`.
    fn kind(&self, path: &Path) -> io::Result<FileKind> {
        fs::metadata(path).map(|metadata| metadata.file_type().into())
    }
}

/// Returns the time of the last change of the content or the metadata (ctime), which programs cannot set.
#[cfg(all(feature = "watch", unix))]
fn change_time(metadata: &fs::Metadata) -> String {
    use std::os::unix::fs::MetadataExt as _;

    format!("{}.{:09}", metadata.ctime(), metadata.ctime_nsec())
}

#[cfg(all(feature = "watch", not(unix)))]
fn change_time(_: &fs::Metadata) -> String {
    String::new()
}

impl DiskTree {
    /// Returns true if a path refers to an executable file.
    ///
    /// # Errors
    /// The path does not exist.
    pub fn is_executable(path: &Path) -> io::Result<bool> {
        fs::metadata(path).map(|metadata| may_run(&metadata))
    }

    /// Returns the time of the last change of a file, or `None` if it does not exist.
    #[cfg(feature = "watch")]
    pub(crate) fn modified(path: &Path) -> Option<std::time::SystemTime> {
        fs::metadata(path).and_then(|metadata| metadata.modified()).ok()
    }

    /// Returns the stamp of the file or directory at a path, or `None` if it does not exist.
    #[cfg(feature = "watch")]
    pub(crate) fn stamp(path: &Path) -> Option<String> {
        fs::metadata(path).ok().map(|metadata| format!("{} {}", stamp_of(&metadata), change_time(&metadata)))
    }

    /// Returns the target of a symlink, which may not exist, or `None` if the path is not a symlink.
    #[cfg(feature = "watch")]
    pub(crate) fn target_of_link(path: &Path) -> Option<PathBuf> {
        let target = fs::read_link(path).ok()?;
        Some(super::lexical::clean_path(&path.parent()?.join(target)))
    }

    /// Returns the stamp of a symlink itself, or `None` if it does not exist.
    #[cfg(feature = "watch")]
    pub(crate) fn stamp_of_link(path: &Path) -> Option<String> {
        fs::symlink_metadata(path).ok().map(|metadata| stamp_of(&metadata))
    }

    /// Returns true if a file belongs to the owner of a directory or to root. If the path is a symlink, the symlink
    /// must also belong to one of them.
    #[cfg(unix)]
    pub(crate) fn is_trusted(file: &Path, directory: &Path) -> bool {
        use std::os::unix::fs::MetadataExt as _;

        let owner = |metadata: io::Result<fs::Metadata>| metadata.map(|metadata| metadata.uid()).ok();
        let directory_owner = owner(fs::metadata(directory));
        let is_trusted = |user: Option<u32>| user == Some(0) || (user.is_some() && user == directory_owner);
        is_trusted(owner(fs::metadata(file))) && is_trusted(owner(fs::symlink_metadata(file)))
    }

    /// Returns true, since file owners are not available on this platform.
    #[cfg(not(unix))]
    pub(crate) fn is_trusted(_file: &Path, _directory: &Path) -> bool {
        true
    }
}

/// Resolves a path without symlinks. Returns `None` for paths that contain symlinks or `..` after a name, and for paths
/// that are not plain relative paths.
fn without_links(from: &Path, path: &Path) -> Option<io::Result<Located>> {
    let path = path.to_str().filter(|_| from.is_absolute())?;
    if path.starts_with('/') || path.contains(['\\', ':']) {
        return None;
    }
    let mut real = from.to_path_buf();
    let (mut is_above, mut found) = (true, FileKind::Directory);
    for part in path.split('/') {
        match part {
            _ if found != FileKind::Directory => return None,
            "" | "." => {}
            ".." if is_above => drop(real.pop()),
            ".." => return None,
            name => {
                real.push(name);
                match fs::symlink_metadata(&real) {
                    Ok(metadata) if metadata.is_symlink() => return None,
                    Ok(metadata) => (is_above, found) = (false, metadata.file_type().into()),
                    Err(error) => return Some(Err(error)),
                }
            }
        }
    }
    Some(Ok(Located::new(real, found)))
}
