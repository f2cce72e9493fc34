//! Writes new text for an edited file. Order, quoting and comments of the nodes are kept, and the layout
//! matches the surrounding file.
//!
//! Fragments start without the indentation of their first line, and end without a line break.

use std::borrow::Cow;

use super::flow_writer::FlowWriter;
use super::quoting::{format_name, format_string, original_spelling, quoted_date};
use crate::source::Reading;
use crate::yaml::emit::StringContext;
use crate::yaml::meta::{Comments, Meta, Style};
use crate::yaml::node::{Key, Map, Node, Value};
use crate::yaml::scalar::Resolved;

/// The layout of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// The number of columns by which a map is indented below its field.
    pub indent: usize,
    /// The number of columns by which the dashes of a list are indented below its field; may be 0.
    pub dash: usize,
    /// The program that will read the text.
    pub reading: Reading,
}

/// The maximum length of a name before a `:`, which YAML limits. Longer names are written after a `?`.
const LONGEST_NAME: usize = 1000;

impl Layout {
    /// Creates the default layout, for documents in which it cannot be detected.
    pub fn new(reading: Reading) -> Self {
        Self { indent: 2, dash: 0, reading }
    }

    /// Writes a field whose name begins at `column`.
    pub fn field(self, key: &Key, value: &Node, column: usize) -> String {
        let mut out = head(&key.meta, column);
        let name = format_name(key, self.reading);
        if name.len() > LONGEST_NAME {
            out.extend(["? ", &name, "\n", &spaces(column)]);
        } else {
            out.push_str(&name);
        }
        out.push(':');
        out.push_str(&self.value_of_field(value, column, line_comment(&key.meta)));
        out
    }

    /// Writes a list entry whose dash is at `column`.
    pub fn entry(self, node: &Node, column: usize) -> String {
        let mut out = head(&node.meta, column);
        let mut node = Cow::Borrowed(node);
        if let Some(first) = node.as_map().and_then(|map| map.entries().first())
            && comments(&first.key.meta).is_some_and(|c| !c.head.is_empty())
            && is_block(&node)
        {
            // Comments above the first field are placed above the dash.
            out.push_str(&head(&first.key.meta, column));
            let map = node.to_mut().as_map_mut();
            if let Some(comments) = map.and_then(|m| m.entries_mut().first_mut()?.key.meta.comments.as_mut())
            {
                comments.head.clear();
            }
        }
        out.push('-');
        out.push_str(&self.value_of_entry(&node, column));
        out
    }

    /// Writes the value of a field after its `:`. The name of the field begins at `column` and has the comment.
    pub fn value_of_field(self, value: &Node, column: usize, comment: Option<&str>) -> String {
        let comment_text = comment.map(|c| format!(" {c}")).unwrap_or_default();
        match &value.value {
            Value::Map(map) if is_block(value) => {
                let column = column + self.indent;
                format!("{comment_text}\n{}{}", spaces(column), self.map(map, column))
            }
            Value::List(list) if is_block(value) => {
                let column = column + self.dash;
                format!("{comment_text}\n{}{}", spaces(column), self.list(list, column))
            }
            _ => self.inline(value, column, self.indent, comment),
        }
    }

    /// Writes the value of an entry, after its dash.
    pub fn value_of_entry(self, value: &Node, column: usize) -> String {
        match &value.value {
            Value::Map(map) if is_block(value) => format!(" {}", self.map(map, column + 2)),
            Value::List(list) if is_block(value) => format!(" {}", self.list(list, column + 2)),
            _ => self.inline(value, column, 2, None),
        }
    }

    /// Writes a whole document, with a line break at the end.
    pub fn document(self, node: &Node) -> String {
        let mut out = head(&node.meta, 0);
        if let Some(comment) = line_comment(&node.meta).filter(|_| is_block(node)) {
            // The comment was after the brackets of an empty map or list.
            out.extend([comment, "\n"]);
        }
        match &node.value {
            Value::Map(map) if is_block(node) => out.push_str(&self.map(map, 0)),
            Value::List(list) if is_block(node) => out.push_str(&self.list(list, 0)),
            // An empty text would not be a document, and a block scalar needs a field.
            Value::Scalar(text) if text.is_empty() && node.is_null() => out.push_str("null"),
            _ => out.push_str(&FlowWriter::new(self.reading).write(node, "")),
        }
        out.push('\n');
        for line in comments(&node.meta).map(|c| c.foot.as_slice()).unwrap_or_default() {
            out.push_str(line);
            out.push('\n');
        }
        out
    }

    fn map(self, map: &Map, column: usize) -> String {
        let fields: Vec<_> = map.entries().iter().map(|e| self.field(&e.key, &e.value, column)).collect();
        fields.join(&format!("\n{}", spaces(column)))
    }

    fn list(self, list: &[Node], column: usize) -> String {
        let entries: Vec<_> = list.iter().map(|node| self.entry(node, column)).collect();
        entries.join(&format!("\n{}", spaces(column)))
    }

    /// Writes a scalar, or a map or list in brackets, after an indicator at `column`. Further lines are indented by
    /// `indent`.
    fn inline(self, node: &Node, column: usize, indent: usize, key_comment: Option<&str>) -> String {
        let text = match &node.value {
            Value::Scalar(_) => self.scalar(node, column, indent),
            _ => FlowWriter::new(self.reading).write(node, ""),
        };
        let space = if text.is_empty() { "" } else { " " };
        let comment = line_comment(&node.meta).or(key_comment).map(|c| format!(" {c}")).unwrap_or_default();
        match text.split_once('\n') {
            // The comment is after the `|`.
            Some((header, lines)) => format!("{space}{header}{comment}\n{lines}"),
            None => format!("{space}{text}{comment}"),
        }
    }

    fn scalar(self, node: &Node, column: usize, indent: usize) -> String {
        let Some(text) = node.scalar_text() else { return String::new() };
        if let Some(spelling) = original_spelling(node, self.reading) {
            return spelling.to_string();
        }
        match node.resolve() {
            Some(Resolved::Str(string)) => {
                // This text has an explicit indentation indicator, which is 2.
                let indent = if string.starts_with([' ', '\n']) { 2 } else { indent };
                format_string(
                    string,
                    &node.meta,
                    StringContext::Block { column: column + indent },
                    self.reading,
                )
            }
            Some(Resolved::Timestamp(date)) if self.reading == Reading::Kubectl => quoted_date(date),
            // Numbers, dates, booleans and null are written as in their source.
            _ => text.to_string(),
        }
    }
}

/// Changes a map or list that was empty, and therefore in brackets, to block style.
pub(super) fn as_block(before: &Node, after: &Node) -> Node {
    let mut after = after.clone();
    if before.is_empty_collection() && after.meta.style == Style::Flow && after.span() == before.span() {
        after.meta.style = Style::Block;
    }
    after
}

/// Changes a map or list that replaces one in brackets to flow style, if that is possible.
pub(super) fn with_flow_style_of(before: &Node, after: Node, reading: Reading) -> Node {
    let was_flow = !before.is_leaf() && before.meta.style == Style::Flow;
    if was_flow && std::mem::discriminant(&before.value) == std::mem::discriminant(&after.value) {
        return in_brackets(&after, reading).unwrap_or(after);
    }
    after
}

/// Changes a new list entry to flow style if its neighbors have it and if that is possible.
pub(super) fn with_style_of_neighbours<'n>(
    neighbours: &[Node],
    entry: &'n Node,
    reading: Reading,
) -> Cow<'n, Node> {
    let mut collections = neighbours.iter().filter(|node| !node.is_leaf()).peekable();
    if collections.peek().is_some() && collections.all(|node| node.meta.style == Style::Flow) {
        let with_comment = with_comment_behind(entry);
        return in_brackets(&with_comment, reading).map_or(Cow::Borrowed(entry), Cow::Owned);
    }
    Cow::Borrowed(entry)
}

/// Moves the comment after the entry's only field to the entry itself, if the entry has no other comment, so that the
/// entry can be written in brackets.
fn with_comment_behind(entry: &Node) -> Cow<'_, Node> {
    let only = entry.as_map().filter(|map| map.len() == 1 && comments(&entry.meta).is_none());
    let Some(comment) = only.and_then(|map| line_comment(&map.entries()[0].value.meta)) else {
        return Cow::Borrowed(entry);
    };
    let comment = Comments { line: Some(comment.into()), ..Comments::default() };
    let mut moved = entry.clone();
    if let Some(field) = moved.as_map_mut().and_then(|map| map.entries_mut().first_mut())
        && let Some(field_comments) = &mut field.value.meta.comments
    {
        field_comments.line = None;
        if **field_comments == Comments::default() {
            field.value.meta.comments = None;
        }
    }
    moved.meta.comments = Some(Box::new(comment));
    Cow::Owned(moved)
}

/// The maximum length of text in brackets. Longer text is easier to read in block style.
const LONGEST_FLOW: usize = 100;

/// Changes a map or list to flow style. Returns `None` if it would lose comments or be hard to read.
fn in_brackets(node: &Node, reading: Reading) -> Option<Node> {
    if !is_block(node) || !is_plain(node) || FlowWriter::new(reading).write(node, "").len() > LONGEST_FLOW {
        return None;
    }
    let mut node = node.clone();
    node.meta.style = Style::Flow;
    Some(node)
}

/// Returns true if no value inside has comments or several lines.
fn is_plain(node: &Node) -> bool {
    let has_no_comments = |meta: &Meta| meta.comments.is_none();
    match &node.value {
        Value::Scalar(text) => !text.contains('\n'),
        Value::List(list) => list.iter().all(|node| has_no_comments(&node.meta) && is_plain(node)),
        Value::Map(map) => map
            .entries()
            .iter()
            .all(|e| has_no_comments(&e.key.meta) && has_no_comments(&e.value.meta) && is_plain(&e.value)),
    }
}

/// Returns true if a map or list is written in block style.
fn is_block(node: &Node) -> bool {
    !node.is_leaf() && node.meta.style != Style::Flow
}

fn comments(meta: &Meta) -> Option<&Comments> {
    meta.comments.as_deref()
}

fn line_comment(meta: &Meta) -> Option<&str> {
    comments(meta).and_then(|c| c.line.as_deref())
}

/// Returns the comments above a node, each on a line of its own, with the indentation of the node.
fn head(meta: &Meta, column: usize) -> String {
    let lines = comments(meta).map(|c| c.head.as_slice()).unwrap_or_default();
    lines.iter().fold(String::new(), |head, line| head + line + "\n" + &spaces(column))
}

pub(super) fn spaces(columns: usize) -> String {
    " ".repeat(columns)
}
