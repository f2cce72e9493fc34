//! Cached indices of fields in large maps, for a tree in which many values are changed.
//!
//! Without the cache, each appended field would require a search of the whole map.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::node::{Map, Node};

/// The largest map for which linear search is as fast as the cache.
const MAX_LINEAR_SEARCH: usize = 32;

/// The indices of fields, by the path of their map.
///
/// The indices of a map may lack fields that were appended later. Call [`clear`](Self::clear) after any other change
/// that moves fields.
#[derive(Debug)]
pub struct FieldPositions<S>(FxHashMap<Vec<S>, FxHashMap<SmolStr, usize>>);

impl<S> Default for FieldPositions<S> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<S: Clone + Eq + Hash> FieldPositions<S> {
    /// Returns the index of a field.
    pub fn find(&mut self, path: &[S], map: &Map, name: &str) -> Option<usize> {
        if map.len() <= MAX_LINEAR_SEARCH {
            return map.position(name);
        }
        self.index(path, map).get(name).copied()
    }

    /// Sets the value of a field, or appends the field.
    pub fn insert(&mut self, path: &[S], map: &mut Map, name: &SmolStr, value: Node) {
        let Some(position) = self.find(path, map, name) else {
            self.push(path, map, name, value);
            return;
        };
        let old = std::mem::replace(&mut map.entries_mut()[position].value, value);
        if old.scalar_text().is_none() {
            // Paths below the old value are no longer valid.
            self.clear();
        }
    }

    /// Appends a field that is known to be new.
    pub fn push(&mut self, path: &[S], map: &mut Map, name: &SmolStr, value: Node) {
        if let Some(index) = self.0.get_mut(path) {
            index.insert(name.clone(), map.len());
        }
        map.push(name.clone(), value);
    }

    /// Clears all indices, because fields or entries have moved.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the indices of all fields of a map. Fields may have been appended through another path to the same map
    /// (`-1` and `2`), so the cache is rebuilt if its size differs.
    fn index(&mut self, path: &[S], map: &Map) -> &FxHashMap<SmolStr, usize> {
        let is_current = self.0.get(path).is_some_and(|index| index.len() == map.len());
        if !is_current {
            let names = map.entries().iter().enumerate().map(|(i, entry)| (entry.key.text.clone(), i));
            self.0.insert(path.to_vec(), names.collect());
        }
        &self.0[path]
    }
}
