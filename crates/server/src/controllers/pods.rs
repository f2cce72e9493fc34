//! Stands in for the scheduler and the kubelet: Pods are scheduled, get an address, and are ready immediately. The Pods
//! of Jobs succeed.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{CLAIMS, JOBS, PODS, controller_of, set_condition};
use crate::metadata::{self, meta};
use crate::resources::Resource;
use crate::state::{State, text};
use crate::store::key;

/// The node of Pods in a cluster without nodes.
const NODE: &str = "test-node";
const NODE_ADDRESS: &str = "192.0.2.10";

impl State {
    /// Moves a Pod to its next state.
    pub(super) fn run_pod(&mut self, pod: &Value) {
        if metadata::is_deleted(pod) {
            if let Some(resource) = self.resources.stored(PODS).cloned() {
                self.delete_now(&resource, pod);
            }
        } else if text(pod, "/spec/nodeName").is_empty() {
            self.schedule(pod);
        } else if text(pod, "/status/phase") == "Pending" {
            self.start(pod);
        }
    }

    /// Assigns a Pod to a node, unless it has scheduling gates or all nodes are unschedulable.
    fn schedule(&mut self, pod: &Value) {
        if pod["spec"]["schedulingGates"].as_array().is_some_and(|gates| !gates.is_empty()) {
            return;
        }
        let nodes = self.store.list("nodes", "", "").map(|(_, node)| node);
        let free = nodes.filter(|node| node["spec"]["unschedulable"] != true);
        let names: Vec<String> = free.map(|node| meta(node, "name").to_string()).collect();
        let has_nodes = self.store.list("nodes", "", "").next().is_some();
        let node = match names.len() {
            0 if has_nodes => return,
            0 => NODE.to_string(),
            many => names[usize::try_from(self.addresses).unwrap_or_default() % many].clone(),
        };
        let Some(resource) = self.resources.stored(PODS).cloned() else { return };
        let now = self.settings.clock.now();
        let mut scheduled = pod.clone();
        scheduled["spec"]["nodeName"] = node.into();
        let condition = json!({"type": "PodScheduled", "status": "True", "lastProbeTime": null});
        set_condition(&mut scheduled["status"], condition, &now);
        let key = key(meta(pod, "namespace"), meta(pod, "name"));
        self.write(&resource, &key, Some(scheduled));
    }

    /// Removes the finalizer of deleted storage that no Pod uses.
    pub(super) fn release_storage(&mut self, resource: &Arc<Resource>, storage: &Value) {
        let name = meta(storage, "name");
        let uses = |pod: &Value| claims(pod).any(|claim| claim == name);
        let is_claim = resource.collection() == CLAIMS;
        let is_used =
            is_claim && self.store.list(PODS, meta(storage, "namespace"), "").any(|(_, pod)| uses(pod));
        if !metadata::is_deleted(storage) || is_used {
            return;
        }
        let finalizer = if is_claim { "kubernetes.io/pvc-protection" } else { "kubernetes.io/pv-protection" };
        self.drop_finalizer(resource, storage, finalizer);
    }

    /// Starts the containers of a Pod.
    fn start(&mut self, pod: &Value) {
        let now = self.settings.clock.now();
        let owner = controller_of(pod).and_then(|owner| self.work.item(owner["uid"].as_str()?));
        let ends = owner.is_some_and(|item| item.collection == JOBS);
        self.addresses += 1;
        let (third, fourth) = (self.addresses / 254 % 256, self.addresses % 254 + 1);
        let address = format!("10.244.{third}.{fourth}");
        let mut started = pod.clone();
        let status = &mut started["status"];
        status["phase"] = if ends { "Succeeded" } else { "Running" }.into();
        status["hostIP"] = NODE_ADDRESS.into();
        status["hostIPs"] = json!([{"ip": NODE_ADDRESS}]);
        status["podIP"] = address.as_str().into();
        status["podIPs"] = json!([{"ip": address}]);
        status["startTime"] = now.as_str().into();
        for kind in ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"] {
            let is_over = ends && matches!(kind, "PodReadyToStartContainers" | "Ready" | "ContainersReady");
            let mut condition = json!({"type": kind, "status": if is_over { "False" } else { "True" }, "lastProbeTime": null});
            if ends && kind != "PodScheduled" && kind != "PodReadyToStartContainers" {
                condition["reason"] = "PodCompleted".into();
            }
            set_condition(status, condition, &now);
        }
        let initial = pod["spec"]["initContainers"].as_array().into_iter().flatten();
        let initial: Vec<Value> = initial
            .map(|one| container_status(one, ends || one["restartPolicy"] != "Always", &now))
            .collect();
        let main = pod["spec"]["containers"].as_array().into_iter().flatten();
        status["containerStatuses"] = main.map(|one| container_status(one, ends, &now)).collect();
        if !initial.is_empty() {
            status["initContainerStatuses"] = initial.into();
        }
        self.update_by("kubelet", PODS, started, "status");
    }
}

/// Returns the names of the claims that a Pod mounts.
pub(super) fn claims(pod: &Value) -> impl Iterator<Item = &str> {
    let volumes = pod["spec"]["volumes"].as_array().into_iter().flatten();
    volumes.filter_map(|volume| volume["persistentVolumeClaim"]["claimName"].as_str())
}

fn container_status(container: &Value, ends: bool, now: &str) -> Value {
    let id = format!("test://{}", container["name"].as_str().unwrap_or_default());
    let state = if ends {
        json!({"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now, "containerID": id}})
    } else {
        json!({"running": {"startedAt": now}})
    };
    json!({
        "name": container["name"], "image": container["image"], "imageID": container["image"], "containerID": id,
        "restartCount": 0, "ready": !ends, "started": !ends, "state": state, "lastState": {},
    })
}
