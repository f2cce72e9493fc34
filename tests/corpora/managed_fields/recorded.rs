//! Recorded sequences in `tests/cases/managed-fields`: each shows a rule of server-side apply. They are compared with
//! their recorded results, and with the reference.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use smp_merge::managed_fields::{
    FieldSet, ManagedFields, Options, Owner, Path as Fields, apply, extract, update,
};
use smp_merge::schema::Schema;
use smp_text::source::SourceMap;
use smp_text::yaml::{ParseOptions, parse_one};

use super::outcome::Outcome;
use super::reference::Reference;
use super::sequence::without_identity;

const GROUP: &str = "example.com";
const KIND: &str = "Gadget";

/// A rule, the requests that show it, and their results.
struct Case {
    file: PathBuf,
    rule: String,
    definition: Definition,
    /// The fields that the requests reset, and those of other versions.
    reset: FieldSet,
    resets: Vec<(String, FieldSet)>,
    steps: Vec<Step>,
    /// The spec after all requests.
    spec: Value,
    /// The owners after all requests, as [`describe`] formats them.
    owners: Value,
}

/// The types of a kind, which requests may change.
#[derive(Clone)]
struct Definition {
    /// The fields of `spec` in version v1; null for a kind without a schema.
    properties: Value,
    versions: Vec<String>,
    /// Fields with another name in other versions: maps of versions and names.
    renames: Vec<Map<String, Value>>,
}

enum Step {
    Define(Definition),
    Request(Request),
}

struct Request {
    manager: String,
    verb: Verb,
    version: String,
    /// The spec of the request, or for extractions of the result.
    spec: Value,
    /// The conflicts, `a .spec.size`.
    conflicts: Vec<String>,
    error: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Apply { is_forced: bool },
    Update,
    Extract,
}

impl Definition {
    fn read(value: &Value, default: &Self) -> Self {
        let words = |list: &Value| list.as_array().map(|list| list.iter().map(text).collect());
        let renames = value["renames"].as_array();
        Self {
            properties: value.get("types").cloned().unwrap_or_else(|| default.properties.clone()),
            versions: words(&value["versions"]).unwrap_or_else(|| default.versions.clone()),
            renames: renames.map_or_else(
                || default.renames.clone(),
                |list| list.iter().filter_map(Value::as_object).cloned().collect(),
            ),
        }
    }

    /// Returns the name that a field of v1 has in a version.
    fn name<'n>(rename: &'n Map<String, Value>, version: &str) -> &'n str {
        let own = rename.get(version).or_else(|| rename.get("v1"));
        own.and_then(Value::as_str).unwrap_or_default()
    }

    fn to_crd(&self) -> Value {
        let version = |version: &String| {
            let mut properties = self.properties.clone();
            for rename in &self.renames {
                let names = ["v1", version].map(|version| Self::name(rename, version).to_string());
                if let Some(map) = properties.as_object_mut()
                    && let Some(field) = map.remove(&names[0])
                {
                    map.insert(names[1].clone(), field);
                }
            }
            let spec = json!({"type": "object", "properties": properties});
            let root = json!({"type": "object", "properties": {"spec": spec}});
            json!({"name": version, "served": true, "storage": version == &self.versions[0],
                "schema": {"openAPIV3Schema": root}})
        };
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("gadgets.{GROUP}")},
            "spec": {"group": GROUP, "scope": "Cluster", "names": {"kind": KIND, "plural": "gadgets"},
                "versions": self.versions.iter().map(version).collect::<Vec<_>>()},
        })
    }

    fn schema(&self) -> Schema {
        if self.properties.is_null() {
            return Schema::embedded();
        }
        Schema::embedded().with_crds(&[self.to_crd()]).expect("a definition")
    }

    /// Converts an object to another version.
    fn convert(&self, object: &Value, api_version: &str) -> Option<Value> {
        let own = object["apiVersion"].as_str().unwrap_or_default();
        let [from, to] = [own, api_version].map(|version| version.rsplit('/').next().unwrap_or_default());
        if !self.properties.is_null() && !self.versions.iter().any(|version| version == to) {
            return None;
        }
        let mut object = object.clone();
        object["apiVersion"] = api_version.into();
        if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
            for rename in &self.renames {
                if let Some(value) = spec.remove(Self::name(rename, from)) {
                    spec.insert(Self::name(rename, to).into(), value);
                }
            }
        }
        Some(object)
    }

    /// Returns the request to the reference that sets the types.
    fn request(&self) -> Value {
        let definition = if self.properties.is_null() { Value::Null } else { self.to_crd() };
        json!({"operation": "define", "object": definition, "renames": self.renames})
    }
}

impl Request {
    /// Reads `a applies v2: {size: 1}` and the results beside it.
    fn read(step: &Value) -> Self {
        let fields = step.as_object().expect("a map");
        let (words, spec) = fields.iter().find(|(name, _)| name.contains(' ')).expect("a request");
        let words: Vec<&str> = words.split(' ').collect();
        let verb = match words[1] {
            "applies" => Verb::Apply { is_forced: false },
            "forces" => Verb::Apply { is_forced: true },
            "updates" => Verb::Update,
            "extracts" => Verb::Extract,
            other => panic!("unknown request {other}"),
        };
        let conflicts = step["conflicts"].as_array().into_iter().flatten();
        Self {
            manager: words[0].into(),
            verb,
            version: words.get(2).unwrap_or(&"v1").to_string(),
            spec: spec.clone(),
            conflicts: conflicts.map(text).collect(),
            error: step.get("error").map(text),
        }
    }

    fn object(&self) -> Value {
        json!({"apiVersion": format!("{GROUP}/{}", self.version), "kind": KIND, "metadata": {"name": "x"},
            "spec": self.spec})
    }

    fn time(number: usize) -> String {
        format!("2026-01-01T00:00:{number:02}Z")
    }

    /// Returns the request to the reference.
    fn request(&self, number: usize, case: &Case) -> Value {
        let operation = match self.verb {
            Verb::Apply { .. } => "apply",
            Verb::Update => "update",
            Verb::Extract => "extract",
        };
        json!({
            "operation": operation, "object": self.object(), "manager": self.manager, "time": Self::time(number),
            "force": self.verb == Verb::Apply { is_forced: true }, "reset": case.reset.to_fields_v1(),
            "resets": case.resets.iter().map(|(version, fields)| (version.clone(), fields.to_fields_v1()))
                .collect::<Map<_, _>>(),
        })
    }

    fn run(&self, live: Option<&Value>, options: &Options<'_>) -> Outcome {
        match self.verb {
            Verb::Apply { is_forced } => {
                let options = options.clone().force(is_forced);
                Outcome::of_apply(apply(live, &self.object(), &self.manager, &options))
            }
            Verb::Update => {
                // Clients send the managed fields that they have read.
                let mut object = self.object();
                if let Some(entries) = live.and_then(|live| live["metadata"].get("managedFields")) {
                    object["metadata"]["managedFields"] = entries.clone();
                }
                match update(live, &object, &self.manager, options) {
                    Ok(object) => Outcome::of_object(object),
                    Err(error) => Outcome::Error(error.message().into()),
                }
            }
            Verb::Extract => match extract(live.expect("an object"), &self.manager, options) {
                Ok(object) => Outcome::Extracted(without_identity(object.unwrap_or_default())),
                Err(error) => Outcome::Error(error.message().into()),
            },
        }
    }

    /// Returns the recorded result of the request itself, if it is not as recorded.
    fn difference(&self, found: &Outcome) -> Option<String> {
        let (conflicts, error) = match found {
            Outcome::Conflict(body) => (conflicts(body), None),
            Outcome::Error(error) => (Vec::new(), Some(error.clone())),
            Outcome::Extracted(object) if object.get("spec").unwrap_or(&Value::Null) != &self.spec => {
                return Some(format!("extracted {object}"));
            }
            _ => (Vec::new(), None),
        };
        (conflicts != self.conflicts || error != self.error)
            .then(|| format!("{}: conflicts {conflicts:?}, error {error:?}", self.manager))
    }
}

/// Returns the conflicts of a response.
fn conflicts(body: &str) -> Vec<String> {
    let status: Value = serde_json::from_str(body).expect("JSON");
    let causes = status["details"]["causes"].as_array().into_iter().flatten();
    let cause = |cause: &Value| {
        let message = text(&cause["message"]);
        let manager = message.split('"').nth(1).unwrap_or_default();
        format!("{manager} {}", text(&cause["field"]))
    };
    causes.map(cause).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is not a string")).into()
}

/// Returns the owners of an object: `a Apply v1: .spec.size`.
fn describe(object: &Value) -> Value {
    let managed = ManagedFields::from_object(object).expect("valid");
    let line = |owner: &Owner<'_>| {
        let paths: Vec<String> = owner.fields.paths().iter().map(Fields::to_string).collect();
        let version = owner.api_version.rsplit('/').next().unwrap_or_default();
        format!("{} {} {version}: {}", owner.manager.name, owner.manager.operation.name(), paths.join(" "))
    };
    managed.sorted().iter().map(line).collect()
}

fn set(fields: &Value) -> FieldSet {
    FieldSet::from_fields_v1(fields).expect("a field set")
}

fn reset_in((version, fields): (&String, &Value)) -> (String, FieldSet) {
    (format!("{GROUP}/{version}"), set(fields))
}

impl Case {
    fn read(file: &Path, value: &Value, default: &Definition) -> Self {
        let definition = Definition::read(value, default);
        let step = |step: &Value| match step.get("define") {
            Some(change) => Step::Define(Definition::read(change, &definition)),
            None => Step::Request(Request::read(step)),
        };
        Self {
            file: file.into(),
            rule: text(&value["rule"]),
            reset: set(&value["reset"]),
            resets: value["resets"].as_object().into_iter().flatten().map(reset_in).collect(),
            steps: value["steps"].as_array().expect("steps").iter().map(step).collect(),
            spec: value["spec"].clone(),
            owners: value["owners"].clone(),
            definition,
        }
    }

    /// Returns the results of the requests.
    fn run(&self) -> Vec<Outcome> {
        let mut definition = &self.definition;
        let mut live: Option<Value> = None;
        let mut outcomes = Vec::new();
        for (number, step) in self.steps.iter().enumerate() {
            let request = match step {
                Step::Define(new) => {
                    definition = new;
                    continue;
                }
                Step::Request(request) => request,
            };
            let (schema, convert) =
                (definition.schema(), |object: &Value, to: &str| definition.convert(object, to));
            let options = Options::new(&schema).time(Request::time(number)).reset_fields(self.reset.clone());
            let mut options = options.converter(&convert);
            for (version, fields) in &self.resets {
                options = options.reset_fields_in(version.as_str(), fields.clone());
            }
            let outcome = request.run(live.as_ref(), &options);
            if let Outcome::Object(object, _) = &outcome {
                live = Some(object.clone());
            }
            outcomes.push(outcome);
        }
        outcomes
    }

    fn requests(&self) -> impl Iterator<Item = (usize, &Request)> {
        self.steps.iter().enumerate().filter_map(|(number, step)| match step {
            Step::Request(request) => Some((number, request)),
            Step::Define(_) => None,
        })
    }

    /// Returns how results differ from the recorded ones.
    fn difference(&self, outcomes: &[Outcome]) -> Vec<String> {
        let pairs = self.requests().zip(outcomes);
        let mut found: Vec<String> =
            pairs.filter_map(|((_, request), outcome)| request.difference(outcome)).collect();
        let last = outcomes.iter().rev().find_map(|outcome| match outcome {
            Outcome::Object(object, _) => Some(object),
            _ => None,
        });
        let null = Value::Null;
        let object = last.unwrap_or(&null);
        let (spec, owners) = (object.get("spec").unwrap_or(&null), describe(object));
        if spec != &self.spec {
            found.push(format!("spec: {spec}"));
        }
        if owners != self.owners {
            found.push(format!("owners: {owners}"));
        }
        found
    }

    /// Returns the steps as the reference takes them.
    fn reference_steps(&self) -> Vec<Value> {
        let step = |(number, step): (usize, &Step)| match step {
            Step::Define(definition) => definition.request(),
            Step::Request(request) => request.request(number, self),
        };
        std::iter::once(self.definition.request()).chain(self.steps.iter().enumerate().map(step)).collect()
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/managed-fields")
}

/// Reads a file of cases.
fn read(path: &Path) -> Value {
    let sources = SourceMap::default();
    let text = std::fs::read_to_string(path).expect("readable");
    let node = parse_one(&sources, sources.add(path, text), ParseOptions::default());
    node.unwrap_or_else(|error| panic!("{}: {error}", path.display())).to_json_value()
}

fn files(name: &str) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(folder().join(name)).sort_by_file_name().into_iter();
    let files = files.map(|entry| entry.expect("readable").into_path());
    files.filter(|path| path.extension().is_some_and(|ending| ending == "yaml")).collect()
}

fn cases() -> Vec<Case> {
    let default =
        Definition { properties: Value::Null, versions: vec!["v1".into(), "v2".into()], renames: Vec::new() };
    let of_file = |path: PathBuf| {
        let file = read(&path);
        let definition = Definition::read(&file, &default);
        let cases = file["cases"].as_array().expect("cases").iter();
        cases.map(|case| Case::read(&path, case, &definition)).collect::<Vec<_>>()
    };
    files("sequences").into_iter().flat_map(of_file).collect()
}

#[test]
fn recorded_sequences_have_their_results() {
    let cases = cases();
    assert!(cases.len() > 100, "{} cases", cases.len());
    let wrong = |case: &Case| {
        let found = case.difference(&case.run());
        (!found.is_empty())
            .then(|| format!("{}: {}\n  {}", case.file.display(), case.rule, found.join("\n  ")))
    };
    let wrong: Vec<String> = cases.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "needs the oracle and OpenAPI documents, see .ci/tools"]
fn recorded_sequences_equal_the_reference() {
    let mut reference = Reference::start();
    let mut wrong = Vec::new();
    for case in cases() {
        let (ours, theirs) = (case.run(), reference.run(&case.reference_steps()));
        let difference = super::first_difference(&ours, &theirs);
        if let Some(i) = difference {
            let show = |outcomes: &[Outcome]| outcomes.get(i).map(Outcome::to_string).unwrap_or_default();
            wrong.push(format!(
                "{}: step {i}\nours:   {}\ntheirs: {}",
                case.rule,
                show(&ours),
                show(&theirs)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A rule about field sets.
struct SetCase {
    rule: String,
    operation: String,
    sets: Vec<String>,
    /// The texts of the results; none if the reference rejects a set.
    result: Option<Value>,
}

fn set_cases() -> Vec<SetCase> {
    let case = |case: &Value| SetCase {
        rule: text(&case["rule"]),
        operation: text(&case["operation"]),
        sets: case["sets"].as_array().expect("sets").iter().map(text).collect(),
        result: case.get("result").cloned(),
    };
    let cases = files("field-sets.yaml").into_iter().map(|path| read(&path)["cases"].clone());
    cases.flat_map(|list| list.as_array().expect("a list").iter().map(case).collect::<Vec<_>>()).collect()
}

impl SetCase {
    fn run(&self) -> Option<Value> {
        let sets: Vec<FieldSet> =
            self.sets.iter().map(|text| FieldSet::from_json(text).ok()).collect::<Option<_>>()?;
        let result = match (self.operation.as_str(), sets.as_slice()) {
            ("read", [set]) => set.clone(),
            ("leaves", [set]) => set.leaves(),
            ("union", [a, b]) => a.union(b),
            ("intersection", [a, b]) => a.intersection(b),
            ("difference", [a, b]) => a.difference(b),
            ("recursive difference", [a, b]) => a.recursive_difference(b),
            ("paths", [set]) => return Some(set.paths().iter().map(Fields::to_string).collect()),
            (other, sets) => panic!("unknown operation {other} of {} sets", sets.len()),
        };
        Some(result.to_json().into())
    }
}

#[test]
fn recorded_field_sets_have_their_results() {
    let cases = set_cases();
    assert!(cases.len() > 30, "{} cases", cases.len());
    for case in cases {
        assert_eq!(case.run(), case.result, "{}", case.rule);
    }
}

#[test]
#[ignore = "needs the oracle, see .ci/tools"]
fn recorded_field_sets_equal_the_reference() {
    let mut reference = Reference::start();
    for case in set_cases() {
        let theirs = reference.solve(&json!({
            "operation": "field-sets", "kind": case.operation, "sides": case.sets.iter().enumerate()
                .map(|(i, set)| (["a", "b"][i].to_string(), json!(set))).collect::<Map<_, _>>(),
        }));
        assert_eq!(case.run(), theirs.get("result").cloned(), "{}: {theirs}", case.rule);
    }
}
