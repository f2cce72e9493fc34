//! The structure of a target as a Mermaid flowchart.

use std::fmt::Write as _;

use super::tree::{BuildTree, title};
use smp_text::diagnostic::escaped;

/// Renders a flowchart.
#[must_use]
pub fn tree_to_mermaid(tree: &BuildTree) -> String {
    let mut out = "flowchart LR\n".to_string();
    for (i, node) in tree.nodes.iter().enumerate() {
        let (title, summary) = (quoted(&title(&node.part)), quoted(&tree.describe(node)));
        let line = if summary.is_empty() { "" } else { "<br/>" };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  n{i}[\"{title}{line}{summary}\"]");
    }
    for (parent, child) in tree.edges() {
        let _ = writeln!(out, "  n{parent} --> n{child}");
    }
    out
}

/// Escapes a text for a quoted label. Characters with a special meaning in HTML or Markdown become numeric entities.
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
