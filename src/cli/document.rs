//! Reads documents like kubectl: from a file, standard input or the command line.

use std::path::Path;

use super::Failure;
use smp_files::{DiskTree, FileTree as _, read_bounded};
use smp_merge::schema::{Cursor, Gvk, Schema};
use smp_text::diagnostic::{Code, Diagnostic, Result, read_error};
use smp_text::source::SourceMap;
use smp_text::yaml::{self, Node, ParseOptions};

/// Reads the documents of a file, or of standard input for `-`. Empty documents are null.
pub(super) fn read_documents(path: &Path, options: ParseOptions, sources: &SourceMap) -> Result<Vec<Node>> {
    if path == Path::new("-") {
        return parse_text("<stdin>", read_stdin()?, options, sources);
    }
    let name = path.display().to_string();
    let bytes = DiskTree.read_stream(path).map_err(|error| read_error(format_args!("`{name}`"), &error))?;
    let text = yaml::decode(bytes).map_err(|d| d.note(format!("in {name}")))?;
    parse_text(&name, text, options, sources)
}

/// Parses the documents of a text.
pub(super) fn parse_text(
    name: &str,
    text: String,
    options: ParseOptions,
    sources: &SourceMap,
) -> Result<Vec<Node>> {
    let id = sources.add(name, text);
    yaml::parse_documents(sources, id, options)
}

/// Reads the single document of a file. An empty file is null.
pub(super) fn read_document(path: &Path, sources: &SourceMap) -> Result<Node> {
    let mut documents = read_documents(path, ParseOptions::kubectl(), sources)?;
    documents.retain(|d| !d.is_null());
    if let Some(second) = documents.get(1) {
        return Err(Diagnostic::error(Code::InvalidValue, "expected one document, found several")
            .at(second.span().at_start())
            .help("use files with one document each"));
    }
    Ok(documents.pop().unwrap_or_else(Node::null))
}

/// Reads standard input as text.
pub(super) fn read_stdin() -> Result<String> {
    let bytes = stdin_bytes().map_err(|error| read_error("standard input", &error))?;
    yaml::decode(bytes).map_err(|d| d.note("in standard input"))
}

/// Reads standard input, up to the size limit of files.
pub(super) fn stdin_bytes() -> std::io::Result<Vec<u8>> {
    read_bounded(std::io::stdin().lock(), Vec::new())
}

/// Returns the error for `-` in several arguments.
pub(super) fn stdin_used_twice() -> Failure {
    Failure::Usage("standard input (`-`) can be read only once: name a file for the other input".into())
}

/// Returns the group, version and kind of a document, if it has a kind.
pub(super) fn gvk_of(node: &Node) -> Option<Gvk> {
    let text = |key| node.get(key).and_then(Node::as_str);
    Some(Gvk::from_manifest(text("apiVersion").unwrap_or_default(), text("kind")?))
}

/// Resolves the type of a document: the one of `--schema-type`, otherwise that of its kind.
pub(super) fn resolve_type<'s>(
    node: &Node,
    schema: &'s Schema,
    schema_type: Option<&str>,
) -> Result<Option<Cursor<'s>>> {
    if let Some(name) = schema_type {
        let found = schema.named(name);
        return found.map(Some).ok_or_else(|| {
            Diagnostic::error(Code::NoSchema, format!("the schema has no definition `{name}`"))
                .help("--schema-type must name a definition in the file of --schema")
        });
    }
    Ok(gvk_of(node).and_then(|gvk| schema.kind(&gvk)))
}
