//! The queue of controllers: changed objects, their owners, and the objects that depend on them.

use std::collections::{BTreeSet, VecDeque};

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use smol_str::SmolStr;

/// The collection of Services. Their endpoints are written last.
pub(crate) const SERVICES: &str = "services";

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
    /// Services. They are processed after all other objects, so that their endpoints are written once.
    services: VecDeque<Item>,
    queued: FxHashSet<Item>,
    by_uid: FxHashMap<SmolStr, Item>,
    /// The objects that refer to an owner, by the owner's uid.
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

    /// Enqueues the object, its owners, and the objects that depend on it if it was deleted.
    pub(super) fn note(&mut self, item: &Item, previous: Option<&Value>, current: Option<&Value>) {
        if let Some(object) = previous {
            self.by_uid.remove(uid_of(object));
            for owner in owner_uids(object) {
                if let Some(all) = self.dependents.get_mut(owner) {
                    all.remove(item);
                }
            }
        }
        if let Some(object) = current {
            self.by_uid.insert(uid_of(object).into(), item.clone());
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
            let all = self.dependents.remove(uid_of(gone)).unwrap_or_default();
            for dependent in all {
                self.add(dependent);
            }
        }
    }
}

fn uid_of(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

/// Returns the owner references of an object.
pub(crate) fn owners(object: &Value) -> &[Value] {
    object["metadata"]["ownerReferences"].as_array().map_or(&[], Vec::as_slice)
}

fn owner_uids(object: &Value) -> impl Iterator<Item = &str> {
    owners(object).iter().filter_map(|owner| owner["uid"].as_str())
}
