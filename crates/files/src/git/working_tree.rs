//! The working tree of a git repository: files on disk, with content IDs from the index for unchanged files.
//!
//! The index contains the size, time and content hash of each file. Unchanged files and directories are therefore
//! compared with a revision without reading them, as `git status` does.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use gix::Repository;
use gix::bstr::BStr;
use gix::index::entry::stat::Options;
use gix::index::entry::{Flags, Mode, Stat};
use gix::index::extension::Tree;
use gix::index::fs::Metadata;
use rustc_hash::FxHashMap;

use crate::cached_disk::CachedDiskTree;
use crate::tree::{ContentId, DirectoryEntry, FileKind, FileTree, Located, OpenFile};

/// The files on disk at the time of a command. The content IDs of unchanged files are known without reading them.
pub struct WorkingTree {
    /// The real path of the working tree.
    root: PathBuf,
    disk: CachedDiskTree,
    index: Option<Index>,
    /// True for each directory, by real path, in which all files are as in the index.
    known: Mutex<FxHashMap<PathBuf, bool>>,
}

struct Index {
    file: gix::index::File,
    options: Options,
}

impl fmt::Debug for WorkingTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkingTree").field("root", &self.root).finish_non_exhaustive()
    }
}

impl WorkingTree {
    /// Opens the files on disk with the index of a repository. Without a readable index, no content IDs are known, so
    /// all files are treated as changed.
    pub(super) fn new(root: PathBuf, repository: &Repository) -> Self {
        let index = repository.open_index().ok().zip(repository.stat_options().ok());
        let index = index.map(|(file, options)| Index { file, options });
        Self { root, disk: CachedDiskTree::default(), index, known: Mutex::default() }
    }

    /// Returns true if a directory contains exactly the files of the index, all unchanged.
    fn is_unchanged(&self, index: &Index, real: &Path) -> bool {
        if let Some(known) = self.known.lock().unwrap_or_else(PoisonError::into_inner).get(real) {
            return *known;
        }
        let is_unchanged = self.compare(index, real).unwrap_or_default();
        self.known.lock().unwrap_or_else(PoisonError::into_inner).insert(real.to_path_buf(), is_unchanged);
        is_unchanged
    }

    /// Compares a directory, including those below it, with the index. Returns true if both have exactly the same
    /// files, and `None` if they cannot be compared.
    fn compare(&self, index: &Index, real: &Path) -> Option<bool> {
        let tree = index.tree(real.strip_prefix(&self.root).ok()?)?;
        let is_own = |entry: &DirectoryEntry| real == self.root && entry.name == ".git";
        let (mut files, mut directories) = (0_u32, 0_usize);
        for entry in self.disk.list(real).ok()?.iter().filter(|entry| !is_own(entry)) {
            let path = real.join(&entry.name);
            let is_directory = entry.kind == FileKind::Directory;
            files += u32::from(!is_directory);
            directories += usize::from(is_directory);
            let is_unchanged = if is_directory {
                self.is_unchanged(index, &path)
            } else {
                self.entry(index, &path).is_some()
            };
            if !is_unchanged {
                return Some(false);
            }
        }
        // If the index contains more entries, some of them are missing on disk.
        Some(files == files_in(tree)? && directories == tree.children.len())
    }

    /// Returns the index entry of a file or symlink, if the file on disk matches it.
    fn entry<'i>(&self, index: &'i Index, real: &Path) -> Option<&'i gix::index::Entry> {
        index.unchanged(real.strip_prefix(&self.root).ok()?, real)
    }
}

/// Returns the number of files in a directory according to the index, without those in its subdirectories.
fn files_in(tree: &Tree) -> Option<u32> {
    let below = tree.children.iter().map(|child| child.num_entries).sum::<Option<u32>>()?;
    tree.num_entries?.checked_sub(below)
}

impl Index {
    /// Returns the index entry of a file or symlink, if the file on disk matches it.
    fn unchanged(&self, path: &Path, real: &Path) -> Option<&gix::index::Entry> {
        let name = slashed(path)?;
        let entry = self.file.entry_by_path(BStr::new(&name))?;
        let metadata = Metadata::from_path_no_follow(real).ok()?;
        let is_same_kind = match entry.mode {
            Mode::FILE | Mode::FILE_EXECUTABLE => metadata.is_file(),
            Mode::SYMLINK => metadata.is_symlink(),
            _ => false,
        };
        let stat = Stat::from_fs(&metadata).ok()?;
        let is_unchanged = is_same_kind
            && !entry.flags.contains(Flags::INTENT_TO_ADD)
            && entry.stat.matches(&stat, self.options)
            // The file may have changed at the moment the index was written.
            && !entry.stat.is_racy(self.file.timestamp(), self.options);
        is_unchanged.then_some(entry)
    }

    /// Returns a directory of the index if its tree object is known.
    fn tree(&self, path: &Path) -> Option<&Tree> {
        let mut tree = self.file.tree()?;
        for part in path.components() {
            let name = part.as_os_str().to_str()?.as_bytes();
            tree = tree.children.iter().find(|child| child.name.as_slice() == name)?;
        }
        tree.num_entries.is_some().then_some(tree)
    }
}

/// Returns a relative path as git writes it.
fn slashed(path: &Path) -> Option<String> {
    let parts: Option<Vec<&str>> = path.components().map(|part| part.as_os_str().to_str()).collect();
    parts.map(|parts| parts.join("/"))
}

impl FileTree for WorkingTree {
    fn working_directory(&self) -> io::Result<PathBuf> {
        self.disk.working_directory()
    }

    fn locate(&self, from: &Path, path: &Path) -> io::Result<Located> {
        self.disk.locate(from, path)
    }

    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        self.disk.open(path)
    }

    fn open_stream(&self, path: &Path) -> io::Result<OpenFile> {
        self.disk.open_stream(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<DirectoryEntry>> {
        self.disk.list(directory)
    }

    fn is_on_disk(&self) -> bool {
        true
    }

    fn is_link(&self, path: &Path) -> bool {
        self.disk.is_link(path)
    }

    fn kind(&self, path: &Path) -> io::Result<FileKind> {
        self.disk.kind(path)
    }

    fn is_tracked(&self, directory: &Path) -> bool {
        let path = directory.strip_prefix(&self.root).ok().and_then(slashed);
        let (Some(index), Some(path)) = (&self.index, path) else { return false };
        let prefix = format!("{path}/");
        index.file.prefixed_entries_range(BStr::new(&prefix)).is_some_and(|range| !range.is_empty())
    }

    fn has_content(&self, real: &Path, id: &ContentId) -> bool {
        let (Some(index), Ok(metadata)) = (&self.index, fs::symlink_metadata(real)) else { return false };
        match FileKind::from(metadata.file_type()) {
            FileKind::Directory => {
                let tree = real.strip_prefix(&self.root).ok().and_then(|path| index.tree(path));
                tree.is_some_and(|tree| *id == ContentId::from_bytes(tree.id.as_slice()))
                    && self.is_unchanged(index, real)
            }
            FileKind::File => {
                let entry = self.entry(index, real);
                entry.is_some_and(|entry| *id == ContentId::from_bytes(entry.id.as_slice()))
            }
            FileKind::Link | FileKind::Other => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::{Duration, SystemTime};

    use super::super::GitRepository;
    use super::*;

    fn git(directory: &Path, command: &str) {
        let status = Command::new("sh")
            .args(["-ec", command])
            .current_dir(directory)
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")])
            .envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@example.com")])
            .envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@example.com")])
            .status();
        assert!(status.expect("git runs").success(), "{command}");
    }

    /// Creates a repository whose files are older than its index.
    fn repository() -> tempfile::TempDir {
        let home = tempfile::tempdir().expect("a directory");
        for (path, text) in [("a/x", "1"), ("a/y", "2"), ("b/c/z", "3")] {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(&path, text).expect("written");
            let file = fs::File::options().write(true).open(&path).expect("a file");
            file.set_modified(SystemTime::now() - Duration::from_secs(10)).expect("set");
        }
        git(home.path(), "git init -q .; git add .; git commit -qm x");
        home
    }

    fn same(home: &Path, path: &str) -> bool {
        let repository = GitRepository::discover(home).expect("a repository");
        let (revision, disk) =
            (repository.tree("HEAD").expect("a revision"), repository.working_tree().expect("files"));
        let path = repository.root().join(path);
        let id = revision.content_id(&path).expect("a path of the revision");
        disk.has_content(&path, &id)
    }

    #[test]
    fn untouched_files_and_directories_have_the_content_of_the_revision() {
        let home = repository();
        for path in ["a/x", "a", "b", "b/c", ""] {
            assert!(same(home.path(), path), "{path}");
        }
    }

    /// A description, and a function that changes a checkout.
    type Change = (&'static str, fn(&Path));

    #[test]
    fn changes_on_disk_are_noticed() {
        let changes: [Change; 5] = [
            ("a changed file", |home| fs::write(home.join("a/x"), "7").expect("written")),
            ("a file that is not in the index", |home| fs::write(home.join("a/new"), "").expect("written")),
            ("a removed file", |home| fs::remove_file(home.join("a/y")).expect("removed")),
            ("an empty directory", |home| fs::create_dir(home.join("a/d")).expect("made")),
            ("a directory in place of a file", |home| {
                fs::remove_file(home.join("a/x")).expect("removed");
                fs::create_dir(home.join("a/x")).expect("made");
            }),
        ];
        for (name, change) in changes {
            let home = repository();
            change(home.path());
            assert!(!same(home.path(), "a"), "{name}");
            assert!(!same(home.path(), ""), "{name}");
            assert!(same(home.path(), "b"), "{name}");
        }
    }

    #[test]
    fn directories_with_files_of_the_index_are_tracked() {
        let home = repository();
        fs::create_dir(home.path().join("bc")).expect("made");
        let disk = GitRepository::discover(home.path()).expect("a repository").working_tree().expect("files");
        let tracked = ["a", "b", "b/c", "bc", "none"].map(|path| disk.is_tracked(&disk.root.join(path)));
        assert_eq!(tracked, [true, true, true, false, false]);
    }

    #[test]
    fn staged_files_differ_from_the_revision() {
        let home = repository();
        fs::write(home.path().join("a/x"), "7").expect("written");
        git(home.path(), "git add .");
        assert!(!same(home.path(), "a/x") && !same(home.path(), "a") && same(home.path(), "b/c/z"));
    }
}
