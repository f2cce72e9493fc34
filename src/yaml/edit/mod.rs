//! Changing a text as little as its tree was changed.
//!
//! The tree that was read from the text and the tree that it shall have are compared; only what
//! differs is written anew. Comments, order, blank lines, quoting and indentation of all the rest
//! stay byte for byte. The result is read again: should it not be the wanted tree, the document is
//! written whole instead, so that a strange layout costs looks and never data.

mod block;
mod flow;
mod fragment;

use fragment::{Fragment, Layout};

use super::node::{Node, Value};
use super::parse::{ParseOptions, parse_documents};
use crate::diagnostic::Result;
use crate::source::SourceMap;

/// A replacement of some bytes.
#[derive(Debug)]
struct Edit {
    start: usize,
    end: usize,
    text: String,
}

/// The text of a file after its documents were changed from `before`, which were read from it with
/// comments, to `after`; none of `after` removes a document.
///
/// # Errors
/// The text cannot be read, which it could before.
pub fn edit(text: &str, before: &[Node], after: &[Option<Node>]) -> Result<String> {
    let layout = layout_of(text, before);
    let mut editor = Editor { text, edits: Vec::new(), fragment: Fragment::new(layout) };
    for (before, after) in before.iter().zip(after) {
        if let Some(after) = after {
            editor.document(before, after);
        }
    }
    let edited = apply(text, editor.edits);
    let wanted: Vec<_> = before.iter().zip(after).map(|(b, a)| a.as_ref().unwrap_or(b)).collect();
    let edited = if reads_as(&edited, &wanted) { edited } else { write_whole(&wanted, layout) };
    if after.iter().all(Option::is_some) {
        return Ok(edited);
    }
    remove_documents(&edited, after)
}

/// A text for documents that come from no file.
#[must_use]
pub fn write_documents_as_written(documents: &[Node]) -> String {
    write_whole(&documents.iter().collect::<Vec<_>>(), Layout::default())
}

fn write_whole(documents: &[&Node], layout: Layout) -> String {
    let fragment = Fragment::new(layout);
    let texts: Vec<_> = documents.iter().map(|d| fragment.document(d) + "\n").collect();
    texts.join("---\n")
}

fn read(text: &str) -> Result<Vec<Node>> {
    let sources = SourceMap::default();
    let id = sources.add("", text);
    parse_documents(&sources, id, ParseOptions { comments: true, ..ParseOptions::default() })
}

fn reads_as(text: &str, wanted: &[&Node]) -> bool {
    read(text).is_ok_and(|documents| documents.iter().eq(wanted.iter().copied()))
}

/// Takes whole documents out of a text, each with the separator before it.
fn remove_documents(text: &str, after: &[Option<Node>]) -> Result<String> {
    let documents = read(text)?;
    let kept: Vec<_> = documents.iter().zip(after).filter(|(_, a)| a.is_some()).map(|(d, _)| d).collect();
    let mut parts: Vec<&str> = Vec::new();
    let mut start = 0;
    for (i, line_start) in line_starts(text).into_iter().enumerate() {
        if i > 0 && text[line_start..].starts_with("---") {
            parts.push(&text[start..line_start]);
            start = line_start;
        }
    }
    parts.push(&text[start..]);
    if parts.len() == after.len() {
        let mut out: String = parts.iter().zip(after).filter(|(_, a)| a.is_some()).map(|(p, _)| *p).collect();
        if !text.starts_with("---") {
            // The first document that is left had a separator before it.
            if let (Some(None), Some(rest)) = (after.first(), out.strip_prefix("---\n")) {
                out = rest.to_string();
            }
        }
        if reads_as(&out, &kept) {
            return Ok(out);
        }
    }
    Ok(write_whole(&kept, layout_of(text, &documents)))
}

fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0)
        .chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|i| i + 1))
        .filter(|&i| i < text.len())
        .collect()
}

fn apply(text: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|e| (e.start, e.end));
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        // Overlapping edits would be a mistake here; the reading afterwards finds it.
        if edit.start < at {
            continue;
        }
        out.push_str(&text[at..edit.start]);
        out.push_str(&edit.text);
        at = edit.end;
    }
    out.push_str(&text[at..]);
    out
}

/// Where a value stands.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// The first byte behind the `:` or the dash before it.
    from: usize,
    /// The column of the field's name or of the dash.
    column: usize,
    kind: PlaceKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlaceKind {
    Document,
    Field,
    Entry,
}

struct Editor<'t> {
    text: &'t str,
    edits: Vec<Edit>,
    fragment: Fragment,
}

impl<'t> Editor<'t> {
    fn replace(&mut self, start: usize, end: usize, text: impl Into<String>) {
        self.edits.push(Edit { start, end, text: text.into() });
    }

    fn document(&mut self, before: &Node, after: &Node) {
        let place = Place { from: before.span().start as usize, column: 0, kind: PlaceKind::Document };
        self.value(place, before, after);
    }

    fn value(&mut self, place: Place, before: &Node, after: &Node) {
        if before == after {
            return;
        }
        let done = !before.meta.aliased
            && match (&before.value, &after.value) {
                (Value::Map(b), Value::Map(a)) if is_flow(before) => self.flow_map(before, b, a),
                (Value::List(b), Value::List(a)) if is_flow(before) => self.flow_list(before, b, a),
                (Value::Map(b), Value::Map(a)) => self.block_map(before, b, a),
                (Value::List(b), Value::List(a)) => self.block_list(place, b, a),
                _ => false,
            };
        if !done {
            self.whole(place, before, after);
        }
    }

    /// Writes a value anew.
    fn whole(&mut self, place: Place, before: &Node, after: &Node) {
        let end = self.content_end(before).max(place.from);
        let mut after = after.clone();
        // A scalar that changes keeps its quotes.
        if let (Value::Scalar(_), Value::Scalar(_)) = (&before.value, &after.value) {
            let quoted = matches!(
                before.meta.style,
                super::node::Style::SingleQuoted | super::node::Style::DoubleQuoted
            );
            if quoted && after.as_str().is_some() && !before.meta.aliased {
                after.meta.style = before.meta.style;
            }
            // What stands on the line behind it stays there by itself.
            after.meta.comments = None;
        }
        let text = match place.kind {
            PlaceKind::Document => self.fragment.document(&after),
            PlaceKind::Field => self.fragment.value_of_field(&after, place.column, None),
            PlaceKind::Entry => self.fragment.value_of_entry(&after, place.column),
        };
        self.replace(place.from, end, text);
    }

    /// One past the last byte of a value that is not a line break.
    fn content_end(&self, node: &Node) -> usize {
        let span = node.span();
        let content = self.text.get(span.start as usize..span.end as usize).unwrap_or_default();
        span.start as usize + content.trim_end_matches(['\n', '\r', ' ']).len()
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |i| i + 1)
    }

    /// The end of the line, before its break.
    fn line_end(&self, at: usize) -> usize {
        let end = self.text[at..].find('\n').map_or(self.text.len(), |i| at + i);
        if self.text[at..end].ends_with('\r') { end - 1 } else { end }
    }

    /// Where the line after this one begins.
    fn next_line(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |i| at + i + 1)
    }

    /// Whether only blanks stand before a byte on its line.
    fn is_first_on_line(&self, at: usize) -> bool {
        self.text[self.line_start(at)..at].bytes().all(|b| b == b' ')
    }

    /// The start of the comment lines directly above a line that are indented as far, or of the
    /// line itself.
    fn with_comments_above(&self, line_start: usize, column: usize) -> usize {
        let mut start = line_start;
        while start > 0 {
            let above = self.line_start(start - 1);
            let line = &self.text[above..start];
            let comment = line.trim_start_matches(' ');
            if !comment.starts_with('#') || line.len() - comment.len() != column {
                break;
            }
            start = above;
        }
        start
    }

    /// The first byte behind the `:` that follows a key.
    fn behind_colon(&self, key_end: usize) -> Option<usize> {
        self.text.get(key_end..)?.find(':').map(|i| key_end + i + 1)
    }
}

fn is_flow(node: &Node) -> bool {
    node.meta.style == super::node::Style::Flow
}

/// The layout of the first nested map and the first list that is the value of a field.
fn layout_of(text: &str, documents: &[Node]) -> Layout {
    let mut found = (None, None);
    documents.iter().for_each(|d| find_layout(text, d, None, &mut found));
    let default = Layout::default();
    Layout { indent: found.0.unwrap_or(default.indent), dash: found.1.unwrap_or(default.dash) }
}

fn find_layout(text: &str, node: &Node, parent: Option<usize>, found: &mut (Option<usize>, Option<usize>)) {
    if is_flow(node) || node.meta.aliased || (found.0.is_some() && found.1.is_some()) {
        return;
    }
    let column = |at: u32| {
        let at = at as usize;
        text.get(..at).map(|before| at - before.rfind('\n').map_or(0, |i| i + 1))
    };
    match &node.value {
        Value::Map(map) => {
            let Some(own) = map.entries().first().and_then(|e| column(e.key.meta.span.start)) else { return };
            if let Some(parent) = parent.filter(|&p| p < own) {
                found.0.get_or_insert(own - parent);
            }
            map.iter().for_each(|(_, value)| find_layout(text, value, Some(own), found));
        }
        Value::List(list) => {
            let dash = list.first().and_then(|n| column(n.span().start)).and_then(|c| c.checked_sub(2));
            if let (Some(parent), Some(dash)) = (parent, dash)
                && dash >= parent
                && list.first().is_some_and(|n| !matches!(n.value, Value::List(_)))
            {
                found.1.get_or_insert(dash - parent);
            }
            list.iter().for_each(|entry| find_layout(text, entry, None, found));
        }
        Value::Scalar(_) => {}
    }
}
