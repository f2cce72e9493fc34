//! Tests of the controller. Each has a cluster of its own, in the same process.

use std::future::Future;
use std::time::Duration;

use controller_test_example::{Website, run};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{CustomResourceExt as _, ResourceExt as _};
use serde_json::{Value, json};
use smp_server::{Controller, TestCluster, Verb};

const TIMEOUT: Duration = Duration::from_secs(20);

fn cluster() -> TestCluster {
    let definition = serde_json::to_value(Website::crd()).expect("JSON");
    let cluster = TestCluster::builder().crds([definition]).controllers(Controller::ALL).build();
    cluster.expect("a cluster")
}

fn website(name: &str, replicas: i32) -> Website {
    let website = json!({
        "apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": name},
        "spec": {"image": "shop:1", "host": format!("{name}.example.com"), "replicas": replicas},
    });
    serde_json::from_value(website).expect("a website")
}

/// Runs a test beside the controller.
async fn beside_controller(cluster: &TestCluster, test: impl Future<Output = ()>) {
    tokio::select! {
        () = run(cluster.client("default")) => panic!("the controller ended"),
        () = test => {}
    }
}

async fn expect(cluster: &TestCluster, what: &str, is_true: impl Fn(&TestCluster) -> bool) {
    let log = || cluster.request_table();
    assert!(cluster.wait_until(TIMEOUT, is_true).await, "not within {TIMEOUT:?}: {what}\n{}", log());
}

fn ready_replicas(cluster: &TestCluster) -> Value {
    cluster.objects("Website")[0]["status"]["readyReplicas"].clone()
}

fn sites(cluster: &TestCluster) -> Value {
    let maps = cluster.objects("ConfigMap");
    maps.iter().find(|map| map["metadata"]["name"] == "sites").map_or(Value::Null, |map| map["data"].clone())
}

#[tokio::test]
async fn website_gets_pods_and_an_address() {
    let cluster = cluster();
    let websites: Api<Website> = Api::default_namespaced(cluster.client("default"));
    beside_controller(&cluster, async {
        websites.create(&PostParams::default(), &website("shop", 2)).await.expect("created");
        expect(&cluster, "two Pods are ready", |cluster| ready_replicas(cluster) == 2).await;
        assert_eq!(sites(&cluster), json!({"shop": "shop.example.com"}));
        let scale = Patch::Merge(json!({"spec": {"replicas": 3}}));
        websites.patch("shop", &PatchParams::default(), &scale).await.expect("patched");
        expect(&cluster, "three Pods are ready", |cluster| ready_replicas(cluster) == 3).await;
    })
    .await;
}

#[tokio::test]
async fn deleted_website_leaves_nothing() {
    let cluster = cluster();
    let websites: Api<Website> = Api::default_namespaced(cluster.client("default"));
    beside_controller(&cluster, async {
        websites.create(&PostParams::default(), &website("shop", 1)).await.expect("created");
        expect(&cluster, "the Pod is ready", |cluster| ready_replicas(cluster) == 1).await;
        websites.delete("shop", &DeleteParams::default()).await.expect("deleted");
        expect(&cluster, "the finalizer is done", |cluster| cluster.objects("Website").is_empty()).await;
        assert_eq!(sites(&cluster), Value::Null);
        for kind in ["Deployment", "ReplicaSet", "Pod", "Service", "EndpointSlice"] {
            assert_eq!(cluster.objects(kind), [Value::Null; 0], "{kind}");
        }
    })
    .await;
}

#[tokio::test]
async fn controller_survives_faults() {
    let cluster = cluster();
    let websites: Api<Website> = Api::default_namespaced(cluster.client("default"));
    cluster.on(Verb::Patch).kind("Deployment").times(2).reply(503);
    cluster.on(Verb::Patch).kind("Service").times(1).drop_response();
    cluster.on(Verb::Watch).kind("Website").times(1).end_watch_after(1);
    beside_controller(&cluster, async {
        websites.create(&PostParams::default(), &website("shop", 1)).await.expect("created");
        expect(&cluster, "the Pod is ready", |cluster| ready_replicas(cluster) == 1).await;
        cluster.compact();
        cluster.interrupt_watches();
        websites.create(&PostParams::default(), &website("blog", 1)).await.expect("created");
        expect(&cluster, "the second website is listed", |cluster| sites(cluster)["blog"].is_string()).await;
        let failed = cluster.requests().iter().filter(|request| request.code == 503).count();
        assert_eq!(failed, 2);
    })
    .await;
}

#[tokio::test]
async fn invalid_website_is_rejected() {
    let cluster = cluster();
    let websites: Api<Website> = Api::default_namespaced(cluster.client("default"));
    let error = websites.create(&PostParams::default(), &website("shop", 11)).await.expect_err("too many");
    let kube::Error::Api(status) = error else { panic!("{error}") };
    assert_eq!(status.code, 422);
    assert!(
        websites
            .list(&ListParams::default())
            .await
            .expect("a list")
            .iter()
            .all(|one| one.name_any() != "shop")
    );
}
