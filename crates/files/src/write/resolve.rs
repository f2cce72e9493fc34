//! Resolves the path of a file to write.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process;

/// The prefix of temporary file names.
pub(super) const PREFIX: &str = ".kubectl-smp-new-";

/// Creates a directory and its missing parents.
///
/// # Errors
/// One of them cannot be created, or is a file.
pub fn create_directories(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// The maximum number of symlinks in a path, as on Linux.
const MAX_LINKS: usize = 40;

/// A resolved path to write to.
#[derive(Debug)]
pub(super) enum WriteTarget {
    /// The file does not exist. The path is the real path of its directory, joined with the name.
    New(PathBuf),
    /// An existing file, by its real path.
    Existing(PathBuf, Metadata),
    /// A pipe, a device, or an inherited file descriptor, which cannot be replaced.
    Stream(Stream),
}

/// A stream to write to.
#[derive(Debug)]
pub(super) enum Stream {
    /// Standard output or standard error.
    Standard(StandardStream),
    /// Any other stream, by its path.
    At(PathBuf),
}

/// A standard stream of this process.
#[derive(Debug, Clone, Copy)]
pub(super) enum StandardStream {
    Output,
    Error,
}

/// Resolves a path to write to.
///
/// # Errors
/// The path is a directory, its parent directory does not exist, or the system denies access.
pub(super) fn resolve_target(path: &Path) -> io::Result<WriteTarget> {
    if let Some(stream) = descriptor(path) {
        return Ok(WriteTarget::Stream(stream));
    }
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(WriteTarget::Existing(path.canonicalize()?, metadata)),
        Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => Ok(WriteTarget::Stream(Stream::At(path.to_path_buf()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => free(path),
        Err(error) => Err(error),
    }
}

/// Returns the parent directory of a path, which is `.` for a single name.
pub(super) fn parent_directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Resolves a path that does not exist. It may be a dangling symlink.
fn free(path: &Path) -> io::Result<WriteTarget> {
    let end = links(path).last().unwrap_or_default();
    let name = end.file_name().ok_or(io::ErrorKind::NotFound)?;
    Ok(WriteTarget::New(parent_directory(&end).canonicalize()?.join(name)))
}

/// Returns a path and, if it is a symlink, its target, the target of the target, and so on.
fn links(path: &Path) -> impl Iterator<Item = PathBuf> {
    let next = |path: &PathBuf| fs::read_link(path).ok().map(|target| parent_directory(path).join(target));
    std::iter::successors(Some(path.to_path_buf()), next).take(MAX_LINKS)
}

/// Returns the stream for a path in a directory of open file descriptors, such as `/dev/stdout`.
fn descriptor(path: &Path) -> Option<Stream> {
    links(path).find_map(|path| {
        let directory = parent_directory(&path);
        // Only a directory with this name is resolved, since resolving every directory would cost too much.
        let real = directory.ends_with("fd").then(|| directory.canonicalize().ok())??;
        let is_ours =
            real == Path::new("/dev/fd") || real == Path::new(&format!("/proc/{}/fd", process::id()));
        match path.file_name().and_then(|name| name.to_str()) {
            Some("1") if is_ours => Some(Stream::Standard(StandardStream::Output)),
            Some("2") if is_ours => Some(Stream::Standard(StandardStream::Error)),
            _ => (is_ours || real.starts_with("/proc")).then_some(Stream::At(path)),
        }
    })
}

impl Stream {
    /// Opens the stream for writing.
    pub(super) fn open(&self) -> io::Result<File> {
        match self {
            Self::Standard(stream) => stream.open(),
            // The file is opened in append mode if possible, since it may be a regular file that the shell has already
            // written to. Devices and pipes that reject append mode are opened for writing.
            Self::At(path) => {
                let appended = OpenOptions::new().append(true).open(path);
                appended.or_else(|_| OpenOptions::new().write(true).open(path))
            }
        }
    }
}

impl StandardStream {
    /// Duplicates the descriptor. If its path were opened again, the output would start at the beginning of the file
    /// and overwrite earlier output.
    #[cfg(unix)]
    fn open(self) -> io::Result<File> {
        use std::os::fd::AsFd as _;

        let open = match self {
            Self::Output => io::stdout().as_fd().try_clone_to_owned()?,
            Self::Error => io::stderr().as_fd().try_clone_to_owned()?,
        };
        Ok(File::from(open))
    }

    /// Returns an error, because standard streams have no paths on this system.
    #[cfg(not(unix))]
    fn open(self) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
