//! Reading packages: the manifests of a directory, of a file, or of a text.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::files::{
    DiskTree, FileKind, FileStamp, FileTree, Hidden, LinkPolicy, NO_FILE, OpenFile, TreeWalk, WalkOptions,
    Walked, check_finished,
};
use crate::source::{Reading, SourceId, SourceMap};
use crate::yaml::{Node, ParseOptions, decode, parse_documents};

/// The manifests of a directory and all below it, or of one file.
#[derive(Debug, Clone)]
pub struct Package {
    /// The directory, or the file.
    root: PathBuf,
    is_directory: bool,
    files: Vec<PackageFile>,
}

/// How a file of a tree is opened.
type Open = fn(&dyn FileTree, &Path) -> io::Result<OpenFile>;

/// One file of a package.
#[derive(Debug, Clone)]
pub struct PackageFile {
    /// Its path in the package; of a package that is a file, its name.
    pub relative: PathBuf,
    /// Where it is, as the user would write it.
    pub path: PathBuf,
    /// Its text.
    pub text: Arc<str>,
    /// As whose text it was read.
    pub reading: Reading,
    /// The documents in it, with comments; empty ones as null.
    pub documents: Vec<Node>,
    /// The file as it was before it was read; none of what was never on a disk.
    pub stamp: Option<FileStamp>,
}

impl Package {
    /// Reads a file, or all `*.yaml`, `*.yml` and `*.json` files of a directory and the directories in
    /// it, sorted by path. Hidden directories are left out, and links to directories not followed.
    ///
    /// # Errors
    /// It is not there, or a file cannot be read or is malformed.
    pub fn read(path: &Path, reading: Reading, sources: &SourceMap) -> Result<Self> {
        Self::read_from(&DiskTree, path, reading, sources)
    }

    /// As [`Package::read`], from any tree of files.
    ///
    /// # Errors
    /// As [`Package::read`].
    pub fn read_from(
        tree: &dyn FileTree,
        path: &Path,
        reading: Reading,
        sources: &SourceMap,
    ) -> Result<Self> {
        let read = |relative, path: PathBuf, open: Open| {
            let opened = open(tree, &path);
            let stamp = opened.as_ref().ok().and_then(OpenFile::stamp);
            let bytes = opened.and_then(OpenFile::read);
            let file = PackageFile::of_bytes(relative, path, bytes, reading, sources)?;
            Ok(PackageFile { stamp, ..file })
        };
        if !tree.is_directory(path) {
            check_finished(tree, path.parent().unwrap_or(Path::new("")))?;
            let name = path.file_name().map_or_else(PathBuf::new, PathBuf::from);
            // The user may have named a pipe.
            let file = read(name, path.to_path_buf(), |tree, path| tree.open_stream(path))?;
            return Ok(Self { root: path.to_path_buf(), is_directory: false, files: vec![file] });
        }
        check_finished(tree, path)?;
        let names = manifests(tree, path)?;
        let files = names.into_par_iter().map(|name| {
            let path = path.join(&name);
            read(name, path, |tree, path| tree.open(path))
        });
        let files = files.collect::<Result<_>>()?;
        Ok(Self { root: path.to_path_buf(), is_directory: true, files })
    }

    /// The package of a text that came from elsewhere, such as the standard input.
    ///
    /// # Errors
    /// The text is malformed.
    pub fn of_text(name: &str, text: String, reading: Reading, sources: &SourceMap) -> Result<Self> {
        let source = sources.add(name, text);
        let file = PackageFile::parse(name.into(), name.into(), source, reading, sources)?;
        Ok(Self { root: PathBuf::from(name), is_directory: false, files: vec![file] })
    }

    /// Whether it is a directory.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        self.is_directory
    }

    /// The files, sorted by path.
    #[must_use]
    pub fn files(&self) -> &[PackageFile] {
        &self.files
    }

    /// Where a file with a path in the package belongs. All belongs into a package that is a file.
    #[must_use]
    pub fn place_of(&self, relative: &Path) -> PathBuf {
        if self.is_directory { self.root.join(relative) } else { self.root.clone() }
    }
}

impl PackageFile {
    fn of_bytes(
        relative: PathBuf,
        path: PathBuf,
        bytes: io::Result<Vec<u8>>,
        reading: Reading,
        sources: &SourceMap,
    ) -> Result<Self> {
        let named = |error: Diagnostic| {
            Diagnostic::error(error.code(), format!("{}: {}", path.display(), error.message()))
        };
        let bytes = bytes.map_err(|error| {
            Diagnostic::error(Code::Io, format!("{} cannot be read: {error}", path.display()))
        })?;
        let source = sources.add(path.clone(), decode(bytes).map_err(named)?);
        Self::parse(relative, path, source, reading, sources)
    }

    fn parse(
        relative: PathBuf,
        path: PathBuf,
        source: SourceId,
        reading: Reading,
        sources: &SourceMap,
    ) -> Result<Self> {
        let options = ParseOptions { comments: true, reading, ..ParseOptions::default() };
        let documents = parse_documents(sources, source, options)?;
        let text = sources.get(source).map_or_else(|| Arc::from(""), |source| source.text().clone());
        Ok(Self { relative, path, text, reading, documents, stamp: None })
    }
}

/// The paths of the manifests in a directory, below it.
fn manifests(tree: &dyn FileTree, directory: &Path) -> Result<Vec<PathBuf>> {
    let options = WalkOptions { links: LinkPolicy::Keep, hidden: Hidden::Skip, max_depth: usize::MAX };
    let mut paths = Vec::new();
    for walked in TreeWalk::new(tree, directory, options) {
        let Walked { path, kind, .. } = walked.map_err(|e| Diagnostic::error(Code::Io, e.to_string()))?;
        let extension = path.extension().and_then(|e| e.to_str());
        if !matches!(extension, Some("yaml" | "yml" | "json")) {
            continue;
        }
        let followed = || tree.kind(&directory.join(&path)).unwrap_or(kind);
        match if kind == FileKind::Link { followed() } else { kind } {
            FileKind::File => paths.push(path),
            FileKind::Other => {
                let message = format!("{} is {NO_FILE}", directory.join(path).display());
                return Err(Diagnostic::error(Code::Io, message).help("take it out of the directory"));
            }
            FileKind::Directory | FileKind::Link => {}
        }
    }
    Ok(paths)
}
