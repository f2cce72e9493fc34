//! Garbage collection: deletes objects whose owners were deleted, and handles the finalizers of foreground deletion and
//! orphaning.

use std::sync::Arc;

use serde_json::Value;

use super::work::owners;
use crate::metadata::{self, meta};
use crate::resources::Resource;
use crate::state::State;
use crate::store::key;

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// The state of an owner from the view of its dependents.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Present,
    /// It waits for the deletion of its dependents.
    Waiting,
    Absent,
}

impl State {
    /// Deletes an object without owners, and finishes the deletion of an owner.
    pub(super) fn collect(&mut self, resource: &Arc<Resource>, object: &Value) {
        if metadata::is_deleted(object) {
            let has = |name: &str| metadata::finalizers(object).iter().any(|one| one == name);
            if has(ORPHAN) {
                self.release_dependents(object);
                self.drop_finalizer(resource, object, ORPHAN);
            } else if has(FOREGROUND) && !self.delete_dependents(object) {
                self.drop_finalizer(resource, object, FOREGROUND);
            }
            return;
        }
        let states: Vec<Owner> = owners(object).iter().map(|owner| self.owner_state(owner)).collect();
        if states.iter().all(|state| *state == Owner::Present) {
            return;
        }
        if !states.contains(&Owner::Present) {
            self.delete_now(resource, object);
            return;
        }
        let kept: Vec<Value> = owners(object)
            .iter()
            .zip(&states)
            .filter(|(_, state)| **state == Owner::Present)
            .map(|(owner, _)| owner.clone())
            .collect();
        let mut changed = object.clone();
        metadata::set(&mut changed, "ownerReferences", kept.into());
        self.update_as(&resource.collection(), changed, "");
    }

    fn owner_state(&self, owner: &Value) -> Owner {
        let item = owner["uid"].as_str().and_then(|uid| self.work.item(uid));
        let Some(found) = item.and_then(|item| self.store.get(&item.collection, &item.key)) else {
            return Owner::Absent;
        };
        let is_waiting =
            metadata::is_deleted(found) && metadata::finalizers(found).iter().any(|one| one == FOREGROUND);
        if is_waiting { Owner::Waiting } else { Owner::Present }
    }

    /// Returns the objects that refer to an owner, with their resources.
    fn dependents_of(&self, owner: &Value) -> Vec<(Arc<Resource>, Arc<Value>)> {
        let all = self.work.dependents(meta(owner, "uid"));
        all.filter_map(|item| {
            let resource = Arc::clone(self.resources.stored(&item.collection)?);
            Some((resource, Arc::clone(self.store.get(&item.collection, &item.key)?)))
        })
        .collect()
    }

    /// Removes the references to an owner from its dependents.
    fn release_dependents(&mut self, owner: &Value) {
        let uid = &owner["metadata"]["uid"];
        for (resource, dependent) in self.dependents_of(owner) {
            let kept: Vec<Value> =
                owners(&dependent).iter().filter(|one| one["uid"] != *uid).cloned().collect();
            let mut released = Value::clone(&dependent);
            metadata::set(
                &mut released,
                "ownerReferences",
                if kept.is_empty() { Value::Null } else { kept.into() },
            );
            self.update_as(&resource.collection(), released, "");
        }
    }

    /// Deletes the dependents of an owner. Returns true if some of them block its deletion.
    fn delete_dependents(&mut self, owner: &Value) -> bool {
        let uid = &owner["metadata"]["uid"];
        let blocks = |object: &Value| {
            owners(object).iter().any(|one| one["uid"] == *uid && one["blockOwnerDeletion"] == true)
        };
        let mut is_blocked = false;
        for (resource, dependent) in self.dependents_of(owner) {
            // A dependent that is already deleted has its own entry in the queue.
            if !metadata::is_deleted(&dependent) {
                self.collect(&resource, &dependent);
            }
            let key = key(meta(&dependent, "namespace"), meta(&dependent, "name"));
            let rest = self.store.get(&resource.collection(), &key);
            is_blocked |= rest
                .is_some_and(|rest| blocks(rest) && rest["metadata"]["uid"] == dependent["metadata"]["uid"]);
        }
        is_blocked
    }

    pub(super) fn drop_finalizer(&mut self, resource: &Arc<Resource>, object: &Value, finalizer: &str) {
        let key = key(meta(object, "namespace"), meta(object, "name"));
        let Some(current) = self.store.get(&resource.collection(), &key).cloned() else { return };
        let rest: Vec<Value> =
            metadata::finalizers(&current).iter().filter(|one| *one != finalizer).cloned().collect();
        let mut finished = Value::clone(&current);
        metadata::set(&mut finished, "finalizers", if rest.is_empty() { Value::Null } else { rest.into() });
        self.update_as(&resource.collection(), finished, "");
    }
}
