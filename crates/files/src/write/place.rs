//! Where a text goes that is to be written to a path.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process;

/// What a text is called until it is complete.
pub(super) const PREFIX: &str = ".kubectl-smp-new-";

/// Makes a directory, and those that it is in, unless they are there.
///
/// # Errors
/// One of them cannot be made, or is a file.
pub fn create_directories(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

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
    Stream(Stream),
}

/// Something that is written to.
#[derive(Debug)]
pub(super) enum Stream {
    /// Standard output or error.
    Own(OwnStream),
    /// All else, by its path.
    At(PathBuf),
}

/// What every program is started with.
#[derive(Debug, Clone, Copy)]
pub(super) enum OwnStream {
    Output,
    Error,
}

/// Looks where a text goes.
///
/// # Errors
/// A directory is there; the directory that it would be in is not there; the system refuses to look.
pub(super) fn place(path: &Path) -> io::Result<WritePlace> {
    if let Some(stream) = descriptor(path) {
        return Ok(WritePlace::Stream(stream));
    }
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(WritePlace::Taken(path.canonicalize()?, metadata)),
        Ok(metadata) if metadata.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => Ok(WritePlace::Stream(Stream::At(path.to_path_buf()))),
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

/// What a path in a directory of open files means, such as `/dev/stdout`.
fn descriptor(path: &Path) -> Option<Stream> {
    links(path).find_map(|path| {
        let directory = directory_of(&path);
        // To ask for the real path of all others would cost more than it tells.
        let real = directory.ends_with("fd").then(|| directory.canonicalize().ok())??;
        let is_ours =
            real == Path::new("/dev/fd") || real == Path::new(&format!("/proc/{}/fd", process::id()));
        match path.file_name().and_then(|name| name.to_str()) {
            Some("1") if is_ours => Some(Stream::Own(OwnStream::Output)),
            Some("2") if is_ours => Some(Stream::Own(OwnStream::Error)),
            _ => (is_ours || real.starts_with("/proc")).then_some(Stream::At(path)),
        }
    })
}

impl Stream {
    /// Opens it to be written to.
    pub(super) fn open(&self) -> io::Result<File> {
        match self {
            Self::Own(stream) => stream.open(),
            // What is no file has no end, and a file that was opened for us goes on at its end.
            Self::At(path) => {
                let appended = OpenOptions::new().append(true).open(path);
                appended.or_else(|_| OpenOptions::new().write(true).open(path))
            }
        }
    }
}

impl OwnStream {
    /// To open it again would write from its beginning, over what others wrote.
    #[cfg(unix)]
    fn open(self) -> io::Result<File> {
        use std::os::fd::AsFd as _;

        let open = match self {
            Self::Output => io::stdout().as_fd().try_clone_to_owned()?,
            Self::Error => io::stderr().as_fd().try_clone_to_owned()?,
        };
        Ok(File::from(open))
    }

    /// There are no paths that mean it.
    #[cfg(not(unix))]
    fn open(self) -> io::Result<File> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
