//! Requests that the fake client and a real API server answer alike, one after the other.
//!
//! Objects say all that a server would fill in, since the fake one fills in nothing.

use serde_json::{Value, json};

/// A request, and the status that it is answered with. `NAME` stands for the namespace, and for the name of the
/// API group of custom resources.
pub struct Row {
    pub method: &'static str,
    pub path: &'static str,
    pub content_type: &'static str,
    pub body: Value,
    pub code: u16,
    pub reason: &'static str,
}

const JSON: &str = "application/json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const MERGE: &str = "application/merge-patch+json";
const OPERATIONS: &str = "application/json-patch+json";

const MAPS: &str = "/api/v1/namespaces/NAME/configmaps";
const MAP: &str = "/api/v1/namespaces/NAME/configmaps/c";
const SERVICES: &str = "/api/v1/namespaces/NAME/services";
const SERVICE: &str = "/api/v1/namespaces/NAME/services/s";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/NAME/deployments";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/NAME/deployments/w";
const GADGETS: &str = "/apis/NAME.example.com/v1/namespaces/NAME/gadgets";
const GADGET: &str = "/apis/NAME.example.com/v1/namespaces/NAME/gadgets/g";

/// One that is done.
fn ok(method: &'static str, path: &'static str, content_type: &'static str, body: Value) -> Row {
    Row { method, path, content_type, body, code: if method == "POST" { 201 } else { 200 }, reason: "" }
}

/// One that is refused.
fn no(row: Row, code: u16, reason: &'static str) -> Row {
    Row { code, reason, ..row }
}

fn get(path: &'static str) -> Row {
    ok("GET", path, JSON, Value::Null)
}

fn post(path: &'static str, body: Value) -> Row {
    ok("POST", path, JSON, body)
}

fn put(path: &'static str, body: Value) -> Row {
    ok("PUT", path, JSON, body)
}

fn strategic(path: &'static str, body: Value) -> Row {
    ok("PATCH", path, STRATEGIC, body)
}

fn merge(path: &'static str, body: Value) -> Row {
    ok("PATCH", path, MERGE, body)
}

fn operations(path: &'static str, body: Value) -> Row {
    ok("PATCH", path, OPERATIONS, body)
}

/// The definition of the custom resource.
pub fn crd() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.NAME.example.com"},
        "spec": {"group": "NAME.example.com", "scope": "Namespaced",
            "names": {"kind": "Gadget", "plural": "gadgets", "singular": "gadget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {
                    "type": "object", "x-kubernetes-preserve-unknown-fields": true,
                }},
            }}}]},
    })
}

fn map(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

fn gadget(spec: &Value) -> Value {
    json!({
        "apiVersion": "NAME.example.com/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": spec,
    })
}

fn container(name: &str, image: &str) -> Value {
    json!({
        "name": name, "image": image, "resources": {}, "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
    })
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "w", "labels": {"app": "w"}},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": "w"}}, "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
            "template": {"metadata": {"labels": {"app": "w"}}, "spec": {
                "containers": [container("web", "web:1"), container("log", "log:1")],
                "volumes": [{"name": "data", "emptyDir": {}}],
                "tolerations": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}],
                "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
                "securityContext": {}, "schedulerName": "default-scheduler",
            }},
        },
    })
}

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {
            "ports": [
                {"name": "dns", "protocol": "UDP", "port": 53, "targetPort": 53},
                {"name": "dns-tcp", "protocol": "TCP", "port": 53, "targetPort": 53},
                {"name": "web", "protocol": "TCP", "port": 80, "targetPort": 8080},
            ],
            "selector": {"app": "w"}, "clusterIP": "None", "clusterIPs": ["None"], "type": "ClusterIP",
            "sessionAffinity": "None", "internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
        },
    })
}

/// What happens to a pod template's spec.
fn template(spec: &Value) -> Value {
    json!({"spec": {"template": {"spec": spec}}})
}

pub fn rows() -> Vec<Row> {
    let mut rows = objects();
    rows.extend(strategic_patches());
    rows.extend(other_patches());
    rows.extend(custom_resources());
    rows
}

fn objects() -> Vec<Row> {
    vec![
        no(get(MAP), 404, "NotFound"),
        post(MAPS, map("c", &json!({"a": "1", "b": "1"}))),
        no(post(MAPS, map("c", &json!({}))), 409, "AlreadyExists"),
        no(post(MAPS, json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}})), 422, "Invalid"),
        no(post(MAPS, service()), 400, "BadRequest"),
        get(MAP),
        get(MAPS),
        put(MAP, map("c", &json!({"a": "2"}))),
        no(put(MAP, map("x", &json!({}))), 400, "BadRequest"),
        no(
            put(
                MAP,
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "resourceVersion": "1"}}),
            ),
            409,
            "Conflict",
        ),
        no(put("/api/v1/namespaces/NAME/configmaps/none", map("none", &json!({}))), 404, "NotFound"),
        post(SERVICES, service()),
        post(DEPLOYMENTS, deployment()),
    ]
}

fn strategic_patches() -> Vec<Row> {
    vec![
        // Of one container another image; the other one stays.
        strategic(DEPLOYMENT, template(&json!({"containers": [{"name": "web", "image": "web:2"}]}))),
        // A new one comes first, as the server has it.
        strategic(DEPLOYMENT, template(&json!({"containers": [container("new", "new:1")]}))),
        strategic(DEPLOYMENT, template(&json!({"containers": [{"name": "log", "$patch": "delete"}]}))),
        strategic(
            DEPLOYMENT,
            template(&json!({"$setElementOrder/containers": [{"name": "web"}, {"name": "new"}]})),
        ),
        // An atomic list.
        strategic(DEPLOYMENT, template(&json!({"tolerations": [{"key": "c", "operator": "Exists"}]}))),
        strategic(
            DEPLOYMENT,
            template(&json!({"volumes": [
                {"name": "data", "$retainKeys": ["name", "configMap"], "configMap": {"name": "c", "defaultMode": 420}},
            ]})),
        ),
        strategic(DEPLOYMENT, json!({"metadata": {"labels": {"app": null, "tier": "front"}}})),
        strategic(DEPLOYMENT, json!({"metadata": {"labels": {"$patch": "replace", "only": "this"}}})),
        // Ports are one by their number there: the first is meant.
        strategic(SERVICE, json!({"spec": {"ports": [{"port": 80, "targetPort": 8081}]}})),
        strategic(SERVICE, json!({"metadata": {"finalizers": ["a.b/c", "a.b/d"]}})),
        strategic(SERVICE, json!({"metadata": {"finalizers": ["a.b/e"]}})),
        strategic(SERVICE, json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a.b/c", "a.b/d"]}})),
        no(strategic(DEPLOYMENT, template(&json!({"containers": [{"image": "x"}]}))), 500, ""),
        no(
            strategic(DEPLOYMENT, template(&json!({"containers": [{"name": "web", "$patch": "odd"}]}))),
            500,
            "",
        ),
        no(strategic(DEPLOYMENT, json!([1])), 400, "BadRequest"),
        no(strategic(DEPLOYMENT, json!({"metadata": {"name": "x"}})), 400, "BadRequest"),
        no(strategic(DEPLOYMENT, json!({"metadata": {"resourceVersion": "1"}})), 409, "Conflict"),
        no(strategic("/api/v1/namespaces/NAME/configmaps/none", json!({})), 404, "NotFound"),
        get(DEPLOYMENT),
        get(SERVICE),
    ]
}

fn other_patches() -> Vec<Row> {
    let test = |value: &str| {
        json!([
            {"op": "replace", "path": "/data/a", "value": "4"},
            {"op": "test", "path": "/data/a", "value": value},
        ])
    };
    vec![
        merge(MAP, json!({"data": {"a": "3", "b": null, "c": "1"}})),
        // Lists are replaced.
        merge(DEPLOYMENT, template(&json!({"containers": [container("web", "web:3")]}))),
        operations(
            MAP,
            json!([
                {"op": "add", "path": "/metadata/annotations", "value": {"x/y": "1"}},
                {"op": "replace", "path": "/metadata/annotations/x~1y", "value": "2"},
                {"op": "remove", "path": "/data/c"},
            ]),
        ),
        operations(MAP, test("4")),
        no(operations(MAP, test("5")), 422, "Invalid"),
        no(operations(MAP, json!([{"op": "remove", "path": "/data/none"}])), 422, "Invalid"),
        no(operations(MAP, json!([{"op": "odd", "path": "/data/a"}])), 422, "Invalid"),
        no(operations(MAP, json!({"data": {}})), 400, "BadRequest"),
        no(merge(MAP, json!([])), 400, "BadRequest"),
        no(merge(MAP, json!({"metadata": {"uid": "x"}})), 422, "Invalid"),
        no(ok("PATCH", MAP, JSON, json!({})), 415, "UnsupportedMediaType"),
        get(MAP),
        get(DEPLOYMENT),
    ]
}

fn custom_resources() -> Vec<Row> {
    vec![
        post(GADGETS, gadget(&json!({"size": 1, "parts": [{"id": 1}, {"id": 2}]}))),
        no(strategic(GADGET, json!({"spec": {"size": 2}})), 415, "UnsupportedMediaType"),
        merge(GADGET, json!({"spec": {"size": 2, "parts": [{"id": 3}]}})),
        operations(GADGET, json!([{"op": "add", "path": "/spec/parts/-", "value": {"id": 4}}])),
        get(GADGETS),
        no(
            ok("DELETE", "/apis/NAME.example.com/v1/namespaces/NAME/gadgets/none", JSON, Value::Null),
            404,
            "NotFound",
        ),
    ]
}

/// An answer without what each server makes of its own: times, ids, revisions, managers, and the status.
pub fn without_own(mut answer: Value) -> Value {
    if let Some(items) = answer.get_mut("items").and_then(Value::as_array_mut) {
        items.retain(|item| item["metadata"]["name"] != "kube-root-ca.crt");
        for item in items {
            *item = without_own(item.take());
        }
    }
    if let Some(object) = answer.as_object_mut() {
        object.remove("status");
    }
    if let Some(metadata) = answer.get_mut("metadata").and_then(Value::as_object_mut) {
        let own = ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation", "continue"];
        metadata.retain(|name, _| !own.contains(&name.as_str()));
    }
    answer
}

/// A text in which `NAME` is the name.
pub fn named(text: &str, name: &str) -> String {
    text.replace("NAME", name)
}

/// The same in all texts of a value.
pub fn value_named(value: &Value, name: &str) -> Value {
    named(&value.to_string(), name).parse().expect("JSON")
}
