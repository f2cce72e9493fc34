//! Where a text goes that is to be written to a path.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// How many links may lead to each other, as on Linux.
const MAX_LINKS: usize = 40;

/// What is where a text shall go, links followed.
#[derive(Debug)]
pub(super) enum WritePlace {
    /// Nothing yet; the real path of its directory, with the name.
    Free(PathBuf),
    /// A file, by its real path.
    Taken(PathBuf, Metadata),
    /// A pipe, a device, or one of the files that this program was started with: what is written to it is
    /// gone, so that it cannot be replaced.
    Stream(PathBuf),
}

/// Looks where a text goes.
///
/// # Errors
/// A directory is there; the directory that it would be in is not there; the system refuses to look.
pub(super) fn place(path: &Path) -> io::Result<WritePlace> {
    if let Some(descriptor) = descriptor(path) {
        return Ok(WritePlace::Stream(descriptor));
    }
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(WritePlace::Taken(path.canonicalize()?, metadata)),
        Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => Ok(WritePlace::Stream(path.to_path_buf())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => free(path),
        Err(error) => Err(error),
    }
}

/// The directory that a path's last name stands in.
pub(super) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A path that leads to nothing, where a link may lead to nothing, too.
fn free(path: &Path) -> io::Result<WritePlace> {
    let end = links(path).last().unwrap_or_default();
    let name = end.file_name().ok_or(io::ErrorKind::NotFound)?;
    Ok(WritePlace::Free(directory_of(&end).canonicalize()?.join(name)))
}

/// A path, and what it leads to when it is a link, and so on.
fn links(path: &Path) -> impl Iterator<Item = PathBuf> {
    let next = |path: &PathBuf| fs::read_link(path).ok().map(|target| directory_of(path).join(target));
    std::iter::successors(Some(path.to_path_buf()), next).take(MAX_LINKS)
}

/// The path in the directory of open files, if it is one of these, such as `/dev/stdout`.
fn descriptor(path: &Path) -> Option<PathBuf> {
    let is_of_open_files = |path: &PathBuf| {
        let directory = directory_of(path);
        // To ask for the real path of all others would cost more than it tells.
        let may_be = directory.ends_with("fd");
        may_be && directory.canonicalize().is_ok_and(|real| is_directory_of_open_files(&real))
    };
    links(path).find(is_of_open_files)
}

/// `/dev/fd` and `/proc/123/fd`, the latter of threads, too.
fn is_directory_of_open_files(real: &Path) -> bool {
    real == Path::new("/dev/fd") || (real.starts_with("/proc") && real.ends_with("fd"))
}

/// Opens a stream to be written to.
pub(super) fn open_stream(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    if directory_of(path).ends_with("fd") {
        use std::os::fd::AsFd as _;

        // To open them again would write from their beginning, over what others wrote.
        let number = path.file_name().and_then(|name| name.to_str());
        let open = match number {
            Some("1") => Some(io::stdout().as_fd().try_clone_to_owned()?),
            Some("2") => Some(io::stderr().as_fd().try_clone_to_owned()?),
            _ => None,
        };
        if let Some(open) = open {
            return Ok(File::from(open));
        }
    }
    // What is no file has no end, and a file that was opened for us goes on at its end.
    OpenOptions::new().append(true).open(path).or_else(|_| OpenOptions::new().write(true).open(path))
}
