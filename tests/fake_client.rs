//! The fake client of `examples/fake_client.rs` behind kube-rs. That a real API server answers the same requests
//! alike is a test of `tests/live`.

#[path = "fake_client/asked.rs"]
mod asked;
#[path = "../examples/fake_client.rs"]
#[allow(dead_code, reason = "the program of the example is not run here")]
mod fake_client;
#[path = "fake_client/requests.rs"]
mod requests;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Error};
use serde_json::json;

#[test]
fn requests_are_answered_as_a_server_answers_them() {
    asked::block_on(async {
        let name = "fake";
        let client =
            fake_client::client(&[requests::value_named(&requests::crd(), name)]).expect("a definition");
        let rows = requests::rows();
        assert!(rows.len() >= 40, "{}", rows.len());
        for row in &rows {
            let answer = asked::answer(&client, row, name).await;
            assert!(asked::is_foreseen(&answer, row), "{} {} {}: {answer:?}", row.method, row.path, row.body);
        }
    });
}

/// What a controller does: it makes an object, changes a part of it, and others' parts stay.
#[test]
fn a_controller_patches_typed_objects() {
    asked::block_on(typed_objects());
}

async fn typed_objects() {
    let client = fake_client::client(&[]).expect("no definitions");
    let pods: Api<Pod> = Api::namespaced(client, "shop");
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
    // Nothing changes: neither does the revision.
    let again = pods.patch("p", &PatchParams::default(), &Patch::Strategic(&patch)).await.expect("patched");
    assert_eq!(again.metadata.resource_version, patched.metadata.resource_version);

    assert_eq!(pods.list(&ListParams::default()).await.expect("listed").items.len(), 1);
    let all = pods.list(&ListParams::default().labels("a=b")).await;
    assert!(
        matches!(all, Err(Error::Api(status)) if status.code == 400),
        "selectors are refused, not ignored"
    );
    pods.delete("p", &kube::api::DeleteParams::default()).await.expect("deleted");
    assert!(pods.get_opt("p").await.expect("asked").is_none());
}
