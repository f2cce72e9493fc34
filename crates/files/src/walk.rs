//! Recursive directory walks.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::vec;

use super::tree::{DirectoryEntry, FileKind, FileTree, Located};
use smp_text::diagnostic::{Code, Diagnostic, read_error};

/// The handling of symlinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkPolicy {
    /// Follow symlinks and walk their targets.
    Follow,
    /// Report symlinks without following them.
    Keep,
}

/// The handling of hidden files, whose names start with a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    /// Skip hidden files and the content of hidden directories.
    Skip,
    /// Treat hidden files like all others.
    Keep,
}

/// The options of a directory walk.
///
/// By default, the depth is unlimited, hidden files are included, and symlinks are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalkOptions {
    /// The handling of symlinks.
    pub links: LinkPolicy,
    /// The handling of hidden files.
    pub hidden: Hidden,
    /// The maximum depth. The entries of the directory itself have depth 1.
    pub max_depth: usize,
}

impl Default for WalkOptions {
    fn default() -> Self {
        Self { links: LinkPolicy::Keep, hidden: Hidden::Keep, max_depth: usize::MAX }
    }
}

/// A file or directory that a walk found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WalkEntry {
    /// The path relative to the top directory. Symlinks in it are not resolved.
    pub path: PathBuf,
    /// The number of names in the path.
    pub depth: usize,
    /// The kind. It is only a symlink with [`LinkPolicy::Keep`].
    pub kind: FileKind,
    /// The real path of the target, if the entry is a symlink that was followed.
    pub link_target: Option<PathBuf>,
}

/// An error for a directory or symlink target that cannot be walked.
#[derive(Debug)]
pub enum WalkError {
    /// The path is not accessible.
    Io {
        /// The path.
        path: PathBuf,
        /// The error of the system.
        cause: io::Error,
    },
    /// The path is a symlink to a directory that contains it.
    Loop {
        /// The symlink.
        path: PathBuf,
        /// The directory.
        ancestor: PathBuf,
    },
}

impl WalkError {
    /// Returns the error as a problem to report.
    #[must_use]
    pub fn diagnostic(&self) -> Diagnostic {
        match self {
            Self::Io { path, cause } => read_error(format_args!("`{}`", path.display()), cause),
            Self::Loop { path, ancestor } => {
                let (path, ancestor) = (path.display(), ancestor.display());
                let message = format!("`{path}` is a symlink to `{ancestor}`, which contains it");
                Diagnostic::error(Code::Io, message).help("remove the symlink, or use another directory")
            }
        }
    }
}

impl fmt::Display for WalkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, cause } => write!(f, "IO error for operation on {}: {cause}", path.display()),
            Self::Loop { path, ancestor } => {
                let (path, ancestor) = (path.display(), ancestor.display());
                write!(f, "File system loop found: {path} points to an ancestor {ancestor}")
            }
        }
    }
}

impl std::error::Error for WalkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { cause, .. } => Some(cause),
            Self::Loop { .. } => None,
        }
    }
}

/// A recursive walk of a directory, sorted by name. A directory comes before its content.
#[derive(Debug)]
pub struct TreeWalk<'t> {
    tree: &'t dyn FileTree,
    top: PathBuf,
    options: WalkOptions,
    /// The directories from the top to the current position.
    open: Vec<OpenDirectory>,
    /// The directory to enter next, with its real path if symlinks are followed.
    next: Option<(PathBuf, PathBuf)>,
}

/// A directory that is being walked.
#[derive(Debug)]
struct OpenDirectory {
    /// The path relative to the top.
    path: PathBuf,
    /// The real path; empty if symlinks are not followed.
    real: PathBuf,
    /// The remaining entries.
    entries: vec::IntoIter<DirectoryEntry>,
}

impl<'t> TreeWalk<'t> {
    /// Creates a walk of a directory. Its path may be a symlink.
    #[must_use]
    pub fn new(tree: &'t dyn FileTree, top: &Path, options: WalkOptions) -> Self {
        let real = match options.links {
            LinkPolicy::Follow => tree.locate(Path::new(""), top).map(Located::into_path),
            LinkPolicy::Keep => Ok(PathBuf::new()),
        };
        // If the path cannot be located, listing it also fails and reports the error.
        let next = Some((PathBuf::new(), real.unwrap_or_default()));
        Self { tree, top: top.to_path_buf(), options, open: Vec::new(), next }
    }

    /// Returns a path relative to the top as messages show it.
    fn display_path(&self, below: &Path) -> PathBuf {
        if below.as_os_str().is_empty() { self.top.clone() } else { self.top.join(below) }
    }

    fn enter(&mut self, path: PathBuf, real: PathBuf) -> Result<(), WalkError> {
        let display_path = self.display_path(&path);
        let entries =
            self.tree.list(&display_path).map_err(|cause| WalkError::Io { path: display_path, cause })?;
        self.open.push(OpenDirectory { path, real, entries: entries.into_iter() });
        Ok(())
    }

    /// Returns the kind of an entry, and the real path of a directory if symlinks are followed.
    fn resolve_entry(
        &self,
        directory: &OpenDirectory,
        entry: &DirectoryEntry,
    ) -> Result<(FileKind, PathBuf), WalkError> {
        match (self.options.links, entry.kind) {
            (LinkPolicy::Follow, FileKind::Link) => self.follow_link(directory, entry),
            (LinkPolicy::Follow, FileKind::Directory) => Ok((entry.kind, directory.real.join(&entry.name))),
            _ => Ok((entry.kind, PathBuf::new())),
        }
    }

    fn follow_link(
        &self,
        directory: &OpenDirectory,
        entry: &DirectoryEntry,
    ) -> Result<(FileKind, PathBuf), WalkError> {
        let path = self.display_path(&directory.path.join(&entry.name));
        let found = match self.tree.locate(&directory.real, Path::new(&entry.name)) {
            Ok(found) => found,
            Err(cause) => return Err(WalkError::Io { path, cause }),
        };
        let above = self.open.iter().rev().find(|above| above.real == found.path());
        match above.filter(|_| found.is_directory()) {
            Some(above) => Err(WalkError::Loop { path, ancestor: self.display_path(&above.path) }),
            None => Ok((found.kind(), found.into_path())),
        }
    }
}

impl Iterator for TreeWalk<'_> {
    type Item = Result<WalkEntry, WalkError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((path, real)) = self.next.take()
                && let Err(error) = self.enter(path, real)
            {
                return Some(Err(error));
            }
            let Some(entry) = self.open.last_mut()?.entries.next() else {
                self.open.pop();
                continue;
            };
            let directory = self.open.last()?;
            let (kind, real) = match self.resolve_entry(directory, &entry) {
                Ok(found) => found,
                Err(error) => return Some(Err(error)),
            };
            let led_to = (kind != FileKind::Link && entry.kind == FileKind::Link).then(|| real.clone());
            if self.options.hidden == Hidden::Skip && entry.name.to_string_lossy().starts_with('.') {
                continue;
            }
            let (path, depth) = (directory.path.join(&entry.name), self.open.len());
            if kind == FileKind::Directory && depth < self.options.max_depth {
                self.next = Some((path.clone(), real));
            }
            return Some(Ok(WalkEntry { path, depth, kind, link_target: led_to }));
        }
    }
}
