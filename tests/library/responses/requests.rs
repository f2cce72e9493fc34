//! Requests that the fake client and a real API server answer alike, in order.
//!
//! Objects set every field that a server would default, since the fake client sets no defaults.

use serde_json::{Value, json};

/// A request, and the expected status of its response. `NAME` stands for the namespace, and for the name of the
/// API group of custom resources.
pub struct Row {
    pub method: &'static str,
    pub path: &'static str,
    pub content_type: &'static str,
    pub body: Value,
    pub code: u16,
    pub reason: &'static str,
    pub words: Words,
}

/// The expected wording of a failure.
#[derive(Clone, Copy)]
pub enum Words {
    /// The message of the real server.
    Same,
    /// Another message that names the same thing. Empty if the real server names nothing.
    Ours { about: &'static str },
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

/// A request that succeeds.
fn ok(method: &'static str, path: &'static str, content_type: &'static str, body: Value) -> Row {
    let code = if method == "POST" { 201 } else { 200 };
    Row { method, path, content_type, body, code, reason: "", words: Words::Same }
}

/// A request that is rejected.
fn rejected(row: Row, code: u16, reason: &'static str) -> Row {
    Row { code, reason, ..row }
}

/// A request that is rejected with another message than the real server's.
fn rejected_naming(row: Row, code: u16, reason: &'static str, about: &'static str) -> Row {
    Row { words: Words::Ours { about }, ..rejected(row, code, reason) }
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

/// A patch of the spec of a pod template.
fn template(spec: &Value) -> Value {
    json!({"spec": {"template": {"spec": spec}}})
}

fn delete(path: &'static str, options: Value) -> Row {
    ok("DELETE", path, JSON, options)
}

fn map_with(metadata: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
}

pub fn rows() -> Vec<Row> {
    let mut rows = objects();
    rows.extend(missing_and_unsupported());
    rows.extend(strategic_patches());
    rows.extend(bad_strategic_patches());
    rows.extend(other_patches());
    rows.extend(bad_merge_patches());
    rows.extend(bad_operations());
    rows.extend(custom_resources());
    rows.extend(deletions());
    rows
}

fn objects() -> Vec<Row> {
    vec![
        rejected(get(MAP), 404, "NotFound"),
        post(MAPS, map("c", &json!({"a": "1", "b": "1"}))),
        rejected(post(MAPS, map("c", &json!({}))), 409, "AlreadyExists"),
        rejected(post(MAPS, map_with(&json!({}))), 422, "Invalid"),
        rejected_naming(post(MAPS, service()), 400, "BadRequest", "cannot be handled as a ConfigMap"),
        rejected_naming(post(MAPS, json!([])), 400, "BadRequest", "ConfigMap"),
        rejected(post(MAPS, map_with(&json!({"name": "x", "namespace": "elsewhere"}))), 400, "BadRequest"),
        post(MAPS, json!({"metadata": {"name": "silent", "labels": {"tier": "front"}}})),
        post(
            MAPS,
            map_with(
                &json!({"name": "odd", "generation": 7, "uid": "x", "deletionTimestamp": "2020-01-01T00:00:00Z"}),
            ),
        ),
        get(MAP),
        get(MAPS),
        get("/api/v1/namespaces/NAME/configmaps?labelSelector=tier%3Dfront"),
        get("/api/v1/namespaces/NAME/configmaps?labelSelector=%21tier"),
        get("/api/v1/namespaces/NAME/configmaps?labelSelector=tier+in+%28front%2Cback%29"),
        get("/api/v1/namespaces/NAME/configmaps?fieldSelector=metadata.name%3Dc"),
        put(MAP, map("c", &json!({"a": "2"}))),
        rejected(put(MAP, map("x", &json!({}))), 400, "BadRequest"),
        rejected(put(MAP, map_with(&json!({"name": "c", "namespace": "elsewhere"}))), 400, "BadRequest"),
        rejected(put(MAP, map_with(&json!({"name": "c", "resourceVersion": "1"}))), 409, "Conflict"),
        rejected_naming(
            put(MAP, map_with(&json!({"name": "c", "uid": "x"}))),
            409,
            "Conflict",
            "UID in precondition",
        ),
        rejected(put("/api/v1/namespaces/NAME/configmaps/none", map("none", &json!({}))), 404, "NotFound"),
        // A dry run creates nothing.
        ok("POST", "/api/v1/namespaces/NAME/configmaps?dryRun=All", JSON, map("dry", &json!({"a": "1"}))),
        rejected(get("/api/v1/namespaces/NAME/configmaps/dry"), 404, "NotFound"),
        ok("PUT", "/api/v1/namespaces/NAME/configmaps/c?dryRun=All", JSON, map("c", &json!({"a": "dry"}))),
        ok("PATCH", "/api/v1/namespaces/NAME/configmaps/c?dryRun=All", MERGE, json!({"data": {"a": "dry"}})),
        delete("/api/v1/namespaces/NAME/configmaps/c?dryRun=All", Value::Null),
        delete(MAP, json!({"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]})),
        get(MAP),
        post(SERVICES, service()),
        post(DEPLOYMENTS, deployment()),
        put(DEPLOYMENT, deployment()),
    ]
}

/// Missing objects, unknown paths, and methods that a path does not allow.
fn missing_and_unsupported() -> Vec<Row> {
    let nowhere = [
        "/api/v1/namespaces/NAME/configmap",
        "/api/v1/namespaces/NAME/ConfigMaps",
        "/api/v1/namespaces/NAME/cm",
        "/api/v1/namespaces/NAME/nodes",
        "/api/v1/namespaces/NAME/nodes/a",
        "/api/v1/configmaps/c",
        "/api/v1/namespaces/NAME/deployments",
        "/apis/apps/v9/deployments",
        "/api/v1/namespaces/NAME/configmaps/c/status",
    ];
    let mut rows: Vec<Row> = nowhere.into_iter().map(|path| rejected(get(path), 404, "NotFound")).collect();
    rows.extend([
        rejected(post("/api/v1/configmaps", map("x", &json!({}))), 405, "MethodNotAllowed"),
        rejected(post(MAP, map("c", &json!({}))), 405, "MethodNotAllowed"),
        rejected(put(MAPS, map("c", &json!({}))), 405, "MethodNotAllowed"),
        rejected(merge(MAPS, json!({})), 405, "MethodNotAllowed"),
    ]);
    rows
}

fn strategic_patches() -> Vec<Row> {
    vec![
        // The image of one container changes; the other container stays.
        strategic(DEPLOYMENT, template(&json!({"containers": [{"name": "web", "image": "web:2"}]}))),
        // A new container comes first, as on the server.
        strategic(DEPLOYMENT, template(&json!({"containers": [container("new", "new:1")]}))),
        strategic(DEPLOYMENT, template(&json!({"containers": [{"name": "log", "$patch": "delete"}]}))),
        strategic(
            DEPLOYMENT,
            template(&json!({"$setElementOrder/containers": [{"name": "web"}, {"name": "new"}]})),
        ),
        // Atomic list.
        strategic(DEPLOYMENT, template(&json!({"tolerations": [{"key": "c", "operator": "Exists"}]}))),
        strategic(
            DEPLOYMENT,
            template(&json!({"volumes": [
                {"name": "data", "$retainKeys": ["name", "configMap"], "configMap": {"name": "c", "defaultMode": 420}},
            ]})),
        ),
        strategic(DEPLOYMENT, json!({"metadata": {"labels": {"app": null, "tier": "front"}}})),
        strategic(DEPLOYMENT, json!({"metadata": {"labels": {"$patch": "replace", "only": "this"}}})),
        strategic(DEPLOYMENT, json!({"kind": "Odd", "apiVersion": "odd/v1"})),
        // Service ports merge by number: the first one matches.
        strategic(SERVICE, json!({"spec": {"ports": [{"port": 80, "targetPort": 8081}]}})),
        strategic(SERVICE, json!({"metadata": {"finalizers": ["a.b/c", "a.b/d"]}})),
        strategic(SERVICE, json!({"metadata": {"finalizers": ["a.b/e"]}})),
        strategic(SERVICE, json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a.b/c", "a.b/d"]}})),
        rejected(strategic(DEPLOYMENT, json!({"metadata": {"name": "x"}})), 400, "BadRequest"),
        rejected(strategic(DEPLOYMENT, json!({"metadata": {"namespace": "x"}})), 400, "BadRequest"),
        rejected(strategic(DEPLOYMENT, json!({"metadata": {"uid": "x"}})), 422, "Invalid"),
        rejected(strategic(DEPLOYMENT, json!({"metadata": {"resourceVersion": "1"}})), 409, "Conflict"),
        rejected(strategic(DEPLOYMENT, json!({"$patch": "delete"})), 400, "BadRequest"),
        rejected(strategic(DEPLOYMENT, json!({"$patch": "replace"})), 400, "BadRequest"),
        rejected(strategic("/api/v1/namespaces/NAME/configmaps/none", json!({})), 404, "NotFound"),
        get(DEPLOYMENT),
        get(SERVICE),
    ]
}

/// Patches that cannot be merged. The message names the problem, in our words with the field path.
#[allow(clippy::too_many_lines, reason = "a table")]
fn bad_strategic_patches() -> Vec<Row> {
    let unmerged = [
        (template(&json!({"containers": [{"image": "x"}]})), "merge key"),
        (template(&json!({"containers": [{"$patch": "delete"}]})), "merge key"),
        (template(&json!({"containers": [{"name": "web", "$patch": "odd"}]})), "patch"),
        (template(&json!({"containers": [{"name": "web", "$patch": 1}]})), "patch"),
        (template(&json!({"$patch": "odd"})), "patch"),
        (json!({"$patch": "odd"}), "patch"),
        (json!({"$patch": ["delete"]}), ""),
        (json!({"$patch": "merge"}), "merge"),
        (template(&json!({"$setElementOrder/containers": "x"})), "string"),
        (template(&json!({"$setElementOrder/containers": ["web"]})), ""),
        (template(&json!({"$setElementOrder/containers": [{"image": "web"}]})), "merge key"),
        (
            template(&json!({
                "$setElementOrder/containers": [{"name": "web"}],
                "containers": [{"name": "new", "image": "z"}],
            })),
            "$setElementOrder",
        ),
        (
            template(&json!({
                "$setElementOrder/containers": [{"name": "new"}, {"name": "web"}],
                "containers": [{"name": "web", "tty": true}, {"name": "new", "tty": true}],
            })),
            "$setElementOrder",
        ),
        (json!({"spec": {"$setElementOrder/nonsuch": ["a"]}}), "nonsuch"),
        (template(&json!({"containers": ["web"]})), ""),
        (template(&json!({"containers": [["web"]]})), ""),
        (template(&json!({"containers": [null]})), ""),
    ];
    let malformed = [
        (json!([1]), ""),
        (json!(1), ""),
        (json!(true), ""),
        (json!({"spec": {"strategy": {"$retainKeys": "type"}}}), "etainKeys"),
        (json!({"spec": {"strategy": {"$retainKeys": [1], "type": "Recreate"}}}), "etainKeys"),
        (
            json!({"spec": {"strategy": {"$retainKeys": ["type"], "rollingUpdate": null, "x": 1}}}),
            "etainKeys",
        ),
        (
            template(
                &json!({"volumes": [{"name": "data", "$retainKeys": ["name"], "configMap": {"name": "c"}}]}),
            ),
            "etainKeys",
        ),
    ];
    let unmerged = unmerged
        .into_iter()
        .map(|(body, about)| rejected_naming(strategic(DEPLOYMENT, body), 500, "", about));
    let malformed = malformed
        .into_iter()
        .map(|(body, about)| rejected_naming(strategic(DEPLOYMENT, body), 400, "BadRequest", about));
    let mut rows: Vec<Row> = unmerged.chain(malformed).collect();
    rows.extend([
        rejected_naming(strategic(SERVICE, json!({"spec": {"ports": [{"targetPort": 1}]}})), 500, "", "port"),
        rejected_naming(strategic(SERVICE, json!({"metadata": {"finalizers": [{"a": 1}]}})), 500, "", ""),
        rejected_naming(
            strategic(SERVICE, json!({"metadata": {"$deleteFromPrimitiveList/finalizers": [{"a": 1}]}})),
            500,
            "",
            "",
        ),
        rejected_naming(
            strategic(
                SERVICE,
                json!({"metadata": {"$setElementOrder/finalizers": ["z.z/z"], "finalizers": ["y.b/c"]}}),
            ),
            500,
            "",
            "$setElementOrder",
        ),
        // No rejected patch changed the object.
        get(DEPLOYMENT),
        get(SERVICE),
    ]);
    rows
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
        rejected_naming(operations(MAP, test("5")), 422, "Invalid", ""),
        rejected(ok("PATCH", MAP, JSON, json!({})), 415, "UnsupportedMediaType"),
        rejected(ok("PATCH", MAP, "text/plain", json!({})), 415, "UnsupportedMediaType"),
        rejected(ok("PATCH", MAP, "application/Merge-patch+json", json!({})), 415, "UnsupportedMediaType"),
        ok("PATCH", MAP, "application/merge-patch+json; charset=utf-8", json!({"data": {"d": "1"}})),
        get(MAP),
        get(DEPLOYMENT),
    ]
}

fn bad_merge_patches() -> Vec<Row> {
    let malformed = [json!([]), json!(1), json!(true)];
    let mut rows: Vec<Row> =
        malformed.into_iter().map(|body| rejected_naming(merge(MAP, body), 400, "BadRequest", "")).collect();
    rows.extend([
        rejected(merge(MAP, json!({"metadata": {"name": "x"}})), 400, "BadRequest"),
        rejected(merge(MAP, json!({"metadata": {"uid": "x"}})), 422, "Invalid"),
        rejected(merge(MAP, json!({"metadata": {"resourceVersion": "1"}})), 409, "Conflict"),
        rejected(merge(MAP, json!({"metadata": null})), 400, "BadRequest"),
        merge(MAP, json!({"kind": null})),
        get(MAP),
    ]);
    rows
}

/// The real server reports neither the failed operation nor the reason.
fn bad_operations() -> Vec<Row> {
    let impossible = [
        json!({"op": "remove", "path": "/data/none"}),
        json!({"op": "test", "path": "/data/none", "value": "x"}),
        json!({"op": "odd", "path": "/data/a"}),
        json!({"path": "/data/b", "value": "x"}),
        json!({"op": "add", "value": "x"}),
        json!({"op": "add", "path": "/x/y", "value": "x"}),
        json!({"op": "add", "path": "", "value": {}}),
        json!({"op": "remove", "path": ""}),
        json!({"op": "move", "path": "/data/b"}),
        json!({"op": "move", "from": "/data/none", "path": "/data/b"}),
        json!({"op": "copy", "path": "/data/b"}),
        Value::Null,
    ];
    let malformed = [
        json!([1]),
        json!(["x"]),
        json!({"op": "add"}),
        json!(1),
        json!([{"op": 1, "path": "/data/b"}]),
        json!([{"op": "add", "path": 1, "value": "x"}]),
    ];
    let impossible =
        impossible.into_iter().map(|one| rejected_naming(operations(MAP, json!([one])), 422, "Invalid", ""));
    let malformed =
        malformed.into_iter().map(|body| rejected_naming(operations(MAP, body), 400, "BadRequest", ""));
    let mut rows: Vec<Row> = impossible.chain(malformed).collect();
    rows.extend([
        rejected(operations(MAP, json!([{"op": "replace", "path": "", "value": {}}])), 400, "BadRequest"),
        rejected(
            operations(MAP, json!([{"op": "add", "path": "/metadata/name", "value": "x"}])),
            400,
            "BadRequest",
        ),
        // Mistakes that the server accepts.
        operations(MAP, json!([{"op": "replace", "path": "/data/new", "value": "x"}])),
        operations(SERVICE, json!([{"op": "add", "path": "/metadata/finalizers/-1", "value": "a.b/z"}])),
        get(MAP),
        get(SERVICE),
    ]);
    rows
}

fn custom_resources() -> Vec<Row> {
    let unseen = json!({"size": 9});
    let mut of_another = gadget(&unseen);
    of_another["metadata"]["uid"] = json!("x");
    vec![
        post(GADGETS, gadget(&json!({"size": 1, "parts": [{"id": 1}, {"id": 2}]}))),
        rejected_naming(strategic(GADGET, json!({"spec": {"size": 2}})), 415, "UnsupportedMediaType", ""),
        merge(GADGET, json!({"spec": {"size": 2, "parts": [{"id": 3}]}})),
        operations(GADGET, json!([{"op": "add", "path": "/spec/parts/-", "value": {"id": 4}}])),
        merge(GADGET, json!({"metadata": {"labels": {"a": "b"}}})),
        // Replacing a custom resource requires its revision.
        rejected(put(GADGET, gadget(&unseen)), 422, "Invalid"),
        rejected_naming(put(GADGET, of_another), 409, "Conflict", "UID in precondition"),
        rejected(merge(GADGET, json!({"metadata": {"uid": "x"}})), 422, "Invalid"),
        get(GADGETS),
        rejected(
            delete("/apis/NAME.example.com/v1/namespaces/NAME/gadgets/none", Value::Null),
            404,
            "NotFound",
        ),
        merge(GADGET, json!({"metadata": {"finalizers": ["a.b/c"]}})),
        delete(GADGET, Value::Null),
        merge(GADGET, json!({"spec": {"size": 3}})),
        merge(GADGET, json!({"metadata": {"finalizers": null}})),
        rejected(get(GADGET), 404, "NotFound"),
    ]
}

/// An object with finalizers stays until they are removed.
fn deletions() -> Vec<Row> {
    let only =
        |field: &str| json!({"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {field: "1"}});
    vec![
        rejected_naming(
            delete(MAP, only("uid")),
            409,
            "Conflict",
            "the UID in the precondition (1) does not match",
        ),
        rejected_naming(
            delete(MAP, only("resourceVersion")),
            409,
            "Conflict",
            "the ResourceVersion in the precondition (1) does not match",
        ),
        merge(MAP, json!({"metadata": {"finalizers": ["a.b/c"]}})),
        delete(MAP, Value::Null),
        delete(MAP, Value::Null),
        merge(MAP, json!({"metadata": {"deletionTimestamp": null}})),
        merge(MAP, json!({"data": {"late": "1"}})),
        merge(MAP, json!({"metadata": {"finalizers": null}})),
        rejected(get(MAP), 404, "NotFound"),
        post(MAPS, map("c", &json!({"a": "1"}))),
        delete(MAP, Value::Null),
        rejected(delete(MAP, Value::Null), 404, "NotFound"),
        merge(DEPLOYMENT, json!({"metadata": {"finalizers": ["a.b/c"]}})),
        delete(DEPLOYMENT, Value::Null),
        get(DEPLOYMENT),
        merge(SERVICE, json!({"metadata": {"finalizers": null}})),
        delete(SERVICE, Value::Null),
        rejected(get(SERVICE), 404, "NotFound"),
    ]
}

/// A response without the values that each server generates: times, ids, revisions, managers and the status.
pub fn without_generated_fields(mut answer: Value) -> Value {
    if let Some(items) = answer.get_mut("items").and_then(Value::as_array_mut) {
        items.retain(|item| item["metadata"]["name"] != "kube-root-ca.crt");
        for item in items {
            *item = without_generated_fields(item.take());
        }
    }
    if let Some(details) = answer.get_mut("details").and_then(Value::as_object_mut) {
        details.remove("uid");
    }
    let is_status = answer["kind"] == "Status";
    if let Some(object) = answer.as_object_mut().filter(|_| !is_status) {
        object.remove("status");
    }
    if let Some(metadata) = answer.get_mut("metadata").and_then(Value::as_object_mut) {
        let own = ["uid", "resourceVersion", "creationTimestamp", "managedFields", "continue"];
        metadata.retain(|name, _| !own.contains(&name.as_str()));
        if let Some(time) = metadata.get_mut("deletionTimestamp") {
            *time = json!("at some time");
        }
    }
    answer
}

/// Replaces `NAME` in a text.
pub fn named(text: &str, name: &str) -> String {
    text.replace("NAME", name)
}

/// Replaces `NAME` in all strings of a value.
pub fn value_named(value: &Value, name: &str) -> Value {
    named(&value.to_string(), name).parse().expect("JSON")
}
