//! Deletes the contents of terminating namespaces, then the namespaces.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use serde_json::{Value, json};
use smol_str::SmolStr;

use crate::metadata::{self, meta};
use crate::resources::{Resource, Verb};
use crate::state::State;

impl State {
    /// Finishes the deletion of a namespace, unless finalizers or its contents block this.
    pub(super) fn finish_namespace(&mut self, namespace: &Value) {
        if !metadata::is_deleted(namespace) {
            return;
        }
        let name = meta(namespace, "name");
        for (resource, object) in self.contents(name) {
            if !metadata::is_deleted(&object) || resource.collection() == super::PODS {
                self.delete_now(&resource, &object);
            }
        }
        let is_empty = self.contents(name).is_empty();
        let Some(resource) = self.resources.stored("namespaces").cloned().filter(|_| is_empty) else {
            return;
        };
        let mut finished = namespace.clone();
        finished["spec"] = json!({});
        let has_others = !metadata::finalizers(&finished).is_empty();
        if has_others && finished == *namespace {
            return;
        }
        self.write(&resource, &name.into(), has_others.then_some(finished));
    }

    /// Returns all objects of a namespace that can be deleted, with their resources.
    fn contents(&self, namespace: &str) -> Vec<(Arc<Resource>, Arc<Value>)> {
        let mut seen: FxHashSet<SmolStr> = FxHashSet::default();
        let all = self.resources.all().iter().filter(|one| one.is_namespaced && one.has_verb(Verb::Delete));
        let once: Vec<_> = all.filter(|one| seen.insert(one.collection())).collect();
        let objects = |resource: &Arc<Resource>| {
            let all = self.store.list(&resource.collection(), namespace, "");
            all.map(|(_, object)| (Arc::clone(resource), Arc::clone(object))).collect::<Vec<_>>()
        };
        once.into_iter().flat_map(objects).collect()
    }
}
