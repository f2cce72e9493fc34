//! Finds list entries that one merge keeps and another one loses.
//!
//! Does not depend on how lists are merged or by which merge keys.

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use smp_merge::merge::association::{Association, ListPolicy};
use smp_merge::merge::directive::{PATCH, is_directive};
use smp_merge::merge::identity::{Identity, KeyValue};
use smp_merge::schema::Cursor;
use smp_text::path::{FieldPath, PathElement};
use smp_text::source::Span;
use smp_text::yaml::{Map, Node, Value};

/// A list entry that has no counterpart: in another merge of the same object, or in the merged list.
#[derive(Debug)]
pub(super) struct UnmatchedEntry {
    pub(super) path: FieldPath,
    /// Location of the entry in its source.
    pub(super) span: Span,
}

impl UnmatchedEntry {
    /// Returns the path of the list that contains the entry.
    pub(super) fn list(&self) -> &[PathElement] {
        self.path.elements().split_last().map_or(&[], |(_, list)| list)
    }
}

/// Differences between the lists of two merges.
#[derive(Debug, Default)]
pub(super) struct Losses {
    pub(super) lost: Vec<UnmatchedEntry>,
    /// Locations of the entries that both have.
    pub(super) kept: FxHashSet<Span>,
}

impl Losses {
    /// Compares two merges of an object. An entry is lost if no entry of the other merge has all of its fields.
    pub(super) fn between(expected: &Node, actual: &Node, kind: Cursor<'_>) -> Self {
        let mut walk = LossWalk { path: FieldPath::root(), losses: Self::default() };
        walk.value(expected, Some(actual), kind);
        walk.losses
    }
}

/// Returns the patch's list entries that have no effect. No entry of the merged list has all fields of such an entry.
pub(super) fn ineffective_entries(patch: &Node, merged: &Node, kind: Cursor<'_>) -> Vec<UnmatchedEntry> {
    let mut walk = IneffectiveWalk { path: FieldPath::root(), lost: Vec::new() };
    walk.value(patch, merged, kind);
    walk.lost
}

struct IneffectiveWalk {
    path: FieldPath,
    lost: Vec<UnmatchedEntry>,
}

impl IneffectiveWalk {
    fn value(&mut self, patch: &Node, merged: &Node, cursor: Cursor<'_>) {
        match (&patch.value, &merged.value) {
            (Value::Map(map), Value::Map(other)) if !map.contains_key(PATCH) => {
                for (name, value) in map.iter().filter(|(name, _)| !is_directive(name)) {
                    let Some(found) = other.get(name) else { continue };
                    self.path.push(PathElement::Field(name.into()));
                    self.value(value, found, cursor.field(name));
                    self.path.pop();
                }
            }
            (Value::List(list), Value::List(other)) => self.list(list, other, cursor),
            _ => {}
        }
    }

    fn list(&mut self, patch: &[Node], merged: &[Node], cursor: Cursor<'_>) {
        let association = Association::of_list(cursor, ListPolicy::Overlay);
        let by_field = by_field(merged);
        for (i, entry) in patch.iter().enumerate() {
            let Some(map) = entry.as_map().filter(|map| !map.contains_key(PATCH)) else { continue };
            let candidates = candidates(map, &by_field, merged.len());
            let mut matching = candidates.into_iter().filter(|at| contains_scalars_of(&merged[*at], map));
            let found = (matching.next(), matching.next());
            let name = association.identify(entry).and_then(|name| association.path_element(&name));
            self.path.push(name.unwrap_or(PathElement::Index(i)));
            match found {
                (None, _) => self.lost.push(UnmatchedEntry { path: self.path.clone(), span: entry.span() }),
                (Some(only), None) => self.value(entry, &merged[only], cursor.element()),
                // Several entries match, so it is unknown which one was patched.
                _ => {}
            }
            self.path.pop();
        }
    }
}

struct LossWalk {
    path: FieldPath,
    losses: Losses,
}

impl LossWalk {
    fn value(&mut self, expected: &Node, actual: Option<&Node>, cursor: Cursor<'_>) {
        match &expected.value {
            Value::Map(map) => {
                let Some(other) = actual.and_then(Node::as_map) else { return };
                let index = other.index();
                for (name, value) in map.iter() {
                    self.path.push(PathElement::Field(name.into()));
                    let found = index.position(name).map(|at| &other.entries()[at].value);
                    self.value(value, found, cursor.field(name));
                    self.path.pop();
                }
            }
            Value::List(list) => {
                let other = actual.and_then(Node::as_list).map_or(&[][..], Vec::as_slice);
                self.list(list, other, cursor);
            }
            Value::Scalar(_) => {}
        }
    }

    fn list(&mut self, expected: &[Node], actual: &[Node], cursor: Cursor<'_>) {
        let association = Association::of_list(cursor, ListPolicy::Overlay);
        for (i, (entry, found)) in expected.iter().zip(counterparts(expected, actual)).enumerate() {
            let name = association.identify(entry).and_then(|name| association.path_element(&name));
            self.path.push(name.unwrap_or(PathElement::Index(i)));
            match found {
                Some(at) => {
                    self.losses.kept.insert(entry.span());
                    self.value(entry, Some(&actual[at]), cursor.element());
                }
                None => {
                    self.losses.lost.push(UnmatchedEntry { path: self.path.clone(), span: entry.span() });
                }
            }
            self.path.pop();
        }
    }
}

/// For each entry, finds an equal entry in the other list, or else an unused one that has all of its fields.
fn counterparts(entries: &[Node], others: &[Node]) -> Vec<Option<usize>> {
    let mut equal: FxHashMap<Identity, usize> = FxHashMap::default();
    for (at, other) in others.iter().enumerate() {
        equal.extend(Identity::from_value(other).ok().map(|identity| (identity, at)));
    }
    let find =
        |entry: &Node| Identity::from_value(entry).ok().and_then(|identity| equal.get(&identity).copied());
    let mut found: Vec<Option<usize>> = entries.iter().map(find).collect();
    let mut taken: FxHashSet<usize> = found.iter().flatten().copied().collect();
    let by_field = by_field(others);
    for (entry, found) in entries.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
        let Some(map) = entry.as_map() else { continue };
        let candidates = candidates(map, &by_field, others.len());
        *found = candidates
            .iter()
            .copied()
            .find(|at| !taken.contains(at) && contains_scalars_of(&others[*at], map));
        taken.extend(*found);
    }
    found
}

/// Returns the entries that may have all fields of a map. Uses the field with the fewest matching entries. Returns all
/// entries if the map has no scalar fields.
fn candidates(map: &Map, by_field: &EntriesByField, entries: usize) -> Vec<usize> {
    let fields = fields_of(map).map(|field| by_field.get(&field).map_or(&[][..], Vec::as_slice));
    let all = || (0..entries).collect();
    fields.min_by_key(|candidates| candidates.len()).map_or_else(all, <[usize]>::to_vec)
}

/// Positions of the entries that have a field with a given value.
type EntriesByField = FxHashMap<(SmolStr, KeyValue), Vec<usize>>;

fn by_field(entries: &[Node]) -> EntriesByField {
    let mut table: FxHashMap<_, Vec<usize>> = FxHashMap::default();
    for (at, map) in entries.iter().enumerate().filter_map(|(at, entry)| Some((at, entry.as_map()?))) {
        for field in fields_of(map) {
            table.entry(field).or_default().push(at);
        }
    }
    table
}

/// Returns the scalar fields of an entry, without nulls.
fn fields_of(map: &Map) -> impl Iterator<Item = (SmolStr, KeyValue)> {
    let values =
        map.entries().iter().filter_map(|field| Some((&field.key.text, KeyValue::from_node(&field.value)?)));
    values.filter(|(_, value)| value.is_present()).map(|(name, value)| (name.clone(), value))
}

/// Returns true if a map has all scalars of another map, including nested maps. Directives and nulls are ignored, and
/// lists are compared later.
fn contains_scalars_of(node: &Node, map: &Map) -> bool {
    let Some(other) = node.as_map() else { return false };
    map.iter().filter(|(name, _)| !is_directive(name)).all(|(name, value)| match &value.value {
        Value::Map(below) if below.is_empty() || below.contains_key(PATCH) => true,
        Value::Map(below) => other.get(name).is_some_and(|other| contains_scalars_of(other, below)),
        Value::List(_) => true,
        Value::Scalar(_) if value.is_null() => true,
        Value::Scalar(_) => {
            other.get(name).is_some_and(|other| KeyValue::from_node(other) == KeyValue::from_node(value))
        }
    })
}
