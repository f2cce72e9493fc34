//! Deployments: a ReplicaSet for each template, and their status.

use std::sync::Arc;

use serde_json::{Value, json};

use super::replica_sets::set_count;
use super::replicas::{desired_replicas, is_active};
use super::rollout::{REVISION, Rollout, revision};
use super::{DEPLOYMENTS, REPLICA_SETS, count, hash_name, reference, set_condition};
use crate::metadata::{self, meta};
use crate::state::State;

pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MAX: &str = "deployment.kubernetes.io/max-replicas";
const HASH: &str = "pod-template-hash";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

impl State {
    /// Continues a Deployment's rollout, and writes its status.
    pub(super) fn roll_out(&mut self, deployment: &Value) {
        self.adopt(REPLICA_SETS, deployment);
        let sets = self.controlled(REPLICA_SETS, deployment);
        let is_paused = deployment["spec"]["paused"] == true;
        let new = sets.iter().find(|set| has_template(set, &deployment["spec"]["template"]));
        let old: Vec<Arc<Value>> =
            sets.iter().filter(|set| new.is_none_or(|new| !Arc::ptr_eq(new, set))).cloned().collect();
        let mut rollout = Rollout::new(deployment, new.cloned(), old);
        if is_paused {
            self.scale_paused(deployment, &rollout);
        } else if rollout.new.is_none() {
            let replicas = if self.may_start(deployment, &rollout) { rollout.first_replicas() } else { 0 };
            rollout.new = self.create_set(deployment, &rollout, replicas);
        } else {
            self.continue_rollout(deployment, &rollout);
        }
        self.number_revision(deployment, &rollout);
        let is_complete = self.write_deployment_status(deployment);
        if is_paused || is_complete {
            self.clean_up(deployment);
        }
    }

    /// Returns false if the strategy is `Recreate` and old Pods exist.
    fn may_start(&self, deployment: &Value, rollout: &Rollout) -> bool {
        deployment["spec"]["strategy"]["type"] != "Recreate"
            || rollout
                .old
                .iter()
                .all(|set| self.pods_of(set).iter().all(|pod| !is_active(pod) && !metadata::is_deleted(pod)))
    }

    fn continue_rollout(&mut self, deployment: &Value, rollout: &Rollout) {
        let is_recreated = deployment["spec"]["strategy"]["type"] == "Recreate";
        let Some(new) = &rollout.new else { return };
        if is_recreated {
            for set in rollout.old.iter().filter(|set| desired_replicas(set) > 0) {
                self.scale(deployment, set, 0);
            }
            if self.may_start(deployment, rollout) {
                self.scale(deployment, new, desired_replicas(deployment));
            }
            return;
        }
        self.scale(deployment, new, rollout.new_replicas());
        for (set, replicas) in rollout.old_replicas() {
            self.scale(deployment, &set, replicas);
        }
    }

    /// Scales the active ReplicaSet of a paused Deployment.
    fn scale_paused(&mut self, deployment: &Value, rollout: &Rollout) {
        let sets = rollout.new.iter().chain(&rollout.old);
        let active: Vec<&Arc<Value>> = sets.filter(|set| desired_replicas(set) > 0).collect();
        if let [one] = active.as_slice() {
            self.scale(deployment, one, desired_replicas(deployment));
        }
    }

    fn scale(&mut self, deployment: &Value, set: &Value, replicas: i64) {
        let mut changed = set.clone();
        changed["spec"]["replicas"] = replicas.into();
        annotate(&mut changed, deployment);
        self.update_as(REPLICA_SETS, changed, "");
    }

    fn create_set(&mut self, deployment: &Value, rollout: &Rollout, replicas: i64) -> Option<Arc<Value>> {
        let template = &deployment["spec"]["template"];
        let mut collisions = 0;
        let (hash, name) = loop {
            let hash = hash_name(template, collisions);
            let name = format!("{}-{hash}", meta(deployment, "name"));
            let key = crate::store::key(meta(deployment, "namespace"), &name);
            if self.store.get(REPLICA_SETS, &key).is_none() {
                break (hash, name);
            }
            collisions += 1;
        };
        let mut template = template.clone();
        template["metadata"]["labels"][HASH] = hash.as_str().into();
        let mut selector = deployment["spec"]["selector"].clone();
        selector["matchLabels"][HASH] = hash.as_str().into();
        let mut set = json!({
            "apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {
                "name": name, "namespace": meta(deployment, "namespace"), "labels": template["metadata"]["labels"],
                "annotations": annotations(deployment), "ownerReferences": [reference(deployment)],
            },
            "spec": {"replicas": replicas, "selector": selector, "template": template},
        });
        let ready_seconds = count(deployment, "/spec/minReadySeconds");
        if ready_seconds > 0 {
            set["spec"]["minReadySeconds"] = ready_seconds.into();
        }
        annotate(&mut set, deployment);
        set["metadata"]["annotations"][REVISION] = (rollout.last_revision() + 1).to_string().into();
        self.create_as(REPLICA_SETS, set).map(Arc::new)
    }

    /// Assigns the highest revision to the current ReplicaSet, and copies the revision to the Deployment.
    fn number_revision(&mut self, deployment: &Value, rollout: &Rollout) {
        let Some(new) = &rollout.new else { return };
        let Some(target) = self.target_of(REPLICA_SETS, new) else { return };
        let Ok(current) = self.object(&target) else { return };
        let number = revision(&current).max(rollout.last_revision() + 1);
        let mut changed = Value::clone(&current);
        changed["metadata"]["annotations"][REVISION] = number.to_string().into();
        self.update_as(REPLICA_SETS, changed, "");
        let mut changed = deployment.clone();
        changed["metadata"]["annotations"][REVISION] = number.to_string().into();
        self.update_as(DEPLOYMENTS, changed, "");
    }

    /// Returns true if the rollout is complete.
    fn write_deployment_status(&mut self, deployment: &Value) -> bool {
        let Some(target) = self.target_of(DEPLOYMENTS, deployment) else { return false };
        let Ok(current) = self.object(&target) else { return false };
        let sets = self.controlled(REPLICA_SETS, &current);
        let new = sets.iter().find(|set| has_template(set, &current["spec"]["template"]));
        let sum = |at: &str| sets.iter().map(|set| count(set, at)).sum::<i64>();
        let (all, available) = (sum("/status/replicas"), sum("/status/availableReplicas"));
        let updated = new.map_or(0, |set| count(set, "/status/replicas"));
        let missing = (sum("/spec/replicas") - available).max(0);
        let mut changed = Value::clone(&current);
        let status = &mut changed["status"];
        status["observedGeneration"] = count(deployment, "/metadata/generation").into();
        status["terminatingReplicas"] = sum("/status/terminatingReplicas").into();
        let counts = [
            ("replicas", all),
            ("updatedReplicas", updated),
            ("readyReplicas", sum("/status/readyReplicas")),
            ("availableReplicas", available),
            ("unavailableReplicas", missing),
        ];
        for (field, number) in counts {
            set_count(status, field, usize::try_from(number).unwrap_or_default());
        }
        let replicas = desired_replicas(&current);
        let is_complete = updated == replicas && all == replicas && available == replicas;
        let now = self.settings.clock.now();
        let is_available = available >= replicas - Rollout::new(&current, None, Vec::new()).unavailable;
        set_condition(status, availability(is_available), &now);
        set_condition(status, progress(&current, new.map(|new| &**new), is_complete), &now);
        self.update_as(DEPLOYMENTS, changed, "status");
        is_complete
    }

    /// Deletes the oldest ReplicaSets beyond the history limit, except those that have Pods.
    fn clean_up(&mut self, deployment: &Value) {
        let limit = deployment.pointer("/spec/revisionHistoryLimit").and_then(Value::as_u64).unwrap_or(10);
        let sets = self.controlled(REPLICA_SETS, deployment);
        let is_old =
            |set: &Value| !has_template(set, &deployment["spec"]["template"]) && !metadata::is_deleted(set);
        let mut old: Vec<&Arc<Value>> = sets.iter().filter(|set| is_old(set)).collect();
        old.sort_by_key(|set| revision(set));
        old.truncate(old.len().saturating_sub(usize::try_from(limit).unwrap_or(usize::MAX)));
        old.retain(|set| desired_replicas(set) == 0 && count(set, "/status/replicas") == 0);
        let Some(resource) = self.resources.stored(REPLICA_SETS).cloned() else { return };
        for set in old {
            self.delete_now(&resource, set);
        }
    }
}

/// Returns true if a ReplicaSet has a template, apart from the label with its hash.
fn has_template(set: &Value, template: &Value) -> bool {
    let mut own = set["spec"]["template"].clone();
    let labels = own["metadata"]["labels"].as_object_mut();
    labels.map(|labels| labels.remove(HASH));
    own == *template
}

/// Returns those annotations of a Deployment that its ReplicaSets also get.
fn annotations(deployment: &Value) -> Value {
    let all = deployment["metadata"]["annotations"].as_object().into_iter().flatten();
    let kept = all.filter(|(key, _)| !matches!(key.as_str(), LAST_APPLIED | REVISION | DESIRED | MAX));
    Value::Object(kept.map(|(key, value)| (key.clone(), value.clone())).collect())
}

fn annotate(set: &mut Value, deployment: &Value) {
    let replicas = desired_replicas(deployment);
    let surge = Rollout::new(deployment, None, Vec::new()).surge;
    set["metadata"]["annotations"][DESIRED] = replicas.to_string().into();
    set["metadata"]["annotations"][MAX] = (replicas + surge).to_string().into();
}

fn availability(is_available: bool) -> Value {
    let (status, reason, message) = if is_available {
        ("True", "MinimumReplicasAvailable", "Deployment has minimum availability.")
    } else {
        ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability.")
    };
    json!({"type": "Available", "status": status, "reason": reason, "message": message, "lastUpdateTime": null})
}

fn progress(deployment: &Value, new: Option<&Value>, is_complete: bool) -> Value {
    let name = new.map_or("", |new| meta(new, "name"));
    let (status, reason, message) = if deployment["spec"]["paused"] == true {
        ("Unknown", "DeploymentPaused", "Deployment is paused".to_string())
    } else if is_complete {
        ("True", "NewReplicaSetAvailable", format!("ReplicaSet {name:?} has successfully progressed."))
    } else {
        ("True", "ReplicaSetUpdated", format!("ReplicaSet {name:?} is progressing."))
    };
    json!({"type": "Progressing", "status": status, "reason": reason, "message": message, "lastUpdateTime": null})
}
