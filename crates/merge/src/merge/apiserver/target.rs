//! Copies values of a patch into the target of a merge.
//!
//! Values are copied as by the API server (apimachinery 0.36), except for directives. The API server leaves some
//! directives in the object and drops them when it decodes the object, so they are not copied here.

use crate::merge::directive::{PATCH, is_directive, without_directives};
use smp_text::yaml::{Map, Node, Value};

/// The target of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MergeTarget {
    /// An object.
    Object,
    /// Another patch. Nulls and directives are kept.
    Patch,
}

/// The parts of a new value that are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Values,
    ValuesAndNulls,
    Everything,
}

impl MergeTarget {
    /// Returns the value of a new field. Returns `None` if no part of the value is copied.
    pub(super) fn new_value(self, node: &Node) -> Option<Node> {
        match self {
            Self::Object if node.is_null() => None,
            Self::Object => kept(node, Kept::Values),
            Self::Patch => kept(node, Kept::Everything),
        }
    }

    /// Returns an entry of a new list with `$setElementOrder` in the patch.
    pub(super) fn new_entry(self, node: &Node) -> Option<Node> {
        kept(node, if self == Self::Object { Kept::ValuesAndNulls } else { Kept::Everything })
    }

    /// Returns a value that replaces another one unchanged.
    pub(super) fn replacement(self, node: &Node) -> Node {
        if self == Self::Object { without_directives(node) } else { node.clone() }
    }
}

/// Copies a new value without the maps that contain `$patch`, at any depth.
fn kept(node: &Node, what: Kept) -> Option<Node> {
    let value = match &node.value {
        Value::Scalar(_) => return Some(node.clone()),
        // If null fields are dropped, `$patch: null` is dropped as well.
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
