//! Tests of concurrent runs with a fake server.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::id::set_id;
use super::{ApplySetEvent, ApplySetOptions, ApplySetRun};
use crate::ServerSideApplyOptions;
use crate::fake::{FakeServer, Reply, not_found, ok};
use smp_merge::schema::Schema;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::Code;

const CORE: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[{"version":"v1","resources":[
    {"resource":"configmaps","scope":"Namespaced","responseKind":{"kind":"ConfigMap"}},
    {"resource":"secrets","scope":"Namespaced","responseKind":{"kind":"Secret"}}]}]}]}"#;

/// The response for an object that does not exist.
const NO_OBJECT: &str = r#"{"kind":"Status","reason":"NotFound","message":"not found","code":404}"#;

/// Returns the parent of a set of ConfigMaps, with a lock annotation.
fn parent(version: usize, lock: &str) -> Reply {
    let (id, prefix) = (set_id("s", "shop", "Secret", ""), "applyset.kubernetes.io");
    let annotations = serde_json::json!({
        format!("{prefix}/tooling"): "kubectl/v1.36",
        format!("{prefix}/contains-group-kinds"): "ConfigMap",
        "smp.kubectl.dev/applyset-run": lock,
    });
    let metadata = serde_json::json!({
        "name": "s", "uid": "u", "resourceVersion": version.to_string(),
        "labels": {format!("{prefix}/id"): id}, "annotations": annotations,
    });
    ok(serde_json::json!({"kind": "Secret", "metadata": metadata}).to_string())
}

/// Returns a list with a member that is no longer applied.
fn members() -> Reply {
    let id = set_id("s", "shop", "Secret", "");
    let labels = serde_json::json!({"applyset.kubernetes.io/part-of": id});
    let metadata = serde_json::json!({
        "name": "old", "namespace": "shop", "uid": "o", "resourceVersion": "1", "labels": labels,
    });
    ok(serde_json::json!({"items": [{"metadata": metadata}]}).to_string())
}

/// Begins a run and prunes immediately. Returns the requests that change something, and the result.
fn run(write: impl Fn(usize) -> Reply + Send + Sync + 'static) -> (Vec<String>, Result<usize, Code>) {
    let writes = AtomicUsize::new(0);
    let mut fake = FakeServer::start(move |request| {
        Some(match request.split('?').next().unwrap_or(request) {
            "GET /api" => ok(CORE),
            "GET /apis" => ok(r#"{"kind":"APIGroupDiscoveryList","items":[]}"#),
            "GET /api/v1/namespaces/shop/secrets/s" => parent(1, "applying another 0"),
            "PATCH /api/v1/namespaces/shop/secrets/s" => write(writes.fetch_add(1, Ordering::SeqCst)),
            "GET /api/v1/namespaces/shop/configmaps" => members(),
            "GET /api/v1/namespaces/shop/configmaps/new" => (404, "", NO_OBJECT.into()),
            "DELETE /api/v1/namespaces/shop/configmaps/old" => ok("{}"),
            _ => not_found(),
        })
    });
    fake.options.namespace = Some("shop".into());
    let cluster = fake.connect();
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: new}}".parse().expect("YAML");
    let mut resources = vec![Resource::new(map, &Schema::empty()).expect("a resource")];
    let mut pruned = 0;
    let mut report =
        |event: ApplySetEvent<'_>| pruned += usize::from(matches!(event, ApplySetEvent::Pruned(_)));
    let apply = ServerSideApplyOptions::default();
    let set = ApplySetRun::begin(&cluster, ApplySetOptions::new("s"), &mut resources, &apply, &mut report);
    let outcome = set.expect("it begins").prune(&mut report);
    let labels = resources[0].labels().count();
    assert_eq!(labels, 1, "applied objects have the label");
    let changes = fake.take_requests().into_iter().filter(|request| !request.starts_with("GET "));
    let changes =
        changes.filter_map(|request| request.split(['?', ' ']).next().map(str::to_string)).collect();
    (changes, outcome.map(|summary| summary.pruned.len().min(pruned)).map_err(|problem| problem.code()))
}

#[test]
fn parent_is_written_before_and_after_deletions() {
    let (changes, outcome) = run(|write| parent(2 + write, ""));
    assert_eq!(changes, ["PATCH", "PATCH", "DELETE", "PATCH"]);
    assert_eq!(outcome, Ok(1));
}

#[test]
fn nothing_is_deleted_if_another_run_has_the_lock() {
    let conflict = || (409, "", r#"{"message":"modified","reason":"Conflict"}"#.to_string());
    let (changes, outcome) = run(move |write| if write == 0 { parent(2, "") } else { conflict() });
    assert_eq!(changes, ["PATCH", "PATCH"], "the lock could not be renewed");
    assert_eq!(outcome, Err(Code::Conflict));
}
