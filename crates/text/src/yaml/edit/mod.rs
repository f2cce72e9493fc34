//! Changing a text as little as its tree was changed.
//!
//! The tree that was read from the text and the tree that it shall have are compared; only what
//! differs is written anew. Comments, order, blank lines, quoting and indentation of all the rest
//! stay byte for byte. Each changed document is read again: should it not be the wanted tree, that
//! document is written whole instead, so that a strange layout costs looks and never data.

mod block;
mod brackets;
mod changes;
mod document;
mod flow;
mod fragment;
mod lines;
mod outline;
mod quoting;
mod same;
mod splice;
mod style;
mod value;

pub use same::is_same;

use super::events::BOM;
use super::node::Node;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::source::Reading;
use document::Edited;
use fragment::Layout;
use outline::{DocumentOutline, outline};

/// The text of a file after its documents were changed from `before`, which were read from it with
/// comments by `reading`, to `after`: none for a document that is removed, and further ones at the end
/// for documents that are added.
///
/// # Errors
/// `before` was not read from the text, or a value cannot be written as YAML.
pub fn edit(text: &str, reading: Reading, before: &[Node], after: &[Option<Node>]) -> Result<String> {
    if lines::has_lone_returns(text) {
        // Line breaks of another age: what stands where is not worth to know.
        let same =
            before.len() == after.len() && before.iter().map(Some).eq(after.iter().map(Option::as_ref));
        return Ok(if same { text.into() } else { write_all(after.iter().flatten(), reading) });
    }
    let documents = outline(text, reading)?;
    if documents.len() != before.len() {
        let message = format!("the text has {} documents, not {}", documents.len(), before.len());
        return Err(Diagnostic::error(Code::InvalidValue, message));
    }
    let layout = documents.iter().find_map(|d| style::layout(text, d, reading));
    let layout = layout.unwrap_or(Layout::new(reading));
    let kept =
        documents.iter().zip(before).zip(after).filter_map(|(kept, after)| Some((kept, after.as_ref()?)));
    let edited: Vec<_> = kept
        .map(|((document, before), after)| {
            Ok((document, Edited::new(text, document, before, after, layout)?))
        })
        .collect::<Result<_>>()?;
    let mut out = Out {
        text: String::with_capacity(text.len()),
        unmarked: documents.first().is_some_and(|d| !d.marked) && !matches!(after.first(), Some(Some(_))),
        ended: true,
        kept_to: None,
        is_stream: documents.iter().any(follows)
            && documents.len() >= after.len()
            && edited.iter().all(|(_, text)| is_json(text)),
    };
    for (document, edited) in &edited {
        out.document(document, edited);
        out.kept_to = edited.is_unchanged().then_some(document.range.end);
    }
    if documents.is_empty() || documents.len() < after.len() {
        out.add(if documents.is_empty() { text } else { "" }, &after[documents.len()..], layout, text);
    }
    if text.starts_with(BOM) && !out.text.starts_with(BOM) {
        out.text.insert_str(0, BOM);
    }
    Ok(out.text)
}

/// A text for documents that come from no file: their order, quoting and comments are kept.
#[must_use]
pub fn write_documents_as_written(documents: &[Node]) -> String {
    write_all(documents.iter(), Reading::Kustomize)
}

fn write_all<'n>(documents: impl Iterator<Item = &'n Node>, reading: Reading) -> String {
    documents.map(|d| Layout::new(reading).document(d)).collect::<Vec<_>>().join("---\n")
}

/// Whether a document follows another with nothing between them, as JSON objects may.
fn follows(document: &DocumentOutline) -> bool {
    !document.marked && !document.begins_anew
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text.trim_start_matches(BOM)).is_ok()
}

/// The documents that are left, one behind the other.
struct Out {
    text: String,
    /// Whether the first document of the file is gone and had no `---`.
    unmarked: bool,
    /// Whether the last document ends with `...`.
    ended: bool,
    /// The end of the last document in the original text; `None` if that document was changed.
    kept_to: Option<usize>,
    /// Whether they are JSON objects that follow each other, and still may.
    is_stream: bool,
}

impl Out {
    fn document(&mut self, document: &DocumentOutline, text: &str) {
        let mut text = text;
        if self.text.is_empty() {
            if self.unmarked {
                text = text.strip_prefix("---\r\n").or_else(|| text.strip_prefix("---\n")).unwrap_or(text);
            }
        } else {
            // Between two documents that are kept, `---` may follow a byte order mark or a line break of YAML 1.1.
            let is_unchanged = document.marked && self.kept_to == Some(document.range.start);
            if !self.is_stream && !is_unchanged {
                self.end_line("\n");
            }
            // Directives, and documents without `---`, need an end before them.
            if document.begins_anew && !self.ended {
                self.text.push_str("...\n");
            }
            if follows(document) && !self.is_stream {
                self.text.push_str("---\n");
            }
        }
        self.text.push_str(text);
        self.ended = document.is_ended();
    }

    /// Adds new documents behind `comments`, a text without documents.
    fn add(&mut self, comments: &str, documents: &[Option<Node>], layout: Layout, like: &str) {
        let line_break = style::line_break(like);
        self.text.push_str(comments);
        let mut separate = comments.is_empty() && !self.text.is_empty();
        for document in documents.iter().flatten() {
            if !self.text.is_empty() {
                self.end_line(line_break);
            }
            if separate {
                self.text.push_str("---");
                self.text.push_str(line_break);
            }
            self.text.push_str(&layout.document(document).replace('\n', line_break));
            separate = true;
        }
    }

    fn end_line(&mut self, line_break: &str) {
        if !self.text.ends_with('\n') {
            self.text.push_str(line_break);
        }
    }
}

#[cfg(test)]
mod tests;
