//! Random sequences of requests that write one object.

use std::collections::BTreeMap;

use kubectl_smp_testing::dice::Dice;
use serde_json::{Map, Value, json};
use smp_merge::managed_fields::{FieldSet, Options, apply, extract, update};
use smp_merge::schema::{Cursor, Gvk, Schema, TypeKind, named_kinds};

use super::outcome::Outcome;

const MANAGERS: [&str; 4] = ["a", "b", "kubectl", "<c>"];
const WORDS: [&str; 4] = ["a", "b", "c", "x<y"];
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Not generated: most are set by the server, and the last one became an associative list in Kubernetes 1.37.
const EXCLUDED_FIELDS: [&str; 8] = [
    "apiVersion",
    "kind",
    "managedFields",
    "uid",
    "resourceVersion",
    "selfLink",
    "generation",
    "nodeAllocatableResourceClaimStatuses",
];
const MAX_STEPS: usize = 12;
/// Below this depth, only scalars are generated.
const MAX_DEPTH: usize = 8;

/// The kinds of the documents, with the versions of each.
pub type Kinds = Vec<Vec<Gvk>>;

/// Returns the kinds of objects with metadata, and one kind without a schema.
pub fn kinds(schema: &Schema) -> Kinds {
    let mut versions: BTreeMap<(String, String), Vec<Gvk>> = BTreeMap::new();
    for kind in schema.graphs().flat_map(|(_, graph)| named_kinds(graph)) {
        let metadata = schema.kind(&kind.gvk).map(|cursor| cursor.field("metadata").type_name());
        if metadata == Some(Some(OBJECT_META)) {
            let key = (kind.gvk.group.to_string(), kind.gvk.kind.to_string());
            versions.entry(key).or_default().push(kind.gvk);
        }
    }
    let custom = ["v1", "v2"].map(|version| Gvk::from_manifest(&format!("example.com/{version}"), "Widget"));
    versions.into_values().chain([custom.to_vec()]).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Apply,
    Update,
    Extract,
}

/// One request.
#[derive(Debug, Clone)]
pub struct Step {
    verb: Verb,
    object: Value,
    manager: &'static str,
    is_forced: bool,
    subresource: &'static str,
    reset: FieldSet,
    time: String,
}

impl Step {
    /// Returns the request to the reference.
    pub fn request(&self) -> Value {
        let operation = match self.verb {
            Verb::Apply => "apply",
            Verb::Update => "update",
            Verb::Extract => "extract",
        };
        json!({
            "operation": operation, "object": self.object, "manager": self.manager, "force": self.is_forced,
            "subresource": self.subresource, "reset": self.reset.to_fields_v1(), "time": self.time,
        })
    }

    fn run(&self, live: Option<&Value>, schema: &Schema) -> Outcome {
        let options = Options::new(schema)
            .time(self.time.as_str())
            .force(self.is_forced)
            .subresource(self.subresource)
            .reset_fields(self.reset.clone());
        match self.verb {
            Verb::Apply => Outcome::of_apply(apply(live, &self.object, self.manager, &options)),
            Verb::Update => match update(live, &self.object, self.manager, &options) {
                Ok(object) => Outcome::of_object(object),
                Err(error) => Outcome::Error(error.message().into()),
            },
            Verb::Extract => match live.map(|live| extract(live, self.manager, &options)) {
                Some(Ok(object)) => Outcome::Extracted(without_identity(object.unwrap_or_default())),
                Some(Err(error)) => Outcome::Error(error.message().into()),
                None => Outcome::Error("there is no object".into()),
            },
        }
    }
}

/// The reference extracts neither kind nor name.
fn without_identity(mut object: Value) -> Value {
    for field in ["apiVersion", "kind"] {
        object.as_object_mut().map(|fields| fields.remove(field));
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("name");
        metadata.remove("namespace");
        if metadata.is_empty() {
            object.as_object_mut().map(|fields| fields.remove("metadata"));
        }
    }
    if object.as_object().is_some_and(Map::is_empty) { Value::Null } else { object }
}

/// Steps and our results.
pub struct Sequence {
    pub steps: Vec<Step>,
    pub outcomes: Vec<Outcome>,
}

/// Runs steps. One that fails leaves the object unchanged.
pub fn run(steps: &[Step], schema: &Schema) -> Vec<Outcome> {
    let mut live = None;
    let run = |step: &Step| {
        let outcome = step.run(live.as_ref(), schema);
        if let Outcome::Object(object, _) = &outcome {
            live = Some(object.clone());
        }
        outcome
    };
    steps.iter().map(run).collect()
}

/// Returns the schema of a sequence. With the documents of the reference, list entries may lack required keys, whose
/// defaults differ between versions.
pub fn schema_of<'s>(seed: u64, documents: &'s Schema, embedded: &'s Schema) -> &'s Schema {
    if seed.is_multiple_of(2) { embedded } else { documents }
}

/// Generates a sequence and runs it, since updates depend on the live object.
pub fn random(seed: u64, kinds: &Kinds, documents: &Schema, embedded: &Schema) -> Sequence {
    let schema = schema_of(seed, documents, embedded);
    let mut dice = Dice::new(seed);
    let versions = &kinds[dice.below(kinds.len())];
    let has_versions = dice.one_in(4);
    let mut generator = Generator { salt: seed, has_mistake: false, dice };
    let mut applied: BTreeMap<&str, Value> = BTreeMap::new();
    let (mut steps, mut outcomes) = (Vec::new(), Vec::new());
    let mut live: Option<Value> = None;
    for number in 0..2 + generator.dice.below(MAX_STEPS - 1) {
        let gvk = if has_versions { &versions[generator.dice.below(versions.len())] } else { &versions[0] };
        let root = documents.kind(gvk);
        let step = generator.step(number, gvk, root, live.as_ref(), &mut applied);
        let outcome = step.run(live.as_ref(), schema);
        if let Outcome::Object(object, _) = &outcome {
            live = Some(object.clone());
        }
        outcomes.push(outcome);
        steps.push(step);
    }
    Sequence { steps, outcomes }
}

struct Generator {
    dice: Dice,
    /// Selects the fields of a sequence, so that managers meet.
    salt: u64,
    /// True if the current object has a value of a wrong type or an unknown field. Two would have a random order.
    has_mistake: bool,
}

impl Generator {
    fn step(
        &mut self,
        number: usize,
        gvk: &Gvk,
        root: Option<Cursor<'_>>,
        live: Option<&Value>,
        applied: &mut BTreeMap<&'static str, Value>,
    ) -> Step {
        let manager = self.dice.pick(&MANAGERS);
        self.has_mistake = false;
        let mut step = Step {
            verb: Verb::Apply,
            object: Value::Null,
            manager,
            is_forced: self.dice.one_in(3),
            subresource: "",
            reset: FieldSet::new(),
            time: format!("2020-01-01T00:00:{number:02}Z"),
        };
        let has_status = root.is_some_and(|root| root.has_field("status"));
        if has_status && self.dice.one_in(6) {
            step.subresource = "status";
            step.reset = field_set(json!({"f:spec": {}}));
        } else if has_status && self.dice.one_in(2) {
            step.reset = field_set(json!({"f:status": {}}));
        }
        match live {
            Some(_) if root.is_some() && self.dice.one_in(12) => {
                step.verb = Verb::Extract;
                step.object = json!({"apiVersion": gvk.api_version(), "kind": gvk.kind});
            }
            Some(live) if self.dice.one_in(3) => {
                step.verb = Verb::Update;
                step.object = self.updated(live, gvk, root);
            }
            None if self.dice.one_in(3) => {
                step.verb = Verb::Update;
                step.object = self.object(gvk, root);
                self.identify(&mut step.object);
            }
            _ => {
                step.object = self.applied(gvk, root, applied.get(manager));
                applied.insert(manager, step.object.clone());
            }
        }
        step
    }

    fn applied(&mut self, gvk: &Gvk, root: Option<Cursor<'_>>, before: Option<&Value>) -> Value {
        let mut object = match before {
            Some(before) if !self.dice.one_in(4) => {
                let mut object = before.clone();
                self.mutate(&mut object, root, 0);
                object
            }
            _ => self.object(gvk, root),
        };
        object["apiVersion"] = gvk.api_version().as_str().into();
        object["kind"] = gvk.kind.as_str().into();
        object["metadata"]["name"] = "x".into();
        object
    }

    /// Returns the live object with changes, as clients and patches leave its managed fields.
    fn updated(&mut self, live: &Value, gvk: &Gvk, root: Option<Cursor<'_>>) -> Value {
        let entries = live["metadata"].get("managedFields").cloned();
        let mut object = live.clone();
        object["metadata"].as_object_mut().map(|metadata| metadata.remove("managedFields"));
        for _ in 0..=self.dice.below(2) {
            self.mutate(&mut object, root, 0);
        }
        object["apiVersion"] = gvk.api_version().as_str().into();
        object["kind"] = gvk.kind.as_str().into();
        self.identify(&mut object);
        if self.dice.one_in(8) {
            self.annotate(&mut object, live);
        }
        match self.dice.below(12) {
            0 => object["metadata"]["managedFields"] = json!([]),
            1 => object["metadata"]["managedFields"] = json!([{}]),
            2 | 3 => {}
            4 => {
                if let Some(entries) = entries {
                    object["metadata"]["managedFields"] = self.edited(entries);
                }
            }
            _ => {
                if let Some(entries) = entries {
                    object["metadata"]["managedFields"] = entries;
                }
            }
        }
        object
    }

    fn identify(&mut self, object: &mut Value) {
        object["metadata"]["name"] = "x".into();
        if self.dice.one_in(2) {
            object["metadata"]["uid"] = "1".into();
        }
    }

    /// Sets the annotation of client-side apply to a part of an object.
    fn annotate(&mut self, object: &mut Value, live: &Value) {
        let mut before = live.clone();
        if let Some(metadata) = before["metadata"].as_object_mut() {
            metadata.remove("managedFields");
            metadata.remove("annotations");
        }
        before["apiVersion"] = object["apiVersion"].clone();
        if !object["metadata"]["annotations"].is_object() {
            object["metadata"]["annotations"] = json!({});
        }
        object["metadata"]["annotations"][LAST_APPLIED] = before.to_string().into();
    }

    /// Returns managed fields as a client edits them.
    fn edited(&mut self, mut entries: Value) -> Value {
        let Some(list) = entries.as_array_mut() else { return entries };
        match self.dice.below(5) {
            0 => drop(list.remove(self.dice.below(list.len()))),
            1 => list[0]["manager"] = "edited".into(),
            2 => list[0]["apiVersion"] = "".into(),
            3 => list[0]["operation"] = "Update".into(),
            _ => {
                for number in 0..9 {
                    let mut entry = list[0].clone();
                    entry["manager"] = format!("m{number}").into();
                    entry["operation"] = "Update".into();
                    entry["time"] = format!("2019-01-01T00:00:{:02}Z", self.dice.below(4)).into();
                    list.push(entry);
                }
            }
        }
        entries
    }

    fn object(&mut self, gvk: &Gvk, root: Option<Cursor<'_>>) -> Value {
        let mut object = match root {
            Some(root) => self.map(root, 0),
            None => self.free(0),
        };
        if !object.is_object() {
            object = json!({});
        }
        object["apiVersion"] = gvk.api_version().as_str().into();
        object["kind"] = gvk.kind.as_str().into();
        if !object["metadata"].is_object() {
            object["metadata"] = json!({});
        }
        object["metadata"]["name"] = "x".into();
        object
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

    fn map(&mut self, cursor: Cursor<'_>, depth: usize) -> Value {
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
    fn free(&mut self, depth: usize) -> Value {
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
    fn mutate(&mut self, value: &mut Value, cursor: Option<Cursor<'_>>, depth: usize) {
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

fn field_set(fields: Value) -> FieldSet {
    FieldSet::from_fields_v1(&fields).expect("valid")
}
