//! Random sequences of requests that write one object.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kubectl_smp_testing::dice::Dice;
use serde_json::{Map, Value, json};
use smp_merge::defaults;
use smp_merge::managed_fields::{FieldSet, Options, apply, extract, update};
use smp_merge::schema::{Cursor, Gvk, Schema, named_kinds};

use super::outcome::Outcome;
use super::values::Values;

const MANAGERS: [&str; 4] = ["a", "b", "kubectl", "<c>"];
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const MAX_STEPS: usize = 12;
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
    /// The object that a create starts from.
    empty: Value,
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
            "empty": self.empty,
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

impl Step {
    /// Returns the object after an apply or update that succeeds.
    fn write(&self, live: Option<&Value>, object: &Value, schema: &Schema) -> Option<Value> {
        let options = Options::new(schema)
            .time(self.time.as_str())
            .force(self.is_forced)
            .subresource(self.subresource)
            .reset_fields(self.reset.clone());
        match self.verb {
            Verb::Apply => apply(live, object, self.manager, &options).ok()?.into_object().ok(),
            _ => update(live, object, self.manager, &options).ok(),
        }
    }
}

/// The reference extracts neither kind nor name.
pub fn without_identity(mut object: Value) -> Value {
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

/// Returns the time that the steps take if they are run as often as given, without extractions.
pub fn measure(steps: &[Step], schema: &Schema, count: usize) -> Duration {
    let mut total = Duration::ZERO;
    for _ in 0..count {
        let mut live: Option<Value> = None;
        for step in steps.iter().filter(|step| step.verb != Verb::Extract) {
            let (old, object) = (live.clone(), step.object.clone());
            let start = Instant::now();
            let after = step.write(old.as_ref(), &object, schema);
            total += start.elapsed();
            live = after.or(live);
        }
    }
    total
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
    let mut generator = Generator { values: Values::new(seed, dice) };
    let mut applied: BTreeMap<&str, Value> = BTreeMap::new();
    let (mut steps, mut outcomes) = (Vec::new(), Vec::new());
    let mut live: Option<Value> = None;
    for number in 0..2 + generator.values.dice.below(MAX_STEPS - 1) {
        let gvk =
            if has_versions { &versions[generator.values.dice.below(versions.len())] } else { &versions[0] };
        let root = documents.kind(gvk);
        let mut step = generator.step(number, gvk, root, live.as_ref(), &mut applied);
        step.empty = defaults::empty(gvk, schema);
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
    values: Values,
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
        let manager = self.values.dice.pick(&MANAGERS);
        self.values.has_mistake = false;
        let mut step = Step {
            verb: Verb::Apply,
            object: Value::Null,
            manager,
            is_forced: self.values.dice.one_in(3),
            subresource: "",
            reset: FieldSet::new(),
            time: format!("2020-01-01T00:00:{number:02}Z"),
            empty: Value::Null,
        };
        let has_status = root.is_some_and(|root| root.has_field("status"));
        if has_status && self.values.dice.one_in(6) {
            step.subresource = "status";
            step.reset = field_set(&json!({"f:spec": {}}));
        } else if has_status && self.values.dice.one_in(2) {
            step.reset = field_set(&json!({"f:status": {}}));
        }
        match live {
            Some(_) if root.is_some() && self.values.dice.one_in(12) => {
                step.verb = Verb::Extract;
                step.object = json!({"apiVersion": gvk.api_version(), "kind": gvk.kind});
            }
            Some(live) if self.values.dice.one_in(3) => {
                step.verb = Verb::Update;
                step.object = self.updated(live, gvk, root);
            }
            None if self.values.dice.one_in(3) => {
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
            Some(before) if !self.values.dice.one_in(4) => {
                let mut object = before.clone();
                self.values.mutate(&mut object, root, 0);
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
        for _ in 0..=self.values.dice.below(2) {
            self.values.mutate(&mut object, root, 0);
        }
        object["apiVersion"] = gvk.api_version().as_str().into();
        object["kind"] = gvk.kind.as_str().into();
        self.identify(&mut object);
        if self.values.dice.one_in(8) {
            annotate(&mut object, live);
        }
        match self.values.dice.below(12) {
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
        if self.values.dice.one_in(2) {
            object["metadata"]["uid"] = "1".into();
        }
    }

    /// Returns managed fields as a client edits them.
    fn edited(&mut self, mut entries: Value) -> Value {
        let Some(list) = entries.as_array_mut() else { return entries };
        match self.values.dice.below(5) {
            0 => drop(list.remove(self.values.dice.below(list.len()))),
            1 => list[0]["manager"] = "edited".into(),
            2 => list[0]["apiVersion"] = "".into(),
            3 => list[0]["operation"] = "Update".into(),
            _ => {
                for number in 0..9 {
                    let mut entry = list[0].clone();
                    entry["manager"] = format!("m{number}").into();
                    entry["operation"] = "Update".into();
                    entry["time"] = format!("2019-01-01T00:00:{:02}Z", self.values.dice.below(4)).into();
                    list.push(entry);
                }
            }
        }
        entries
    }

    fn object(&mut self, gvk: &Gvk, root: Option<Cursor<'_>>) -> Value {
        let mut object = match root {
            Some(root) => self.values.map(root, 0),
            None => self.values.free(0),
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
}

/// Sets the annotation of client-side apply to a part of an object.
fn annotate(object: &mut Value, live: &Value) {
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

fn field_set(fields: &Value) -> FieldSet {
    FieldSet::from_fields_v1(fields).expect("valid")
}
