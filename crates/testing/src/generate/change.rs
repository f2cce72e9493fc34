//! Small random changes of an object, as its owner or another manager would make them.

use smp_merge::schema::{Cursor, TypeKind};
use smp_text::yaml::{Map, Node, Value};

use super::{Generator, WORDS, fields, keys};

impl<'s> Generator<'s> {
    /// Returns a changed version of an object.
    pub fn changed(&mut self, object: &Node) -> Node {
        self.budget = 30;
        let mut changed = object.clone();
        self.change(&mut changed, "", self.root, 0);
        self.identify(&mut changed);
        changed
    }

    fn change(&mut self, node: &mut Node, name: &str, at: Cursor<'s>, depth: usize) {
        match &mut node.value {
            Value::Map(map) => self.change_map(map, at, depth),
            Value::List(list) => {
                let entries = std::mem::take(list);
                *list = self.changed_list(entries, name, at, depth);
            }
            Value::Scalar(_) if self.dice.one_in(4) => *node = self.value(name, at, depth),
            Value::Scalar(_) => {}
        }
    }

    fn change_map(&mut self, map: &mut Map, at: Cursor<'s>, depth: usize) {
        let names: Vec<String> = map.iter().map(|(name, _)| name.to_string()).collect();
        for name in names {
            match self.dice.below(8) {
                0 => drop(map.remove(&name)),
                1 => {
                    let value = self.value(&name, at.field(&name), depth + 1);
                    map.insert(name.as_str(), value);
                }
                _ => {
                    let field = at.field(&name);
                    if let Some(value) = map.get_mut(&name) {
                        self.change(value, &name, field, depth + 1);
                    }
                }
            }
        }
        if self.dice.one_in(4) {
            let fields = fields(at);
            if !fields.is_empty() {
                let (name, field) = self.field(&fields, depth);
                map.insert(name, self.value(name, field, depth + 1));
            } else if at.type_kind() == TypeKind::Object {
                map.insert(self.dice.pick(WORDS), self.value("", at.additional(), depth + 1));
            }
        }
        if self.options.wrong_values && self.dice.one_in(40) && !map.is_empty() {
            let i = self.dice.below(map.len());
            let entry = &mut map.entries_mut()[i];
            entry.value = self.value_of_wrong_type(&entry.key.text, at.field(&entry.key.text));
        }
    }

    fn changed_list(&mut self, entries: Vec<Node>, name: &str, at: Cursor<'s>, depth: usize) -> Vec<Node> {
        let mut out = Vec::new();
        for mut entry in entries {
            match self.dice.below(8) {
                0 => {}
                1 => {
                    out.push(entry);
                    if self.dice.one_in(2) {
                        out.push(self.entry(name, at, depth));
                    }
                }
                _ => {
                    self.change_entry(&mut entry, name, at, depth);
                    out.push(entry);
                }
            }
        }
        if self.dice.one_in(6) {
            out.push(self.entry(name, at, depth));
        }
        if self.dice.one_in(4) {
            self.dice.shuffle(&mut out);
        }
        self.distinct(out, at)
    }

    /// Changes an entry, mostly without changing its keys.
    fn change_entry(&mut self, entry: &mut Node, name: &str, list: Cursor<'s>, depth: usize) {
        let before = entry.clone();
        self.change(entry, name, list.element(), depth + 1);
        let Some(map) = entry.as_map_mut() else { return };
        for (i, key) in keys(list).into_iter().enumerate() {
            match before.get(key) {
                Some(value) if !self.dice.one_in(12) => drop(map.insert(key, value.clone())),
                _ if map.contains_key(key) || i > 0 && list.element().key_default(key).is_some() => {}
                _ if self.options.wrong_values && self.dice.one_in(30) => {}
                _ => drop(map.insert(key, self.value(key, list.element().field(key), depth))),
            }
        }
    }
}
