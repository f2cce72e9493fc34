//! How sets are worked on, and what happens then, as data.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::tooling::ApplySetTooling;
use crate::apply::PARALLEL;
use crate::cascade::Cascade;
use crate::delete::{DoneWhen, RemainingObject};
use crate::plan::{Object, ObjectFailure};

/// Which set, and under which name it is kept.
#[derive(Debug, Clone)]
pub struct ApplySetOptions {
    /// The parent: `[RESOURCE[.GROUP]/]NAME`, without a resource a Secret.
    pub parent: String,
    /// The tool that the parent names.
    pub tooling: ApplySetTooling,
    /// What is done with objects that left the set.
    pub prune: PruneOptions,
    /// The most requests at a time; at least one.
    pub parallel: usize,
}

impl ApplySetOptions {
    /// For a parent.
    #[must_use]
    pub fn new(parent: impl Into<String>) -> Self {
        let (tooling, prune) = (ApplySetTooling::default(), PruneOptions::default());
        Self { parent: parent.into(), tooling, prune, parallel: PARALLEL }
    }
}

/// Whether what left the set is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum PruneMode {
    /// It is deleted.
    #[default]
    Delete,
    /// The server does everything but delete it, and says what it would refuse; it stays in the set.
    ServerDryRun,
    /// It is only told; it stays in the set.
    Show,
}

/// How to prune.
#[derive(Debug, Clone, Default)]
pub struct PruneOptions {
    /// Whether anything is deleted.
    pub mode: PruneMode,
    /// Kinds whose objects go even when they still hold things: Namespace, CustomResourceDefinition,
    /// PersistentVolumeClaim, PersistentVolume, or what kubectl calls them.
    pub holding: Vec<String>,
    /// What becomes of objects that a deleted one owns.
    pub cascade: Cascade,
    /// When a step is done. What is only [accepted](DoneWhen::Accepted) is looked at for a moment all the same: what is
    /// still there then stays in the set, and holds what it is in.
    pub done_when: DoneWhen,
    /// When it is set, what is under way is still waited for, and nothing more is deleted.
    pub stop: Option<Arc<AtomicBool>>,
}

/// Receives the events of a run.
pub(crate) type SetReport<'r> = &'r mut (dyn FnMut(ApplySetEvent<'_>) + Send);

/// Something that happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum ApplySetEvent<'e> {
    /// An object that is no longer in the set is gone, or would be deleted.
    Pruned(&'e Object),
    /// An object is being deleted and still there; nobody waits for it. It stays in the set until it is gone.
    Ending(&'e RemainingObject),
    /// The same, and it was waited for.
    Remaining(&'e RemainingObject),
    /// About a second has passed; these are still there.
    Waiting(&'e [RemainingObject]),
    /// An object that was there already is in the set now.
    Adopted(&'e Object),
    /// An object is in no set any more, and stays.
    Orphaned(&'e Object),
    /// An object that is no longer among those that are applied stays, and in the set.
    Kept(&'e KeptObject),
    /// An object could not be deleted.
    Failed(&'e ObjectFailure),
    /// Something worth knowing.
    Warning(&'e str),
    /// Something for those who want to know all.
    Detail(&'e str),
}

/// An object that stays.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct KeptObject {
    /// The object.
    pub object: Object,
    /// Why, as in `it still holds configmap/a`.
    pub reason: String,
    /// What lets it go the next time, if anything does.
    pub way_out: Option<String>,
}

/// What came of pruning.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PruneSummary {
    /// The objects that are gone, or would be deleted.
    pub pruned: Vec<Object>,
    /// Those that are being deleted and still there, where nobody waits for them. They stay in the set until they are gone.
    pub ending: Vec<RemainingObject>,
    /// Those that were still there when the time was over.
    pub remaining: Vec<RemainingObject>,
    /// Those that stay.
    pub kept: Vec<KeptObject>,
    /// Those that could not be deleted.
    pub failures: Vec<ObjectFailure>,
    /// Those that were not tried: something before them failed, or the run was stopped.
    pub skipped: Vec<Object>,
}

impl PruneSummary {
    /// Whether everything was done that was to be done.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.failures.is_empty() && self.skipped.is_empty() && self.remaining.is_empty()
    }
}
