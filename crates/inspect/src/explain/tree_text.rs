//! Text output of the structure of a target: one node per line.

use super::tree::{BuildTree, title};
use smp_text::diagnostic::{counted, escaped, escaped_line};

/// The characters with which the tree is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TreeLines {
    /// Unicode box-drawing characters.
    #[default]
    Box,
    /// ASCII characters.
    Ascii,
}

impl TreeLines {
    /// Returns four prefixes: for a node with a later sibling, for a last child, and for the descendants of each.
    fn prefixes(self) -> [&'static str; 4] {
        match self {
            Self::Box => ["├─ ", "└─ ", "│  ", "   "],
            Self::Ascii => ["|- ", "`- ", "|  ", "   "],
        }
    }
}

/// The maximum width of titles that determine the column of the descriptions.
const MAX_ALIGNED_WIDTH: usize = 60;

/// Renders the tree, followed by the number of objects.
#[must_use]
pub fn tree_to_text(tree: &BuildTree, lines: TreeLines) -> String {
    let [sibling, last, sibling_below, last_below] = lines.prefixes();
    let is_last = last_children(tree);
    // For each ancestor of the current node, true if it is the last child.
    let mut ancestors: Vec<bool> = Vec::new();
    let mut rows: Vec<(String, String)> = Vec::with_capacity(tree.nodes.len());
    for (node, is_last) in tree.nodes.iter().zip(is_last) {
        ancestors.truncate(node.part.depth);
        let mut left = String::new();
        if let Some((_, above)) = ancestors.split_first() {
            left.extend(above.iter().map(|is_last| if *is_last { last_below } else { sibling_below }));
            left.push_str(if is_last { last } else { sibling });
        }
        ancestors.push(is_last);
        left.push_str(&escaped_line(&title(&node.part)));
        rows.push((left, escaped(&tree.describe(node)).into_owned()));
    }
    let width = |left: &str| left.chars().count();
    let widths = rows.iter().filter(|(_, right)| !right.is_empty()).map(|(left, _)| width(left));
    let column = widths.filter(|width| *width <= MAX_ALIGNED_WIDTH).max().unwrap_or_default();
    let mut out = String::new();
    for (left, right) in &rows {
        out.push_str(left);
        if !right.is_empty() {
            out.extend(std::iter::repeat_n(' ', column.saturating_sub(width(left)) + 2));
            out.push_str(right);
        }
        out.push('\n');
    }
    let deleted = match tree.objects.len() - tree.object_count() {
        0 => String::new(),
        deleted => format!(", {deleted} deleted during the build"),
    };
    out + &format!("\ntotal: {}{deleted}\n", counted(tree.object_count(), "object"))
}

/// Returns a value for each node: true if it is the last child of its parent.
fn last_children(tree: &BuildTree) -> Vec<bool> {
    // The depths at which a later node exists under the same parent.
    let mut below: Vec<bool> = Vec::new();
    let mut all: Vec<bool> = tree
        .nodes
        .iter()
        .rev()
        .map(|node| {
            let depth = node.part.depth;
            below.resize(depth + 1, false);
            !std::mem::replace(&mut below[depth], true)
        })
        .collect();
    all.reverse();
    all
}
