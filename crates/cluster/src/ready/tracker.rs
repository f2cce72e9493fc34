//! Evaluates the readiness of objects, and determines when the wait ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use rustc_hash::{FxHashMap, FxHashSet};
use tokio::time::Instant;

use super::collections::WatchedCollections;
use super::events::{WaitEnd, WaitEvent, WaitReport, WaitResult, WaitedObject};
use super::options::WaitOptions;
use super::related::{RelatedObjects, RelatedQuery, RelatedState};
use crate::plan::{Object, ObjectTarget};
use crate::status::{
    MissingStatus, ObjectStatus, READY, READY_ANNOTATION_REASON, Readiness, object_status, time,
};
use crate::watch::WatchEvent;
use smp_merge::schema::Gvk;
use smp_text::source::Span;
use smp_text::yaml::Node;

/// Conditions for ending a wait.
#[derive(Debug)]
pub(super) struct TrackerOptions {
    timeout: Duration,
    grace: Duration,
    stop: Option<Arc<AtomicBool>>,
}

impl TrackerOptions {
    pub(super) fn new(options: &WaitOptions) -> Self {
        Self { timeout: options.timeout, grace: options.failure_grace, stop: options.stop.clone() }
    }
}

/// Collects watch events and evaluates the objects.
pub(super) struct ReadinessTracker<'a> {
    objects: Vec<TrackedObject<'a>>,
    outlook: &'a WatchedCollections,
    related: RelatedObjects,
    options: TrackerOptions,
    start: Instant,
    /// Time of the last `Waiting` event.
    last_report: Instant,
    warned: FxHashSet<String>,
    report: WaitReport<'a>,
    /// The collections that were listed.
    seen: FxHashSet<usize>,
}

/// An object and its known state.
struct TrackedObject<'a> {
    object: &'a Object,
    /// The location of its readiness rule.
    rule: Option<Span>,
    without: MissingStatus,
    live: Option<Node>,
    status: ObjectStatus,
    /// Time of the failure, if it has failed.
    failed_since: Option<Instant>,
    /// True if the object cannot be read.
    is_hidden: bool,
    related: RelatedState,
}

/// Maximum time for the first evaluation if the timeout is zero.
pub(super) const FIRST_EVALUATION: Duration = Duration::from_secs(30);

/// Interval of `Waiting` events.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// Failures that may be temporary. Their Pods may still be scheduled, or may still find what they need to start.
const TEMPORARY_FAILURES: [&str; 2] = ["ContainerCrashLooping", "PodUnschedulable"];

impl TrackedObject<'_> {
    fn judge(&self) -> ObjectStatus {
        match &self.live {
            Some(live) => object_status(&self.object.gvk, live, self.without, SystemTime::now()),
            None => ObjectStatus::not_found(),
        }
    }

    /// Returns true if the object cannot be read or has failed for good, or if its failure or the problems of its Pods
    /// have lasted for the grace period.
    fn has_failed(&self, now: Instant, grace: Duration) -> bool {
        let is_expired =
            |since: Option<Instant>| since.is_some_and(|since| now.duration_since(since) >= grace);
        match self.status.readiness {
            _ if self.is_hidden => true,
            Readiness::Failed => is_expired(self.failed_since) || !self.may_be_temporary(),
            Readiness::InProgress => is_expired(self.related.problems_since),
            _ => false,
        }
    }

    /// Returns true if the failure may be temporary. A condition `Stalled` without an observed generation may be that
    /// of an earlier generation.
    fn may_be_temporary(&self) -> bool {
        let live = self.live.as_ref();
        let is_built_in =
            matches!(self.object.gvk.group.as_str(), "" | "apps" | "batch" | "apiextensions.k8s.io");
        let observed = live.and_then(|live| live.get_path(&["status", "observedGeneration"]));
        TEMPORARY_FAILURES.contains(&self.status.reason.as_str()) || (!is_built_in && observed.is_none())
    }

    fn report_state(&self) -> WaitedObject {
        let created = self.live.as_ref().and_then(|live| time(live, &["metadata", "creationTimestamp"]));
        WaitedObject {
            object: self.object.clone(),
            status: self.status.clone(),
            rule_span: self.rule.filter(|_| self.status.reason == READY_ANNOTATION_REASON),
            created,
            warning: self.related.warning.clone(),
            restarts: self.related.restarts,
            problems: self.related.problems.clone(),
        }
    }
}

impl<'a> ReadinessTracker<'a> {
    pub(super) fn new(
        targets: &[&'a ObjectTarget<'_>],
        outlook: &'a WatchedCollections,
        without: &FxHashMap<Gvk, MissingStatus>,
        options: TrackerOptions,
        report: WaitReport<'a>,
    ) -> Self {
        let objects = targets.iter().map(|target| TrackedObject {
            object: &target.object,
            rule: target.resource.node().get_path(&["metadata", "annotations", READY]).map(Node::span),
            without: without.get(&target.object.gvk).copied().unwrap_or_default(),
            live: None,
            status: ObjectStatus::new(Readiness::Unknown, "NotSeen", "not listed yet"),
            failed_since: None,
            is_hidden: false,
            related: RelatedState::default(),
        });
        let (related, start) = (RelatedObjects::default(), Instant::now());
        let (warned, seen) = (FxHashSet::default(), FxHashSet::default());
        Self {
            objects: objects.collect(),
            outlook,
            related,
            options,
            start,
            last_report: start,
            warned,
            report,
            seen,
        }
    }

    /// Updates the state with an event of a collection.
    pub(super) fn handle(&mut self, collection: usize, sight: WatchEvent) {
        match sight {
            WatchEvent::Listed(objects) => self.list(collection, objects),
            WatchEvent::Updated(object) => {
                self.update_related(collection, &object);
                if let Some(position) = self.position(collection, &object) {
                    self.set(position, Some(object));
                }
            }
            WatchEvent::Deleted(object) => {
                self.related.remove(&object);
                if let Some(position) = self.position(collection, &object) {
                    self.set(position, None);
                }
            }
            WatchEvent::NotServed => self.list(collection, Vec::new()),
            WatchEvent::TemporaryError(problem) => self.warn(problem.message()),
            WatchEvent::Failed(problem) => {
                self.seen.insert(collection);
                self.set_unreadable(collection, problem.message());
            }
        }
    }

    fn warn(&mut self, text: &str) {
        if self.warned.insert(text.to_string()) {
            (self.report)(WaitEvent::Warning(text));
        }
    }

    fn position(&self, collection: usize, object: &Node) -> Option<usize> {
        let name = object.get_path(&["metadata", "name"]).and_then(Node::as_str)?;
        self.outlook.targets[collection].get(name).copied()
    }

    fn list(&mut self, number: usize, objects: Vec<Node>) {
        self.seen.insert(number);
        let outlook = self.outlook;
        let collection = &outlook.collections[number];
        match collection.mapping.gvk.kind.as_str() {
            "Pod" => self.related.list_pods(&collection.namespace, &objects, Instant::now()),
            "ReplicaSet" => self.related.forget_replica_sets(&collection.namespace),
            _ => {}
        }
        let mut missing: FxHashSet<usize> = outlook.targets[number].values().copied().collect();
        for object in objects {
            self.update_related(number, &object);
            if let Some(position) = self.position(number, &object) {
                missing.remove(&position);
                self.set(position, Some(object));
            }
        }
        let mut missing: Vec<usize> = missing.into_iter().collect();
        missing.sort_unstable();
        for position in missing {
            self.set(position, None);
        }
    }

    fn update_related(&mut self, collection: usize, object: &Node) {
        let Gvk { group, kind, .. } = &self.outlook.collections[collection].mapping.gvk;
        match (group.as_str(), kind.as_str()) {
            ("", "Pod") => self.related.set_pod(object, Instant::now()),
            ("", "Event") => self.related.set_warning(object),
            ("apps", "ReplicaSet") => self.related.set_replica_set(object),
            _ => {}
        }
    }

    /// Updates the live object.
    fn set(&mut self, position: usize, live: Option<Node>) {
        self.objects[position].live = live;
        self.reevaluate(position);
    }

    fn reevaluate(&mut self, position: usize) {
        let one = &mut self.objects[position];
        let status = one.judge();
        if status == one.status {
            return;
        }
        let has_failed = status.readiness == Readiness::Failed;
        one.failed_since = has_failed.then(|| one.failed_since.unwrap_or_else(Instant::now));
        one.status = status;
        if one.status.readiness != Readiness::Current {
            let gates = self.outlook.gates.get(&one.object.namespace).into_iter().flatten();
            gates.for_each(|gate| gate.notify_one());
        }
        (self.report)(WaitEvent::Changed(&one.report_state()));
    }

    /// Records that objects cannot be read, so that they are not ready. If only related objects cannot be read, records
    /// a warning.
    fn set_unreadable(&mut self, number: usize, why: &str) {
        let collection = &self.outlook.collections[number];
        if collection.gate.is_some() {
            let (kind, namespace) = (&collection.mapping.gvk.kind, &collection.namespace);
            return self.warn(&format!("cannot watch {kind} objects in namespace {namespace}: {why}"));
        }
        for &position in self.outlook.targets[number].values() {
            let one = &mut self.objects[position];
            one.is_hidden = true;
            one.status = ObjectStatus::new(Readiness::Unknown, "NotReadable", why);
            (self.report)(WaitEvent::Changed(&one.report_state()));
        }
    }

    /// Evaluates the objects again after some time has passed.
    pub(super) fn evaluate(&mut self) {
        let queries = self
            .objects
            .iter()
            .map(|one| RelatedQuery { kind: one.object.gvk.kind.as_str(), live: one.live.as_ref() });
        let states = self.related.states(queries);
        for (one, state) in self.objects.iter_mut().zip(states) {
            one.related = state;
        }
        for position in 0..self.objects.len() {
            // The evaluation of rules takes time.
            if self.has_timed_out() || self.is_stopped() {
                break;
            }
            let one = &self.objects[position];
            if one.live.is_some() && !one.is_hidden && one.status.readiness != Readiness::Current {
                self.reevaluate(position);
            }
        }
        if self.last_report.elapsed() >= REPORT_INTERVAL {
            self.last_report = Instant::now();
            let unready = self.objects.iter().filter(|one| one.status.readiness != Readiness::Current);
            let unready: Vec<WaitedObject> = unready.map(TrackedObject::report_state).collect();
            (self.report)(WaitEvent::Waiting(&unready));
        }
    }

    /// Returns the reason why the wait has ended, or `None` if it has not.
    pub(super) fn end_reason(&self) -> Option<WaitEnd> {
        let now = Instant::now();
        let has_failed = |one: &TrackedObject<'_>| one.has_failed(now, self.options.grace);
        if self.objects.iter().all(|one| one.status.readiness == Readiness::Current) {
            return Some(WaitEnd::Ready);
        }
        match () {
            () if self.objects.iter().any(has_failed) => Some(WaitEnd::Failed),
            () if self.is_stopped() => Some(WaitEnd::Interrupted),
            () if self.has_timed_out() => Some(WaitEnd::TimedOut),
            () => None,
        }
    }

    fn is_stopped(&self) -> bool {
        self.options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    fn has_timed_out(&self) -> bool {
        let own = self.outlook.collections.iter().enumerate().filter(|(_, c)| c.gate.is_none());
        let is_first_evaluation = || own.clone().any(|(number, _)| !self.seen.contains(&number));
        let limit = match self.options.timeout {
            Duration::ZERO if is_first_evaluation() => FIRST_EVALUATION,
            limit => limit,
        };
        self.start.elapsed() >= limit
    }

    pub(super) fn into_result(self, end: WaitEnd) -> WaitResult {
        let (now, grace) = (Instant::now(), self.options.grace);
        let (ready, others): (Vec<_>, Vec<_>) =
            self.objects.iter().partition(|one| one.status.readiness == Readiness::Current);
        let (failed, unready): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|one| one.has_failed(now, grace));
        let report_state =
            |objects: Vec<&TrackedObject<'_>>| objects.into_iter().map(TrackedObject::report_state).collect();
        WaitResult { end, ready: ready.len(), failed: report_state(failed), unready: report_state(unready) }
    }
}
