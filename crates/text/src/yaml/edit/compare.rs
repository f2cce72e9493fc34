//! Compares trees to find out if a text must be edited.

use crate::yaml::meta::Meta;
use crate::yaml::node::{Map, Node, Value};

/// Returns true if two trees have the same data, and `after` has no line comments that `before` does not have. Comments
/// that are missing in `after` are ignored.
#[must_use]
pub fn is_unchanged(before: &Node, after: &Node) -> bool {
    if changed_line_comment(&before.meta, &after.meta).is_some() {
        return false;
    }
    match (&before.value, &after.value) {
        (Value::Map(before), Value::Map(after)) => same_maps(before, after),
        (Value::List(before), Value::List(after)) => {
            before.len() == after.len() && before.iter().zip(after).all(|(b, a)| is_unchanged(b, a))
        }
        _ => before == after,
    }
}

fn same_maps(before: &Map, after: &Map) -> bool {
    if before.len() != after.len() {
        return false;
    }
    let index = after.index();
    before.entries().iter().enumerate().all(|(i, entry)| {
        // In most cases, the compared maps have the same order.
        let here = after.entries().get(i).filter(|other| other.key.text == entry.key.text);
        let other = here.or_else(|| after.entries().get(index.position(&entry.key.text)?));
        other.is_some_and(|other| {
            changed_line_comment(&entry.key.meta, &other.key.meta).is_none()
                && is_unchanged(&entry.value, &other.value)
        })
    })
}

/// Returns the line comment of a value if it is new or changed.
pub(super) fn changed_line_comment<'n>(before: &Meta, after: &'n Meta) -> Option<&'n str> {
    let line = |meta: &'n Meta| meta.comments.as_ref().and_then(|c| c.line.as_deref());
    let after = line(after)?;
    let before = before.comments.as_ref().and_then(|c| c.line.as_deref());
    (before != Some(after)).then_some(after)
}
