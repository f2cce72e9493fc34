//! Reads packages from a directory, a file or a text.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use smp_files::{
    DiskTree, FileKind, FileStamp, FileTree, Hidden, JOURNAL, LinkPolicy, OpenFile, SPECIAL_FILE, TreeWalk,
    WalkEntry, WalkOptions, check_no_pending_write,
};
use smp_merge::schema::openapi::{is_crd, read_added_kinds};
use smp_merge::schema::{Schema, TypeGraph};
use smp_text::diagnostic::{Code, Diagnostic, Result, read_error};
use smp_text::source::{Reading, SourceId, SourceMap};
use smp_text::yaml::{Node, ParseOptions, decode, parse_documents};

/// The files of a directory and its subdirectories, or a single file.
///
/// ```
/// use smp_merge::merge::MergeOptions;
/// use smp_overlay::package::{Package, merge3_packages};
/// use smp_merge::schema::Schema;
/// use smp_text::source::{Reading, SourceMap};
///
/// let sources = SourceMap::default();
/// let read = |text: &str| Package::from_text("web.yaml", text.into(), Reading::Kubectl, &sources);
/// let web = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  a: '1'\n  b: '1'\n";
/// let original = read(web)?;
/// let updated = read(&web.replace("a: '1'", "a: '2'"))?;
/// let dest = read(&web.replace("b: '1'", "b: '5' # ours"))?;
/// let merged = merge3_packages(&original, &updated, &dest, &Schema::embedded(), &MergeOptions::default())?;
/// assert!(merged.stream().ends_with("data:\n  a: '2'\n  b: '5' # ours\n"));
/// assert!(merged.conflicts.is_empty());
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
#[derive(Debug, Clone)]
pub struct Package {
    /// Path of the directory or file.
    root: PathBuf,
    is_directory: bool,
    files: Vec<PackageFile>,
    others: Vec<OtherFile>,
    skipped: Vec<PathBuf>,
    /// Sources that hold the text of the files.
    sources: SourceMap,
}

/// A file of a package that could be parsed as YAML.
#[derive(Debug, Clone)]
pub struct PackageFile {
    /// Path relative to the package; the file name if the package is a single file.
    pub relative: PathBuf,
    /// Path of the file, as the user would write it.
    pub path: PathBuf,
    /// Text of the file.
    pub text: Arc<str>,
    /// The rules by which the text was parsed.
    pub reading: Reading,
    /// Documents with comments; empty documents are null.
    pub documents: Vec<Node>,
    /// Executable bit of the file.
    pub executable: bool,
    /// Stamp of the file when it was read; `None` if it was never on disk.
    pub stamp: Option<FileStamp>,
    pub(super) source: SourceId,
    definitions: Definitions,
}

/// A file of a package that is not YAML or cannot be parsed.
#[derive(Debug, Clone)]
pub struct OtherFile {
    /// Path relative to the package.
    pub relative: PathBuf,
    /// Path of the file, as the user would write it.
    pub path: PathBuf,
    /// Content of the file.
    pub content: Arc<[u8]>,
    /// Executable bit of the file.
    pub executable: bool,
    /// Stamp of the file when it was read; `None` if it was never on disk.
    pub stamp: Option<FileStamp>,
    /// Parse error of a file that has the extension of a manifest.
    pub problem: Option<Diagnostic>,
    pub(super) source: SourceId,
}

/// Types defined by the CustomResourceDefinitions of a file.
#[derive(Debug, Clone, Default)]
struct Definitions {
    types: Vec<Arc<TypeGraph>>,
    /// Reason why a CRD defines no types; for example a patch of a CRD.
    problem: Option<Diagnostic>,
}

/// Which files of a directory are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadScope {
    /// `*.yaml`, `*.yml` and `*.json` outside of hidden directories.
    Manifests,
    /// All files except those in `.git`.
    Everything,
}

/// A file after reading.
enum ReadFile {
    Yaml(PackageFile),
    Other(OtherFile),
}

impl Package {
    /// Reads a file, or all `*.yaml`, `*.yml` and `*.json` files of a directory and its subdirectories, sorted by
    /// path. Hidden directories are skipped, and symlinks to directories are not followed.
    ///
    /// # Errors
    /// The path does not exist, or a file cannot be read or parsed.
    pub fn read(path: &Path, reading: Reading, sources: &SourceMap) -> Result<Self> {
        let reader = PackageReader { tree: &DiskTree, reading, sources };
        reader.package(path, ReadScope::Manifests)
    }

    /// Reads a file, or all files of a directory and its subdirectories, including hidden ones. Symlinks and the
    /// content of `.git` are skipped. Malformed manifests are kept as other files.
    ///
    /// # Errors
    /// The path does not exist, a file cannot be read, or a single file is malformed.
    pub fn read_everything(path: &Path, reading: Reading, sources: &SourceMap) -> Result<Self> {
        let reader = PackageReader { tree: &DiskTree, reading, sources };
        reader.package(path, ReadScope::Everything)
    }

    /// Reads a package like [`Package::read`], from any file tree.
    ///
    /// # Errors
    /// The errors of [`Package::read`].
    pub fn read_from(
        tree: &dyn FileTree,
        path: &Path,
        reading: Reading,
        sources: &SourceMap,
    ) -> Result<Self> {
        PackageReader { tree, reading, sources }.package(path, ReadScope::Manifests)
    }

    /// Creates a package from a text such as standard input.
    ///
    /// # Errors
    /// The text is malformed.
    pub fn from_text(name: &str, text: String, reading: Reading, sources: &SourceMap) -> Result<Self> {
        let source = sources.add(name, text);
        let file = PackageFile::parse(name.into(), name.into(), source, reading, sources)?;
        Ok(Self::from_file(PathBuf::from(name), file, sources))
    }

    /// Creates a package from a version of a file. Its name in messages is `name`. It is parsed like the file at
    /// `path`.
    ///
    /// # Errors
    /// The text is malformed.
    pub fn from_version(
        path: &Path,
        name: &str,
        text: String,
        reading: Reading,
        sources: &SourceMap,
    ) -> Result<Self> {
        let source = sources.add(name, text);
        let file = PackageFile::parse(path.into(), name.into(), source, reading.for_file(path), sources)?;
        Ok(Self::from_file(PathBuf::from(name), file, sources))
    }

    fn from_file(root: PathBuf, file: PackageFile, sources: &SourceMap) -> Self {
        let (others, left_alone, sources) = (Vec::new(), Vec::new(), sources.clone());
        Self { root, is_directory: false, files: vec![file], others, skipped: left_alone, sources }
    }

    /// Returns the sources that hold the text of the files.
    pub(super) fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Returns true if the package is a directory.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        self.is_directory
    }

    /// Returns the files that could be parsed as YAML, sorted by path.
    #[must_use]
    pub fn files(&self) -> &[PackageFile] {
        &self.files
    }

    /// Returns the other files, sorted by path. Empty unless everything was read.
    #[must_use]
    pub fn others(&self) -> &[OtherFile] {
        &self.others
    }

    /// Returns the skipped paths: symlinks and `.git`.
    #[must_use]
    pub fn left_alone(&self) -> &[PathBuf] {
        &self.skipped
    }

    /// Returns the paths of symlinks, relative to the package.
    pub(super) fn links(&self) -> impl Iterator<Item = PathBuf> {
        let links = self.skipped.iter().filter(|path| path.file_name().is_none_or(|name| name != ".git"));
        links.filter_map(|path| Some(path.strip_prefix(&self.root).ok()?.to_path_buf()))
    }

    /// Returns the paths of all files, relative to the package.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        let files = self.files.iter().map(|file| file.relative.as_path());
        files.chain(self.others.iter().map(|file| file.relative.as_path()))
    }

    /// Returns the location of a file by its path relative to the package. In a single-file package that is
    /// always the file itself.
    #[must_use]
    pub fn location_of(&self, relative: &Path) -> PathBuf {
        if self.is_directory { self.root.join(relative) } else { self.root.clone() }
    }

    /// Adds the types of custom resources that the package's CRDs define to a schema. Partial CRDs, such as patches,
    /// define none.
    pub fn add_types(&self, schema: &mut Schema) {
        for types in self.files.iter().flat_map(|file| &file.definitions.types) {
            schema.push_types("crd", types.clone());
        }
    }

    /// Returns the reasons why CRDs of the package define no types.
    pub fn definition_problems(&self) -> impl Iterator<Item = &Diagnostic> {
        self.files.iter().filter_map(PackageFile::definition_problem)
    }
}

impl PackageFile {
    fn parse(
        relative: PathBuf,
        path: PathBuf,
        source: SourceId,
        reading: Reading,
        sources: &SourceMap,
    ) -> Result<Self> {
        let options = ParseOptions { keep_comments: true, reading, ..ParseOptions::default() };
        let documents = parse_documents(sources, source, options)?;
        let text = sources.get(source).map_or_else(|| Arc::from(""), |source| source.text().clone());
        let definitions = Definitions::from_documents(&documents);
        Ok(Self {
            relative,
            path,
            text,
            reading,
            documents,
            executable: false,
            stamp: None,
            source,
            definitions,
        })
    }

    /// Returns the reason why a CRD of the file defines no types.
    pub(super) fn definition_problem(&self) -> Option<&Diagnostic> {
        self.definitions.problem.as_ref()
    }
}

impl Definitions {
    fn from_documents(documents: &[Node]) -> Self {
        let mut definitions = Self::default();
        for crd in documents.iter().flat_map(items_or_self).filter(|node| is_crd(node)) {
            match read_added_kinds(crd).and_then(|model| model.compile()) {
                Ok(types) => definitions.types.push(Arc::new(types)),
                Err(problem) => drop(definitions.problem.get_or_insert(problem)),
            }
        }
        definitions
    }
}

/// Returns the items of a `List`.
pub(super) fn items(node: &Node) -> Option<&Vec<Node>> {
    let is_list = node.get("kind").and_then(Node::as_str) == Some("List");
    let items = node.get("items").filter(|_| is_list)?.as_list()?;
    items.iter().all(|item| item.as_map().is_some_and(|map| !map.is_empty())).then_some(items)
}

fn items_or_self(node: &Node) -> &[Node] {
    items(node).map_or(std::slice::from_ref(node), Vec::as_slice)
}

/// Function that opens a file of a tree.
type Opening = fn(&dyn FileTree, &Path) -> io::Result<OpenFile>;

/// Reads the files of a package from a tree.
struct PackageReader<'r> {
    tree: &'r dyn FileTree,
    reading: Reading,
    sources: &'r SourceMap,
}

impl PackageReader<'_> {
    fn package(&self, path: &Path, scope: ReadScope) -> Result<Package> {
        if !self.tree.is_directory(path) {
            check_no_pending_write(self.tree, path.parent().unwrap_or(Path::new("")))?;
            let name = path.file_name().map_or_else(PathBuf::new, PathBuf::from);
            // The path may be a pipe.
            let file = self.yaml(name, path.to_path_buf(), |tree, path| tree.open_stream(path))?;
            return Ok(Package::from_file(path.to_path_buf(), file, self.sources));
        }
        check_no_pending_write(self.tree, path)?;
        let FoundFiles { names, left_alone } = self.find(path, scope)?;
        let read = |name: PathBuf| {
            let path = path.join(&name);
            match scope {
                ReadScope::Manifests => {
                    self.yaml(name, path, |tree, path| tree.open(path)).map(ReadFile::Yaml)
                }
                ReadScope::Everything => self.file(name, path),
            }
        };
        let read = names.into_par_iter().map(read).collect::<Result<Vec<_>>>()?;
        let (mut files, mut others) = (Vec::with_capacity(read.len()), Vec::new());
        for file in read {
            match file {
                ReadFile::Yaml(file) => files.push(file),
                ReadFile::Other(file) => others.push(file),
            }
        }
        let (root, sources) = (path.to_path_buf(), self.sources.clone());
        Ok(Package { root, is_directory: true, files, others, skipped: left_alone, sources })
    }

    /// Finds the files of a directory to read, relative to it.
    fn find(&self, directory: &Path, scope: ReadScope) -> Result<FoundFiles> {
        let hidden = if scope == ReadScope::Everything { Hidden::Keep } else { Hidden::Skip };
        let options = WalkOptions { links: LinkPolicy::Keep, hidden, max_depth: usize::MAX };
        let mut found = FoundFiles::default();
        for walked in TreeWalk::new(self.tree, directory, options) {
            let WalkEntry { path, kind, .. } = walked.map_err(|error| error.diagnostic())?;
            let followed = || self.tree.kind(&directory.join(&path)).unwrap_or(kind);
            let is_link = kind == FileKind::Link && scope == ReadScope::Manifests;
            match if is_link { followed() } else { kind } {
                FileKind::Other if is_yaml_name(&path) => {
                    let message = format!("{} is {SPECIAL_FILE}", directory.join(path).display());
                    return Err(Diagnostic::error(Code::Io, message).help("remove it from the directory"));
                }
                kind if scope == ReadScope::Everything => found.add(directory, path, kind),
                FileKind::File if is_yaml_name(&path) => found.names.push(path),
                _ => {}
            }
        }
        Ok(found)
    }

    fn bytes(&self, path: &Path, open: Opening) -> Result<FileBytes> {
        let read = open(self.tree, path).and_then(|file| {
            let (executable, stamp) = (file.is_executable(), file.stamp());
            file.read().map(|content| FileBytes { content, executable, stamp })
        });
        read.map_err(|error| read_error(format_args!("`{}`", path.display()), &error))
    }

    fn yaml(&self, relative: PathBuf, path: PathBuf, open: Opening) -> Result<PackageFile> {
        let named = |error: Diagnostic| {
            Diagnostic::error(error.code(), format!("{}: {}", path.display(), error.message()))
        };
        let FileBytes { content: bytes, executable, stamp } = self.bytes(&path, open)?;
        let source = self.sources.add(path.clone(), decode(bytes).map_err(named)?);
        let reading = self.reading.for_file(&path);
        let file = PackageFile::parse(relative, path, source, reading, self.sources)?;
        Ok(PackageFile { executable, stamp, ..file })
    }

    fn file(&self, relative: PathBuf, path: PathBuf) -> Result<ReadFile> {
        let FileBytes { content: bytes, executable, stamp } =
            self.bytes(&path, |tree, path| tree.open(path))?;
        let (mut problem, reading) = (None, self.reading.for_file(&path));
        if is_yaml_name(&relative) {
            let parsed = decode(bytes.clone()).and_then(|text| {
                let source = self.sources.add(path.clone(), text);
                PackageFile::parse(relative.clone(), path.clone(), source, reading, self.sources)
            });
            match parsed {
                Ok(file) => return Ok(ReadFile::Yaml(PackageFile { executable, stamp, ..file })),
                Err(error) => problem = Some(error),
            }
        }
        let text = as_text(&bytes).unwrap_or_default();
        let source = self.sources.add(path.clone(), text);
        Ok(ReadFile::Other(OtherFile {
            relative,
            path,
            content: bytes.into(),
            executable,
            stamp,
            problem,
            source,
        }))
    }
}

/// Content and metadata of a file.
struct FileBytes {
    content: Vec<u8>,
    executable: bool,
    stamp: Option<FileStamp>,
}

/// Files found in a directory.
#[derive(Default)]
struct FoundFiles {
    names: Vec<PathBuf>,
    left_alone: Vec<PathBuf>,
}

impl FoundFiles {
    fn add(&mut self, directory: &Path, path: PathBuf, kind: FileKind) {
        if path.iter().any(|name| name == JOURNAL) {
            return;
        }
        let is_in_git = path.iter().any(|name| name == ".git");
        match kind {
            _ if is_in_git && path.file_name().is_some_and(|name| name != ".git") => {}
            FileKind::File if !is_in_git => self.names.push(path),
            FileKind::Directory if !is_in_git => {}
            _ => self.left_alone.push(directory.join(path)),
        }
    }
}

/// Returns true if the file has the extension of a manifest.
pub(super) fn is_yaml_name(path: &Path) -> bool {
    matches!(path.extension().and_then(|e| e.to_str()), Some("yaml" | "yml" | "json"))
}

/// Returns the content as text; `None` for binary files. Like git, it treats files with a NUL as binary.
pub(super) fn as_text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))
}
