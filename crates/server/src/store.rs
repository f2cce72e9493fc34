//! The objects of the cluster, their revisions, and the history that watches read.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, OnceLock};
use std::task::Waker;

use bytes::Bytes;
use rustc_hash::FxHashMap;
use serde_json::Value;
use smol_str::{SmolStr, format_smolstr};

/// The number of changes of a collection that are kept by default.
const HISTORY: usize = 20_000;

/// A change of an object.
#[derive(Debug, Clone)]
pub(crate) struct Change {
    pub(crate) revision: u64,
    pub(crate) key: SmolStr,
    /// The object after the change, or `None` if it was deleted.
    pub(crate) object: Option<Arc<Value>>,
    /// The object before the change, or `None` if it was created.
    pub(crate) previous: Option<Arc<Value>>,
    /// The events of the change in the format of watches, written by the first watch.
    pub(crate) events: Events,
}

/// The texts of the events of a change.
#[derive(Debug, Clone, Default)]
pub(crate) struct Events {
    pub(crate) added: OnceLock<Bytes>,
    pub(crate) modified: OnceLock<Bytes>,
    pub(crate) deleted: OnceLock<Bytes>,
}

/// The objects of one resource in all versions.
#[derive(Debug, Default)]
struct Collection {
    objects: BTreeMap<SmolStr, Arc<Value>>,
    history: VecDeque<Change>,
    /// The revision of the newest change that was compacted.
    compacted: u64,
    watchers: FxHashMap<u64, Waker>,
}

/// The objects of the cluster.
#[derive(Debug)]
pub(crate) struct Store {
    collections: FxHashMap<SmolStr, Collection>,
    revision: u64,
    /// The number of changes of a collection that are kept. Watches that start earlier get 410.
    pub(crate) history: usize,
}

impl Default for Store {
    fn default() -> Self {
        Self { collections: FxHashMap::default(), revision: 1, history: HISTORY }
    }
}

/// Returns the key of an object. Lists are sorted by keys.
pub(crate) fn key(namespace: &str, name: &str) -> SmolStr {
    if namespace.is_empty() { name.into() } else { format_smolstr!("{namespace}/{name}") }
}

/// Returns the range of the keys of a namespace, or of all namespaces, from `start`.
fn range(namespace: &str, start: &str) -> (Bound<SmolStr>, Bound<SmolStr>) {
    let first = if namespace.is_empty() { SmolStr::default() } else { format_smolstr!("{namespace}/") };
    let first = if start > first.as_str() { start.into() } else { first };
    // `0` follows `/`.
    let end = if namespace.is_empty() {
        Bound::Unbounded
    } else {
        Bound::Excluded(format_smolstr!("{namespace}0"))
    };
    (Bound::Included(first), end)
}

impl Store {
    /// Returns the revision of the last change.
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn get(&self, collection: &str, key: &str) -> Option<&Arc<Value>> {
        self.collections.get(collection)?.objects.get(key)
    }

    /// Returns the objects of a collection in a namespace, or in all, in the order of their keys.
    pub(crate) fn list<'s>(
        &'s self,
        collection: &str,
        namespace: &str,
        start: &str,
    ) -> impl Iterator<Item = (&'s SmolStr, &'s Arc<Value>)> + use<'s> {
        let bounds = range(namespace, start);
        self.collections
            .get(collection)
            .into_iter()
            .flat_map(move |one| one.objects.range::<SmolStr, _>(bounds.clone()))
    }

    /// Returns all objects.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Value>> {
        self.collections.values().flat_map(|one| one.objects.values())
    }

    /// Returns the names of all collections.
    pub(crate) fn collections(&self) -> impl Iterator<Item = &SmolStr> {
        self.collections.keys()
    }

    /// Wakes all watches.
    pub(crate) fn wake_all(&mut self) {
        for one in self.collections.values_mut() {
            one.watchers.drain().for_each(|(_, waker)| waker.wake());
        }
    }

    /// Drops the history. Watches that started before cannot continue.
    pub(crate) fn compact(&mut self) {
        for one in self.collections.values_mut() {
            one.history.clear();
            one.compacted = self.revision;
        }
    }

    /// Stores an object with a new resource version. `None` deletes it.
    pub(crate) fn write(&mut self, collection: &str, key: &SmolStr, object: Option<Value>) -> Arc<Value> {
        self.revision += 1;
        let revision = self.revision;
        let one = self.collections.entry(collection.into()).or_default();
        let object = object.map(|object| Arc::new(with_revision(object, revision)));
        let previous = match &object {
            Some(object) => one.objects.insert(key.clone(), Arc::clone(object)),
            None => one.objects.remove(key),
        };
        let current = object.clone().or_else(|| previous.clone()).unwrap_or_default();
        let events = Events::default();
        one.history.push_back(Change { revision, key: key.clone(), object, previous, events });
        if one.history.len() > self.history
            && let Some(change) = one.history.pop_front()
        {
            one.compacted = change.revision;
        }
        one.watchers.drain().for_each(|(_, waker)| waker.wake());
        current
    }

    /// Returns the changes of a collection after a revision. If changes after that revision were compacted, returns the
    /// last compacted revision as the error.
    pub(crate) fn changes_after(
        &self,
        collection: &str,
        revision: u64,
    ) -> Result<impl Iterator<Item = &Change>, u64> {
        let one = self.collections.get(collection);
        let compacted = one.map_or(0, |one| one.compacted);
        if revision < compacted {
            return Err(compacted);
        }
        Ok(one.into_iter().flat_map(move |one| {
            let first = one.history.partition_point(|change| change.revision <= revision);
            one.history.range(first..)
        }))
    }

    /// Returns the objects of a collection at a revision. If changes after that revision were compacted, returns the
    /// last compacted revision as the error.
    pub(crate) fn at(&self, collection: &str, revision: u64) -> Result<BTreeMap<SmolStr, Arc<Value>>, u64> {
        let changes: Vec<&Change> = self.changes_after(collection, revision)?.collect();
        let mut objects = self.collections.get(collection).map(|one| one.objects.clone()).unwrap_or_default();
        for change in changes.into_iter().rev() {
            match &change.previous {
                Some(previous) => objects.insert(change.key.clone(), Arc::clone(previous)),
                None => objects.remove(&change.key),
            };
        }
        Ok(objects)
    }

    /// Wakes a watch at the next change of a collection.
    pub(crate) fn wake_on_change(&mut self, collection: &str, watch: u64, waker: &Waker) {
        let watchers = &mut self.collections.entry(collection.into()).or_default().watchers;
        watchers.insert(watch, waker.clone());
    }

    /// Removes a watch that ended.
    pub(crate) fn forget(&mut self, collection: &str, watch: u64) {
        if let Some(one) = self.collections.get_mut(collection) {
            one.watchers.remove(&watch);
        }
    }
}

fn with_revision(mut object: Value, revision: u64) -> Value {
    object["metadata"]["resourceVersion"] = revision.to_string().into();
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn write(store: &mut Store, name: &str, object: Option<i32>) {
        store.write("maps", &name.into(), object.map(|data| json!({"data": data, "metadata": {}})));
    }

    #[test]
    fn lists_are_ordered_as_by_etcd() {
        let mut store = Store::default();
        for (namespace, name) in [("a", "x"), ("a-b", "x"), ("a", "w")] {
            store.write("maps", &key(namespace, name), Some(json!({"metadata": {}})));
        }
        let keys = |namespace: &str| {
            store.list("maps", namespace, "").map(|(key, _)| key.as_str()).collect::<Vec<_>>()
        };
        assert_eq!(keys(""), ["a-b/x", "a/w", "a/x"]);
        assert_eq!(keys("a"), ["a/w", "a/x"]);
        assert_eq!(store.list("maps", "a", "a/w\0").count(), 1);
    }

    #[test]
    fn earlier_states_are_rebuilt_until_the_history_is_compacted() {
        let mut store = Store::default();
        write(&mut store, "a", Some(1));
        write(&mut store, "b", Some(1));
        let then = store.revision();
        write(&mut store, "a", Some(2));
        write(&mut store, "b", None);
        let before = store.at("maps", then).expect("kept");
        assert_eq!((&before["a"]["data"], before.len()), (&json!(1), 2));
        assert_eq!(store.changes_after("maps", then).expect("kept").count(), 2);
    }
}
