//! Random values of a type, and random changes of values.

use kubectl_smp_testing::dice::Dice;
use serde_json::{Map, Value, json};
use smp_merge::schema::{Cursor, TypeKind};

const WORDS: [&str; 4] = ["a", "b", "c", "x<y"];
/// Not generated: most are set by the server. The last but one is only in older documents, which the embedded schema
/// includes, and the last one became an associative list in Kubernetes 1.37.
const EXCLUDED_FIELDS: [&str; 9] = [
    "apiVersion",
    "kind",
    "managedFields",
    "uid",
    "resourceVersion",
    "selfLink",
    "generation",
    "clusterName",
    "nodeAllocatableResourceClaimStatuses",
];
/// Below this depth, only scalars are generated.
const MAX_DEPTH: usize = 8;

pub struct Values {
    pub dice: Dice,
    /// Selects the fields of a sequence, so that managers meet.
    salt: u64,
    /// True if the current object has a value of a wrong type or an unknown field. Two would have a random order.
    pub has_mistake: bool,
}

impl Values {
    pub fn new(salt: u64, dice: Dice) -> Self {
        Self { dice, salt, has_mistake: false }
    }

    /// Returns the fields of a type that this sequence uses.
    fn fields<'s>(&self, cursor: Cursor<'s>) -> Vec<(&'s str, Cursor<'s>)> {
        let is_used = |name: &str| !EXCLUDED_FIELDS.contains(&name);
        let mut fields: Vec<_> = cursor.fields().filter(|(name, _)| is_used(name)).collect();
        let rank = |name: &str, cursor: Cursor<'_>| {
            let is_nested = matches!(cursor.type_kind(), TypeKind::Object | TypeKind::Array);
            let number =
                name.bytes().fold(self.salt, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
            Dice::new(number).below(if is_nested { 50 } else { 100 })
        };
        fields.sort_by_cached_key(|(name, cursor)| rank(name, *cursor));
        let is_top = |name: &str| matches!(name, "metadata" | "spec" | "status" | "data" | "template");
        fields.sort_by_key(|(name, _)| !is_top(name));
        fields.truncate(5);
        fields
    }

    pub fn map(&mut self, cursor: Cursor<'_>, depth: usize) -> Value {
        let mut map = Map::new();
        if cursor.additional().is_known() {
            for _ in 0..self.dice.below(3) {
                let name = self.dice.pick(&WORDS);
                let value = self.value(cursor.additional(), depth + 1);
                map.insert(name.into(), value);
            }
        }
        let fields = self.fields(cursor);
        if fields.is_empty() && !cursor.additional().is_known() {
            return self.free(depth);
        }
        for (name, field) in fields {
            if self.dice.below(5) < if depth < 2 { 4 } else { 2 } {
                let value = self.value(field, depth + 1);
                map.insert(name.into(), value);
            }
        }
        if self.dice.one_in(400) && !self.has_mistake {
            self.has_mistake = true;
            map.insert("unknownField".into(), json!(1));
        }
        Value::Object(map)
    }

    fn value(&mut self, cursor: Cursor<'_>, depth: usize) -> Value {
        if self.dice.one_in(40) {
            return Value::Null;
        }
        if self.dice.one_in(1500) && !self.has_mistake {
            self.has_mistake = true;
            let mistakes = [json!("a"), json!([true]), json!(1.5), json!({"a": [1, "b"]})];
            return mistakes[self.dice.below(mistakes.len())].clone();
        }
        match cursor.type_kind() {
            TypeKind::Object if depth >= MAX_DEPTH || self.dice.one_in(12) => json!({}),
            TypeKind::Array if depth >= MAX_DEPTH || self.dice.one_in(12) => json!([]),
            TypeKind::Object => self.map(cursor, depth),
            TypeKind::Array => self.list(cursor, depth),
            TypeKind::String => self.dice.pick(&WORDS).into(),
            TypeKind::Integer => self.dice.pick(&[0, 1, 80, 443, 8080]).into(),
            TypeKind::Number => json!(self.dice.pick(&[0.5, 1.0, 2.0])),
            TypeKind::Boolean => self.dice.one_in(2).into(),
            TypeKind::IntOrString => {
                if self.dice.one_in(2) {
                    json!(1)
                } else {
                    json!("50%")
                }
            }
            TypeKind::Any => self.free(depth),
        }
    }

    fn list(&mut self, cursor: Cursor<'_>, depth: usize) -> Value {
        let mut keys: Vec<&str> = cursor.list_map_keys().collect();
        keys.extend(cursor.patch_merge_key().filter(|_| keys.is_empty()));
        let mut entries: Vec<Value> = Vec::new();
        for _ in 0..self.dice.below(4) {
            let entry = self.entry(cursor, &keys, depth);
            let is_same = |other: &Value| match entry.as_object() {
                Some(_) => keys.iter().all(|key| entry.get(key) == other.get(key)),
                None => entry == *other,
            };
            // Entries that differ only by a default are still the same.
            if !entries.iter().any(is_same) || self.dice.one_in(40) {
                entries.push(entry);
            }
        }
        Value::Array(entries)
    }

    fn entry(&mut self, cursor: Cursor<'_>, keys: &[&str], depth: usize) -> Value {
        let element = cursor.element();
        let mut entry =
            if keys.is_empty() { self.value(element, depth + 1) } else { self.map(element, depth + 1) };
        if let Value::Object(fields) = &mut entry {
            for key in keys {
                let is_required = element.is_required(key);
                let is_omitted = self.dice.one_in(if is_required { 60 } else { 3 });
                if is_omitted && (!is_required || !self.salt.is_multiple_of(2)) {
                    fields.remove(*key);
                } else if element.has_field(key) {
                    let value = match element.field(key).type_kind() {
                        TypeKind::Integer => self.dice.pick(&[80, 443, 8080]).into(),
                        TypeKind::String => self.dice.pick(&["a", "b", "c", "TCP", "UDP"]).into(),
                        _ => continue,
                    };
                    fields.insert((*key).into(), value);
                }
            }
        }
        entry
    }

    /// Returns a value without a schema.
    pub fn free(&mut self, depth: usize) -> Value {
        match self.dice.below(if depth == 0 { 2 } else { 7 }) {
            0 | 1 if depth < 5 => {
                let mut map = Map::new();
                for _ in 0..self.dice.below(4) {
                    let name = self.dice.pick(&["a", "b", "c", "spec"]);
                    let value = self.free(depth + 1);
                    map.insert(name.into(), value);
                }
                Value::Object(map)
            }
            2 if depth < 5 => (0..self.dice.below(3)).map(|_| self.free(depth + 1)).collect(),
            3 => json!(self.dice.one_in(2)),
            4 if self.dice.one_in(3) => Value::Null,
            5 => json!(self.dice.pick(&[1, 2])),
            _ => self.dice.pick(&WORDS).into(),
        }
    }

    /// Changes some values, removes or adds others.
    pub fn mutate(&mut self, value: &mut Value, cursor: Option<Cursor<'_>>, depth: usize) {
        let Some(cursor) = cursor.filter(|cursor| cursor.is_known()) else {
            if depth > 0 && self.dice.one_in(3) {
                *value = self.free(depth);
            } else if let Value::Object(map) = value {
                for (name, value) in map.iter_mut() {
                    if !matches!(name.as_str(), "apiVersion" | "kind" | "metadata") && self.dice.one_in(2) {
                        self.mutate(value, None, depth + 1);
                    }
                }
            }
            return;
        };
        match value {
            Value::Object(map) => self.mutate_map(map, cursor, depth),
            Value::Array(list) => self.mutate_list(list, cursor, depth),
            _ => *value = self.value(cursor, depth),
        }
    }

    fn mutate_map(&mut self, map: &mut Map<String, Value>, cursor: Cursor<'_>, depth: usize) {
        for name in map.keys().cloned().collect::<Vec<_>>() {
            if matches!(name.as_str(), "apiVersion" | "kind" | "name" | "uid") {
                continue;
            }
            let top = matches!(name.as_str(), "metadata" | "spec" | "template");
            match self.dice.below(8) {
                0 if !top => drop(map.remove(&name)),
                1 if !top => {
                    let value = self.value(cursor.field(&name), depth + 1);
                    map.insert(name, value);
                }
                2..=4 => {
                    if let Some(value) = map.get_mut(&name) {
                        self.mutate(value, Some(cursor.field(&name)), depth + 1);
                    }
                }
                _ => {}
            }
        }
        if self.dice.one_in(3)
            && let Value::Object(more) = self.map(cursor, depth)
        {
            for (name, value) in more {
                map.entry(name).or_insert(value);
            }
        }
    }

    fn mutate_list(&mut self, list: &mut Vec<Value>, cursor: Cursor<'_>, depth: usize) {
        let mut keys: Vec<&str> = cursor.list_map_keys().collect();
        keys.extend(cursor.patch_merge_key().filter(|_| keys.is_empty()));
        for entry in list.iter_mut() {
            if entry.is_object() && self.dice.one_in(2) {
                let before: Vec<Option<Value>> = keys.iter().map(|key| entry.get(key).cloned()).collect();
                self.mutate(entry, Some(cursor.element()), depth + 1);
                for (key, value) in keys.iter().zip(before) {
                    if let (Some(fields), Some(value)) = (entry.as_object_mut(), value) {
                        fields.insert((*key).into(), value);
                    }
                }
            }
        }
        match self.dice.below(6) {
            0 if !list.is_empty() => drop(list.remove(self.dice.below(list.len()))),
            1 => self.dice.shuffle(list),
            2 | 3 => {
                let entry = self.entry(cursor, &keys, depth);
                let is_same = |other: &Value| match entry.as_object() {
                    Some(_) if !keys.is_empty() => keys.iter().all(|key| entry.get(key) == other.get(key)),
                    _ => entry == *other,
                };
                if !list.iter().any(is_same) || self.dice.one_in(8) {
                    let position = self.dice.below(list.len() + 1);
                    list.insert(position, entry);
                }
            }
            _ => {}
        }
    }
}
