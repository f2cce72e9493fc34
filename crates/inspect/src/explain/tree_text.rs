//! What a target is made of, for people: a node on each line.

use super::tree::{BuildTree, title};
use smp_text::diagnostic::{counted, escaped, escaped_line};

/// The characters that lines are drawn with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TreeLines {
    /// Those for drawing boxes.
    #[default]
    Box,
    /// Those that any terminal has.
    Ascii,
}

impl TreeLines {
    /// What stands before a node that others follow, before the last one, and below each of them.
    fn strokes(self) -> [&'static str; 4] {
        match self {
            Self::Box => ["├─ ", "└─ ", "│  ", "   "],
            Self::Ascii => ["|- ", "`- ", "|  ", "   "],
        }
    }
}

/// Titles that are longer do not move what stands behind others.
const WIDEST: usize = 60;

/// The tree, and the number of all objects below it.
#[must_use]
pub fn tree_to_text(tree: &BuildTree, lines: TreeLines) -> String {
    let [more, last, open, closed] = lines.strokes();
    let is_last = last_ones(tree);
    // Whether the nodes on the way to the present one are the last in theirs.
    let mut way: Vec<bool> = Vec::new();
    let mut told: Vec<(String, String)> = Vec::with_capacity(tree.nodes.len());
    for (node, is_last) in tree.nodes.iter().zip(is_last) {
        way.truncate(node.part.depth);
        let mut left = String::new();
        if let Some((_, above)) = way.split_first() {
            left.extend(above.iter().map(|is_last| if *is_last { closed } else { open }));
            left.push_str(if is_last { last } else { more });
        }
        way.push(is_last);
        left.push_str(&escaped_line(&title(&node.part)));
        told.push((left, escaped(&tree.told(node)).into_owned()));
    }
    let width = |left: &str| left.chars().count();
    let widths = told.iter().filter(|(_, right)| !right.is_empty()).map(|(left, _)| width(left));
    let column = widths.filter(|width| *width <= WIDEST).max().unwrap_or_default();
    let mut out = String::new();
    for (left, right) in &told {
        out.push_str(left);
        if !right.is_empty() {
            out.extend(std::iter::repeat_n(' ', column.saturating_sub(width(left)) + 2));
            out.push_str(right);
        }
        out.push('\n');
    }
    let deleted = match tree.objects.len() - tree.sum() {
        0 => String::new(),
        deleted => format!(", {deleted} deleted on the way"),
    };
    out + &format!("\nsum: {}{deleted}\n", counted(tree.sum(), "object"))
}

/// Whether each node is the last in the one that it is in.
fn last_ones(tree: &BuildTree) -> Vec<bool> {
    // The depths at which there is a node further down, in what is open.
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
