//! A stand-in for the controllers of a cluster: namespaces are emptied, objects without owner are collected, and
//! Deployments get ReplicaSets and Pods that are ready. It acts on the namespaces of one scenario alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use http::{Method, Request};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::{Value, json};

use super::world::World;
use crate::requester::block_on;

/// Reports whether the cluster has kube-controller-manager.
pub(super) fn are_real() -> bool {
    std::env::var_os("SMP_TEST_CONTROLLERS").is_some_and(|value| value == "real")
}

pub(super) struct Controllers {
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Controllers {
    /// Starts them in a thread, unless the cluster has real ones.
    pub(super) fn start(world: &World) -> Self {
        let is_stopped = Arc::new(AtomicBool::new(false));
        let thread = (!are_real()).then(|| {
            let (namespaces, is_stopped) = (world.namespaces(), Arc::clone(&is_stopped));
            let mut collections: Vec<String> = [
                "apis/apps/v1/NS/deployments",
                "apis/apps/v1/NS/replicasets",
                "api/v1/NS/pods",
                "api/v1/NS/configmaps",
                "api/v1/NS/secrets",
            ]
            .map(String::from)
            .to_vec();
            collections.push(format!("apis/{}.example.com/v1/NS/gadgets", world.rig.name));
            let kubeconfig = Kubeconfig::read_from(world.rig.kubeconfig()).expect("a kubeconfig");
            std::thread::spawn(move || {
                block_on(async {
                    let config =
                        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
                    let client = Client::try_from(config.expect("a configuration")).expect("a client");
                    while !is_stopped.load(Ordering::Relaxed) {
                        for namespace in &namespaces {
                            Cycle { client: &client, namespace, collections: &collections }.run().await;
                        }
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                });
            })
        });
        Self { is_stopped, thread }
    }

    pub(super) fn stop(mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the controllers");
        }
    }
}

impl Drop for Controllers {
    /// Ends the thread of a test that failed.
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}

/// One pass over the objects of a namespace. Requests that fail are repeated by the next pass.
struct Cycle<'a> {
    client: &'a Client,
    namespace: &'a str,
    /// Paths of lists, with `NS` for the namespace.
    collections: &'a [String],
}

impl Cycle<'_> {
    async fn run(&self) {
        let mut objects = Vec::new();
        for path in self.collections {
            let path = path.replace("NS", &format!("namespaces/{}", self.namespace));
            let list = self.send(Method::GET, &path, &Value::Null).await.unwrap_or_default();
            let items = list["items"].as_array().cloned().unwrap_or_default();
            objects.extend(items.into_iter().map(|object| (path.clone(), object)));
        }
        if self.is_terminating().await {
            return self.empty(&objects).await;
        }
        self.collect(&objects).await;
        for (path, deployment) in objects.iter().filter(|(path, _)| path.ends_with("/deployments")) {
            if deployment["metadata"]["deletionTimestamp"].is_null() {
                self.roll_out(path, deployment, &objects).await;
            }
        }
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> Option<Value> {
        let content =
            if method == Method::PATCH { "application/merge-patch+json" } else { "application/json" };
        let request =
            Request::builder().method(method).uri(format!("/{path}")).header("Content-Type", content);
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        self.client.request::<Value>(request.body(body).expect("a request")).await.ok()
    }

    async fn is_terminating(&self) -> bool {
        let namespace =
            self.send(Method::GET, &format!("api/v1/namespaces/{}", self.namespace), &Value::Null).await;
        namespace.is_some_and(|namespace| namespace["status"]["phase"] == "Terminating")
    }

    /// Deletes all objects of a terminating namespace, and then the namespace.
    async fn empty(&self, objects: &[(String, Value)]) {
        for (path, object) in objects {
            let name = name(object);
            let nothing = json!({"metadata": {"finalizers": null}});
            self.send(Method::PATCH, &format!("{path}/{name}"), &nothing).await;
            self.send(Method::DELETE, &format!("{path}/{name}"), &Value::Null).await;
        }
        if objects.is_empty() {
            let path = format!("api/v1/namespaces/{}", self.namespace);
            let Some(mut namespace) = self.send(Method::GET, &path, &Value::Null).await else { return };
            namespace["spec"]["finalizers"] = json!([]);
            self.send(Method::PUT, &format!("{path}/finalize"), &namespace).await;
        }
    }

    /// Deletes objects whose owners do not exist, and handles the finalizers of deletion propagation.
    async fn collect(&self, objects: &[(String, Value)]) {
        let uids: FxHashSet<&str> =
            objects.iter().filter_map(|(_, object)| object["metadata"]["uid"].as_str()).collect();
        let mut dependents: FxHashMap<&str, Vec<String>> = FxHashMap::default();
        for (path, object) in objects {
            for owner in object["metadata"]["ownerReferences"].as_array().into_iter().flatten() {
                let (uid, path) =
                    (owner["uid"].as_str().unwrap_or_default(), format!("{path}/{}", name(object)));
                if owner["kind"] != "Secret" && !uids.contains(uid) {
                    self.send(Method::DELETE, &path, &Value::Null).await;
                }
                dependents.entry(uid).or_default().push(path);
            }
        }
        for (path, object) in
            objects.iter().filter(|(_, object)| !object["metadata"]["deletionTimestamp"].is_null())
        {
            let own = dependents.remove(object["metadata"]["uid"].as_str().unwrap_or_default());
            self.finish_deletion(&format!("{path}/{}", name(object)), object, &own.unwrap_or_default()).await;
        }
    }

    async fn finish_deletion(&self, path: &str, object: &Value, dependents: &[String]) {
        let finalizers = object["metadata"]["finalizers"].as_array().cloned().unwrap_or_default();
        let is_orphaning = finalizers.iter().any(|name| name == "orphan");
        for dependent in dependents {
            if is_orphaning {
                let nothing = json!({"metadata": {"ownerReferences": null}});
                self.send(Method::PATCH, dependent, &nothing).await;
            } else {
                self.send(Method::DELETE, dependent, &Value::Null).await;
            }
        }
        if is_orphaning || dependents.is_empty() {
            self.send(Method::PATCH, path, &json!({"metadata": {"finalizers": null}})).await;
        }
    }

    /// Gives a Deployment its ReplicaSet, its Pods, and the status of a complete rollout.
    async fn roll_out(&self, path: &str, deployment: &Value, objects: &[(String, Value)]) {
        let replicas = deployment["spec"]["replicas"].as_u64().unwrap_or(1);
        let Some(set) = self.replica_set(path, deployment, objects).await else { return };
        let pods_path = format!("api/v1/namespaces/{}/pods", self.namespace);
        for number in 0..replicas {
            let pod = format!("{}-{number}", name(&set));
            if objects.iter().any(|(_, object)| name(object) == pod) {
                continue;
            }
            let body = json!({
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": pod, "labels": deployment["spec"]["template"]["metadata"]["labels"],
                    "ownerReferences": [owner(&set, "ReplicaSet")]},
                "spec": deployment["spec"]["template"]["spec"],
            });
            self.send(Method::POST, &pods_path, &body).await;
            let ready = json!([{"type": "Ready", "status": "True"}]);
            let status = json!({"status": {"phase": "Running", "conditions": ready}});
            self.send(Method::PATCH, &format!("{pods_path}/{pod}/status"), &status).await;
        }
        let status = json!({"status": {
            "observedGeneration": deployment["metadata"]["generation"], "replicas": replicas,
            "updatedReplicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas,
            "conditions": [
                {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
                {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
            ],
        }});
        if deployment["status"]["observedGeneration"] != deployment["metadata"]["generation"] {
            self.send(Method::PATCH, &format!("{path}/{}/status", name(deployment)), &status).await;
        }
    }

    async fn replica_set(
        &self,
        path: &str,
        deployment: &Value,
        objects: &[(String, Value)],
    ) -> Option<Value> {
        let set_name = format!("{}-set", name(deployment));
        let found =
            objects.iter().find(|(path, object)| path.ends_with("/replicasets") && name(object) == set_name);
        if let Some((_, set)) = found {
            return Some(set.clone());
        }
        let body = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": set_name, "ownerReferences": [owner(deployment, "Deployment")]},
            "spec": {"replicas": deployment["spec"]["replicas"], "selector": deployment["spec"]["selector"],
                "template": deployment["spec"]["template"]},
        });
        self.send(Method::POST, &path.replace("/deployments", "/replicasets"), &body).await
    }
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn owner(object: &Value, kind: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": kind, "name": name(object), "uid": object["metadata"]["uid"],
        "controller": true, "blockOwnerDeletion": true,
    })
}
