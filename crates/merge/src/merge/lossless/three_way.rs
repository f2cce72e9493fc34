//! The three-way merge of the changes between two versions of an object into a third version.

use smol_str::SmolStr;

use super::comments;
use super::level::{Level, ValueType, align_level, align_versions, is_emptied};
use super::order::{self, DEST, ORIGINAL, Positions, UPDATED};
use crate::merge::align::AlignedEntry;
use crate::merge::association::Association;
use crate::merge::options::{ConflictPolicy, MergeOptions, NullPolicy};
use crate::merge::{Conflict, ConflictSide, Merged, Trail};
use crate::schema::{Cursor, Schema};
use smp_text::yaml::{Entry, Key, Map, Meta, Node, Value, is_unchanged};

/// Merges the changes from the original to the updated version into dest. `kind` is the type of objects without
/// a kind.
pub(in crate::merge) fn merge3(
    [original, updated]: [Option<&Node>; 2],
    dest: Option<Node>,
    kind: Cursor<'_>,
    schema: &Schema,
    options: &MergeOptions,
) -> Merged {
    let keeps_nulls = options.nulls == NullPolicy::Keep;
    if keeps_nulls && original.zip(updated).is_some_and(|(original, updated)| is_unchanged(original, updated))
    {
        return Merged::from_node(dest);
    }
    let versions = Versions { original, updated, dest: dest.as_ref() };
    let mut merge = VersionMerge { schema, options, conflicts: Vec::new() };
    let node = merge.value(versions, ValueType::new(kind), &Trail::root());
    Merged { node, warnings: Vec::new(), conflicts: merge.conflicts }
}

/// A value in the three versions; `None` if it is absent.
#[derive(Debug, Clone, Copy)]
struct Versions<'n> {
    original: Option<&'n Node>,
    updated: Option<&'n Node>,
    dest: Option<&'n Node>,
}

impl<'n> Versions<'n> {
    fn from_row(row: [Option<&'n Node>; 3]) -> Self {
        Self { original: row[ORIGINAL], updated: row[UPDATED], dest: row[DEST] }
    }

    /// Returns `updated` and `dest`.
    fn sides(self) -> [Option<&'n Node>; 2] {
        [self.updated, self.dest]
    }

    /// Returns the versions in the order of rows. A null original is treated as absent, so that setting it adds the
    /// value.
    fn row(self) -> [Option<&'n Node>; 3] {
        [self.dest, self.updated, self.original.filter(|node| !node.is_null())]
    }

    /// Returns the three inputs, ordered so that the first one determines the apiVersion of the result.
    fn by_version(self) -> [Option<&'n Node>; 3] {
        let version = |node: Option<&'n Node>| node.and_then(|node| node.get("apiVersion"));
        let Self { original, updated, dest } = self;
        if version(updated) == version(original) {
            [dest, updated, original]
        } else {
            [updated, dest, original]
        }
    }

    /// Returns the updated value, which replaces that of dest.
    fn replaced(self) -> Option<Node> {
        let Self { original, updated, dest } = self;
        updated.map(|updated| comments::replacing(updated, original, dest))
    }

    /// Returns true if the original has the value but only one of `updated` and `dest` still has it.
    fn is_removed(self) -> bool {
        self.original.is_some() && self.updated.is_some() != self.dest.is_some()
    }
}

/// The result of comparing the inputs: the merged value, or the inputs that changed the value.
enum Comparison {
    Resolved(Option<Node>),
    /// Only the updated version changed the value.
    UpdatedAlone,
    /// Both `updated` and `dest` changed the value.
    Both,
}

struct VersionMerge<'s> {
    schema: &'s Schema,
    options: &'s MergeOptions,
    conflicts: Vec<Conflict>,
}

impl<'s> VersionMerge<'s> {
    fn value(&mut self, versions: Versions<'_>, value_type: ValueType<'s>, at: &Trail<'_>) -> Option<Node> {
        let comparison = match self.compare(versions, at) {
            Comparison::Resolved(node) if self.options.nulls == NullPolicy::Clear => {
                let value_type = value_type.or_own_kind(&versions.by_version(), self.schema);
                return self.remove_cleared_fields(versions, node, value_type, at);
            }
            Comparison::Resolved(node) => return node,
            comparison => comparison,
        };
        let value_type = value_type.or_own_kind(&versions.by_version(), self.schema);
        match self.level(versions, value_type, &comparison) {
            Level::Fields(rows) => self.map(versions, &rows, value_type, at),
            Level::Entries(association, rows) => {
                Some(self.list(versions, (&association, &rows), value_type, at))
            }
            Level::Value => match comparison {
                Comparison::Both => self.conflict(versions, value_type, at),
                _ => versions.replaced(),
            },
        }
    }

    /// Compares the versions. If two versions are equal, the result is known. If both `updated` and `dest` changed a
    /// value and one of them is null, the value is removed, or that of dest is kept if dest takes precedence in
    /// conflicts.
    fn compare(&mut self, versions: Versions<'_>, at: &Trail<'_>) -> Comparison {
        let Versions { original, updated, dest } = versions;
        if original == updated || updated == dest {
            return Comparison::Resolved(
                dest.map(|dest| comments::with_updated_comments(dest, original, updated)),
            );
        }
        let is_null = |node: Option<&Node>| node.is_some_and(Node::is_null);
        if original == dest {
            // Maps and lists are still compared in detail, so that unchanged parts keep the style of dest.
            return match (updated, dest) {
                (Some(_), Some(_)) if !is_null(updated) && !is_null(dest) => Comparison::UpdatedAlone,
                _ => Comparison::Resolved(updated.cloned()),
            };
        }
        match (is_null(updated), is_null(dest)) {
            (false, false) => Comparison::Both,
            // Neither `updated` nor `dest` has a value.
            (_, true) if updated.is_none() => {
                Comparison::Resolved(dest.filter(|_| self.dest_wins()).cloned())
            }
            (true, _) if dest.is_none() => Comparison::Resolved(None),
            (_, true) => {
                self.record_conflict(versions, at, ConflictSide::Dest);
                Comparison::Resolved(dest.filter(|_| self.dest_wins()).cloned())
            }
            (true, false) => {
                let taken = self.record_conflict(versions, at, self.conflict_winner());
                Comparison::Resolved(dest.filter(|_| taken == ConflictSide::Dest).cloned())
            }
        }
    }

    /// Removes the fields that are null in the updated version or in dest from a value that `compare` resolved as a
    /// whole. If both versions have the value, and one of them contains a null, the value is merged again field by
    /// field or entry by entry, because the merge of a field removes its nulls.
    fn remove_cleared_fields(
        &mut self,
        versions: Versions<'_>,
        resolved: Option<Node>,
        value_type: ValueType<'s>,
        at: &Trail<'_>,
    ) -> Option<Node> {
        let Versions { original, updated, dest } = versions;
        if original != updated && updated != dest && original != dest {
            // Both `updated` and `dest` changed the value: `compare` has already treated null as an absent value.
            return resolved;
        }
        let (Some(updated), Some(dest)) = (updated, dest) else {
            return resolved.filter(|node| !node.is_null()).map(|node| self.without_nulls(node, value_type));
        };
        if updated.is_null() || dest.is_null() {
            return None;
        }
        if !has_null(updated) && !has_null(dest) {
            return resolved;
        }
        match align_versions(versions.row(), value_type, self.options.infer_keys.keys()) {
            Level::Fields(rows) => Some(self.fields(versions, &rows, value_type, at)),
            Level::Entries(association, rows) => {
                Some(self.list(versions, (&association, &rows), value_type, at))
            }
            Level::Value => resolved,
        }
    }

    /// Returns a value that only `updated` or only `dest` has, without its null fields.
    fn without_nulls(&self, mut node: Node, value_type: ValueType<'s>) -> Node {
        let value_type = value_type.or_own_kind(&[Some(&node)], self.schema);
        let is_keyed = matches!(
            align_level([Some(&node)], value_type, self.options.infer_keys.keys()),
            Level::Entries(..)
        );
        if let Some(list) = node.as_list_mut().filter(|_| is_keyed) {
            for entry in list {
                let value = std::mem::replace(entry, Node::null());
                *entry = self.without_nulls(value, value_type.element());
            }
        } else if let Some(map) = node.as_map_mut() {
            map.entries_mut().retain(|entry| !entry.value.is_null());
            for entry in map.entries_mut() {
                let value = std::mem::replace(&mut entry.value, Node::null());
                entry.value = self.without_nulls(value, value_type.field(&entry.key.text));
            }
        }
        node
    }

    fn level(&self, versions: Versions<'_>, value_type: ValueType<'s>, comparison: &Comparison) -> Level<3> {
        let sides = versions.sides();
        let are_maps = sides.iter().flatten().all(|side| side.as_map().is_some());
        if matches!(comparison, Comparison::Both)
            && are_maps
            && value_type.is_unmergeable(sides.map(|side| side.and_then(Node::as_map)))
        {
            return Level::Value;
        }
        align_versions(versions.row(), value_type, self.options.infer_keys.keys())
    }

    fn dest_wins(&self) -> bool {
        self.options.conflicts == ConflictPolicy::Dest
    }

    fn conflict_winner(&self) -> ConflictSide {
        if self.dest_wins() { ConflictSide::Dest } else { ConflictSide::Updated }
    }

    /// Records a conflict of values that cannot be merged.
    fn conflict(
        &mut self,
        versions: Versions<'_>,
        value_type: ValueType<'s>,
        at: &Trail<'_>,
    ) -> Option<Node> {
        let is_list = versions.row().iter().flatten().all(|node| node.as_list().is_some());
        let taken = self.record_conflict(versions, at, self.conflict_winner());
        if let Some(conflict) = self.conflicts.last_mut() {
            conflict.unknown_list = is_list && !value_type.cursor.is_known();
        }
        match taken {
            ConflictSide::Updated => versions.replaced(),
            ConflictSide::Dest => versions.dest.cloned(),
        }
    }

    fn record_conflict(
        &mut self,
        versions: Versions<'_>,
        at: &Trail<'_>,
        taken: ConflictSide,
    ) -> ConflictSide {
        let Versions { original, updated, dest } = versions;
        self.conflicts.push(Conflict {
            path: at.path(),
            original: original.cloned(),
            updated: updated.cloned(),
            dest: dest.cloned(),
            unknown_list: false,
            winner: taken,
        });
        taken
    }

    /// Merges maps. A map that `updated` or `dest` removed and the other one changed is a single conflict, unless its
    /// keys are free. If the updated version removed it, fields added in dest are kept. If dest removed it, fields
    /// changed in the updated version are restored. With the policy `Dest`, the result is that of dest.
    fn map(
        &mut self,
        versions: Versions<'_>,
        rows: &[Positions<3>],
        value_type: ValueType<'s>,
        at: &Trail<'_>,
    ) -> Option<Node> {
        if !versions.is_removed() || value_type.has_free_keys() {
            return Some(self.fields(versions, rows, value_type, at));
        }
        let known = self.conflicts.len();
        let changes = self.fields(versions, rows, value_type, at);
        self.conflicts.truncate(known);
        if versions.dest.is_none() && changes.is_empty_collection() {
            // All changes in the updated version are removals of fields.
            self.record_conflict(versions, at, ConflictSide::Dest);
            return None;
        }
        match self.record_conflict(versions, at, self.conflict_winner()) {
            ConflictSide::Updated => Some(changes),
            ConflictSide::Dest => versions.dest.cloned(),
        }
    }

    fn fields(
        &mut self,
        versions: Versions<'_>,
        rows: &[Positions<3>],
        value_type: ValueType<'s>,
        at: &Trail<'_>,
    ) -> Node {
        let maps = versions.row().map(|node| node.and_then(Node::as_map).map_or(&[][..], Map::entries));
        let mut merged: Vec<Option<Entry>> = vec![None; rows.len()];
        for (row, merged) in rows.iter().zip(&mut merged) {
            let fields: [Option<&Entry>; 3] = std::array::from_fn(|version| maps[version].get(row[version]?));
            let Some(key) = key_of(fields) else { continue };
            let field = Versions::from_row(fields.map(|field| field.map(|field| &field.value)));
            let value = self.value(field, value_type.field(&key.text), &at.field(&key.text));
            let is_kept =
                |value: &Node| !is_emptied(value, &field.sides()) || value_type.cursor.is_required(&key.text);
            *merged = value.filter(is_kept).map(|value| Entry { key, value });
        }
        let kept = kept_positions(rows, &merged);
        let mut map = Map::new();
        map.entries_mut().extend(order::for_fields(&kept).into_iter().filter_map(|row| merged[row].take()));
        Node { value: Value::Map(map), meta: meta_of(versions) }
    }

    fn list(
        &mut self,
        versions: Versions<'_>,
        (association, rows): (&Association, &[AlignedEntry<3>]),
        value_type: ValueType<'s>,
        at: &Trail<'_>,
    ) -> Node {
        let lists = versions.row().map(|node| node.and_then(Node::as_list).map_or(&[][..], Vec::as_slice));
        let mut merged: Vec<Option<Node>> = vec![None; rows.len()];
        for (i, (row, merged)) in rows.iter().zip(&mut merged).enumerate() {
            let entry = Versions::from_row(std::array::from_fn(|version| {
                lists[version].get(row.positions[version]?)
            }));
            let trail = match association {
                Association::Keyed { keys, .. } => at.named(keys, &row.identity),
                _ => at.index(i),
            };
            *merged = self.entry(entry, association.key_names(), value_type.element(), &trail);
        }
        let rows: Vec<Positions<3>> = rows.iter().map(|row| row.positions).collect();
        let kept = kept_positions(&rows, &merged);
        let order = order::for_versions(&kept, self.options.list_order);
        let list = order.into_iter().filter_map(|row| merged[row].take()).collect();
        Node { value: Value::List(list), meta: meta_of(versions) }
    }

    /// Merges an entry. Entries are removed as a whole. A restored entry gets its keys back.
    fn entry(
        &mut self,
        versions: Versions<'_>,
        keys: &[SmolStr],
        value_type: ValueType<'s>,
        at: &Trail<'_>,
    ) -> Option<Node> {
        let Versions { original, updated, dest } = versions;
        if original.is_some() && updated.is_none() && dest.is_some() && dest != original {
            let taken = self.record_conflict(versions, at, self.conflict_winner());
            return dest.filter(|_| taken == ConflictSide::Dest).cloned();
        }
        let merged = self.value(versions, value_type, at)?;
        match updated {
            Some(updated) if original.is_some() && dest.is_none() => with_keys(merged, updated, keys),
            _ => Some(merged),
        }
    }
}

fn has_null(node: &Node) -> bool {
    node.nodes().filter_map(Node::as_map).any(|map| map.iter().any(|(_, value)| value.is_null()))
}

/// Returns the key of a field. It is that of dest, with the updated comment if only the updated version changed it.
fn key_of(fields: [Option<&Entry>; 3]) -> Option<Key> {
    let [dest, updated, original] = fields.map(|field| field.map(|field| &field.key));
    let mut key = dest.or(updated).or(original)?.clone();
    if let (Some(_), Some(original), Some(updated)) = (dest, original, updated) {
        comments::take_line_comment(&mut key.meta, &original.meta, &updated.meta);
    }
    Some(key)
}

/// Returns the positions of the rows whose values are kept. The other rows have no positions.
fn kept_positions<T>(rows: &[Positions<3>], merged: &[Option<T>]) -> Vec<Positions<3>> {
    rows.iter().zip(merged).map(|(row, merged)| merged.as_ref().map_or([None; 3], |_| *row)).collect()
}

/// Returns the metadata of the result: that of dest, or of the updated version if dest is absent.
fn meta_of(versions: Versions<'_>) -> Meta {
    versions.dest.or(versions.updated).map(|node| node.meta.clone()).unwrap_or_default()
}

/// Adds the keys to a restored entry, as they are not part of the change. Returns `None` if the entry has only keys.
fn with_keys(mut entry: Node, updated: &Node, keys: &[SmolStr]) -> Option<Node> {
    let (Some(map), Some(from)) = (entry.as_map_mut(), updated.as_map()) else { return Some(entry) };
    let is_key = |name: &str| keys.iter().any(|key| key == name);
    if map.iter().all(|(name, _)| is_key(name)) {
        return None;
    }
    let missing = keys.iter().filter(|key| !map.contains_key(key));
    let missing: Vec<Entry> = missing.filter_map(|key| from.entry(key).cloned()).collect();
    map.entries_mut().splice(0..0, missing);
    Some(entry)
}
