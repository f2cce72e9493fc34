//! Prints nodes as YAML, byte for byte like `kustomize build`.
//!
//! kustomize passes a resource through JSON into go-yaml v2, whose printer determines the order of fields and how
//! strings are quoted and folded. This module walks the tree and writes its block structure. `text` writes strings, and
//! `string_style` selects the styles of strings.
//!
//! Printed values parse back to the same values. kustomize changes a few values before it prints them;
//! [`apply_round_trip_changes`] reproduces these changes if they are needed. Names of more than 1,000 bytes fail in
//! kustomize but not here.

mod kyaml_style;
mod round_trip;
mod string_style;
mod text;

pub use kyaml_style::to_kyaml_style;
pub use round_trip::apply_round_trip_changes;
pub(super) use text::{StringContext, first_forbidden, format_unfolded};

use std::fmt::Write as _;
use std::ops::Range;

use rayon::prelude::*;

use self::string_style::{StringStyle, StringTraits};
use super::meta::Style;
use super::node::{Entry, Map, Node, Value};
use super::number::write_yaml_float;
use super::order::natural_order;
use super::print_error::{MAX_DEPTH, PrintError, PrintResult};
use super::scalar::{Resolved, timestamp};
use crate::diagnostic::Result;

/// Returns the style in which go-yaml writes a string in a block.
#[must_use]
pub fn style_of_string(text: &str) -> Style {
    match StringTraits::scan(text).style(text) {
        StringStyle::Plain => Style::Plain,
        StringStyle::Single => Style::SingleQuoted,
        StringStyle::Double => Style::DoubleQuoted,
        StringStyle::Literal => Style::Literal,
    }
}

/// Prints a node as YAML like `kustomize build`, with a line break at the end.
///
/// Fields are sorted, comments and anchors are dropped, and lists are not indented below their field. Numbers are
/// written by value (`0x1F` is `31`, `1.0` is `1`), and plain dates as RFC 3339 strings.
///
/// # Errors
/// A value is infinity or NaN or contains a character that YAML forbids, such as U+007F (the error has its location and
/// field path), or the tree is nested too deeply.
pub fn to_yaml(node: &Node) -> Result<String> {
    let mut out = String::new();
    write_yaml(node, &mut out)?;
    Ok(out)
}

/// Appends the YAML that [`to_yaml`] returns. Appends nothing if there is an error.
///
/// # Errors
/// The errors of [`to_yaml`].
pub fn write_yaml(node: &Node, out: &mut String) -> Result<()> {
    let before = out.len();
    YamlWriter { out, leaves: &mut () }.document(node).map_err(|failure| {
        out.truncate(before);
        failure.into_diagnostic()
    })
}

/// A leaf, and its range in the printed text.
pub struct PrintedLeaf<'n> {
    /// A scalar, or an empty map or list.
    pub node: &'n Node,
    /// The range in the text, including the line break after it.
    pub text: Range<usize>,
}

/// Returns the text of [`to_yaml`] and the ranges of its leaves, in text order.
///
/// # Errors
/// The errors of [`to_yaml`].
pub fn to_yaml_with_leaves(node: &Node) -> Result<(String, Vec<PrintedLeaf<'_>>)> {
    let (mut out, mut leaves) = (String::new(), Vec::new());
    let written = YamlWriter { out: &mut out, leaves: &mut leaves }.document(node);
    written.map_err(PrintError::into_diagnostic)?;
    Ok((out, leaves))
}

/// Receives the ranges of leaves in the output.
trait LeafRecorder<'n> {
    fn record(&mut self, node: &'n Node, text: Range<usize>);
}

/// Ignores the ranges of leaves.
impl LeafRecorder<'_> for () {
    fn record(&mut self, _: &Node, _: Range<usize>) {}
}

impl<'n> LeafRecorder<'n> for Vec<PrintedLeaf<'n>> {
    fn record(&mut self, node: &'n Node, text: Range<usize>) {
        self.push(PrintedLeaf { node, text });
    }
}

/// Appends documents as YAML, separated by `---`, as `kustomize build` prints them.
///
/// # Errors
/// The errors of [`to_yaml`]. The documents before the failing one are appended.
pub fn write_documents<'n>(documents: impl IntoIterator<Item = &'n Node>, out: &mut String) -> Result<()> {
    let mut separator = "";
    for document in documents {
        let before = out.len();
        out.push_str(separator);
        write_yaml(document, out).inspect_err(|_| out.truncate(before))?;
        separator = SEPARATOR;
    }
    Ok(())
}

/// Prints documents as YAML, separated by `---`, like `kustomize build`.
///
/// # Errors
/// The errors of [`to_yaml`].
pub fn to_documents<'n>(documents: impl IntoIterator<Item = &'n Node>) -> Result<String> {
    let mut parts = to_document_parts(documents)?;
    if parts.len() <= 1 { Ok(parts.pop().unwrap_or_default()) } else { Ok(parts.concat()) }
}

/// Prints documents like [`to_documents`], in several parts. The text consists of all parts together.
///
/// # Errors
/// The errors of [`to_yaml`].
pub fn to_document_parts<'n>(documents: impl IntoIterator<Item = &'n Node>) -> Result<Vec<String>> {
    let written = |(i, documents): (usize, &[&Node])| {
        let mut out = String::from(if i == 0 { "" } else { SEPARATOR });
        write_documents(documents.iter().copied(), &mut out).map(|()| out)
    };
    let documents: Vec<&Node> = documents.into_iter().collect();
    if documents.len() <= CHUNK_SIZE {
        return Ok(vec![written((0, &documents))?]);
    }
    // The parts are checked in order, so that the first error is reported.
    let parts: Vec<Result<String>> = documents.par_chunks(CHUNK_SIZE).enumerate().map(written).collect();
    parts.into_iter().collect()
}

/// The number of documents that one task prints. More documents are printed in parallel.
const CHUNK_SIZE: usize = 128;

/// The separator between documents.
const SEPARATOR: &str = "---\n";

/// The indentation per level.
const INDENT: usize = 2;

/// Writes nodes as YAML. Each function continues at the position where its caller stopped, and ends its last line.
struct YamlWriter<'o, L> {
    out: &'o mut String,
    leaves: &'o mut L,
}

impl<'n, L: LeafRecorder<'n>> YamlWriter<'_, L> {
    fn document(&mut self, node: &'n Node) -> PrintResult {
        match &node.value {
            Value::Map(map) if !map.is_empty() => self.map(map, 0, 1),
            Value::List(list) if !list.is_empty() => self.list(list, 0, 1),
            _ => self.leaf(node, INDENT),
        }
    }

    /// Writes the fields of a map. The output ends at column `indent`, the position of the first name.
    fn map(&mut self, map: &'n Map, indent: usize, depth: usize) -> PrintResult {
        let mut first = true;
        for entry in natural_order(map) {
            if !first {
                self.indent(indent);
            }
            first = false;
            self.field(entry, indent, depth).map_err(|e| e.in_field(&entry.key.text))?;
        }
        Ok(())
    }

    fn field(&mut self, Entry { key, value }: &'n Entry, indent: usize, depth: usize) -> PrintResult {
        if text::write_simple_key(&key.text, key.meta.span, self.out)? {
            self.out.push(':');
            return self.value(value, indent, depth);
        }
        self.out.push_str("? ");
        text::write_string(&key.text, key.meta.span, indent + INDENT, self.out)?;
        self.indent(indent);
        self.out.push(':');
        self.inline(value, indent, depth)
    }

    /// Writes the value after `name:`. Block collections begin on the next line.
    fn value(&mut self, node: &'n Node, indent: usize, depth: usize) -> PrintResult {
        match &node.value {
            Value::Map(map) if !map.is_empty() => {
                self.check_depth(node, depth)?;
                self.out.push('\n');
                self.indent(indent + INDENT);
                self.map(map, indent + INDENT, depth + 1)
            }
            Value::List(list) if !list.is_empty() => {
                self.check_depth(node, depth)?;
                self.out.push('\n');
                self.indent(indent);
                self.list(list, indent, depth + 1)
            }
            _ => {
                self.out.push(' ');
                self.leaf(node, indent + INDENT)
            }
        }
    }

    /// Writes the entries of a list. The output ends at column `indent`, the position of the first `-`.
    fn list(&mut self, list: &'n [Node], indent: usize, depth: usize) -> PrintResult {
        for (i, node) in list.iter().enumerate() {
            if i > 0 {
                self.indent(indent);
            }
            self.out.push('-');
            self.inline(node, indent, depth).map_err(|e| e.in_entry(i))?;
        }
        Ok(())
    }

    /// Writes the value after a `-`, or after the `:` of a name that occupies its own lines. Block collections begin on
    /// the same line.
    fn inline(&mut self, node: &'n Node, indent: usize, depth: usize) -> PrintResult {
        self.out.push(' ');
        match &node.value {
            Value::Map(map) if !map.is_empty() => {
                self.check_depth(node, depth)?;
                self.map(map, indent + INDENT, depth + 1)
            }
            Value::List(list) if !list.is_empty() => {
                self.check_depth(node, depth)?;
                self.list(list, indent + INDENT, depth + 1)
            }
            _ => self.leaf(node, indent + INDENT),
        }
    }

    #[allow(clippy::unused_self)] // For symmetry with the other steps.
    fn check_depth(&self, node: &'n Node, depth: usize) -> PrintResult {
        if depth < MAX_DEPTH { Ok(()) } else { Err(PrintError::too_deep(node.span())) }
    }

    /// Writes a scalar or an empty map or list, and the end of its line.
    fn leaf(&mut self, node: &'n Node, indent: usize) -> PrintResult {
        let start = self.out.len();
        self.leaf_text(node, indent)?;
        self.leaves.record(node, start..self.out.len());
        Ok(())
    }

    fn leaf_text(&mut self, node: &Node, indent: usize) -> PrintResult {
        match node.resolve() {
            None => self.out.push_str(if node.as_list().is_some() { "[]" } else { "{}" }),
            Some(Resolved::Null) => self.out.push_str("null"),
            Some(Resolved::Bool(bool)) => self.out.push_str(if bool { "true" } else { "false" }),
            Some(Resolved::Int(int)) => self.number(int),
            Some(Resolved::UInt(int)) => self.number(int),
            Some(Resolved::Float(float)) if float.is_finite() => write_yaml_float(float, self.out),
            Some(Resolved::Float(_)) => return Err(PrintError::not_finite(node.span())),
            Some(Resolved::Timestamp(text)) => {
                let text = timestamp(text);
                // Without the quotes, the text would be parsed as a date.
                self.out.push('"');
                self.out.push_str(text.as_deref().unwrap_or_default());
                self.out.push('"');
            }
            Some(Resolved::Str(text)) => return text::write_string(text, node.span(), indent, self.out),
        }
        self.out.push('\n');
        Ok(())
    }

    fn number(&mut self, number: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{number}");
    }

    fn indent(&mut self, columns: usize) {
        text::indent(columns, self.out);
    }
}

#[cfg(test)]
mod tests;
