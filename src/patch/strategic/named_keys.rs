//! Which keys a created patch names under `$patchMergeKey`.

use super::Dialect;
use crate::merge::align::{KeyValue, Level, align};
use crate::merge::association::{Association, patch_merge_keys, recommended_keys};
use crate::merge::directive::{PATCH, PATCH_MERGE_KEY};
use crate::schema::Cursor;
use crate::yaml::{Map, Node, Value};

/// The keys that entries of a created patch have.
#[derive(Debug)]
pub(super) struct CreationKeys<'s> {
    pub(super) names: Vec<&'s str>,
    /// Which of them each entry must have.
    pub(super) required: Vec<bool>,
    /// Whether each entry names them.
    pub(super) named: bool,
}

impl<'s> CreationKeys<'s> {
    /// The keys of a list; none when its entries have none.
    ///
    /// All recommended keys where the schema has some; under the overlay dialect also all list map keys
    /// where there are several.
    pub(super) fn of(list: Cursor<'s>, dialect: Dialect) -> Option<Self> {
        let Association::Keyed(keys) = Association::of(list, dialect) else { return None };
        let (default, recommended) = (patch_merge_keys(list), recommended_keys(list));
        let (names, explicit) =
            if !recommended.is_empty() && default.iter().all(|key| recommended.contains(key)) {
                (recommended, true)
            } else {
                (keys.names.clone(), dialect == Dialect::Overlay && keys.names.len() > 1)
            };
        // What the schema has a default for, entries may lack.
        let may_lack = |key| if explicit { !default.is_empty() } else { keys.default_of(key).is_some() };
        let required = names.iter().map(|key| default.contains(key) || !may_lack(key)).collect();
        Some(Self { names, required, named: explicit })
    }

    /// The values of an entry's keys; none when it lacks one that it needs, or one is no scalar.
    pub(super) fn values(&self, entry: &Map) -> Option<Vec<KeyValue>> {
        let value = |(key, required): (&&str, &bool)| {
            KeyValue::of_field(entry, key).filter(|value| !required || *value != KeyValue::Absent)
        };
        self.names.iter().zip(&self.required).map(value).collect()
    }

    /// The keys of an entry, as far as it has them.
    pub(super) fn of_entry(&self, entry: &Map) -> Map {
        self.names.iter().filter_map(|&key| Some((key, entry.get(key)?.clone()))).collect()
    }

    /// Adds `$patchMergeKey` in front, where entries name their keys.
    pub(super) fn name(&self, entry: &mut Map) {
        if self.named {
            let keys = self.names.iter().map(|&key| Node::string(key)).collect();
            prepend(entry, PATCH_MERGE_KEY, Node::list(keys));
        }
    }
}

pub(super) fn prepend(map: &mut Map, key: &str, value: Node) {
    map.entries_mut().insert(0, crate::yaml::Entry { key: key.into(), value });
}

/// A value that a patch adds whole, with the directives that it needs to arrive unchanged.
pub(super) fn whole(node: &Node, cursor: Cursor<'_>, dialect: Dialect) -> Node {
    let value = match &node.value {
        Value::Scalar(_) => return node.clone(),
        Value::Map(map) => {
            let mut out = Map::new();
            for entry in map.entries() {
                out.push(entry.key.clone(), whole(&entry.value, cursor.field(&entry.key.text), dialect));
            }
            Value::Map(out)
        }
        Value::List(list) => {
            let keys = CreationKeys::of(cursor, dialect);
            let entry = |entry: &Node| {
                let mut entry = whole(entry, cursor.element(), dialect);
                if let (Some(keys), Some(map)) = (&keys, entry.as_map_mut()) {
                    keys.name(map);
                }
                entry
            };
            let mut entries: Vec<Node> = list.iter().map(entry).collect();
            if dialect == Dialect::Overlay && !is_distinct(node, cursor) {
                entries.insert(0, replace_marker());
            }
            Value::List(entries)
        }
    };
    Node { value, meta: node.meta.clone() }
}

/// `$patch: replace`, which lets the entries behind it take the place of the whole list.
pub(super) fn replace_marker() -> Node {
    Node::map([(PATCH, Node::string("replace"))].into_iter().collect())
}

/// Whether merging the list into nothing leaves it as it is.
fn is_distinct(list: &Node, cursor: Cursor<'_>) -> bool {
    !matches!(
        align([Some(list)], cursor, Dialect::Overlay),
        Ok(Level::Entries { distinct: false, .. }) | Err(_)
    )
}
