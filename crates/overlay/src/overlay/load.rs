//! Which files a build may read: the directories that it goes through, and the texts in them.
//!
//! A [`Root`] is one directory with a kustomization. Files are read only from in and below it,
//! symbolic links followed, unless the load restriction is lifted; other directories are entered
//! as roots of their own.

mod check;
mod trail;

use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use self::trail::RootTrail;
use super::outline::OutlineCheckout;
use super::remote::{Checkout, Found, Remotes, is_remote_file};
use super::repo_spec::{RepoSpec, without_password};
use crate::resource::SimilarNames;
use crate::transform::Files;
use smp_files::{Directory, DirectoryEntry, FileKind, FileTree, Located, check_finished, clean, leads_out};
use smp_text::diagnostic::{Code, Diagnostic, Result, io_reason, unreadable};
use smp_text::source::{KUSTOMIZATION_FILES, SourceId, SourceMap, Span, as_seen_from, is_kustomization};
use smp_text::yaml::{self, in_place_of, nearest, style_of_written};

/// What all reading of one run shares.
#[derive(Debug, Clone)]
pub struct Reader {
    tree: Arc<dyn FileTree>,
    sources: SourceMap,
    /// Whether files must be in or below the root that names them.
    restricted: bool,
    working_directory: Arc<Path>,
    remotes: Arc<Remotes>,
    /// The trees of repositories that were entered, by their real path: each is open once.
    repositories: Arc<Mutex<FxHashMap<PathBuf, Directory>>>,
    /// The names in directories that were searched for what was meant by one that is not there.
    listed: Arc<Mutex<FxHashMap<PathBuf, SimilarNames>>>,
}

impl Reader {
    /// A reader of a tree that adds texts to `sources`.
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
            tree.working_directory().map_err(|error| unreadable("the working directory", &error))?;
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

    /// The same, with what fetches from elsewhere replaced.
    #[must_use]
    pub fn with_remotes(&self, remotes: Remotes) -> Self {
        Self { remotes: Arc::new(remotes), ..self.clone() }
    }

    /// Returns a reader of another tree with the same files.
    #[must_use]
    pub(super) fn with_tree(&self, tree: Arc<dyn FileTree>) -> Self {
        Self { tree, ..self.clone() }
    }

    /// The tree that is read.
    #[must_use]
    pub fn tree(&self) -> &dyn FileTree {
        &*self.tree
    }

    /// The texts read so far.
    #[must_use]
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// A path as the user would write it, from the working directory.
    #[must_use]
    pub fn shown(&self, path: &Path) -> PathBuf {
        as_seen_from(path, &self.working_directory).into_owned()
    }

    /// What fetches files and repositories from elsewhere.
    #[must_use]
    pub fn remotes(&self) -> &Remotes {
        &self.remotes
    }

    /// Opens the directory, or the repository, that the user named.
    ///
    /// # Errors
    /// It is not there, or is no directory; a repository cannot be fetched.
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
                || "name a directory that has a kustomization file or manifests".into(),
                |meant| format!("did you mean `{}`?", meant.display()),
            ))
        })?;
        if !found.is_directory() {
            return Err(Diagnostic::error(
                Code::Io,
                format!("{} is a file, not a directory", path.display()),
            )
            .help("name the directory that the file is in"));
        }
        self.enter(found)
    }

    /// A name beside a target that is not there, if it is nearly the same.
    fn nearest_target(&self, path: &Path) -> Option<PathBuf> {
        let name = path.file_name()?.to_str()?;
        let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let entries = self.tree.list(above).ok()?;
        let names: Vec<&str> = entries.iter().filter_map(|entry| entry.name.to_str()).collect();
        // What has the very name is there and broken.
        let meant = path.with_file_name(nearest(name, &names).filter(|meant| *meant != name)?);
        self.tree.locate(Path::new(""), &meant).is_ok().then_some(meant)
    }

    /// Opens the target that the user named: as [`Reader::open`], or of a file the directory that it is in. The
    /// path of the file comes with that, unless the file stands for the directory, as kustomizations do.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn open_target(&self, path: &Path) -> Result<(Root, Option<PathBuf>)> {
        let is_remote = path.to_str().is_some_and(|text| RepoSpec::parse(text).is_ok());
        let found = if is_remote { None } else { self.tree.locate(Path::new(""), path).ok() };
        let Some(file) = found.filter(|found| found.kind() == FileKind::File) else {
            return Ok((self.open(path)?, None));
        };
        // Where the name stands is the directory, wherever a link leads.
        let named = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let root = self.open(named)?;
        Ok((root, (!is_kustomization(path)).then(|| file.into_path())))
    }

    fn enter(&self, found: Located) -> Result<Root> {
        check_finished(&*self.tree, found.path())?;
        let directory = Directory::new(self.tree.clone(), found.into_path());
        Ok(Root { reader: self.clone(), directory, visited: None, checkout: None })
    }

    /// The directory of a repository that the reference names.
    fn directory_of(&self, checkout: &Checkout) -> Result<Directory> {
        let mut repositories = self.repositories.lock().unwrap_or_else(PoisonError::into_inner);
        let tree = match repositories.entry(checkout.clone_dir.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(checkout.tree()?),
        };
        checkout.root_in(tree)
    }
}

/// A directory that files are read from.
#[derive(Debug, Clone)]
pub struct Root {
    reader: Reader,
    directory: Directory,
    /// The roots that led here.
    visited: Option<RootTrail>,
    /// The repository that it is in, when it was fetched.
    checkout: Option<Arc<Checkout>>,
}

/// What a path of a kustomization leads to.
#[derive(Debug)]
pub enum Target {
    /// A file, by its real path.
    File(PathBuf),
    /// A file from elsewhere, as text.
    Text(SourceId),
    /// A directory with a kustomization of its own.
    Directory(Root),
}

impl Root {
    /// The real path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The directory itself.
    #[must_use]
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// The path as the user would write it.
    #[must_use]
    pub fn shown(&self) -> PathBuf {
        self.reader.shown(self.path())
    }

    /// What reads here.
    #[must_use]
    pub fn reader(&self) -> &Reader {
        &self.reader
    }

    /// Finds out whether a path leads to a file or a directory, and whether it may be used. URLs are
    /// fetched: as a file if there is one that `is_file` accepts, else as a repository.
    ///
    /// # Errors
    /// It is not there, is outside the root, or is a directory that led here.
    pub fn find(&self, path: &str, at: Span, is_file: impl Fn(SourceId) -> Result<()>) -> Result<Target> {
        if is_remote_file(path) {
            let read = |bytes| {
                let id = self.reader.sources.add(path, yaml::decode(bytes)?);
                is_file(id).map(|()| id)
            };
            return match self.reader.remotes.resource(path, at, read)? {
                Found::File(id) => Ok(Target::Text(id)),
                Found::Repository(checkout) => self.enter_checkout(checkout, at).map(Target::Directory),
            };
        }
        // A file of that name comes before a repository, as in kustomize.
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
        self.check(path, &found).map_err(|d| d.at(at))?;
        Ok(Target::File(found.into_path()))
    }

    /// Enters a directory or repository that the kustomization names.
    ///
    /// # Errors
    /// As [`Root::find`], and when it is a file.
    pub fn enter(&self, path: &str, at: Span) -> Result<Self> {
        if let Ok(spec) = RepoSpec::parse(path) {
            let checkout = self.fetch(&spec, at)?;
            return self.enter_checkout(checkout, at);
        }
        let found = self.locate(path, at)?;
        if !found.is_directory() {
            return Err(Diagnostic::error(
                Code::Io,
                format!("`{path}` is a file; a directory is needed here"),
            )
            .at(at)
            .help("name the directory that has the kustomization file"));
        }
        self.enter_directory(path, found.into_path(), at)
    }

    /// Fetches a repository. One of this machine is nothing that a repository from elsewhere may name.
    fn fetch(&self, spec: &RepoSpec, at: Span) -> Result<Checkout> {
        if spec.is_local() && self.checkout.as_ref().is_some_and(|checkout| !checkout.spec.is_local()) {
            let message = format!("{} is a repository of this machine", spec.shown());
            return Err(Diagnostic::error(Code::OutsideRoot, message)
                .at(at)
                .help("what is fetched from elsewhere may not use it"));
        }
        self.reader.remotes.repository(spec, at)
    }

    /// Enters a repository. Trees of repositories are shared, so that only the same directory is a
    /// cycle, not one that contains another.
    fn enter_checkout(&self, checkout: Checkout, at: Span) -> Result<Self> {
        let directory = self.reader.directory_of(&checkout).map_err(|d| d.at(at))?;
        if self.way_here().any(|visited| **visited == *directory.path()) {
            let message = format!("{} leads back to what is being built", checkout.spec.shown());
            return Err(Diagnostic::error(Code::Cycle, message)
                .at(at)
                .help("a kustomization cannot contain itself"));
        }
        let (reader, visited) = (self.reader.clone(), Some(self.way_on()));
        Ok(Self { reader, directory, visited, checkout: Some(Arc::new(checkout)) })
    }

    /// This root and those that led here, the outermost last.
    fn way_here(&self) -> impl Iterator<Item = &Arc<Path>> {
        std::iter::once(self.directory.shared_path())
            .chain(self.visited.iter().flat_map(RootTrail::backwards))
    }

    /// The way to what is entered from here.
    fn way_on(&self) -> RootTrail {
        RootTrail::over(self.directory.shared_path(), self.visited.as_ref())
    }

    fn enter_directory(&self, path: &str, real: PathBuf, at: Span) -> Result<Self> {
        if Path::new(path).is_absolute() {
            return Err(Diagnostic::error(Code::OutsideRoot, format!("`{path}` is an absolute path"))
                .at(at)
                .help("write the directory relative to this kustomization"));
        }
        if let Some(part) = ambiguous_part(path) {
            return Err(Diagnostic::error(
                Code::InvalidValue,
                format!("the path `{path}` is ambiguous: `{part}`"),
            )
            .at(at)
            .help("check the indentation: two list entries may have become one"));
        }
        self.check_cycle(path, &real, at)?;
        // Nobody writes into what was fetched: a journal there is a file that somebody committed.
        if self.checkout.is_none() {
            self.directory.check_finished(&real).map_err(|problem| problem.at(at))?;
        }
        let (reader, visited) = (self.reader.clone(), Some(self.way_on()));
        Ok(Self { reader, directory: self.directory.part_at(real), visited, checkout: self.checkout.clone() })
    }

    /// A directory that nothing names but where it is, as a root of its own in the same repository; none when
    /// there is no such directory there.
    ///
    /// # Errors
    /// A link leads out of the repository.
    pub fn neighbour(&self, path: &Path) -> Result<Option<Self>> {
        if self.checkout.as_ref().is_some_and(|checkout| !path.starts_with(&checkout.clone_dir)) {
            return Ok(None);
        }
        let found = match self.directory.locate(path) {
            Ok(found) if found.is_directory() => found,
            Err(error) if leads_out(&error) => return Err(self.leaves(&self.reader.shown(path))),
            _ => return Ok(None),
        };
        let directory = self.directory.at(found.into_path());
        Ok(Some(Self { directory, visited: None, ..self.clone() }))
    }

    /// What a path leads to; an error says where the path stands.
    fn locate(&self, path: &str, at: Span) -> Result<Located> {
        if path.is_empty() {
            return Err(Diagnostic::error(Code::InvalidValue, "this path is empty").at(at));
        }
        self.directory.locate(path).map_err(|error| {
            if leads_out(&error) {
                return self.leaves(Path::new(path)).at(at);
            }
            let shown = self.reader.shown(&clean(&self.path().join(path)));
            if is_text(path) {
                let message = "this is a text, and the path of a file is needed here";
                return Diagnostic::error(Code::InvalidValue, message).at(at);
            }
            let error = unreadable(format_args!("`{path}`"), &error).at(at);
            match self.nearest_path(path) {
                Some(meant) => {
                    // The scalar may say more than the path.
                    let written = self.reader.sources().written(at);
                    let style = written.and_then(|written| style_of_written(&written, path));
                    let error = error.help(format!("did you mean `{meant}`? looked for {}", shown.display()));
                    match style {
                        Some(style) => error.fix(at, in_place_of(style, &meant)),
                        None => error,
                    }
                }
                None => error.help(format!("looked for {}", shown.display())),
            }
        })
    }

    /// The path that was probably meant: the same with the first part that is not there replaced by a name beside it.
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
        // What a part more is wrong with is no suggestion.
        self.directory.locate(&meant).is_ok().then_some(meant)
    }

    /// The name in a directory that is most like another, but for hidden ones. Each directory is read once.
    fn nearest_name(&self, directory: &Directory, name: &str) -> Option<SmolStr> {
        let mut listed = self.reader.listed.lock().unwrap_or_else(PoisonError::into_inner);
        let names = listed.entry(directory.path().to_path_buf()).or_insert_with(|| {
            let entries = directory.list().unwrap_or_default();
            let names = entries.iter().filter_map(|entry| entry.name.to_str());
            names.map(SmolStr::from).collect::<Vec<_>>().iter().collect()
        });
        names.nearest(name).filter(|name| !name.starts_with('.'))
    }

    /// Reads a text file that the kustomization names.
    ///
    /// # Errors
    /// It cannot be read, is outside the root, or is no text.
    pub fn text(&self, path: &str, at: Span) -> Result<SourceId> {
        if is_remote_file(path) {
            let bytes = self.reader.remotes.file(path, at)?;
            return Ok(self.reader.sources.add(path, yaml::decode(bytes).map_err(|d| d.at(at))?));
        }
        let real = self.file(path, at)?;
        self.text_at(&real).map_err(|d| d.at(at))
    }

    /// Reads a file, which was found to be one that may be read, into the sources.
    ///
    /// # Errors
    /// It cannot be read, or is no text.
    pub fn text_at(&self, path: &Path) -> Result<SourceId> {
        let shown = self.reader.shown(path);
        let bytes = self.bytes_at(path).map_err(|failure| match failure {
            ReadFailure::Outside(real) => self.outside(&shown, &real),
            ReadFailure::Io(error) => unreadable(shown.display(), &error),
        })?;
        let named =
            |d: Diagnostic| Diagnostic::error(d.code(), format!("{}: {}", shown.display(), d.message()));
        let text = yaml::decode(bytes).map_err(named)?;
        Ok(self.reader.sources.add(shown, text))
    }

    /// The content of a file that may be read. All that a build reads comes this way.
    ///
    /// What is looked at is the file that was opened: where its path led before, and where it leads now, may be
    /// something else.
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

    /// Whether a file that the kustomization names may be read; one from elsewhere is not fetched for that.
    ///
    /// # Errors
    /// It is not there, outside the root, or a directory.
    pub fn check_file(&self, path: &str, at: Span) -> Result<()> {
        if is_remote_file(path) { Ok(()) } else { self.file(path, at).map(drop) }
    }

    /// The real path of a file that the kustomization names.
    ///
    /// # Errors
    /// It is not there, outside the root, or a directory.
    fn file(&self, path: &str, at: Span) -> Result<PathBuf> {
        let found = self.locate(path, at)?;
        if found.is_directory() {
            return Err(Diagnostic::error(
                Code::Io,
                format!("`{path}` is a directory; a file is needed here"),
            )
            .at(at));
        }
        self.check(path, &found).map_err(|d| d.at(at))?;
        Ok(found.into_path())
    }

    /// The kustomization file of this root, or none.
    ///
    /// # Errors
    /// There are several, or what has such a name may not be read. As in kustomize, a directory is passed over where
    /// there is a file beside it.
    pub fn kustomization_file(&self) -> Result<Option<PathBuf>> {
        let shown = |name: &str| self.reader.shown(&self.path().join(name));
        let mut found: Vec<&str> = Vec::new();
        let mut directory = None;
        for name in KUSTOMIZATION_FILES {
            match self.directory.locate(name) {
                Ok(there) if there.is_directory() => directory = Some(name),
                Ok(there) => {
                    self.check(&shown(name).to_string_lossy(), &there)?;
                    found.push(name);
                }
                Err(error) if leads_out(&error) => return Err(self.leaves(&shown(name))),
                Err(_) => {}
            }
        }
        match (found.as_slice(), directory) {
            ([], Some(name)) => {
                let message = format!("{} is a directory, and no kustomization file", shown(name).display());
                Err(Diagnostic::error(Code::Io, message).help("put the file there, or rename the directory"))
            }
            ([], None) => self.no_lost_kustomization().map(|()| None),
            ([name], _) => Ok(Some(self.path().join(name))),
            ([first, second, ..], _) => {
                let names = [first, second].map(|name| shown(name).display().to_string()).join(" and ");
                let message = format!("there are several kustomization files: {names}");
                Err(Diagnostic::error(Code::Ambiguous, message).help("keep one of them"))
            }
        }
    }

    /// Looks whether there is a link with the name of a kustomization that cannot be followed: without it the
    /// directory would be another one.
    fn no_lost_kustomization(&self) -> Result<()> {
        // What cannot be listed has no kustomization, and whoever walks over it says so.
        let entries = self.directory.list().unwrap_or_default();
        let is_lost = |entry: &&DirectoryEntry| {
            entry.kind == FileKind::Link && KUSTOMIZATION_FILES.iter().any(|name| entry.name == *name)
        };
        let Some(lost) = entries.iter().find(is_lost) else { return Ok(()) };
        match self.directory.locate(&lost.name) {
            Ok(_) => Ok(()),
            Err(error) => {
                let path = self.reader.shown(&self.path().join(&lost.name));
                let message =
                    format!("{} is a link that cannot be followed: {}", path.display(), io_reason(&error));
                Err(Diagnostic::error(Code::Io, message).help("correct the link, or remove it"))
            }
        }
    }

    /// Whether files may be added below it: trees of repositories are shared.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.checkout.is_none()
    }

    /// The repository that it is in, for an outline.
    pub(super) fn outline_checkout(&self) -> Option<OutlineCheckout> {
        let checkout = self.checkout()?;
        let directory = self.reader.shown(&checkout.clone_dir);
        Some(OutlineCheckout { directory, url: checkout.spec.shown(), commit: checkout.commit.clone() })
    }

    /// The repository that it is in, when it was fetched.
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
            ReadFailure::Outside(real) => self.outside(Path::new(path), &real).at(at),
            ReadFailure::Io(error) => unreadable(format_args!("`{path}`"), &error).at(at),
        })
    }

    fn name(&self, path: &str) -> PathBuf {
        if is_remote_file(path) { path.into() } else { self.reader.shown(&clean(&self.path().join(path))) }
    }
}

/// Why a file that a path led to was not read.
enum ReadFailure {
    /// What was opened is outside of the root: its real path.
    Outside(PathBuf),
    Io(std::io::Error),
}

/// Whether what stands for a path is a manifest or a patch itself, which no message repeats: it may hold secrets.
fn is_text(path: &str) -> bool {
    path.contains('\n') || path.contains(": ") || path.trim_start().starts_with(['{', '['])
}

/// A part of a path that has `..` in it and is more than that: two list entries run together.
fn ambiguous_part(path: &str) -> Option<&str> {
    path.split('/').find(|part| *part != ".." && part.contains(".."))
}
