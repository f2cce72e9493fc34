//! What a target is made of, as a graph for Graphviz.

use std::fmt::Write as _;

use super::tree::{BuildTree, title};
use smp_text::diagnostic::escaped;

/// A graph in the language of `dot`.
#[must_use]
pub fn tree_to_dot(tree: &BuildTree) -> String {
    let mut out = "digraph target {\n  rankdir=LR;\n  node [shape=box];\n".to_string();
    for (i, node) in tree.nodes.iter().enumerate() {
        let (title, told) = (quoted(&title(&node.part)), quoted(&tree.told(node)));
        let line = if told.is_empty() { "" } else { "\\n" };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  n{i} [label=\"{title}{line}{told}\"];");
    }
    for (parent, child) in tree.edges() {
        let _ = writeln!(out, "  n{parent} -> n{child};");
    }
    out + "}\n"
}

/// A text between quotes: a backslash begins an escape there.
fn quoted(text: &str) -> String {
    escaped(text).replace('\\', "\\\\").replace('"', "\\\"")
}
