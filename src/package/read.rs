//! Reading packages: the manifests of a directory, of a file, or of a text.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use walkdir::WalkDir;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::schema::openapi::{is_crd, read_crd};
use crate::schema::{Gvk, Schema};
use crate::source::{Reading, SourceId, SourceMap};
use crate::yaml::{Node, ParseOptions, decode, parse_documents};

use super::unit::units;

/// The manifests of a directory and all below it, or of one file.
#[derive(Debug, Clone)]
pub struct Package {
    /// The directory, or the file.
    root: PathBuf,
    is_directory: bool,
    files: Vec<PackageFile>,
}

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
}

impl Package {
    /// Reads a file, or all `*.yaml`, `*.yml` and `*.json` files of a directory and the directories in
    /// it, sorted by path. Hidden directories are left out, and links to directories not followed.
    ///
    /// # Errors
    /// It is not there, or a file cannot be read or is malformed.
    pub fn read(path: &Path, reading: Reading, sources: &SourceMap) -> Result<Self> {
        if !path.is_dir() {
            let name = path.file_name().map_or_else(PathBuf::new, PathBuf::from);
            let file = PackageFile::read(name, path.to_path_buf(), reading, sources)?;
            return Ok(Self { root: path.to_path_buf(), is_directory: false, files: vec![file] });
        }
        let paths = manifests(path)?;
        let read = |(relative, path): (PathBuf, PathBuf)| PackageFile::read(relative, path, reading, sources);
        let files = paths.into_par_iter().map(read).collect::<Result<_>>()?;
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

    /// The manifests, those in lists too.
    pub fn manifests(&self) -> impl Iterator<Item = &Node> {
        units(self).into_iter().map(|unit| unit.node)
    }

    /// The kinds of the manifests that have one.
    pub fn kinds(&self) -> impl Iterator<Item = Gvk> {
        self.manifests().map(gvk_of).filter(|gvk| !gvk.kind.is_empty())
    }

    /// Adds the types of the custom resources that its CRDs define to a schema.
    ///
    /// # Errors
    /// A CRD that makes no sense.
    pub fn add_types(&self, schema: &mut Schema) -> Result<()> {
        for crd in self.manifests().filter(|node| is_crd(node)) {
            schema.push_types("crd", Arc::new(read_crd(crd)?.compile()?));
        }
        Ok(())
    }
}

/// Group, version and kind of a manifest, empty where it says nothing.
pub(super) fn gvk_of(node: &Node) -> Gvk {
    let text = |key| node.get(key).and_then(Node::scalar_text).map_or("", |text| text.as_str());
    Gvk::from_manifest(text("apiVersion"), text("kind"))
}

impl PackageFile {
    fn read(relative: PathBuf, path: PathBuf, reading: Reading, sources: &SourceMap) -> Result<Self> {
        let named = |error: Diagnostic| {
            Diagnostic::error(error.code(), format!("{}: {}", path.display(), error.message()))
        };
        let bytes = fs::read(&path).map_err(|error| {
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
        Ok(Self { relative, path, text, reading, documents })
    }
}

/// The paths of the manifests in a directory, in it and as the user would write them.
fn manifests(directory: &Path) -> Result<Vec<(PathBuf, PathBuf)>> {
    let hidden = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with('.');
    let walk = WalkDir::new(directory).sort_by_file_name().into_iter();
    let mut paths = Vec::new();
    for entry in walk.filter_entry(|e| e.depth() == 0 || !hidden(e.file_name())) {
        let entry = entry.map_err(|error| Diagnostic::error(Code::Io, error.to_string()))?;
        let extension = entry.path().extension().and_then(|e| e.to_str());
        if matches!(extension, Some("yaml" | "yml" | "json")) && entry.path().is_file() {
            let relative = entry.path().strip_prefix(directory).unwrap_or(entry.path());
            paths.push((relative.to_path_buf(), entry.path().to_path_buf()));
        }
    }
    Ok(paths)
}
