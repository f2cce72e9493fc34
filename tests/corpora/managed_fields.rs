//! Random sequences of applies and updates, compared with the `managedfields` of apimachinery.
//!
//! `SMP_TEST_ORACLE` names the program that `tests/oracle/build` builds, `SMP_TEST_OPENAPI` the directory of the
//! OpenAPI documents, and `SMP_TEST_SHARED` one with CRDs, if it is set. `SMP_TEST_SEQUENCES` is the number of sequences (3,000), the same in each run;
//! `SMP_TEST_SEQUENCES_SEED` is the first seed of others.

#![allow(clippy::print_stderr, reason = "the test reports what it compared")]

mod outcome;
mod recorded;
mod reference;
mod sequence;
mod values;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kubectl_smp_testing::requirements::required_env;
use kubectl_smp_testing::seeds;
use outcome::Outcome;
use rayon::prelude::*;
use reference::Reference;
use sequence::{Sequence, Step};
use serde_json::{Value, json};
use smp_merge::managed_fields::{Applied, Options, apply, update};
use smp_merge::schema::{Schema, compile, openapi};
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, ParseOptions, parse_one};

/// The number of sequences per request.
const BATCH: usize = 500;

/// The number of disagreements that are printed.
const SHOWN: usize = 3;

/// The types of the reference.
fn document_schema() -> Schema {
    let folder = Path::new(&required_env("SMP_TEST_OPENAPI", "openapi")).join("openapi-v3");
    let files = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let models = files.map(|path| {
        let text = std::fs::read_to_string(&path).expect("readable");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        openapi::read(&Node::from(&value)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    });
    let graph = compile::merge(models.collect::<Vec<_>>()).compile().expect("small");
    let mut schema = Schema::empty();
    schema.push_front("documents", Arc::new(graph));
    schema
}

/// Adds the types of the CRDs in `SMP_TEST_SHARED`, if it is set.
fn with_custom_types(mut schema: Schema) -> Schema {
    let Some(shared) = std::env::var_os("SMP_TEST_SHARED") else { return schema };
    let files = std::fs::read_dir(Path::new(&shared).join("crds")).expect("a folder");
    let models = files.map(|entry| {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("readable");
        let sources = SourceMap::default();
        let node = parse_one(&sources, sources.add(&path, text), ParseOptions::default());
        let node = node.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        openapi::read(&node).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    });
    let graph = compile::merge(models.collect::<Vec<_>>()).compile().expect("small");
    schema.push_front("CRDs", Arc::new(graph));
    schema
}

#[test]
#[ignore = "needs the oracle and OpenAPI documents, see .ci/tools"]
fn sequences_of_applies_and_updates_equal_the_reference() {
    let documents = with_custom_types(document_schema());
    let kinds = sequence::kinds(&documents);
    assert!(kinds.len() > 60, "{} kinds", kinds.len());
    let embedded = with_custom_types(Schema::embedded());
    let mut reference = Reference::start();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for seeds in seeds::seeds("SMP_TEST_SEQUENCES", 3_000).chunks(BATCH) {
        let sequences: Vec<Sequence> =
            seeds.par_iter().map(|seed| sequence::random(*seed, &kinds, &documents, &embedded)).collect();
        let answers = reference.ask(&sequences.iter().map(|sequence| &*sequence.steps).collect::<Vec<_>>());
        for (i, (sequence, theirs)) in sequences.iter().zip(&answers).enumerate() {
            for ours in &sequence.outcomes {
                *counts.entry(ours.name()).or_default() += 1;
            }
            if first_difference(&sequence.outcomes, theirs).is_some() {
                failures.push((seeds[i], sequence.steps.clone()));
            }
        }
    }
    eprintln!("{counts:?}");
    let shown: Vec<String> = failures
        .iter()
        .take(SHOWN)
        .map(|(seed, steps)| report(*seed, steps, &embedded, &mut reference))
        .collect();
    let seeds: Vec<u64> = failures.iter().map(|(seed, _)| *seed).take(20).collect();
    assert!(failures.is_empty(), "{} disagreements, seeds {seeds:?}\n{}", failures.len(), shown.join("\n"));
    let count = |name: &str| counts.get(name).copied().unwrap_or_default();
    assert!(count("object") > 3 * count("error") && count("conflict") * 30 > count("object"), "{counts:?}");
}

/// Measures the same requests with both, one after the other, on one thread each. `SMP_TEST_SPEEDUP` is the minimum
/// factor; without it, the figures are only printed.
#[test]
#[ignore = "needs the oracle and OpenAPI documents, see .ci/tools"]
fn requests_are_faster_than_those_of_the_reference() {
    let documents = document_schema();
    let kinds = sequence::kinds(&documents);
    let mut reference = Reference::start();
    let (mut ours, mut theirs) = (Duration::ZERO, Duration::ZERO);
    for seed in 0..MEASURED {
        let steps = sequence::random(seed, &kinds, &documents, &documents).steps;
        ours += sequence::measure(&steps, &documents, REPETITIONS);
        theirs += Duration::from_nanos(reference.measure(&steps, REPETITIONS));
    }
    let factor = theirs.as_secs_f64() / ours.as_secs_f64();
    eprintln!(
        "{MEASURED} sequences, {REPETITIONS} times: ours {ours:?}, reference {theirs:?}, {factor:.1} times faster"
    );
    let wanted: Option<f64> = std::env::var("SMP_TEST_SPEEDUP").ok().and_then(|text| text.parse().ok());
    assert!(wanted.is_none_or(|wanted| factor >= wanted), "only {factor:.1} times faster");
}

/// Applies and updates one object again and again, by 4 managers that apply and 15 that update. `SMP_TEST_WRITES` is the
/// number of requests; without it, there are too few to see small leaks. Other tests use memory too: this one starts a
/// process in which it is alone.
#[test]
fn memory_is_flat_over_many_writes() {
    const ALONE: &str = "SMP_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let name = "managed_fields::memory_is_flat_over_many_writes";
        let mut command = std::process::Command::new(std::env::current_exe().expect("a path"));
        let status = command.args(["--exact", name, "--nocapture"]).env(ALONE, "1").status();
        return assert!(status.expect("started").success());
    }
    write_and_measure();
}

fn write_and_measure() {
    let count = std::env::var("SMP_TEST_WRITES").ok().and_then(|text| text.parse().ok()).unwrap_or(5_000);
    let schema = Schema::embedded();
    let mut live = None;
    let mut write = |number: usize| {
        let time =
            format!("2026-01-01T{:02}:{:02}:{:02}Z", number / 3600 % 24, number / 60 % 60, number % 60);
        let options = Options::new(&schema).time(time).force(true);
        let object = written_object(number);
        let after = if number.is_multiple_of(3) {
            update(live.as_ref(), &object, &format!("u{}", number % 15), &options)
        } else {
            apply(live.as_ref(), &object, ["a", "b", "c", "d"][number % 4], &options)
                .and_then(Applied::into_object)
        };
        live = Some(after.expect("valid"));
    };
    (0..count / 10).for_each(&mut write);
    let before = resident();
    (count / 10..count).for_each(&mut write);
    let after = resident();
    eprintln!("{count} writes: {before} kB after a tenth, {after} kB after all");
    assert!(after < before + 2_048, "{before} kB after a tenth, {after} kB after all");
    let size = live.expect("written").to_string().len();
    assert!(size < 20_000, "the object has {size} bytes");
}

/// A Deployment that changes with each number, of about the same size.
fn written_object(number: usize) -> Value {
    let containers: Vec<Value> = (0..3)
        .map(|i| {
            json!({"name": format!("c{}", (number + i) % 5), "image": format!("web:{}", number % 100),
            "ports": [{"containerPort": 80 + number % 7}, {"containerPort": 53, "protocol": "UDP"}]})
        })
        .collect();
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "web", "labels": {format!("k{}", number % 11): "v"}, "uid": "1"},
        "spec": {"replicas": number % 9, "selector": {"matchLabels": {"app": "web"}},
            "template": {"spec": {"containers": containers}}},
    })
}

/// The memory of this process in kilobytes, as Linux reports it.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

/// The sequences that are measured, and how often each is run.
const MEASURED: u64 = 300;
const REPETITIONS: usize = 5;

fn first_difference(ours: &[Outcome], theirs: &[Outcome]) -> Option<usize> {
    (0..ours.len().max(theirs.len())).find(|&i| match (ours.get(i), theirs.get(i)) {
        (Some(ours), Some(theirs)) => !ours.agrees(theirs),
        _ => true,
    })
}

/// The shortest sequence that still differs, and both results of its last step.
fn report(seed: u64, steps: &[Step], schema: &Schema, reference: &mut Reference) -> String {
    let mut steps = steps.to_vec();
    let mut difference = |steps: &[Step]| {
        let (ours, theirs) = (sequence::run(steps, schema), reference.ask(&[steps]).remove(0));
        first_difference(&ours, &theirs).map(|i| (i, ours, theirs))
    };
    let mut i = 0;
    while i < steps.len() {
        let mut shorter = steps.clone();
        shorter.remove(i);
        match difference(&shorter) {
            Some((last, ..)) => {
                shorter.truncate(last + 1);
                steps = shorter;
            }
            None => i += 1,
        }
    }
    let Some((last, ours, theirs)) = difference(&steps) else { return format!("seed {seed}: unstable") };
    let lines: Vec<String> = steps.iter().map(|step| step.request().to_string()).collect();
    format!(
        "seed {seed}, step {last}\n{}\nours:   {}\ntheirs: {}\n",
        lines.join("\n"),
        ours[last],
        theirs[last]
    )
}
