//! What a tree of files can be asked.

use std::ffi::OsString;
use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

    /// Opens a file. All reading goes through here.
    ///
    /// # Errors
    /// It is not there, or may not be read.
    fn open(&self, path: &Path) -> io::Result<OpenFile>;

    /// What is in a directory, sorted by name.
    ///
    /// # Errors
    /// It is not there, is none, or may not be read.
    fn list(&self, directory: &Path) -> io::Result<Vec<DirectoryEntry>>;

    /// Whether other programs find the files of this tree by the same paths.
    fn is_on_disk(&self) -> bool;

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
    /// As [`FileTree::read`], and when it is something else.
    fn read_text(&self, path: &Path) -> io::Result<String> {
        let wrong = |_| io::Error::new(io::ErrorKind::InvalidData, "stream did not contain valid UTF-8");
        String::from_utf8(self.read(path)?).map_err(wrong)
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

/// A file that was opened: who has it may read it.
#[derive(Debug)]
pub struct OpenFile(OpenContent);

#[derive(Debug)]
enum OpenContent {
    Disk(File),
    Memory(Arc<[u8]>),
}

impl OpenFile {
    /// A file whose content is at hand.
    #[must_use]
    pub fn in_memory(content: Arc<[u8]>) -> Self {
        Self(OpenContent::Memory(content))
    }

    pub(super) fn on_disk(file: File) -> Self {
        Self(OpenContent::Disk(file))
    }

    /// Whether it may be run as a program; no file in memory is one.
    #[must_use]
    pub fn is_executable(&self) -> bool {
        match &self.0 {
            OpenContent::Memory(_) => false,
            OpenContent::Disk(file) => file.metadata().is_ok_and(|metadata| may_run(&metadata)),
        }
    }

    /// All of its content.
    ///
    /// # Errors
    /// It is a directory, or the system cannot read it.
    pub fn read(self) -> io::Result<Vec<u8>> {
        match self.0 {
            OpenContent::Memory(content) => Ok(content.to_vec()),
            OpenContent::Disk(file) => {
                // One byte more than there is, so that the end is seen without asking for more memory.
                let size = file.metadata().map_or(0, |metadata| metadata.len());
                let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0).saturating_add(1));
                file.take(u64::MAX).read_to_end(&mut content)?;
                Ok(content)
            }
        }
    }
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
