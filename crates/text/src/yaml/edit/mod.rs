//! Applies changes of a tree to its text with minimal edits.
//!
//! Compares the parsed tree with the changed tree and rewrites only the differences. Comments, order, blank lines,
//! quoting and indentation of all other text are kept byte for byte. Each changed document is parsed again. If the
//! result is not the changed tree, the document is rewritten completely, so that a document with an unusual layout may
//! lose its formatting but never data.

mod block;
mod changes;
mod compare;
mod document;
mod flow;
mod flow_writer;
mod fragment;
mod lines;
mod outline;
mod quoting;
mod splice;
mod style;
mod value;

pub use compare::is_unchanged;

use super::events::BOM;
use super::node::Node;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::source::Reading;
use document::EditedDocument;
use fragment::Layout;
use outline::{DocumentOutline, outline};

/// Returns the text of a file after its documents were changed from `before` to `after`.
///
/// `before` must be `text` parsed with comments and `reading`. `None` in `after` removes a document. Additional
/// documents are appended.
///
/// # Errors
/// `before` was not parsed from the text, or a value cannot be represented in YAML.
pub fn edit_text(text: &str, reading: Reading, before: &[Node], after: &[Option<Node>]) -> Result<String> {
    if lines::has_lone_carriage_returns(text) {
        // Carriage returns as line breaks are so rare that edits of such texts are not supported.
        let same =
            before.len() == after.len() && before.iter().map(Some).eq(after.iter().map(Option::as_ref));
        return Ok(if same { text.into() } else { write_all(after.iter().flatten(), reading) });
    }
    let documents = outline(text, reading)?;
    if documents.len() != before.len() {
        let message = format!("expected {} documents, found {} in the text", before.len(), documents.len());
        return Err(Diagnostic::error(Code::InvalidValue, message));
    }
    let layout = documents.iter().find_map(|d| style::detect_layout(text, d, reading));
    let layout = layout.unwrap_or(Layout::new(reading));
    let kept =
        documents.iter().zip(before).zip(after).filter_map(|(kept, after)| Some((kept, after.as_ref()?)));
    let edited: Vec<_> = kept
        .map(|((document, before), after)| {
            Ok((document, EditedDocument::new(text, document, before, after, layout)?))
        })
        .collect::<Result<_>>()?;
    let mut out = Output {
        text: String::with_capacity(text.len()),
        first_has_no_separator: documents.first().is_some_and(|d| !d.has_separator)
            && !matches!(after.first(), Some(Some(_))),
        ended: true,
        unchanged_end: None,
        is_stream: documents.iter().any(follows_without_separator)
            && documents.len() >= after.len()
            && edited.iter().all(|(_, text)| is_json(text)),
    };
    for (document, edited) in &edited {
        out.document(document, edited);
        out.unchanged_end = edited.is_unchanged().then_some(document.range.end);
    }
    if documents.is_empty() || documents.len() < after.len() {
        out.add(if documents.is_empty() { text } else { "" }, &after[documents.len()..], layout, text);
    }
    if text.starts_with(BOM) && !out.text.starts_with(BOM) {
        out.text.insert_str(0, BOM);
    }
    Ok(out.text)
}

/// Writes documents that do not come from a file. Their order, quoting and comments are kept.
#[must_use]
pub fn write_documents_in_source_style(documents: &[Node]) -> String {
    write_all(documents.iter(), Reading::Kustomize)
}

fn write_all<'n>(documents: impl Iterator<Item = &'n Node>, reading: Reading) -> String {
    documents.map(|d| Layout::new(reading).document(d)).collect::<Vec<_>>().join("---\n")
}

/// Returns true if a document follows another one without a separator, as JSON objects may.
fn follows_without_separator(document: &DocumentOutline) -> bool {
    !document.has_separator && !document.is_independent
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text.trim_start_matches(BOM)).is_ok()
}

/// Joins the remaining documents.
struct Output {
    text: String,
    /// True if the first document of the file was removed and had no `---`.
    first_has_no_separator: bool,
    /// True if the last document ends with `...`.
    ended: bool,
    /// The end of the last document in the original text; `None` if this document was changed.
    unchanged_end: Option<usize>,
    /// True if the documents are JSON objects without separators between them. They may remain so.
    is_stream: bool,
}

impl Output {
    fn document(&mut self, document: &DocumentOutline, text: &str) {
        let mut text = text;
        if self.text.is_empty() {
            if self.first_has_no_separator {
                text = text.strip_prefix("---\r\n").or_else(|| text.strip_prefix("---\n")).unwrap_or(text);
            }
        } else {
            // Between two unchanged documents, `---` may follow a byte order mark or a YAML 1.1 line break.
            let is_unchanged = document.has_separator && self.unchanged_end == Some(document.range.start);
            if !self.is_stream && !is_unchanged {
                self.end_line("\n");
            }
            // A `...` is required before directives, and before documents without `---`.
            if document.is_independent && !self.ended {
                self.text.push_str("...\n");
            }
            if follows_without_separator(document) && !self.is_stream {
                self.text.push_str("---\n");
            }
        }
        self.text.push_str(text);
        self.ended = document.is_ended();
    }

    /// Appends new documents after `comments`, a text without documents. The line breaks are those of `like`.
    fn add(&mut self, comments: &str, documents: &[Option<Node>], layout: Layout, like: &str) {
        let line_break = style::detect_line_break(like);
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
