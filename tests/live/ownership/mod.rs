//! Random sequences of requests by four field managers, compared with `merge::managed_fields` and `merge::defaults`:
//! objects, managed fields and conflicts. Times and what the server allocates are left out.
//!
//! `SMP_TEST_HTTP_SEQUENCES` is the number of sequences (200), the same in each run; `SMP_TEST_HTTP_SEQUENCES_SEED` is
//! the first seed of others.

#![allow(clippy::print_stdout, reason = "what differs is for those who run this test")]

mod objects;
mod step;

use std::collections::BTreeMap;

use kubectl_smp_testing::seeds;
use serde_json::{Value, json};
use smp_merge::schema::Schema;

use super::rig::{Rig, eventually};
use super::verdicts::validator::{Connection, KubectlProxy};
use objects::Kind;
use step::{Answer, Request};

/// The number of threads that send requests.
const THREADS: usize = 4;

/// The number of differences that are printed.
const SHOWN: usize = 5;

/// The result of one sequence.
struct Ran {
    counts: BTreeMap<&'static str, usize>,
    difference: Option<String>,
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn sequences_of_requests_equal_the_server() {
    let rig = Rig::new();
    rig.create_namespace();
    let definition: Value = objects::definition(&rig.name);
    rig.file("crd.yaml", &definition.to_string());
    rig.kubectl(&["apply", "--server-side", "-f", "crd.yaml"]);
    let path = format!("apis/{}.example.com/v1", rig.name);
    eventually("the schema is published", || rig.kubectl(&["get", "--raw", "/openapi/v3"]).contains(&path));
    let schema = Schema::embedded().with_crds(&[definition]).expect("a definition");
    let proxy = KubectlProxy::start(&rig);
    let seeds = seeds::seeds("SMP_TEST_HTTP_SEQUENCES", 200);
    let parts: Vec<&[u64]> = seeds.chunks(seeds.len().div_ceil(THREADS).max(1)).collect();
    let ran: Vec<Ran> = std::thread::scope(|scope| {
        let start = |part: &&[u64]| {
            let (part, schema, rig, address) = (part.to_vec(), &schema, &rig, &proxy.address);
            scope.spawn(move || {
                let mut connection = Connection::open(address);
                part.iter().map(|seed| run(*seed, rig, schema, &mut connection)).collect::<Vec<_>>()
            })
        };
        let threads: Vec<_> = parts.iter().map(start).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a thread")).collect()
    });
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, count) in ran.iter().flat_map(|one| &one.counts) {
        *counts.entry(name).or_default() += count;
    }
    println!("{} sequences: {counts:?}", ran.len());
    let differences: Vec<&String> = ran.iter().filter_map(|one| one.difference.as_ref()).collect();
    differences.iter().take(SHOWN).for_each(|text| println!("{text}\n"));
    assert!(differences.is_empty(), "{} of {} sequences differ", differences.len(), ran.len());
    let count = |name: &str| counts.get(name).copied().unwrap_or_default();
    assert!(count("object") > 2 * count("invalid") && count("conflict") > ran.len() / 4, "{counts:?}");
}

/// Runs one sequence up to its first difference.
fn run(seed: u64, rig: &Rig, schema: &Schema, connection: &mut Connection) -> Ran {
    let mut requests = step::Requests::new(seed, rig);
    let mut live: Option<Value> = None;
    let mut counts = BTreeMap::new();
    let mut done: Vec<String> = Vec::new();
    for _ in 0..requests.length() {
        let request = requests.next(live.as_ref());
        let (status, body) = connection
            .send(request.method(), &request.path(), request.content_type(), &request.body.to_string())
            .expect("an answer");
        done.push(request.describe());
        let theirs = match Answer::new(status, &body) {
            // The answer is the scale.
            Answer::Object(_) if request.is_scale() => {
                let read = connection.send("GET", &request.object_path(), "application/json", "");
                let (status, body) = read.expect("an answer");
                Answer::new(status, &body)
            }
            answer => answer,
        };
        *counts.entry(theirs.name()).or_default() += 1;
        if matches!(theirs, Answer::Invalid(_)) {
            continue;
        }
        let ours = request.predict(live.as_ref(), schema);
        if let Some(found) = ours.difference(&theirs) {
            let steps = done.join("\n");
            let difference = Some(format!("seed {seed}\n{steps}\n{found}"));
            return Ran { counts, difference };
        }
        if let Answer::Object(object) = theirs {
            live = Some(object);
        }
    }
    let delete = Request::delete(&requests);
    connection.send("DELETE", &delete, "application/json", &json!({}).to_string());
    Ran { counts, difference: None }
}

/// The kinds of the sequences.
const KINDS: [Kind; 4] = [Kind::ConfigMap, Kind::Service, Kind::Deployment, Kind::Gadget];
