//! The stand-ins for controllers, step by step.

use k8s_openapi::api::core::v1::Pod;

use super::*;

const WITHOUT_PODS: [Controller; 5] = [
    Controller::GarbageCollector,
    Controller::Deployments,
    Controller::ReplicaSets,
    Controller::StatefulSets,
    Controller::Jobs,
];

fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": image}]}})
}

fn deployment(image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"replicas": 4, "selector": {"matchLabels": {"app": "web"}}, "template": template(image),
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}},
    })
}

fn cluster(object: Value) -> TestCluster {
    TestCluster::builder().controllers(WITHOUT_PODS).objects([object]).build().expect("a cluster")
}

/// Sets the phase of a Pod. A running Pod is ready.
async fn set_phase(cluster: &TestCluster, name: &str, phase: &str) {
    let pods: Api<Pod> = Api::default_namespaced(cluster.client("default"));
    let ready = if phase == "Running" { "True" } else { "False" };
    let status = json!({"status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}]}});
    pods.patch_status(name, &PatchParams::default(), &Patch::Merge(status)).await.expect("patched");
}

fn images(cluster: &TestCluster) -> Vec<String> {
    let pods = cluster.objects("Pod");
    let image = |pod: &Value| pod["spec"]["containers"][0]["image"].as_str().unwrap_or_default().to_string();
    let mut images: Vec<String> = pods.iter().map(image).collect();
    images.sort();
    images
}

async fn make_all_ready(cluster: &TestCluster) {
    for pod in cluster.objects("Pod") {
        set_phase(cluster, pod["metadata"]["name"].as_str().expect("a name"), "Running").await;
    }
}

#[test]
fn rollouts_wait_for_ready_pods() {
    let cluster = cluster(deployment("web:1"));
    run(async {
        let status = || cluster.objects("Deployment")[0]["status"].clone();
        assert_eq!(status()["unavailableReplicas"], 4);
        make_all_ready(&cluster).await;
        assert_eq!((&status()["readyReplicas"], &status()["updatedReplicas"]), (&json!(4), &json!(4)));
        let deployments: Api<Deployment> = Api::default_namespaced(cluster.client("default"));
        let update = json!({"spec": {"template": template("web:2")}});
        deployments.patch("web", &PatchParams::default(), &Patch::Strategic(update)).await.expect("patched");
        // One Pod more than the replicas, and one ready Pod less.
        assert_eq!(images(&cluster), ["web:1", "web:1", "web:1", "web:2", "web:2"]);
        for _ in 0..4 {
            make_all_ready(&cluster).await;
        }
        assert_eq!(images(&cluster), ["web:2"; 4]);
        assert_eq!(status()["updatedReplicas"], 4);
        let revisions: Vec<Value> = cluster
            .objects("ReplicaSet")
            .iter()
            .map(|set| set["metadata"]["annotations"]["deployment.kubernetes.io/revision"].clone())
            .collect();
        assert!(revisions.contains(&json!("1")) && revisions.contains(&json!("2")), "{revisions:?}");
    });
}

#[test]
fn old_replica_sets_are_deleted_after_the_rollout() {
    let mut object = deployment("web:1");
    object["spec"]["revisionHistoryLimit"] = 0.into();
    let cluster = cluster(object);
    run(async {
        make_all_ready(&cluster).await;
        let deployments: Api<Deployment> = Api::default_namespaced(cluster.client("default"));
        let update = json!({"spec": {"template": template("web:2")}});
        deployments.patch("web", &PatchParams::default(), &Patch::Strategic(update)).await.expect("patched");
        let mut had_empty_set = false;
        for _ in 0..4 {
            for pod in cluster.objects("Pod") {
                set_phase(&cluster, pod["metadata"]["name"].as_str().expect("a name"), "Running").await;
                let status = &cluster.objects("Deployment")[0]["status"];
                let is_complete = ["replicas", "updatedReplicas", "availableReplicas"]
                    .iter()
                    .all(|field| status[field] == 4);
                let sets = cluster.objects("ReplicaSet");
                assert_eq!(sets.len() == 1, is_complete, "{status}");
                had_empty_set |= sets.iter().any(|set| set["spec"]["replicas"] == 0);
            }
        }
        assert!(had_empty_set, "the old ReplicaSet had no Pods before the rollout was complete");
        assert_eq!(cluster.objects("ReplicaSet").len(), 1);
    });
}

#[test]
fn failed_pods_are_replaced_until_a_job_fails() {
    let job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "load"},
        "spec": {"backoffLimit": 1, "completions": 2, "parallelism": 1, "template": {
            "spec": {"restartPolicy": "Never", "containers": [{"name": "load", "image": "load:1"}]}}},
    });
    let cluster = cluster(job);
    run(async {
        let status = || cluster.objects("Job")[0]["status"].clone();
        let active = || {
            let pods = cluster.objects("Pod");
            let pending = pods.iter().find(|pod| pod["status"]["phase"] == "Pending");
            pending.and_then(|pod| pod["metadata"]["name"].as_str()).map(str::to_string)
        };
        set_phase(&cluster, &active().expect("a Pod"), "Succeeded").await;
        assert_eq!((&status()["succeeded"], &status()["active"]), (&json!(1), &json!(1)));
        set_phase(&cluster, &active().expect("a second Pod"), "Failed").await;
        set_phase(&cluster, &active().expect("a third Pod"), "Failed").await;
        assert_eq!(active(), None);
        let conditions = status()["conditions"].clone();
        assert_eq!(conditions[1]["type"], "Failed");
        assert_eq!(conditions[1]["reason"], "BackoffLimitExceeded");
    });
}

#[test]
fn stateful_pods_are_created_in_order() {
    let set = json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
        "spec": {"replicas": 2, "serviceName": "db", "selector": {"matchLabels": {"app": "web"}}, "template": template("db:1")},
    });
    let cluster = cluster(set);
    run(async {
        let names = || {
            let pods = cluster.objects("Pod");
            pods.iter()
                .map(|pod| pod["metadata"]["name"].as_str().expect("a name").to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(), ["db-0"], "the second one waits for the first one");
        set_phase(&cluster, "db-0", "Running").await;
        assert_eq!(names(), ["db-0", "db-1"]);
        set_phase(&cluster, "db-1", "Running").await;
        let status = cluster.objects("StatefulSet")[0]["status"].clone();
        assert_eq!(
            (&status["readyReplicas"], &status["currentRevision"]),
            (&json!(2), &status["updateRevision"])
        );
    });
}

#[test]
fn owners_in_a_circle_are_deleted() {
    let cluster = TestCluster::builder().controllers(Controller::ALL).build().expect("a cluster");
    run(async {
        let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client("default"));
        for name in ["a", "b"] {
            let map = typed(json!({"metadata": {"name": name}}));
            maps.create(&PostParams::default(), &map).await.expect("created");
        }
        for (name, owner) in [("a", "b"), ("b", "a")] {
            let uid = maps.get(owner).await.expect("there").uid();
            let owners = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": owner, "uid": uid, "blockOwnerDeletion": true}]);
            let patch = Patch::Merge(json!({"metadata": {"ownerReferences": owners}}));
            maps.patch(name, &PatchParams::default(), &patch).await.expect("patched");
        }
        maps.delete("a", &DeleteParams::background()).await.expect("deleted");
        assert!(cluster.objects("ConfigMap").is_empty());
    });
}

#[test]
fn functions_of_a_test_admit_requests() {
    let cluster = TestCluster::builder()
        .admission(|review| {
            if review.name == "bad" {
                return Err("no".into());
            }
            if !review.object.is_null() {
                review.object["metadata"]["labels"]["seen"] = "yes".into();
            }
            Ok(())
        })
        .build()
        .expect("a cluster");
    run(async {
        let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client("default"));
        let create = |name: &str| {
            let (maps, map) = (maps.clone(), typed(json!({"metadata": {"name": name}})));
            async move { maps.create(&PostParams::default(), &map).await }
        };
        assert_eq!(create("good").await.expect("admitted").labels()["seen"], "yes");
        let kube::Error::Api(status) = create("bad").await.expect_err("rejected") else {
            panic!("no status")
        };
        assert_eq!(status.message, r#"admission webhook "test" denied the request: no"#);
    });
}

#[test]
fn faults_break_connections_and_hide_changes() {
    let cluster = TestCluster::new();
    run(async {
        let maps: Api<ConfigMap> = Api::default_namespaced(cluster.client("default"));
        let map = typed(json!({"metadata": {"name": "a"}}));
        cluster.on(Verb::Create).times(1).drop_request();
        maps.create(&PostParams::default(), &map).await.expect_err("lost");
        assert!(cluster.objects("ConfigMap").is_empty());
        let before = cluster.resource_version();
        cluster.on(Verb::Create).times(1).drop_response();
        maps.create(&PostParams::default(), &map).await.expect_err("lost");
        assert_eq!(cluster.objects("ConfigMap").len(), 1);
        cluster.on(Verb::Get).times(1).stale(before);
        assert!(maps.get_opt("a").await.expect("a response").is_none());
        assert!(maps.get_opt("a").await.expect("a response").is_some());
        cluster.on(Verb::List).times(1).cut_response();
        maps.list(&ListParams::default()).await.expect_err("half of a list");
        cluster.on(Verb::Watch).end_watch_after(1);
        let watch = maps.watch(&WatchParams::default(), "0").await.expect("a watch");
        assert_eq!(watch.try_collect::<Vec<_>>().await.expect("events").len(), 1);
        assert!(cluster.request_table().contains("dropped"), "{}", cluster.request_table());
    });
}
