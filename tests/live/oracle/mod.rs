//! `apply` of a base and an overlay has the same result as two server-side applies, one after the other, by two
//! managers of which the second forces conflicts.
//!
//! `SMP_TEST_APPLIES` random pairs (60), each from its own seed. To repeat seed 7, set `SMP_TEST_APPLIES_SEED=7
//! SMP_TEST_APPLIES=1`. If `SMP_TEST_SHARED` names a directory with `crds/`, objects of these kinds are included;
//! otherwise only built-in kinds and those of `crds/` here.
//!
//! Fields whose patch strategy and list type differ are excluded: `directives` names them, two lists of statuses.

mod built_in;
mod custom;
mod server;

use std::env;

use kubectl_smp_testing::dice::Dice;
use serde_json::{Value, json};

use self::custom::Custom;
use self::server::Server;
use super::rig::{Ran, Rig, eventually};

/// A resource, as in its URL path.
#[derive(Debug, Clone)]
struct Resource {
    api_version: String,
    kind: String,
    plural: String,
    namespaced: bool,
}

/// Identifies the lists whose entries have keys: their order may differ.
#[derive(Debug, Clone, Copy)]
enum KeyedLists<'a> {
    /// By field name.
    Names(&'a [&'a str]),
    /// By the schema of a CRD.
    Schema(&'a Value),
}

impl KeyedLists<'_> {
    /// Sorts these lists in a value.
    fn sort(self, value: &mut Value) {
        match self {
            Self::Names(names) => sort_named(value, "", names),
            Self::Schema(schema) => custom::sort_keyed(value, schema),
        }
    }
}

fn sort_named(value: &mut Value, field: &str, names: &[&str]) {
    match value {
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| sort_named(value, name, names)),
        Value::Array(entries) => {
            for entry in entries.iter_mut() {
                sort_named(entry, "", names);
            }
            if names.contains(&field) {
                entries.sort_by_key(ToString::to_string);
            }
        }
        _ => {}
    }
}

/// Two layers of one object, without its identity.
struct Pair<'a> {
    seed: u64,
    resource: Resource,
    keyed: KeyedLists<'a>,
    base: Value,
    over: Value,
}

impl Pair<'_> {
    /// One of the layers as a manifest.
    fn manifest(&self, layer: &Value, name: &str, namespace: &str) -> Value {
        let mut manifest = layer.clone();
        manifest["apiVersion"] = json!(self.resource.api_version);
        manifest["kind"] = json!(self.resource.kind);
        manifest["metadata"]["name"] = json!(name);
        if self.resource.namespaced {
            manifest["metadata"]["namespace"] = json!(namespace);
        }
        manifest
    }

    /// The compared part of an object: without its identity, without values added by controllers and address
    /// allocation, and with sorted entries of lists with keys.
    fn compared(&self, mut object: Value) -> Value {
        let kept = ["labels", "annotations"].map(|field| (field, object["metadata"][field].take()));
        let kept = kept.into_iter().filter(|(_, value)| !value.is_null());
        object["metadata"] = kept.map(|(field, value)| (field.to_string(), value)).collect();
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        if let Some(annotations) = object["metadata"].get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("deprecated.daemonset.template.generation");
        }
        if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut)
            && self.resource.kind == "Service"
        {
            spec.remove("clusterIP");
            spec.remove("clusterIPs");
        }
        self.keyed.sort(&mut object);
        object
    }
}

/// The number of pairs in one overlay.
const PAIRS_PER_OVERLAY: usize = 25;

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| text.parse().expect(variable))
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
#[allow(clippy::print_stdout, reason = "the seed is wanted when it fails")]
fn random_overlays_apply_as_two_managers_would() {
    let rig = Rig::new();
    rig.create_namespace();
    let count = number("SMP_TEST_APPLIES").unwrap_or(60);
    let seed = number("SMP_TEST_APPLIES_SEED").unwrap_or(0);
    println!("{count} pairs from seed {seed} on");

    let server = Server::connect(&rig);
    let custom = Custom::installed(&rig, &server);
    let pairs: Vec<_> = (seed..seed + count).map(|seed| pair(seed, &custom)).collect();
    let (mut refused, mut differences) = (0, Vec::new());
    for (number, pairs) in pairs.chunks(PAIRS_PER_OVERLAY).enumerate() {
        let ran = apply_as_overlay(&rig, pairs, number);
        for pair in pairs {
            match compare(&rig, &server, pair) {
                Compared::Same => {}
                Compared::Refused => refused += 1,
                Compared::Different(text) => {
                    let said = relevant(&ran, &format!("p{}-ours", pair.seed));
                    differences.push(format!("seed {}: {text}\nsaid: {said}", pair.seed));
                }
            }
        }
    }
    println!("{refused} pairs were refused both ways");
    assert!(differences.is_empty(), "{} of {count}:\n{}", differences.len(), differences.join("\n\n"));
    assert!(refused * 10 <= count, "{refused} of {count} pairs were refused, which tells too little");
}

/// Half of the pairs are custom resources.
fn pair<'a>(seed: u64, custom: &'a Custom<'_>) -> Pair<'a> {
    let mut dice = Dice::new(seed);
    if dice.one_in(2) { custom.pair(seed, dice) } else { built_in::pair(seed, dice) }
}

/// Applies all pairs with the program, as one overlay.
fn apply_as_overlay(rig: &Rig, pairs: &[Pair<'_>], number: usize) -> Ran {
    let [base, over] = ["base", "over"].map(|layer| format!("{layer}{number}"));
    for pair in pairs {
        let name = format!("p{}-ours", pair.seed);
        for (folder, layer) in [(&base, &pair.base), (&over, &pair.over)] {
            let text = pair.manifest(layer, &name, &rig.name).to_string();
            rig.file(&format!("{folder}/{name}.yaml"), &text);
        }
    }
    rig.smp(&["apply", &over, "--base", &base])
}

/// The output about an object.
fn relevant(ran: &Ran, name: &str) -> String {
    let is_failed = ran.stdout.is_empty();
    let parts = ran.stderr.split("\nerror").filter(|part| is_failed || part.contains(name));
    parts.take(3).collect::<Vec<_>>().join("\n")
}

enum Compared {
    Same,
    Refused,
    Different(String),
}

/// Applies both layers with server-side apply, and compares the results.
fn compare(rig: &Rig, server: &Server, pair: &Pair<'_>) -> Compared {
    let [ours, theirs] = ["ours", "theirs"].map(|way| format!("p{}-{way}", pair.seed));
    let layer = |layer, name| pair.manifest(layer, name, &rig.name);
    let base = server.apply(&pair.resource, &layer(&pair.base, &theirs), "base");
    base.unwrap_or_else(|error| panic!("seed {}: the base is refused: {error}", pair.seed));
    let other = server.apply(&pair.resource, &layer(&pair.over, &theirs), "overlay");
    let kept = server.get(&pair.resource, &rig.name, &ours);
    let shown = |value: &Value| serde_yaml::to_string(value).expect("a text");
    let layers = format!(
        "\
{}
base:
{}over:
{}",
        pair.resource.kind,
        shown(&pair.base),
        shown(&pair.over)
    );
    match (kept, other) {
        (None, Err(_)) => Compared::Refused,
        (None, Ok(_)) => Compared::Different(format!("{layers}only we fail")),
        (Some(_), Err(error)) => Compared::Different(format!("{layers}only the server refuses: {error}")),
        (Some(kept), Ok(other)) => {
            let (kept, other) = (pair.compared(kept), pair.compared(other));
            if kept == other {
                return Compared::Same;
            }
            Compared::Different(format!(
                "\
{layers}ours:
{}theirs:
{}",
                shown(&kept),
                shown(&other)
            ))
        }
    }
}
