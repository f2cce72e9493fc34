//! What happens while objects are waited for, as data.

use std::time::SystemTime;

use crate::plan::Object;
use crate::status::{ObjectStatus, Readiness};
use smp_text::source::Span;

/// An event of type Warning that the cluster has of an object, or of what belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WarningEvent {
    /// Such as `FailedScheduling`.
    pub reason: String,
    /// For people. May hold anything.
    pub message: String,
    /// When it was last seen.
    pub time: Option<SystemTime>,
}

/// An object that is waited for, as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitedObject {
    /// The object.
    pub object: Object,
    /// How far it is.
    pub status: ObjectStatus,
    /// Where its annotation [`READY`](crate::READY) stands in the manifest, when the status is the cause of that.
    pub rule: Option<Span>,
    /// When it was made.
    pub created: Option<SystemTime>,
    /// The last event of type Warning about it, its ReplicaSet or its Pods.
    pub warning: Option<WarningEvent>,
    /// How often containers of its new Pods were started again.
    pub restarts: u64,
    /// What its new Pods have to complain of: `web-5d4: ImagePullBackOff: ...`.
    pub troubles: Vec<String>,
}

impl WaitedObject {
    /// Whether it is waited for no longer.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.status.readiness == Readiness::Current
    }
}

/// Receives the events of a run.
pub(crate) type WaitReport<'r> = &'r mut (dyn FnMut(WaitEvent<'_>) + Send);

/// Something that happened.
#[derive(Debug)]
pub enum WaitEvent<'e> {
    /// An object has another status than before.
    Changed(&'e WaitedObject),
    /// About a second has passed; these are not ready.
    Waiting(&'e [WaitedObject]),
    /// Something that may make the wait longer, or less telling; each text comes once.
    Warning(&'e str),
}

/// Why a wait has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitEnd {
    /// All objects are ready.
    Ready,
    /// It is certain that one of them does not get ready by itself.
    Failed,
    /// The time was over.
    TimedOut,
    /// It was stopped.
    Stopped,
}

/// What came of a wait.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WaitVerdict {
    /// Why it has ended.
    pub end: WaitEnd,
    /// How many objects are ready.
    pub ready: usize,
    /// Those that have certainly failed.
    pub failed: Vec<WaitedObject>,
    /// Others that are not ready.
    pub unready: Vec<WaitedObject>,
}

impl WaitVerdict {
    /// Whether all objects are ready.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.end == WaitEnd::Ready
    }
}
