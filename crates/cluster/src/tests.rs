//! What real servers do only now and then: old discovery, busy servers, lost connections.

use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::fake::{Fake, Reply, not_found, object, ok};
use super::{
    Absent, ApplySummary, Cluster, ConnectOptions, DeleteOptions, DeployOptions, DiffOptions, Event,
    LiveSchema, ServerSideApplyOptions, WaitOptions, apply, delete, deploy, diff,
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
    nodes.into_iter().map(|node| Resource::new(node, &Schema::none()).expect("a resource")).collect()
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
    let mut told = Vec::new();
    let summary = apply(cluster, resources, options, &mut |event| {
        told.push(match event {
            Event::Applied(applied) => format!("{} {}", applied.object, applied.change.word()),
            Event::Failed(failure) => format!("failed {}: {}", failure.object, failure.problem.message()),
            Event::Warning(text) | Event::Remark(text) => format!("warning {text}"),
        });
    });
    (summary, told)
}

fn one_at_a_time() -> ServerSideApplyOptions {
    ServerSideApplyOptions { parallel: 1, ..ServerSideApplyOptions::default() }
}

#[test]
fn servers_without_summaries_are_asked_for_versions() {
    let fake = Fake::start(|request| {
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
    assert!(summary.expect("asked").is_success());
    let want = "PATCH /apis/apps/v1/namespaces/default/deployments/d?fieldManager=kubectl-smp&force=false\
                &fieldValidation=Strict";
    let before = "GET /apis/apps/v1/namespaces/default/deployments/d";
    assert_eq!(fake.take(), ["GET /apis", "GET /apis/apps/v1", before, want]);

    let old = resources("apiVersion: apps/v1beta1\nkind: Deployment\nmetadata: {name: d}\n");
    let error = run(&cluster, &old, &ServerSideApplyOptions::default()).0.expect_err("no such version");
    assert_eq!(error.code(), Code::NoMatch);
    assert_eq!(error.help_text(), Some("it has Deployment in apps/v1"));
    assert_eq!(fake.take(), ["GET /apis/apps/v1beta1"], "what is known is not asked for again");
}

#[test]
fn busy_servers_are_asked_again() {
    let refusals = AtomicUsize::new(3);
    let fake = Fake::start(move |request| {
        let busy = refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        Some(match request {
            _ if busy => (429, "retry-after: 0\r\n", "{}".into()),
            "GET /api" => ok(CORE),
            other => object(other),
        })
    });
    let (summary, told) = run(&fake.connect(), &config_maps(1), &ServerSideApplyOptions::default());
    assert!(summary.expect("asked").is_success());
    assert_eq!(told, ["configmap/c0 configured"]);
    assert_eq!(fake.take().len(), 6, "three refusals, the kinds, what is there, the object");
}

/// What no API server answers when it is asked for an object.
const STRANGE: [&str; 7] =
    ["null", "", "[]", "[null]", "\"c0\"", "<html>OK</html>", "{\"kind\": \"ConfigMap\", \"metadata\": {"];

#[test]
fn what_is_no_object_was_not_applied() {
    for strange in STRANGE {
        let fake = Fake::start(move |request| Some(ok(if request == "GET /api" { CORE } else { strange })));
        let (summary, told) = run(&fake.connect(), &config_maps(1), &ServerSideApplyOptions::default());
        let summary = summary.expect("the kinds are known");
        assert_eq!((summary.applied, summary.failures.len()), (0, 1), "{strange}: {told:?}");
        assert!(told[0].contains("is not understood"), "{strange}: {told:?}");
    }
}

#[test]
fn what_is_another_object_has_not_zero_differences() {
    let object_named =
        |kind: &str, name: &str| format!(r#"{{"kind":"{kind}","metadata":{{"name":"{name}"}}}}"#);
    let others = [object_named("Secret", "c0"), object_named("ConfigMap", "c1"), "{}".to_string()];
    for strange in STRANGE.map(String::from).into_iter().chain(others) {
        let shown = strange.clone();
        let fake = Fake::start(move |request| Some(ok(if request == "GET /api" { CORE } else { &strange })));
        let report = diff(&fake.connect(), &config_maps(1), &DiffOptions::default()).expect("asked");
        assert_eq!((report.objects.len(), report.problems.len()), (0, 1), "{shown}");
        assert!(report.problems[0].message().contains("is not understood"), "{shown}");
    }
    let same = object_named("ConfigMap", "c0");
    let fake = Fake::start(move |request| Some(ok(if request == "GET /api" { CORE } else { &same })));
    let report = diff(&fake.connect(), &config_maps(1), &DiffOptions::default()).expect("asked");
    assert_eq!((report.objects.len(), report.problems.len()), (1, 0));
}

#[test]
fn strange_schemas_and_kinds_are_errors() {
    for strange in STRANGE {
        let fake = Fake::start(move |_| Some(ok(strange)));
        let error = run(&fake.connect(), &config_maps(1), &ServerSideApplyOptions::default()).0;
        assert_eq!(error.expect_err(strange).code(), Code::Remote, "{strange}");
        let error =
            LiveSchema::new(fake.options.clone(), None).lookup(&Gvk::from_manifest("ex.io/v1", "Foo"));
        assert_eq!(error.expect_err(strange).code(), Code::Remote, "{strange}");
    }
    let fake = Fake::start(|_| Some(ok("{}")));
    let error = LiveSchema::new(fake.options.clone(), None).lookup(&Gvk::from_manifest("ex.io/v1", "Foo"));
    let message = error.expect_err("no index").message().to_string();
    assert!(message.contains("missing field"), "{message}");
}

#[test]
fn an_answer_without_end_is_an_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        let _ = client.read(&mut [0; 4096]).expect("a request");
        client.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n").expect("written");
        let chunk = vec![b' '; 1 << 20];
        while client.write_all(&chunk).is_ok() {}
    });
    let fake = Fake::start(|_| None);
    let options = ConnectOptions { server: Some(format!("http://{address}")), ..fake.options.clone() };
    let cluster = Cluster::connect(&options).expect("nothing is asked yet");
    let error = run(&cluster, &config_maps(1), &ServerSideApplyOptions::default()).0.expect_err("endless");
    assert_eq!(error.code(), Code::LimitExceeded);
    assert!(error.message().contains("more than 268435456 bytes"), "{error}");
}

#[test]
fn a_server_that_stays_down_is_given_up() {
    let mut fake = Fake::start(|_| Some((503, "", "down for the day".into())));
    fake.options.request_timeout = Some(Duration::from_secs(1));
    let error =
        run(&fake.connect(), &config_maps(1), &ServerSideApplyOptions::default()).0.expect_err("refused");
    assert_eq!(error.message(), "down for the day (HTTP 503)");
    assert_eq!(fake.take().len(), 4, "at once, after 100, 200 and 400 ms; 800 more would be too late");
    let fake = Fake::start(|_| Some((501, "", "never".into())));
    let error = run(&fake.connect(), &config_maps(1), &ServerSideApplyOptions::default()).0;
    assert_eq!(error.expect_err("refused").message(), "never (HTTP 501)");
    assert_eq!(fake.take().len(), 1, "that does not pass");
}

#[test]
fn an_answer_may_come_too_late() {
    let mut fake = Fake::start(|_| {
        std::thread::sleep(Duration::from_secs(2));
        Some(ok(CORE))
    });
    fake.options.request_timeout = Some(Duration::from_millis(50));
    let error =
        run(&fake.connect(), &config_maps(1), &ServerSideApplyOptions::default()).0.expect_err("too late");
    assert!(error.message().contains("did not answer within 50ms"), "{error}");
}

#[test]
fn a_dropped_request_is_sent_again_and_stops_no_other() {
    let drops = AtomicUsize::new(2);
    let fake = Fake::start(move |request| {
        let is_dropped = request.contains("/c1?")
            && drops.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
        (!is_dropped).then(|| if request == "GET /api" { ok(CORE) } else { object(request) })
    });
    let (summary, told) = run(&fake.connect(), &config_maps(3), &one_at_a_time());
    assert!(summary.expect("asked").is_success(), "{told:?}");
    assert_eq!(fake.take().iter().filter(|request| request.contains("/c1?")).count(), 3);

    let mut fake = Fake::start(|request| {
        if request.contains("/c1?") {
            std::thread::sleep(Duration::from_secs(2));
        }
        Some(if request == "GET /api" { ok(CORE) } else { object(request) })
    });
    fake.options.request_timeout = Some(Duration::from_millis(300));
    let (summary, told) = run(&fake.connect(), &config_maps(5), &one_at_a_time());
    let summary = summary.expect("asked");
    assert_eq!((summary.applied, summary.failures.len(), summary.skipped.len()), (4, 1, 0), "{told:?}");
    assert!(
        told[1].contains("configmap/c1: the cluster at ") && told[1].contains("within 300ms"),
        "{told:?}"
    );
}

#[test]
fn a_server_that_is_gone_ends_the_run() {
    let left = AtomicUsize::new(4);
    let mut fake = Fake::start(move |request| {
        left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).ok()?;
        Some(if request == "GET /api" { ok(CORE) } else { object(request) })
    });
    fake.options.request_timeout = Some(Duration::from_millis(50));
    let cluster = fake.connect();
    let (summary, told) = run(&cluster, &config_maps(50), &one_at_a_time());
    let summary = summary.expect("it began well");
    assert_eq!((summary.applied, summary.failures.len(), summary.skipped.len()), (1, 10, 39));
    assert!(told[1].contains("configmap/c1") && told[1].contains("cannot be reached"), "{told:?}");
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

fn crd_server(condition: &'static str, not_yet: usize) -> Fake {
    let not_yet = AtomicUsize::new(not_yet);
    let count_down = move || not_yet.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
    Fake::start(move |request| -> Option<Reply> {
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
fn a_kind_may_be_served_a_little_later_than_it_is_established() {
    let established = r#"{"metadata":{"name":"foos.ex.io"},"status":{"conditions":[{"type":"Established","status":"True"}]}}"#;
    let fake = crd_server(established, 2);
    let (summary, told) = run(&fake.connect(), &resources(CRD), &ServerSideApplyOptions::default());
    assert!(summary.expect("asked").is_success(), "{told:?}");
    let patches = fake.take().iter().filter(|r| r.starts_with("PATCH /apis/ex.io/v1/foos/f?")).count();
    assert_eq!(patches, 3);
}

#[test]
fn custom_resources_are_not_sent_when_their_definition_is_refused() {
    let taken = r#"{"metadata":{"name":"foos.ex.io"},"status":{"conditions":[{"type":"NamesAccepted","status":"False","message":"taken"}]}}"#;
    let fake = crd_server(taken, 0);
    let (summary, told) = run(&fake.connect(), &resources(CRD), &ServerSideApplyOptions::default());
    let summary = summary.expect("asked");
    assert_eq!((summary.applied, summary.failures.len()), (1, 2), "{told:?}");
    assert!(told[1].contains("the server does not accept its names: taken"), "{told:?}");
    assert!(told[2].contains("not sent, since its CustomResourceDefinition foos.ex.io"), "{told:?}");
    assert!(fake.take().iter().all(|request| !request.starts_with("PATCH /apis/ex.io/")));
}

#[test]
fn definitions_are_not_waited_for_without_end() {
    let fake = crd_server(r#"{"metadata":{"name":"foos.ex.io"}}"#, 0);
    let options = ServerSideApplyOptions {
        crd_timeout: Duration::from_millis(120),
        ..ServerSideApplyOptions::default()
    };
    let (summary, told) = run(&fake.connect(), &resources(CRD), &options);
    assert_eq!(summary.expect("asked").failures.len(), 2);
    assert!(told[1].contains("it was not established within 120ms"), "{told:?}");
}

#[test]
fn servers_without_openapi_v3_give_one_document_for_all() {
    let fake = Fake::start(|request| {
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
    let graph = live.lookup(&foo).expect("asked").expect("known");
    assert!(graph.kind(&foo).expect("known").has_field("spec"));
    assert!(live.lookup(&Gvk::from_manifest("ex.io/v1", "Bar")).expect("asked").is_none());
    assert_eq!(fake.take()[..2], ["GET /openapi/v3", "GET /openapi/v2"]);
    let server = fake.options.server_id().expect("given");
    assert_eq!(cache.index(&server).map(|index| index.hashes.len()), Some(1));
}

#[test]
fn a_program_with_a_runtime_of_its_own_may_wait_as_well() {
    let fake = Fake::start(|request| Some(if request == "GET /api" { ok(CORE) } else { object(request) }));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let cluster = Arc::new(fake.connect());
    let summary = runtime.block_on(async move {
        let (summary, _) = run(&cluster, &config_maps(3), &ServerSideApplyOptions::default());
        drop(cluster);
        summary
    });
    assert_eq!(summary.expect("asked").applied, 3);
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
fn who_asks_for_an_old_document_is_led_to_the_new_one() {
    let location = "location: /openapi/v3/apis/ex.io/v1?hash=NEW\r\n";
    let fake = Fake::start(move |request| {
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
    let graph = live.lookup(&foo).expect("asked").expect("known");
    assert!(graph.kind(&foo).expect("known").has_field("new"));
    let server = fake.options.server_id().expect("given");
    assert!(
        ["OLD", "NEW"].iter().all(|hash| cache.get("ex.io/v1", hash).is_none()),
        "the server's word alone"
    );
    assert!(cache.get_of(&server, "ex.io/v1", "NEW").is_some());
    let record = cache.index(&server).expect("kept");
    assert_eq!(record.document("ex.io/v1"), Some(("ex.io/v1", "NEW")));
    assert_eq!(
        cache.list().iter().map(|entry| entry.what.as_str()).filter(|what| *what == "ex.io/v1").count(),
        1
    );
}

/// Aggregated servers may call their documents by anything.
#[test]
fn documents_with_a_hash_that_is_not_their_own_stay_known_offline() {
    let fake = Fake::start(|request| {
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
    let mut asked = Vec::new();
    // Each run asks for some kinds: all, none, one.
    for kinds in [&foos[..], &[], &foos[..1]] {
        let live = LiveSchema::new(fake.options.clone(), Some(cache.clone()));
        live.group_versions().expect("asked");
        for kind in kinds {
            assert!(live.lookup(kind).expect("asked").is_some());
        }
        asked.push(fake.take().iter().filter(|request| request.contains("hash=")).count());
        let offline = CacheSource::new(cache.clone(), fake.options.server_id().ok());
        for kind in &foos {
            assert!(offline.lookup(kind).expect("asked").is_some(), "{kind} is known offline: {asked:?}");
        }
    }
    assert_eq!(asked, [2, 0, 0], "each document is fetched once");
}

#[test]
fn credentials_are_not_sent_elsewhere() {
    for location in ["location: https://evil.example/x\r\n", "location: //evil.example/x\r\n"] {
        let fake = Fake::start(move |request| {
            Some(if request == "GET /openapi/v3" { ok(INDEX) } else { (301, location, "moved".into()) })
        });
        let live = LiveSchema::new(fake.options.clone(), None);
        let error = live.lookup(&Gvk::from_manifest("ex.io/v1", "Foo")).expect_err("refused");
        assert_eq!((error.code(), error.message()), (Code::Remote, "moved (HTTP 301)"));
        assert_eq!(fake.take().len(), 2);
    }
    let endless = "location: /openapi/v3/apis/ex.io/v1?hash=OLD\r\n";
    let fake = Fake::start(move |request| {
        Some(if request == "GET /openapi/v3" { ok(INDEX) } else { (301, endless, "moved".into()) })
    });
    let live = LiveSchema::new(fake.options.clone(), None);
    assert!(live.lookup(&Gvk::from_manifest("ex.io/v1", "Foo")).is_err());
    assert_eq!(fake.take().len(), 12, "an index, a document, ten redirects");
}

#[test]
fn each_run_asks_what_the_server_has_now() {
    let changed = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&changed);
    let fake = Fake::start(move |request| {
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
        let graph = live.lookup(&foo).expect("asked").expect("known");
        graph.kind(&foo).expect("known").has_field(field)
    };
    assert!(has("a") && has("a"));
    let documents = fake.take().iter().filter(|asked| asked.contains("?hash=")).count();
    assert_eq!(documents, 1, "the document is fetched once");
    changed.store(1, Ordering::SeqCst);
    assert!(has("b"));
}

/// A config map that `kubectl apply` applied client-side, or that was moved from it already.
fn applied_client_side(is_moved: bool) -> Reply {
    let (manager, operation) = if is_moved { ("kubectl-smp", "Apply") } else { ("kubectl", "Update") };
    ok(format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"c0","uid":"u","resourceVersion":"7","managedFields":[
        {{"manager":"{manager}","operation":"{operation}","apiVersion":"v1","fieldsV1":{{"f:metadata":{{"f:annotations":
        {{"f:kubectl.kubernetes.io/last-applied-configuration":{{}}}}}}}}}}]}}}}"#
    ))
}

#[test]
fn what_a_lost_answer_moved_is_applied_again() {
    let moved = AtomicUsize::new(0);
    let fake = Fake::start(move |request| {
        Some(match request {
            "GET /api" => ok(CORE),
            // The first time it was done, and nobody heard of it.
            patch if patch.starts_with("PATCH") && !patch.contains("force") => {
                moved.fetch_add(1, Ordering::SeqCst);
                (409, "", r#"{"message":"changed meanwhile"}"#.into())
            }
            _ => applied_client_side(moved.load(Ordering::SeqCst) > 0),
        })
    });
    let (summary, told) = run(&fake.connect(), &config_maps(1), &one_at_a_time());
    assert!(summary.expect("asked").is_success(), "{told:?}");
    let applied = fake.take().iter().filter(|request| request.contains("force=")).count();
    assert_eq!(applied, 2, "what client-side apply left goes with the second");
}

#[test]
fn what_was_applied_and_not_moved_is_told() {
    for answer in [(403, "", r#"{"message":"no"}"#.to_string()), (409, "", "{}".to_string())] {
        let fake = Fake::start(move |request| {
            Some(match request {
                "GET /api" => ok(CORE),
                patch if patch.starts_with("PATCH") && !patch.contains("force") => answer.clone(),
                _ => applied_client_side(false),
            })
        });
        let summary = run(&fake.connect(), &config_maps(1), &one_at_a_time()).0.expect("asked");
        let problem = &summary.failures[0].problem;
        let told = format!("{problem} {:?}", problem.notes());
        assert!(told.contains("fields of client-side apply stay in it"), "{told}");
    }
}

#[test]
fn what_a_server_cannot_tell_is_not_gone() {
    let reads = AtomicUsize::new(0);
    let immutable = r#"{"message":"no","details":{"causes":[{"reason":"FieldValueInvalid","field":"data",
        "message":"Invalid value: 1: field is immutable"}]}}"#;
    let fake = Fake::start(move |request| {
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
    let summary = run(&fake.connect(), &config_maps(1), &options).0.expect("asked");
    let problem = &summary.failures[0].problem;
    assert!(problem.message().contains("it is not gone after 500ms"), "{problem}");
    assert_eq!(problem.notes(), ["it was deleted to be made anew, and was not made"]);
    let sent = fake.take().iter().filter(|request| request.starts_with("PATCH")).count();
    assert_eq!(sent, 1, "nothing is applied to what may still be there");
}

/// A document of `ex.io/v1` in which the kind has a list of that type.
fn document(list_type: &str) -> String {
    format!(
        r#"{{"components":{{"schemas":{{"io.ex.Foo":{{"type":"object",
        "x-kubernetes-group-version-kind":[{{"group":"ex.io","version":"v1","kind":"Foo"}}],
        "properties":{{"spec":{{"type":"array","x-kubernetes-list-type":"{list_type}",
        "items":{{"type":"string"}}}}}}}}}}}}}}"#
    )
}

/// A server that serves Foo, whose CRD may not be read, and that publishes `later` some time after it was asked first.
fn late_server(first: &'static str, later: &'static str, after: Duration) -> Fake {
    let start = std::sync::OnceLock::new();
    Fake::start(move |request| {
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
fn what_is_published_late_counts_where_no_definition_may_be_read() {
    let foo = Gvk::from_manifest("ex.io/v1", "Foo");
    let list_type = |live: &LiveSchema| {
        let graph = live.lookup(&foo).expect("asked").expect("known");
        graph.kind(&foo).expect("known").field("spec").list_type()
    };
    for first in ["atomic", "none"] {
        let fake = late_server(first, "set", Duration::from_secs(1));
        let live = LiveSchema::new(fake.options.clone(), None).awaiting_changes();
        assert_eq!(list_type(&live), Some(smp_merge::schema::ListType::Set), "{first}");
        let asked = fake.take().iter().filter(|request| *request == "GET /openapi/v3").count();
        assert_eq!(list_type(&live), Some(smp_merge::schema::ListType::Set), "{first}");
        assert_eq!((asked, fake.take().len()), (2, 0), "that is waited for once");
    }
    let fake = late_server("atomic", "set", Duration::from_secs(60));
    let live = LiveSchema::new(fake.options.clone(), None);
    assert_eq!(list_type(&live), Some(smp_merge::schema::ListType::Atomic), "a build waits for nothing");
}

#[test]
fn a_kind_that_is_served_without_a_schema_is_refused() {
    let foo = Gvk::from_manifest("ex.io/v1", "Foo");
    let fake = late_server("none", "none", Duration::ZERO);
    let live = LiveSchema::new(fake.options.clone(), None).awaiting_changes();
    let problem = live.lookup(&foo).expect_err("it has no schema");
    assert_eq!(problem.code(), Code::NoSchema);
    assert!(problem.message().contains("says nothing of its schema"), "{problem}");
    let bar = Gvk::from_manifest("ex.io/v1", "Bar");
    assert!(live.lookup(&bar).expect("asked").is_none(), "it is not served");
}

#[test]
fn what_a_proxy_does_not_find_may_be_there() {
    let page = || (404, "", "<html>not found</html>".to_string());
    let fake = Fake::start(move |request| {
        Some(match request {
            "GET /api" => ok(CORE),
            get if get.starts_with("GET ") => page(),
            other => object(other),
        })
    });
    let (_, told) = run(&fake.connect(), &config_maps(1), &ServerSideApplyOptions::default());
    assert_eq!(told, ["configmap/c0 serverside-applied"], "nobody knows whether it was there");
    let report = diff(&fake.connect(), &config_maps(1), &DiffOptions::default()).expect("asked");
    assert_eq!((report.objects.len(), report.problems.len()), (0, 1));
    assert!(report.problems[0].message().contains("HTTP 404"), "{:?}", report.problems);
}

#[test]
fn the_annotation_of_kubectl_is_sent_by_kubectl_alone() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c0, annotations: \
                {kubectl.kubernetes.io/last-applied-configuration: '{}'}}\n";
    let objects = resources(text);
    let mut fake =
        Fake::start(|request| Some(if request == "GET /api" { ok(CORE) } else { object(request) }));
    fake.options.namespace = Some("a".into());
    for (manager, is_sent) in [("kubectl-smp", false), ("kubectl", true)] {
        let planned = super::planned_without_server(&objects, &fake.options, manager).expect("planned");
        assert_eq!(planned[0].get_path(&["metadata", "annotations"]).is_some(), is_sent, "{manager}");
        let options = ServerSideApplyOptions { field_manager: manager.into(), ..Default::default() };
        let (_, told) = run(&fake.connect(), &objects, &options);
        let is_warned = told.iter().any(|line| line.starts_with("warning configmap/c0: its annotation"));
        assert_eq!(is_warned, !is_sent, "{told:?}");
        let options = DiffOptions { field_manager: manager.into(), ..Default::default() };
        let report = diff(&fake.connect(), &objects, &options).expect("asked");
        assert_eq!(report.remarks.is_empty(), is_sent, "{:?}", report.remarks);
        assert!(report.warnings.is_empty(), "no server said so: {:?}", report.warnings);
    }
}

#[test]
fn names_that_are_no_texts_are_errors_before_anything_is_sent() {
    for (field, is_text) in
        [("name: y", false), ("name: 1", false), ("name: a, namespace: true", false), ("name: \"y\"", true)]
    {
        let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{{field}}}\n");
        let sources = SourceMap::default();
        let id = sources.add("test.yaml", text);
        let nodes = parse_documents(&sources, id, ParseOptions::kubectl()).expect("YAML");
        let made = |node| Resource::new(node, &Schema::none()).expect("a resource");
        let objects: Vec<_> = nodes.into_iter().map(made).chain(config_maps(1)).collect();
        let fake =
            Fake::start(|request| Some(if request == "GET /api" { ok(CORE) } else { object(request) }));
        let (summary, _) = run(&fake.connect(), &objects, &ServerSideApplyOptions::default());
        assert_eq!(summary.is_ok(), is_text, "{field}");
        assert_eq!(fake.take().iter().any(|request| request.starts_with("PATCH")), is_text, "{field}");
    }
}

#[test]
fn an_answer_that_ends_in_the_middle_is_asked_for_again() {
    for cuts in [1, usize::MAX] {
        let left = AtomicUsize::new(cuts);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        std::thread::spawn(move || {
            for mut client in listener.incoming().map_while(std::result::Result::ok) {
                let mut bytes = vec![0; 1 << 16];
                let length = client.read(&mut bytes).unwrap_or_default();
                let request = String::from_utf8_lossy(&bytes[..length]).to_string();
                let line =
                    request.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_string();
                let is_cut = line.starts_with("PATCH")
                    && left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1)).is_ok();
                let body = if line == "GET /api" { CORE.to_string() } else { object(&line).2 };
                let body = if is_cut { &body[..body.len() / 2] } else { &body };
                let _ = client
                    .write_all(format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{body}").as_bytes());
            }
        });
        let fake = Fake::start(|_| None);
        let timeout = Some(Duration::from_secs(1));
        let options = ConnectOptions { server: Some(url), request_timeout: timeout, ..fake.options.clone() };
        let cluster = Cluster::connect(&options).expect("nothing is asked yet");
        let (summary, told) = run(&cluster, &config_maps(1), &ServerSideApplyOptions::default());
        let summary = summary.expect("asked");
        assert_eq!(summary.is_success(), cuts == 1, "{told:?}");
        let notes = summary.failures.first().map(|failure| failure.problem.notes().join("\n"));
        assert!(notes.is_none_or(|notes| notes.contains("may have been applied")), "{told:?}");
    }
}

#[test]
fn a_group_whose_server_is_down_is_not_gone() {
    const STALE: &str = r#"{"kind":"APIGroupDiscoveryList","items":[{"metadata":{"name":"e.com"},"versions":[
        {"version":"v1","freshness":"Stale","resources":[]}]}]}"#;
    const GROUP: &str =
        r#"{"kind":"APIGroup","name":"e.com","versions":[{"groupVersion":"e.com/v1","version":"v1"}]}"#;
    let served = r#"{"kind":"APIResourceList","groupVersion":"e.com/v1","resources":[]}"#;
    for (version, is_told, lost) in
        [((503, "", "down".to_string()), false, None), (ok(served), true, Some(true))]
    {
        let fake = Fake::start(move |request| {
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
        let cluster = Cluster::connect(&options).expect("nothing is asked yet");
        cluster.resources().expect("the rest is told");
        assert_eq!(cluster.untold().is_none(), is_told, "{:?}", cluster.untold());
        let said = cluster.wait(cluster.has_lost("e.com", "Foo"));
        assert_eq!(said.ok(), lost);
    }
}

#[test]
fn what_a_proxy_does_not_find_was_not_deleted() {
    let none = r#"{"kind":"Status","apiVersion":"v1","reason":"NotFound","message":"none","code":404}"#;
    for (body, absent, failed) in [("404 page not found", 0, 1), (none, 1, 0)] {
        let fake = Fake::start(move |request| {
            Some(match request {
                "GET /api" => ok(CORE),
                "GET /apis" => ok(NO_GROUPS),
                _ => (404, "", body.to_string()),
            })
        });
        let options = DeleteOptions { absent: Absent::Ignored, ..DeleteOptions::default() };
        let summary = delete(&fake.connect(), &config_maps(1), &options, &mut |_| {}).expect("a summary");
        assert_eq!((summary.absent.len(), summary.failures.len()), (absent, failed), "{body}");
    }
}

#[test]
fn deploy_waits_only_if_all_objects_were_applied() {
    for is_applied in [true, false] {
        let fake = Fake::start(move |request| {
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
        assert_eq!(fake.take().iter().any(|request| request.contains("fieldSelector=")), is_applied);
    }
}
