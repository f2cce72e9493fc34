//! The interface of file trees.

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

/// A readable tree of files.
///
/// Paths are absolute, or relative to the tree's [working directory](FileTree::working_directory). A *real* path is
/// absolute and contains no symlinks, `.` or `..`, so that each file has exactly one real path.
pub trait FileTree: fmt::Debug + Send + Sync {
    /// Returns the real path of the working directory, to which relative paths refer.
    ///
    /// # Errors
    /// The directory no longer exists or is not accessible.
    fn working_directory(&self) -> io::Result<PathBuf>;

    /// Resolves a path as the operating system does: symlinks are resolved before `..`.
    ///
    /// `from` is the real path of the directory to which the path is relative. It is empty for the working directory.
    ///
    /// # Errors
    /// The path does not exist, or a part of it is not a directory.
    fn locate(&self, from: &Path, path: &Path) -> io::Result<Located>;

    /// Opens a file without blocking. Special files are opened, but not read. All reads use this method or
    /// [`FileTree::open_stream`].
    ///
    /// # Errors
    /// The file does not exist or cannot be read.
    fn open(&self, path: &Path) -> io::Result<OpenFile>;

    /// Opens a file, pipe or device for reading, which may block. Only use it for paths that the user passed
    /// explicitly, such as `/dev/stdin`. For other paths, a pipe could make the program hang.
    ///
    /// # Errors
    /// The errors of [`FileTree::open`].
    fn open_stream(&self, path: &Path) -> io::Result<OpenFile> {
        self.open(path)
    }

    /// Returns the entries of a directory, sorted by name.
    ///
    /// # Errors
    /// The directory does not exist, is not a directory, or cannot be read.
    fn list(&self, directory: &Path) -> io::Result<Vec<DirectoryEntry>>;

    /// Returns true if other programs can access the files of this tree by the same paths.
    fn is_on_disk(&self) -> bool;

    /// Returns true if a path is a symlink on disk, whatever its target is.
    fn is_link(&self, _path: &Path) -> bool {
        false
    }

    /// Returns an ID of the content of a file or directory, if the tree knows it without reading the content. Equal IDs
    /// mean equal content. Different IDs do not mean different content.
    fn content_id(&self, _path: &Path) -> Option<ContentId> {
        None
    }

    /// Returns true if git tracks files in a real directory, if the tree knows it.
    fn is_tracked(&self, _directory: &Path) -> bool {
        false
    }

    /// Returns true if it is certain that a file or directory, given by its real path, has the content with the ID
    /// `id`.
    fn has_content(&self, path: &Path, id: &ContentId) -> bool {
        self.content_id(path).as_ref() == Some(id)
    }

    /// Records that another program gets access to a file, or to a directory with its content. Has no effect in trees
    /// that do not record reads.
    fn record_program_access(&self, _path: &Path) {}

    /// Returns a tree with the same files for a part of a result. Other results may share this part.
    ///
    /// A recording tree records the reads of the part separately.
    fn part(&self) -> Option<Arc<dyn FileTree>> {
        None
    }

    /// Records that a result depends on all past and future reads from a [part](FileTree::part).
    fn record_dependency(&self, _part: &Arc<dyn FileTree>) {}

    /// Returns the recording of reads from this tree, if there is one.
    fn recording(&self) -> Option<Box<dyn Any>> {
        None
    }

    /// Returns the kind of the file to which a path refers.
    ///
    /// # Errors
    /// The errors of [`FileTree::locate`].
    fn kind(&self, path: &Path) -> io::Result<FileKind> {
        self.locate(Path::new(""), path).map(|found| found.kind())
    }

    /// Returns true if a path refers to a directory.
    fn is_directory(&self, path: &Path) -> bool {
        self.kind(path).is_ok_and(|kind| kind == FileKind::Directory)
    }

    /// Returns true if a path exists.
    fn contains(&self, path: &Path) -> bool {
        self.kind(path).is_ok()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The errors of [`FileTree::open`] and [`OpenFile::read`].
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.open(path)?.read()
    }

    /// Reads a UTF-8 file.
    ///
    /// # Errors
    /// The errors of [`FileTree::open`] and [`OpenFile::read_text`].
    fn read_text(&self, path: &Path) -> io::Result<String> {
        self.open(path)?.read_text()
    }

    /// Reads a file, pipe or device that the user passed explicitly.
    ///
    /// # Errors
    /// The errors of [`FileTree::open_stream`] and [`OpenFile::read`].
    fn read_stream(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.open_stream(path)?.read()
    }
}

/// An ID of content, such as the hash of a git object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContentId(Box<[u8]>);

impl ContentId {
    #[cfg(all(feature = "git", not(target_family = "wasm")))]
    pub(super) fn from_bytes(id: &[u8]) -> Self {
        Self(id.into())
    }
}

/// The kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symlink. Only directory entries have this kind, since paths are resolved.
    Link,
    /// A pipe, device or socket.
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

/// A resolved path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    path: PathBuf,
    kind: FileKind,
}

impl Located {
    /// Creates a resolved path from a real path and the kind of the file.
    #[must_use]
    pub fn new(path: PathBuf, kind: FileKind) -> Self {
        Self { path, kind }
    }

    /// Returns the real path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Converts the value into the real path.
    #[must_use]
    pub fn into_path(self) -> PathBuf {
        self.path
    }

    /// Returns the kind of the file.
    #[must_use]
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// Returns true for a directory.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        self.kind == FileKind::Directory
    }
}

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// The name in the directory.
    pub name: OsString,
    /// The kind. Symlinks are not followed.
    pub kind: FileKind,
}

/// The maximum size of a file, 1 GiB. Larger files are not manifests and could exhaust the memory.
pub const MAX_FILE_SIZE: u64 = 1 << 30;

/// An open file, ready to be read.
#[derive(Debug)]
pub struct OpenFile(OpenContent);

#[derive(Debug)]
enum OpenContent {
    /// A file on disk. Special files are not read.
    Disk(Handle),
    /// A file, pipe or device.
    Stream(Handle),
    Memory(PathBuf, Arc<[u8]>),
}

impl OpenFile {
    /// Creates a file from content in memory and its real path.
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

    /// Returns the real path of the open file itself and not of the path that was opened. If parts of that path were
    /// replaced in the meantime, this is still the file that is read. For a removed file, this is its former path,
    /// possibly with a suffix.
    ///
    /// # Errors
    /// The file has no path, or the system does not provide it.
    pub fn path(&self) -> io::Result<Cow<'_, Path>> {
        match &self.0 {
            OpenContent::Memory(path, _) => Ok(Cow::Borrowed(path)),
            OpenContent::Disk(handle) | OpenContent::Stream(handle) => handle.path(),
        }
    }

    /// Returns the kind of the open file.
    ///
    /// # Errors
    /// The system cannot read the metadata.
    pub fn kind(&self) -> io::Result<FileKind> {
        match &self.0 {
            OpenContent::Memory(..) => Ok(FileKind::File),
            OpenContent::Disk(handle) | OpenContent::Stream(handle) => {
                handle.metadata().map(|m| m.file_type().into())
            }
        }
    }

    /// Returns true if the file is executable. Files in memory never are.
    #[must_use]
    pub fn is_executable(&self) -> bool {
        match &self.0 {
            OpenContent::Memory(..) => false,
            OpenContent::Disk(handle) | OpenContent::Stream(handle) => {
                handle.metadata().is_ok_and(|metadata| may_run(&metadata))
            }
        }
    }

    /// Returns a stamp with which a later change of the file can be detected, or `None` if the file is not on disk.
    #[must_use]
    pub fn stamp(&self) -> Option<FileStamp> {
        match &self.0 {
            OpenContent::Memory(..) => None,
            OpenContent::Disk(handle) | OpenContent::Stream(handle) => {
                handle.metadata().ok().filter(Metadata::is_file).map(|metadata| FileStamp::new(&metadata))
            }
        }
    }

    /// Reads the whole content.
    ///
    /// # Errors
    /// The file is not a regular file (and was not opened as a stream), is larger than [`MAX_FILE_SIZE`], or cannot be
    /// read.
    pub fn read(self) -> io::Result<Vec<u8>> {
        match self.0 {
            OpenContent::Memory(_, content) => Ok(content.to_vec()),
            OpenContent::Disk(handle) => {
                let metadata = handle.metadata()?;
                let is_file = FileKind::from(metadata.file_type()) != FileKind::Other;
                if is_file { read_to_end(handle, &metadata) } else { Err(not_a_file()) }
            }
            OpenContent::Stream(handle) => {
                let metadata = handle.metadata()?;
                read_to_end(handle, &metadata)
            }
        }
    }

    /// Reads the whole content as UTF-8.
    ///
    /// # Errors
    /// The errors of [`OpenFile::read`], or the content is not UTF-8.
    pub fn read_text(self) -> io::Result<String> {
        let not_utf8 = |_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8");
        String::from_utf8(self.read()?).map_err(not_utf8)
    }
}

/// Reads a file. The size in its metadata may be wrong.
fn read_to_end(handle: Handle, metadata: &Metadata) -> io::Result<Vec<u8>> {
    let size = metadata.len();
    if size > MAX_FILE_SIZE {
        return Err(too_large());
    }
    // The capacity is one byte more than the size, so that the end is detected without growing the buffer.
    let content = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(1));
    read_bounded(handle.into_file(), content)
}

/// Appends the rest of a stream to `content`.
///
/// # Errors
/// The content is larger than [`MAX_FILE_SIZE`] or cannot be read.
pub fn read_bounded(stream: impl io::Read, mut content: Vec<u8>) -> io::Result<Vec<u8>> {
    stream.take(MAX_FILE_SIZE + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_FILE_SIZE { Err(too_large()) } else { Ok(content) }
}

/// The description of a [`FileKind::Other`] in errors that require a file.
pub const SPECIAL_FILE: &str = "a pipe, a device or a socket, not a file";

fn not_a_file() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, format!("it is {SPECIAL_FILE}"))
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 GiB, the maximum file size")
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
