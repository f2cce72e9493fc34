//! StatefulSets: Pods with ordinals, their claims, and the revisions of their template.

use std::sync::Arc;

use serde_json::{Value, json};

use super::replica_sets::set_count;
use super::replicas::{desired_replicas, is_active, is_ready, pod_of};
use super::{PODS, REVISIONS, STATEFUL_SETS, count, hash_name, reference};
use crate::metadata::{self, meta};
use crate::state::State;
use crate::store::key;

const REVISION_LABEL: &str = "controller-revision-hash";
const NAME_LABEL: &str = "statefulset.kubernetes.io/pod-name";
const INDEX_LABEL: &str = "apps.kubernetes.io/pod-index";

impl State {
    /// Performs the next step for the Pods of a StatefulSet, and writes its status.
    pub(super) fn run_stateful_set(&mut self, set: &Value) {
        self.adopt(PODS, set);
        let update = self.current_revision(set);
        let current = match set["status"]["currentRevision"].as_str() {
            None | Some("") => update.clone(),
            Some(known) => known.to_string(),
        };
        self.step(set, &current, &update);
        self.write_stateful_status(set, &current, &update);
    }

    /// Returns the name of the template's revision. If the revision is new, creates it.
    fn current_revision(&mut self, set: &Value) -> String {
        let mut template = set["spec"]["template"].clone();
        template["$patch"] = "replace".into();
        let data = json!({"spec": {"template": template}});
        let known = self.controlled(REVISIONS, set);
        let last = known.iter().map(|one| count(one, "/revision")).max().unwrap_or_default();
        if let Some(same) = known.iter().find(|one| one["data"] == data) {
            if count(same, "/revision") < last {
                let mut newer = Value::clone(same);
                newer["revision"] = (last + 1).into();
                self.update_as(REVISIONS, newer, "");
            }
            return meta(same, "name").into();
        }
        let hash = hash_name(&data, 0);
        let name = format!("{}-{hash}", meta(set, "name"));
        let mut labels = set["spec"]["template"]["metadata"]["labels"].clone();
        labels["controller.kubernetes.io/hash"] = hash.into();
        let revision = json!({
            "apiVersion": "apps/v1", "kind": "ControllerRevision",
            "metadata": {"name": name, "namespace": meta(set, "namespace"), "labels": labels, "ownerReferences": [reference(set)]},
            "data": data, "revision": last + 1,
        });
        self.create_as(REVISIONS, revision);
        name
    }

    /// Creates missing Pods, deletes surplus ones, or replaces one Pod of an old revision. With `OrderedReady` it
    /// handles one Pod at a time.
    fn step(&mut self, set: &Value, current: &str, update: &str) {
        let first = count(set, "/spec/ordinals/start");
        let ordinals = first..first + desired_replicas(set);
        let is_parallel = set["spec"]["podManagementPolicy"] == "Parallel";
        let partition = count(set, "/spec/updateStrategy/rollingUpdate/partition");
        for ordinal in ordinals.clone() {
            let found = self.ordinal_pod(set, ordinal);
            if found.is_none() {
                let revision = if ordinal < partition { current } else { update };
                self.create_ordinal(set, ordinal, revision);
            }
            if !is_parallel && !found.is_some_and(|pod| is_active(&pod) && is_ready(&pod)) {
                return;
            }
        }
        let mut surplus: Vec<(i64, Arc<Value>)> = self
            .pods_of(set)
            .into_iter()
            .filter_map(|pod| Some((ordinal_of(set, &pod)?, pod)))
            .filter(|(ordinal, pod)| !ordinals.contains(ordinal) && !metadata::is_deleted(pod))
            .collect();
        surplus.sort_by_key(|(ordinal, _)| std::cmp::Reverse(*ordinal));
        surplus.truncate(if is_parallel { usize::MAX } else { 1 });
        if !surplus.is_empty() {
            for (_, pod) in &surplus {
                self.delete_pod(pod);
            }
            return;
        }
        self.replace_outdated(set, ordinals.rev().take_while(|ordinal| *ordinal >= partition), update);
    }

    /// Deletes the last Pod of an old revision if all Pods after it are ready.
    fn replace_outdated(&mut self, set: &Value, ordinals: impl Iterator<Item = i64>, update: &str) {
        if set["spec"]["updateStrategy"]["type"] == "OnDelete" {
            return;
        }
        for ordinal in ordinals {
            let Some(pod) = self.ordinal_pod(set, ordinal) else { return };
            if pod["metadata"]["labels"][REVISION_LABEL] != *update && !metadata::is_deleted(&pod) {
                self.delete_pod(&pod);
                return;
            }
            if !is_ready(&pod) || metadata::is_deleted(&pod) {
                return;
            }
        }
    }

    fn ordinal_pod(&self, set: &Value, ordinal: i64) -> Option<Arc<Value>> {
        let name = format!("{}-{ordinal}", meta(set, "name"));
        self.store.get(PODS, &key(meta(set, "namespace"), &name)).cloned()
    }

    fn create_ordinal(&mut self, set: &Value, ordinal: i64, revision: &str) {
        let name = format!("{}-{ordinal}", meta(set, "name"));
        let mut pod = pod_of(set, &set["spec"]["template"]);
        pod["metadata"]["name"] = name.as_str().into();
        metadata::set(&mut pod, "generateName", format!("{}-", meta(set, "name")).into());
        let labels = &mut pod["metadata"]["labels"];
        labels[REVISION_LABEL] = revision.into();
        labels[NAME_LABEL] = name.as_str().into();
        labels[INDEX_LABEL] = ordinal.to_string().into();
        pod["spec"]["hostname"] = name.as_str().into();
        if !set["spec"]["serviceName"].is_null() {
            pod["spec"]["subdomain"] = set["spec"]["serviceName"].clone();
        }
        for claim in set["spec"]["volumeClaimTemplates"].as_array().into_iter().flatten() {
            self.create_claim(set, claim, &name);
            let kind = claim["metadata"]["name"].as_str().unwrap_or_default();
            let volume =
                json!({"name": kind, "persistentVolumeClaim": {"claimName": format!("{kind}-{name}")}});
            let mut volumes = pod["spec"]["volumes"].as_array().cloned().unwrap_or_default();
            volumes.retain(|one| one["name"] != *kind);
            volumes.push(volume);
            pod["spec"]["volumes"] = volumes.into();
        }
        self.create_as(PODS, pod);
    }

    fn create_claim(&mut self, set: &Value, template: &Value, pod: &str) {
        const CLAIMS: &str = "persistentvolumeclaims";
        let name = format!("{}-{pod}", meta(template, "name"));
        if self.store.get(CLAIMS, &key(meta(set, "namespace"), &name)).is_some() {
            return;
        }
        let mut labels = template["metadata"]["labels"].as_object().cloned().unwrap_or_default();
        labels.extend(set["spec"]["selector"]["matchLabels"].as_object().cloned().unwrap_or_default());
        let claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": template["spec"],
            "metadata": {"name": name, "namespace": meta(set, "namespace"), "labels": labels},
        });
        self.create_as(CLAIMS, claim);
    }

    fn write_stateful_status(&mut self, set: &Value, current: &str, update: &str) {
        let pods: Vec<Arc<Value>> = self.pods_of(set).into_iter().filter(|pod| is_active(pod)).collect();
        let ready = pods.iter().filter(|pod| is_ready(pod)).count();
        let of = |revision: &str| {
            pods.iter().filter(|pod| pod["metadata"]["labels"][REVISION_LABEL] == *revision).count()
        };
        let is_complete = of(update) == pods.len() && ready == pods.len();
        let is_updated =
            is_complete && i64::try_from(pods.len()).is_ok_and(|number| number == desired_replicas(set));
        let current = if is_updated { update } else { current };
        let mut changed = set.clone();
        let status = &mut changed["status"];
        status["observedGeneration"] = count(set, "/metadata/generation").into();
        status["replicas"] = pods.len().into();
        status["availableReplicas"] = ready.into();
        status["collisionCount"] = 0.into();
        status["currentRevision"] = current.into();
        status["updateRevision"] = update.into();
        for (field, number) in
            [("readyReplicas", ready), ("currentReplicas", of(current)), ("updatedReplicas", of(update))]
        {
            set_count(status, field, number);
        }
        self.update_as(STATEFUL_SETS, changed, "status");
    }
}

fn ordinal_of(set: &Value, pod: &Value) -> Option<i64> {
    meta(pod, "name").strip_prefix(meta(set, "name"))?.strip_prefix('-')?.parse().ok()
}
