//! Requests to the API server in memory: no panic, and after each request
//!
//! - the body is JSON, with the status of the response if it is a failure;
//! - generations never decrease while an object lives;
//! - managed fields name only fields that the object has, or that an applier set to null or an empty value;
//! - the events of a watch lead to the objects in the store.
#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use arbitrary::{Result, Unstructured};
use futures::FutureExt as _;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use kubectl_smp_fuzz::{add_keys, value};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use smp_merge::managed_fields::{FieldSet, PathElement};
use smp_merge::schema::{Gvk, Schema};
use smp_server::{Body, Controller, TestCluster};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt as _;

/// The collections that requests are about.
const KINDS: &[(&str, &str, &str)] = &[
    ("v1", "ConfigMap", "configmaps"),
    ("v1", "Secret", "secrets"),
    ("v1", "Service", "services"),
    ("v1", "Pod", "pods"),
    ("apps/v1", "Deployment", "deployments"),
    ("batch/v1", "Job", "jobs"),
    ("example.com/v1", "Gadget", "gadgets"),
];

const TYPES: &[&str] = &[
    "application/json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
    "application/apply-patch+yaml",
    "application/yaml",
    "",
];

const QUERIES: &[&str] = &[
    "",
    "?fieldManager=a",
    "?fieldManager=b&force=true",
    "?dryRun=All",
    "?fieldValidation=Strict",
    "?limit=1",
    "?labelSelector=a%3Db",
    "?fieldSelector=metadata.name%3Da",
    "?propagationPolicy=Foreground",
    "?resourceVersion=3&resourceVersionMatch=Exact",
];

fn definition() -> Value {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "a": {"type": "integer", "default": 1}, "b": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "c": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }},
        "status": {"type": "object", "properties": {"a": {"type": "string"}}},
    }});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}]},
    })
}

/// A cluster with a watch of each collection.
struct Tested {
    cluster: TestCluster,
    schema: Schema,
    watches: Vec<(Body, BTreeMap<String, Value>)>,
    generations: BTreeMap<String, i64>,
    /// Names of fields that a request set to null or an empty value. Servers drop these, but an applier owns them.
    empty: BTreeSet<String>,
}

impl Tested {
    fn new(has_controllers: bool) -> Self {
        let controllers = has_controllers.then_some(Controller::ALL).into_iter().flatten();
        let cluster = TestCluster::builder().crds([definition()]).controllers(controllers).build();
        let cluster = cluster.expect("a valid definition");
        let schema = Schema::embedded().with_crds(&[definition()]).expect("a valid definition");
        let watches = KINDS.iter().map(|kind| {
            let uri =
                format!("{}?watch=true&resourceVersion=1", path(kind).replace("/namespaces/default", ""));
            (send(&cluster, "GET", &uri, "", Vec::new()).1, BTreeMap::new())
        });
        Self {
            watches: watches.collect(),
            cluster,
            schema,
            generations: BTreeMap::new(),
            empty: BTreeSet::new(),
        }
    }

    fn request(&mut self, from: &mut Unstructured<'_>) -> Result<()> {
        let kind = from.choose(KINDS)?;
        let method = *from.choose(&["POST", "PUT", "PATCH", "PATCH", "DELETE", "GET"])?;
        let name = *from.choose(&["a", "b", ""])?;
        let sub = *from.choose(&["", "", "/binding", "/status", "/scale", "/eviction"])?;
        let (name, sub) =
            if method == "POST" && sub.is_empty() || name.is_empty() { ("", "") } else { (name, sub) };
        let slash = if name.is_empty() { "" } else { "/" };
        let uri = format!("{}{slash}{name}{sub}{}", path(kind), from.choose(QUERIES)?);
        let own = match sub {
            "/eviction" => &("policy/v1", "Eviction", ""),
            "/binding" => &("v1", "Binding", ""),
            _ => kind,
        };
        let body = self.body(from, own, name)?;
        let (code, body) = send(&self.cluster, method, &uri, from.choose(TYPES)?, body);
        let bytes = body.collect().now_or_never().expect("a complete body").expect("no fault").to_bytes();
        if bytes.first() == Some(&b'{') || code < 300 {
            let value: Value = serde_json::from_slice(&bytes).expect("JSON");
            assert!(code < 300 || value["code"] == code, "{value}");
        }
        self.check();
        Ok(())
    }

    fn body(
        &mut self,
        from: &mut Unstructured<'_>,
        kind: &(&str, &str, &str),
        name: &str,
    ) -> Result<Vec<u8>> {
        if from.ratio(1, 32)? {
            return from.arbitrary();
        }
        let gvk = Gvk::from_manifest(kind.0, kind.1);
        let Some(cursor) = self.schema.kind(&gvk) else { return Ok(Vec::new()) };
        let mut node = value(from, cursor, 8)?;
        add_keys(from, &mut node, cursor)?;
        let mut object = node.to_json_value();
        if object.is_object() && from.ratio(7, 8)? {
            object["apiVersion"] = kind.0.into();
            object["kind"] = kind.1.into();
            if !object["metadata"].is_object() {
                object["metadata"] = json!({});
            }
            object["metadata"]["name"] = if name.is_empty() { "a" } else { name }.into();
            for field in
                ["namespace", "resourceVersion", "uid", "generation", "managedFields", "generateName"]
            {
                object["metadata"].as_object_mut().map(|metadata| metadata.remove(field));
            }
        }
        add_empty(&mut self.empty, &object);
        Ok(object.to_string().into_bytes())
    }

    fn check(&mut self) {
        for ((_, kind, _), (watch, seen)) in KINDS.iter().zip(&mut self.watches) {
            while let Some(frame) = watch.frame().now_or_never() {
                let line = frame.expect("no end").expect("no fault").into_data().expect("data");
                let event: Value = serde_json::from_slice(&line).expect("JSON");
                let object = event["object"].clone();
                let uid = object["metadata"]["uid"].to_string();
                match event["type"].as_str() {
                    Some("ADDED") => assert_eq!(seen.insert(uid, object), None, "{event}"),
                    Some("MODIFIED") => assert!(seen.insert(uid, object).is_some(), "{event}"),
                    Some("DELETED") => assert!(seen.remove(&uid).is_some(), "{event}"),
                    _ => panic!("{event}"),
                }
            }
            let objects = self.cluster.objects(kind);
            assert_eq!(objects.len(), seen.len(), "{kind}");
            for object in objects {
                let uid = object["metadata"]["uid"].to_string();
                assert_eq!(seen.get(&uid), Some(&object));
                check_managers(&object, &self.empty);
                let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
                let before = self.generations.insert(uid, generation).unwrap_or_default();
                assert!(before <= generation, "{object}");
            }
        }
    }
}

/// Adds the names of fields that are null or empty: Go's zero values.
fn add_empty(empty: &mut BTreeSet<String>, value: &Value) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let is_zero = |zero: Value| *value == zero;
        if [Value::Null, json!(false), json!(0), json!(""), json!([]), json!({})].map(is_zero).contains(&true)
        {
            empty.insert(name.clone());
        }
        add_empty(empty, value);
    }
    value.as_array().into_iter().flatten().for_each(|item| add_empty(empty, item));
}

/// Checks that managed fields name fields that the object has, or that an applier set to null or an empty value.
fn check_managers(object: &Value, empty: &BTreeSet<String>) {
    for entry in object["metadata"]["managedFields"].as_array().into_iter().flatten() {
        let fields = FieldSet::from_fields_v1(&entry["fieldsV1"]).expect("valid managed fields");
        let none = BTreeSet::new();
        check_fields(&fields, object, object, if entry["operation"] == "Apply" { empty } else { &none });
    }
}

fn check_fields(fields: &FieldSet, value: &Value, object: &Value, empty: &BTreeSet<String>) {
    for (element, is_member, below) in fields.iter() {
        let found = element.find(value);
        let is_empty = matches!(element, PathElement::Field(name) if empty.contains(name.as_str()));
        assert!(found.is_some() || !is_member || is_empty, "{element:?} in {object}");
        if let Some(found) = found {
            check_fields(below, found, object, empty);
        }
    }
}

fn path((version, _, plural): &(&str, &str, &str)) -> String {
    let root = if version.contains('/') { "apis" } else { "api" };
    format!("/{root}/{version}/namespaces/default/{plural}")
}

fn send(cluster: &TestCluster, method: &str, uri: &str, kind: &str, body: Vec<u8>) -> (u16, Body) {
    let request = Request::builder().method(method).uri(uri).header("content-type", kind);
    let request = request
        .header("user-agent", "fuzz/1")
        .body(Full::new(std::io::Cursor::new(body)))
        .expect("a request");
    let response = cluster.service().oneshot(request).now_or_never().expect("no waiting").expect("no fault");
    (response.status().as_u16(), response.into_body())
}

/// The timers of watches need a runtime.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().expect("a runtime"));

fuzz_target!(|data: &[u8]| {
    let _guard = RUNTIME.enter();
    let mut from = Unstructured::new(data);
    let mut tested = Tested::new(from.ratio(1, 4).unwrap_or(false));
    while !from.is_empty() && tested.request(&mut from).is_ok() {}
});
