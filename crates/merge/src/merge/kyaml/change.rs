//! Change detection of the three-way merge: two values are equal if kyaml prints the same text for both.
//!
//! kyaml prints values on one line, with scalars in single quotes. Therefore quotes within a list, the order of map
//! fields and comments are significant; block or flow style is not.

use smp_text::yaml::{Key, Meta, Node, Resolved, Style, Tag, Value, resolve_plain};

/// Returns true if a scalar has another text in the updated version than in the original. If dest is absent or still
/// has the original value, changed comments and tags are also a change.
pub(super) fn scalar_changed(original: &Node, updated: &Node, dest: Option<&Node>) -> bool {
    let untouched = dest.is_none_or(|dest| same_print(dest, original));
    untouched && !same_print(original, updated) || original.scalar_text() != updated.scalar_text()
}

/// Returns true if a list differs between the original and the updated version.
pub(super) fn list_changed(original: &Node, updated: &Node) -> bool {
    !same_print(original, updated)
}

/// Returns the key from which a field gets its comments, if any. Comments merge like scalars.
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

/// Returns true if kyaml prints the same text for two values, whatever their own styles are.
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

/// Maps styles that are printed in the same way on one line to one style. Block scalars are printed in double quotes.
fn quotes(style: Style) -> Style {
    match style {
        Style::Literal | Style::Folded => Style::DoubleQuoted,
        Style::Block | Style::Flow => Style::Plain,
        other => other,
    }
}

/// Returns the tag that is printed, which is a tag that the text does not imply.
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
    fn values_that_print_alike_are_equal() {
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
