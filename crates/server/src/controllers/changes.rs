//! Enqueues the objects that controllers must reconcile after a change.

use serde_json::Value;
use smol_str::SmolStr;

use super::pods::claims;
use super::work::{Item, SERVICES};
use super::{CLAIMS, DEPLOYMENTS, PODS, REPLICA_SETS, STATEFUL_SETS, controller_of, selector_of, selects};
use crate::metadata::{self, meta};
use crate::state::State;
use crate::store::key;

impl State {
    /// Enqueues the objects that controllers must reconcile after a change. Without controllers, nothing is enqueued.
    pub(crate) fn note_change(&mut self, item: &Item, previous: Option<&Value>, current: Option<&Value>) {
        if self.settings.controllers.is_empty() {
            return;
        }
        self.work.note(item, previous, current);
        let Some(object) = current.or(previous) else { return };
        let namespace = meta(object, "namespace");
        if self.namespace(namespace).is_some_and(|one| metadata::is_deleted(one)) {
            self.work.add(Item { collection: "namespaces".into(), key: namespace.into() });
        }
        if item.collection == PODS {
            self.note_selecting(SERVICES, [previous, current]);
            let gone = previous.filter(|_| current.is_none());
            for claim in gone.into_iter().flat_map(claims) {
                self.work.add(Item { collection: CLAIMS.into(), key: key(namespace, claim) });
            }
        }
        let is_orphan = current.is_some_and(|object| controller_of(object).is_none());
        let adopters: &[&str] = match &*item.collection {
            PODS => &[REPLICA_SETS, STATEFUL_SETS],
            REPLICA_SETS => &[DEPLOYMENTS],
            _ => &[],
        };
        for collection in adopters.iter().filter(|_| is_orphan) {
            self.note_selecting(collection, [None, current]);
        }
    }

    /// Enqueues the objects of a collection whose selectors match an object before or after its change.
    fn note_selecting(&mut self, collection: &str, objects: [Option<&Value>; 2]) {
        let Some(object) = objects.iter().flatten().next() else { return };
        let all = self.store.list(collection, meta(object, "namespace"), "").map(|(_, one)| one);
        let is_selected = |owner: &Value| {
            let selector = selector_of(owner);
            objects.iter().flatten().any(|object| selects(selector.as_ref(), object))
        };
        let found: Vec<SmolStr> = all
            .filter(|owner| is_selected(owner))
            .map(|owner| key(meta(owner, "namespace"), meta(owner, "name")))
            .collect();
        for key in found {
            self.work.add(Item { collection: collection.into(), key });
        }
    }
}
