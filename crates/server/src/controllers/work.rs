//! The work of controllers: objects that changed, their owners, and the objects that depend on them.

use std::collections::{BTreeSet, VecDeque};

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use smol_str::SmolStr;

use super::pods::claims;
use super::{
    CLAIMS, DEPLOYMENTS, PODS, REPLICA_SETS, SERVICES, STATEFUL_SETS, controller_of, owners, selector_of,
    selects,
};
use crate::metadata::{self, meta};
use crate::state::State;
use crate::store::key;

/// An object in the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Item {
    pub(crate) collection: SmolStr,
    pub(crate) key: SmolStr,
}

/// The queue of controllers, and the indexes that find owners and dependents.
#[derive(Debug, Default)]
pub(crate) struct Work {
    queue: VecDeque<Item>,
    /// Services, whose endpoints are written once their Pods are at rest.
    services: VecDeque<Item>,
    queued: FxHashSet<Item>,
    by_uid: FxHashMap<SmolStr, Item>,
    /// The objects that name an owner, by its uid.
    dependents: FxHashMap<SmolStr, BTreeSet<Item>>,
}

impl Work {
    pub(crate) fn add(&mut self, item: Item) {
        if !self.queued.insert(item.clone()) {
            return;
        }
        let queue = if item.collection == SERVICES { &mut self.services } else { &mut self.queue };
        queue.push_back(item);
    }

    pub(super) fn next(&mut self) -> Option<Item> {
        let item = self.queue.pop_front().or_else(|| self.services.pop_front())?;
        self.queued.remove(&item);
        Some(item)
    }

    pub(super) fn item(&self, uid: &str) -> Option<&Item> {
        self.by_uid.get(uid)
    }

    pub(super) fn dependents(&self, uid: &str) -> impl Iterator<Item = &Item> {
        self.dependents.get(uid).into_iter().flatten()
    }

    /// Adds the object, its owners, and what depends on it if it is gone.
    fn note(&mut self, item: &Item, previous: Option<&Value>, current: Option<&Value>) {
        if let Some(object) = previous {
            self.by_uid.remove(meta(object, "uid"));
            for owner in owner_uids(object) {
                if let Some(all) = self.dependents.get_mut(owner) {
                    all.remove(item);
                }
            }
        }
        if let Some(object) = current {
            self.by_uid.insert(meta(object, "uid").into(), item.clone());
            for owner in owner_uids(object) {
                self.dependents.entry(owner.into()).or_default().insert(item.clone());
            }
        }
        self.add(item.clone());
        for object in [previous, current].into_iter().flatten() {
            let owners: Vec<Item> =
                owner_uids(object).filter_map(|uid| self.by_uid.get(uid).cloned()).collect();
            for owner in owners {
                self.add(owner);
            }
        }
        if let (Some(gone), None) = (previous, current) {
            let all = self.dependents.remove(meta(gone, "uid")).unwrap_or_default();
            for dependent in all {
                self.add(dependent);
            }
        }
    }
}

fn owner_uids(object: &Value) -> impl Iterator<Item = &str> {
    owners(object).iter().filter_map(|owner| owner["uid"].as_str())
}

impl State {
    /// Gives controllers the work of a change. Without controllers, nothing is noted.
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

    /// Adds the objects of a collection whose selectors match an object before or after its change.
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
