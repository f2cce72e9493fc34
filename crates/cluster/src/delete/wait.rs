//! Waits until objects are gone, with one list and one watch request for each kind and namespace.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Instant, timeout_at};

use super::blockers::deletion_blockers;
use super::events::{DeleteEvent, DeleteReport, RemainingObject};
use crate::client::Cluster;
use crate::mapping::ResourceMapping;
use crate::plan::Object;
use crate::watch::{Collection, ObjectContent, WatchEvent, watch_collections};
use smp_merge::schema::Gvk;
use smp_text::yaml::Node;

/// An object whose deletion was accepted.
pub(crate) struct TerminatingObject {
    pub(crate) object: Object,
    pub(crate) mapping: ResourceMapping,
    pub(crate) uid: SmolStr,
}

/// The time limit and the interrupt flag of a wait.
pub(crate) struct WaitLimit<'a> {
    pub(crate) until: Instant,
    pub(crate) stop: Option<&'a AtomicBool>,
}

/// Interval for polling the time and the interrupt flag, and interval of `Waiting` events.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Waits until objects are gone. Returns those that still exist at the end.
pub(crate) async fn wait_until_gone(
    cluster: &Cluster,
    terminating: Vec<TerminatingObject>,
    limit: &WaitLimit<'_>,
    report: DeleteReport<'_>,
) -> Vec<RemainingObject> {
    let mut deletions = Deletions::new(terminating);
    if deletions.remaining.is_empty() {
        return Vec::new();
    }
    let collections = std::mem::take(&mut deletions.collections);
    watch_collections(cluster, &collections, |seen| deletions.wait(seen, limit, report)).await
}

/// The state of a wait: the objects that still exist.
struct Deletions {
    collections: Vec<Collection>,
    /// The objects that still exist, by index of the collection and name.
    remaining: FxHashMap<(usize, SmolStr), TerminatingState>,
    warned: FxHashSet<String>,
}

/// An object and its last known state.
struct TerminatingState {
    terminating: TerminatingObject,
    held_by: Vec<String>,
    /// True if the server does not show if the object still exists.
    is_hidden: bool,
}

impl Deletions {
    fn new(terminating: Vec<TerminatingObject>) -> Self {
        let mut indices: FxHashMap<(Gvk, SmolStr), usize> = FxHashMap::default();
        let mut all =
            Self { collections: Vec::new(), remaining: FxHashMap::default(), warned: FxHashSet::default() };
        for one in terminating {
            let (object, mapping) = (&one.object, &one.mapping);
            let index = *indices.entry((object.gvk.clone(), object.namespace.clone())).or_insert_with(|| {
                let content =
                    if object.gvk.is_namespace() { ObjectContent::Whole } else { ObjectContent::Metadata };
                let (mapping, namespace) = (mapping.clone(), object.namespace.clone());
                let (name, names) = (Some(object.name.clone()), Vec::new());
                all.collections.push(Collection {
                    mapping,
                    namespace,
                    name,
                    names,
                    fields: None,
                    content,
                    gate: None,
                });
                all.collections.len() - 1
            });
            if all.collections[index].name.as_ref().is_some_and(|name| *name != object.name) {
                all.collections[index].name = None;
            }
            let name = object.name.clone();
            all.collections[index].names.push(name.clone());
            all.remaining.insert(
                (index, name),
                TerminatingState { terminating: one, held_by: Vec::new(), is_hidden: false },
            );
        }
        all
    }

    async fn wait(
        mut self,
        mut seen: UnboundedReceiver<(usize, WatchEvent)>,
        limit: &WaitLimit<'_>,
        report: DeleteReport<'_>,
    ) -> Vec<RemainingObject> {
        let mut last_report = Instant::now();
        loop {
            let tick = (Instant::now() + POLL_INTERVAL).min(limit.until);
            if let Ok(Some((collection, sight))) = timeout_at(tick, seen.recv()).await {
                self.see(collection, sight, report);
            }
            let is_stopped = limit.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
            let is_over = is_stopped || Instant::now() >= limit.until;
            if is_over || self.remaining.values().all(|one| one.is_hidden) {
                return self.remaining();
            }
            if last_report.elapsed() >= REPORT_INTERVAL {
                last_report = Instant::now();
                report(DeleteEvent::Waiting(&self.remaining()));
            }
        }
    }

    fn remaining(&self) -> Vec<RemainingObject> {
        let all = self.remaining.values().map(|one| {
            let object = one.terminating.object.clone();
            RemainingObject { object, blocked_by: one.held_by.clone() }
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|one| (one.object.to_string(), one.object.namespace.clone()));
        all
    }

    fn see(&mut self, collection: usize, sight: WatchEvent, report: DeleteReport<'_>) {
        match sight {
            WatchEvent::Listed(objects) => {
                let names: FxHashSet<SmolStr> = objects.iter().filter_map(name).collect();
                self.remaining.retain(|(index, name), _| *index != collection || names.contains(name));
                for object in &objects {
                    self.now(collection, object);
                }
            }
            WatchEvent::Updated(object) => self.now(collection, &object),
            WatchEvent::Deleted(object) => {
                if let Some(name) = name(&object) {
                    self.remaining.remove(&(collection, name));
                }
            }
            // The kind is no longer served, so its objects are gone.
            WatchEvent::NotServed => self.remaining.retain(|(index, _), _| *index != collection),
            WatchEvent::TemporaryError(problem) => {
                if self.warned.insert(problem.message().to_string()) {
                    report(DeleteEvent::Warning(problem.message()));
                }
            }
            WatchEvent::Failed(problem) => {
                let affected = self.remaining.iter_mut().filter(|((index, _), _)| *index == collection);
                for (_, one) in affected {
                    one.is_hidden = true;
                    one.held_by = vec![format!("cannot check whether it is gone: {}", problem.message())];
                }
            }
        }
    }

    /// Updates the state of an object. If it has another UID, it is a new object.
    fn now(&mut self, collection: usize, object: &Node) {
        let Some(name) = name(object) else { return };
        let key = (collection, name);
        let uid = object.get_path(&["metadata", "uid"]).and_then(Node::as_str);
        match self.remaining.get_mut(&key) {
            Some(one) if uid == Some(one.terminating.uid.as_str()) => one.held_by = deletion_blockers(object),
            Some(_) => drop(self.remaining.remove(&key)),
            None => {}
        }
    }
}

fn name(object: &Node) -> Option<SmolStr> {
    object.get_path(&["metadata", "name"]).and_then(Node::as_str).map(SmolStr::from)
}
