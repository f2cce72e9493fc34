//! Trees of git revisions, read from the object database. Nothing is checked out or written.

mod working_tree;

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use gix::bstr::BStr;
use gix::objs::tree::EntryKind;
use gix::{ObjectId, Repository};
use rustc_hash::FxHashMap;

pub use self::working_tree::WorkingTree;
use super::disk::DiskTree;
use super::tree::{ContentId, DirectoryEntry, FileKind, FileTree, Located, OpenFile};
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The maximum number of symlinks in a path, as on Linux.
const MAX_LINKS: usize = 40;

/// The start of a file whose content is stored by Git LFS.
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// The directories in which git looks for the name of a revision.
const REFERENCE_FOLDERS: [&str; 4] = ["refs", "refs/tags", "refs/heads", "refs/remotes"];

/// A git repository.
#[derive(Clone)]
pub struct GitRepository {
    repository: Arc<Mutex<Repository>>,
    /// The real path of the working tree, or of a bare repository.
    root: PathBuf,
    is_bare: bool,
    is_shallow: bool,
    is_sparse: bool,
    /// The entries of tree objects that were read, sorted by name.
    directories: Arc<Mutex<FxHashMap<ObjectId, Arc<[GitEntry]>>>>,
}

impl fmt::Debug for GitRepository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitRepository").field("root", &self.root).finish_non_exhaustive()
    }
}

impl GitRepository {
    /// Opens the repository that contains a directory. Only the configuration of the repository itself is read.
    ///
    /// # Errors
    /// There is no repository.
    pub fn discover(directory: &Path) -> Result<Self> {
        use gix::discover::upwards::Error as NotFound;

        let options = gix::open::Options::isolated;
        let trust = gix::sec::trust::Mapping { full: options(), reduced: options() };
        let found = gix::ThreadSafeRepository::discover_opts(
            directory,
            gix::discover::upwards::Options::default(),
            trust,
        )
        .map_err(|error| match error.downcast_any_ref::<NotFound>() {
            Some(
                NotFound::NoGitRepository { .. }
                | NotFound::NoGitRepositoryWithinCeiling { .. }
                | NotFound::NoGitRepositoryWithinFs { .. },
            ) => Diagnostic::error(Code::Io, format!("`{}` is not in a git repository", directory.display())),
            _ => failed("cannot open the git repository", &error),
        })?;
        let repository = found.to_thread_local();
        // Without a working tree, the paths in revisions start at the repository itself.
        let top = repository.workdir().unwrap_or(repository.git_dir());
        let is_bare = repository.workdir().is_none();
        let root = DiskTree.locate(Path::new(""), top).map_err(|error| {
            Diagnostic::error(Code::Io, format!("cannot read the working tree {}: {error}", top.display()))
        })?;
        let is_shallow = repository.is_shallow().unwrap_or_default();
        let is_sparse = repository.config_snapshot().boolean("core.sparseCheckout").unwrap_or_default();
        let repository = Arc::new(Mutex::new(repository));
        let root = root.into_path();
        Ok(Self { repository, root, is_bare, is_shallow, is_sparse, directories: Arc::default() })
    }

    /// Returns the real path of the working tree, or of a bare repository.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns true if the working tree may lack files of the checked-out revision.
    #[must_use]
    pub fn is_sparse(&self) -> bool {
        self.is_sparse
    }

    /// Returns the files on disk. The content IDs of unchanged files are known without reading them.
    ///
    /// # Errors
    /// The repository has no working tree.
    pub fn working_tree(&self) -> Result<WorkingTree> {
        if self.is_bare {
            return Err(Diagnostic::error(Code::Io, "the git repository has no working tree")
                .help("compare two revisions: A..B"));
        }
        let repository = self.repository.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(WorkingTree::new(self.root.clone(), &repository))
    }

    /// Returns the tree of files of a revision, such as `main`, `HEAD~2` or `v1.0`. Paths are those of the working
    /// tree.
    ///
    /// # Errors
    /// The revision does not exist.
    pub fn tree(&self, revision: &str) -> Result<GitTree> {
        let commit = self.commit(revision)?;
        let top = {
            let repository = self.repository.lock().unwrap_or_else(PoisonError::into_inner);
            let tree = repository.find_object(commit).and_then(gix::Object::peel_to_tree);
            tree.map_err(|error| self.missing(revision, &error))?.id
        };
        let here = DiskTree.working_directory().map_err(|error| {
            Diagnostic::error(Code::Io, format!("cannot read the working directory: {error}"))
        })?;
        Ok(GitTree { repository: self.clone(), top, here })
    }

    /// Returns the best common ancestor of two revisions.
    ///
    /// # Errors
    /// A revision does not exist, or they have no common ancestor.
    pub fn merge_base(&self, one: &str, other: &str) -> Result<String> {
        let (first, second) = (self.commit(one)?, self.commit(other)?);
        let repository = self.repository.lock().unwrap_or_else(PoisonError::into_inner);
        let base = repository.merge_base(first, second).map_err(|error| self.missing(one, &error))?;
        base.map(|id| id.to_string()).ok_or_else(|| {
            let message = format!("the revisions `{one}` and `{other}` have no common ancestor");
            let help = "compare them directly: A..B";
            self.with_help(Diagnostic::error(Code::InvalidValue, message), help)
        })
    }

    /// Returns the files that change when a revision such as `HEAD~1` or `main` becomes another commit. Some of them
    /// may not exist, such as that of a branch that has not been created yet.
    #[must_use]
    pub fn reference_files(&self, revision: &str) -> Vec<PathBuf> {
        let name = revision.split(['~', '^', '@', ':']).next().unwrap_or_default();
        let is_name =
            !name.is_empty() && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        let repository = self.repository.lock().unwrap_or_else(PoisonError::into_inner);
        let (own, common) = (repository.git_dir(), repository.common_dir());
        let head = repository.head_name().ok().flatten();
        let head =
            head.and_then(|name| gix::path::from_bstr(name.as_bstr()).ok().map(|name| common.join(name)));
        let named = REFERENCE_FOLDERS.iter().filter(|_| is_name).map(|folder| common.join(folder).join(name));
        let named = named.chain(is_name.then(|| own.join(name)));
        named.chain(head).chain([common.join("packed-refs"), own.join("HEAD")]).collect()
    }

    fn commit(&self, revision: &str) -> Result<ObjectId> {
        let repository = self.repository.lock().unwrap_or_else(PoisonError::into_inner);
        let error = match repository.rev_parse_single(revision) {
            Ok(id) => return Ok(id.detach()),
            Err(error) => error,
        };
        if repository.head().is_ok_and(|head| head.is_unborn()) {
            let message = format!("cannot read the git revision `{revision}`: the branch has no commits yet");
            return Err(Diagnostic::error(Code::InvalidValue, message).help("create a commit first"));
        }
        let name = revision.split(['~', '^']).next().unwrap_or_default();
        let is_prefix = name.len() >= 4 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        let why = if name != revision && repository.rev_parse_single(name).is_ok() {
            format!("`{name}` has no such ancestor")
        } else if is_prefix {
            // The prefix may be ambiguous.
            error.to_string()
        } else {
            "there is no branch, tag or commit of that name".into()
        };
        let message = format!("cannot read the git revision `{revision}`: {why}");
        Err(self.with_shallow_help(Diagnostic::error(Code::InvalidValue, message)))
    }

    fn missing(&self, revision: &str, error: &dyn std::error::Error) -> Diagnostic {
        let message = format!("cannot read the git revision `{revision}`: {error}");
        self.with_shallow_help(Diagnostic::error(Code::InvalidValue, message))
    }

    fn with_shallow_help(&self, problem: Diagnostic) -> Diagnostic {
        self.with_help(problem, "check its spelling with `git log`, or fetch it with `git fetch`")
    }

    fn with_help(&self, problem: Diagnostic, help: &str) -> Diagnostic {
        if self.is_shallow {
            return problem.help(
                "the clone is shallow: fetch the history, with `fetch-depth: 0` of actions/checkout or `git fetch \
                 --unshallow`",
            );
        }
        problem.help(help)
    }
}

fn failed(what: &str, error: &dyn std::error::Error) -> Diagnostic {
    Diagnostic::error(Code::Io, format!("{what}: {error}")).help("run the command in a git repository")
}

/// An entry of a directory in the object database.
#[derive(Debug, Clone)]
struct GitEntry {
    name: OsString,
    kind: EntryKind,
    id: ObjectId,
}

impl GitEntry {
    fn file_kind(&self) -> FileKind {
        match self.kind {
            EntryKind::Tree => FileKind::Directory,
            // This is a submodule. Its files are in another repository.
            EntryKind::Commit => FileKind::Other,
            EntryKind::Blob | EntryKind::BlobExecutable => FileKind::File,
            EntryKind::Link => FileKind::Link,
        }
    }
}

/// The files of a git revision, by their paths in the working tree. Paths outside of the working tree do not exist.
pub struct GitTree {
    repository: GitRepository,
    /// The tree object of the revision.
    top: ObjectId,
    here: PathBuf,
}

impl fmt::Debug for GitTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GitTree")
            .field("root", &self.repository.root)
            .field("tree", &self.top)
            .finish_non_exhaustive()
    }
}

/// A resolved path in a revision.
enum GitObject {
    /// A directory above the working tree. It contains only the next part of the path to the working tree.
    Above,
    Directory(ObjectId),
    /// The commit of a submodule. All paths in a submodule are resolved to the submodule itself.
    Submodule(ObjectId),
    File(ObjectId),
    Link(ObjectId),
}

impl GitObject {
    fn from_entry(entry: &GitEntry) -> Self {
        match entry.kind {
            EntryKind::Tree => Self::Directory(entry.id),
            EntryKind::Commit => Self::Submodule(entry.id),
            EntryKind::Link => Self::Link(entry.id),
            EntryKind::Blob | EntryKind::BlobExecutable => Self::File(entry.id),
        }
    }

    fn kind(&self) -> FileKind {
        match self {
            Self::File(_) => FileKind::File,
            Self::Link(_) => FileKind::Link,
            Self::Above | Self::Directory(_) => FileKind::Directory,
            Self::Submodule(_) => FileKind::Other,
        }
    }
}

impl GitTree {
    fn blob(&self, id: ObjectId) -> io::Result<Vec<u8>> {
        let repository = self.repository.repository.lock().unwrap_or_else(PoisonError::into_inner);
        let mut object = repository.find_object(id).map_err(|error| self.unreadable(&error))?;
        Ok(std::mem::take(&mut object.data))
    }

    fn unreadable(&self, error: &dyn std::error::Error) -> io::Error {
        let help = if self.repository.is_shallow { " (the clone is shallow or partial)" } else { "" };
        io::Error::other(format!("cannot read a git object: {error}{help}"))
    }

    /// Returns the entries of a tree object, sorted by name.
    fn entries(&self, id: ObjectId) -> io::Result<Arc<[GitEntry]>> {
        let mut known = self.repository.directories.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entries) = known.get(&id) {
            return Ok(Arc::clone(entries));
        }
        let repository = self.repository.repository.lock().unwrap_or_else(PoisonError::into_inner);
        let tree = repository.find_tree(id).map_err(|error| self.unreadable(&error))?;
        let decoded = tree.decode().map_err(|error| self.unreadable(&error))?;
        let entry = |entry: &gix::objs::tree::EntryRef<'_>| {
            let name = path_from_bytes(entry.filename)?.into_os_string();
            Ok(GitEntry { name, kind: entry.mode.kind(), id: entry.oid.to_owned() })
        };
        let mut entries: Vec<GitEntry> = decoded.entries.iter().map(entry).collect::<io::Result<_>>()?;
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        let entries: Arc<[GitEntry]> = entries.into();
        known.insert(id, Arc::clone(&entries));
        Ok(entries)
    }

    /// Returns an entry of a directory by name.
    fn child(&self, directory: &GitObject, path: &Path) -> io::Result<GitObject> {
        let root = &self.repository.root;
        match directory {
            GitObject::Above if path == root => Ok(GitObject::Directory(self.top)),
            GitObject::Above if root.starts_with(path) => Ok(GitObject::Above),
            GitObject::Directory(id) => {
                let name = path.file_name().unwrap_or_default();
                let entries = self.entries(*id)?;
                let found = entries.binary_search_by(|entry| entry.name.as_os_str().cmp(name));
                found.map(|i| GitObject::from_entry(&entries[i])).map_err(|_| ErrorKind::NotFound.into())
            }
            GitObject::Submodule(id) => Ok(GitObject::Submodule(*id)),
            GitObject::File(_) | GitObject::Link(_) => Err(ErrorKind::NotADirectory.into()),
            GitObject::Above => Err(ErrorKind::NotFound.into()),
        }
    }

    /// Resolves an absolute path, with all its symlinks.
    fn follow(&self, from: &Path, path: &Path) -> io::Result<(PathBuf, GitObject)> {
        let mut at: Vec<(PathBuf, GitObject)> = Vec::new();
        let mut ahead = parts(&from.join(path))?;
        let mut links = 0;
        while let Some(part) = ahead.pop() {
            match part.to_str() {
                Some("/") => {
                    let top = if self.repository.root == Path::new("/") {
                        GitObject::Directory(self.top)
                    } else {
                        GitObject::Above
                    };
                    at = vec![(PathBuf::from("/"), top)];
                }
                Some(".") => {}
                Some("..") => {
                    // In a submodule, `..` may follow a symlink.
                    let is_known = !matches!(at.last(), Some((_, GitObject::Submodule(_))));
                    if at.len() > 1 && is_known {
                        at.pop();
                    }
                }
                _ => {
                    let Some((directory, object)) = at.last() else { return Err(ErrorKind::NotFound.into()) };
                    let next = directory.join(part);
                    let found = self.child(object, &next)?;
                    let GitObject::Link(id) = found else {
                        at.push((next, found));
                        continue;
                    };
                    links += 1;
                    if links > MAX_LINKS {
                        return Err(io::Error::other("too many levels of symbolic links"));
                    }
                    ahead.extend(parts(&path_from_bytes(BStr::new(&self.blob(id)?))?)?);
                }
            }
        }
        at.pop().ok_or_else(|| ErrorKind::NotFound.into())
    }

    /// Resolves a path that is not in a submodule.
    fn resolve(&self, from: &Path, path: &Path) -> io::Result<(PathBuf, GitObject)> {
        let found = self.follow(if from.as_os_str().is_empty() { &self.here } else { from }, path)?;
        if matches!(found.1, GitObject::Submodule(_)) {
            return Err(io::Error::new(ErrorKind::Unsupported, SUBMODULE));
        }
        Ok(found)
    }
}

/// The error for a path in a submodule.
const SUBMODULE: &str = "it is in a git submodule, whose files are not part of the revision: check out both \
                         revisions with their submodules, and compare them with --against";

/// Converts a name in the object database to a path.
fn path_from_bytes(name: &BStr) -> io::Result<PathBuf> {
    let path = gix::path::from_bstr(Cow::Borrowed(name)).map(Cow::into_owned);
    path.map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// Returns the parts of a path, the last one first.
fn parts(path: &Path) -> io::Result<Vec<OsString>> {
    let part = |part: Component<'_>| match part {
        Component::RootDir => Ok("/".into()),
        Component::CurDir => Ok(".".into()),
        Component::ParentDir => Ok("..".into()),
        Component::Normal(name) => Ok(name.to_os_string()),
        Component::Prefix(_) => Err(ErrorKind::InvalidInput.into()),
    };
    path.components().rev().map(part).collect()
}

impl FileTree for GitTree {
    fn working_directory(&self) -> io::Result<PathBuf> {
        Ok(self.here.clone())
    }

    fn locate(&self, from: &Path, path: &Path) -> io::Result<Located> {
        let (real, object) = self.resolve(from, path)?;
        Ok(Located::new(real, object.kind()))
    }

    fn open(&self, path: &Path) -> io::Result<OpenFile> {
        let (real, object) = self.resolve(Path::new(""), path)?;
        let GitObject::File(id) = object else { return Err(ErrorKind::IsADirectory.into()) };
        let content = self.blob(id)?;
        if content.starts_with(LFS_POINTER) {
            let message = "it is a pointer of Git LFS, whose content is not in the git repository: check out both revisions \
                           with `git lfs pull`, and compare them with --against";
            return Err(io::Error::new(ErrorKind::Unsupported, message));
        }
        Ok(OpenFile::in_memory(real, content.into()))
    }

    fn list(&self, directory: &Path) -> io::Result<Vec<DirectoryEntry>> {
        let (real, object) = self.resolve(Path::new(""), directory)?;
        match object {
            GitObject::Directory(id) => {
                let entry =
                    |entry: &GitEntry| DirectoryEntry { name: entry.name.clone(), kind: entry.file_kind() };
                Ok(self.entries(id)?.iter().map(entry).collect())
            }
            GitObject::Above => {
                let below =
                    self.repository.root.strip_prefix(&real).ok().and_then(|rest| rest.components().next());
                let entry = |name: Component<'_>| DirectoryEntry {
                    name: name.as_os_str().to_os_string(),
                    kind: FileKind::Directory,
                };
                Ok(below.map(entry).into_iter().collect())
            }
            GitObject::Submodule(_) | GitObject::File(_) | GitObject::Link(_) => {
                Err(ErrorKind::NotADirectory.into())
            }
        }
    }

    fn is_on_disk(&self) -> bool {
        false
    }

    fn content_id(&self, path: &Path) -> Option<ContentId> {
        match self.follow(&self.here, path).ok()?.1 {
            GitObject::File(id) | GitObject::Directory(id) | GitObject::Submodule(id) => {
                Some(ContentId::from_bytes(id.as_slice()))
            }
            _ => None,
        }
    }
}
