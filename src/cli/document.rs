//! Documents that commands read as kubectl does: from a file, standard input or the command line.

use std::path::Path;

use super::Failure;
use smp_files::{DiskTree, FileTree as _, read_bounded};
use smp_merge::schema::{Cursor, Gvk, Schema};
use smp_text::diagnostic::{Code, Diagnostic, Result, unreadable};
use smp_text::source::SourceMap;
use smp_text::yaml::{self, Node, ParseOptions};

/// The documents of a file, or of standard input for `-`; empty ones as null.
pub(super) fn read_documents(path: &Path, options: ParseOptions, sources: &SourceMap) -> Result<Vec<Node>> {
    if path == Path::new("-") {
        return documents_of("<stdin>", read_stdin()?, options, sources);
    }
    let name = path.display().to_string();
    let bytes = DiskTree.read_stream(path).map_err(|error| unreadable(&name, &error))?;
    let text = yaml::decode(bytes).map_err(|d| d.note(format!("in {name}")))?;
    documents_of(&name, text, options, sources)
}

/// The documents of a text that has no file.
pub(super) fn documents_of(
    name: &str,
    text: String,
    options: ParseOptions,
    sources: &SourceMap,
) -> Result<Vec<Node>> {
    let id = sources.add(name, text);
    yaml::parse_documents(sources, id, options)
}

/// The only document of a file; null when there is none.
pub(super) fn read_document(path: &Path, sources: &SourceMap) -> Result<Node> {
    let mut documents = read_documents(path, ParseOptions::kubectl(), sources)?;
    documents.retain(|d| !d.is_null());
    if let Some(second) = documents.get(1) {
        return Err(Diagnostic::error(Code::InvalidValue, "expected one document, found several")
            .at(second.span().at_start())
            .help("remove the documents behind the first `---`"));
    }
    Ok(documents.pop().unwrap_or_else(Node::null))
}

/// The text of standard input.
pub(super) fn read_stdin() -> Result<String> {
    let bytes = stdin_bytes().map_err(|error| unreadable("standard input", &error))?;
    yaml::decode(bytes).map_err(|d| d.note("in standard input"))
}

/// All of standard input, which is bounded as files are.
pub(super) fn stdin_bytes() -> std::io::Result<Vec<u8>> {
    read_bounded(std::io::stdin().lock(), Vec::new())
}

/// It can be read once.
pub(super) fn stdin_twice() -> Failure {
    Failure::Usage("standard input (`-`) can be read but once: name a file for the other one".into())
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
