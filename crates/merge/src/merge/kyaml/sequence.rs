//! A list that changes while its entries are looked up by the texts of their keys.
//!
//! Entries are represented by numbers, because one entry can occur twice in a list, and in two lists at once.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::tuples::{Columns, Keys, has_column};
use crate::merge::identity::PAIRWISE_LIMIT;
use smp_text::yaml::{Node, Value};

/// The shape of an entry: the parts of its type that determine its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Null,
    EmptyMap,
    Map,
    Scalar,
    List,
}

impl Shape {
    fn from_node(node: &Node) -> Self {
        match &node.value {
            Value::Map(map) if map.is_empty() => Self::EmptyMap,
            Value::Map(_) => Self::Map,
            Value::List(_) => Self::List,
            Value::Scalar(_) if node.is_null() => Self::Null,
            Value::Scalar(_) => Self::Scalar,
        }
    }

    /// Returns true for null and empty maps. kyaml drops them the next time it removes empty entries.
    pub(super) fn is_empty(self) -> bool {
        matches!(self, Self::Null | Self::EmptyMap)
    }
}

/// The key texts of all entries, by the number of the entry.
#[derive(Debug)]
pub(super) struct KeyTexts<'k> {
    pub(super) keys: &'k Keys,
    /// True if entries are identified by their own text.
    pub(super) by_own_text: bool,
    /// One text for each key and entry; `None` if the entry lacks the field.
    texts: Vec<Option<SmolStr>>,
    pub(super) shapes: Vec<Shape>,
}

impl<'k> KeyTexts<'k> {
    pub(super) fn new(keys: &'k Keys) -> Self {
        Self { keys, by_own_text: keys.is_own_text(), texts: Vec::new(), shapes: Vec::new() }
    }

    /// Returns true if an entry cannot have keys because of its shape.
    pub(super) fn lacks_keys(&self, entry: usize) -> bool {
        match self.shapes[entry] {
            Shape::List => true,
            Shape::Map => self.by_own_text,
            Shape::Scalar => !self.by_own_text,
            Shape::Null | Shape::EmptyMap => false,
        }
    }

    pub(super) fn push(&mut self, node: &Node) {
        self.shapes.push(Shape::from_node(node));
        for i in 0..self.keys.len() {
            let text = self.keys.raw(node, i);
            self.texts.push(text);
        }
    }

    /// Updates the keys of an entry. Returns true if they have changed.
    pub(super) fn refresh(&mut self, entry: usize, node: &Node) -> bool {
        self.shapes[entry] = Shape::from_node(node);
        let mut changed = false;
        for i in 0..self.keys.len() {
            let text = self.keys.raw(node, i);
            let known = &mut self.texts[entry * self.keys.len() + i];
            changed |= *known != text;
            *known = text;
        }
        changed
    }

    pub(super) fn texts_of(&self, entry: usize) -> &[Option<SmolStr>] {
        &self.texts[entry * self.keys.len()..(entry + 1) * self.keys.len()]
    }

    /// Hashes the texts in some columns. Returns `None` if one of them is absent.
    fn hash(&self, entry: usize, columns: Columns) -> Option<u64> {
        let texts = self.texts_of(entry).iter().enumerate().filter(|(i, _)| has_column(columns, *i));
        hash(texts.map(|(_, text)| text.as_deref()))
    }
}

fn hash<'t>(texts: impl Iterator<Item = Option<&'t str>>) -> Option<u64> {
    use std::hash::{Hash, Hasher};
    let mut hasher = rustc_hash::FxHasher::default();
    for text in texts {
        text?.hash(&mut hasher);
    }
    Some(hasher.finish())
}

/// The entries of a list, in order.
#[derive(Debug, Default)]
pub(super) struct Sequence {
    /// The number of the entry in each slot; `None` if it was removed. Slots are kept, so that indices do not change.
    pub(super) slots: Vec<Option<usize>>,
    /// The slots by the texts in some columns. Outdated slots are skipped during lookup.
    index: FxHashMap<Columns, FxHashMap<u64, Vec<usize>>>,
    /// The slots of nulls and empty maps.
    empty_positions: Vec<usize>,
    /// The number of entries that cannot have keys.
    pub(super) keyless: usize,
}

impl Sequence {
    pub(super) fn push(&mut self, entry: usize, texts_by_entry: &KeyTexts<'_>) {
        self.slots.push(None);
        self.set_at(self.slots.len() - 1, Some(entry), texts_by_entry);
    }

    /// Replaces or removes the entry in a slot.
    pub(super) fn set_at(&mut self, position: usize, entry: Option<usize>, texts_by_entry: &KeyTexts<'_>) {
        if let Some(old) = std::mem::replace(&mut self.slots[position], entry) {
            self.keyless -= usize::from(texts_by_entry.lacks_keys(old));
        }
        if let Some(entry) = entry {
            self.keyless += usize::from(texts_by_entry.lacks_keys(entry));
            self.reindex(position, entry, texts_by_entry);
        }
    }

    /// Updates the index after the entry in a slot has changed.
    pub(super) fn reindex(&mut self, position: usize, entry: usize, texts_by_entry: &KeyTexts<'_>) {
        if texts_by_entry.shapes[entry].is_empty() {
            self.empty_positions.push(position);
        }
        for (columns, positions) in &mut self.index {
            if let Some(hash) = texts_by_entry.hash(entry, *columns) {
                positions.entry(hash).or_default().push(position);
            }
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = usize> {
        self.slots.iter().flatten().copied()
    }

    /// Returns the ascending slots of the entries for which `fits` is true. `fits` must compare the texts itself, since
    /// the index only narrows the search to entries with the same hash of these columns.
    pub(super) fn positions(
        &mut self,
        columns: Columns,
        texts: &[SmolStr],
        texts_by_entry: &KeyTexts<'_>,
        fits: impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let fits = |slots: &[Option<usize>], at: usize| slots.get(at).copied().flatten().is_some_and(&fits);
        if columns == 0 || self.slots.len() <= PAIRWISE_LIMIT {
            return (0..self.slots.len()).filter(|&at| fits(&self.slots, at)).collect();
        }
        let slots = &self.slots;
        let positions = self.index.entry(columns).or_insert_with(|| {
            let mut positions: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
            for (at, entry) in slots.iter().enumerate() {
                if let Some(hash) = entry.and_then(|entry| texts_by_entry.hash(entry, columns)) {
                    positions.entry(hash).or_default().push(at);
                }
            }
            positions
        });
        let selected = texts.iter().enumerate().filter(|(i, _)| has_column(columns, *i));
        let hash = hash(selected.map(|(_, text)| Some(text.as_str())));
        let found = hash.and_then(|hash| positions.get(&hash)).map_or(&[][..], Vec::as_slice);
        let mut found: Vec<_> = found.iter().copied().filter(|&at| fits(&self.slots, at)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Removes nulls and empty maps.
    pub(super) fn remove_empty(&mut self, texts_by_entry: &KeyTexts<'_>) {
        for at in self.empty_positions.drain(..) {
            if let Some(slot) = self.slots.get_mut(at) {
                *slot = slot.filter(|&entry| !texts_by_entry.shapes[entry].is_empty());
            }
        }
    }
}
