//! Parses and prints texts of kustomizations.

use std::path::PathBuf;

use super::draft::EditOptions;
use super::fields::remove;
use crate::overlay::Kustomization;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::{KUSTOMIZATION_FILES, Reading, SourceMap};
use smp_text::yaml::{
    DecodeOptions, DuplicateKeys, Map, Node, ParseOptions, Value, edit_text, from_node, from_node_with,
    parse_with_duplicate_keys, write_documents_in_source_style,
};

/// Returns the text of a kustomization without some fields.
///
/// # Errors
/// The text is not valid.
pub fn text_without(text: &str, names: &[&str]) -> Result<String> {
    let (documents, mut fields) = parsed(text, &SourceMap::default())?;
    for name in names {
        remove(&mut fields, name);
    }
    printed(text, &documents, fields)
}

/// Parses a kustomization. Returns its documents and the fields of the first one.
pub(super) fn parsed(text: &str, sources: &SourceMap) -> Result<(Vec<Node>, Map)> {
    let id = sources.add(PathBuf::from(KUSTOMIZATION_FILES[0]), text);
    let parse = ParseOptions::default().with_comments().duplicate_keys(DuplicateKeys::LastWins);
    let (documents, _) = parse_with_duplicate_keys(sources, id, parse)?;
    let fields = read_fields(&documents, EditOptions::default())?;
    Ok((documents, fields))
}

/// Prints a file with new fields for its first document, in the layout of the old text.
pub(super) fn printed(before: &str, documents: &[Node], fields: Map) -> Result<String> {
    printed_as(before, documents, fields, Layout::Kept)
}

/// The layout of an edited file.
#[derive(Clone, Copy)]
pub(super) enum Layout {
    /// The layout of the old text.
    Kept,
    /// A new layout, because the editor cannot locate repeated keys.
    Rewritten,
}

/// Prints a file with new fields for its first document.
pub(super) fn printed_as(before: &str, documents: &[Node], fields: Map, layout: Layout) -> Result<String> {
    let mut first = documents.first().filter(|node| node.as_map().is_some()).cloned();
    let first = match &mut first {
        Some(node) => {
            node.value = Value::Map(fields);
            node.clone()
        }
        None => Node::map(fields),
    };
    let rest = documents.iter().skip(1).cloned();
    let all: Vec<Node> = std::iter::once(first).chain(rest).collect();
    match layout {
        Layout::Kept => {
            let all: Vec<Option<Node>> = all.into_iter().map(Some).collect();
            let mut text = edit_text(before, Reading::Kustomize, documents, &all)?;
            // If the last field is removed, new fields before it end without a line break.
            if before.ends_with('\n') && !text.ends_with('\n') {
                text.push('\n');
            }
            Ok(text)
        }
        Layout::Rewritten => Ok(write_documents_in_source_style(&all)),
    }
}

/// Returns the fields of the first document. Checks their types, and rejects unknown fields like kustomize.
pub(super) fn read_fields(documents: &[Node], options: EditOptions) -> Result<Map> {
    let Some(node) = documents.first().filter(|node| !node.is_null()) else { return Ok(Map::new()) };
    let Some(map) = node.as_map() else {
        let message = format!("a kustomization must be a map, not {}", node.type_name());
        return Err(Diagnostic::error(Code::WrongType, message)
            .at(node.span().at_start())
            .help("put the entries below a field such as `resources:`"));
    };
    if options.as_kustomize {
        from_node::<Kustomization>(node)?;
    } else {
        from_node_with::<Kustomization>(node, DecodeOptions::lenient())?;
    }
    Ok(map.clone())
}
