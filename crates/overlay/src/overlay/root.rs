//! Decides which files a build may read, and reads them.
//!
//! A [`Root`] is one directory with a kustomization. Without an option, it reads only files in and below its directory,
//! after following symlinks. Other directories become roots of their own.

mod check;
mod trail;

use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use self::trail::RootTrail;
use super::outline::OutlineCheckout;
use super::remote::{Checkout, RemoteResource, Remotes, is_remote_file};
use super::repo_spec::{RepoSpec, without_password};
use crate::resource::SimilarNames;
use crate::transform::Files;
use smp_files::{
    Directory, DirectoryEntry, FileKind, FileTree, Located, check_no_pending_write, clean_path,
    is_outside_error,
};
use smp_text::diagnostic::{Code, Diagnostic, Result, io_reason, read_error};
use smp_text::source::{KUSTOMIZATION_FILES, SourceId, SourceMap, Span, is_kustomization, relative_path};
use smp_text::yaml::{self, literal_style, nearest_name, replacement_text};

/// State shared by all reads of one run.
#[derive(Debug, Clone)]
pub struct Reader {
    tree: Arc<dyn FileTree>,
    sources: SourceMap,
    /// Requires files to be in or below the root that refers to them.
    restricted: bool,
    working_directory: Arc<Path>,
    remotes: Arc<Remotes>,
    /// The trees of fetched repositories by real path, so that each is opened once.
    repositories: Arc<Mutex<FxHashMap<PathBuf, Directory>>>,
    /// The names in directories that were listed to suggest corrections for missing paths.
    listed: Arc<Mutex<FxHashMap<PathBuf, SimilarNames>>>,
}

impl Reader {
    /// Creates a reader of a tree. It adds texts to `sources`.
    ///
    /// # Errors
    /// The working directory cannot be found.
    pub fn new(
        tree: Arc<dyn FileTree>,
        sources: SourceMap,
        restricted: bool,
        remotes: Remotes,
    ) -> Result<Self> {
        let working_directory =
            tree.working_directory().map_err(|error| read_error("the working directory", &error))?;
        Ok(Self {
            tree,
            sources,
            restricted,
            working_directory: working_directory.into(),
            remotes: Arc::new(remotes),
            repositories: Arc::default(),
            listed: Arc::default(),
        })
    }

    /// Returns the reader with other remotes.
    #[must_use]
    pub fn with_remotes(&self, remotes: Remotes) -> Self {
        Self { remotes: Arc::new(remotes), ..self.clone() }
    }

    /// Returns a reader of another tree with the same files.
    #[must_use]
    pub(super) fn with_tree(&self, tree: Arc<dyn FileTree>) -> Self {
        Self { tree, ..self.clone() }
    }

    /// Returns the tree that files are read from.
    #[must_use]
    pub fn tree(&self) -> &dyn FileTree {
        &*self.tree
    }

    /// Returns the texts read so far.
    #[must_use]
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Returns a path as the user would write it, relative to the working directory.
    #[must_use]
    pub fn shown(&self, path: &Path) -> PathBuf {
        relative_path(path, &self.working_directory).into_owned()
    }

    /// Returns the fetcher of remote files and repositories.
    #[must_use]
    pub fn remotes(&self) -> &Remotes {
        &self.remotes
    }

    /// Opens the directory or repository that the user named.
    ///
    /// # Errors
    /// The path does not exist or is not a directory, or the repository cannot be fetched.
    pub fn open(&self, path: &Path) -> Result<Root> {
        if let Some(spec) = path.to_str().and_then(|text| RepoSpec::parse(text).ok()) {
            let checkout = Arc::new(self.remotes.repository(&spec, Span::default())?);
            let directory = self.directory_of(&checkout)?;
            return Ok(Root { reader: self.clone(), directory, visited: None, checkout: Some(checkout) });
        }
        let found = self.tree.locate(Path::new(""), path).map_err(|error| {
            Diagnostic::error(
                Code::Io,
                format!("{}: {}", without_password(&path.display().to_string()), io_reason(&error)),
            )
            .help(self.nearest_target(path).map_or_else(
                || "pass a directory that has a kustomization file or manifests".into(),
                |meant| format!("did you mean `{}`?", meant.display()),
            ))
        })?;
        if !found.is_directory() {
            return Err(Diagnostic::error(
                Code::Io,
                format!("{} is a file, not a directory", path.display()),
            )
            .help("pass the directory that contains the file"));
        }
        self.enter(found)
    }

    /// Returns the existing path whose last segment is most similar to that of a missing target.
    fn nearest_target(&self, path: &Path) -> Option<PathBuf> {
        let name = path.file_name()?.to_str()?;
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let entries = self.tree.list(above).ok()?;
        let names: Vec<&str> = entries.iter().filter_map(|entry| entry.name.to_str()).collect();
        // An entry of exactly this name exists but cannot be read, so it is not a suggestion.
        let meant = path.with_file_name(nearest_name(name, &names).filter(|meant| *meant != name)?);
        self.tree.locate(Path::new(""), &meant).is_ok().then_some(meant)
    }

    /// Opens the target that the user named, like [`Reader::open`]. For a file, opens its directory and also returns
    /// the path of the file, unless it is a kustomization file, which represents its directory.
    ///
    /// # Errors
    /// The errors of [`Reader::open`].
    pub fn open_target(&self, path: &Path) -> Result<(Root, Option<PathBuf>)> {
        let is_remote = path.to_str().is_some_and(|text| RepoSpec::parse(text).is_ok());
        let found = if is_remote { None } else { self.tree.locate(Path::new(""), path).ok() };
        let Some(file) = found.filter(|found| found.kind() == FileKind::File) else {
            return Ok((self.open(path)?, None));
        };
        // The directory is the one in the given path, even if the file is a symlink to another directory.
        let named = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let root = self.open(named)?;
        Ok((root, (!is_kustomization(path)).then(|| file.into_path())))
    }

    fn enter(&self, found: Located) -> Result<Root> {
        check_no_pending_write(&*self.tree, found.path())?;
        let directory = Directory::new(self.tree.clone(), found.into_path());
        Ok(Root { reader: self.clone(), directory, visited: None, checkout: None })
    }

    /// Returns the directory that the reference names within a fetched repository.
    fn directory_of(&self, checkout: &Checkout) -> Result<Directory> {
        let mut repositories = self.repositories.lock().unwrap_or_else(PoisonError::into_inner);
        let tree = match repositories.entry(checkout.clone_dir.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(checkout.tree()?),
        };
        checkout.directory_in(tree)
    }
}

/// A directory that files are read from.
#[derive(Debug, Clone)]
pub struct Root {
    reader: Reader,
    directory: Directory,
    /// The roots through which this one was reached.
    visited: Option<RootTrail>,
    /// The repository that contains the directory, if it was fetched.
    checkout: Option<Arc<Checkout>>,
}

/// The target of a path in a kustomization.
#[derive(Debug)]
pub enum Target {
    /// A file, by real path.
    File(PathBuf),
    /// A remote file, as text.
    Text(SourceId),
    /// A directory with a kustomization of its own.
    Directory(Root),
}

impl Root {
    /// Returns the real path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the directory itself.
    #[must_use]
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Returns the path as the user would write it.
    #[must_use]
    pub fn shown(&self) -> PathBuf {
        self.reader.shown(self.path())
    }

    /// Returns the reader that this root belongs to.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Resolves a path to a file or a directory, and checks that it may be used. URLs are fetched: as a file if
    /// `is_file` accepts the content, otherwise as a repository.
    ///
    /// # Errors
    /// The path does not exist, is outside the root, or is a directory through which this one was reached.
    pub fn resolve(&self, path: &str, at: Span, is_file: impl Fn(SourceId) -> Result<()>) -> Result<Target> {
        if is_remote_file(path) {
            let read = |bytes| {
                let id = self.reader.sources.add(path, yaml::decode(bytes)?);
                is_file(id).map(|()| id)
            };
            return match self.reader.remotes.resource(path, at, read)? {
                RemoteResource::File(id) => Ok(Target::Text(id)),
                RemoteResource::Repository(checkout) => {
                    self.enter_checkout(checkout, at).map(Target::Directory)
                }
            };
        }
        // As in kustomize, an existing file takes precedence over a repository.
        if let Ok(spec) = RepoSpec::parse(path)
            && !self.directory.locate(path).is_ok_and(|found| found.kind() == FileKind::File)
        {
            let checkout = self.fetch(&spec, at)?;
            return self.enter_checkout(checkout, at).map(Target::Directory);
        }
        let found = self.locate(path, at)?;
        if found.is_directory() {
            return self.enter_directory(path, found.into_path(), at).map(Target::Directory);
        }
        self.check_located(path, &found).map_err(|d| d.at(at))?;
        Ok(Target::File(found.into_path()))
    }

    /// Enters a directory or repository that the kustomization refers to.
    ///
    /// # Errors
    /// The errors of [`Root::resolve`], or the path is a file.
    pub fn enter(&self, path: &str, at: Span) -> Result<Self> {
        if let Ok(spec) = RepoSpec::parse(path) {
            let checkout = self.fetch(&spec, at)?;
            return self.enter_checkout(checkout, at);
        }
        let found = self.locate(path, at)?;
        if !found.is_directory() {
            return Err(Diagnostic::error(Code::Io, format!("`{path}` is a file, expected a directory"))
                .at(at)
                .help("use the directory that contains the kustomization file"));
        }
        self.enter_directory(path, found.into_path(), at)
    }

    /// Fetches a repository. A remote repository must not refer to one on this machine.
    fn fetch(&self, spec: &RepoSpec, at: Span) -> Result<Checkout> {
        if spec.is_local() && self.checkout.as_ref().is_some_and(|checkout| !checkout.spec.is_local()) {
            let message = format!("remote kustomization refers to the local repository {}", spec.shown());
            return Err(Diagnostic::error(Code::OutsideRoot, message)
                .at(at)
                .help("remote kustomizations can only use remote repositories"));
        }
        self.reader.remotes.repository(spec, at)
    }

    /// Enters a repository. The trees of repositories are shared, so only the same directory is a cycle, not one
    /// that contains another.
    fn enter_checkout(&self, checkout: Checkout, at: Span) -> Result<Self> {
        let directory = self.reader.directory_of(&checkout).map_err(|d| d.at(at))?;
        if self.visited_paths().any(|visited| **visited == *directory.path()) {
            let message = format!("cycle: `{}` includes itself", checkout.spec.shown());
            return Err(Diagnostic::error(Code::Cycle, message)
                .at(at)
                .help("remove the entry: a kustomization cannot contain itself"));
        }
        let (reader, visited) = (self.reader.clone(), Some(self.extended_trail()));
        Ok(Self { reader, directory, visited, checkout: Some(Arc::new(checkout)) })
    }

    /// Returns the path of this root and of those through which it was reached, the outermost last.
    fn visited_paths(&self) -> impl Iterator<Item = &Arc<Path>> {
        std::iter::once(self.directory.shared_path())
            .chain(self.visited.iter().flat_map(RootTrail::iter_from_last))
    }

    /// Returns the trail for a directory entered from this root.
    fn extended_trail(&self) -> RootTrail {
        RootTrail::extended(self.directory.shared_path(), self.visited.as_ref())
    }

    fn enter_directory(&self, path: &str, real: PathBuf, at: Span) -> Result<Self> {
        if Path::new(path).is_absolute() {
            return Err(Diagnostic::error(
                Code::OutsideRoot,
                format!("directory `{path}` is an absolute path"),
            )
            .at(at)
            .help("use a path relative to this kustomization"));
        }
        if let Some(part) = ambiguous_part(path) {
            return Err(Diagnostic::error(
                Code::InvalidValue,
                format!("ambiguous path `{path}`: segment `{part}` contains `..`"),
            )
            .at(at)
            .help("check the indentation: two list entries may have been joined into one"));
        }
        self.check_cycle(path, &real, at)?;
        // Nothing writes into a fetched repository, so a journal there must be part of a commit.
        if self.checkout.is_none() {
            self.directory.check_finished(&real).map_err(|problem| problem.at(at))?;
        }
        let (reader, visited) = (self.reader.clone(), Some(self.extended_trail()));
        Ok(Self { reader, directory: self.directory.part_at(real), visited, checkout: self.checkout.clone() })
    }

    /// Opens a directory that no kustomization refers to, as a root of its own in the same repository. Returns
    /// `None` if there is no such directory, or if the path is outside the checkout of a remote base.
    ///
    /// # Errors
    /// A symlink points outside the repository.
    pub fn open_directory(&self, path: &Path) -> Result<Option<Self>> {
        if self.checkout.as_ref().is_some_and(|checkout| !path.starts_with(&checkout.clone_dir)) {
            return Ok(None);
        }
        // A relative path is located without resolving the directory again.
        let below = path.strip_prefix(self.path()).unwrap_or(path);
        let found = match self.directory.locate(below) {
            Ok(found) if found.is_directory() => found,
            Err(error) if is_outside_error(&error) => {
                return Err(self.outside_repository_error(&self.reader.shown(path)));
            }
            _ => return Ok(None),
        };
        let directory = self.directory.at(found.into_path());
        Ok(Some(Self { directory, visited: None, ..self.clone() }))
    }

    /// Locates a path of the kustomization. Errors have the location of the entry.
    fn locate(&self, path: &str, at: Span) -> Result<Located> {
        if path.is_empty() {
            return Err(Diagnostic::error(Code::InvalidValue, "the path of this entry is empty")
                .at(at)
                .help("remove the entry, or add a path"));
        }
        self.directory.locate(path).map_err(|error| {
            if is_outside_error(&error) {
                return self.outside_repository_error(Path::new(path)).at(at);
            }
            self.unreadable_path_error(path, &error, at)
        })
    }

    /// Returns true for a symlink, whatever its target.
    fn is_link(&self, path: &Path) -> bool {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return false };
        let entries = self.reader.tree().list(parent).unwrap_or_default();
        entries.iter().any(|entry| entry.kind == FileKind::Link && entry.name == name)
    }

    /// Returns the error for a path that cannot be read, with the path that was probably meant.
    fn unreadable_path_error(&self, path: &str, error: &std::io::Error, at: Span) -> Diagnostic {
        if is_inline_content(path) {
            let message = "expected the path of a file, found inline content";
            return Diagnostic::error(Code::InvalidValue, message).at(at);
        }
        let (kind, full) = (error.kind(), clean_path(&self.path().join(path)));
        if kind == std::io::ErrorKind::NotFound && self.is_link(&full) {
            let message = format!("`{path}` is a symlink whose target does not exist");
            return Diagnostic::error(Code::Io, message).at(at).help("correct or remove the symlink");
        }
        let shown = self.reader.shown(&full);
        let error = read_error(format_args!("`{path}`"), error).at(at);
        let error = if shown == Path::new(path) {
            error
        } else {
            error.note(format!("the path leads to {}", shown.display()))
        };
        if kind == std::io::ErrorKind::Unsupported {
            // The path is correct, but the tree does not contain the file's content.
            return error;
        }
        let Some(meant) = self.nearest_path(path) else {
            return error.help(if path.contains(" - ") {
                "the path looks like two list entries: align their dashes"
            } else {
                "paths are relative to the directory of the kustomization file"
            });
        };
        // The scalar may contain more than the path, so the fix keeps its style.
        let written = self.reader.sources().text_at(at);
        let style = written.and_then(|written| literal_style(&written, path));
        let error = error.help(format!("did you mean `{meant}`?"));
        match style {
            Some(style) => error.fix(at, replacement_text(style, &meant)),
            None => error,
        }
    }

    /// Returns the path that was probably meant: the first missing segment is replaced by a similar existing
    /// name.
    fn nearest_path(&self, path: &str) -> Option<String> {
        let parts: Vec<&str> = path.split('/').collect();
        let missing = (1..=parts.len()).find(|i| self.directory.locate(parts[..*i].join("/")).is_err())? - 1;
        let above = parts[..missing].join("/");
        let directory = match above.as_str() {
            "" => self.directory.clone(),
            above => {
                let found = self.directory.locate(above).ok().filter(Located::is_directory)?;
                self.directory.at(found.into_path())
            }
        };
        let name = self.nearest_name(&directory, parts[missing])?;
        let mut meant = parts.clone();
        meant[missing] = &name;
        let meant = meant.join("/");
        // If a later segment is still wrong, the path is not a suggestion.
        self.directory.locate(&meant).is_ok().then_some(meant)
    }

    /// Returns the most similar name in a directory, except hidden ones. Each directory is listed once.
    fn nearest_name(&self, directory: &Directory, name: &str) -> Option<SmolStr> {
        let mut listed = self.reader.listed.lock().unwrap_or_else(PoisonError::into_inner);
        let names = listed.entry(directory.path().to_path_buf()).or_insert_with(|| {
            let entries = directory.list().unwrap_or_default();
            let names = entries.iter().filter_map(|entry| entry.name.to_str());
            names.map(SmolStr::from).collect::<Vec<_>>().iter().collect()
        });
        names.nearest(name).filter(|name| !name.starts_with('.'))
    }

    /// Reads a text file that the kustomization refers to.
    ///
    /// # Errors
    /// The file cannot be read, is outside the root, or is not text.
    pub fn text(&self, path: &str, at: Span) -> Result<SourceId> {
        if is_remote_file(path) {
            let bytes = self.reader.remotes.file(path, at)?;
            return Ok(self.reader.sources.add(path, yaml::decode(bytes).map_err(|d| d.at(at))?));
        }
        let real = self.file(path, at)?;
        self.text_at(&real).map_err(|d| d.at(at))
    }

    /// Reads a file that was already found to be allowed, and adds it to the sources.
    ///
    /// # Errors
    /// The file cannot be read or is not text.
    pub fn text_at(&self, path: &Path) -> Result<SourceId> {
        let shown = self.reader.shown(path);
        let bytes = self.bytes_at(path).map_err(|failure| match failure {
            ReadFailure::Outside(real) => self.outside_root_error(&shown, &real),
            ReadFailure::Io(error) => read_error(format_args!("`{}`", shown.display()), &error),
        })?;
        let named = |d: Diagnostic| {
            Diagnostic::error(d.code(), format!("{}: {}", shown.display(), d.message())).help(
                "save the file as UTF-8; binary files can only be part of a ConfigMap or Secret generator",
            )
        };
        let text = yaml::decode(bytes).map_err(named)?;
        Ok(self.reader.sources.add(shown, text))
    }

    /// Returns the content of a file, without adding it to the sources. Returns `None` if it cannot be read.
    pub(super) fn peek(&self, path: &Path) -> Option<Vec<u8>> {
        self.bytes_at(path).ok()
    }

    /// Returns the content of a file that may be read. All reads of a build go through this function.
    ///
    /// The check applies to the opened file, because the path may have referred to another file before and may do so
    /// again.
    fn bytes_at(&self, path: &Path) -> std::result::Result<Vec<u8>, ReadFailure> {
        let file = self.directory.open(path).map_err(ReadFailure::Io)?;
        if self.is_restricted() {
            let real = file.path().map_err(ReadFailure::Io)?;
            if !self.may_read(&real) {
                return Err(ReadFailure::Outside(real.into_owned()));
            }
        }
        file.read().map_err(ReadFailure::Io)
    }

    /// Checks that the build may read a file that the kustomization refers to. Remote files are not fetched for this.
    ///
    /// # Errors
    /// The path does not exist, is outside the root, or is a directory.
    pub fn check_file(&self, path: &str, at: Span) -> Result<()> {
        if is_remote_file(path) { Ok(()) } else { self.file(path, at).map(drop) }
    }

    /// Returns the real path of a file that the kustomization refers to.
    ///
    /// # Errors
    /// The path does not exist, is outside the root, or is a directory.
    fn file(&self, path: &str, at: Span) -> Result<PathBuf> {
        let found = self.locate(path, at)?;
        if found.is_directory() {
            return Err(Diagnostic::error(Code::Io, format!("`{path}` is a directory, expected a file"))
                .at(at)
                .help("use the path of a file in the directory"));
        }
        self.check_located(path, &found).map_err(|d| d.at(at))?;
        Ok(found.into_path())
    }

    /// Returns the path of the kustomization file of this root, if it has one. As in kustomize, a directory of
    /// such a name is ignored if there is also a file.
    ///
    /// # Errors
    /// There are several kustomization files, one of them may not be read, or only a directory or a dangling symlink
    /// has such a name.
    pub fn kustomization_file(&self) -> Result<Option<PathBuf>> {
        let shown = |name: &str| self.reader.shown(&self.path().join(name));
        let mut found: Vec<&str> = Vec::new();
        let mut directory = None;
        for name in KUSTOMIZATION_FILES {
            match self.directory.locate(name) {
                Ok(there) if there.is_directory() => directory = Some(name),
                Ok(there) => {
                    self.check_located(&shown(name).to_string_lossy(), &there)?;
                    found.push(name);
                }
                Err(error) if is_outside_error(&error) => {
                    return Err(self.outside_repository_error(&shown(name)));
                }
                Err(_) => {}
            }
        }
        match (found.as_slice(), directory) {
            ([], Some(name)) => {
                let message =
                    format!("{} is a directory, expected a kustomization file", shown(name).display());
                Err(Diagnostic::error(Code::Io, message)
                    .help("replace the directory by the file, or rename it"))
            }
            ([], None) => self.check_dangling_kustomization().map(|()| None),
            ([name], _) => Ok(Some(self.path().join(name))),
            ([first, second, ..], _) => {
                let names = [first, second].map(|name| shown(name).display().to_string()).join(" and ");
                let message = format!("found multiple kustomization files: {names}");
                Err(Diagnostic::error(Code::Ambiguous, message).help("keep only one of them"))
            }
        }
    }

    /// Rejects a dangling symlink with the name of a kustomization file. Ignoring it would build the directory as
    /// a plain directory.
    fn check_dangling_kustomization(&self) -> Result<()> {
        // A directory that cannot be listed has no kustomization. Walking it will report the error.
        let entries = self.directory.list().unwrap_or_default();
        let is_symlink = |entry: &&DirectoryEntry| {
            entry.kind == FileKind::Link && KUSTOMIZATION_FILES.iter().any(|name| entry.name == *name)
        };
        let Some(link) = entries.iter().find(is_symlink) else { return Ok(()) };
        match self.directory.locate(&link.name) {
            Ok(_) => Ok(()),
            Err(error) => {
                let path = self.reader.shown(&self.path().join(&link.name));
                let message = format!("symlink {} cannot be followed: {}", path.display(), io_reason(&error));
                Err(Diagnostic::error(Code::Io, message).help("correct or remove the symlink"))
            }
        }
    }

    /// Returns true if files may be added below this directory. Fetched repositories are shared and must not
    /// change.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.checkout.is_none()
    }

    /// Returns the fetched repository that contains the directory, for an outline.
    pub(super) fn outline_checkout(&self) -> Option<OutlineCheckout> {
        let checkout = self.checkout()?;
        let directory = self.reader.shown(&checkout.clone_dir);
        Some(OutlineCheckout { directory, url: checkout.spec.shown(), commit: checkout.commit.clone() })
    }

    /// Returns the repository that contains the directory, if it was fetched.
    #[must_use]
    pub fn checkout(&self) -> Option<&Checkout> {
        self.checkout.as_deref()
    }
}

impl Files for Root {
    fn read(&self, path: &str, at: Span) -> Result<Vec<u8>> {
        if is_remote_file(path) {
            return self.reader.remotes.file(path, at);
        }
        let real = self.file(path, at)?;
        self.bytes_at(&real).map_err(|failure| match failure {
            ReadFailure::Outside(real) => self.outside_root_error(Path::new(path), &real).at(at),
            ReadFailure::Io(error) => read_error(format_args!("`{path}`"), &error).at(at),
        })
    }

    fn name(&self, path: &str) -> PathBuf {
        if is_remote_file(path) {
            path.into()
        } else {
            self.reader.shown(&clean_path(&self.path().join(path)))
        }
    }
}

/// The reason why a file was not read.
enum ReadFailure {
    /// The opened file is outside of the root. Holds its real path.
    Outside(PathBuf),
    Io(std::io::Error),
}

/// Returns true if a value given as a path is really an inline manifest or patch. Messages must not repeat it,
/// because it may contain secrets.
fn is_inline_content(path: &str) -> bool {
    path.contains('\n') || path.contains(": ") || path.trim_start().starts_with(['{', '['])
}

/// Returns the first segment of a path that contains `..` and other characters. This indicates that two list entries
/// were joined into one.
fn ambiguous_part(path: &str) -> Option<&str> {
    path.split('/').find(|part| *part != ".." && part.contains(".."))
}
