//! Requests that the random ones do not make: reviews, discovery, deprecated versions, addresses of Services.

use kube::Client;
use serde_json::{Value, json};
use smp_server::TestCluster;

use super::super::requester::block_on;
use super::super::rig::{Rig, eventually};
use super::Side;
use super::differences::{Verdict, compare};
use super::sequence::{Body, Request};

const ACCESS: &str = "/apis/authorization.k8s.io/v1";
const IDENTITY: &str = "/apis/authentication.k8s.io/v1";
const SERVICES: &str = "/api/v1/namespaces/NAME/services";
const CREATE: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

/// Returns a CRD of three versions, two of them deprecated. `NAME` stands for the name of the test.
fn definition() -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let version = |name: &str| json!({"name": name, "served": true, "storage": name == "v1", "deprecated": name != "v1", "schema": schema});
    let mut warned = version("v1alpha1");
    warned["deprecationWarning"] = r#"use v1, "please""#.into();
    let names =
        json!({"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.NAME.example.com"},
        "spec": {"group": "NAME.example.com", "scope": "Namespaced", "names": names, "versions": [version("v1"), version("v1beta1"), warned]}})
}

fn requests() -> Vec<Request> {
    let request = |method, path: String, content_type, body: Value| Request {
        method,
        path,
        content_type,
        body: if body.is_null() { Body::None } else { Body::Value(body) },
    };
    let mut all: Vec<Request> =
        reviews().into_iter().map(|(path, body)| request("POST", path, CREATE, body)).collect();
    for path in ["selfsubjectaccessreviews", "subjectaccessreviews", "selfsubjectrulesreviews"] {
        all.push(request("GET", format!("{ACCESS}/{path}"), CREATE, Value::Null));
        all.push(request("DELETE", format!("{ACCESS}/{path}"), CREATE, Value::Null));
    }
    for (name, address, changes) in services() {
        let spec = json!({"selector": {"app": "web"}, "clusterIP": address, "ports": [{"port": 80}]});
        all.push(request("POST", SERVICES.into(), CREATE, json!({"metadata": {"name": name}, "spec": spec})));
        let patch =
            |spec: Value| request("PATCH", format!("{SERVICES}/{name}"), MERGE, json!({"spec": spec}));
        all.extend(changes.into_iter().map(patch));
    }
    for version in ["v1", "v1beta1", "v1alpha1"] {
        let path = format!("/apis/NAME.example.com/{version}/namespaces/NAME/gadgets");
        let gadget = json!({"apiVersion": format!("NAME.example.com/{version}"), "kind": "Gadget", "metadata": {"name": version}});
        all.push(request("POST", path.clone(), CREATE, gadget));
        all.push(request("PATCH", format!("{path}/{version}"), MERGE, json!({"a": 1})));
        all.push(request("GET", format!("{path}/none"), CREATE, Value::Null));
        all.push(request("DELETE", format!("{path}/{version}"), CREATE, Value::Null));
        all.push(request("GET", format!("/apis/NAME.example.com/{version}"), CREATE, Value::Null));
    }
    all
}

/// Returns reviews that a server with RBAC answers as one that allows everything.
fn reviews() -> Vec<(String, Value)> {
    let pods = json!({"verb": "get", "resource": "pods"});
    let mut own = pods.clone();
    own["namespace"] = "NAME".into();
    let masters = json!(["system:masters"]);
    let access = [
        ("selfsubjectaccessreviews", json!({"spec": {"resourceAttributes": pods}})),
        (
            "selfsubjectaccessreviews",
            json!({"spec": {"nonResourceAttributes": {"verb": "get", "path": "/x"}}}),
        ),
        ("selfsubjectaccessreviews", json!({"spec": {}})),
        (
            "selfsubjectaccessreviews",
            json!({"spec": {"nonResourceAttributes": {"path": "/x"}, "resourceAttributes": pods}}),
        ),
        (
            "selfsubjectaccessreviews",
            json!({"metadata": {"name": "a"}, "spec": {"resourceAttributes": pods}}),
        ),
        (
            "selfsubjectaccessreviews?fieldValidation=Strict",
            json!({"spec": {"x": 1, "resourceAttributes": pods}}),
        ),
        ("selfsubjectaccessreviews?dryRun=All", json!({"spec": {"resourceAttributes": pods}})),
        (
            "subjectaccessreviews",
            json!({"spec": {"user": "bob", "groups": masters, "resourceAttributes": pods}}),
        ),
        ("subjectaccessreviews", json!({"spec": {"resourceAttributes": pods}})),
        (
            "namespaces/NAME/localsubjectaccessreviews",
            json!({"spec": {"user": "bob", "groups": masters, "resourceAttributes": own}}),
        ),
        (
            "namespaces/NAME/localsubjectaccessreviews",
            json!({"spec": {"user": "bob", "resourceAttributes": pods}}),
        ),
        (
            "namespaces/NAME/localsubjectaccessreviews",
            json!({"spec": {"user": "bob", "nonResourceAttributes": {"path": "/x"}}}),
        ),
        (
            "namespaces/NAME/localsubjectaccessreviews",
            json!({"metadata": {"namespace": "other"}, "spec": {"user": "bob"}}),
        ),
        ("selfsubjectrulesreviews", json!({"spec": {}})),
        ("selfsubjectrulesreviews", json!([])),
    ];
    let identity = [
        ("selfsubjectreviews", json!({})),
        (
            "selfsubjectreviews",
            json!({"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "metadata": {"name": "a"}}),
        ),
        ("selfsubjectreviews", json!({"kind": "TokenReview"})),
        ("tokenreviews", json!({"spec": {"token": "unknown"}})),
        (
            "tokenreviews",
            json!({"metadata": {"name": "a"}, "spec": {"token": "unknown", "audiences": ["x"]}}),
        ),
        ("tokenreviews", json!({"spec": {}})),
    ];
    let access = access.into_iter().map(|(path, body)| (format!("{ACCESS}/{path}"), body));
    access.chain(identity.into_iter().map(|(path, body)| (format!("{IDENTITY}/{path}"), body))).collect()
}

/// Returns Services with changes of their addresses.
fn services() -> [(&'static str, Value, Vec<Value>); 2] {
    let changes = || {
        vec![
            json!({"clusterIP": "10.0.0.200"}),
            json!({"clusterIP": "10.0.0.200", "clusterIPs": ["10.0.0.200"]}),
            json!({"clusterIP": "None", "clusterIPs": ["None"]}),
            json!({"clusterIP": null}),
            json!({"clusterIP": null, "clusterIPs": null}),
            json!({"clusterIPs": null}),
            json!({"clusterIP": "x"}),
            json!({"clusterIP": ""}),
            json!({"clusterIPs": ["10.0.0.3"]}),
            json!({"type": "ExternalName", "externalName": "www.example.com"}),
            json!({"type": "ClusterIP", "externalName": null}),
            json!({"type": "NodePort"}),
            json!({"ports": [{"port": 81, "name": "a"}, {"port": 80, "name": "b"}]}),
            json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local"}),
            json!({"ports": [{"port": 81, "name": "b"}, {"port": 80, "name": "c"}]}),
            json!({"type": "ClusterIP"}),
        ]
    };
    [("headless", "None".into(), changes()), ("usual", Value::Null, changes())]
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn reviews_discovery_and_addresses_in_memory_are_those_of_the_real_one() {
    let rig = Rig::new();
    rig.create_namespace();
    let named = |value: &Value| value.to_string().replace("NAME", &rig.name);
    let path = rig.file("definition.json", &definition().to_string());
    rig.kubectl(&["apply", "--server-side", "-f", path.to_str().expect("UTF-8")]);
    eventually("the kind is served", || {
        rig.try_kubectl(&["get", "--raw", &format!("/apis/{}.example.com/v1alpha1/gadgets", rig.name)]).status
            == 0
    });
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": rig.name}});
    let definition: Value = serde_json::from_str(&named(&definition())).expect("JSON");
    let cluster = TestCluster::builder().objects([namespace, definition]).build().expect("a cluster");
    let mut found = Vec::new();
    block_on(async {
        let real = super::client_of(&rig).await;
        let mut sides = [real.clone(), cluster.client("default")]
            .map(|client: Client| Side { client, last: Value::Null });
        let groups = cluster_groups(&mut sides[1], &rig.name).await;
        let discovery = groups.iter().map(|path| Request {
            method: "GET",
            path: path.clone(),
            content_type: CREATE,
            body: Body::None,
        });
        for mut request in requests().into_iter().chain(discovery) {
            request.path = request.path.replace("NAME", &rig.name);
            if let Body::Value(body) = &request.body {
                request.body = Body::Value(serde_json::from_str(&named(body)).expect("JSON"));
            }
            let [real, memory] = &mut sides;
            let (real, memory) =
                (real.answer(&request, &rig.name).await, memory.answer(&request, &rig.name).await);
            if let Verdict::Different(text) = compare(&real, &memory) {
                found.push(format!("{} {} {:?}\n{text}", request.method, request.path, request.body));
            }
        }
    });
    assert!(found.is_empty(), "{} requests differ:\n{}", found.len(), found.join("\n\n"));
}

/// Returns the paths of all groups and versions, except those of definitions of other tests.
async fn cluster_groups(memory: &mut Side, namespace: &str) -> Vec<String> {
    let request = Request { method: "GET", path: "/apis".into(), content_type: CREATE, body: Body::None };
    let groups = memory.answer(&request, namespace).await.body;
    let groups = groups["groups"].as_array().cloned().unwrap_or_default();
    let versions = groups.iter().flat_map(|group| group["versions"].as_array().into_iter().flatten());
    let paths =
        versions.map(|version| format!("/apis/{}", version["groupVersion"].as_str().unwrap_or_default()));
    let names = groups.iter().map(|group| format!("/apis/{}", group["name"].as_str().unwrap_or_default()));
    std::iter::once("/api/v1".to_string()).chain(names).chain(paths).collect()
}
