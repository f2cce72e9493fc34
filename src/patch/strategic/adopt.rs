//! Values that a patch adds or puts in the place of others.
//!
//! As the API server takes them over (apimachinery 0.36), but for the directives: what it leaves of
//! them in the object falls away when the object is decoded, so it does not get in here either.

use crate::merge::directive::{PATCH, PatchField, without_directives};
use crate::yaml::{Map, Node, Value};

/// What a value becomes part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Into {
    /// An object. Its fields that are null fall away.
    Object,
    /// An object that takes nulls as well.
    ObjectWithNulls,
    /// Another patch, which keeps nulls and directives.
    Patch,
}

/// A value for a field that was not there: maps with `$patch` are left out of it, wherever they stand.
///
/// None when that leaves nothing.
pub(super) fn added(node: &Node, into: Into) -> Option<Node> {
    let value = match &node.value {
        Value::Scalar(_) => return Some(node.clone()),
        // Where null fields fall away, `$patch: null` falls away with them.
        Value::Map(map) if map.get(PATCH).is_some_and(|v| into != Into::Object || !v.is_null()) => {
            return None;
        }
        Value::Map(map) => {
            let mut out = Map::new();
            for entry in map.entries() {
                let dropped = match into {
                    Into::Object => entry.value.is_null() || PatchField::of(&entry.key.text).is_directive(),
                    Into::ObjectWithNulls => PatchField::of(&entry.key.text).is_directive(),
                    Into::Patch => false,
                };
                if let Some(value) = (!dropped).then(|| added(&entry.value, into)).flatten() {
                    out.push(entry.key.clone(), value);
                }
            }
            Value::Map(out)
        }
        Value::List(list) => Value::List(list.iter().filter_map(|entry| added(entry, into)).collect()),
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
