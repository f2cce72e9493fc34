//! The files on disk for the time of one command.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{OnceLock, PoisonError, RwLock};

use rustc_hash::FxHashMap;

use super::disk::DiskTree;
use super::tree::{DirectoryEntry, FileKind, FileTree, Located, OpenFile};

/// The files on disk. Each path is resolved, and each directory listed, only once.
///
/// Do not use it longer than one command or one evaluation, since it does not notice changes. Missing paths that are
/// relative to a directory are looked up again, since a build may create them: it stores charts, for example. Files are
/// read from disk each time.
#[derive(Default)]
pub struct CachedDiskTree {
    working_directory: OnceLock<PathBuf>,
    located: Known<Result<Located, MissingPath>>,
    kinds: Known<Result<FileKind, MissingPath>>,
    listed: Known<Vec<DirectoryEntry>>,
    links: Known<bool>,
}

/// The results for paths. Paths with different spellings are different keys, since `file/` does not exist if `file` is a
/// file.
type Known<T> = RwLock<FxHashMap<OsString, T>>;

/// The reason why a path could not be resolved.
#[derive(Debug, Clone, Copy)]
struct MissingPath {
    kind: io::ErrorKind,
    code: Option<i32>,
}

fn get<T: Clone>(known: &Known<T>, path: &Path) -> Option<T> {
    known.read().unwrap_or_else(PoisonError::into_inner).get(path.as_os_str()).cloned()
}

fn insert<T>(known: &Known<T>, path: PathBuf, result: T) {
    known.write().unwrap_or_else(PoisonError::into_inner).insert(path.into_os_string(), result);
}

fn get_or_insert<T: Clone>(known: &Known<T>, path: &Path, find: impl FnOnce() -> T) -> T {
    get(known, path).unwrap_or_else(|| {
        let result = find();
        insert(known, path.to_path_buf(), result.clone());
        result
    })
}

impl From<&io::Error> for MissingPath {
    fn from(error: &io::Error) -> Self {
        Self { kind: error.kind(), code: error.raw_os_error() }
    }
}

impl From<MissingPath> for io::Error {
    fn from(missing: MissingPath) -> Self {
        missing.code.map_or_else(|| missing.kind.into(), Self::from_raw_os_error)
    }
}

impl fmt::Debug for CachedDiskTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedDiskTree").finish_non_exhaustive()
    }
}

impl CachedDiskTree {
    /// Resolves a path that is absolute or relative to the working directory. Its directory is often known already, so
    /// that only the name has to be resolved.
    fn resolve(&self, path: &Path) -> io::Result<Located> {
        let name = path
            .file_name()
            .filter(|name| path.as_os_str().as_encoded_bytes().ends_with(name.as_encoded_bytes()));
        let (Some(name), Some(directory)) = (name, path.parent()) else {
            return DiskTree.locate(Path::new(""), path);
        };
        if directory.as_os_str().is_empty() {
            return DiskTree.locate(&self.working_directory()?, Path::new(name));
        }
        DiskTree.locate(self.locate(Path::new(""), directory)?.path(), Path::new(name))
    }
}

impl FileTree for CachedDiskTree {
    fn working_directory(&self) -> io::Result<PathBuf> {
        if let Some(known) = self.working_directory.get() {
            return Ok(known.clone());
        }
        let found = DiskTree.working_directory()?;
        Ok(self.working_directory.get_or_init(|| found).clone())
    }

    fn locate(&self, from: &Path, path: &Path) -> io::Result<Located> {
        let requested = from.join(path);
        let is_relative = !from.as_os_str().is_empty();
        if let Some(known) = get(&self.located, &requested).filter(|known| known.is_ok() || !is_relative) {
            return known.map_err(io::Error::from);
        }
        let found = if is_relative { DiskTree.locate(from, path) } else { self.resolve(path) };
        let result = found.as_ref().map(Located::clone).map_err(MissingPath::from);
        if result.is_ok() || !is_relative {
            insert(&self.located, requested, result);
        }
        found
    }

    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        DiskTree.open(path)
    }

    fn open_stream(&self, path: &Path) -> io::Result<OpenFile> {
        DiskTree.open_stream(path)
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<DirectoryEntry>> {
        if let Some(known) = get(&self.listed, directory) {
            return Ok(known);
        }
        let entries = DiskTree.list(directory)?;
        insert(&self.listed, directory.to_path_buf(), entries.clone());
        Ok(entries)
    }

    fn is_on_disk(&self) -> bool {
        true
    }

    fn is_link(&self, path: &Path) -> bool {
        get_or_insert(&self.links, path, || DiskTree.is_link(path))
    }

    fn kind(&self, path: &Path) -> io::Result<FileKind> {
        let find = || DiskTree.kind(path).map_err(|error| MissingPath::from(&error));
        get_or_insert(&self.kinds, path, find).map_err(io::Error::from)
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// All results are those of [`DiskTree`].
    #[test]
    fn paths_are_resolved_as_on_disk() {
        let directory = tempfile::tempdir().expect("a directory");
        let top = directory.path().canonicalize().expect("a path");
        fs::create_dir_all(top.join("a/b")).expect("created");
        fs::write(top.join("a/file"), "").expect("written");
        symlink("a/b", top.join("link")).expect("created");
        symlink("none", top.join("dangling")).expect("created");
        let tree = CachedDiskTree::default();
        let paths = [
            "",
            "/",
            ".",
            "a",
            "a/",
            "a/.",
            "a/..",
            "a/../a/b",
            "a//b",
            "a/file",
            "a/file/",
            "a/file/.",
            "a/file/b",
            "link",
            "link/",
            "link/..",
            "link/../file",
            "dangling",
            "dangling/a",
            "none",
            "none/..",
            "none/a",
            "./a",
            "a/b/../file",
            "/proc/self/fd/0",
        ];
        for _ in 0..2 {
            for (from, path) in paths.iter().flat_map(|path| [("", *path), ("a", *path)]) {
                let absolute = top.join(path);
                let cases = [(Path::new("").to_path_buf(), absolute), (top.join(from), PathBuf::from(path))];
                for (from, path) in cases {
                    let expected = DiskTree.locate(&from, &path).map_err(|error| error.raw_os_error());
                    let found = tree.locate(&from, &path).map_err(|error| error.raw_os_error());
                    assert_eq!(found, expected, "{} {}", from.display(), path.display());
                    let full = from.join(&path);
                    assert_eq!(tree.is_link(&full), DiskTree.is_link(&full), "{}", full.display());
                }
            }
        }
        for path in ["src", "./src", "src/..", "Cargo.toml", "none", "..", "."] {
            let expected =
                DiskTree.locate(Path::new(""), Path::new(path)).map_err(|error| error.raw_os_error());
            let found = tree.locate(Path::new(""), Path::new(path)).map_err(|error| error.raw_os_error());
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn created_paths_in_a_directory_are_found() {
        let directory = tempfile::tempdir().expect("a directory");
        let top = directory.path().canonicalize().expect("a path");
        let tree = CachedDiskTree::default();
        assert!(tree.locate(Path::new(""), &top.join("charts")).is_err());
        assert!(tree.locate(&top, Path::new("charts")).is_err());
        fs::create_dir(top.join("charts")).expect("created");
        assert!(tree.locate(&top, Path::new("charts")).is_ok());
        assert!(tree.locate(&top, &top.join("charts")).is_ok());
    }
}
