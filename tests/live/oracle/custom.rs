//! Random objects of custom resources, generated from their CRD schemas.
//!
//! CRDs are installed in API groups of this test's own. Validation such as patterns and rules is removed: merging
//! does not depend on it.

use std::collections::BTreeSet;
use std::{env, fs};

use serde_json::{Map, Value, json};

use super::server::Server;
use super::{Dice, KeyedLists, Pair, Resource, Rig, eventually};

/// The installed kinds. Dropping it deletes them.
pub(super) struct Custom<'r> {
    rig: &'r Rig,
    kinds: Vec<CustomKind>,
}

struct CustomKind {
    resource: Resource,
    definition: String,
    /// The installed schema. Parts that contain lists with keys are marked.
    schema: Value,
}

impl Drop for Custom<'_> {
    fn drop(&mut self) {
        let names = self.kinds.iter().map(|kind| kind.definition.as_str());
        let args: Vec<_> = ["delete", "crd", "--wait=false"].into_iter().chain(names).collect();
        self.rig.try_kubectl(&args);
    }
}

/// Marks schemas that contain a list with keys or an atomic map.
const RICH: &str = "rich";

impl<'r> Custom<'r> {
    pub(super) fn installed(rig: &'r Rig, server: &Server) -> Self {
        let mut folders = vec![concat!(env!("CARGO_MANIFEST_DIR"), "/tests/live/crds").to_string()];
        folders.extend(env::var("SMP_TEST_SHARED").ok().map(|shared| format!("{shared}/crds")));
        let mut kinds = Vec::new();
        for folder in &folders {
            let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder}: {error}"));
            let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
            paths.sort();
            for path in paths {
                let text = fs::read_to_string(&path).expect("a file");
                for document in serde_yaml::Deserializer::from_str(&text) {
                    let definition: Value = serde::Deserialize::deserialize(document).expect("YAML");
                    if definition["kind"] == "CustomResourceDefinition" {
                        kinds.push(CustomKind::install(&definition, kinds.len(), rig, server));
                    }
                }
            }
        }
        let custom = Self { rig, kinds };
        eventually("the schemas are published", || {
            let published = server.published();
            custom.kinds.iter().all(|kind| published.contains(&kind.resource.api_version))
        });
        custom
    }

    pub(super) fn pair(&self, seed: u64, mut dice: Dice) -> Pair<'_> {
        let kind = &self.kinds[dice.below(self.kinds.len())];
        let mut maker = Maker { dice, budget: 0 };
        let base = maker.object(&kind.schema);
        maker.budget = BUDGET;
        let over = maker.change(&base, &kind.schema, 0);
        let (resource, keyed) = (kind.resource.clone(), KeyedLists::Schema(&kind.schema));
        Pair { seed, resource, keyed, base, over }
    }
}

impl CustomKind {
    fn install(original: &Value, number: usize, rig: &Rig, server: &Server) -> Self {
        let spec = &original["spec"];
        let versions = spec["versions"].as_array().expect("versions");
        let stored = versions.iter().find(|version| version["storage"] == true).expect("a stored one");
        let mut schema = without_rules(&stored["schema"]["openAPIV3Schema"]);
        if let Some(properties) = schema["properties"].as_object_mut() {
            properties.insert("metadata".into(), json!({"type": "object"}));
            properties.remove("status");
        }
        let group = format!("c{number}.{}.example.com", rig.name);
        let plural = spec["names"]["plural"].as_str().expect("a plural");
        let mut names = spec["names"].clone();
        names.as_object_mut().expect("names").retain(|name, _| ["kind", "plural"].contains(&name.as_str()));
        let definition = format!("{plural}.{group}");
        server.install(&json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": definition},
            "spec": {"group": group, "scope": spec["scope"], "names": names, "versions": [{
                "name": stored["name"], "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            }]},
        }));
        mark_rich(&mut schema);
        let version = stored["name"].as_str().expect("a name");
        let resource = Resource {
            api_version: format!("{group}/{version}"),
            kind: spec["names"]["kind"].as_str().expect("a kind").into(),
            plural: plural.into(),
            namespaced: spec["scope"] == "Namespaced",
        };
        Self { resource, definition, schema }
    }
}

/// The schema without validation rules.
fn without_rules(schema: &Value) -> Value {
    const KEPT: [&str; 8] = [
        "type",
        "default",
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-map-type",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-int-or-string",
        "x-kubernetes-embedded-resource",
    ];
    let Some(all) = schema.as_object() else { return schema.clone() };
    let mut kept: Map<_, _> =
        all.iter().filter(|(k, v)| KEPT.contains(&k.as_str()) && !v.is_null()).map(own).collect();
    if let Some(properties) = all.get("properties").and_then(Value::as_object) {
        let properties = properties.iter().map(|(name, schema)| (name.clone(), without_rules(schema)));
        kept.insert("properties".into(), properties.collect::<Map<_, _>>().into());
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(schema) = all.get(inner) {
            kept.insert(inner.into(), without_rules(schema));
        }
    }
    let keys = kept.get("x-kubernetes-list-map-keys").cloned();
    for key in keys.iter().flat_map(|keys| keys.as_array().into_iter().flatten()) {
        let items = kept.get_mut("items").expect("items");
        if items["properties"][key.as_str().expect("a key")].get("default").is_none() {
            let required = items.as_object_mut().expect("a schema").entry("required").or_insert(json!([]));
            required.as_array_mut().expect("a list").push(key.clone());
        }
    }
    kept.into()
}

fn own((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

fn list_type(schema: &Value) -> &str {
    schema["x-kubernetes-list-type"].as_str().unwrap_or("atomic")
}

/// Sorts the entries of all lists that are not atomic.
pub(super) fn sort_keyed(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                sort_keyed(value, field_schema(schema, name));
            }
        }
        Value::Array(entries) => {
            for entry in entries.iter_mut() {
                sort_keyed(entry, &schema["items"]);
            }
            if list_type(schema) != "atomic" {
                entries.sort_by_key(ToString::to_string);
            }
        }
        _ => {}
    }
}

fn field_schema<'s>(schema: &'s Value, name: &str) -> &'s Value {
    schema["properties"].get(name).unwrap_or(&schema["additionalProperties"])
}

fn mark_rich(schema: &mut Value) -> bool {
    let mut is_rich = list_type(schema) != "atomic" || schema["x-kubernetes-map-type"] == "atomic";
    for schema in schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten() {
        is_rich |= mark_rich(schema.1);
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(schema) = schema.get_mut(inner).filter(|schema| schema.is_object()) {
            is_rich |= mark_rich(schema);
        }
    }
    if is_rich {
        schema[RICH] = json!(true);
    }
    is_rich
}

/// The approximate maximum number of values in an object.
const BUDGET: usize = 60;
const DEEPEST: usize = 14;

/// Generates values from schemas.
struct Maker {
    dice: Dice,
    budget: usize,
}

impl Maker {
    fn object(&mut self, schema: &Value) -> Value {
        self.budget = BUDGET;
        let mut object = json!({"metadata": {"labels": {"a": "x", "b": "y"}}});
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            if !["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
                object[name] = self.value(schema, 0);
            }
        }
        object
    }

    fn value(&mut self, schema: &Value, depth: usize) -> Value {
        self.budget = self.budget.saturating_sub(1);
        if schema["x-kubernetes-int-or-string"] == true {
            return self.dice_of(&[json!(1), json!("50%"), json!("a")]);
        }
        match schema["type"].as_str() {
            Some("object") => self.map(schema, depth),
            Some("array") => self.list(schema, depth),
            Some("integer") => json!(self.dice.below(3)),
            Some("number") => self.dice_of(&[json!(1), json!(1.5)]),
            Some("boolean") => json!(self.dice.one_in(2)),
            Some("string") => json!(self.dice.pick(&["x", "y", "on", "1", "a b: c"])),
            _ => self.free(depth),
        }
    }

    fn dice_of(&mut self, values: &[Value]) -> Value {
        values[self.dice.below(values.len())].clone()
    }

    /// A value of a field without a schema. Each field name has one type.
    fn free(&mut self, depth: usize) -> Value {
        let mut fields = json!({"a": self.dice.below(3)});
        if self.dice.one_in(2) && depth < DEEPEST {
            fields["b"] = self.free(DEEPEST - 1);
        }
        if self.dice.one_in(2) {
            fields["c"] = json!([{"name": self.dice.pick(&["x", "y"])}, self.dice.below(2)]);
        }
        fields
    }

    fn map(&mut self, schema: &Value, depth: usize) -> Value {
        let mut map = Map::new();
        if schema["x-kubernetes-embedded-resource"] == true {
            map.insert("apiVersion".into(), json!("v1"));
            map.insert("kind".into(), json!("ConfigMap"));
        }
        if let Some(properties) = schema["properties"].as_object() {
            for _ in 0..=self.dice.below(4) {
                self.add_field(&mut map, properties, depth);
            }
        } else if schema["additionalProperties"].is_object() {
            for key in ["a", "b", "c.d/e"] {
                if self.dice.one_in(2) && self.budget > 0 && depth < DEEPEST {
                    map.insert(key.into(), self.value(&schema["additionalProperties"], depth + 1));
                }
            }
        } else if let Value::Object(free) = self.free(depth) {
            // Without this extension, the object can have no fields.
            let is_free = schema["x-kubernetes-preserve-unknown-fields"] == true;
            map.extend(free.into_iter().filter(|_| is_free));
        }
        map.into()
    }

    /// Prefers fields that contain lists with keys.
    fn add_field(&mut self, map: &mut Map<String, Value>, properties: &Map<String, Value>, depth: usize) {
        let rich: Vec<_> = properties.iter().filter(|(_, schema)| schema[RICH] == true).collect();
        let all: Vec<_> = properties.iter().collect();
        let from = if rich.is_empty() || self.dice.one_in(3) { all } else { rich };
        if from.is_empty() || self.budget == 0 || depth >= DEEPEST {
            return;
        }
        let (name, schema) = from[self.dice.below(from.len())];
        if !map.contains_key(name) {
            map.insert(name.clone(), self.value(schema, depth + 1));
        }
    }

    fn list(&mut self, schema: &Value, depth: usize) -> Value {
        let mut list = Vec::new();
        for _ in 0..self.dice.below(4) {
            if self.budget > 0 && depth < DEEPEST {
                list.push(self.entry(schema, depth));
            }
        }
        distinct(list, schema).into()
    }

    fn entry(&mut self, schema: &Value, depth: usize) -> Value {
        let mut entry = self.value(&schema["items"], depth + 1);
        for (key, value) in self.keys(schema) {
            entry[key] = value;
        }
        entry
    }

    /// A key field with a default may be omitted.
    fn keys(&mut self, schema: &Value) -> Vec<(String, Value)> {
        let mut made = Vec::new();
        for key in keys(schema) {
            let of_key = &schema["items"]["properties"][key];
            if of_key.get("default").is_none() || self.dice.one_in(2) {
                let value = match of_key["type"].as_str() {
                    Some("integer") => json!(self.dice.below(3)),
                    Some("boolean") => json!(self.dice.one_in(2)),
                    _ => self.dice_of(&[
                        json!("x"),
                        json!("y"),
                        of_key.get("default").cloned().unwrap_or(json!("z")),
                    ]),
                };
                made.push((key.to_string(), value));
            }
        }
        made
    }

    /// A layer over a value: some of its content, changed or not, and some new content.
    fn change(&mut self, base: &Value, schema: &Value, depth: usize) -> Value {
        match (base, list_type(schema)) {
            (Value::Object(fields), _) => self.change_map(fields, schema, depth),
            (Value::Array(entries), "map") => self.change_keyed(entries, schema, depth),
            (Value::Array(_), _) => self.list(schema, depth),
            _ if schema["type"].is_string() || schema["x-kubernetes-int-or-string"] == true => {
                self.value(schema, depth)
            }
            (scalar, _) => scalar.clone(),
        }
    }

    fn change_map(&mut self, fields: &Map<String, Value>, schema: &Value, depth: usize) -> Value {
        let mut map = Map::new();
        for (name, value) in fields {
            let is_identity = schema["x-kubernetes-embedded-resource"] == true && value.is_string();
            if is_identity || depth == 0 || self.dice.one_in(2) {
                map.insert(name.clone(), self.change(value, field_schema(schema, name), depth + 1));
            }
        }
        if let Some(properties) = schema["properties"].as_object().filter(|_| depth > 0) {
            self.add_field(&mut map, properties, depth);
        }
        map.into()
    }

    /// Some of the entries, with their keys, and a new one.
    fn change_keyed(&mut self, entries: &[Value], schema: &Value, depth: usize) -> Value {
        let mut list = Vec::new();
        for entry in entries.iter().filter(|entry| entry.is_object()) {
            if self.dice.one_in(2) {
                continue;
            }
            let mut over = self.change(entry, &schema["items"], depth + 1);
            for key in keys(schema) {
                match entry.get(key) {
                    Some(value) => over[key] = value.clone(),
                    None => drop(over.as_object_mut().and_then(|map| map.remove(key))),
                }
            }
            list.push(over);
        }
        if self.dice.one_in(2) {
            list.push(self.entry(schema, depth));
        }
        distinct(list, schema).into()
    }
}

fn keys(schema: &Value) -> impl Iterator<Item = &str> {
    schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// Removes entries that would be duplicates in the list.
fn distinct(list: Vec<Value>, schema: &Value) -> Vec<Value> {
    if list_type(schema) == "atomic" {
        return list;
    }
    let key = |entry: &Value| {
        let of_key = |key| {
            let default = &schema["items"]["properties"][key]["default"];
            entry.get(key).unwrap_or(default).to_string()
        };
        match list_type(schema) {
            "map" => keys(schema).map(of_key).collect::<Vec<_>>(),
            _ => vec![entry.to_string()],
        }
    };
    let mut seen = BTreeSet::new();
    list.into_iter().filter(|entry| seen.insert(key(entry))).collect()
}
