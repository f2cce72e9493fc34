//! Kustomization files: found, read, edited and printed.

use std::path::PathBuf;

use super::draft::{Applied, Draft, EditOptions};
use super::normalize::normalize;
use super::operation::Edit;
use crate::overlay::{Kustomization, Root};
use smp_text::diagnostic::{Code, Diagnostic, Result, read_error};
use smp_text::source::{KUSTOMIZATION_FILES, Reading, SourceMap};
use smp_text::yaml::{
    DecodeOptions, DuplicateKeys, Map, Node, ParseOptions, Value, decode, edit_text, from_node,
    from_node_with, parse_with_duplicate_keys, write_documents_in_source_style,
};

/// An edited kustomization file.
#[derive(Debug, Clone)]
pub struct EditedKustomization {
    /// The path, as the user would write it.
    pub path: PathBuf,
    /// The text before the edit.
    pub before: String,
    /// The text after the edit.
    pub after: String,
    /// Remarks, such as about entries that exist already.
    pub notes: Vec<String>,
    /// Other files that the edit changes.
    pub files: Vec<EditedText>,
}

/// A file that an edit changes beside the kustomization.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedText {
    /// The path, as the user would write it.
    pub path: PathBuf,
    /// The text before the edit.
    pub before: String,
    /// The text after the edit.
    pub after: String,
}

impl EditedKustomization {
    /// Returns the texts of all files that differ.
    #[must_use]
    pub fn into_changed(self) -> Vec<EditedText> {
        let own = EditedText { path: self.path, before: self.before, after: self.after };
        std::iter::once(own).chain(self.files).filter(|one| one.before != one.after).collect()
    }
}

/// Applies an edit to the kustomization file of a directory. Nothing is written.
///
/// # Errors
/// There is no kustomization file, it is invalid, or the edit cannot be applied to it.
pub fn edit_kustomization(root: &Root, edit: &Edit, options: EditOptions) -> Result<EditedKustomization> {
    let mut notes = Vec::new();
    let Some(edit) = edit.expanded(root, options, &mut notes)? else {
        // As in kustomize, patterns that match nothing need no kustomization file.
        let path = root.shown().join(find(root).unwrap_or(KUSTOMIZATION_FILES[0]));
        let (before, after) = (String::new(), String::new());
        return Ok(EditedKustomization { path, before, after, notes, files: Vec::new() });
    };
    let name = find(root)?;
    let path = root.path().join(name);
    let shown = root.reader().shown(&path);
    let bytes = root
        .reader()
        .tree()
        .read(&path)
        .map_err(|error| read_error(format_args!("`{}`", shown.display()), &error))?;
    let before = decode(bytes)?;
    let id = root.reader().sources().add(shown.clone(), before.as_str());
    let parse = ParseOptions::default().with_comments().duplicate_keys(DuplicateKeys::LastWins);
    let (documents, repeated) = parse_with_duplicate_keys(root.reader().sources(), id, parse)?;
    let fields = read_fields(&documents, options)?;
    let mut draft = Draft { name, notes, ..Draft::new(fields, root, options) };
    normalize(&mut draft.fields);
    let after = match edit.apply(&mut draft)? {
        Applied::Nothing => before.clone(),
        Applied::Changed => {
            let layout = if repeated.is_empty() { Layout::Kept } else { Layout::Rewritten };
            printed_as(&before, &documents, draft.fields, layout)?
        }
    };
    Ok(EditedKustomization { path: shown, before, after, notes: draft.notes, files: draft.files })
}

/// Returns the text of a kustomization without some fields.
///
/// # Errors
/// The text is not valid.
pub fn text_without(text: &str, names: &[&str]) -> Result<String> {
    let (documents, mut fields) = parsed(text, &SourceMap::default())?;
    for name in names {
        super::fields::remove(&mut fields, name);
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

/// Prints a file whose first document has new fields, in the layout of the text before.
pub(super) fn printed(before: &str, documents: &[Node], fields: Map) -> Result<String> {
    printed_as(before, documents, fields, Layout::Kept)
}

/// The layout of an edited file.
#[derive(Clone, Copy)]
enum Layout {
    /// That of the text before.
    Kept,
    /// A new one: the editor does not locate repeated keys.
    Rewritten,
}

/// Prints a file whose first document has new fields.
fn printed_as(before: &str, documents: &[Node], fields: Map, layout: Layout) -> Result<String> {
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
            // New fields before a last field that is removed have no line break.
            if before.ends_with('\n') && !text.ends_with('\n') {
                text.push('\n');
            }
            Ok(text)
        }
        Layout::Rewritten => Ok(write_documents_in_source_style(&all)),
    }
}

/// Returns the fields of the first document. Checks their types, and rejects unknown fields like kustomize.
fn read_fields(documents: &[Node], options: EditOptions) -> Result<Map> {
    let Some(node) = documents.first().filter(|node| !node.is_null()) else { return Ok(Map::new()) };
    let Some(map) = node.as_map() else {
        let message = format!("a kustomization must be a map, not {}", node.type_name());
        return Err(Diagnostic::error(Code::WrongType, message).at(node.span().at_start()));
    };
    if options.as_kustomize {
        from_node::<Kustomization>(node)?;
    } else {
        from_node_with::<Kustomization>(node, DecodeOptions::lenient())?;
    }
    Ok(map.clone())
}

/// Returns the name of the only kustomization file of a directory.
pub(super) fn find(root: &Root) -> Result<&'static str> {
    let tree = root.reader().tree();
    let exists = |name: &&&str| tree.contains(&root.path().join(name));
    let found: Vec<&'static str> = KUSTOMIZATION_FILES.iter().filter(exists).copied().collect();
    let shown = root.shown();
    let shown = if shown.as_os_str().is_empty() { ".".into() } else { shown };
    match found[..] {
        [name] if tree.is_directory(&root.path().join(name)) => {
            Err(Diagnostic::error(Code::Io, format!("{} is a directory", shown.join(name).display())))
        }
        [name] => Ok(name),
        [] => Err(Diagnostic::error(Code::Io, format!("no kustomization file in {}", shown.display()))
            .help("run the command in the directory of the file, or create one with `create`")),
        _ => Err(Diagnostic::error(
            Code::Ambiguous,
            format!("{} has several kustomization files: {}", shown.display(), found.join(", ")),
        )
        .help("remove all but one")),
    }
}
