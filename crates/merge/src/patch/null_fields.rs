//! Null fields in an owner's version of an object, which are treated as absent.
//!
//! Programs that write manifests add fields such as `creationTimestamp: null`. API servers treat a null field as absent
//! if the field has a type.

use crate::schema::Cursor;
use smp_text::yaml::{Map, Node, Value};

/// The metadata map of objects and templates.
const METADATA: &str = "metadata";

/// Returns true if null in a field of this map is treated as absent: the field's type is known, or the map is
/// `metadata`.
pub(super) fn null_counts_as_absent(map: Cursor<'_>, map_name: &str, field: &str) -> bool {
    map.has_field(field) || map.field(field).is_known() || map_name == METADATA
}

/// The null fields that are treated as absent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NullFields {
    /// Null fields in metadata, which the server manages.
    Metadata,
    /// Null fields with a known type.
    Typed,
    /// All null fields, except in lists without a known type, which patches contain unchanged.
    All,
}

impl NullFields {
    /// Returns the object without the null fields that are treated as absent.
    pub(super) fn removed_from(self, object: &Node, kind: Cursor<'_>) -> Node {
        let mut object = object.clone();
        self.clean(&mut object, kind, "");
        object
    }

    fn clean(self, node: &mut Node, cursor: Cursor<'_>, name: &str) {
        match &mut node.value {
            Value::Map(map) => self.clean_map(map, cursor, name),
            Value::List(list) => {
                let element = cursor.element();
                let nulls = if self == Self::All && !element.is_known() { Self::Typed } else { self };
                for entry in list {
                    nulls.clean(entry, element, "");
                }
            }
            Value::Scalar(_) => {}
        }
    }

    fn clean_map(self, map: &mut Map, cursor: Cursor<'_>, name: &str) {
        let stays = |field: &str| match self {
            Self::Metadata => name != METADATA,
            Self::Typed => !null_counts_as_absent(cursor, name, field),
            Self::All => false,
        };
        map.entries_mut().retain(|entry| !entry.value.is_null() || stays(&entry.key.text));
        for (field, value) in map.iter_mut() {
            self.clean(value, cursor.field(field), field);
        }
    }
}
