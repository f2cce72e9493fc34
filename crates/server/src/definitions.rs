//! The deletion of CustomResourceDefinitions, which waits until their objects are deleted.

use serde_json::{Value, json};
use smol_str::SmolStr;

use crate::metadata::{self, meta};
use crate::request::{Target, WriteOptions};
use crate::resources::collection;
use crate::state::{DEFINITIONS, State, text};
use crate::status::{Failure, Result};

/// The finalizer of a definition until its objects are deleted.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

impl State {
    /// Marks a definition as deleted, and deletes its objects. The definition is removed after its last object.
    pub(crate) fn delete_definition(
        &mut self,
        target: &Target,
        old: &Value,
        options: &WriteOptions,
    ) -> Value {
        if metadata::is_deleted(old) {
            return old.clone();
        }
        let now = self.settings.clock.now();
        let mut definition = old.clone();
        definition["metadata"]["deletionTimestamp"] = now.as_str().into();
        let mut finalizers = metadata::finalizers(old).to_vec();
        finalizers.push(CLEANUP.into());
        definition["metadata"]["finalizers"] = finalizers.into();
        let message = "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon";
        let condition = json!({
            "type": "Terminating", "status": "True", "lastTransitionTime": now,
            "reason": "InstanceDeletionPending", "message": message,
        });
        if let Some(conditions) = definition["status"]["conditions"].as_array_mut() {
            conditions.push(condition);
        }
        if options.is_dry {
            return definition;
        }
        let stored = self.write(&target.resource, &target.name.as_str().into(), Some(definition));
        self.delete_objects_of(&stored);
        self.finish_definitions();
        Value::clone(&stored)
    }

    fn delete_objects_of(&mut self, definition: &Value) {
        let Some(resource) = self.resources.stored(&collection_of(definition)).cloned() else { return };
        let objects: Vec<_> =
            self.store.list(&resource.collection(), "", "").map(|(_, one)| one.clone()).collect();
        for object in objects {
            self.delete_now(&resource, &object);
        }
    }

    /// Removes the deleted definitions that have no objects.
    pub(crate) fn finish_definitions(&mut self) {
        let is_finished = |one: &Value| {
            metadata::is_deleted(one) && self.store.list(&collection_of(one), "", "").next().is_none()
        };
        let all = self.store.list(DEFINITIONS, "", "").map(|(_, one)| one);
        let finished: Vec<Value> = all.filter(|one| is_finished(one)).map(|one| Value::clone(one)).collect();
        let Some(resource) = self.resources.stored(DEFINITIONS).cloned() else { return };
        for mut definition in finished {
            let mut finalizers = metadata::finalizers(&definition).to_vec();
            finalizers.retain(|one| one != CLEANUP);
            let key = SmolStr::from(meta(&definition, "name"));
            let is_kept = !finalizers.is_empty();
            if is_kept && finalizers.len() == metadata::finalizers(&definition).len() {
                continue;
            }
            metadata::set(&mut definition, "finalizers", finalizers.into());
            self.write(&resource, &key, is_kept.then_some(definition));
        }
    }

    /// Rejects new objects of a definition that is being deleted.
    pub(crate) fn check_definition(&self, target: &Target, object: &Value) -> Result<()> {
        let gvk = &target.resource.gvk;
        let definition = self.definitions.get(&(gvk.group.clone(), gvk.kind.clone()));
        if !target.resource.is_custom || definition.is_none_or(|one| !metadata::is_deleted(one)) {
            return Ok(());
        }
        let why = "create not allowed while custom resource definition is terminating";
        Err(Failure::forbidden(target.resource.named(meta(object, "name")), why))
    }
}

/// Returns the collection of a definition's objects.
fn collection_of(definition: &Value) -> SmolStr {
    collection(text(definition, "/spec/names/plural"), text(definition, "/spec/group"))
}
