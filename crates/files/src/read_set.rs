//! Records the reads from a tree, which are the dependencies of a result.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::ops::Bound;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashSet;

use super::tree::{DirectoryEntry, FileKind, FileTree, Located, OpenFile};
use super::walk::{LinkPolicy, TreeWalk, WalkOptions};

/// The dependencies of a result. The result does not change unless one of them changes.
///
/// All paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadSet {
    /// Files that were read, by real path.
    pub files: BTreeSet<PathBuf>,
    /// Files that other programs could read, by real path. It is unknown if they did.
    pub program_files: BTreeSet<PathBuf>,
    /// Directories that were listed, by real path.
    pub directories: BTreeSet<PathBuf>,
    /// Other existing paths that were looked up, by real path.
    pub found: BTreeMap<PathBuf, FileKind>,
    /// Paths that were looked up but do not exist or are not accessible.
    pub absent: BTreeSet<PathBuf>,
    /// Paths that contain symlinks, with the real paths to which they resolve.
    pub links: BTreeMap<PathBuf, PathBuf>,
}

/// The maximum number of symlinks in a path, as on Linux.
const MAX_LINKS: usize = 40;

impl ReadSet {
    /// Returns true if the result may change when a path is changed, created or removed.
    #[must_use]
    pub fn depends_on(&self, path: &Path) -> bool {
        path.parent().is_some_and(|parent| self.directories.contains(parent)) || self.uses(path)
    }

    /// Returns true if a path, or a path below it, was read, listed or looked up. Returns false if only its name is in
    /// a listed directory.
    #[must_use]
    pub fn uses(&self, path: &Path) -> bool {
        let Self { files, program_files, directories, found, absent, links } = self;
        let from = (Bound::Included(path), Bound::Unbounded);
        let mut sets = [files, program_files, directories, absent].into_iter();
        sets.any(|paths| is_within(path, paths.range::<Path, _>(from)))
            || is_within(path, found.range::<Path, _>(from).map(|(path, _)| path))
            || is_within(path, links.range::<Path, _>(from).map(|(path, _)| path))
    }

    /// Removes a directory and all paths below it from the record.
    pub fn remove_within(&mut self, directory: &Path) {
        let Self { files, program_files, directories, found, absent, links } = self;
        for paths in [files, program_files, directories, absent] {
            paths.retain(|path| !path.starts_with(directory));
        }
        found.retain(|path, _| !path.starts_with(directory));
        links.retain(|path, _| !path.starts_with(directory));
    }

    /// Adds another record.
    pub fn add(&mut self, other: &Self) {
        self.files.extend(other.files.iter().cloned());
        self.program_files.extend(other.program_files.iter().cloned());
        self.directories.extend(other.directories.iter().cloned());
        self.found.extend(other.found.iter().map(|(path, kind)| (path.clone(), *kind)));
        self.absent.extend(other.absent.iter().cloned());
        self.links.extend(other.links.iter().map(|(from, to)| (from.clone(), to.clone())));
    }

    /// Returns the symlinks in the paths of [`ReadSet::links`], as they currently are on disk.
    #[must_use]
    pub fn followed_links(&self) -> BTreeSet<PathBuf> {
        self.links.keys().flat_map(|path| symlinks_in_path(path)).collect()
    }
}

/// The number of changed paths above which all results are treated as affected.
const MANY: usize = 1000;

/// Returns the results that changes affect. `common` contains the common dependencies of all results. All results are
/// returned if there are too many changes, or if the changes affect no result and `is_known` returns false for one of
/// them, since its effect is unknown.
pub fn affected_results<'r, T>(
    changed: &BTreeSet<PathBuf>,
    results: impl IntoIterator<Item = (T, &'r ReadSet)>,
    common: &ReadSet,
    is_known: impl Fn(&Path) -> bool,
) -> Vec<T> {
    let depends = |reads: &ReadSet| changed.iter().any(|path| reads.depends_on(path));
    let are_all = changed.len() > MANY || depends(common);
    let results = results.into_iter().map(|(result, reads)| (result, are_all || depends(reads)));
    let results: Vec<_> = results.collect();
    let are_all =
        !results.iter().any(|(_, is_affected)| *is_affected) && !changed.iter().all(|path| is_known(path));
    results.into_iter().filter(|(_, is_affected)| are_all || *is_affected).map(|(result, _)| result).collect()
}

/// Returns true if the first of the paths in `from` is `path` or below it. `from` must start at `path`.
fn is_within<'p>(path: &Path, mut from: impl Iterator<Item = &'p PathBuf>) -> bool {
    from.next().is_some_and(|next| next.starts_with(path))
}

/// Returns the symlinks that the system follows when it resolves a path from `/`.
fn symlinks_in_path(path: &Path) -> Vec<PathBuf> {
    let parts = |path: &Path| {
        let parts = path.components().rev().map(|part| part.as_os_str().to_owned());
        parts.collect::<Vec<OsString>>()
    };
    let (mut links, mut current, mut ahead) = (Vec::new(), PathBuf::new(), parts(path));
    while let Some(part) = ahead.pop() {
        if part == ".." {
            current.pop();
            continue;
        }
        current.push(part);
        if let Some(target) = fs::read_link(&current).ok().filter(|_| links.len() < MAX_LINKS) {
            links.push(current.clone());
            current.pop();
            ahead.extend(parts(&target));
        }
    }
    links
}

/// A tree that records the reads from it. It can be shared between threads, and clones share the record.
#[derive(Debug, Clone)]
pub struct RecordingTree {
    tree: Arc<dyn FileTree>,
    read: Arc<Mutex<ReadSet>>,
    /// The records of parts, which several results can share.
    parts: Arc<Mutex<Vec<RecordingTree>>>,
}

impl RecordingTree {
    /// Creates a recording tree with an empty record.
    #[must_use]
    pub fn new(tree: Arc<dyn FileTree>) -> Self {
        Self { tree, read: Arc::default(), parts: Arc::default() }
    }

    /// Returns all reads so far, including those of the parts.
    #[must_use]
    pub fn read_set(&self) -> ReadSet {
        Self::read_set_of([self])
    }

    /// Returns all reads so far from several trees and their parts. A shared part is added only once.
    #[must_use]
    pub fn read_set_of<'r>(trees: impl IntoIterator<Item = &'r Self>) -> ReadSet {
        let (mut read, mut seen) = (ReadSet::default(), FxHashSet::default());
        let mut open: Vec<Self> = trees.into_iter().cloned().collect();
        while let Some(tree) = open.pop() {
            if seen.insert(Arc::as_ptr(&tree.read)) {
                read.add(&tree.recorded());
                open.extend(tree.parts.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned());
            }
        }
        let known = |path: &PathBuf| read.files.contains(path) || read.directories.contains(path);
        read.found.retain(|path, _| !known(path));
        read
    }

    fn recorded(&self) -> MutexGuard<'_, ReadSet> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record_part(&self, part: Self) {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).push(part);
    }

    fn record_file(&self, path: &Path) {
        // Record the real path, since an unchanged symlink may refer to a file that changes.
        if let Ok(real) = self.locate(Path::new(""), path) {
            self.recorded().files.insert(real.into_path());
        }
    }

    /// Returns the requested path as an absolute path without `.` and `..`.
    fn requested_path(&self, from: &Path, path: &Path) -> PathBuf {
        let mut requested = PathBuf::new();
        let start = if from.as_os_str().is_empty() && path.is_relative() {
            // If the working directory is unknown, a relative path is recorded.
            self.tree.working_directory().unwrap_or_default()
        } else {
            from.to_path_buf()
        };
        for part in start.join(path).components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => drop(requested.pop()),
                part => requested.push(part),
            }
        }
        requested
    }
}

impl FileTree for RecordingTree {
    fn working_directory(&self) -> io::Result<PathBuf> {
        self.tree.working_directory()
    }

    fn locate(&self, from: &Path, path: &Path) -> io::Result<Located> {
        let found = self.tree.locate(from, path);
        let requested = self.requested_path(from, path);
        let mut read = self.recorded();
        if let Ok(found) = &found {
            if requested != found.path() {
                read.links.insert(requested, found.path().to_path_buf());
            }
            read.found.insert(found.path().to_path_buf(), found.kind());
        } else {
            read.absent.insert(requested);
        }
        found
    }

    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        self.record_file(path);
        self.tree.open(path)
    }

    fn open_stream(&self, path: &Path) -> io::Result<OpenFile> {
        self.record_file(path);
        self.tree.open_stream(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<DirectoryEntry>> {
        if let Ok(real) = self.locate(Path::new(""), directory) {
            self.recorded().directories.insert(real.into_path());
        }
        self.tree.list(directory)
    }

    fn is_on_disk(&self) -> bool {
        self.tree.is_on_disk()
    }

    fn is_link(&self, path: &Path) -> bool {
        self.tree.is_link(path)
    }

    fn part(&self) -> Option<Arc<dyn FileTree>> {
        let part = Self::new(self.tree.clone());
        self.record_part(part.clone());
        Some(Arc::new(part))
    }

    fn record_dependency(&self, part: &Arc<dyn FileTree>) {
        let part = part.recording().and_then(|part| part.downcast::<Self>().ok());
        if let Some(part) = part.filter(|part| !Arc::ptr_eq(&part.read, &self.read)) {
            self.record_part(*part);
        }
    }

    fn recording(&self) -> Option<Box<dyn Any>> {
        Some(Box::new(self.clone()))
    }

    fn record_program_access(&self, path: &Path) {
        let Ok(found) = self.locate(Path::new(""), path) else { return };
        if !found.is_directory() {
            self.recorded().program_files.insert(found.into_path());
            return;
        }
        let options = WalkOptions { links: LinkPolicy::Follow, ..WalkOptions::default() };
        for walked in TreeWalk::new(self, found.path(), options).flatten() {
            if walked.kind == FileKind::File {
                let real = walked.link_target.unwrap_or_else(|| found.path().join(walked.path));
                self.recorded().program_files.insert(real);
            }
        }
    }
}
