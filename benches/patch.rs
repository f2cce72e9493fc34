//! The time and memory of patching a million small objects: with `patch::json::apply`, with `json_patch::merge`,
//! which replaces lists, and with Go's `strategicpatch` if the oracle is available.
//!
//!     eval "$(.ci/tools oracle)" && cargo bench --bench patch
//!
//! `SMP_BENCH_OBJECTS` sets the number of objects. Each object is copied, patched and dropped. The time of the
//! copies is printed separately.

#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::fs;
use std::hint::black_box;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use smp_merge::merge::PatchRules;
use smp_merge::patch::json::{PatchType, PatchingOptions, apply, apply_with};
use smp_merge::schema::Schema;

fn main() {
    let objects =
        std::env::var("SMP_BENCH_OBJECTS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let (pod, patch) = (pod(), json!({"spec": {"containers": [{"name": "web", "image": "web:2"}]}}));
    let schema = Schema::embedded();
    println!("{objects} objects of {} bytes", pod.to_string().len());
    row("copies alone", objects, &pod, |_| {});
    row("json_patch::merge", objects, &pod, |object| json_patch::merge(object, &patch));
    row("json::apply, JSON merge patch", objects, &pod, |object| {
        apply(object, &patch, PatchType::Merge, &schema).expect("applies");
    });
    row("json::apply, strategic", objects, &pod, |object| {
        apply(object, &patch, PatchType::Strategic, &schema).expect("applies");
    });
    let overlay = PatchingOptions::default().rules(PatchRules::Overlay);
    row("json::apply_with, overlay", objects, &pod, |object| {
        apply_with(object, &patch, PatchType::Strategic, &schema, &overlay).expect("applies");
    });
    go(objects, &pod, &patch);
}

/// A typical object of a controller: metadata, a spec with two containers, a status.
fn pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web-7d4b9c6f5d-x2x9q", "namespace": "shop", "labels": {"app": "web", "tier": "front"},
            "uid": "f525b23c-72e0-464d-8259-a51f1acf7ff6", "resourceVersion": "480"},
        "spec": {"restartPolicy": "Always", "nodeName": "node-1", "containers": [
            {"name": "web", "image": "web:1", "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                "env": [{"name": "MODE", "value": "prod"}]},
            {"name": "log", "image": "log:1"},
        ]},
        "status": {"phase": "Running", "podIP": "10.0.0.7", "conditions": [
            {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-22T10:20:59Z"},
        ]},
    })
}

fn row(what: &str, objects: u32, object: &Value, patch: impl Fn(&mut Value)) {
    let one = || {
        let mut copy = object.clone();
        patch(&mut copy);
        black_box(&copy);
    };
    // The first patches initialise lazy values.
    (0..objects / 10).for_each(|_| one());
    let before = peak();
    let start = Instant::now();
    (0..objects).for_each(|_| one());
    show(what, objects, start.elapsed(), &format!("peak {before} before, {} after", peak()));
}

fn show(what: &str, objects: u32, took: Duration, memory: &str) {
    println!("{what:<32} {:>8.2?} {:>10.2?} each   {memory}", took, took / objects.max(1));
}

/// The peak memory of this process, as reported by Linux.
fn peak() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "unknown".into(), |text| text.trim().into())
}

/// The same patches by the oracle.
fn go(objects: u32, object: &Value, patch: &Value) {
    let Ok(oracle) = std::env::var("SMP_TEST_ORACLE") else {
        println!("strategicpatch: left out, SMP_TEST_ORACLE is not set");
        return;
    };
    let sides = json!({"original": object.to_string(), "patch": patch.to_string()});
    let case = json!({"operation": "measure", "kind": "v1 Pod", "count": objects, "sides": sides});
    let mut child =
        Command::new(oracle).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the oracle");
    writeln!(child.stdin.take().expect("a pipe"), "{case}").expect("a reader");
    let output = child.wait_with_output().expect("an answer").stdout;
    let answer: Value = serde_json::from_slice(&output).expect("JSON");
    let result = &answer["result"];
    let time = |name: &str| Duration::from_nanos(result[name].as_u64().unwrap_or_else(|| panic!("{answer}")));
    show("Go: copies alone", objects, time("copies"), "");
    let peak = format!("peak {} after", result["peak"].as_str().unwrap_or("unknown"));
    show("Go: strategicpatch", objects, time("merges"), &peak);
}
