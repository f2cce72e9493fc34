//! New text for an edited file: order, quoting and comments of the nodes are kept, and the layout
//! is that of the file around it.

use super::super::emit::unfolded;
use super::super::node::{Comments, Key, Map, Meta, Node, Style, Value};
use super::super::scalar::Resolved;

/// How a file is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Layout {
    /// Columns by which a map stands deeper than the field that it is the value of.
    pub indent: usize,
    /// Columns by which the dashes of a list stand deeper than the field; 0 or more.
    pub dash: usize,
}

impl Default for Layout {
    fn default() -> Self {
        Self { indent: 2, dash: 0 }
    }
}

/// Writes nodes in a layout.
pub(super) struct Fragment {
    layout: Layout,
}

impl Fragment {
    pub fn new(layout: Layout) -> Self {
        Self { layout }
    }

    /// A field whose name stands at `column`: `name: value` without a line break at the end, the
    /// first line without its indentation.
    pub fn field(&self, key: &Key, value: &Node, column: usize) -> String {
        let mut out = String::new();
        head(&key.meta, column, &mut out);
        out.push_str(&key_text(key));
        out.push(':');
        out.push_str(&self.value_of_field(value, column, line_comment(&key.meta)));
        out
    }

    /// A list entry whose dash stands at `column`, likewise.
    pub fn entry(&self, node: &Node, column: usize) -> String {
        let mut out = String::new();
        head(&node.meta, column, &mut out);
        out.push('-');
        out.push_str(&self.value_of_entry(node, column));
        out
    }

    /// What stands behind the `:` of a field whose name stands at `column`.
    pub fn value_of_field(&self, value: &Node, column: usize, comment: Option<&str>) -> String {
        let behind = comment.map(|c| format!(" {c}")).unwrap_or_default();
        match &value.value {
            Value::Map(map) if is_block(value) => {
                let column = column + self.layout.indent;
                format!("{behind}\n{}{}", spaces(column), self.map(map, column))
            }
            Value::List(list) if is_block(value) => {
                let column = column + self.layout.dash;
                format!("{behind}\n{}{}", spaces(column), self.list(list, column))
            }
            _ => {
                let text = self.inline(value, column + self.layout.indent);
                let space = if text.is_empty() { "" } else { " " };
                format!("{space}{text}{}", comment_behind(value, &text, comment))
            }
        }
    }

    /// What stands behind the dash of an entry.
    pub fn value_of_entry(&self, value: &Node, column: usize) -> String {
        match &value.value {
            Value::Map(map) if is_block(value) => format!(" {}", self.map(map, column + 2)),
            Value::List(list) if is_block(value) => format!(" {}", self.list(list, column + 2)),
            _ => {
                let text = self.inline(value, column + 2);
                let space = if text.is_empty() { "" } else { " " };
                format!("{space}{text}{}", comment_behind(value, &text, None))
            }
        }
    }

    /// A whole document.
    pub fn document(&self, node: &Node) -> String {
        let mut out = String::new();
        head(&node.meta, 0, &mut out);
        match &node.value {
            Value::Map(map) if is_block(node) => out.push_str(&self.map(map, 0)),
            Value::List(list) if is_block(node) => out.push_str(&self.list(list, 0)),
            _ => out.push_str(&self.inline(node, self.layout.indent)),
        }
        out
    }

    fn map(&self, map: &Map, column: usize) -> String {
        let fields: Vec<_> = map.entries().iter().map(|e| self.field(&e.key, &e.value, column)).collect();
        fields.join(&format!("\n{}", spaces(column)))
    }

    fn list(&self, list: &[Node], column: usize) -> String {
        let entries: Vec<_> = list.iter().map(|node| self.entry(node, column)).collect();
        entries.join(&format!("\n{}", spaces(column)))
    }

    /// A scalar, or a map or list in brackets.
    fn inline(&self, node: &Node, column: usize) -> String {
        match &node.value {
            Value::Scalar(_) => scalar(node, column, false),
            _ => flow(node, false),
        }
    }
}

/// Whether a map or list is written over several lines.
fn is_block(node: &Node) -> bool {
    let empty = match &node.value {
        Value::Map(map) => map.is_empty(),
        Value::List(list) => list.is_empty(),
        Value::Scalar(_) => true,
    };
    !empty && node.meta.style != Style::Flow
}

/// A node in brackets; `quoted` as JSON has it.
pub(super) fn flow(node: &Node, quoted: bool) -> String {
    match &node.value {
        Value::Scalar(_) => scalar_in_flow(node, quoted),
        Value::Map(map) => {
            let fields: Vec<_> = map.entries().iter().map(|e| flow_field(&e.key, &e.value, quoted)).collect();
            format!("{{{}}}", fields.join(", "))
        }
        Value::List(list) => {
            let entries: Vec<_> = list.iter().map(|n| flow(n, quoted)).collect();
            format!("[{}]", entries.join(", "))
        }
    }
}

/// A field between braces.
pub(super) fn flow_field(key: &Key, value: &Node, quoted: bool) -> String {
    let key = if quoted {
        unfolded(&key.text, Style::DoubleQuoted, 0, true)
    } else {
        unfolded(&key.text, key.meta.style, 0, true)
    };
    format!("{key}: {}", flow(value, quoted))
}

fn scalar_in_flow(node: &Node, quoted: bool) -> String {
    match node.resolve() {
        Some(Resolved::Str(text) | Resolved::Timestamp(text)) if quoted => {
            unfolded(text, Style::DoubleQuoted, 0, true)
        }
        Some(Resolved::Null) => "null".into(),
        _ => scalar(node, 0, true),
    }
}

/// A scalar whose further lines begin at `column`.
fn scalar(node: &Node, column: usize, flow: bool) -> String {
    let Some(text) = node.scalar_text() else { return String::new() };
    match node.resolve() {
        Some(Resolved::Str(string)) => unfolded(string, node.meta.style, column, flow),
        // Numbers, dates, booleans and null as they were written.
        _ => text.to_string(),
    }
}

fn key_text(key: &Key) -> String {
    unfolded(&key.text, key.meta.style, 0, true)
}

fn comments(meta: &Meta) -> Option<&Comments> {
    meta.comments.as_deref()
}

fn line_comment(meta: &Meta) -> Option<&str> {
    comments(meta).and_then(|c| c.line.as_deref())
}

/// The comments above, each on its line, with the indentation of what follows.
fn head(meta: &Meta, column: usize, out: &mut String) {
    for line in comments(meta).map(|c| c.head.as_slice()).unwrap_or_default() {
        out.push_str(line);
        out.push('\n');
        out.push_str(&spaces(column));
    }
}

/// The comment behind a value, unless the value spans lines.
fn comment_behind(value: &Node, text: &str, of_key: Option<&str>) -> String {
    match line_comment(&value.meta).or(of_key) {
        Some(comment) if !text.contains('\n') => format!(" {comment}"),
        _ => String::new(),
    }
}

pub(super) fn spaces(columns: usize) -> String {
    " ".repeat(columns)
}
