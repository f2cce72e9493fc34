//! One request, its answer, and the answer that the library predicts.

use std::fmt::Write as _;

use kubectl_smp_testing::dice::Dice;
use serde_json::{Map, Value, json};
use smp_merge::defaults;
use smp_merge::managed_fields::{
    Applied, FieldSet, ManagedFields, Options, Path, ReplicasPaths, apply, update,
};
use smp_merge::patch::json::{PatchType, apply as patch};
use smp_merge::schema::Schema;

use super::objects::{Kind, Values};
use super::{KINDS, Rig};

const MANAGERS: [&str; 4] = ["a", "b", "kubectl", "c"];
const MAX_STEPS: usize = 12;
const SCALE: &str = "scale";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Create,
    Apply { is_forced: bool },
    Update,
    Patch(PatchType),
}

/// Random requests for one object.
pub struct Requests {
    dice: Dice,
    kind: Kind,
    group: String,
    name: String,
}

/// One request.
pub struct Request {
    verb: Verb,
    kind: Kind,
    root: String,
    name: String,
    manager: &'static str,
    subresource: &'static str,
    pub body: Value,
}

impl Requests {
    pub fn new(seed: u64, rig: &Rig) -> Self {
        let mut dice = Dice::new(seed);
        let kind = dice.pick(&KINDS);
        Self { dice, kind, group: rig.name.clone(), name: format!("o{seed}") }
    }

    pub fn length(&mut self) -> usize {
        2 + self.dice.below(MAX_STEPS - 1)
    }

    fn root(&self) -> String {
        let version = self.kind.api_version(&self.group);
        let root = if version.contains('/') { "apis" } else { "api" };
        format!("/{root}/{version}/namespaces/{}/{}", self.group, self.kind.plural())
    }

    fn object(&mut self) -> Value {
        let (kind, version) = (self.kind, self.kind.api_version(&self.group));
        let mut values = Values { dice: &mut self.dice };
        let (mut metadata, content) = (values.metadata(), values.content(kind));
        metadata["name"] = self.name.as_str().into();
        metadata["namespace"] = self.group.as_str().into();
        let mut object = Map::from_iter([
            ("apiVersion".to_string(), version.into()),
            ("kind".to_string(), kind.name().into()),
            ("metadata".to_string(), metadata),
        ]);
        object.extend(content);
        Value::Object(object)
    }

    pub fn next(&mut self, live: Option<&Value>) -> Request {
        let subresource = match live {
            Some(_) if self.kind.has_status() => self.dice.pick(&["", "", "", "", "status", SCALE]),
            _ => "",
        };
        let verb = match (live, self.dice.below(6)) {
            (None, 0) => Verb::Create,
            (Some(_), 0) => Verb::Update,
            (Some(_), 1) => Verb::Patch(PatchType::Merge),
            (Some(_), 2) if self.kind != Kind::Gadget && subresource != SCALE => {
                Verb::Patch(PatchType::Strategic)
            }
            (Some(_), 3) if subresource.is_empty() => Verb::Patch(PatchType::Json),
            _ => Verb::Apply { is_forced: live.is_none() || self.dice.one_in(3) },
        };
        let body = match (subresource, verb, live) {
            ("status", ..) => self.status(verb, live),
            (SCALE, ..) => self.scale(verb),
            (_, Verb::Patch(PatchType::Json), Some(live)) => self.operations(live),
            _ => self.whole(verb, live),
        };
        Request {
            verb,
            kind: self.kind,
            root: self.root(),
            name: self.name.clone(),
            manager: self.dice.pick(&MANAGERS),
            subresource,
            body,
        }
    }

    fn whole(&mut self, verb: Verb, live: Option<&Value>) -> Value {
        let object = self.object();
        match (verb, live) {
            (Verb::Update, Some(live)) => {
                let mut new = live.clone();
                for field in ["spec", "data"] {
                    if let Some(value) = object.get(field) {
                        new[field] = value.clone();
                    }
                }
                new
            }
            (Verb::Patch(_), _) => {
                let mut patch = object;
                for field in ["apiVersion", "kind"] {
                    patch.as_object_mut().map(|fields| fields.remove(field));
                }
                patch
            }
            _ => object,
        }
    }

    /// Returns the operations of a JSON patch: fields that are added, replaced or removed, or a change of the managed
    /// fields.
    fn operations(&mut self, live: &Value) -> Value {
        if self.dice.one_in(4) {
            let mut entries = live["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
            if !entries.is_empty() {
                entries.remove(self.dice.below(entries.len()));
            }
            let entries = if entries.is_empty() { json!([{}]) } else { json!(entries) };
            return json!([{"op": "replace", "path": "/metadata/managedFields", "value": entries}]);
        }
        let version = &live["metadata"]["resourceVersion"];
        let mut operations =
            vec![json!({"op": "test", "path": "/metadata/resourceVersion", "value": version})];
        let object = self.object();
        for root in ["spec", "data"] {
            let (Some(new), Some(old)) = (object.get(root).and_then(Value::as_object), live.get(root)) else {
                continue;
            };
            for (name, value) in new {
                let path = format!("/{root}/{}", name.replace('/', "~1"));
                match old.get(name) {
                    // The server would allocate another address.
                    Some(_) if name != "clusterIP" && self.dice.one_in(3) => {
                        operations.push(json!({"op": "remove", "path": path}));
                    }
                    _ => operations.push(json!({"op": "add", "path": path, "value": value})),
                }
            }
        }
        operations.into()
    }

    fn scale(&mut self, verb: Verb) -> Value {
        let spec = json!({"replicas": self.dice.below(3)});
        match verb {
            Verb::Patch(_) => json!({"spec": spec}),
            _ => json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "spec": spec,
                "metadata": {"name": self.name, "namespace": self.group}}),
        }
    }

    fn status(&mut self, verb: Verb, live: Option<&Value>) -> Value {
        let status = Values { dice: &mut self.dice }.status(self.kind);
        match (verb, live) {
            (Verb::Update, Some(live)) => {
                let mut new = live.clone();
                new["status"] = status;
                new
            }
            (Verb::Patch(_), _) => json!({"status": status}),
            _ => {
                let mut object = self.object();
                object.as_object_mut().map(|fields| fields.remove("spec"));
                object["metadata"].as_object_mut().map(|fields| fields.remove("annotations"));
                object["status"] = status;
                object
            }
        }
    }
}

impl Request {
    pub fn delete(requests: &Requests) -> String {
        format!("{}/{}", requests.root(), requests.name)
    }

    pub fn method(&self) -> &'static str {
        match self.verb {
            Verb::Create => "POST",
            Verb::Update => "PUT",
            Verb::Apply { .. } | Verb::Patch(_) => "PATCH",
        }
    }

    pub fn content_type(&self) -> &'static str {
        match self.verb {
            Verb::Create | Verb::Update => "application/json",
            Verb::Apply { .. } => "application/apply-patch+yaml",
            Verb::Patch(PatchType::Strategic) => "application/strategic-merge-patch+json",
            Verb::Patch(PatchType::Json) => "application/json-patch+json",
            Verb::Patch(_) => "application/merge-patch+json",
        }
    }

    pub fn path(&self) -> String {
        let mut path = self.root.clone();
        if self.verb != Verb::Create {
            let _ = write!(path, "/{}", self.name);
        }
        if !self.subresource.is_empty() {
            let _ = write!(path, "/{}", self.subresource);
        }
        let _ = write!(path, "?fieldManager={}", self.manager);
        if let Verb::Apply { is_forced } = self.verb {
            let _ = write!(path, "&force={is_forced}");
        }
        path
    }

    pub fn describe(&self) -> String {
        format!("{:?} {} {} {}", self.verb, self.manager, self.subresource, self.body)
    }

    fn reset(&self) -> FieldSet {
        let paths: &[&[&str]] = match (self.subresource, self.kind) {
            (SCALE, _) => &[],
            ("status", Kind::Deployment) => &[&["spec"], &["metadata", "labels"]],
            ("status", _) => &[&["spec"], &["metadata"]],
            (_, kind) if kind.has_status() => &[&["status"]],
            (_, Kind::Service) => &[&["status"]],
            _ => &[],
        };
        paths.iter().map(|path| Path::fields(path.iter().copied())).collect()
    }

    /// Returns true if the server answers with another object than the one that it changes.
    pub fn is_scale(&self) -> bool {
        self.subresource == SCALE
    }

    /// Returns the path of the object itself.
    pub fn object_path(&self) -> String {
        format!("{}/{}", self.root, self.name)
    }

    /// Returns the answer that the library predicts.
    pub fn predict(&self, live: Option<&Value>, schema: &Schema) -> Answer {
        match live.filter(|_| self.subresource == SCALE) {
            Some(live) => match self.predict_object(Some(&self.scale_of(live)), schema) {
                Answer::Object(scale) => Answer::Object(self.with_scale(live, &scale)),
                other => other,
            },
            None => self.predict_object(live, schema),
        }
    }

    fn replicas_field(&self) -> &'static str {
        if self.kind == Kind::Gadget { "size" } else { "replicas" }
    }

    fn replicas_paths(&self, live: &Value) -> ReplicasPaths {
        let version = live["apiVersion"].as_str().unwrap_or_default().to_string();
        ReplicasPaths::from([(version, Some(Path::fields(["spec", self.replicas_field()])))])
    }

    /// Returns the scale of an object. No replicas are an absent field, as Go writes them.
    fn scale_of(&self, live: &Value) -> Value {
        let managed = ManagedFields::from_object(live).expect("valid").to_scale(&self.replicas_paths(live));
        let metadata = &live["metadata"];
        let mut scale = json!({
            "apiVersion": "autoscaling/v1", "kind": "Scale",
            "metadata": {"name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"],
                "managedFields": managed.to_value()},
            "spec": {"replicas": live["spec"][self.replicas_field()]},
        });
        if scale["spec"]["replicas"] == 0 {
            scale["spec"] = json!({});
        }
        scale
    }

    /// Returns an object after its scale changed.
    fn with_scale(&self, live: &Value, scale: &Value) -> Value {
        let version = live["apiVersion"].as_str().unwrap_or_default();
        let [own, of_scale] = [live, scale].map(|object| ManagedFields::from_object(object).expect("valid"));
        let managed = own.from_scale(&of_scale, version, &self.replicas_paths(live));
        let mut object = live.clone();
        object["spec"][self.replicas_field()] = scale["spec"].get("replicas").cloned().unwrap_or(json!(0));
        object["metadata"]["managedFields"] = managed.to_value();
        if managed.is_empty() {
            object["metadata"].as_object_mut().map(|metadata| metadata.remove("managedFields"));
        }
        object
    }

    fn predict_object(&self, live: Option<&Value>, schema: &Schema) -> Answer {
        let options = Options::new(schema).subresource(self.subresource).reset_fields(self.reset());
        let stored = |mut object: Value| {
            defaults::fill(&mut object, schema);
            object
        };
        let updated = |new: Value| {
            let new = stored(self.without_reset(new, live));
            update(live, &new, self.manager, &options).map(stored)
        };
        let result = match self.verb {
            Verb::Create | Verb::Update => updated(self.body.clone()),
            Verb::Patch(patch_type) => {
                let mut new = live.cloned().unwrap_or_default();
                patch(&mut new, &self.body, patch_type, schema).and_then(|_| updated(new))
            }
            Verb::Apply { is_forced } => {
                match apply(live, &self.body, self.manager, &options.clone().force(is_forced)) {
                    Ok(Applied::Object(object)) => Ok(stored(object)),
                    Ok(Applied::Conflicts(found)) => return Answer::Conflict(found.to_status()),
                    Err(error) => Err(error),
                }
            }
        };
        match result {
            Ok(object) => Answer::Object(object),
            Err(error) => Answer::Invalid(error.message().into()),
        }
    }

    /// Returns the object without what the server resets before it is stored.
    fn without_reset(&self, mut new: Value, live: Option<&Value>) -> Value {
        if self.subresource.is_empty() && self.kind.has_status() {
            let status = live.and_then(|live| live.get("status")).cloned();
            if let Some(fields) = new.as_object_mut() {
                fields.remove("status");
                fields.extend(status.map(|status| ("status".into(), status)));
            }
        }
        new
    }
}

/// The answer to a request.
#[derive(Debug)]
pub enum Answer {
    Object(Value),
    /// The body of the response.
    Conflict(String),
    Invalid(String),
}

impl Answer {
    pub fn new(status: u16, body: &str) -> Self {
        match (status, serde_json::from_str(body)) {
            (200..=299, Ok(object)) => Self::Object(object),
            (409, _) if body.contains("FieldManagerConflict") => Self::Conflict(body.into()),
            _ => Self::Invalid(body.into()),
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Object(_) => "object",
            Self::Conflict(_) => "conflict",
            Self::Invalid(_) => "invalid",
        }
    }

    /// Returns how another answer differs.
    pub fn difference(&self, theirs: &Self) -> Option<String> {
        match (self, theirs) {
            (Self::Object(ours), Self::Object(theirs)) => {
                let (ours, theirs) = (comparable(ours), comparable(theirs));
                (ours != theirs).then(|| format!("ours:   {ours}\ntheirs: {theirs}"))
            }
            (Self::Conflict(ours), Self::Conflict(theirs)) => {
                (sorted(ours) != sorted(theirs)).then(|| format!("ours:   {ours}\ntheirs: {theirs}"))
            }
            (Self::Invalid(why), _) => Some(format!("ours:   {why}\ntheirs: {}", theirs.name())),
            _ => Some(format!("ours:   {}\ntheirs: {}", self.name(), theirs.name())),
        }
    }
}

/// The managers of conflicts have the random order of Go's maps.
fn sorted(body: &str) -> Vec<char> {
    let mut chars: Vec<char> = body.trim().chars().collect();
    chars.sort_unstable();
    chars
}

/// Returns the object without times and what servers allocate, and with sorted managed fields.
fn comparable(object: &Value) -> Value {
    let mut object = object.clone();
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return object };
    for field in ["uid", "resourceVersion", "creationTimestamp", "generation"] {
        metadata.remove(field);
    }
    if let Some(Value::Array(entries)) = metadata.get_mut("managedFields") {
        for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
            entry.remove("time");
        }
        entries.sort_by_cached_key(Value::to_string);
    }
    if let Some(Value::Object(spec)) = object.get_mut("spec") {
        // Allocated by the server.
        for field in ["clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            spec.remove(field);
        }
    }
    object
}
