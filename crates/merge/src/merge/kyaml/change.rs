//! What counts as a change in a three-way merge: whether kyaml would print two values alike.
//!
//! It prints them in one line (a scalar in single quotes), so that quotes within a list, the order of
//! the fields of a map and comments count, while block or flow style does not.

use smp_text::yaml::{Key, Meta, Node, Resolved, Style, Tag, Value, resolve_plain};

/// Whether a scalar that both versions have has another text; where dest has it as it was, other
/// comments count as well.
pub(super) fn scalar_changed(original: &Node, updated: &Node, dest: Option<&Node>) -> bool {
    let untouched = dest.is_none_or(|dest| same_print(dest, original));
    untouched && !same_print(original, updated) || original.scalar_text() != updated.scalar_text()
}

/// Whether a list that both versions have is another one.
pub(super) fn list_changed(original: &Node, updated: &Node) -> bool {
    !same_print(original, updated)
}

/// The key whose comments a field gets, if any: comments merge as scalars do.
pub(super) fn key_comments<'k>(
    dest: Option<&'k Key>,
    original: Option<&'k Key>,
    updated: Option<&'k Key>,
) -> Option<&'k Key> {
    match (original, updated) {
        (None, None) => dest,
        (Some(original), Some(updated)) => {
            let untouched = dest.is_none_or(|dest| same_comments(&dest.meta, &original.meta));
            if untouched && !same_comments(&original.meta, &updated.meta) { Some(updated) } else { dest }
        }
        _ => updated,
    }
}

/// Whether two values print alike, whatever the style of the values themselves.
fn same_print(a: &Node, b: &Node) -> bool {
    if !same_comments(&a.meta, &b.meta) {
        return false;
    }
    match (&a.value, &b.value) {
        (Value::Scalar(x), Value::Scalar(y)) => x == y && shown_tag(a) == shown_tag(b),
        (Value::List(x), Value::List(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same_nested(x, y))
        }
        (Value::Map(x), Value::Map(y)) => {
            let same_key = |x: &Meta, y: &Meta| same_comments(x, y) && quotes(x.style) == quotes(y.style);
            x.len() == y.len()
                && x.entries().iter().zip(y.entries()).all(|(x, y)| {
                    x.key.text == y.key.text
                        && same_key(&x.key.meta, &y.key.meta)
                        && same_nested(&x.value, &y.value)
                })
        }
        _ => false,
    }
}

fn same_nested(a: &Node, b: &Node) -> bool {
    let is_scalar = matches!(a.value, Value::Scalar(_));
    (!is_scalar || quotes(a.meta.style) == quotes(b.meta.style)) && same_print(a, b)
}

/// The styles that are told apart in one line, where blocks become double quotes.
fn quotes(style: Style) -> Style {
    match style {
        Style::Literal | Style::Folded => Style::DoubleQuoted,
        Style::Block | Style::Flow => Style::Plain,
        other => other,
    }
}

/// The tag that is printed: one that the text does not imply.
fn shown_tag(node: &Node) -> Tag {
    let tag = node.meta.tag;
    let Value::Scalar(text) = &node.value else { return Tag::None };
    let implied = matches!(
        (tag, resolve_plain(text)),
        (Tag::Str, _)
            | (Tag::Null, Resolved::Null)
            | (Tag::Bool, Resolved::Bool(_))
            | (Tag::Int, Resolved::Int(_) | Resolved::UInt(_))
            | (Tag::Float, Resolved::Float(_))
            | (Tag::Timestamp, Resolved::Timestamp(_))
    );
    if implied || matches!(tag, Tag::Undecided | Tag::Quoted) { Tag::None } else { tag }
}

fn same_comments(a: &Meta, b: &Meta) -> bool {
    match (a.comments.as_deref(), b.comments.as_deref()) {
        (None, None) => true,
        (a, b) => a.cloned().unwrap_or_default() == b.cloned().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::kyaml::testing::commented;

    #[test]
    fn what_prints_alike_is_the_same() {
        let table = [
            ("1", "\"1\"", true),
            ("1", "0x1", false),
            ("!!int 1", "1", true),
            ("!!float 1", "1", false),
            ("[a, b]", "- a\n- b\n", true),
            ("[a, 'b']", "[a, b]", false),
            ("[[a], {b: c}]", "- - a\n- b: c\n", true),
            ("[{a: 1, b: 2}]", "[{b: 2, a: 1}]", false),
            ("[{a: 1}]", "[{'a': 1}]", false),
            ("[\"x\"]", "- |-\n  x\n", true),
            ("1 # one", "1 # other", false),
            ("- a # one\n", "- a\n", false),
            ("[a]", "[a, b]", false),
            ("[a]", "{a: b}", false),
        ];
        for (a, b, want) in table {
            assert_eq!(same_print(&commented(a), &commented(b)), want, "{a} and {b}");
        }
    }
}
