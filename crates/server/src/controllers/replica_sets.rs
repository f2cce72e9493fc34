//! The ReplicaSet controller: creates or deletes Pods to match `spec.replicas`, and updates the status.

use serde_json::Value;

use super::replicas::{desired_replicas, is_active, is_ready};
use super::{PODS, REPLICA_SETS, count};
use crate::metadata;
use crate::state::State;

impl State {
    /// Creates or deletes the Pods of a ReplicaSet, and writes its status.
    pub(super) fn replicate(&mut self, set: &Value) {
        self.adopt(PODS, set);
        let active: Vec<_> = self.pods_of(set).into_iter().filter(|pod| is_active(pod)).collect();
        let replicas = usize::try_from(desired_replicas(set)).unwrap_or_default();
        self.match_replicas(set, &active, replicas);
        let pods = self.pods_of(set);
        let terminating = pods.iter().filter(|pod| metadata::is_deleted(pod)).count();
        let active: Vec<_> = pods.iter().filter(|pod| is_active(pod)).collect();
        let labels = set["spec"]["template"]["metadata"]["labels"].as_object();
        let is_labelled = |pod: &Value| {
            labels.is_none_or(|all| all.iter().all(|(key, value)| pod["metadata"]["labels"][key] == *value))
        };
        let ready = active.iter().filter(|pod| is_ready(pod)).count();
        let mut changed = set.clone();
        let status = &mut changed["status"];
        status["replicas"] = active.len().into();
        status["terminatingReplicas"] = terminating.into();
        status["observedGeneration"] = count(set, "/metadata/generation").into();
        let labelled = active.iter().filter(|pod| is_labelled(pod)).count();
        for (field, number) in
            [("fullyLabeledReplicas", labelled), ("readyReplicas", ready), ("availableReplicas", ready)]
        {
            set_count(status, field, number);
        }
        self.update_as(REPLICA_SETS, changed, "status");
    }
}

/// Sets a number in a status, or removes it if it is 0.
pub(super) fn set_count(status: &mut Value, field: &str, number: usize) {
    if number > 0 {
        status[field] = number.into();
    } else if let Some(fields) = status.as_object_mut() {
        fields.remove(field);
    }
}
