//! Requests that well-behaved clients do not make, and requests for parts of objects.

use std::io;

use bytes::Bytes;
use http_body::Frame;
use http_body_util::{BodyExt as _, Full, StreamBody};
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::{gadget_definition, run};
use crate::TestCluster;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.example.com";
const GADGETS: &str = "/apis/example.com/v1/namespaces/default/gadgets";
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

struct Response {
    code: u16,
    warnings: Vec<String>,
    text: String,
}

impl Response {
    fn json(&self) -> Value {
        serde_json::from_str(&self.text).expect("JSON")
    }

    fn message(&self) -> String {
        self.json()["message"].as_str().unwrap_or_default().into()
    }
}

fn send_with(cluster: &TestCluster, head: &str, headers: &[(&str, &str)], body: &str) -> Response {
    let (method, path) = head.split_once(' ').expect("a method");
    let mut request = http::Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(body.to_string()))).expect("a request");
    run(async {
        let (parts, body) = cluster.service().oneshot(request).await.expect("a response").into_parts();
        let warnings = parts.headers.get_all("warning").iter();
        let warnings = warnings.map(|one| one.to_str().expect("text").to_string()).collect();
        let bytes = body.collect().await.expect("a body").to_bytes();
        let text = String::from_utf8(bytes.to_vec()).expect("text");
        Response { code: parts.status.as_u16(), warnings, text }
    })
}

fn send(cluster: &TestCluster, head: &str, body: &Value) -> Response {
    let kind = match head.split(' ').next() {
        Some("PATCH") if body.is_array() => "application/json-patch+json",
        Some("PATCH") => "application/merge-patch+json",
        _ => "application/json",
    };
    let text = if body.is_null() { String::new() } else { body.to_string() };
    send_with(cluster, head, &[("content-type", kind)], &text)
}

fn get(cluster: &TestCluster, path: &str) -> Response {
    send(cluster, &format!("GET {path}"), &Value::Null)
}

fn with_map(name: &str) -> TestCluster {
    let cluster = TestCluster::new();
    let created = send(&cluster, &format!("POST {MAPS}"), &json!({"metadata": {"name": name}}));
    assert_eq!(created.code, 201, "{}", created.text);
    cluster
}

#[test]
fn requests_whose_bodies_break_off_have_no_effect() {
    let cluster = with_map("a");
    let frames = [Ok(Frame::data(Bytes::from(r#"{"dryRun": ["All"]"#))), Err(io::Error::other("closed"))];
    let body = StreamBody::new(futures::stream::iter(frames));
    let request = http::Request::delete(format!("{MAPS}/a")).body(body).expect("a request");
    let response = run(cluster.service().oneshot(request)).expect("a response");
    assert_eq!(response.status(), 500);
    assert_eq!(get(&cluster, &format!("{MAPS}/a")).code, 200);
}

#[test]
fn large_requests_are_refused() {
    let cluster = with_map("a");
    let large = |bytes: usize| json!({"metadata": {"name": "large"}, "data": {"k": "x".repeat(bytes)}});
    let refused = send(&cluster, &format!("POST {MAPS}"), &large(3 << 20));
    assert_eq!((refused.code, &*refused.message()), (413, "Request entity too large: limit is 3145728"));
    let refused = send(&cluster, &format!("POST {MAPS}"), &large((1 << 20) + 1));
    let message = r#"ConfigMap "large" is invalid: []: Too long: may not be more than 1048576 bytes"#;
    assert_eq!((refused.code, &*refused.message()), (422, message));
    let operation = json!({"op": "add", "path": "/metadata/labels", "value": {}});
    let refused = send(&cluster, &format!("PATCH {MAPS}/a"), &vec![operation; 10_001].into());
    let message =
        "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001";
    assert_eq!((refused.code, &*refused.message()), (413, message));
}

#[test]
fn clients_get_only_the_metadata_they_ask_for() {
    let cluster = with_map("a");
    let of = |path: &str, accept: &str| {
        send_with(&cluster, &format!("GET {MAPS}{path}"), &[("accept", accept)], "")
    };
    let one = of("/a", METADATA).json();
    assert_eq!(
        (&one["kind"], &one["apiVersion"]),
        (&json!("PartialObjectMetadata"), &json!("meta.k8s.io/v1"))
    );
    assert_eq!(one["metadata"]["name"], "a");
    let list = of("", METADATA_LIST).json();
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(list["items"][0]["kind"], "PartialObjectMetadata");
    let watched = of("?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Da", METADATA).json();
    assert_eq!(watched["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(of("", METADATA).code, 406);
    assert_eq!(of("/a", "application/json;as=Table;v=v9;g=meta.k8s.io").code, 406);
    assert_eq!(of("/none", METADATA).json()["kind"], "Status");
}

#[test]
fn paths_are_decoded_and_methods_checked() {
    let cluster = with_map("a");
    let role = json!({"metadata": {"name": "system:x"}, "rules": []});
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    assert_eq!(send(&cluster, &format!("POST {roles}"), &role).code, 201);
    for (head, code) in [
        (format!("GET {roles}/system%3Ax"), 200),
        (format!("GET {MAPS}/%zz"), 400),
        (format!("GET {MAPS}/a/"), 200),
        (format!("OPTIONS {MAPS}"), 405),
        (format!("HEAD {MAPS}/a"), 405),
        ("PUT /apis/apps/v1".into(), 405),
        ("HEAD /healthz".into(), 200),
        ("GET /healthz/ping".into(), 200),
    ] {
        assert_eq!(send(&cluster, &head, &Value::Null).code, code, "{head}");
    }
    let read = get(&cluster, &format!("{MAPS}/a?watch=true"));
    assert_eq!(read.json()["kind"], "ConfigMap", "only collections are watched");
}

#[test]
fn bad_options_are_refused() {
    let cluster = with_map("a");
    let long = "x".repeat(129);
    let dry_run = r#"CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: "#;
    let manager = r#"CreateOptions.meta.k8s.io "" is invalid: fieldManager: "#;
    let matching = "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
    for (head, code, message) in [
        ("GET ?limit=abc", 400, r#"strconv.ParseInt: parsing "abc": invalid syntax"#.into()),
        ("GET ?limit=99999999999999999999", 400, r#"strconv.ParseInt: parsing "99999999999999999999": value out of range"#.into()),
        ("GET ?watch=1&timeoutSeconds=x", 400, r#"strconv.ParseInt: parsing "x": invalid syntax"#.into()),
        ("GET ?watch=1&resourceVersionMatch=NotOlderThan", 422, format!(r#"ListOptions.meta.k8s.io "" is invalid: {matching}"#)),
        ("DELETE /a?gracePeriodSeconds=abc", 400, r#"strconv.ParseInt: parsing "abc": invalid syntax"#.into()),
        ("DELETE /a?orphanDependents=true&propagationPolicy=Orphan", 422, r#"DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set"#.into()),
        ("POST ?dryRun=All&dryRun=x", 422, format!(r#"{dry_run}["All","x"]: supported values: "All""#)),
        ("POST ?dryRun=", 422, format!(r#"{dry_run}[""]: supported values: "All""#)),
        (&format!("POST ?fieldManager={long}"), 422, format!("{manager}Too long: may not be more than 128 bytes")),
    ] {
        let body = if head.starts_with("POST") { json!({"metadata": {"name": "b"}}) } else { Value::Null };
        let refused = send(&cluster, &head.replacen(' ', &format!(" {MAPS}"), 1), &body);
        assert_eq!((refused.code, refused.message()), (code, message), "{head}");
    }
    let forced = send(&cluster, &format!("PATCH {MAPS}/a?force=false"), &json!({}));
    assert_eq!(forced.code, 422, "{}", forced.text);
    for body in [json!([]), json!({"gracePeriodSeconds": "x"})] {
        assert_eq!(send(&cluster, &format!("DELETE {MAPS}/a"), &body).code, 400, "{body}");
    }
    assert_eq!(get(&cluster, &format!("{MAPS}/a")).code, 200, "nothing was deleted");
}

#[test]
fn field_selectors_have_escapes() {
    let cluster = with_map("a");
    for (selector, code, count) in [
        ("metadata.name%3Da", 200, 1),
        (r"metadata.name%3Da\,b", 200, 0),
        ("%3D", 200, 1),
        ("metadata.name%3Da%3D", 400, 0),
        (r"metadata.name%3Da\", 400, 0),
    ] {
        let response = get(&cluster, &format!("{MAPS}?fieldSelector={}", selector.replace('\\', "%5C")));
        assert_eq!(response.code, code, "{selector}: {}", response.text);
        if code == 200 {
            assert_eq!(response.json()["items"].as_array().map(Vec::len), Some(count), "{selector}");
        }
    }
}

#[test]
fn repeated_and_unknown_fields_are_reported() {
    let cluster = TestCluster::new();
    let post = |path: &str, text: &str| {
        send_with(&cluster, &format!("POST {path}"), &[("content-type", "APPLICATION/JSON")], text)
    };
    let text = r#"{"metadata": {"name": "a"}, "data": {"k": "1", "k": "2"}}"#;
    let created = post(MAPS, text);
    assert_eq!(created.warnings, [r#"299 - "duplicate field \"data.k\"""#]);
    assert_eq!(created.json()["data"]["k"], "2");
    let strict = post(&format!("{MAPS}?fieldValidation=Strict"), text);
    assert_eq!(strict.code, 400);
    assert!(
        strict.message().ends_with(r#"strict decoding error: duplicate field "data.k""#),
        "{}",
        strict.text
    );
    let older = post(MAPS, r#"{"metadata": {"name": "b", "clusterName": "x"}}"#);
    assert_eq!(older.warnings, [r#"299 - "unknown field \"metadata.clusterName\"""#]);
    assert_eq!(older.json()["metadata"].get("clusterName"), None);
    let untimely = post(MAPS, r#"{"metadata": {"name": "c", "creationTimestamp": "yesterday"}}"#);
    assert_eq!(untimely.code, 400);
    assert!(untimely.message().contains(r#"parsing time "yesterday""#), "{}", untimely.text);
    let any = send_with(&cluster, &format!("POST {MAPS}"), &[("content-type", "*/*")], text);
    assert_eq!(any.code, 415);
}

#[test]
fn definitions_keep_their_identity() {
    let cluster = TestCluster::builder().crds([gadget_definition()]).build().expect("a cluster");
    for spec in [json!({"scope": "Cluster"}), json!({"names": {"kind": "Other"}})] {
        let refused = send(&cluster, &format!("PATCH {DEFINITION}"), &json!({"spec": spec}));
        assert_eq!(refused.code, 422, "{}", refused.text);
        assert!(refused.message().ends_with("field is immutable"), "{}", refused.text);
    }
    assert_eq!(get(&cluster, GADGETS).code, 200);
}

#[test]
fn deleted_definitions_wait_for_their_objects() {
    let cluster = TestCluster::builder().crds([gadget_definition()]).build().expect("a cluster");
    let gadget = |name: &str, finalizers: Value| json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name, "finalizers": finalizers}});
    for one in [gadget("free", json!([])), gadget("held", json!(["example.com/hold"]))] {
        assert_eq!(send(&cluster, &format!("POST {GADGETS}"), &one).code, 201);
    }
    let deleted = send(&cluster, &format!("DELETE {DEFINITION}"), &Value::Null).json();
    assert_eq!(deleted["metadata"]["finalizers"], json!(["customresourcecleanup.apiextensions.k8s.io"]));
    assert_eq!(get(&cluster, &format!("{GADGETS}/free")).code, 404);
    assert!(get(&cluster, &format!("{GADGETS}/held")).json()["metadata"]["deletionTimestamp"].is_string());
    let late = send(&cluster, &format!("POST {GADGETS}"), &gadget("late", json!([])));
    assert_eq!(late.code, 403, "{}", late.text);
    let released = json!({"metadata": {"finalizers": null}});
    assert_eq!(send(&cluster, &format!("PATCH {GADGETS}/held"), &released).code, 200);
    assert_eq!(get(&cluster, DEFINITION).code, 404);
    assert_eq!(get(&cluster, GADGETS).code, 404);
}

#[test]
fn what_other_parts_of_a_cluster_rely_on_is_set() {
    let cluster = TestCluster::new();
    let node = send(&cluster, "POST /api/v1/nodes", &json!({"metadata": {"name": "a"}})).json();
    assert_eq!(
        node["spec"]["taints"],
        json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])
    );
    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "a", "image": "a"}]}});
    assert_eq!(send(&cluster, &format!("POST {pods}"), &pod).code, 201);
    let status = json!({"metadata": {"name": "a"}, "status": {"phase": "Running"}});
    let running = send(&cluster, &format!("PUT {pods}/a/status"), &status).json();
    assert_eq!(running["status"]["qosClass"], "BestEffort");
}
