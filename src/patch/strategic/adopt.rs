//! Values that a patch adds or puts in the place of others.
//!
//! As the API server takes them over (apimachinery 0.36), but for the directives: what it leaves of
//! them in the object falls away when the object is decoded, so it does not get in here either.

use crate::merge::directive::{PATCH, PatchField, without_directives};
use crate::yaml::{Map, Node, Value};

/// Whether fields that are null get in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nulls {
    Keep,
    Drop,
}

/// A value for a field that was not there: maps with `$patch` are left out of it, wherever they stand.
///
/// None when that leaves nothing.
pub(super) fn added(node: &Node, nulls: Nulls) -> Option<Node> {
    let value = match &node.value {
        Value::Scalar(_) => return Some(node.clone()),
        // Where null fields fall away, `$patch: null` falls away with them.
        Value::Map(map) if map.get(PATCH).is_some_and(|v| nulls == Nulls::Keep || !v.is_null()) => return None,
        Value::Map(map) => {
            let mut out = Map::new();
            for entry in map.entries() {
                let dropped = nulls == Nulls::Drop && entry.value.is_null();
                if dropped || PatchField::of(&entry.key.text).is_directive() {
                    continue;
                }
                if let Some(value) = added(&entry.value, nulls) {
                    out.push(entry.key.clone(), value);
                }
            }
            Value::Map(out)
        }
        Value::List(list) => Value::List(list.iter().filter_map(|entry| added(entry, nulls)).collect()),
    };
    Some(Node { value, meta: node.meta.clone() })
}

/// A value in the place of another one, as it stands in the patch.
pub(super) fn replacing(node: &Node) -> Node {
    without_directives(node)
}

/// Sets a value and keeps the comments of the former one where the new one has none.
pub(super) fn put(dest: &mut Node, mut value: Node) {
    if value.meta.comments.is_none() {
        value.meta.comments = dest.meta.comments.take();
    }
    *dest = value;
}
