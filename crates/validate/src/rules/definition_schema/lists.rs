//! The keywords of lists: their type, and the list map keys.

use std::collections::HashSet;

use super::super::prelude::*;
use super::{SchemaOfDefinition, word};

const TYPE: &str = "x-kubernetes-list-type";
const KEYS: &str = "x-kubernetes-list-map-keys";

impl<'n> SchemaOfDefinition<'n, '_> {
    pub(super) fn list_type(&mut self, schema: &'n Node) {
        let has_keys = schema.get(KEYS).and_then(Node::as_list).is_some_and(|keys| !keys.is_empty());
        match word(schema, TYPE) {
            Some("atomic" | "set" | "map") if word(schema, "type") != Some("array") => {
                self.keyword(schema, TYPE, "may be set only if the type is `array`");
            }
            Some("map") if !has_keys => {
                self.keyword(schema, KEYS, format!("is required if `{TYPE}` is `map`"));
            }
            Some("map") => self.entries_of_map(schema),
            Some("atomic" | "set") | None if has_keys => {
                self.keyword(schema, KEYS, format!("may be set only if `{TYPE}` is `map`"));
            }
            Some("set") => self.entries_of_set(schema),
            Some("atomic") | None => {}
            Some(_) => self.keyword(schema, TYPE, "must be one of `atomic`, `set`, `map`"),
        }
    }

    fn entries_of_set(&mut self, schema: &'n Node) {
        let Some(items) = schema.get("items") else { return };
        self.not_nullable(&[Field("items")], items, "an entry of a set");
        let keyword = match word(items, "type") {
            Some("object") if word(items, "x-kubernetes-map-type") != Some("atomic") => {
                "x-kubernetes-map-type"
            }
            Some("array") if word(items, TYPE).is_some_and(|name| name != "atomic") => TYPE,
            _ => return,
        };
        self.within(&[Field("items")], |walk| walk.keyword(items, keyword, "must be `atomic` in a set"));
    }

    fn entries_of_map(&mut self, schema: &'n Node) {
        let Some(items) = schema.get("items") else { return };
        self.not_nullable(&[Field("items")], items, "an entry of a list with keys");
        if word(items, "type").is_some_and(|name| name != "object") {
            let message = format!("must be `object` if `{TYPE}` is `map`");
            return self.within(&[Field("items")], |walk| walk.keyword(items, "type", message));
        }
        self.keys(schema, items);
    }

    /// Checks that the list map keys are scalar fields of each entry, and that each is required or has a default.
    fn keys(&mut self, schema: &'n Node, items: &'n Node) {
        let required = list_of(items, "required");
        let keys = list_of(schema, KEYS);
        let mut seen = HashSet::new();
        for (index, key) in keys.iter().enumerate() {
            let Some(name) = key.as_str() else { continue };
            let field = items.get_path(&["properties", name]);
            let is_sure = required.iter().any(|field| field.as_str() == Some(name))
                || field.and_then(|field| field.get("default")).is_some_and(|default| !default.is_null());
            let message = match field {
                _ if !seen.insert(name) => "duplicate key",
                None => "entries of the list have no such field",
                Some(field) if matches!(word(field, "type"), Some("array" | "object")) => {
                    "a list map key must be a scalar"
                }
                Some(_) if !is_sure => "a list map key must be in `required` or have a `default`",
                Some(field) => {
                    let path = ["items", "properties", name].map(Field);
                    self.not_nullable(&path, field, "a list map key");
                    continue;
                }
            };
            self.within(&[Field(KEYS), Entry(index)], |walk| walk.report(&[], key.span(), message));
        }
    }

    fn not_nullable(&mut self, path: &[PathStep<'n>], schema: &'n Node, subject: &str) {
        if is_true(schema.get("nullable")) {
            let message = format!("{subject} may not be nullable");
            self.within(path, |walk| walk.keyword(schema, "nullable", message));
        }
    }
}
