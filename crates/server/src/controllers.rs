//! Stand-ins for controllers that tests of others rely on. They run within the request that gives them work.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use serde_json::{Value, json};
use smol_str::SmolStr;

use crate::metadata::{self, meta};
use crate::request::{FieldValidation, Target, WriteOptions};
use crate::resources::{Resource, Verb};
use crate::state::{Controller, State};
use crate::store::key;

/// The number of rounds after which controllers stop, although there is still work.
const MAX_ROUNDS: usize = 100;

impl State {
    /// Runs the controllers until they have nothing to do.
    pub(crate) fn run_controllers(&mut self) {
        for _ in 0..MAX_ROUNDS {
            if !std::mem::take(&mut self.has_deletions) {
                return;
            }
            for controller in self.settings.controllers.clone() {
                match controller {
                    Controller::Namespaces => self.finish_namespaces(),
                    Controller::GarbageCollector => self.collect_garbage(),
                }
            }
        }
    }

    /// Returns all objects that can be deleted, with their resources.
    fn deletable(&self) -> Vec<(Arc<Resource>, Arc<Value>)> {
        let mut seen: FxHashSet<SmolStr> = FxHashSet::default();
        let served = self.resources.all().iter().filter(|one| one.has_verb(Verb::Delete));
        let once: Vec<_> = served.filter(|one| seen.insert(one.collection())).cloned().collect();
        let objects = |resource: Arc<Resource>| {
            let all: Vec<_> =
                self.store.list(&resource.collection(), "", "").map(|(_, one)| Arc::clone(one)).collect();
            all.into_iter().map(move |object| (Arc::clone(&resource), object))
        };
        once.into_iter().flat_map(objects).collect()
    }

    fn finish_namespaces(&mut self) {
        let all: Vec<Arc<Value>> =
            self.store.list("namespaces", "", "").map(|(_, one)| Arc::clone(one)).collect();
        for namespace in all.into_iter().filter(|namespace| metadata::is_deleted(namespace)) {
            let name = meta(&namespace, "name").to_string();
            let contents: Vec<_> = self
                .deletable()
                .into_iter()
                .filter(|(_, object)| meta(object, "namespace") == name)
                .collect();
            for (resource, object) in contents {
                self.delete_now(&resource, &object);
            }
            let is_empty = !self.deletable().iter().any(|(_, object)| meta(object, "namespace") == name);
            let Some(resource) = self.resources.find("v1", "namespaces").cloned().filter(|_| is_empty) else {
                continue;
            };
            let mut finished = Value::clone(&namespace);
            finished["spec"] = json!({});
            let has_others = !metadata::finalizers(&finished).is_empty();
            self.write(&resource, &name.as_str().into(), has_others.then_some(finished));
        }
    }

    fn collect_garbage(&mut self) {
        let all = self.deletable();
        let uids: FxHashSet<String> = all.iter().map(|(_, object)| meta(object, "uid").to_string()).collect();
        for (resource, object) in &all {
            let owners = object["metadata"]["ownerReferences"].as_array().map_or(&[][..], Vec::as_slice);
            let is_gone = |owner: &Value| !uids.contains(owner["uid"].as_str().unwrap_or_default());
            if !owners.is_empty() && owners.iter().all(is_gone) && !metadata::is_deleted(object) {
                self.delete_now(resource, object);
            }
        }
        for (resource, object) in &all {
            for finalizer in ["orphan", "foregroundDeletion"] {
                if metadata::is_deleted(object)
                    && metadata::finalizers(object).iter().any(|one| one == finalizer)
                {
                    self.finish_owner(resource, object, finalizer, &all);
                }
            }
        }
    }

    /// Handles the finalizer of a deleted owner: its dependents are released or deleted first.
    fn finish_owner(
        &mut self,
        resource: &Resource,
        owner: &Value,
        finalizer: &str,
        all: &[(Arc<Resource>, Arc<Value>)],
    ) {
        let uid = &owner["metadata"]["uid"];
        let is_owned = |object: &Value| {
            object["metadata"]["ownerReferences"]
                .as_array()
                .into_iter()
                .flatten()
                .any(|one| one["uid"] == *uid)
        };
        let mut is_blocked = false;
        for (resource, object) in all.iter().filter(|(_, object)| is_owned(object)) {
            if finalizer == "orphan" {
                let mut released = Value::clone(object);
                if let Some(owners) = released["metadata"]["ownerReferences"].as_array_mut() {
                    owners.retain(|one| one["uid"] != *uid);
                }
                let key = key(meta(object, "namespace"), meta(object, "name"));
                self.write(resource, &key, Some(released));
            } else {
                self.delete_now(resource, object);
                let key = key(meta(object, "namespace"), meta(object, "name"));
                is_blocked |= self.store.get(&resource.collection(), &key).is_some();
            }
        }
        let key = key(meta(owner, "namespace"), meta(owner, "name"));
        let Some(current) = self.store.get(&resource.collection(), &key).cloned().filter(|_| !is_blocked)
        else {
            return;
        };
        let rest: Vec<Value> =
            metadata::finalizers(&current).iter().filter(|one| *one != finalizer).cloned().collect();
        let mut finished = Value::clone(&current);
        let is_finished = rest.is_empty();
        metadata::set(&mut finished, "finalizers", rest.into());
        self.write(resource, &key, (!is_finished).then_some(finished));
    }

    fn delete_now(&mut self, resource: &Arc<Resource>, object: &Value) {
        let target = Target {
            resource: Arc::clone(resource),
            namespace: meta(object, "namespace").into(),
            name: meta(object, "name").into(),
            subresource: None,
            verb: Verb::Delete,
        };
        let options = WriteOptions {
            is_dry: false,
            is_forced: false,
            manager: "controller".into(),
            field_validation: FieldValidation::Ignore,
            warnings: Vec::new(),
        };
        // An object that is already gone, or that finalizers keep, is looked at again in the next round.
        let _ = self.delete_object(
            &target,
            &json!({"propagationPolicy": "Background", "gracePeriodSeconds": 0}),
            &options,
        );
    }
}
