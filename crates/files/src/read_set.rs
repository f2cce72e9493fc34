//! What was read of a tree, so that it can be said what a result depends on.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashSet;

use super::tree::{DirectoryEntry, FileKind, FileTree, Located, OpenFile};
use super::walk::{LinkPolicy, TreeWalk, WalkOptions};

/// What a result depends on: as long as none of this changes, nor does the result.
///
/// All paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ReadSet {
    /// Files that were read, by real path.
    pub files: BTreeSet<PathBuf>,
    /// Files that other programs were given, by real path: which of them they read, they know.
    pub given: BTreeSet<PathBuf>,
    /// Directories of which all names were read, by real path.
    pub directories: BTreeSet<PathBuf>,
    /// What else was looked up and found, by real path.
    pub found: BTreeMap<PathBuf, FileKind>,
    /// Paths that were looked up and led to nothing, or to nothing that can be reached.
    pub absent: BTreeSet<PathBuf>,
    /// Paths that led over links, with the real paths that they led to.
    pub links: BTreeMap<PathBuf, PathBuf>,
}

/// How many links may follow each other, as on Linux.
const MAX_LINKS: usize = 40;

impl ReadSet {
    fn add(&mut self, other: &Self) {
        self.files.extend(other.files.iter().cloned());
        self.given.extend(other.given.iter().cloned());
        self.directories.extend(other.directories.iter().cloned());
        self.found.extend(other.found.iter().map(|(path, kind)| (path.clone(), *kind)));
        self.absent.extend(other.absent.iter().cloned());
        self.links.extend(other.links.iter().map(|(from, to)| (from.clone(), to.clone())));
    }

    /// The paths of the links themselves that lie on the ways of [`ReadSet::links`], as the disk has them now.
    #[must_use]
    pub fn followed_links(&self) -> BTreeSet<PathBuf> {
        self.links.keys().flat_map(|path| links_on_the_way(path)).collect()
    }
}

/// The links that the system comes by on its way to a path from `/`.
fn links_on_the_way(path: &Path) -> Vec<PathBuf> {
    let parts = |path: &Path| {
        let parts = path.components().rev().map(|part| part.as_os_str().to_owned());
        parts.collect::<Vec<OsString>>()
    };
    let (mut links, mut way, mut ahead) = (Vec::new(), PathBuf::new(), parts(path));
    while let Some(part) = ahead.pop() {
        if part == ".." {
            way.pop();
            continue;
        }
        way.push(part);
        if let Some(target) = fs::read_link(&way).ok().filter(|_| links.len() < MAX_LINKS) {
            links.push(way.clone());
            way.pop();
            ahead.extend(parts(&target));
        }
    }
    links
}

/// A tree that records what is read from it. Threads may share it; clones share the recording.
#[derive(Debug, Clone)]
pub struct RecordingTree {
    tree: Arc<dyn FileTree>,
    read: Arc<Mutex<ReadSet>>,
    /// Recordings of parts that several results share.
    parts: Arc<Mutex<Vec<RecordingTree>>>,
}

impl RecordingTree {
    /// The same files, of which nothing was read yet.
    #[must_use]
    pub fn new(tree: Arc<dyn FileTree>) -> Self {
        Self { tree, read: Arc::default(), parts: Arc::default() }
    }

    /// Returns what was read so far, including the parts.
    #[must_use]
    pub fn read_set(&self) -> ReadSet {
        Self::read_set_of([self])
    }

    /// Returns what was read so far from several trees and their parts; a shared part is added once.
    #[must_use]
    pub fn read_set_of<'r>(trees: impl IntoIterator<Item = &'r Self>) -> ReadSet {
        let (mut read, mut seen) = (ReadSet::default(), FxHashSet::default());
        let mut open: Vec<Self> = trees.into_iter().cloned().collect();
        while let Some(tree) = open.pop() {
            if seen.insert(Arc::as_ptr(&tree.read)) {
                read.add(&tree.noted());
                open.extend(tree.parts.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned());
            }
        }
        let known = |path: &PathBuf| read.files.contains(path) || read.directories.contains(path);
        read.found.retain(|path, _| !known(path));
        read
    }

    fn noted(&self) -> MutexGuard<'_, ReadSet> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_part(&self, part: Self) {
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).push(part);
    }

    fn note_file(&self, path: &Path) {
        // The real path counts: a link that stays as it is may lead to a file that changes.
        if let Ok(real) = self.locate(Path::new(""), path) {
            self.noted().files.insert(real.into_path());
        }
    }

    /// A path as it was asked for, from `/` and without `.` and `..`.
    fn asked(&self, from: &Path, path: &Path) -> PathBuf {
        let mut asked = PathBuf::new();
        let start = if from.as_os_str().is_empty() && path.is_relative() {
            // What cannot be found out is no worse than a relative path.
            self.tree.working_directory().unwrap_or_default()
        } else {
            from.to_path_buf()
        };
        for part in start.join(path).components() {
            match part {
                Component::CurDir => {}
                Component::ParentDir => drop(asked.pop()),
                part => asked.push(part),
            }
        }
        asked
    }
}

impl FileTree for RecordingTree {
    fn working_directory(&self) -> io::Result<PathBuf> {
        self.tree.working_directory()
    }

    fn locate(&self, from: &Path, path: &Path) -> io::Result<Located> {
        let found = self.tree.locate(from, path);
        let asked = self.asked(from, path);
        let mut read = self.noted();
        if let Ok(found) = &found {
            if asked != found.path() {
                read.links.insert(asked, found.path().to_path_buf());
            }
            read.found.insert(found.path().to_path_buf(), found.kind());
        } else {
            read.absent.insert(asked);
        }
        found
    }

    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        self.note_file(path);
        self.tree.open(path)
    }

    fn open_stream(&self, path: &Path) -> io::Result<OpenFile> {
        self.note_file(path);
        self.tree.open_stream(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<DirectoryEntry>> {
        if let Ok(real) = self.locate(Path::new(""), directory) {
            self.noted().directories.insert(real.into_path());
        }
        self.tree.list(directory)
    }

    fn is_on_disk(&self) -> bool {
        self.tree.is_on_disk()
    }

    fn part(&self) -> Option<Arc<dyn FileTree>> {
        let part = Self::new(self.tree.clone());
        self.note_part(part.clone());
        Some(Arc::new(part))
    }

    fn uses(&self, part: &Arc<dyn FileTree>) {
        let part = part.recording().and_then(|part| part.downcast::<Self>().ok());
        if let Some(part) = part.filter(|part| !Arc::ptr_eq(&part.read, &self.read)) {
            self.note_part(*part);
        }
    }

    fn recording(&self) -> Option<Box<dyn Any>> {
        Some(Box::new(self.clone()))
    }

    fn give(&self, path: &Path) {
        let Ok(found) = self.locate(Path::new(""), path) else { return };
        if !found.is_directory() {
            self.noted().given.insert(found.into_path());
            return;
        }
        let options = WalkOptions { links: LinkPolicy::Follow, ..WalkOptions::default() };
        for walked in TreeWalk::new(self, found.path(), options).flatten() {
            if walked.kind == FileKind::File {
                let real = walked.led_to.unwrap_or_else(|| found.path().join(walked.path));
                self.noted().given.insert(real);
            }
        }
    }
}
