//! Going over a directory and all below it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::vec;

use super::tree::{DirectoryEntry, FileKind, FileTree, Located};

/// What is done with links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkPolicy {
    /// What they lead to is walked over in their place.
    Follow,
    /// They are what they are.
    Keep,
}

/// What is done with names that begin with a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    /// They are left out, with all that is below them.
    Skip,
    /// They are names like all others.
    Keep,
}

/// How a directory is walked over.
///
/// By default to any depth, with hidden names, and links are what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WalkOptions {
    /// Links on the way.
    pub links: LinkPolicy,
    /// Hidden names.
    pub hidden: Hidden,
    /// How deep to go: 1 for what is in the directory itself.
    pub max_depth: usize,
}

impl Default for WalkOptions {
    fn default() -> Self {
        Self { links: LinkPolicy::Keep, hidden: Hidden::Keep, max_depth: usize::MAX }
    }
}

/// What a walk came by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walked {
    /// The path below the directory that is walked over, by the names on the way.
    pub path: PathBuf,
    /// The number of names in it.
    pub depth: usize,
    /// What it is; a link only when links are kept.
    pub kind: FileKind,
    /// Where it leads, for a link that was followed: the real path of what is there.
    pub led_to: Option<PathBuf>,
}

/// A directory, or what a link leads to, that cannot be walked over.
#[derive(Debug)]
pub enum WalkError {
    /// It cannot be looked at.
    Io {
        /// Its path.
        path: PathBuf,
        /// Why not.
        cause: io::Error,
    },
    /// It is a link to a directory that it is in.
    Loop {
        /// The link.
        path: PathBuf,
        /// The directory.
        ancestor: PathBuf,
    },
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

/// A walk over a directory: each directory before what is in it, by name.
#[derive(Debug)]
pub struct TreeWalk<'t> {
    tree: &'t dyn FileTree,
    top: PathBuf,
    options: WalkOptions,
    /// The directories from the top to where the walk is.
    open: Vec<OpenDirectory>,
    /// A directory that is entered next, with its real path where it counts.
    next: Option<(PathBuf, PathBuf)>,
}

/// A directory that is being walked over.
#[derive(Debug)]
struct OpenDirectory {
    /// Its path below the top.
    path: PathBuf,
    /// Its real path; empty where links are kept.
    real: PathBuf,
    /// What is left in it.
    entries: vec::IntoIter<DirectoryEntry>,
}

impl<'t> TreeWalk<'t> {
    /// A walk over a directory; its path may be a link.
    #[must_use]
    pub fn new(tree: &'t dyn FileTree, top: &Path, options: WalkOptions) -> Self {
        let real = match options.links {
            LinkPolicy::Follow => tree.locate(Path::new(""), top).map(Located::into_path),
            LinkPolicy::Keep => Ok(PathBuf::new()),
        };
        // What cannot be located cannot be listed, either, which says so.
        let next = Some((PathBuf::new(), real.unwrap_or_default()));
        Self { tree, top: top.to_path_buf(), options, open: Vec::new(), next }
    }

    /// A path below the top, as messages call it.
    fn named(&self, below: &Path) -> PathBuf {
        if below.as_os_str().is_empty() { self.top.clone() } else { self.top.join(below) }
    }

    fn enter(&mut self, path: PathBuf, real: PathBuf) -> Result<(), WalkError> {
        let named = self.named(&path);
        let entries = self.tree.list(&named).map_err(|cause| WalkError::Io { path: named, cause })?;
        self.open.push(OpenDirectory { path, real, entries: entries.into_iter() });
        Ok(())
    }

    /// What an entry of a directory is, and the real path of a directory if that counts.
    fn look(
        &self,
        directory: &OpenDirectory,
        entry: &DirectoryEntry,
    ) -> Result<(FileKind, PathBuf), WalkError> {
        match (self.options.links, entry.kind) {
            (LinkPolicy::Follow, FileKind::Link) => self.follow(directory, entry),
            (LinkPolicy::Follow, FileKind::Directory) => Ok((entry.kind, directory.real.join(&entry.name))),
            _ => Ok((entry.kind, PathBuf::new())),
        }
    }

    fn follow(
        &self,
        directory: &OpenDirectory,
        entry: &DirectoryEntry,
    ) -> Result<(FileKind, PathBuf), WalkError> {
        let path = self.named(&directory.path.join(&entry.name));
        let found = match self.tree.locate(&directory.real, Path::new(&entry.name)) {
            Ok(found) => found,
            Err(cause) => return Err(WalkError::Io { path, cause }),
        };
        let above = self.open.iter().rev().find(|above| above.real == found.path());
        match above.filter(|_| found.is_directory()) {
            Some(above) => Err(WalkError::Loop { path, ancestor: self.named(&above.path) }),
            None => Ok((found.kind(), found.into_path())),
        }
    }
}

impl Iterator for TreeWalk<'_> {
    type Item = Result<Walked, WalkError>;

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
            let (kind, real) = match self.look(directory, &entry) {
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
            return Some(Ok(Walked { path, depth, kind, led_to }));
        }
    }
}
