//! The structure of a target as a Graphviz graph.

use std::fmt::Write as _;

use super::tree::{BuildTree, title};
use smp_text::diagnostic::escaped;

/// Renders a graph in the DOT language.
#[must_use]
pub fn tree_to_dot(tree: &BuildTree) -> String {
    let mut out = "digraph target {\n  rankdir=LR;\n  node [shape=box];\n".to_string();
    for (i, node) in tree.nodes.iter().enumerate() {
        let (title, summary) =
            (escape_dot_string(&title(&node.part)), escape_dot_string(&tree.describe(node)));
        let separator = if summary.is_empty() { "" } else { "\\n" };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  n{i} [label=\"{title}{separator}{summary}\"];");
    }
    for (parent, child) in tree.edges() {
        let _ = writeln!(out, "  n{parent} -> n{child};");
    }
    out + "}\n"
}

/// Escapes a text for a quoted DOT string.
fn escape_dot_string(text: &str) -> String {
    escaped(text).replace('\\', "\\\\").replace('"', "\\\"")
}
