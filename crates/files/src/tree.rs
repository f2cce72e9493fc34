//! What a tree of files can be asked.

use std::any::Any;
use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::fs::{FileType, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::handle::Handle;
use super::stamp::FileStamp;

/// A tree of files that can be read.
///
/// Paths are absolute, or relative to the tree's [working directory](FileTree::working_directory). A *real*
/// path is absolute and has neither links nor `.` nor `..` in it: one file has one.
pub trait FileTree: fmt::Debug + Send + Sync {
    /// The real path of the directory from which relative paths are taken.
    ///
    /// # Errors
    /// It is gone, or may not be looked at.
    fn working_directory(&self) -> io::Result<PathBuf>;

    /// Follows a path to what it leads to, as the system does: links are followed before `..` is taken.
    ///
    /// `from` is the real path of the directory that the path starts from; empty for the working directory.
    ///
    /// # Errors
    /// It leads to nothing, or something on the way is no directory.
    fn locate(&self, from: &Path, path: &Path) -> io::Result<Located>;

    /// Opens a file, without waiting for anyone: what is no file is opened, too, and not read. All reading goes
    /// through here, or through [`FileTree::open_stream`].
    ///
    /// # Errors
    /// It is not there, or may not be read.
    fn open(&self, path: &Path) -> io::Result<OpenFile>;

    /// Opens what bytes come from: a file, or a pipe or device, for which this may wait. For what the user
    /// himself names, such as `/dev/stdin`, and nothing else: to others it would be a trap.
    ///
    /// # Errors
    /// As [`FileTree::open`].
    fn open_stream(&self, path: &Path) -> io::Result<OpenFile> {
        self.open(path)
    }

    /// What is in a directory, sorted by name.
    ///
    /// # Errors
    /// It is not there, is none, or may not be read.
    fn list(&self, directory: &Path) -> io::Result<Vec<DirectoryEntry>>;

    /// Whether other programs find the files of this tree by the same paths.
    fn is_on_disk(&self) -> bool;

    /// Says that another program is given a file, or a directory with all that is in it. Nothing is done but by
    /// trees that note what a result depends on.
    fn give(&self, _path: &Path) {}

    /// Returns the same files for a part of a result that other results may share. A recording tree records the reads of
    /// the part separately.
    fn part(&self) -> Option<Arc<dyn FileTree>> {
        None
    }

    /// Records that a result depends on everything that was or will be read from a [part](FileTree::part).
    fn uses(&self, _part: &Arc<dyn FileTree>) {}

    /// Returns the recording of reads from this tree, if there is one.
    fn recording(&self) -> Option<Box<dyn Any>> {
        None
    }

    /// What a path leads to.
    ///
    /// # Errors
    /// As [`FileTree::locate`].
    fn kind(&self, path: &Path) -> io::Result<FileKind> {
        self.locate(Path::new(""), path).map(|found| found.kind())
    }

    /// Whether a path leads to a directory.
    fn is_directory(&self, path: &Path) -> bool {
        self.kind(path).is_ok_and(|kind| kind == FileKind::Directory)
    }

    /// Whether a path leads to anything.
    fn has(&self, path: &Path) -> bool {
        self.kind(path).is_ok()
    }

    /// The content of a file.
    ///
    /// # Errors
    /// As [`FileTree::open`] and [`OpenFile::read`].
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.open(path)?.read()
    }

    /// The content of a file that is UTF-8.
    ///
    /// # Errors
    /// As [`FileTree::open`] and [`OpenFile::read_text`].
    fn read_text(&self, path: &Path) -> io::Result<String> {
        self.open(path)?.read_text()
    }

    /// All bytes that come from what the user names.
    ///
    /// # Errors
    /// As [`FileTree::open_stream`] and [`OpenFile::read`].
    fn read_stream(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.open_stream(path)?.read()
    }
}

/// What something in a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Bytes.
    File,
    /// A directory.
    Directory,
    /// A symbolic link; only entries of directories are, since paths are followed.
    Link,
    /// A pipe, a device and the like.
    Other,
}

impl From<FileType> for FileKind {
    fn from(file_type: FileType) -> Self {
        match file_type {
            t if t.is_file() => Self::File,
            t if t.is_dir() => Self::Directory,
            t if t.is_symlink() => Self::Link,
            _ => Self::Other,
        }
    }
}

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    path: PathBuf,
    kind: FileKind,
}

impl Located {
    /// What is at a real path.
    #[must_use]
    pub fn new(path: PathBuf, kind: FileKind) -> Self {
        Self { path, kind }
    }

    /// Its real path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its real path.
    #[must_use]
    pub fn into_path(self) -> PathBuf {
        self.path
    }

    /// What is there.
    #[must_use]
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// Whether it is a directory.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        self.kind == FileKind::Directory
    }
}

/// What a directory holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Its name there.
    pub name: OsString,
    /// What it is; links are not followed.
    pub kind: FileKind,
}

/// The most that is read of one file, 1 GiB: what is larger is no manifest, and memory has an end.
pub const MAX_FILE_SIZE: u64 = 1 << 30;

/// A file that was opened: who has it may read it.
#[derive(Debug)]
pub struct OpenFile(OpenContent);

#[derive(Debug)]
enum OpenContent {
    /// A file, or something that is not read.
    Disk(Handle),
    /// Anything that bytes come from.
    Stream(Handle),
    Memory(PathBuf, Arc<[u8]>),
}

impl OpenFile {
    /// A file whose content is at hand, with its real path.
    #[must_use]
    pub fn in_memory(path: PathBuf, content: Arc<[u8]>) -> Self {
        Self(OpenContent::Memory(path, content))
    }

    pub(super) fn on_disk(handle: Handle) -> Self {
        Self(OpenContent::Disk(handle))
    }

    pub(super) fn stream(handle: Handle) -> Self {
        Self(OpenContent::Stream(handle))
    }

    /// The real path of what is open, by what was opened and not by its name: whatever the names on the way
    /// have become meanwhile, this is the file that is read. Of a file that is gone, the path that it had, perhaps
    /// with something behind the name.
    ///
    /// # Errors
    /// It has no path, or the system does not tell it.
    pub fn path(&self) -> io::Result<Cow<'_, Path>> {
        match &self.0 {
            OpenContent::Memory(path, _) => Ok(Cow::Borrowed(path)),
            OpenContent::Disk(handle) | OpenContent::Stream(handle) => handle.path(),
        }
    }

    /// What is open.
    ///
    /// # Errors
    /// The system cannot tell.
    pub fn kind(&self) -> io::Result<FileKind> {
        match &self.0 {
            OpenContent::Memory(..) => Ok(FileKind::File),
            OpenContent::Disk(handle) | OpenContent::Stream(handle) => {
                handle.metadata().map(|m| m.file_type().into())
            }
        }
    }

    /// Whether it may be run as a program; no file in memory is one.
    #[must_use]
    pub fn is_executable(&self) -> bool {
        match &self.0 {
            OpenContent::Memory(..) => false,
            OpenContent::Disk(handle) | OpenContent::Stream(handle) => {
                handle.metadata().is_ok_and(|metadata| may_run(&metadata))
            }
        }
    }

    /// What tells later whether it changed since now; none of what has no place on a disk.
    #[must_use]
    pub fn stamp(&self) -> Option<FileStamp> {
        match &self.0 {
            OpenContent::Memory(..) => None,
            OpenContent::Disk(handle) | OpenContent::Stream(handle) => {
                handle.metadata().ok().filter(Metadata::is_file).map(|metadata| FileStamp::of(&metadata))
            }
        }
    }

    /// All of its content.
    ///
    /// # Errors
    /// It is no file, or larger than [`MAX_FILE_SIZE`], or the system cannot read it.
    pub fn read(self) -> io::Result<Vec<u8>> {
        match self.0 {
            OpenContent::Memory(_, content) => Ok(content.to_vec()),
            OpenContent::Disk(handle) => {
                let metadata = handle.metadata()?;
                let is_file = FileKind::from(metadata.file_type()) != FileKind::Other;
                if is_file { read_to_end(handle, &metadata) } else { Err(no_file()) }
            }
            OpenContent::Stream(handle) => {
                let metadata = handle.metadata()?;
                read_to_end(handle, &metadata)
            }
        }
    }

    /// All of its content, which is UTF-8.
    ///
    /// # Errors
    /// As [`OpenFile::read`], and when it is something else.
    pub fn read_text(self) -> io::Result<String> {
        let wrong = |_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8");
        String::from_utf8(self.read()?).map_err(wrong)
    }
}

/// Reads what seems to have some size.
fn read_to_end(handle: Handle, metadata: &Metadata) -> io::Result<Vec<u8>> {
    let size = metadata.len();
    if size > MAX_FILE_SIZE {
        return Err(too_large());
    }
    // One byte more than there is, so that the end is seen without asking for more memory.
    let content = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(1));
    read_bounded(handle.into_file(), content)
}

/// Adds all that a stream has to `content`.
///
/// # Errors
/// It has more than [`MAX_FILE_SIZE`], or cannot be read.
pub fn read_bounded(stream: impl io::Read, mut content: Vec<u8>) -> io::Result<Vec<u8>> {
    stream.take(MAX_FILE_SIZE + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_FILE_SIZE { Err(too_large()) } else { Ok(content) }
}

/// What is said of a [`FileKind::Other`] where a file is needed.
pub const NO_FILE: &str = "a pipe, a device or a socket, not a file";

fn no_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("it is {NO_FILE}"))
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 GiB, the most that is read of one file")
}

#[cfg(unix)]
pub(super) fn may_run(metadata: &Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
pub(super) fn may_run(_metadata: &Metadata) -> bool {
    true
}
