//! Merges an applied object into a live one.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::path_element::PathElement;
use super::types::{Fields, List, Part, Type};

/// Returns the live value merged with the applied one. No fields are removed.
pub(super) fn merged(live: &Value, applied: &Value, ty: Type<'_>) -> Value {
    match ty.part(applied) {
        Part::Map(fields) => merged_maps(live, applied, &fields),
        Part::List(list) => merged_lists(live, applied, &list),
        Part::Scalar(_) | Part::None => applied.clone(),
    }
}

fn merged_maps(live: &Value, applied: &Value, fields: &Fields<'_>) -> Value {
    let (old, new) = (live.as_object(), applied.as_object());
    let is_empty = |map: Option<&Map<String, Value>>| map.is_none_or(Map::is_empty);
    if fields.is_atomic || (is_empty(old) && is_empty(new)) {
        return applied.clone();
    }
    let Some(new) = new else { return live.clone() };
    let mut out = old.cloned().unwrap_or_default();
    for (name, value) in new {
        match out.get_mut(name) {
            Some(own) => *own = merged(own, value, fields.field(name)),
            None => drop(out.insert(name.clone(), value.clone())),
        }
    }
    Value::Object(out)
}

fn merged_lists(live: &Value, applied: &Value, list: &List<'_>) -> Value {
    let (old, new) = (live.as_array(), applied.as_array());
    if list.is_atomic() || (old.is_none_or(Vec::is_empty) && new.is_none_or(Vec::is_empty)) {
        return applied.clone();
    }
    match (old, new) {
        (_, None) => live.clone(),
        (None, Some(_)) => applied.clone(),
        (Some(old), Some(new)) => Value::Array(Pairs::new(old, new, list).merge(list)),
    }
}

/// The entries of a live and an applied list, each with its counterpart.
struct Pairs<'v> {
    old: &'v [Value],
    new: &'v [Value],
    /// For each live entry, the index of the applied entry with the same key.
    in_new: Vec<Option<usize>>,
    /// For each applied entry, the live entry with the same key. Null stands for several such live entries, which the
    /// applied entry replaces.
    counterparts: Vec<Option<&'v Value>>,
}

impl<'v> Pairs<'v> {
    fn new(old: &'v [Value], new: &'v [Value], list: &List<'_>) -> Self {
        let elements = |entries: &[Value]| -> Vec<Option<PathElement>> {
            entries.iter().map(|entry| list.element_of(entry).ok()).collect()
        };
        let new_elements = elements(new);
        let positions: BTreeMap<&PathElement, usize> =
            new_elements.iter().enumerate().filter_map(|(i, element)| Some((element.as_ref()?, i))).collect();
        let mut pairs =
            Self { old, new, in_new: Vec::with_capacity(old.len()), counterparts: vec![None; new.len()] };
        for (entry, element) in old.iter().zip(elements(old)) {
            let position = element.and_then(|element| positions.get(&element).copied());
            if let Some(counterpart) = position.and_then(|i| pairs.counterparts.get_mut(i)) {
                *counterpart = Some(if counterpart.is_some() { &Value::Null } else { entry });
            }
            pairs.in_new.push(position);
        }
        pairs
    }

    fn merged_entry(&self, i: usize, list: &List<'_>) -> Value {
        match self.counterparts[i] {
            Some(old) => merged(old, &self.new[i], list.element),
            None => self.new[i].clone(),
        }
    }

    /// Merges the entries in the order of the applied list. An entry that only the live list contains remains before
    /// the entry that follows it in the live list.
    fn merge(&self, list: &List<'_>) -> Vec<Value> {
        let mut out = Vec::with_capacity(self.old.len() + self.new.len());
        // Applied entries that are also in the live list.
        let mut shared = (0..self.new.len()).filter(|&i| self.counterparts[i].is_some());
        let mut next_shared = shared.next();
        let (mut o, mut n) = (0, 0);
        while o < self.old.len() || n < self.new.len() {
            let here = self.in_new.get(o).copied();
            if let Some(own) = here {
                if n < self.new.len() {
                    if own == Some(n) {
                        out.push(self.merged_entry(n, list));
                        (o, n) = (o + 1, n + 1);
                        next_shared = shared.next();
                        continue;
                    }
                    if own.is_some() && next_shared.is_some() && own != next_shared {
                        o += 1;
                        continue;
                    }
                }
                match own {
                    None => {
                        out.push(self.old[o].clone());
                        o += 1;
                        continue;
                    }
                    Some(position) if position < n => o += 1,
                    Some(_) => {}
                }
            }
            if n < self.new.len() {
                out.push(self.merged_entry(n, list));
                if next_shared == Some(n) {
                    next_shared = shared.next();
                }
                n += 1;
            }
        }
        out
    }
}
