//! What a target is made of, as a Mermaid flowchart.

use std::fmt::Write as _;

use super::tree::{BuildTree, title};
use smp_text::diagnostic::escaped;

/// A flowchart.
#[must_use]
pub fn tree_to_mermaid(tree: &BuildTree) -> String {
    let mut out = "flowchart LR\n".to_string();
    for (i, node) in tree.nodes.iter().enumerate() {
        let (title, told) = (quoted(&title(&node.part)), quoted(&tree.told(node)));
        let line = if told.is_empty() { "" } else { "<br/>" };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  n{i}[\"{title}{line}{told}\"]");
    }
    for (parent, child) in tree.edges() {
        let _ = writeln!(out, "  n{parent} --> n{child}");
    }
    out
}

/// A text between quotes. All that could be HTML, Markdown or an end of the text is a numbered entity.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for c in escaped(text).chars() {
        if c.is_alphanumeric() || matches!(c, ' ' | '/' | '.' | ',' | ':' | '-' | '(' | ')') {
            out.push(c);
        } else {
            let _ = write!(out, "#{};", u32::from(c));
        }
    }
    out
}
