//! The API server in memory behind kube-rs. `tests/live` checks that a real API server answers the same requests alike.

pub mod requester;
mod requests;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use smp_server::TestCluster;

/// Returns a client of a new cluster with a namespace and CRDs.
fn client(namespace: &str, definitions: impl IntoIterator<Item = Value>) -> kube::Client {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    let cluster = TestCluster::builder().crds(definitions).objects([namespace]).build();
    cluster.expect("valid objects").client("default")
}

#[test]
fn requests_get_the_responses_of_a_server() {
    requester::block_on(async {
        let name = "fake";
        let client = client(name, [requests::value_named(&requests::crd(), name)]);
        let rows = requests::rows();
        assert!(rows.len() >= 150, "{}", rows.len());
        let mut odd = Vec::new();
        for row in &rows {
            let answer = requester::answer(&client, row, name).await;
            if !requester::is_expected(&answer, row) {
                odd.push(format!("{} {} {}: {answer:?}", row.method, row.path, row.body));
            }
        }
        assert!(odd.is_empty(), "{}", odd.join("\n"));
    });
}

/// Acts as a controller: it creates an object and patches a part of it, and fields of others stay.
#[test]
fn a_controller_patches_typed_objects() {
    requester::block_on(typed_objects());
}

async fn typed_objects() {
    let pods: Api<Pod> = Api::namespaced(client("shop", []), "shop");
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [
        {"name": "nginx", "image": "nginx:1.14"}, {"name": "sidecar", "image": "sidecar:v1"},
    ]}});
    let pod = pods.create(&PostParams::default(), &serde_json::from_value(pod).expect("a pod")).await;
    let first = pod.expect("created").metadata.resource_version;
    let patch = json!({"spec": {"containers": [{"name": "nginx", "image": "nginx:1.21"}]}});
    let patched = pods.patch("p", &PatchParams::default(), &Patch::Strategic(&patch)).await.expect("patched");
    assert_ne!(patched.metadata.resource_version, first);
    let images = patched.spec.expect("a spec").containers.into_iter().map(|one| one.image);
    assert_eq!(images.collect::<Option<Vec<_>>>().expect("images"), ["nginx:1.21", "sidecar:v1"]);
    // An unchanged object keeps its revision.
    let again = pods.patch("p", &PatchParams::default(), &Patch::Strategic(&patch)).await.expect("patched");
    assert_eq!(again.metadata.resource_version, patched.metadata.resource_version);

    assert_eq!(pods.list(&ListParams::default()).await.expect("listed").items.len(), 1);
    let none = pods.list(&ListParams::default().labels("a in (b, c)").fields("metadata.name=p")).await;
    assert_eq!(none.expect("listed").items.len(), 0);
    pods.delete("p", &kube::api::DeleteParams::default()).await.expect("deleted");
    assert!(pods.get_opt("p").await.expect("asked").is_none());
}
