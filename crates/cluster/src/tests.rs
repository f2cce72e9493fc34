//! Tests of situations that are rare with real servers: old discovery, busy servers, lost connections.

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use super::fake::{FakeServer, Reply, not_found, object, ok};
use super::{
    ApplySummary, Cluster, ConnectOptions, DeleteOptions, DeployOptions, DiffOptions, Event, LiveSchema,
    MissingObjects, ServerSideApplyOptions, WaitOptions, apply, delete, deploy, diff,
};
use smp_merge::schema::SchemaSource;
use smp_merge::schema::{Gvk, Schema};
use smp_overlay::resource::Resource;
use smp_overlay::schema_chain::cache::{CacheSource, SchemaCache};
use smp_text::diagnostic::{Code, Result};
use smp_text::source::SourceMap;
use smp_text::yaml::{ParseOptions, parse_documents};

const CORE: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{},"versions":[{"version":"v1",
    "resources":[{"resource":"configmaps","scope":"Namespaced","responseKind":{"kind":"ConfigMap"}}]}]}]}"#;

const NO_GROUPS: &str = r#"{"kind":"APIGroupDiscoveryList","items":null}"#;

fn resources(text: &str) -> Vec<Resource> {
    let sources = SourceMap::default();
    let id = sources.add("test.yaml", text);
    let nodes = parse_documents(&sources, id, ParseOptions::default()).expect("the test's YAML");
    nodes.into_iter().map(|node| Resource::new(node, &Schema::empty()).expect("a resource")).collect()
}

fn config_maps(count: usize) -> Vec<Resource> {
    let text = |i| format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{i}}}\n");
    resources(&(0..count).map(text).collect::<String>())
}

fn run(
    cluster: &Cluster,
    resources: &[Resource],
    options: &ServerSideApplyOptions,
) -> (Result<ApplySummary>, Vec<String>) {
    let mut events = Vec::new();
    let summary = apply(cluster, resources, options, &mut |event| {
        events.extend(match event {
            Event::Progress(_) => None,
            Event::Applied(applied) => Some(format!("{} {}", applied.object, applied.change.as_str())),
            Event::Failed(failure) => {
                Some(format!("failed {}: {}", failure.object, failure.problem.message()))
            }
            Event::Warning(text) | Event::StateWarning(text) => Some(format!("warning {text}")),
        });
    });
    (summary, events)
}

fn one_at_a_time() -> ServerSideApplyOptions {
    ServerSideApplyOptions { parallel: 1, ..ServerSideApplyOptions::default() }
}

#[test]
fn servers_without_aggregated_discovery_are_queried_by_version() {
    let fake = FakeServer::start(|request| {
        Some(match request {
            "GET /api" | "GET /apis" => ok(r#"{"kind":"APIGroupList","groups":[]}"#),
            "GET /apis/apps/v1" => ok(r#"{"groupVersion":"apps/v1","resources":[
                {"name":"deployments","kind":"Deployment","namespaced":true}]}"#),
            patch if patch.starts_with("PATCH ") => object(patch),
            _ => not_found(),
        })
    });
    let cluster = fake.connect();
    let deployment = resources("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n");
    let (summary, _) = run(&cluster, &deployment, &ServerSideApplyOptions::default());
    assert!(summary.expect("a response").is_success());
    let want = "PATCH /apis/apps/v1/namespaces/default/deployments/d?fieldManager=kubectl-smp&force=false\
                &fieldValidation=Strict";
    let before = "GET /apis/apps/v1/namespaces/default/deployments/d";
    let mut requests = fake.take_requests();
    // The admission webhooks are listed while the object is read, so the order is not fixed.
    requests[2..4].sort_unstable();
    let admission = "GET /apis/admissionregistration.k8s.io/v1";
    assert_eq!(requests, ["GET /apis", "GET /apis/apps/v1", admission, before, before, want]);

    let old = resources("apiVersion: apps/v1beta1\nkind: Deployment\nmetadata: {name: d}\n");
    let error = run(&cluster, &old, &ServerSideApplyOptions::default()).0.expect_err("no such version");
    assert_eq!(error.code(), Code::NoMatch);
    assert_eq!(error.help_text(), Some("the server has Deployment in apps/v1"));
    assert_eq!(fake.take_requests(), ["GET /apis/apps/v1beta1"], "known versions are not queried again");
}

#[test]
fn requests_to_busy_servers_are_retried() {
    let failures = AtomicUsize::new(3);
    let fake = FakeServer::start(move |request| {
        let busy = failures.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        Some(match request {
            _ if busy => (429, "retry-after: 0\r\n", "{}".into()),
            "GET /api" => ok(CORE),
            other => object(other),
        })
    });
    let (summary, events) = run(&fake.connect(), &config_maps(1), &ServerSideApplyOptions::default());
    assert!(summary.expect("a response").is_success());
    assert_eq!(events, ["configmap/c0 configured"]);
    let requests = fake.take_requests();
    assert_eq!(requests.len(), 8, "three retries, discovery, admission, the object, the apply: {requests:?}");
}

/// Responses that no API server sends for an object.
const INVALID_RESPONSES: [&str; 7] =
    ["null", "", "[]", "[null]", "\"c0\"", "<html>OK</html>", "{\"kind\": \"ConfigMap\", \"metadata\": {"];

#[test]
fn invalid_response_to_an_apply_is_an_error() {
    for invalid in INVALID_RESPONSES {
        let fake =
            FakeServer::start(move |request| Some(ok(if request == "GET /api" { CORE } else { invalid })));
        let (summary, events) = run(&fake.connect(), &config_maps(1), &ServerSideApplyOptions::default());
        let summary = summary.expect("the kinds are known");
        assert_eq!((summary.applied, summary.failures.len()), (0, 1), "{invalid}: {events:?}");
        assert!(events[0].contains("invalid response"), "{invalid}: {events:?}");
    }
}

#[test]
fn invalid_response_to_a_dry_run_is_an_error() {
    let object_named =
        |kind: &str, name: &str| format!(r#"{{"kind":"{kind}","metadata":{{"name":"{name}"}}}}"#);
    let others = [object_named("Secret", "c0"), object_named("ConfigMap", "c1"), "{}".to_string()];
    for invalid in INVALID_RESPONSES.map(String::from).into_iter().chain(others) {
        let shown = invalid.clone();
        let fake =
            FakeServer::start(move |request| Some(ok(if request == "GET /api" { CORE } else { &invalid })));
        let report = diff(&fake.connect(), &config_maps(1), &DiffOptions::default()).expect("a response");
        assert_eq!((report.objects.len(), report.problems.len()), (0, 1), "{shown}");
        assert!(report.problems[0].message().contains("invalid response"), "{shown}");
    }
    let same = object_named("ConfigMap", "c0");
    let fake = FakeServer::start(move |request| Some(ok(if request == "GET /api" { CORE } else { &same })));
    let report = diff(&fake.connect(), &config_maps(1), &DiffOptions::default()).expect("a response");
    assert_eq!((report.objects.len(), report.problems.len()), (1, 0));
}

#[test]
fn invalid_schemas_and_discovery_are_errors() {
    for invalid in INVALID_RESPONSES {
        let fake = FakeServer::start(move |_| Some(ok(invalid)));
        let error = run(&fake.connect(), &config_maps(1), &ServerSideApplyOptions::default()).0;
        assert_eq!(error.expect_err(invalid).code(), Code::Remote, "{invalid}");
        let error =
            LiveSchema::new(fake.options.clone(), None).lookup(&Gvk::from_manifest("ex.io/v1", "Foo"));
        assert_eq!(error.expect_err(invalid).code(), Code::Remote, "{invalid}");
    }
    let fake = FakeServer::start(|_| Some(ok("{}")));
    let error = LiveSchema::new(fake.options.clone(), None).lookup(&Gvk::from_manifest("ex.io/v1", "Foo"));
    let message = error.expect_err("no index").message().to_string();
    assert!(message.contains("missing field"), "{message}");
}

#[test]
fn endless_response_is_an_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        let _ = client.read(&mut [0; 4096]).expect("a request");
        client.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n").expect("written");
        let chunk = vec![b' '; 1 << 20];
        while client.write_all(&chunk).is_ok() {}
    });
    let fake = FakeServer::start(|_| None);
    let options = ConnectOptions { server: Some(format!("http://{address}")), ..fake.options.clone() };
    let cluster = Cluster::connect(&options).expect("no request is sent yet");
    let error = run(&cluster, &config_maps(1), &ServerSideApplyOptions::default()).0.expect_err("endless");
    assert_eq!(error.code(), Code::LimitExceeded);
    assert!(error.message().contains("exceeds the limit of 268435456 bytes"), "{error}");
}

#[test]
fn retries_end_if_the_server_stays_down() {
    let mut fake = FakeServer::start(|_| Some((503, "", "down for the day".into())));
    fake.options.request_timeout = Some(Duration::from_secs(1));
    let error =
        run(&fake.connect(), &config_maps(1), &ServerSideApplyOptions::default()).0.expect_err("refused");
    assert_eq!(error.message(), "down for the day (HTTP 503)");
    assert_eq!(
        fake.take_requests().len(),
        4,
        "the first, after 100, 200 and 400 ms; another 800 ms would exceed the timeout"
    );
    let fake = FakeServer::start(|_| Some((501, "", "never".into())));
    let error = run(&fake.connect(), &config_maps(1), &ServerSideApplyOptions::default()).0;
    assert_eq!(error.expect_err("refused").message(), "never (HTTP 501)");
    assert_eq!(fake.take_requests().len(), 1, "a permanent error is not retried");
}

#[test]
fn late_response_is_a_timeout() {
    let mut fake = FakeServer::start(|_| {
        std::thread::sleep(Duration::from_secs(2));
        Some(ok(CORE))
    });
    fake.options.request_timeout = Some(Duration::from_millis(50));
    let error =
        run(&fake.connect(), &config_maps(1), &ServerSideApplyOptions::default()).0.expect_err("too late");
    assert!(error.message().contains("did not respond within 50ms"), "{error}");
}

#[test]
fn dropped_request_is_retried_without_stopping_others() {
    let drops = AtomicUsize::new(2);
    let fake = FakeServer::start(move |request| {
        let is_dropped = request.contains("/c1?")
            && drops.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        (!is_dropped).then(|| if request == "GET /api" { ok(CORE) } else { object(request) })
    });
    let (summary, events) = run(&fake.connect(), &config_maps(3), &one_at_a_time());
    assert!(summary.expect("a response").is_success(), "{events:?}");
    assert_eq!(fake.take_requests().iter().filter(|request| request.contains("/c1?")).count(), 3);

    let mut fake = FakeServer::start(|request| {
        if request.contains("/c1?") {
            std::thread::sleep(Duration::from_secs(2));
        }
        Some(if request == "GET /api" { ok(CORE) } else { object(request) })
    });
    fake.options.request_timeout = Some(Duration::from_millis(300));
    let (summary, events) = run(&fake.connect(), &config_maps(5), &one_at_a_time());
    let summary = summary.expect("a response");
    assert_eq!((summary.applied, summary.failures.len(), summary.skipped.len()), (4, 1, 0), "{events:?}");
    assert!(
        events[1].contains("configmap/c1: the cluster at ") && events[1].contains("within 300ms"),
        "{events:?}"
    );
}

#[test]
fn unreachable_server_ends_the_run() {
    let is_down = AtomicBool::new(false);
    let mut fake = FakeServer::start(move |request| {
        if is_down.fetch_or(request.starts_with("PATCH "), Ordering::SeqCst) {
            return None;
        }
        Some(if request == "GET /api" { ok(CORE) } else { object(request) })
    });
    fake.options.request_timeout = Some(Duration::from_millis(50));
    let cluster = fake.connect();
    let (summary, events) = run(&cluster, &config_maps(50), &one_at_a_time());
    let summary = summary.expect("the run started");
    assert_eq!((summary.applied, summary.failures.len(), summary.skipped.len()), (1, 10, 39));
    assert!(events[1].contains("configmap/c1") && events[1].contains("cannot be reached"), "{events:?}");
    assert_eq!(summary.skipped[0].to_string(), "configmap/c11");

    let report = diff(&fake.connect(), &config_maps(2), &DiffOptions::default());
    assert_eq!(report.expect_err("still down").code(), Code::Remote);
}

const CRD: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.ex.io}
spec: {group: ex.io, scope: Cluster, names: {kind: Foo, plural: foos}, versions: [{name: v1}]}
---
apiVersion: ex.io/v1
kind: Foo
metadata: {name: f}
";

fn crd_server(condition: &'static str, not_yet: usize) -> FakeServer {
    let not_yet = AtomicUsize::new(not_yet);
    let count_down = move || not_yet.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
    FakeServer::start(move |request| -> Option<Reply> {
        let crd = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.ex.io";
        Some(match request {
            "GET /apis" => ok(NO_GROUPS),
            "GET /apis/apiextensions.k8s.io/v1" => {
                ok(r#"{"groupVersion":"apiextensions.k8s.io/v1","resources":[
                {"name":"customresourcedefinitions","kind":"CustomResourceDefinition","namespaced":false}]}"#)
            }
            "GET /apis/ex.io/v1" => not_found(),
            get if get == format!("GET {crd}") => ok(condition),
            patch if patch.starts_with("PATCH /apis/ex.io/v1/foos/f?") && count_down().is_ok() => not_found(),
            other => object(other),
        })
    })
}

#[test]
fn apply_waits_until_an_established_kind_is_served() {
    let established = r#"{"metadata":{"name":"foos.ex.io"},"status":{"conditions":[{"type":"Established","status":"True"}]}}"#;
    let fake = crd_server(established, 2);
    let (summary, events) = run(&fake.connect(), &resources(CRD), &ServerSideApplyOptions::default());
    assert!(summary.expect("a response").is_success(), "{events:?}");
    let patches =
        fake.take_requests().iter().filter(|r| r.starts_with("PATCH /apis/ex.io/v1/foos/f?")).count();
    assert_eq!(patches, 3);
}

#[test]
fn custom_resources_are_not_sent_without_their_crd() {
    let taken = r#"{"metadata":{"name":"foos.ex.io"},"status":{"conditions":[{"type":"NamesAccepted","status":"False","message":"taken"}]}}"#;
    let fake = crd_server(taken, 0);
    let (summary, events) = run(&fake.connect(), &resources(CRD), &ServerSideApplyOptions::default());
    let summary = summary.expect("a response");
    assert_eq!((summary.applied, summary.failures.len()), (1, 2), "{events:?}");
    assert!(events[1].contains("the server does not accept the names of the CRD: taken"), "{events:?}");
    assert!(events[2].contains("not sent: its CustomResourceDefinition foos.ex.io"), "{events:?}");
    assert!(fake.take_requests().iter().all(|request| !request.starts_with("PATCH /apis/ex.io/")));
}

#[test]
fn waiting_for_a_crd_times_out() {
    let fake = crd_server(r#"{"metadata":{"name":"foos.ex.io"}}"#, 0);
    let options = ServerSideApplyOptions {
        crd_timeout: Duration::from_millis(120),
        ..ServerSideApplyOptions::default()
    };
    let (summary, events) = run(&fake.connect(), &resources(CRD), &options);
    assert_eq!(summary.expect("a response").failures.len(), 2);
    assert!(events[1].contains("the CRD was not established within 120ms"), "{events:?}");
}

#[test]
fn servers_without_openapi_v3_have_one_document_for_all_kinds() {
    let fake = FakeServer::start(|request| {
        Some(match request {
            "GET /openapi/v2" => ok(r#"{"definitions":{"io.ex.Foo":{"type":"object",
                "x-kubernetes-group-version-kind":[{"group":"ex.io","version":"v1","kind":"Foo"}],
                "properties":{"spec":{"type":"object"}}}}}"#),
            _ => not_found(),
        })
    });
    let folder = tempfile::tempdir().expect("a folder");
    let cache = SchemaCache::open(Some(folder.path().into())).expect("given");
    let live = LiveSchema::new(fake.options.clone(), Some(cache.clone()));
    let foo = Gvk::from_manifest("ex.io/v1", "Foo");
    let graph = live.lookup(&foo).expect("a response").expect("known");
    assert!(graph.kind(&foo).expect("known").has_field("spec"));
    assert!(live.lookup(&Gvk::from_manifest("ex.io/v1", "Bar")).expect("a response").is_none());
    assert_eq!(fake.take_requests()[..2], ["GET /openapi/v3", "GET /openapi/v2"]);
    let server = fake.options.server_id().expect("given");
    assert_eq!(cache.index(&server).map(|index| index.hashes.len()), Some(1));
}

#[test]
fn methods_may_be_called_within_another_runtime() {
    let fake =
        FakeServer::start(|request| Some(if request == "GET /api" { ok(CORE) } else { object(request) }));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let cluster = Arc::new(fake.connect());
    let summary = runtime.block_on(async move {
        let (summary, _) = run(&cluster, &config_maps(3), &ServerSideApplyOptions::default());
        drop(cluster);
        summary
    });
    assert_eq!(summary.expect("a response").applied, 3);
}

const INDEX: &str =
    r#"{"paths":{"apis/ex.io/v1":{"serverRelativeURL":"/openapi/v3/apis/ex.io/v1?hash=OLD"}}}"#;

fn foo_with(field: &str) -> String {
    format!(
        r#"{{"components":{{"schemas":{{"io.ex.Foo":{{"type":"object","properties":{{"{field}":{{"type":"object"}}}},
        "x-kubernetes-group-version-kind":[{{"group":"ex.io","version":"v1","kind":"Foo"}}]}}}}}}}}"#
    )
}

#[test]
fn redirect_to_a_newer_document_is_followed() {
    let location = "location: /openapi/v3/apis/ex.io/v1?hash=NEW\r\n";
    let fake = FakeServer::start(move |request| {
        Some(match request {
            "GET /openapi/v3" => ok(INDEX),
            "GET /openapi/v3/apis/ex.io/v1?hash=OLD" => (301, location, String::new()),
            "GET /openapi/v3/apis/ex.io/v1?hash=NEW" => ok(foo_with("new")),
            _ => not_found(),
        })
    });
    let folder = tempfile::tempdir().expect("a folder");
    let cache = SchemaCache::open(Some(folder.path().into())).expect("given");
    let foo = Gvk::from_manifest("ex.io/v1", "Foo");
    let live = LiveSchema::new(fake.options.clone(), Some(cache.clone()));
    let graph = live.lookup(&foo).expect("a response").expect("known");
    assert!(graph.kind(&foo).expect("known").has_field("new"));
    let server = fake.options.server_id().expect("given");
    assert!(
        ["OLD", "NEW"].iter().all(|hash| cache.get("ex.io/v1", hash).is_none()),
        "the hash is not verified"
    );
    assert!(cache.get_for_server(&server, "ex.io/v1", "NEW").is_some());
    let record = cache.index(&server).expect("kept");
    assert_eq!(record.document("ex.io/v1"), Some(("ex.io/v1", "NEW")));
    assert_eq!(
        cache.list().iter().map(|entry| entry.source.as_str()).filter(|what| *what == "ex.io/v1").count(),
        1
    );
}

/// Aggregated API servers may use any hashes, so they cannot be verified.
#[test]
fn documents_with_unverified_hashes_are_cached_for_offline_use() {
    let fake = FakeServer::start(|request| {
        Some(match request {
            "GET /openapi/v3" => ok(INDEX
                .replace("paths\":{", "paths\":{\"apis/ex.org/v1\":{\"serverRelativeURL\":\"/x?hash=1\"},")),
            "GET /openapi/v3/apis/ex.io/v1?hash=OLD" => ok(foo_with("spec")),
            "GET /x?hash=1" => ok(foo_with("other").replace("ex.io", "ex.org")),
            _ => not_found(),
        })
    });
    let folder = tempfile::tempdir().expect("a folder");
    let cache = SchemaCache::open(Some(folder.path().into())).expect("given");
    let foos = ["ex.io/v1", "ex.org/v1"].map(|version| Gvk::from_manifest(version, "Foo"));
    let mut requests = Vec::new();
    // Each run looks up some of the kinds: all, none, or one.
    for kinds in [&foos[..], &[], &foos[..1]] {
        let live = LiveSchema::new(fake.options.clone(), Some(cache.clone()));
        live.group_versions().expect("a response");
        for kind in kinds {
            assert!(live.lookup(kind).expect("a response").is_some());
        }
        requests.push(fake.take_requests().iter().filter(|request| request.contains("hash=")).count());
        let offline = CacheSource::new(cache.clone(), fake.options.server_id().ok());
        for kind in &foos {
            assert!(
                offline.lookup(kind).expect("a response").is_some(),
                "{kind} is known offline: {requests:?}"
            );
        }
    }
    assert_eq!(requests, [2, 0, 0], "each document is fetched once");
}

#[test]
fn redirects_to_other_servers_are_rejected() {
    for location in ["location: https://evil.example/x\r\n", "location: //evil.example/x\r\n"] {
        let fake = FakeServer::start(move |request| {
            Some(if request == "GET /openapi/v3" { ok(INDEX) } else { (301, location, "moved".into()) })
        });
        let live = LiveSchema::new(fake.options.clone(), None);
        let error = live.lookup(&Gvk::from_manifest("ex.io/v1", "Foo")).expect_err("refused");
        assert_eq!((error.code(), error.message()), (Code::Remote, "moved (HTTP 301)"));
        assert_eq!(fake.take_requests().len(), 2);
    }
    let endless = "location: /openapi/v3/apis/ex.io/v1?hash=OLD\r\n";
    let fake = FakeServer::start(move |request| {
        Some(if request == "GET /openapi/v3" { ok(INDEX) } else { (301, endless, "moved".into()) })
    });
    let live = LiveSchema::new(fake.options.clone(), None);
    assert!(live.lookup(&Gvk::from_manifest("ex.io/v1", "Foo")).is_err());
    assert_eq!(fake.take_requests().len(), 12, "an index, a document, ten redirects");
}

#[test]
fn each_run_fetches_the_current_documents() {
    let changed = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&changed);
    let fake = FakeServer::start(move |request| {
        let hash = if seen.load(Ordering::SeqCst) == 0 { "A" } else { "B" };
        Some(match request {
            "GET /openapi/v3" => ok(INDEX.replace("OLD", hash)),
            document if document.starts_with("GET /openapi/") => {
                ok(foo_with(if document.ends_with('A') { "a" } else { "b" }))
            }
            _ => not_found(),
        })
    });
    let folder = tempfile::tempdir().expect("a folder");
    let foo = Gvk::from_manifest("ex.io/v1", "Foo");
    let has = |field| {
        let cache = SchemaCache::open(Some(folder.path().into()));
        let live = LiveSchema::new(fake.options.clone(), cache);
        let graph = live.lookup(&foo).expect("a response").expect("known");
        graph.kind(&foo).expect("known").has_field(field)
    };
    assert!(has("a") && has("a"));
    let documents = fake.take_requests().iter().filter(|request| request.contains("?hash=")).count();
    assert_eq!(documents, 1, "the document is fetched once");
    changed.store(1, Ordering::SeqCst);
    assert!(has("b"));
}

/// Returns a ConfigMap that `kubectl apply` applied client-side. With `is_migrated`, it was already migrated.
fn applied_client_side(is_migrated: bool) -> Reply {
    let (manager, operation) = if is_migrated { ("kubectl-smp", "Apply") } else { ("kubectl", "Update") };
    ok(format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"c0","uid":"u","resourceVersion":"7","managedFields":[
        {{"manager":"{manager}","operation":"{operation}","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{{"f:metadata":{{"f:annotations":
        {{"f:kubectl.kubernetes.io/last-applied-configuration":{{}}}}}}}}}}]}}}}"#
    ))
}

#[test]
fn migration_with_a_lost_response_is_completed() {
    let migrated = AtomicUsize::new(0);
    let fake = FakeServer::start(move |request| {
        Some(match request {
            "GET /api" => ok(CORE),
            // The first request succeeded, but its response was lost.
            patch if patch.starts_with("PATCH") && !patch.contains("force") => {
                migrated.fetch_add(1, Ordering::SeqCst);
                (409, "", r#"{"message":"changed meanwhile"}"#.into())
            }
            _ => applied_client_side(migrated.load(Ordering::SeqCst) > 0),
        })
    });
    let (summary, events) = run(&fake.connect(), &config_maps(1), &one_at_a_time());
    assert!(summary.expect("a response").is_success(), "{events:?}");
    let applied = fake.take_requests().iter().filter(|request| request.contains("force=")).count();
    assert_eq!(applied, 2, "the second apply removes fields of client-side apply");
}

#[test]
fn failed_migration_is_reported() {
    for response in [(403, "", r#"{"message":"no"}"#.to_string()), (409, "", "{}".to_string())] {
        let fake = FakeServer::start(move |request| {
            Some(match request {
                "GET /api" => ok(CORE),
                patch if patch.starts_with("PATCH") && !patch.contains("force") => response.clone(),
                _ => applied_client_side(false),
            })
        });
        let summary = run(&fake.connect(), &config_maps(1), &one_at_a_time()).0.expect("a response");
        let problem = &summary.failures[0].problem;
        let events = format!("{problem} {:?}", problem.notes());
        assert!(events.contains("keeps fields of client-side apply"), "{events}");
    }
}

#[test]
fn object_that_cannot_be_read_does_not_count_as_gone() {
    let reads = AtomicUsize::new(0);
    let immutable = r#"{"message":"no","details":{"causes":[{"reason":"FieldValueInvalid","field":"data",
        "message":"Invalid value: 1: field is immutable"}]}}"#;
    let fake = FakeServer::start(move |request| {
        let is_read = request.starts_with("GET /api/v1");
        Some(match request {
            "GET /api" => ok(CORE),
            _ if is_read && reads.fetch_add(1, Ordering::SeqCst) == 0 => applied_client_side(true),
            _ if is_read => (500, "", r#"{"message":"broken"}"#.into()),
            patch if patch.starts_with("PATCH") => (422, "", immutable.into()),
            _ => ok("{}"),
        })
    });
    let options = ServerSideApplyOptions {
        replace_immutable: vec!["configmaps".into()],
        delete_timeout: Duration::from_millis(500),
        ..one_at_a_time()
    };
    let summary = run(&fake.connect(), &config_maps(1), &options).0.expect("a response");
    let problem = &summary.failures[0].problem;
    assert!(problem.message().contains("the object still exists after 500ms"), "{problem}");
    assert_eq!(problem.notes(), ["the object was deleted to be recreated, but could not be created"]);
    let sent = fake.take_requests().iter().filter(|request| request.starts_with("PATCH")).count();
    assert_eq!(sent, 1, "nothing is applied while the object may still exist");
}

/// Returns a document of `ex.io/v1` in which the kind has a list of the given type.
fn document(list_type: &str) -> String {
    format!(
        r#"{{"components":{{"schemas":{{"io.ex.Foo":{{"type":"object",
        "x-kubernetes-group-version-kind":[{{"group":"ex.io","version":"v1","kind":"Foo"}}],
        "properties":{{"spec":{{"type":"array","x-kubernetes-list-type":"{list_type}",
        "items":{{"type":"string"}}}}}}}}}}}}}}"#
    )
}

/// Starts a server that serves Foo, whose CRD cannot be read, and publishes `later` some time after the first request.
fn late_server(first: &'static str, later: &'static str, after: Duration) -> FakeServer {
    let start = std::sync::OnceLock::new();
    FakeServer::start(move |request| {
        let is_late = start.get_or_init(std::time::Instant::now).elapsed() >= after;
        let now = if is_late { later } else { first };
        Some(match request {
            "GET /openapi/v3" => ok(format!(
                r#"{{"paths":{{"apis/ex.io/v1":{{"serverRelativeURL":"/openapi/v3/apis/ex.io/v1?hash={now}"}}}}}}"#
            )),
            "GET /apis" => ok(NO_GROUPS),
            "GET /apis/ex.io/v1" => ok(
                r#"{"groupVersion":"ex.io/v1","resources":[{"name":"foos","kind":"Foo","namespaced":true}]}"#,
            ),
            get if get.starts_with("GET /openapi/v3/apis/ex.io/v1") && now == "none" => {
                ok(r#"{"components":{"schemas":{}}}"#)
            }
            get if get.starts_with("GET /openapi/v3/apis/ex.io/v1") => ok(document(now)),
            _ => (403, "", r#"{"kind":"Status","reason":"Forbidden","message":"no","code":403}"#.into()),
        })
    })
}

#[test]
fn schema_published_late_is_used_without_access_to_crds() {
    let foo = Gvk::from_manifest("ex.io/v1", "Foo");
    let list_type = |live: &LiveSchema| {
        let graph = live.lookup(&foo).expect("a response").expect("known");
        graph.kind(&foo).expect("known").field("spec").list_type()
    };
    for first in ["atomic", "none"] {
        let fake = late_server(first, "set", Duration::from_secs(1));
        let live = LiveSchema::new(fake.options.clone(), None).waiting_for_changes();
        assert_eq!(list_type(&live), Some(smp_merge::schema::ListType::Set), "{first}");
        let requests = fake.take_requests().iter().filter(|request| *request == "GET /openapi/v3").count();
        assert_eq!(list_type(&live), Some(smp_merge::schema::ListType::Set), "{first}");
        assert_eq!((requests, fake.take_requests().len()), (2, 0), "the wait happens once");
    }
    let fake = late_server("atomic", "set", Duration::from_secs(60));
    let live = LiveSchema::new(fake.options.clone(), None);
    assert_eq!(list_type(&live), Some(smp_merge::schema::ListType::Atomic), "a build does not wait");
}

#[test]
fn served_kind_without_a_schema_is_rejected() {
    let foo = Gvk::from_manifest("ex.io/v1", "Foo");
    let fake = late_server("none", "none", Duration::ZERO);
    let live = LiveSchema::new(fake.options.clone(), None).waiting_for_changes();
    let problem = live.lookup(&foo).expect_err("it has no schema");
    assert_eq!(problem.code(), Code::NoSchema);
    assert!(problem.message().contains("has no schema for it"), "{problem}");
    let bar = Gvk::from_manifest("ex.io/v1", "Bar");
    assert!(live.lookup(&bar).expect("a response").is_none(), "it is not served");
}

#[test]
fn not_found_page_of_a_proxy_leaves_the_object_unknown() {
    let page = || (404, "", "<html>not found</html>".to_string());
    let fake = FakeServer::start(move |request| {
        Some(match request {
            "GET /api" => ok(CORE),
            get if get.starts_with("GET ") => page(),
            other => object(other),
        })
    });
    let (_, events) = run(&fake.connect(), &config_maps(1), &ServerSideApplyOptions::default());
    assert_eq!(events, ["configmap/c0 serverside-applied"], "the previous state is unknown");
    let report = diff(&fake.connect(), &config_maps(1), &DiffOptions::default()).expect("a response");
    assert_eq!((report.objects.len(), report.problems.len()), (0, 1));
    assert!(report.problems[0].message().contains("HTTP 404"), "{:?}", report.problems);
}

#[test]
fn last_applied_annotation_is_sent_only_by_kubectl() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c0, annotations: \
                {kubectl.kubernetes.io/last-applied-configuration: '{}'}}\n";
    let objects = resources(text);
    let mut fake =
        FakeServer::start(|request| Some(if request == "GET /api" { ok(CORE) } else { object(request) }));
    fake.options.namespace = Some("a".into());
    for (manager, is_sent) in [("kubectl-smp", false), ("kubectl", true)] {
        let planned = super::manifests_without_server(&objects, &fake.options, manager).expect("planned");
        assert_eq!(planned[0].get_path(&["metadata", "annotations"]).is_some(), is_sent, "{manager}");
        let options = ServerSideApplyOptions { field_manager: manager.into(), ..Default::default() };
        let (_, events) = run(&fake.connect(), &objects, &options);
        let is_warned = events.iter().any(|line| line.starts_with("warning configmap/c0: the annotation"));
        assert_eq!(is_warned, !is_sent, "{events:?}");
        let options = DiffOptions { apply: options, ..Default::default() };
        let report = diff(&fake.connect(), &objects, &options).expect("a response");
        assert_eq!(report.notes.is_empty(), is_sent, "{:?}", report.notes);
        assert!(report.warnings.is_empty(), "no warning of the server: {:?}", report.warnings);
    }
}

#[test]
fn names_that_are_not_strings_are_errors_before_anything_is_sent() {
    for (field, is_string) in
        [("name: y", false), ("name: 1", false), ("name: a, namespace: true", false), ("name: \"y\"", true)]
    {
        let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{{field}}}\n");
        let sources = SourceMap::default();
        let id = sources.add("test.yaml", text);
        let nodes = parse_documents(&sources, id, ParseOptions::kubectl()).expect("YAML");
        let resource = |node| Resource::new(node, &Schema::empty()).expect("a resource");
        let objects: Vec<_> = nodes.into_iter().map(resource).chain(config_maps(1)).collect();
        let fake =
            FakeServer::start(|request| Some(if request == "GET /api" { ok(CORE) } else { object(request) }));
        let (summary, _) = run(&fake.connect(), &objects, &ServerSideApplyOptions::default());
        assert_eq!(summary.is_ok(), is_string, "{field}");
        assert_eq!(
            fake.take_requests().iter().any(|request| request.starts_with("PATCH")),
            is_string,
            "{field}"
        );
    }
}

#[test]
fn truncated_response_is_retried() {
    for truncations in [1, usize::MAX] {
        let left = AtomicUsize::new(truncations);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        std::thread::spawn(move || {
            for mut client in listener.incoming().map_while(std::result::Result::ok) {
                let mut bytes = vec![0; 1 << 16];
                let length = client.read(&mut bytes).unwrap_or_default();
                let request = String::from_utf8_lossy(&bytes[..length]).to_string();
                let line =
                    request.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_string();
                let is_truncated = line.starts_with("PATCH")
                    && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
                let body = if line == "GET /api" { CORE.to_string() } else { object(&line).2 };
                let body = if is_truncated { &body[..body.len() / 2] } else { &body };
                let _ = client
                    .write_all(format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}").as_bytes());
            }
        });
        let fake = FakeServer::start(|_| None);
        let timeout = Some(Duration::from_secs(1));
        let options = ConnectOptions { server: Some(url), request_timeout: timeout, ..fake.options.clone() };
        let cluster = Cluster::connect(&options).expect("no request is sent yet");
        let (summary, events) = run(&cluster, &config_maps(1), &ServerSideApplyOptions::default());
        let summary = summary.expect("a response");
        assert_eq!(summary.is_success(), truncations == 1, "{events:?}");
        let notes = summary.failures.first().map(|failure| failure.problem.notes().join("\n"));
        assert!(notes.is_none_or(|notes| notes.contains("may have been applied")), "{events:?}");
    }
}

#[test]
fn group_of_an_unavailable_server_is_not_removed() {
    const STALE: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"e.com"},"versions":[
        {"version":"v1","freshness":"Stale","resources":[]}]}]}"#;
    const GROUP: &str =
        r#"{"kind":"APIGroup","name":"e.com","versions":[{"groupVersion":"e.com/v1","version":"v1"}]}"#;
    let served = r#"{"kind":"APIResourceList","groupVersion":"e.com/v1","resources":[]}"#;
    for (version, is_complete, removed) in
        [((503, "", "down".to_string()), false, None), (ok(served), true, Some(true))]
    {
        let fake = FakeServer::start(move |request| {
            Some(match request {
                "GET /api" => ok(CORE),
                "GET /apis" => ok(STALE),
                "GET /apis/e.com" => ok(GROUP),
                "GET /apis/e.com/v1" => version.clone(),
                _ => not_found(),
            })
        });
        let mut options = fake.options.clone();
        options.request_timeout = Some(Duration::from_secs(2));
        let cluster = Cluster::connect(&options).expect("no request is sent yet");
        cluster.resources().expect("the other groups are listed");
        assert_eq!(cluster.discovery_failure().is_none(), is_complete, "{:?}", cluster.discovery_failure());
        let is_removed = cluster.block_on(cluster.is_kind_unserved("e.com", "Foo"));
        assert_eq!(is_removed.ok(), removed);
    }
}

#[test]
fn not_found_page_of_a_proxy_does_not_count_as_deleted() {
    let none = r#"{"kind":"Status","apiVersion":"v1","reason":"NotFound","message":"none","code":404}"#;
    for (body, absent, failed) in [("404 page not found", 0, 1), (none, 1, 0)] {
        let fake = FakeServer::start(move |request| {
            Some(match request {
                "GET /api" => ok(CORE),
                "GET /apis" => ok(NO_GROUPS),
                _ => (404, "", body.to_string()),
            })
        });
        let options = DeleteOptions { missing: MissingObjects::Ignore, ..DeleteOptions::default() };
        let summary = delete(&fake.connect(), &config_maps(1), &options, &mut |_| {}).expect("a summary");
        assert_eq!((summary.absent.len(), summary.failures.len()), (absent, failed), "{body}");
    }
}

#[test]
fn deploy_waits_only_if_all_objects_were_applied() {
    for is_applied in [true, false] {
        let fake = FakeServer::start(move |request| {
            Some(match request {
                "GET /api" => ok(CORE),
                patch if patch.starts_with("PATCH") && !is_applied => {
                    (403, "", r#"{"message":"forbidden"}"#.into())
                }
                list if list.contains("fieldSelector=") => {
                    ok(r#"{"metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"c0"}}]}"#)
                }
                other => object(other),
            })
        });
        let options = DeployOptions { wait: Some(WaitOptions::default()), ..DeployOptions::default() };
        let summary = deploy(&fake.connect(), &mut config_maps(1), &options, &mut |_| {}).expect("answers");
        assert_eq!((summary.is_success(), summary.waited.is_some()), (is_applied, is_applied));
        assert_eq!(fake.take_requests().iter().any(|request| request.contains("fieldSelector=")), is_applied);
    }
}
