//! Fields that are null in what an owner says of an object: they say nothing.
//!
//! Programs that write manifests put `creationTimestamp: null` into them. To an API server such a field is not
//! there, wherever it has a type for it.

use crate::schema::Cursor;
use smp_text::yaml::{Map, Node, Value};

/// The map that every object has, and templates of objects.
const METADATA: &str = "metadata";

/// Whether null is no value in the fields of a map: their types are known, or it is the metadata of an object.
pub(super) fn is_nothing(map: Cursor<'_>, map_name: &str, field: &str) -> bool {
    map.has_field(field) || map.field(field).is_known() || map_name == METADATA
}

/// Which fields of an object say nothing when they are null.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Nulls {
    /// Those of metadata, which the server keeps to itself.
    Metadata,
    /// Those of which the type is known.
    Typed,
    /// All but those in lists of which nothing is known: any patch has such a list as it is.
    All,
}

impl Nulls {
    /// What an owner says of an object.
    pub(super) fn left_out(self, object: &Node, kind: Cursor<'_>) -> Node {
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
            Self::Typed => !is_nothing(cursor, name, field),
            Self::All => false,
        };
        map.entries_mut().retain(|entry| !entry.value.is_null() || stays(&entry.key.text));
        for (field, value) in map.iter_mut() {
            self.clean(value, cursor.field(field), field);
        }
    }
}
