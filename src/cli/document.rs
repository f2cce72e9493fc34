//! Documents that commands read: from a file, a directory or standard input.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::schema::{Cursor, Gvk, Schema};
use crate::source::SourceMap;
use crate::yaml::{self, Node, ParseOptions};

/// A text and the documents in it.
#[derive(Debug)]
pub(super) struct TextFile {
    /// Where it comes from; none for standard input.
    pub path: Option<PathBuf>,
    /// The text as it was read.
    pub text: String,
    /// Its documents with comments, empty ones as null.
    pub documents: Vec<Node>,
}

impl TextFile {
    /// Reads a file, or standard input for `-`.
    pub fn read(path: &Path, sources: &SourceMap) -> Result<Self> {
        if path == Path::new("-") {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut bytes);
            read.map_err(|error| io_error("standard input", &error))?;
            return Self::parse(None, "<stdin>", bytes, sources);
        }
        let bytes = fs::read(path).map_err(|error| io_error(&path.display().to_string(), &error))?;
        Self::parse(Some(path.to_path_buf()), &path.display().to_string(), bytes, sources)
    }

    /// Reads a file, or all YAML and JSON files of a directory sorted by path.
    pub fn read_all(path: &Path, sources: &SourceMap) -> Result<Vec<Self>> {
        if !path.is_dir() {
            return Ok(vec![Self::read(path, sources)?]);
        }
        let hidden = |name: &std::ffi::OsStr| name.to_string_lossy().starts_with('.');
        let walk = WalkDir::new(path)
            .sort_by_file_name()
            .into_iter()
            .filter_entry(|e| e.depth() == 0 || !hidden(e.file_name()));
        let mut files = Vec::new();
        for entry in walk {
            let entry = entry.map_err(|error| Diagnostic::error(Code::Io, error.to_string()))?;
            let is_manifest =
                entry.path().extension().is_some_and(|e| e == "yaml" || e == "yml" || e == "json");
            if entry.file_type().is_file() && is_manifest {
                files.push(Self::read(entry.path(), sources)?);
            }
        }
        if files.is_empty() {
            let message = format!("{} has no *.yaml, *.yml or *.json files", path.display());
            return Err(Diagnostic::error(Code::Io, message));
        }
        Ok(files)
    }

    /// Documents of a text that was given on the command line.
    pub fn of_text(name: &str, text: &str, sources: &SourceMap) -> Result<Self> {
        Self::parse(None, name, text.as_bytes().to_vec(), sources)
    }

    fn parse(path: Option<PathBuf>, name: &str, bytes: Vec<u8>, sources: &SourceMap) -> Result<Self> {
        let text = yaml::decode(bytes).map_err(|d| d.note(format!("in {name}")))?;
        let id = sources.add(name, text.as_str());
        let options = ParseOptions { comments: true, ..ParseOptions::default() };
        let documents = yaml::parse_documents(sources, id, options)?;
        Ok(Self { path, text, documents })
    }

    /// The only document; null when there is none.
    pub fn only(mut self) -> Result<Node> {
        self.documents.retain(|d| !d.is_null());
        if let Some(second) = self.documents.get(1) {
            return Err(Diagnostic::error(Code::InvalidValue, "expected one document, found several")
                .at(second.span().at_start())
                .help("remove the documents behind the first `---`"));
        }
        Ok(self.documents.pop().unwrap_or_else(Node::null))
    }
}

fn io_error(name: &str, error: &std::io::Error) -> Diagnostic {
    let what = match error.kind() {
        std::io::ErrorKind::NotFound => "no such file or directory".to_string(),
        _ => error.to_string(),
    };
    Diagnostic::error(Code::Io, format!("{name} cannot be read: {what}"))
}

/// Group, version and kind of a document, if it says them.
pub(super) fn gvk_of(node: &Node) -> Option<Gvk> {
    let text = |key| node.get(key).and_then(Node::as_str);
    Some(Gvk::from_manifest(text("apiVersion").unwrap_or_default(), text("kind")?))
}

/// The type of a document: of its kind, else the one that `--schema-type` names.
pub(super) fn type_of<'s>(
    node: &Node,
    schema: &'s Schema,
    schema_type: Option<&str>,
) -> Result<Option<Cursor<'s>>> {
    if let Some(name) = schema_type {
        let found = schema.named(name);
        return found.map(Some).ok_or_else(|| {
            Diagnostic::error(Code::NoSchema, format!("the schema has no definition `{name}`"))
                .help("--schema-type names a definition of the document that --schema names")
        });
    }
    Ok(gvk_of(node).and_then(|gvk| schema.kind(&gvk)))
}
