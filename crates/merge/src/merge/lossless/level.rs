//! One level of several versions: aligns fields and list entries.

use crate::merge::align::{self, AlignedEntry};
use crate::merge::association::{Association, ListPolicy, is_atomic};
use crate::schema::{Cursor, Gvk, Schema};
use smp_text::yaml::{Map, Node};

use smol_str::SmolStr;

/// The type of a value in the schema.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueType<'s> {
    pub cursor: Cursor<'s>,
    /// True for a union: a map in which one field excludes others, such as the sources of a volume.
    is_union: bool,
}

/// The aligned fields or list entries of a value in several versions.
#[derive(Debug)]
pub(super) enum Level<const N: usize> {
    /// Maps: the indices of their fields.
    Fields(Vec<[Option<usize>; N]>),
    /// Lists whose entries have unique keys or values.
    Entries(Association, Vec<AlignedEntry<N>>),
    /// A single value.
    Value,
}

impl<'s> ValueType<'s> {
    pub fn new(cursor: Cursor<'s>) -> Self {
        Self { cursor, is_union: cursor.patch_strategy().retain_keys }
    }

    pub fn field(self, name: &str) -> Self {
        Self::new(self.cursor.field(name))
    }

    /// Returns the type of the entries of a list. The patch strategy of the list determines whether they are unions.
    pub fn element(self) -> Self {
        Self { cursor: self.cursor.element(), is_union: self.is_union }
    }

    /// Returns the type of the object's `apiVersion` and `kind` if the value has no known type or is an embedded
    /// resource.
    pub fn or_own_kind(self, versions: &[Option<&Node>], schema: &'s Schema) -> Self {
        if self.cursor.is_known() && !self.cursor.is_embedded_resource() {
            return self;
        }
        let kind = |node: &&Node| schema.kind(&gvk(node.as_map()?)?);
        versions.iter().flatten().find_map(kind).map_or(self, Self::new)
    }

    /// Returns true for maps with arbitrary keys, such as labels.
    pub fn has_free_keys(self) -> bool {
        self.cursor.additional().is_known()
    }

    /// Returns true if two versions of a map (one of which may be absent) cannot be merged, because the map is atomic
    /// or the versions have different members of a union.
    pub fn is_unmergeable(self, sides: [Option<&Map>; 2]) -> bool {
        let same_fields = || match sides {
            [Some(one), Some(other)] => {
                one.len() == other.len() && one.iter().all(|(name, _)| other.contains_key(name))
            }
            _ => false,
        };
        is_atomic(self.cursor) && !self.has_free_keys() || self.is_union && !same_fields()
    }

    /// Resolves a union if the source selects another member than dest. Returns the value of dest with only its
    /// scalars, such as the name of the selected member, and the fields that the source also has. Returns `None` if the
    /// source selects no other member, or if nothing would be removed.
    pub fn without_other_members(self, [dest, source]: [Option<&Node>; 2]) -> Option<Node> {
        let (dest, source, true) = (dest?, source?.as_map()?, self.is_union) else { return None };
        let fields = dest.as_map()?;
        let chooses = |(name, value): (&str, &Node)| match fields.get(name) {
            _ if value.is_null() => false,
            None => !clears_only(value),
            Some(other) => value.scalar_text().is_some() && value != other,
        };
        let is_left =
            |(name, value): (&str, &Node)| !source.contains_key(name) && value.scalar_text().is_none();
        if !source.iter().any(chooses) || !fields.iter().any(is_left) {
            return None;
        }
        let mut left = dest.clone();
        left.as_map_mut()?.entries_mut().retain(|entry| !is_left((&entry.key.text, &entry.value)));
        Some(left)
    }
}

/// Returns the apiVersion and kind of an object.
fn gvk(object: &Map) -> Option<Gvk> {
    let text = |name| object.get(name).and_then(Node::as_str);
    Some(Gvk::from_manifest(text("apiVersion")?, text("kind")?))
}

/// Aligns maps or lists. An absent version is treated as empty.
pub(super) fn align_level<const N: usize>(
    versions: [Option<&Node>; N],
    value_type: ValueType<'_>,
    candidates: &[SmolStr],
) -> Level<N> {
    let present = || versions.iter().flatten();
    let empty = Map::new();
    if present().all(|node| node.as_map().is_some()) {
        let maps = versions.map(|node| node.and_then(Node::as_map).unwrap_or(&empty));
        return Level::Fields(align::field_positions(maps));
    }
    if !present().all(|node| node.as_list().is_some()) {
        return Level::Value;
    }
    let lists = versions.map(|node| node.and_then(Node::as_list).map_or(&[][..], Vec::as_slice));
    let aligned = align::lists(lists, value_type.cursor, ListPolicy::Overlay, candidates);
    aligned.map_or(Level::Value, |(association, rows)| Level::Entries(association, rows))
}

/// Aligns dest, the updated version and the original, in that order.
///
/// If the schema recommends several merge keys, the default key alone identifies entries as long as it is unique, and
/// the original contains each entry that both other versions contain. Otherwise all recommended keys are used. An entry
/// that only gains or loses a key is still the same entry.
pub(super) fn align_versions(
    versions: [Option<&Node>; 3],
    value_type: ValueType<'_>,
    candidates: &[SmolStr],
) -> Level<3> {
    let [dest, updated, original] = [0, 1, 2];
    let level = align_level(versions, value_type, candidates);
    if value_type.cursor.recommended_merge_key().is_none() {
        return level;
    }
    let lists = versions.map(|node| node.and_then(Node::as_list).map_or(&[][..], Vec::as_slice));
    let by_default = Association::of_list(value_type.cursor, ListPolicy::Overlay);
    let is_known = |row: &AlignedEntry<3>| {
        row.positions[original].is_some() || row.positions[dest].is_none() || row.positions[updated].is_none()
    };
    match level {
        level @ (Level::Fields(_) | Level::Value) => level,
        Level::Entries(association, rows) => match align::entries(lists, &by_default) {
            Some(rows) if rows.iter().all(is_known) => Level::Entries(by_default, rows),
            _ => {
                let rows = match &association {
                    Association::Keyed { keys, .. } => [updated, dest]
                        .into_iter()
                        .fold(rows, |rows, side| align::join_rekeyed(rows, keys, [side, original])),
                    _ => rows,
                };
                Level::Entries(association, rows)
            }
        },
    }
}

/// Returns true if a value of the source only removes values.
fn clears_only(node: &Node) -> bool {
    let in_map = |map: &Map| !map.is_empty() && map.iter().all(|(_, value)| clears_only(value));
    node.is_null() || node.as_map().is_some_and(in_map)
}

/// Returns true if the merge has emptied a map or list that is not empty in any version.
pub(super) fn is_emptied(merged: &Node, versions: &[Option<&Node>]) -> bool {
    merged.is_empty_collection() && !versions.iter().flatten().any(|node| node.is_empty_collection())
}
