//! What `kustomize build` does to folded text (`>`) on its way to the output.
//!
//! Before it prints a resource with go-yaml v2, kustomize (seen in v5.8.1) writes it with go-yaml v3
//! and reads it back. v3 writes folded blocks with a line break too many or too few wherever a
//! line is indented deeper than its text, so that the value changes:
//!
//! ```yaml
//! expr: >        # comes out as "sum(\n\n  rate(x)\n) by (a)\n"
//!   sum(
//!     rate(x)
//!   ) by (a)
//! ```

use super::traits::is_printable;
use crate::yaml::node::{Node, Style, Value};

/// Changes folded text to what `kustomize build` prints for it.
///
/// For the end of a build that must print what kustomize prints. Changed text is marked as a
/// literal block, so that a second call does nothing.
pub fn refold(node: &mut Node) {
    match &mut node.value {
        Value::Map(map) => map.iter_mut().for_each(|(_, value)| refold(value)),
        Value::List(list) => list.iter_mut().for_each(refold),
        Value::Scalar(text) => {
            if node.meta.style == Style::Folded && is_block(text) {
                *text = reread(text).into();
                node.meta.style = Style::Literal;
            }
        }
    }
}

/// Whether go-yaml v3 writes folded text as a block; it quotes the rest.
fn is_block(text: &str) -> bool {
    let fits = |c| c == '\t' || (is_printable(c) && !matches!(c, '\u{2028}' | '\u{2029}'));
    text.contains('\n') && !text.ends_with(' ') && !text.contains(" \n") && text.chars().all(fits)
}

/// The text after it was written and read.
///
/// A line break between two lines at the block's indentation is a space to the reader, and one
/// more must be written. The writer adds it behind every line at the indentation, whether or not
/// the next one is, and never when the first line is indented deeper.
fn reread(text: &str) -> String {
    let deeper = |line: &str| line.starts_with([' ', '\t']);
    let mut rest = text.trim_start_matches('\n');
    let adds = !deeper(rest);
    let mut out = String::with_capacity(text.len() + 8);
    out.push_str(&text[..text.len() - rest.len()]);
    while !rest.is_empty() {
        let (line, from) = rest.split_at(rest.find('\n').unwrap_or(rest.len()));
        rest = from.trim_start_matches('\n');
        let breaks = from.len() - rest.len();
        let written = breaks + usize::from(breaks > 0 && adds && !deeper(line));
        out.push_str(line);
        if rest.is_empty() {
            // One line break at the end is always kept as one.
            out.extend(std::iter::repeat_n('\n', if breaks == 1 { 1 } else { written }));
        } else if deeper(line) || deeper(rest) {
            out.extend(std::iter::repeat_n('\n', written));
        } else if written == 1 {
            out.push(' ');
        } else {
            out.extend(std::iter::repeat_n('\n', written - 1));
        }
    }
    out
}
