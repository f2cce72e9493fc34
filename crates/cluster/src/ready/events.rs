//! Progress events and results of a wait.

use std::time::SystemTime;

use super::pod_problem::{PodProblem, WarningEvent};
use crate::plan::Object;
use crate::status::{ObjectStatus, Readiness};
use smp_text::source::Span;

/// The state of an object for which the run waits.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitedObject {
    /// The object.
    pub object: Object,
    /// The status of the object.
    pub status: ObjectStatus,
    /// The location of the annotation [`READY`](crate::READY) in the manifest, if the status results from it.
    pub rule_span: Option<Span>,
    /// The time of creation.
    pub created: Option<SystemTime>,
    /// The last event of type Warning about the object, its ReplicaSet or its Pods.
    pub warning: Option<WarningEvent>,
    /// The number of container restarts of its current Pods.
    pub restarts: u64,
    /// Problems of its current Pods.
    pub problems: Vec<PodProblem>,
}

impl WaitedObject {
    /// Returns true if the object is ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.status.readiness == Readiness::Current
    }
}

/// Callback that receives the events of a run.
pub(crate) type WaitReport<'r> = &'r mut (dyn FnMut(WaitEvent<'_>) + Send);

/// A progress event of a wait.
#[derive(Debug)]
pub enum WaitEvent<'e> {
    /// The status of an object changed.
    Changed(&'e WaitedObject),
    /// Sent about once a second: the objects that are not ready.
    Waiting(&'e [WaitedObject]),
    /// A warning, for example that the wait may take longer. Each text is reported once.
    Warning(&'e str),
}

/// The reason why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitEnd {
    /// All objects are ready.
    Ready,
    /// An object has failed and will not become ready without intervention.
    Failed,
    /// The wait timed out.
    TimedOut,
    /// The wait was interrupted.
    Interrupted,
}

/// Result of a wait.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WaitResult {
    /// The reason why the wait ended.
    pub end: WaitEnd,
    /// Number of objects that are ready.
    pub ready: usize,
    /// Objects that have failed.
    pub failed: Vec<WaitedObject>,
    /// Other objects that are not ready.
    pub unready: Vec<WaitedObject>,
}

impl WaitResult {
    /// Returns true if all objects are ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.end == WaitEnd::Ready
    }
}
