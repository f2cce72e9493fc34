//! Trees of files in memory.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::ops::Bound;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::tree::{DirectoryEntry, FileKind, FileTree, Located, OpenFile};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The maximum number of symlinks in a path, as on Linux.
const MAX_LINKS: usize = 40;

/// A tree of files in memory.
///
/// Paths start with `/` and have slashes between names on all systems. `/` is also the default working directory, so
/// that a leading slash may be omitted.
///
/// ```
/// use std::path::Path;
///
/// use smp_files::{FileTree, MemoryTree};
///
/// let tree = MemoryTree::new([("base/kustomization.yaml", "resources: [web.yaml]"), ("base/web.yaml", "")])?;
/// assert_eq!(tree.read(Path::new("base/../base/web.yaml")).expect("there"), b"");
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[derive(Debug, Clone)]
pub struct MemoryTree {
    /// The entries by real path. Contains all parent directories.
    entries: BTreeMap<PathBuf, MemoryEntry>,
    working_directory: PathBuf,
}

#[derive(Debug, Clone)]
enum MemoryEntry {
    File(Arc<[u8]>),
    Directory,
    Link(String),
}

impl Default for MemoryTree {
    fn default() -> Self {
        let root = PathBuf::from("/");
        Self { entries: [(root.clone(), MemoryEntry::Directory)].into(), working_directory: root }
    }
}

impl MemoryTree {
    /// Creates a tree with these files. If two files have the same path, the later one replaces the earlier one.
    ///
    /// # Errors
    /// A path is that of both a file and a directory, or is not valid UTF-8.
    pub fn new<P: AsRef<Path>, B: AsRef<[u8]>>(files: impl IntoIterator<Item = (P, B)>) -> Result<Self> {
        let mut tree = Self::default();
        for (path, content) in files {
            tree.insert(path.as_ref(), MemoryEntry::File(content.as_ref().into()))?;
        }
        Ok(tree)
    }

    /// Adds a file.
    ///
    /// # Errors
    /// The errors of [`MemoryTree::new`].
    pub fn with_file(mut self, path: impl AsRef<Path>, content: impl Into<Arc<[u8]>>) -> Result<Self> {
        self.insert(path.as_ref(), MemoryEntry::File(content.into()))?;
        Ok(self)
    }

    /// Adds a symlink. Its target need not exist.
    ///
    /// # Errors
    /// The errors of [`MemoryTree::new`].
    pub fn with_link(mut self, path: impl AsRef<Path>, target: impl Into<String>) -> Result<Self> {
        self.insert(path.as_ref(), MemoryEntry::Link(target.into()))?;
        Ok(self)
    }

    /// Adds a directory, which may remain empty.
    ///
    /// # Errors
    /// The errors of [`MemoryTree::new`].
    pub fn with_directory(mut self, path: impl AsRef<Path>) -> Result<Self> {
        self.insert(path.as_ref(), MemoryEntry::Directory)?;
        Ok(self)
    }

    /// Sets the working directory, by its real path.
    #[must_use]
    pub fn with_working_directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.working_directory = path.into();
        self
    }

    fn insert(&mut self, path: &Path, content: MemoryEntry) -> Result<()> {
        if path.to_str().is_none() {
            let message = format!("the path `{}` is not valid UTF-8", path.display());
            return Err(Diagnostic::error(Code::InvalidValue, message));
        }
        let path = from_root(path);
        for above in path.ancestors().skip(1) {
            let existing = self.entries.entry(above.to_path_buf()).or_insert(MemoryEntry::Directory);
            if !matches!(existing, MemoryEntry::Directory) {
                return Err(type_conflict(above));
            }
        }
        let is_directory = |content: &MemoryEntry| matches!(content, MemoryEntry::Directory);
        match self.entries.insert(path.clone(), content) {
            Some(before) if is_directory(&before) != is_directory(&self.entries[&path]) => {
                Err(type_conflict(&path))
            }
            _ => Ok(()),
        }
    }

    /// Resolves a path relative to a real path.
    fn follow(&self, from: &Path, path: &str) -> io::Result<PathBuf> {
        let mut at = if path.starts_with('/') { PathBuf::from("/") } else { from.to_path_buf() };
        let mut parts: Vec<&str> = path.split('/').rev().collect();
        let mut links = 0;
        while let Some(part) = parts.pop() {
            if !matches!(self.content(&at)?, MemoryEntry::Directory) {
                return Err(ErrorKind::NotADirectory.into());
            }
            match part {
                "" | "." => {}
                ".." => drop(at.pop()),
                name => {
                    at.push(name);
                    if let MemoryEntry::Link(target) = self.content(&at)? {
                        links += 1;
                        if links > MAX_LINKS {
                            return Err(io::Error::other("too many levels of symbolic links"));
                        }
                        at.pop();
                        if target.starts_with('/') {
                            at = PathBuf::from("/");
                        }
                        parts.extend(target.split('/').rev());
                    }
                }
            }
        }
        Ok(at)
    }

    fn content(&self, real: &Path) -> io::Result<&MemoryEntry> {
        self.entries.get(real).ok_or_else(|| ErrorKind::NotFound.into())
    }
}

impl FileTree for MemoryTree {
    fn working_directory(&self) -> io::Result<PathBuf> {
        Ok(self.working_directory.clone())
    }

    fn locate(&self, from: &Path, path: &Path) -> io::Result<Located> {
        let from = if from.as_os_str().is_empty() { &self.working_directory } else { from };
        let real = self.follow(from, path.to_str().ok_or(ErrorKind::InvalidInput)?)?;
        let kind = kind(self.content(&real)?);
        Ok(Located::new(real, kind))
    }

    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        let found = self.locate(Path::new(""), path)?;
        match self.content(found.path())? {
            MemoryEntry::File(content) => Ok(OpenFile::in_memory(found.into_path(), content.clone())),
            MemoryEntry::Directory | MemoryEntry::Link(_) => Err(ErrorKind::IsADirectory.into()),
        }
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<DirectoryEntry>> {
        let found = self.locate(Path::new(""), directory)?;
        if !found.is_directory() {
            return Err(ErrorKind::NotADirectory.into());
        }
        let behind = self.entries.range::<Path, _>((Bound::Excluded(found.path()), Bound::Unbounded));
        let below = behind.take_while(|(path, _)| path.starts_with(found.path()));
        let inside = below.filter(|(path, _)| path.parent() == Some(found.path()));
        let entry = |(path, content): (&PathBuf, &MemoryEntry)| {
            Some(DirectoryEntry { name: path.file_name()?.to_os_string(), kind: kind(content) })
        };
        Ok(inside.filter_map(entry).collect())
    }

    fn is_on_disk(&self) -> bool {
        false
    }
}

fn kind(content: &MemoryEntry) -> FileKind {
    match content {
        MemoryEntry::File(_) => FileKind::File,
        MemoryEntry::Directory => FileKind::Directory,
        MemoryEntry::Link(_) => FileKind::Link,
    }
}

/// Returns the absolute path without `.` and `..`. Symlinks are not resolved.
fn from_root(path: &Path) -> PathBuf {
    let mut real = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => real.push(name),
            Component::ParentDir => drop(real.pop()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    real
}

fn type_conflict(path: &Path) -> Diagnostic {
    let message = format!("`{}` is both a directory and a file", path.display());
    Diagnostic::error(Code::InvalidValue, message).help("add each path only once")
}
