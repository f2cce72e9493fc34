//! The Pods of workloads: creates them from a template, counts them, and deletes them in the same order as Kubernetes.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{PODS, count, reference};
use crate::metadata::{self, meta};
use crate::state::{State, text};

/// Returns a Pod of a template, controlled by its owner.
pub(super) fn pod_of(owner: &Value, template: &Value) -> Value {
    let mut metadata = json!({});
    for field in ["labels", "annotations", "finalizers"] {
        if !template["metadata"][field].is_null() {
            metadata[field] = template["metadata"][field].clone();
        }
    }
    metadata["namespace"] = owner["metadata"]["namespace"].clone();
    metadata["generateName"] = format!("{}-", meta(owner, "name")).into();
    metadata["ownerReferences"] = json!([reference(owner)]);
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]})
}

/// Returns true if a Pod is an active replica: not deleted, and neither succeeded nor failed.
pub(super) fn is_active(pod: &Value) -> bool {
    !metadata::is_deleted(pod) && !matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
}

pub(super) fn is_ready(pod: &Value) -> bool {
    let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|one| one["type"] == "Ready" && one["status"] == "True")
}

/// Returns the rank of a Pod. Those with the lowest rank are deleted first.
fn rank(pod: &Value) -> (bool, u8, bool, i64, std::cmp::Reverse<u64>) {
    let phase = match text(pod, "/status/phase") {
        "Pending" => 0,
        "Running" => 2,
        _ => 1,
    };
    let cost = pod["metadata"]["annotations"]["controller.kubernetes.io/pod-deletion-cost"].as_str();
    let cost = cost.and_then(|cost| cost.parse().ok()).unwrap_or(0);
    // Uids are numbered in the order of creation.
    let age = meta(pod, "uid").rsplit('-').next().and_then(|part| u64::from_str_radix(part, 16).ok());
    let is_scheduled = !text(pod, "/spec/nodeName").is_empty();
    (is_scheduled, phase, is_ready(pod), cost, std::cmp::Reverse(age.unwrap_or_default()))
}

impl State {
    /// Returns the Pods that an object controls.
    pub(super) fn pods_of(&self, owner: &Value) -> Vec<Arc<Value>> {
        self.controlled(PODS, owner)
    }

    /// Creates or deletes Pods to match the desired number of replicas.
    pub(super) fn match_replicas(&mut self, owner: &Value, active: &[Arc<Value>], wanted: usize) {
        for _ in active.len()..wanted {
            if self.create_as(PODS, pod_of(owner, &owner["spec"]["template"])).is_none() {
                return;
            }
        }
        let mut surplus: Vec<&Arc<Value>> = active.iter().collect();
        surplus.sort_by_cached_key(|pod| rank(pod));
        surplus.truncate(active.len().saturating_sub(wanted));
        for pod in surplus {
            self.delete_pod(pod);
        }
    }

    /// Deletes a Pod with its grace period.
    pub(super) fn delete_pod(&mut self, pod: &Value) {
        let Some(target) = self.target_of(PODS, pod) else { return };
        // A Pod that no longer exists need not be deleted.
        let _ = self.delete_object(&target, &json!({}), &mut super::options(super::MANAGER));
    }
}

/// Returns the desired number of replicas of an object, 1 by default.
pub(super) fn desired_replicas(owner: &Value) -> i64 {
    owner.pointer("/spec/replicas").map_or(1, |_| count(owner, "/spec/replicas"))
}
