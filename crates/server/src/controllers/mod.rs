//! Stand-ins for controllers on which the tests of users depend. They run within the request that changed an object, so
//! that all controllers have finished before the response is sent.

mod changes;
mod deployments;
mod endpoints;
mod garbage;
mod jobs;
mod namespaces;
mod pods;
mod replica_sets;
mod replicas;
mod rollout;
mod stateful_sets;
mod work;

use std::sync::Arc;

use serde_json::{Value, json};
use smp_validate::LabelSelector;

use crate::metadata::{self, meta};
use crate::request::{FieldValidation, Sender, Target, WriteOptions};
use crate::resources::{Resource, Verb};
use crate::state::{Controller, State};
use crate::subresources::selector_text;

pub(crate) use work::{Item, Work};
use work::{SERVICES, owners};

/// The maximum number of objects that controllers process within one request. The rest is processed in the next one.
const MAX_STEPS: usize = 200_000;

/// The collections of the kinds that controllers write.
pub(super) const PODS: &str = "pods";
pub(super) const CLAIMS: &str = "persistentvolumeclaims";
pub(super) const DEPLOYMENTS: &str = "deployments.apps";
pub(super) const REPLICA_SETS: &str = "replicasets.apps";
pub(super) const STATEFUL_SETS: &str = "statefulsets.apps";
pub(super) const REVISIONS: &str = "controllerrevisions.apps";
pub(super) const JOBS: &str = "jobs.batch";

/// The field manager of controllers.
const MANAGER: &str = "kube-controller-manager";

impl State {
    pub(super) fn runs(&self, controller: Controller) -> bool {
        self.settings.controllers.contains(&controller)
    }

    /// Runs the controllers until they have nothing to do.
    pub(crate) fn run_controllers(&mut self) {
        for _ in 0..MAX_STEPS {
            let Some(item) = self.work.next() else { return };
            self.reconcile(&item);
        }
    }

    fn reconcile(&mut self, item: &Item) {
        let Some(resource) = self.resources.stored(&item.collection).cloned() else { return };
        let find = |state: &Self| state.store.get(&item.collection, &item.key).cloned();
        if self.runs(Controller::GarbageCollector)
            && let Some(object) = find(self)
        {
            self.collect(&resource, &object);
        }
        let Some(object) = find(self) else {
            if item.collection == SERVICES && self.runs(Controller::Endpoints) {
                self.withdraw_endpoints(&item.key);
            }
            return;
        };
        match &*item.collection {
            "namespaces" if self.runs(Controller::Namespaces) => self.finish_namespace(&object),
            PODS if self.runs(Controller::Pods) => self.run_pod(&object),
            CLAIMS | "persistentvolumes" if self.runs(Controller::Pods) => {
                self.release_storage(&resource, &object);
            }
            SERVICES if self.runs(Controller::Endpoints) => self.publish_endpoints(&object),
            _ if metadata::is_deleted(&object) => {}
            DEPLOYMENTS if self.runs(Controller::Deployments) => self.roll_out(&object),
            REPLICA_SETS if self.runs(Controller::ReplicaSets) => self.replicate(&object),
            STATEFUL_SETS if self.runs(Controller::StatefulSets) => self.run_stateful_set(&object),
            JOBS if self.runs(Controller::Jobs) => self.run_job(&object),
            _ => {}
        }
    }

    /// Returns the target of an object.
    fn target_of(&self, collection: &str, object: &Value) -> Option<Target> {
        Some(Target {
            resource: Arc::clone(self.resources.stored(collection)?),
            namespace: meta(object, "namespace").into(),
            name: meta(object, "name").into(),
            subresource: None,
            verb: Verb::Update,
        })
    }

    /// Creates an object. If the server rejects it, the next change of its owner tries again.
    pub(super) fn create_as(&mut self, collection: &str, object: Value) -> Option<Value> {
        let target = self.target_of(collection, &object)?;
        let target = Target { name: String::new(), verb: Verb::Create, ..target };
        self.create_from(&target, object, &mut options(MANAGER)).ok()
    }

    /// Stores a changed object, or its changed status. Nothing is written if nothing changed.
    pub(super) fn update_as(&mut self, collection: &str, changed: Value, subresource: &str) {
        self.update_by(MANAGER, collection, changed, subresource);
    }

    pub(super) fn update_by(&mut self, manager: &str, collection: &str, changed: Value, subresource: &str) {
        let Some(mut target) = self.target_of(collection, &changed) else { return };
        target.subresource = target.resource.subresource(subresource).cloned();
        let Ok(old) = self.object(&target) else { return };
        if *old == changed {
            return;
        }
        let mut options = options(manager);
        let object = self.with_managers(&target, Some(&old), changed, &options);
        // A change that the server rejects has no effect, as for a controller.
        let _ = self.replace(&target, &old, object, &mut options);
    }

    pub(crate) fn delete_now(&mut self, resource: &Arc<Resource>, object: &Value) {
        let Some(target) = self.target_of(&resource.collection(), object) else { return };
        let delete_options = json!({"propagationPolicy": "Background", "gracePeriodSeconds": 0});
        // An object that no longer exists need not be deleted.
        let _ = self.delete_object(&target, &delete_options, &mut options(MANAGER));
    }

    /// Returns the objects of a collection that an object controls, in the order of their keys.
    pub(super) fn controlled(&self, collection: &str, owner: &Value) -> Vec<Arc<Value>> {
        let uid = meta(owner, "uid");
        let all = self.work.dependents(uid).filter(|item| item.collection == collection);
        let found = all.filter_map(|item| self.store.get(collection, &item.key));
        found.filter(|object| controller_of(object).is_some_and(|one| one["uid"] == uid)).cloned().collect()
    }

    /// Makes an object the controller of those objects that its selector matches and that have no controller.
    pub(super) fn adopt(&mut self, collection: &str, owner: &Value) {
        let selector = selector_of(owner);
        let is_orphan = |object: &Value| {
            controller_of(object).is_none()
                && !metadata::is_deleted(object)
                && selects(selector.as_ref(), object)
        };
        let all = self.store.list(collection, meta(owner, "namespace"), "");
        let orphans: Vec<Arc<Value>> =
            all.map(|(_, one)| one).filter(|one| is_orphan(one)).cloned().collect();
        for orphan in orphans {
            let mut adopted = Value::clone(&orphan);
            let mut owners = adopted["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
            owners.push(reference(owner));
            metadata::set(&mut adopted, "ownerReferences", owners.into());
            self.update_as(collection, adopted, "");
        }
    }
}

fn options(manager: &str) -> WriteOptions {
    WriteOptions {
        is_dry: false,
        is_forced: false,
        manager: manager.into(),
        field_validation: FieldValidation::Ignore,
        warnings: Vec::new(),
        sender: Sender::Controller,
        sent: Value::Null,
    }
}

/// Returns the owner reference of an object's controller.
pub(super) fn controller_of(object: &Value) -> Option<&Value> {
    owners(object).iter().find(|owner| owner["controller"] == true)
}

/// Returns the owner reference to an object as controller.
pub(super) fn reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    })
}

/// Returns the selector of a workload. Without a selector, nothing is selected.
pub(super) fn selector_of(owner: &Value) -> Option<LabelSelector> {
    let text = selector_text(&owner["spec"]["selector"]);
    if text.is_empty() { None } else { LabelSelector::parse(&text).ok() }
}

pub(super) fn selects(selector: Option<&LabelSelector>, object: &Value) -> bool {
    let labels = &object["metadata"]["labels"];
    selector.is_some_and(|selector| selector.matches(|key| labels.get(key)?.as_str()))
}

/// Returns a number; 0 if it is absent.
pub(super) fn count(object: &Value, pointer: &str) -> i64 {
    object.pointer(pointer).and_then(Value::as_i64).unwrap_or_default()
}

/// Returns a hash of a value as a name suffix. Each decimal digit is encoded as by `rand.SafeEncodeString`.
pub(super) fn hash_name(value: &Value, salt: i64) -> String {
    const CHARACTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let text = format!("{value}{salt}");
    let hash =
        text.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash.to_string()
        .bytes()
        .map(|digit| char::from(CHARACTERS[usize::from(digit) % CHARACTERS.len()]))
        .collect()
}

/// Sets a condition of a status. The time of the condition is kept if its status is the same.
pub(super) fn set_condition(status: &mut Value, condition: Value, now: &str) {
    let mut condition = condition;
    let mut all = status["conditions"].as_array().cloned().unwrap_or_default();
    let known = all.iter_mut().find(|one| one["type"] == condition["type"]);
    let is_same = known.as_ref().is_some_and(|one| one["status"] == condition["status"]);
    let time = known
        .as_ref()
        .filter(|_| is_same)
        .map_or_else(|| now.into(), |one| one["lastTransitionTime"].clone());
    condition["lastTransitionTime"] = time;
    if condition.get("lastUpdateTime").is_some() {
        let is_unchanged = known.as_ref().is_some_and(|one| {
            is_same && one["reason"] == condition["reason"] && one["message"] == condition["message"]
        });
        let time = known
            .as_ref()
            .filter(|_| is_unchanged)
            .map_or_else(|| now.into(), |one| one["lastUpdateTime"].clone());
        condition["lastUpdateTime"] = time;
    }
    match known {
        Some(one) => *one = condition,
        None => all.push(condition),
    }
    status["conditions"] = all.into();
}
