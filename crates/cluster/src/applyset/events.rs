//! Options, progress events and results of ApplySet operations.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::history::revision::HistoryOptions;
use super::tooling::ApplySetTooling;
use crate::apply::PARALLEL;
use crate::cascade::Cascade;
use crate::delete::{CompleteWhen, RemainingObject};
use crate::plan::{Object, ObjectFailure};

/// Options of an ApplySet operation.
#[derive(Debug, Clone)]
pub struct ApplySetOptions {
    /// The parent: `[RESOURCE[.GROUP]/]NAME`. Without a resource, it is a Secret.
    pub parent: String,
    /// The tool that is recorded in the parent.
    pub tooling: ApplySetTooling,
    /// Prune options.
    pub prune: PruneOptions,
    /// True to adopt objects that another tool or ApplySet owns.
    pub adopt: bool,
    /// The target of the run and its repository, if known. They are stored in the parent.
    pub source: Option<ApplySetSource>,
    /// The history of the set.
    pub history: HistoryOptions,
    /// Maximum number of parallel requests; at least one.
    pub parallel: usize,
}

/// The target from which an ApplySet is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplySetSource {
    /// The path of the target within the repository, such as `overlays/prod`.
    pub target: String,
    /// The URL of the repository, without credentials.
    pub repository: String,
}

impl fmt::Display for ApplySetSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.target, self.repository)
    }
}

impl ApplySetOptions {
    /// Returns the default options for a parent.
    #[must_use]
    pub fn new(parent: impl Into<String>) -> Self {
        let (tooling, prune) = (ApplySetTooling::default(), PruneOptions::default());
        let history = HistoryOptions::default();
        Self {
            parent: parent.into(),
            tooling,
            prune,
            adopt: false,
            source: None,
            history,
            parallel: PARALLEL,
        }
    }
}

/// Prune mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PruneMode {
    /// Deletes the objects.
    #[default]
    Delete,
    /// Server-side dry run: the server validates each deletion. The objects remain in the set.
    ServerDryRun,
    /// Only reports the objects. They remain in the set.
    Preview,
}

/// The limit on the number of objects that a run may prune. If it would be exceeded, the run stops before anything is
/// sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PruneLimit {
    /// Stops if the run would prune more than three objects and more than half of the set, or two or more objects of a
    /// kind of which the target has no object. If the set was last applied from another target, stops at any object.
    #[default]
    Cautious,
    /// A number of objects.
    Objects(usize),
    /// A percentage of the members of the set.
    Percent(usize),
}

/// Prune options.
#[derive(Debug, Clone, Default)]
pub struct PruneOptions {
    /// Prune mode.
    pub mode: PruneMode,
    /// Kinds whose objects are pruned even if they contain other objects or data. Names: Namespace,
    /// CustomResourceDefinition, PersistentVolumeClaim and PersistentVolume, also plural or short.
    pub unprotected_kinds: Vec<String>,
    /// True to prune objects that the set adopted, which it did not create.
    pub adopted: bool,
    /// Maximum number of objects to prune.
    pub limit: PruneLimit,
    /// Deletion propagation to dependent objects.
    pub cascade: Cascade,
    /// The condition for completing a step. With [accepted](CompleteWhen::Accepted), deleted objects are still watched
    /// for a moment. Objects that still exist afterwards remain in the set, and so do the objects that contain them.
    pub done_when: CompleteWhen,
    /// The interrupt flag. Once it is true, no more objects are deleted. Pending deletions may still finish.
    pub stop: Option<Arc<AtomicBool>>,
}

/// The callback that receives the events of a run.
pub(crate) type SetEventSink<'r> = &'r mut (dyn FnMut(ApplySetEvent<'_>) + Send);

/// A progress event.
#[derive(Debug)]
#[non_exhaustive]
pub enum ApplySetEvent<'e> {
    /// A member that is no longer in the target is gone. In a dry run, it would be deleted.
    Pruned(&'e Object),
    /// An object is terminating, and the run does not wait for it. It remains in the set until it no longer exists.
    Terminating(&'e RemainingObject),
    /// An object is still terminating after the wait timed out.
    TimedOut(&'e RemainingObject),
    /// Sent about once a second: the objects that are still terminating.
    Waiting(&'e [RemainingObject]),
    /// An existing object was added to the set.
    Adopted(&'e Object),
    /// An object was removed from its set without being deleted.
    Orphaned(&'e Object),
    /// An object is no longer among the applied objects but was not deleted. It remains in the set.
    Kept(&'e KeptObject),
    /// An object could not be deleted.
    Failed(&'e ObjectFailure),
    /// A note.
    Note(&'e str),
    /// A warning.
    Warning(&'e str),
    /// Verbose output.
    Verbose(&'e str),
}

/// An object that was not pruned.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct KeptObject {
    /// The object.
    pub object: Object,
    /// The reason, such as `it still contains configmap/a`.
    pub reason: String,
    /// The help on pruning it the next time, if that is possible.
    pub help: Option<String>,
}

/// Result of a prune.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PruneSummary {
    /// Objects that are gone, or would be deleted in a dry run.
    pub pruned: Vec<Object>,
    /// Objects that are terminating and for which the run does not wait. They remain in the set until they no longer
    /// exist.
    pub terminating: Vec<RemainingObject>,
    /// Objects that were still terminating when the wait timed out.
    pub timed_out: Vec<RemainingObject>,
    /// Objects that were not pruned.
    pub kept: Vec<KeptObject>,
    /// Objects that could not be deleted.
    pub failures: Vec<ObjectFailure>,
    /// Objects whose deletion was not attempted because an earlier deletion failed or the run was interrupted.
    pub skipped: Vec<Object>,
}

impl PruneSummary {
    /// Returns true if all objects that should be pruned were deleted.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.failures.is_empty() && self.skipped.is_empty() && self.timed_out.is_empty()
    }
}
