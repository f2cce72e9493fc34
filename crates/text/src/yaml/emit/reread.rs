//! What `kustomize build` loses between a finished resource and its output.
//!
//! kustomize (seen in v5.8.3) prints a resource by way of two other texts: go-yaml v3 writes it
//! and reads it back, then Go's JSON is written and go-yaml v2 reads it. Four kinds of values come
//! back changed:
//!
//! - Folded text (`>`) where lines are indented deeper than the block. v3 writes a line break too
//!   many or too few beside them: `sum(\n  rate(x)\n)` becomes `sum(\n\n  rate(x)\n)`.
//! - An empty value in flow style. v3 writes the null of `{a: }` as `{a: ''}`.
//! - Text that ends with blank lines (`|+`) where a document ends, if a comment follows: v3 writes one more line break
//!   before the comment, which becomes a part of the text.
//! - U+0085, for v2 a line break, which in quoted JSON text folds to a space.

use super::traits::is_printable;
use crate::yaml::meta::{Style, Tag};
use crate::yaml::node::{Node, Value};

/// Changes a tree to what `kustomize build` prints for it.
///
/// For the end of a build that must print what kustomize prints; everything else is better off
/// without. A second call changes nothing.
pub fn reread(node: &mut Node) {
    reread_within(node, Style::Block);
    node.change_last_leaf(reread_last);
}

/// Changes the last value of a document.
fn reread_last(leaf: &mut Node) {
    let foot = leaf.meta.comments.as_mut().map(|comments| std::mem::take(&mut comments.foot));
    if let (Style::Literal, Value::Scalar(text)) = (leaf.meta.style, &mut leaf.value)
        && foot.is_some_and(|foot| !foot.is_empty())
        && ends_with_blank_line(text)
        && is_block(text)
    {
        *text = format!("{text}\n").into();
    }
}

fn ends_with_blank_line(text: &str) -> bool {
    text.ends_with("\n\n") || text == "\n"
}

/// Changes a value that stands in a map or list of the style `around`.
fn reread_within(node: &mut Node, around: Style) {
    let around = if around == Style::Flow { around } else { node.meta.style };
    match &mut node.value {
        Value::Map(map) => map.iter_mut().for_each(|(_, value)| reread_within(value, around)),
        Value::List(list) => list.iter_mut().for_each(|value| reread_within(value, around)),
        Value::Scalar(text) => {
            if text.is_empty() && around == Style::Flow && matches!(node.meta.tag, Tag::None | Tag::Undecided)
            {
                node.meta.tag = Tag::Str;
            }
            if node.meta.style == Style::Folded && is_block(text) {
                *text = reread_folded(text).into();
                node.meta.style = Style::Literal;
            }
            if text.contains('\u{85}') {
                *text = reread_next_lines(text).into();
            }
        }
    }
}

/// Whether go-yaml v3 writes folded text as a block; it quotes the rest.
fn is_block(text: &str) -> bool {
    let fits = |c| c == '\t' || (is_printable(c) && !matches!(c, '\u{2028}' | '\u{2029}'));
    text.contains('\n') && !text.ends_with(' ') && !text.contains(" \n") && text.chars().all(fits)
}

/// Folded text after it was written and read.
///
/// A line break between two lines at the block's indentation is a space to the reader, and one
/// more must be written. The writer adds it behind every line at the indentation, whether or not
/// the next one is, and never when the first line is indented deeper.
fn reread_folded(text: &str) -> String {
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
        } else {
            push_folded(written, &mut out);
        }
    }
    out
}

/// Text with U+0085 after it was read in quotes: spaces around the breaks are gone.
fn reread_next_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((line, from)) = rest.split_once('\u{85}') {
        out.push_str(line.trim_end_matches(' '));
        rest = from.trim_start_matches([' ', '\u{85}']);
        let more = from[..from.len() - rest.len()].matches('\u{85}').count();
        push_folded(1 + more, &mut out);
    }
    out.push_str(rest);
    out
}

/// What a reader makes of line breaks between two lines of folded text.
fn push_folded(breaks: usize, out: &mut String) {
    if breaks == 1 {
        out.push(' ');
    } else {
        out.extend(std::iter::repeat_n('\n', breaks.saturating_sub(1)));
    }
}
