//! The readiness of random objects equals that of kstatus, except for the listed differences.
//!
//! `SMP_TEST_ORACLE` names the program that `tests/oracle/build` builds. `SMP_TEST_STATUSES` is the number of
//! objects, `SMP_TEST_STATUSES_SEED` the first seed.
//!
//! Differences: an `observedGeneration` is an error in kstatus, and its number here. A suspended
//! Job is ready, as in kstatus after release 0.37.2.

#![cfg(feature = "cluster")]

use std::env;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use kubectl_smp_testing::dice::Dice;
use kubectl_smp_testing::requirements;
use serde_json::{Map, Value, json};
use smp_cluster::{MissingStatus, Readiness, object_status};
use smp_merge::schema::Gvk;
use smp_text::yaml::Node;

const KINDS: [(&str, &str); 17] = [
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "Secret"),
    ("v1", "ConfigMap"),
    ("v1", "Namespace"),
    ("v1", "PersistentVolumeClaim"),
    ("apps/v1", "Deployment"),
    ("extensions/v1beta1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("apps/v1", "StatefulSet"),
    ("apps/v1", "DaemonSet"),
    ("batch/v1", "Job"),
    ("batch/v1", "CronJob"),
    ("policy/v1", "PodDisruptionBudget"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("example.com/v1", "Deployment"),
    ("example.com/v1", "Widget"),
];

const COUNTS: [&str; 17] = [
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "currentReplicas",
    "fullyLabeledReplicas",
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberReady",
    "succeeded",
    "active",
    "failed",
    "x",
    "y",
    "z",
];

const CONDITIONS: [&str; 14] = [
    "Ready",
    "Reconciling",
    "Stalled",
    "Available",
    "Progressing",
    "ReplicaFailure",
    "PodScheduled",
    "Complete",
    "Failed",
    "Suspended",
    "NamesAccepted",
    "Established",
    "Other",
    "ready",
];

const REASONS: [&str; 6] =
    ["NewReplicaSetAvailable", "ProgressDeadlineExceeded", "Unschedulable", "Installing", "Why", ""];

/// A count that is mostly the same, so that objects sometimes become ready; rarely of another type.
fn count(dice: &mut Dice) -> Value {
    match dice.below(40) {
        0 => json!("2"),
        1 => json!(2.5),
        2 => json!(-1),
        3..8 => json!(1),
        8..11 => json!(3),
        _ => json!(2),
    }
}

fn condition(dice: &mut Dice) -> Value {
    let mut condition = Map::new();
    condition.insert("type".into(), json!(dice.pick(&CONDITIONS)));
    condition.insert("status".into(), json!(dice.pick(&["True", "True", "False", "Unknown", "true", ""])));
    if dice.below(3) > 0 {
        condition.insert("reason".into(), json!(dice.pick(&REASONS)));
    }
    if dice.below(2) == 0 {
        condition.insert("message".into(), json!("because"));
    }
    if dice.below(60) == 0 {
        condition.insert("status".into(), json!(true));
    }
    Value::Object(condition)
}

fn spec(dice: &mut Dice) -> Value {
    let mut spec = Map::new();
    for (field, values) in [
        ("replicas", vec![json!(2), json!(2), json!(2), json!(1), json!("2")]),
        ("progressDeadlineSeconds", vec![json!(600), json!(i32::MAX)]),
        ("type", vec![json!("LoadBalancer"), json!("ClusterIP")]),
        ("clusterIP", vec![json!(""), json!("10.0.0.1")]),
        ("suspend", vec![json!(true), json!(false), json!("true")]),
        ("parallelism", vec![json!(2)]),
        ("completions", vec![json!(4)]),
    ] {
        if dice.below(2) == 0 {
            let value = values[dice.below(values.len())].clone();
            spec.insert(field.into(), value);
        }
    }
    match dice.below(6) {
        0 => drop(spec.insert("updateStrategy".into(), json!({"type": "OnDelete"}))),
        1 => {
            drop(
                spec.insert("updateStrategy".into(), json!({"rollingUpdate": {"partition": dice.below(3)}})),
            );
        }
        _ => {}
    }
    Value::Object(spec)
}

fn status(dice: &mut Dice) -> Value {
    let mut status = Map::new();
    let is_full = dice.below(2) == 0;
    for field in COUNTS {
        if is_full || dice.below(3) > 0 {
            let value = if is_full { json!(2) } else { count(dice) };
            status.insert(field.into(), value);
        }
    }
    match dice.below(8) {
        0 => {}
        1 => drop(status.insert("observedGeneration".into(), json!(1))),
        2 => drop(status.insert("observedGeneration".into(), json!(dice.pick(&["1", "2"])))),
        _ => drop(status.insert("observedGeneration".into(), json!(2))),
    }
    let phases = ["Running", "Running", "Pending", "Succeeded", "Failed", "Bound", "Lost", "Odd", ""];
    if dice.below(5) > 0 {
        status.insert("phase".into(), json!(dice.pick(&phases)));
    }
    if dice.below(3) > 0 {
        let conditions = (0..dice.below(4)).map(|_| condition(dice)).collect();
        status.insert("conditions".into(), Value::Array(conditions));
    } else if dice.below(30) == 0 {
        status.insert("conditions".into(), json!({"Ready": "True"}));
    }
    if dice.below(2) == 0 {
        status.insert("startTime".into(), json!("2024-01-01T00:00:00Z"));
    }
    if dice.below(3) == 0 {
        let reason = dice.pick(&["CrashLoopBackOff", "ImagePullBackOff"]);
        status.insert(
            "containerStatuses".into(),
            json!([{"name": "a", "state": {"running": {}}}, {"name": "b", "state": {"waiting": {"reason": reason}}}]),
        );
    }
    for field in ["currentRevision", "updateRevision"] {
        if dice.below(3) == 0 {
            status.insert(field.into(), json!(dice.pick(&["a", "b"])));
        }
    }
    Value::Object(status)
}

fn object(dice: &mut Dice) -> Value {
    let (version, kind) = KINDS[dice.below(KINDS.len())];
    let mut metadata = json!({"name": "a"});
    if dice.below(6) > 0 {
        metadata["generation"] = json!(2);
    }
    if dice.below(20) == 0 {
        metadata["deletionTimestamp"] = json!("2024-01-01T00:00:00Z");
    }
    if dice.below(2) == 0 {
        let times = ["2024-01-01T00:00:00Z", "2099-01-01T00:00:00Z"];
        metadata["creationTimestamp"] = json!(dice.pick(&times));
    }
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec(dice)});
    match dice.below(15) {
        0 => {}
        1 => object["status"] = Value::Null,
        2 => object["status"] = json!("fine"),
        _ => object["status"] = status(dice),
    }
    object
}

/// The object with numeric generations, where kstatus would reject it: the listed difference.
fn with_numbers(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(observed) = object.pointer_mut("/status/observedGeneration")
        && let Some(number) = observed.as_str().and_then(|text| text.parse::<i64>().ok())
    {
        *observed = json!(number);
    }
    object
}

/// Returns true for a Job that should be suspended and is.
fn is_suspended(object: &Value) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let says = |c: &Value| c["type"] == "Suspended" && c["status"] == "True";
    object["kind"] == "Job" && object["spec"]["suspend"] == true && conditions.into_iter().flatten().any(says)
}

fn theirs(objects: &[Value]) -> Vec<Value> {
    let program = requirements::required_env("SMP_TEST_ORACLE", "oracle");
    let mut child = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let mut input = child.stdin.take().expect("a pipe");
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    let request = |object: &Value| json!({"operation": "status", "sides": {"object": object.to_string()}});
    let questions: String =
        objects.iter().flat_map(|object| [request(object).to_string(), "\n".into()]).collect();
    let writer = std::thread::spawn(move || input.write_all(questions.as_bytes()).expect("a reader"));
    let answers = output.lines().map(|line| serde_json::from_str(&line.expect("text")).expect("an answer"));
    let answers: Vec<Value> = answers.collect();
    writer.join().expect("all written");
    child.wait().expect("an end");
    answers
}

fn number(variable: &str, default: u64) -> u64 {
    env::var(variable).map_or(default, |text| text.parse().expect(variable))
}

#[test]
#[ignore = "needs the oracle, see .ci/tools"]
fn random_objects_have_the_readiness_of_kstatus() {
    let now = SystemTime::now();
    let seed = number("SMP_TEST_STATUSES_SEED", 1);
    let mut dice = Dice::new(seed);
    let objects: Vec<Value> = (0..number("SMP_TEST_STATUSES", 4000)).map(|_| object(&mut dice)).collect();
    let readable: Vec<Value> = objects.iter().map(with_numbers).collect();
    let answers = theirs(&readable);
    assert_eq!(answers.len(), objects.len());
    let mut found = std::collections::BTreeMap::new();
    for (object, answer) in objects.iter().zip(&answers) {
        let text = |field: &str| object[field].as_str().expect("a text");
        let gvk = Gvk::from_manifest(text("apiVersion"), text("kind"));
        let ours = object_status(&gvk, &Node::from(object), MissingStatus::Current, now);
        if ours.message == "suspended" {
            assert!(is_suspended(object), "seed {seed}: {object:#}");
            continue;
        }
        let result = &answer["result"];
        let their_word =
            result["status"].as_str().unwrap_or_else(|| panic!("seed {seed}: {answer}\n{object:#}"));
        let their_word = if their_word == "Error" { "Unknown" } else { their_word };
        assert_eq!(ours.readiness.as_str(), their_word, "seed {seed}: {ours:?}\n{object:#}");
        if matches!(ours.readiness, Readiness::InProgress | Readiness::Failed) {
            assert_eq!(ours.reason, result["reason"].as_str().unwrap_or_default(), "seed {seed}\n{object:#}");
        }
        *found.entry(their_word.to_string()).or_insert(0) += 1;
    }
    for word in ["Current", "InProgress", "Failed", "Terminating", "Unknown"] {
        assert!(found.get(word).is_some_and(|count| *count > 10), "seed {seed}: {found:?}");
    }
}

#[test]
#[ignore = "needs the oracle, see .ci/tools"]
fn listed_difference_exists() {
    let object = json!({"apiVersion": "example.com/v1", "kind": "Widget",
        "metadata": {"name": "a", "generation": 2}, "status": {"observedGeneration": "1"}});
    assert_eq!(theirs(std::slice::from_ref(&object))[0]["result"]["status"], "Error");
    let gvk = Gvk::from_manifest("example.com/v1", "Widget");
    let ours = object_status(&gvk, &Node::from(&object), MissingStatus::Current, SystemTime::now());
    assert_eq!(
        (ours.readiness, ours.reason.as_str()),
        (Readiness::InProgress, "LatestGenerationNotObserved")
    );
}
