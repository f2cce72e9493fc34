//! Progress events and results of an apply.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::conflict::ApplyConflict;
use crate::plan::Object;
use smp_text::diagnostic::Diagnostic;
use smp_text::yaml::Node;

/// The callback that receives the events of a run.
pub(crate) type EventSink<'r> = &'r mut (dyn FnMut(Event<'_>) + Send);

/// A progress event of an apply.
#[derive(Debug)]
pub enum Event<'e> {
    /// An object was applied, or would be in a dry run.
    Applied(&'e AppliedObject),
    /// An object could not be applied.
    Failed(&'e ApplyFailure),
    /// A warning of the server. Each message is reported once.
    Warning(&'e str),
    /// A warning of this program about the state of the cluster, such as that a check was skipped. Each message is
    /// reported once.
    StateWarning(&'e str),
    /// Sent about once a second while requests are pending.
    Progress(ApplyProgress<'e>),
}

/// The progress of an apply.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ApplyProgress<'e> {
    /// Number of objects with a result.
    pub finished: usize,
    /// Number of all objects.
    pub all: usize,
    /// Time since the apply began.
    pub elapsed: Duration,
    /// Time since the last result.
    pub silence: Duration,
    /// The first object without a result; `None` while the run waits for CRDs.
    pub waiting_for: Option<&'e Object>,
}

/// The effect of an apply on an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApplyChange {
    /// The object did not exist.
    Created,
    /// The object changed.
    Configured,
    /// The object is the same as before.
    Unchanged,
    /// The object existed, and the ApplySet, which did not create it, adopted it.
    Adopted,
    /// The object was deleted and recreated.
    Replaced,
    /// The object was applied; its previous state cannot be read.
    Applied,
}

impl ApplyChange {
    /// Returns the word for messages, like those of kubectl.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
            Self::Adopted => "adopted",
            Self::Replaced => "replaced",
            Self::Applied => "serverside-applied",
        }
    }
}

/// An object that was applied, or would be in a dry run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AppliedObject {
    /// The object.
    pub object: Object,
    /// The change to the object.
    pub change: ApplyChange,
    /// The object as the server returned it.
    pub live: Node,
    /// Time from the first request for the object to the last response; zero if nothing was sent.
    pub duration: Duration,
}

/// An object that was not applied.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ApplyFailure {
    /// The object.
    pub object: Object,
    /// The error.
    pub problem: Diagnostic,
    /// The field manager conflict, if the error is one.
    pub conflict: Option<ApplyConflict>,
    /// True if the namespace of the object does not exist.
    pub lacks_namespace: bool,
    /// Time from the first request for the object to the last response; zero if nothing was sent.
    pub duration: Duration,
}

/// Result of an apply.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ApplySummary {
    /// Number of objects that were applied, or would be in a dry run.
    pub applied: usize,
    /// Objects that were not applied.
    pub failures: Vec<ApplyFailure>,
    /// Objects that were not sent because the server stopped responding, an earlier wave failed, or the run was
    /// interrupted.
    pub skipped: Vec<Object>,
    /// Objects that were sent but have no known result, because the run was interrupted before the server responded.
    pub unknown: Vec<Object>,
    /// Objects that left an ApplySet because they were applied without it, by the ID of the set. The next apply of the
    /// set does not prune them. In a dry run, the objects that would leave the set.
    pub left_sets: BTreeMap<String, Vec<Object>>,
}

impl ApplySummary {
    /// Returns true if all objects were applied.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.failures.is_empty() && self.skipped.is_empty() && self.unknown.is_empty()
    }
}
