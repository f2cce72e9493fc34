//! How values of a patch get into what it is merged into.
//!
//! As the API server takes them over (apimachinery 0.36), but for the directives: what it leaves of
//! them in the object falls away when the object is decoded, so it does not get in here either.

use crate::merge::directive::{PATCH, is_directive, without_directives};
use smp_text::yaml::{Map, Node, Value};

/// What a patch is merged into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MergeTarget {
    /// An object.
    Object,
    /// Another patch, which keeps nulls and directives.
    Patch,
}

/// What of a new value stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Values,
    ValuesAndNulls,
    Everything,
}

impl MergeTarget {
    /// A value for a field that was not there; none when nothing is left of it.
    pub(super) fn added(self, node: &Node) -> Option<Node> {
        match self {
            Self::Object if node.is_null() => None,
            Self::Object => kept(node, Kept::Values),
            Self::Patch => kept(node, Kept::Everything),
        }
    }

    /// An entry for a list that was not there and that the patch gives an order.
    pub(super) fn added_entry(self, node: &Node) -> Option<Node> {
        kept(node, if self == Self::Object { Kept::ValuesAndNulls } else { Kept::Everything })
    }

    /// A value in the place of another one, as it stands in the patch.
    pub(super) fn replacing(self, node: &Node) -> Node {
        if self == Self::Object { without_directives(node) } else { node.clone() }
    }
}

/// A new value. Maps with `$patch` are left out of it, wherever they stand.
fn kept(node: &Node, what: Kept) -> Option<Node> {
    let value = match &node.value {
        Value::Scalar(_) => return Some(node.clone()),
        // Where null fields fall away, `$patch: null` falls away with them.
        Value::Map(map) if map.get(PATCH).is_some_and(|v| what != Kept::Values || !v.is_null()) => {
            return None;
        }
        Value::Map(map) => {
            let mut out = Map::new();
            for entry in map.entries() {
                let stays = match what {
                    Kept::Everything => true,
                    Kept::Values if entry.value.is_null() => false,
                    Kept::Values | Kept::ValuesAndNulls => !is_directive(&entry.key.text),
                };
                if let Some(value) = stays.then(|| kept(&entry.value, what)).flatten() {
                    out.push(entry.key.clone(), value);
                }
            }
            Value::Map(out)
        }
        Value::List(list) => Value::List(list.iter().filter_map(|entry| kept(entry, what)).collect()),
    };
    Some(Node { value, meta: node.meta.clone() })
}
