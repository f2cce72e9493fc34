//! Test interface of a cluster: faults, request log, snapshots, earlier states.

use std::time::Duration;

use serde_json::{Value, json};
use smp_text::yaml::{Node, to_yaml};

use crate::cluster::TestCluster;
use crate::faults::{self, Effect, Fault, LoggedRequest};
use crate::resources::Verb;

/// Metadata that differs in each run. Snapshots do not contain it.
const VOLATILE: [&str; 5] = ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"];

/// A fault before it is added, see [`TestCluster::on`].
#[derive(Debug)]
#[must_use = "a fault has no effect without `reply`, `delay` or another end"]
pub struct FaultBuilder<'c> {
    cluster: &'c TestCluster,
    fault: Fault,
}

impl FaultBuilder<'_> {
    /// Limits the fault to a kind.
    pub fn kind(mut self, kind: &str) -> Self {
        self.fault.kind = kind.into();
        self
    }

    /// Limits the fault to objects with this name.
    pub fn name(mut self, name: &str) -> Self {
        self.fault.name = name.into();
        self
    }

    /// Limits the fault to a number of requests. By default it affects all requests.
    pub fn times(mut self, times: usize) -> Self {
        self.fault.times = times;
        self
    }

    fn add(mut self, effect: Effect) {
        self.fault.effect = effect;
        self.cluster.lock().faults.push(self.fault);
    }

    /// Answers with a `Status` of this code. The request has no effect.
    pub fn reply(self, code: u16) {
        self.add(Effect::Reply(code));
    }

    /// Delays the response. The request takes effect immediately.
    pub fn delay(mut self, delay: Duration) {
        self.fault.delay = delay;
        self.add(Effect::None);
    }

    /// Closes the connection before the request arrives. The request has no effect.
    pub fn drop_request(self) {
        self.add(Effect::DropRequest);
    }

    /// Closes the connection before the response arrives. The request takes effect.
    pub fn drop_response(self) {
        self.add(Effect::DropResponse);
    }

    /// Closes the connection in the middle of the response; for a watch, in the middle of the first event.
    pub fn cut_response(self) {
        self.add(Effect::Cut);
    }

    /// Lets reads and lists return the objects of a resource version, like an outdated cache.
    pub fn stale(self, resource_version: u64) {
        self.add(Effect::Stale(resource_version));
    }

    /// Ends a watch after a number of events.
    pub fn end_watch_after(self, events: usize) {
        self.add(Effect::EndWatch(events));
    }
}

impl TestCluster {
    /// Starts a fault for requests with a verb.
    ///
    /// ```
    /// use kubernetes_test_server::{TestCluster, Verb};
    ///
    /// let cluster = TestCluster::new();
    /// cluster.on(Verb::Patch).kind("Pod").times(2).reply(503);
    /// ```
    pub fn on(&self, verb: Verb) -> FaultBuilder<'_> {
        let fault = Fault { verb: Some(verb), times: usize::MAX, ..Fault::default() };
        FaultBuilder { cluster: self, fault }
    }

    /// Starts a fault for requests with any verb.
    pub fn on_any(&self) -> FaultBuilder<'_> {
        FaultBuilder { cluster: self, fault: Fault { times: usize::MAX, ..Fault::default() } }
    }

    /// Ends all faults.
    pub fn end_faults(&self) {
        self.lock().faults.clear();
    }

    /// Returns the requests, at most the last 100,000, as a table, for messages of tests.
    #[must_use]
    pub fn request_table(&self) -> String {
        faults::table(self.lock().log.make_contiguous())
    }

    /// Returns the requests that were answered so far, at most the last 100,000.
    #[must_use]
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.lock().log.iter().cloned().collect()
    }

    /// Ends all open watches, like a server that restarts.
    pub fn interrupt_watches(&self) {
        let mut shared = self.lock();
        shared.interrupted = shared.watches;
        shared.state.store.wake_all();
    }

    /// Drops the history, like etcd does every five minutes. Watches that started before get 410.
    pub fn compact(&self) {
        self.lock().state.store.compact();
    }

    /// Returns the resource version of the last change.
    #[must_use]
    pub fn resource_version(&self) -> u64 {
        self.lock().state.store.revision()
    }

    /// Returns all objects of a kind, such as `ConfigMap`.
    #[must_use]
    pub fn objects(&self, kind: &str) -> Vec<Value> {
        let shared = self.lock();
        let all = shared.state.store.all();
        all.filter(|object| object["kind"] == kind).map(|object| Value::clone(object)).collect()
    }

    /// Returns all objects of a kind as they were at a resource version. Returns `None` if changes after that version
    /// were compacted.
    #[must_use]
    pub fn objects_at(&self, kind: &str, resource_version: u64) -> Option<Vec<Value>> {
        let shared = self.lock();
        let store = &shared.state.store;
        let mut found = Vec::new();
        for collection in store.collections() {
            let objects = store.at(collection, resource_version).ok()?;
            found.extend(
                objects
                    .into_values()
                    .filter(|object| object["kind"] == kind)
                    .map(|object| Value::clone(&object)),
            );
        }
        Some(found)
    }

    /// Returns all objects as YAML, without metadata that differs in each run, for snapshots in tests.
    #[must_use]
    pub fn snapshot(&self) -> String {
        let shared = self.lock();
        let mut objects: Vec<Value> = shared.state.store.all().map(|object| stable(object)).collect();
        objects.sort_by_cached_key(|object| {
            let part = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default().to_string();
            [part("/kind"), part("/metadata/namespace"), part("/metadata/name")]
        });
        let is_initial =
            |object: &Value| object["kind"] == "Namespace" && object["metadata"].get("annotations").is_none();
        let texts = objects.iter().filter(|object| !is_initial(object));
        let texts = texts.filter_map(|object| to_yaml(&Node::from(object)).ok());
        texts.collect::<Vec<_>>().join("---\n")
    }

    /// Waits until a condition is true. Returns false after the timeout.
    pub async fn wait_until(&self, timeout: Duration, is_true: impl Fn(&Self) -> bool) -> bool {
        const INTERVAL: Duration = Duration::from_millis(2);
        let end = tokio::time::Instant::now() + timeout;
        while !is_true(self) {
            if tokio::time::Instant::now() >= end {
                return false;
            }
            tokio::time::sleep(INTERVAL).await;
        }
        true
    }
}

/// Returns an object without metadata that differs in each run.
fn stable(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|name, _| !VOLATILE.contains(&name.as_str()));
        if metadata.contains_key("deletionTimestamp") {
            metadata.insert("deletionTimestamp".into(), json!("(deleted)"));
        }
    }
    object
}
