//! The fake client of `examples/fake_client.rs` behind kube-rs. `tests/live` checks that a real API server answers
//! the same requests alike.

#[path = "../../examples/fake_client.rs"]
#[allow(dead_code, reason = "the program of the example is not run here")]
mod example;
mod requester;
mod requests;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Error};
use serde_json::json;

#[test]
fn requests_get_the_responses_of_a_server() {
    requester::block_on(async {
        let name = "fake";
        let client = example::client(&[requests::value_named(&requests::crd(), name)]).expect("a definition");
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
    let client = example::client(&[]).expect("no definitions");
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
    // An unchanged object keeps its revision.
    let again = pods.patch("p", &PatchParams::default(), &Patch::Strategic(&patch)).await.expect("patched");
    assert_eq!(again.metadata.resource_version, patched.metadata.resource_version);

    assert_eq!(pods.list(&ListParams::default()).await.expect("listed").items.len(), 1);
    let none = pods.list(&ListParams::default().labels("a in (b, c)").fields("metadata.name=p")).await;
    assert_eq!(none.expect("listed").items.len(), 0);
    pods.delete("p", &kube::api::DeleteParams::default()).await.expect("deleted");
    assert!(pods.get_opt("p").await.expect("asked").is_none());
}

/// An unsupported request is rejected, not half executed.
#[test]
fn unsupported_requests_are_rejected() {
    requester::block_on(async {
        let client = example::client(&[]).expect("no definitions");
        let maps: Api<ConfigMap> = Api::namespaced(client, "shop");
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}});
        maps.create(&PostParams::default(), &serde_json::from_value(map.clone()).expect("a map"))
            .await
            .expect("made");

        let said = |error: Error| match error {
            Error::Api(status) => (status.code, status.message),
            other => panic!("{other}"),
        };
        let applied = maps.patch("m", &PatchParams::apply("me"), &Patch::Apply(&map)).await;
        let (code, message) = said(applied.expect_err("no server-side apply"));
        assert_eq!(code, 501);
        assert!(message.contains("server-side apply"), "{message}");
        let watched = maps.watch(&kube::api::WatchParams::default(), "0").await.err().expect("no watches");
        assert_eq!(said(watched).0, 501);
        let deleted =
            maps.delete("m", &kube::api::DeleteParams::foreground()).await.expect_err("no collector");
        assert_eq!(said(deleted).0, 501);
        assert!(maps.get_opt("m").await.expect("asked").is_some(), "it is still there");
    });
}
