//! Changes that `kustomize build` makes to values between the final resource and the output.
//!
//! kustomize (observed in v5.8.3) converts a resource twice before it prints it: first go-yaml v3 writes and parses it,
//! then it is written as Go's JSON and parsed by go-yaml v2. This changes four kinds of values:
//!
//! - Folded text (`>`) with lines that are indented deeper than the block. v3 writes one line break too many or too few
//!   around these lines: `sum(\n  rate(x)\n)` becomes `sum(\n\n  rate(x)\n)`.
//! - An empty value in flow style. v3 writes the null of `{a: }` as `{a: ''}`.
//! - Text that ends with blank lines (`|+`) at the end of a document, if a comment follows. v3 writes an additional
//!   line break before the comment, which becomes part of the text.
//! - U+0085, which is a line break for v2. It becomes a space in quoted JSON text.

use super::string_style::is_printable;
use crate::yaml::meta::{Style, Tag};
use crate::yaml::node::{Node, Value};

/// Changes a tree to the values that `kustomize build` prints for it.
///
/// Use it only at the end of a build whose output must equal kustomize's. Calling it again changes nothing.
pub fn apply_round_trip_changes(node: &mut Node) {
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

/// Changes a value inside a map or list of style `around`.
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
            if !text.is_ascii() && text.contains('\u{85}') {
                *text = reread_next_lines(text).into();
            }
        }
    }
}

/// Returns true if go-yaml v3 writes folded text as a block. It quotes all other text.
fn is_block(text: &str) -> bool {
    let fits = |c| c == '\t' || (is_printable(c) && !matches!(c, '\u{2028}' | '\u{2029}'));
    text.contains('\n') && !text.ends_with(' ') && !text.contains(" \n") && text.chars().all(fits)
}

/// Returns folded text after it was written and parsed.
///
/// A single line break between two lines at the block's indentation is parsed as a space, so an additional one must be
/// written. The writer adds it after every line at that indentation, whatever the next line is, and never if the first
/// line is indented deeper.
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
            // A single line break at the end remains single.
            out.extend(std::iter::repeat_n('\n', if breaks == 1 { 1 } else { written }));
        } else if deeper(line) || deeper(rest) {
            out.extend(std::iter::repeat_n('\n', written));
        } else {
            push_folded(written, &mut out);
        }
    }
    out
}

/// Returns text with U+0085 after it was parsed in quotes. Spaces around the line breaks are dropped.
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

/// Appends the result of parsing line breaks between two lines of folded text.
fn push_folded(breaks: usize, out: &mut String) {
    if breaks == 1 {
        out.push(' ');
    } else {
        out.extend(std::iter::repeat_n('\n', breaks.saturating_sub(1)));
    }
}
