//! Each row of the table "What differs from a real server" in the book is true.

use std::fs;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use smp_server::{Controller, TestCluster};
use tower::ServiceExt as _;

use super::responses::requester::block_on;

/// The behaviour of the real server in a row, and a check of ours.
type Row = (&'static str, fn(&TestCluster) -> bool);

const ROWS: [Row; 22] = [
    ("requests are authorized", |cluster| send(cluster, "GET", "/api/v1/secrets", "", &Value::Null).0 == 200),
    ("admission webhooks are called", |cluster| {
        cluster.create(webhook()).expect("a webhook");
        cluster.create(pod()).is_ok()
    }),
    ("MutatingAdmissionPolicies change objects", |cluster| {
        create_all(cluster, mutating());
        cluster.create(pod()).expect("a Pod")["metadata"]["labels"].is_null()
    }),
    ("ValidatingAdmissionPolicies are used a second after they are created, in a random order", |cluster| {
        create_all(cluster, validating("b", "false"));
        create_all(cluster, validating("a", "false"));
        cluster.create(pod()).is_err_and(|error| error.message().contains("ValidatingAdmissionPolicy 'a'"))
    }),
    ("expressions of policies may use the `authorizer`, and may cost a certain amount", |cluster| {
        create_all(cluster, validating("a", "authorizer.path('/a').check('get').allowed()"));
        cluster.create(pod()).is_err_and(|error| error.message().contains("cannot evaluate the expression"))
    }),
    ("expressions of policies must have the right types when they are created", |cluster| {
        let [policy, _] = validating("a", "1 + 1");
        cluster.create(policy).is_ok()
    }),
    (
        "CEL rules of CRDs must have the right types, and a limited estimated cost, when they are created",
        |cluster| {
            let mut wrong = definition("as");
            let rules = json!([{"rule": "self.metadata.name == 1"}]);
            wrong["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = rules;
            cluster.create(wrong).is_ok()
        },
    ),
    ("the status of a ValidatingAdmissionPolicy has the warnings of a type check", |cluster| {
        create_all(cluster, validating("a", "object.spec.none == 1"));
        cluster.objects("ValidatingAdmissionPolicy")[0]["status"] == json!({})
    }),
    ("`exec`, `attach`, `portforward` and `proxy` reach containers", |cluster| {
        let path = |name: &str| format!("/api/v1/namespaces/default/pods/a/{name}");
        let code = |name: &str| send(cluster, "GET", &path(name), "", &Value::Null).0;
        ["exec", "attach", "portforward", "proxy"].into_iter().all(|name| code(name) == 501)
    }),
    ("bodies may be protobuf or CBOR", |cluster| {
        let code = |kind: &str| send(cluster, "POST", "/api/v1/namespaces", kind, &json!({})).0;
        code("application/vnd.kubernetes.protobuf") == 415 && code("application/cbor") == 415
    }),
    ("TokenReviews know the tokens of users and ServiceAccounts", |cluster| {
        let review =
            json!({"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "spec": {"token": "a"}});
        let path = "/apis/authentication.k8s.io/v1/tokenreviews";
        let (code, answer) = send(cluster, "POST", path, "application/json", &review);
        code == 201 && answer["status"]["error"] == "invalid bearer token"
    }),
    ("the default ClusterRoles and the Service `kubernetes` exist", |cluster| {
        cluster.objects("ClusterRole").is_empty() && cluster.objects("Service").is_empty()
    }),
    ("columns of tables have descriptions", |cluster| {
        let table = get_table(cluster, "/api/v1/nodes");
        table["columnDefinitions"].as_array().is_some_and(|columns| {
            columns.len() == 10 && columns.iter().all(|column| column["description"] == "")
        })
    }),
    ("the health of etcd is a ComponentStatus", |cluster| {
        let list = send(cluster, "GET", "/api/v1/componentstatuses", "", &Value::Null).1;
        list["items"].as_array().is_some_and(Vec::is_empty)
    }),
    ("`kubectl explain` describes fields", |cluster| {
        let document = send(cluster, "GET", "/openapi/v3/api/v1", "", &Value::Null).1;
        document["components"].is_object() && !document.to_string().contains(r#""description":"#)
    }),
    ("the second of two CRDs with the same kind and group is not served", |cluster| {
        let both = ["as", "bs"].map(definition);
        create_all(cluster, both);
        send(cluster, "GET", "/apis/example.com/v1/bs", "", &Value::Null).0 == 200
    }),
    ("`autoscaling/v1` and `v2`, and events of both groups, are converted", |cluster| {
        cluster.create(autoscaler()).expect("an autoscaler");
        let path = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers/a";
        let found = send(cluster, "GET", path, "", &Value::Null).1;
        found["apiVersion"] == "autoscaling/v1" && found["spec"]["metrics"].is_array()
    }),
    ("quotas are enforced", |cluster| {
        let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "a"}, "spec": {"hard": {"pods": "0"}}});
        cluster.create(quota).expect("a quota");
        cluster.create(pod()).is_ok()
    }),
    ("controllers need time", |cluster| {
        let path = "/apis/apps/v1/namespaces/default/deployments";
        send(cluster, "POST", path, "application/json", &deployment(0));
        cluster.objects("Pod").len() == 2
    }),
    ("Pods are ready after `minReadySeconds`", |cluster| {
        cluster.create(deployment(300)).expect("a Deployment");
        cluster.objects("Deployment")[0]["status"]["availableReplicas"] == 2
    }),
    ("finished Jobs are deleted after `ttlSecondsAfterFinished`", |cluster| {
        cluster.create(job()).expect("a Job");
        cluster.objects("Job")[0]["status"]["conditions"][1]["type"] == "Complete"
    }),
    ("Pods of Jobs have a finalizer until they are counted", |cluster| {
        cluster.create(job()).expect("a Job");
        cluster.objects("Pod").iter().all(|pod| pod["metadata"]["finalizers"].is_null())
    }),
];

fn template(restart: &str) -> Value {
    let spec = json!({"restartPolicy": restart, "containers": [{"name": "a", "image": "a:1"}]});
    json!({"metadata": {"labels": {"app": "a"}}, "spec": spec})
}

fn pod() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": template("Always")["spec"]})
}

fn job() -> Value {
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"},
        "spec": {"ttlSecondsAfterFinished": 0, "template": template("Never")}})
}

fn deployment(seconds: i64) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {
        "replicas": 2, "minReadySeconds": seconds, "selector": {"matchLabels": {"app": "a"}}, "template": template("Always")}})
}

fn create_all(cluster: &TestCluster, objects: [Value; 2]) {
    for object in objects {
        cluster.create(object).expect("a policy or a binding");
    }
}

/// Returns an object of the group of policies about Pods.
fn admission(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn pods() -> Value {
    json!({"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]})
}

fn validating(name: &str, expression: &str) -> [Value; 2] {
    let spec = json!({"matchConstraints": pods(), "validations": [{"expression": expression}]});
    let bound = json!({"policyName": name, "validationActions": ["Deny"]});
    [
        admission("ValidatingAdmissionPolicy", name, &spec),
        admission("ValidatingAdmissionPolicyBinding", name, &bound),
    ]
}

fn mutating() -> [Value; 2] {
    let expression = "Object{metadata: Object.metadata{labels: {'a': 'b'}}}";
    let change = json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}});
    let spec = json!({"matchConstraints": pods(), "reinvocationPolicy": "Never", "mutations": [change]});
    [
        admission("MutatingAdmissionPolicy", "a", &spec),
        admission("MutatingAdmissionPolicyBinding", "a", &json!({"policyName": "a"})),
    ]
}

fn webhook() -> Value {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "a"},
        "webhooks": [{"name": "a.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}]}]})
}

fn autoscaler() -> Value {
    let metric = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}});
    json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}, "spec": {
        "maxReplicas": 3, "metrics": [metric], "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}})
}

fn get_table(cluster: &TestCluster, path: &str) -> Value {
    let request =
        Request::builder().uri(path).header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
    block_on(async {
        let request = request.body(Full::<Bytes>::default()).expect("a request");
        let response = cluster.service().oneshot(request).await.expect("a response");
        let bytes = response.into_body().collect().await.expect("a body").to_bytes();
        serde_json::from_slice(&bytes).expect("JSON")
    })
}

fn send(cluster: &TestCluster, method: &str, path: &str, kind: &str, body: &Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let request = Request::builder().method(method).uri(path).header("content-type", kind);
    block_on(async {
        let request = request.body(Full::<Bytes>::from(body)).expect("a request");
        let response = cluster.service().oneshot(request).await.expect("a response");
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.expect("a body").to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    })
}

fn definition(plural: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.com")},
        "spec": {"group": "example.com", "scope": "Cluster", "names": {"kind": "A", "plural": plural},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}]},
    })
}

#[test]
fn table_of_differences_is_true() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/book/guides/testing.md");
    let text = fs::read_to_string(path).expect("the page");
    let (_, table) = text.split_once("## What differs from a real server").expect("the table");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let rows: Vec<&str> = rows.filter(|row| *row != "on a real server").collect();
    assert_eq!(rows, ROWS.map(|(row, _)| row));
    for (row, is_true) in ROWS {
        let cluster = TestCluster::builder().controllers(Controller::ALL).build().expect("a cluster");
        assert!(is_true(&cluster), "{row}");
    }
}
