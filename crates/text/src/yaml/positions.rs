//! Where the fields of large maps stand in a tree that is changed in many places.
//!
//! Without it, adding many fields to one map would search it each time. Knows nothing of why a tree is changed.

use std::hash::Hash;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::node::{Map, Node};

/// Up to this many fields a search in order is as fast.
const SMALL: usize = 32;

/// The positions of fields, by the steps that lead to their maps.
///
/// They may be out of date where fields were only added; whatever else moves fields must clear them.
#[derive(Debug)]
pub struct FieldPositions<S>(FxHashMap<Vec<S>, FxHashMap<SmolStr, usize>>);

impl<S> Default for FieldPositions<S> {
    fn default() -> Self {
        Self(FxHashMap::default())
    }
}

impl<S: Clone + Eq + Hash> FieldPositions<S> {
    /// The position of a field.
    pub fn find(&mut self, steps: &[S], map: &Map, name: &str) -> Option<usize> {
        if map.len() <= SMALL {
            return map.position(name);
        }
        self.index(steps, map).get(name).copied()
    }

    /// Sets a field, or adds it at the end.
    pub fn insert(&mut self, steps: &[S], map: &mut Map, name: &SmolStr, value: Node) {
        let Some(position) = self.find(steps, map, name) else {
            self.push(steps, map, name, value);
            return;
        };
        let old = std::mem::replace(&mut map.entries_mut()[position].value, value);
        if old.scalar_text().is_none() {
            // The steps to what was below it lead somewhere else now.
            self.clear();
        }
    }

    /// Adds a field at the end, which is known to be new.
    pub fn push(&mut self, steps: &[S], map: &mut Map, name: &SmolStr, value: Node) {
        if let Some(index) = self.0.get_mut(steps) {
            index.insert(name.clone(), map.len());
        }
        map.push(name.clone(), value);
    }

    /// Forgets everything: fields or entries have moved.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The positions of all fields of a map. Other steps may lead to the same map (`-1` and `2`), so that fields
    /// may have been added without a note here.
    fn index(&mut self, steps: &[S], map: &Map) -> &FxHashMap<SmolStr, usize> {
        let is_current = self.0.get(steps).is_some_and(|index| index.len() == map.len());
        if !is_current {
            let names = map.entries().iter().enumerate().map(|(i, entry)| (entry.key.text.clone(), i));
            self.0.insert(steps.to_vec(), names.collect());
        }
        &self.0[steps]
    }
}
