//! Random patches: adds valid and invalid patch directives to an object.

use smp_merge::schema::{Cursor, TypeKind};
use smp_text::yaml::{Map, Node, Value};

use super::{Generator, fields, keys};

impl<'s> Generator<'s> {
    /// Turns an object into a patch for the API server.
    pub fn add_patch_directives(&mut self, patch: &mut Node) {
        self.add_directives(patch, self.root, None);
    }

    /// Adds directives at random to a value and everything below it. `list` is the list that contains the value, if
    /// any.
    fn add_directives(&mut self, node: &mut Node, at: Cursor<'s>, list: Option<Cursor<'s>>) {
        let Value::Map(map) = &mut node.value else { return };
        if self.dice.one_in(16) {
            let action = self.dice.pick(&["delete", "replace", "merge", "delete", "replace", "nothing", ""]);
            map.insert("$patch", if action.is_empty() { Node::null() } else { Node::string(action) });
        } else if list.is_some() && self.dice.one_in(4) {
            map.insert("$patch", Node::string("delete"));
        }
        let key = list.and_then(Cursor::patch_merge_key);
        let names: Vec<String> = map.iter().map(|(name, _)| name.to_string()).collect();
        for name in names {
            if name.starts_with('$') {
                continue;
            }
            if Some(name.as_str()) != key && self.dice.one_in(20) {
                map.insert(name.as_str(), Node::null());
                continue;
            }
            let field = at.field(&name);
            if let Some(value) = map.get_mut(&name) {
                self.add_field_directives(value, field);
            }
        }
        self.parallel_lists(map, at);
        if self.dice.one_in(10) {
            self.retain_keys(map);
        }
        if self.dice.one_in(200) {
            let name = ["$setElementOrder", "$deleteFromPrimitiveList", "$setElementOrder/", "$retainKeys"];
            map.insert(self.dice.pick(&name), Node::list(Vec::new()));
        }
    }

    fn add_field_directives(&mut self, node: &mut Node, at: Cursor<'s>) {
        let Value::List(entries) = &mut node.value else { return self.add_directives(node, at, None) };
        for entry in &mut *entries {
            self.add_directives(entry, at.element(), Some(at));
            if let (Some(map), Some(key)) = (entry.as_map_mut(), at.patch_merge_key())
                && self.dice.one_in(60)
            {
                map.remove(key);
            }
        }
        if self.dice.one_in(25) && at.patch_merge_key().is_some() {
            let action = self.dice.pick(&["replace", "delete", "merge"]);
            let only: Map = [("$patch", Node::string(action))].into_iter().collect();
            entries.insert(self.dice.below(entries.len() + 1), Node::map(only));
        }
        if self.dice.one_in(80) {
            entries.push(self.value_of_wrong_type("", at));
        }
    }

    /// Adds `$retainKeys` with the fields that the patch sets, sometimes incomplete.
    fn retain_keys(&mut self, map: &mut Map) {
        let names: Vec<String> = map.iter().map(|(name, _)| name.to_string()).collect();
        let kept = names.into_iter().filter(|name| !name.starts_with('$') && !self.dice.one_in(25));
        let kept = kept.map(Node::string).collect();
        map.insert("$retainKeys", Node::list(kept));
    }

    /// Adds `$setElementOrder` and `$deleteFromPrimitiveList`.
    fn parallel_lists(&mut self, map: &mut Map, at: Cursor<'s>) {
        let lists = fields(at).into_iter().filter(|(_, field)| field.type_kind() == TypeKind::Array);
        for (name, list) in lists {
            let present = map.get(name).and_then(Node::as_list).cloned();
            let adds_directives = match &present {
                Some(_) => self.dice.one_in(3),
                None => list.patch_strategy().merge && self.dice.one_in(12),
            };
            if !adds_directives {
                continue;
            }
            if self.dice.one_in(2) {
                let order = self.element_order(present.unwrap_or_default(), name, list);
                map.insert(format!("$setElementOrder/{name}").as_str(), Node::list(order));
            }
            let scalars = list.element().type_kind() != TypeKind::Object;
            if if scalars { self.dice.one_in(2) } else { self.dice.one_in(60) } {
                let deleted = (0..=self.dice.below(3)).map(|_| self.entry(name, list, 99)).collect();
                map.insert(format!("$deleteFromPrimitiveList/{name}").as_str(), Node::list(deleted));
            }
        }
    }

    /// Returns the entries of a patch and some more, with their key only.
    fn element_order(&mut self, entries: Vec<Node>, name: &str, list: Cursor<'s>) -> Vec<Node> {
        let mut order = Vec::new();
        for entry in entries {
            if entry.get("$patch").is_none() || self.dice.one_in(8) {
                order.push(key_only(entry, list));
            }
        }
        for _ in 0..self.dice.below(4) {
            let entry = self.entry(name, list, 99);
            order.insert(self.dice.below(order.len() + 1), key_only(entry, list));
        }
        if self.dice.one_in(12) {
            self.dice.shuffle(&mut order);
        }
        self.distinct(order, list)
    }
}

fn key_only(mut entry: Node, list: Cursor<'_>) -> Node {
    if let Some(map) = entry.as_map_mut() {
        let keys = keys(list);
        map.entries_mut().retain(|field| keys.first().is_some_and(|key| field.key.text == *key));
    }
    entry
}
