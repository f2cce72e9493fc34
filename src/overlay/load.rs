//! All file reading: directories that a build may read from, and the texts in them.
//!
//! A [`Root`] is one directory with a kustomization. Files are read only from in and below it,
//! symbolic links followed, unless the load restriction is lifted; other directories are entered
//! as roots of their own.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::remote::{Checkout, Found, Remotes, is_remote_file};
use super::repo_spec::RepoSpec;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::source::{SourceId, SourceMap, Span};
use crate::transform::Files;
use crate::yaml;

/// Names of kustomization files.
pub const KUSTOMIZATION_FILES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// What all reading of one run shares.
#[derive(Debug, Clone)]
pub struct Reader {
    sources: SourceMap,
    /// Whether files must be in or below the root that names them.
    restricted: bool,
    working_directory: Arc<Path>,
    remotes: Arc<Remotes>,
}

impl Reader {
    /// A reader that adds texts to `sources`.
    ///
    /// # Errors
    /// The working directory cannot be found.
    pub fn new(sources: SourceMap, restricted: bool, remotes: Remotes) -> Result<Self> {
        let here = std::env::current_dir().and_then(|d| d.canonicalize());
        let working_directory = here.map_err(|error| {
            Diagnostic::error(Code::Io, format!("the working directory cannot be read: {}", plain(&error)))
        })?;
        Ok(Self {
            sources,
            restricted,
            working_directory: working_directory.into(),
            remotes: Arc::new(remotes),
        })
    }

    /// The texts read so far.
    #[must_use]
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// A path as the user would write it: relative when it is below the working directory.
    #[must_use]
    pub fn shown(&self, path: &Path) -> PathBuf {
        if let Ok(below) = path.strip_prefix(&self.working_directory) {
            return if below.as_os_str().is_empty() { PathBuf::from(".") } else { below.to_path_buf() };
        }
        path.to_path_buf()
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
            let root = checkout.root()?;
            return Ok(Root {
                reader: self.clone(),
                path: root.into(),
                visited: Vec::new(),
                checkout: Some(checkout),
            });
        }
        let root = path.canonicalize().map_err(|error| {
            Diagnostic::error(Code::Io, format!("{}: {}", path.display(), plain(&error)))
                .help("name a directory that has a kustomization file or manifests")
        })?;
        if !root.is_dir() {
            return Err(Diagnostic::error(
                Code::Io,
                format!("{} is a file, not a directory", path.display()),
            )
            .help("name the directory that the file is in"));
        }
        Ok(Root { reader: self.clone(), path: root.into(), visited: Vec::new(), checkout: None })
    }

    /// Reads a file into the sources.
    ///
    /// # Errors
    /// It cannot be read, or is no text.
    pub fn text(&self, path: &Path) -> Result<SourceId> {
        let shown = self.shown(path);
        let named =
            |d: Diagnostic| Diagnostic::error(d.code(), format!("{}: {}", shown.display(), d.message()));
        let bytes = fs::read(path).map_err(|e| named(Diagnostic::error(Code::Io, plain(&e))))?;
        let text = yaml::decode(bytes).map_err(named)?;
        Ok(self.sources.add(shown.clone(), text))
    }
}

/// A directory that files are read from.
#[derive(Debug, Clone)]
pub struct Root {
    reader: Reader,
    /// The real path, without symbolic links.
    path: Arc<Path>,
    /// The roots that led here, the outermost first.
    visited: Vec<Arc<Path>>,
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
        &self.path
    }

    /// The path as the user would write it.
    #[must_use]
    pub fn shown(&self) -> PathBuf {
        self.reader.shown(&self.path)
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
            && !self.path.join(path).is_file()
        {
            let checkout = self.reader.remotes.repository(&spec, at)?;
            return self.enter_checkout(checkout, at).map(Target::Directory);
        }
        let (real, is_directory) = self.real(path, at)?;
        if is_directory {
            return self.enter_real(path, real, at).map(Target::Directory);
        }
        self.check_inside(path, &real, at)?;
        Ok(Target::File(real))
    }

    /// Enters a directory or repository that the kustomization names.
    ///
    /// # Errors
    /// As [`Root::find`], and when it is a file.
    pub fn enter(&self, path: &str, at: Span) -> Result<Self> {
        if let Ok(spec) = RepoSpec::parse(path) {
            let checkout = self.reader.remotes.repository(&spec, at)?;
            return self.enter_checkout(checkout, at);
        }
        let (real, is_directory) = self.real(path, at)?;
        if !is_directory {
            return Err(Diagnostic::error(
                Code::Io,
                format!("`{path}` is a file; a directory is needed here"),
            )
            .at(at)
            .help("name the directory that has the kustomization file"));
        }
        self.enter_real(path, real, at)
    }

    /// Enters a repository. Trees of repositories are shared, so that only the same directory is a
    /// cycle, not one that contains another.
    fn enter_checkout(&self, checkout: Checkout, at: Span) -> Result<Self> {
        let real = checkout.root().map_err(|d| d.at(at))?;
        if self.visited.iter().chain([&self.path]).any(|visited| **visited == *real) {
            let message = format!("{} leads back to what is being built", checkout.spec.raw());
            return Err(Diagnostic::error(Code::Cycle, message)
                .at(at)
                .help("a kustomization cannot contain itself"));
        }
        let mut visited = self.visited.clone();
        visited.push(self.path.clone());
        Ok(Self {
            reader: self.reader.clone(),
            path: real.into(),
            visited,
            checkout: Some(Arc::new(checkout)),
        })
    }

    fn enter_real(&self, path: &str, real: PathBuf, at: Span) -> Result<Self> {
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
        if let Some(checkout) = self.checkout.as_ref().filter(|c| !real.starts_with(&c.clone_dir)) {
            let message = format!("`{path}` leads out of the repository {}", checkout.spec.raw());
            return Err(Diagnostic::error(Code::OutsideRoot, message)
                .at(at)
                .help("what is fetched may only use directories of its own repository"));
        }
        // A root that is or contains one that led here would be read for ever.
        if let Some(visited) = self.visited.iter().chain([&self.path]).find(|v| v.starts_with(&real)) {
            let chain: Vec<_> = self.visited.iter().chain([&self.path]).collect();
            let names = chain.iter().map(|p| self.reader.shown(p).display().to_string()).collect::<Vec<_>>();
            let message = if **visited == *real {
                format!("`{path}` leads back to {}, which is being built", self.reader.shown(&real).display())
            } else {
                format!(
                    "`{path}` leads to {}, which contains {}, which is being built",
                    self.reader.shown(&real).display(),
                    self.reader.shown(visited).display()
                )
            };
            return Err(Diagnostic::error(Code::Cycle, message)
                .at(at)
                .note(format!("the way here: {}", names.join(" -> ")))
                .help(
                    "a kustomization cannot contain itself; move what both need to a directory of its own",
                ));
        }
        let mut visited = self.visited.clone();
        visited.push(self.path.clone());
        Ok(Self { reader: self.reader.clone(), path: real.into(), visited, checkout: self.checkout.clone() })
    }

    /// As [`Self::canonicalize`], with an error that says where the path stands.
    fn real(&self, path: &str, at: Span) -> Result<(PathBuf, bool)> {
        if path.is_empty() {
            return Err(Diagnostic::error(Code::InvalidValue, "this path is empty").at(at));
        }
        self.canonicalize(path).map_err(|error| {
            let shown = self.reader.shown(&clean(&self.path.join(path)));
            let message = format!("`{path}` cannot be read: {}", plain(&error));
            Diagnostic::error(Code::Io, message).at(at).help(format!("looked for {}", shown.display()))
        })
    }

    /// The real path of one that is relative to this root, and whether it is a directory. The root's own path
    /// has no links, so that only what comes behind it needs a look; where there is a link, the file system is
    /// asked for the whole.
    fn canonicalize(&self, path: &str) -> std::io::Result<(PathBuf, bool)> {
        self.without_links(path).unwrap_or_else(|| {
            let real = self.path.join(path).canonicalize()?;
            let is_directory = real.is_dir();
            Ok((real, is_directory))
        })
    }

    /// None for paths with links, with `..` behind a name, and all that is no plain relative path.
    fn without_links(&self, path: &str) -> Option<std::io::Result<(PathBuf, bool)>> {
        if path.starts_with('/') || path.contains(['\\', ':']) {
            return None;
        }
        let mut real = self.path.to_path_buf();
        let (mut is_above, mut is_directory) = (true, true);
        for part in path.split('/') {
            match part {
                _ if !is_directory => return None,
                "" | "." => {}
                ".." if is_above => drop(real.pop()),
                ".." => return None,
                name => {
                    real.push(name);
                    match real.symlink_metadata() {
                        Ok(metadata) if metadata.is_symlink() => return None,
                        Ok(metadata) => (is_above, is_directory) = (false, metadata.is_dir()),
                        Err(error) => return Some(Err(error)),
                    }
                }
            }
        }
        Some(Ok((real, is_directory)))
    }

    fn check_inside(&self, path: &str, real: &Path, at: Span) -> Result<()> {
        if self.may_read(real) {
            return Ok(());
        }
        let (real, root) = (self.reader.shown(real), self.shown());
        Err(Diagnostic::error(Code::OutsideRoot, format!("`{path}` leads outside of {}", root.display()))
            .at(at)
            .note(format!("it is {}", real.display()))
            .help("move the file, or allow it with --load-restrictor=LoadRestrictionsNone"))
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
        self.reader.text(&real).map_err(|d| d.at(at))
    }

    /// The real path of a file that the kustomization names.
    ///
    /// # Errors
    /// It is not there, outside the root, or a directory.
    fn file(&self, path: &str, at: Span) -> Result<PathBuf> {
        let (real, is_directory) = self.real(path, at)?;
        if is_directory {
            return Err(Diagnostic::error(
                Code::Io,
                format!("`{path}` is a directory; a file is needed here"),
            )
            .at(at));
        }
        self.check_inside(path, &real, at)?;
        Ok(real)
    }

    /// The kustomization file of this root, or none.
    ///
    /// # Errors
    /// There are several.
    pub fn kustomization_file(&self) -> Result<Option<PathBuf>> {
        let found: Vec<PathBuf> = KUSTOMIZATION_FILES
            .iter()
            .filter(|name| {
                self.canonicalize(name).is_ok_and(|(real, _)| real.is_file() && self.may_read(&real))
            })
            .map(|name| self.path.join(name))
            .collect();
        if let [first, second, ..] = found.as_slice() {
            let names = [first, second].map(|p| self.reader.shown(p).display().to_string()).join(" and ");
            return Err(Diagnostic::error(
                Code::Ambiguous,
                format!("there are several kustomization files: {names}"),
            )
            .help("keep one of them"));
        }
        Ok(found.into_iter().next())
    }

    /// The restriction is never lifted for what was fetched.
    fn may_read(&self, real: &Path) -> bool {
        (!self.reader.restricted && self.checkout.is_none()) || real.starts_with(&self.path)
    }

    /// Whether files may be added below it: trees of repositories are shared.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.checkout.is_none()
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
        fs::read(&real).map_err(|error| {
            Diagnostic::error(Code::Io, format!("`{path}` cannot be read: {}", plain(&error))).at(at)
        })
    }
}

/// The first line of an operating system's message, without its number.
fn plain(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "no such file or directory".into(),
        std::io::ErrorKind::PermissionDenied => "permission denied".into(),
        _ => error.to_string(),
    }
}

/// A part of a path that has `..` in it and is more than that: two list entries run together.
fn ambiguous_part(path: &str) -> Option<&str> {
    path.split('/').find(|part| *part != ".." && part.contains(".."))
}

/// Takes `.` and `..` out of a path without looking at the file system.
pub(super) fn clean(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn paths_are_resolved_as_the_file_system_does() {
        let directory = tempfile::tempdir().expect("a directory");
        let home = directory.path().canonicalize().expect("its real path");
        for folder in ["root/sub", "other"] {
            fs::create_dir_all(home.join(folder)).expect("made");
        }
        for file in ["root/a.yaml", "root/sub/b.yaml", "other/c.yaml", "root/with:colon"] {
            fs::write(home.join(file), "a: 1\n").expect("written");
        }
        let links = [("link.yaml", "a.yaml"), ("folder", "../other"), ("sub/up", ".."), ("lost", "nowhere")];
        for (name, target) in links {
            symlink(target, home.join("root").join(name)).expect("linked");
        }
        let reader =
            Reader::new(SourceMap::default(), true, Remotes::new(home.join("cache"), true)).expect("made");
        let root = reader.open(&home.join("root")).expect("a directory");
        let absolute = home.join("other/c.yaml").display().to_string();
        let table = [
            "a.yaml",
            "./a.yaml",
            "a.yaml/",
            "a.yaml/.",
            "a.yaml/..",
            "a.yaml/b",
            "sub",
            "sub/",
            "sub/b.yaml",
            "sub//b.yaml",
            "sub/../a.yaml",
            "..",
            "../",
            "../root",
            "../root/a.yaml",
            "../other/./c.yaml",
            "../../..",
            "link.yaml",
            "folder",
            "folder/c.yaml",
            "folder/../root/a.yaml",
            "sub/up",
            "sub/up/a.yaml",
            "lost",
            "missing",
            "missing/..",
            "../missing/a.yaml",
            "with:colon",
            "with\\backslash",
            ".",
            &absolute,
        ];
        let (mut quick, mut found) = (0, 0);
        for path in table {
            let want = root.path.join(path).canonicalize();
            let got = root.canonicalize(path).map(|(real, is_directory)| {
                assert_eq!(is_directory, real.is_dir(), "{path}");
                real
            });
            assert_eq!(got.as_ref().ok(), want.as_ref().ok(), "{path}");
            assert_eq!(got.map_err(|e| e.kind()).err(), want.map_err(|e| e.kind()).err(), "{path}");
            quick += usize::from(root.without_links(path).is_some());
            found += 1;
        }
        assert!(quick >= 12 && quick < found, "both ways are taken: {quick} of {found}");
    }
}
