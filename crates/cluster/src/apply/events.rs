//! What happens when objects are applied, as data.

use std::collections::BTreeMap;

use crate::conflict::ApplyConflict;
use crate::plan::Object;
use smp_text::diagnostic::Diagnostic;
use smp_text::yaml::Node;

/// Receives the events of a run.
pub(crate) type ApplyReport<'r> = &'r mut (dyn FnMut(Event<'_>) + Send);

/// Something that happened.
#[derive(Debug)]
pub enum Event<'e> {
    /// An object was applied, or would be.
    Applied(&'e AppliedObject),
    /// An object was not applied.
    Failed(&'e ApplyFailure),
    /// The server has something to say; each text comes once.
    Warning(&'e str),
    /// Something worth knowing that no server said; each text comes once.
    Remark(&'e str),
}

/// What applying did to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApplyChange {
    /// It was not there.
    Created,
    /// It is another one than before.
    Configured,
    /// It is as it was.
    Unchanged,
    /// It was deleted, and made anew.
    Replaced,
    /// It was sent; what was there before may not be read.
    Applied,
}

impl ApplyChange {
    /// The word for it, as kubectl has it for client-side apply.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Configured => "configured",
            Self::Unchanged => "unchanged",
            Self::Replaced => "replaced",
            Self::Applied => "serverside-applied",
        }
    }
}

/// An object that was applied, or would be.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AppliedObject {
    /// The object.
    pub object: Object,
    /// What that did to it.
    pub change: ApplyChange,
    /// As the server has it now, or would have it.
    pub live: Node,
}

/// An object that was not applied.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ApplyFailure {
    /// The object.
    pub object: Object,
    /// What went wrong.
    pub problem: Diagnostic,
    /// The owners of the fields, when that is what went wrong.
    pub conflict: Option<ApplyConflict>,
}

/// What came of an apply.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ApplySummary {
    /// How many objects were applied, or would be.
    pub applied: usize,
    /// Those that were not.
    pub failures: Vec<ApplyFailure>,
    /// Those that were not sent: the server did not answer any more, an earlier wave failed,
    /// or the run was stopped.
    pub skipped: Vec<Object>,
    /// Those that were sent, and what became of them is not known: the run was stopped before the server answered.
    pub unknown: Vec<Object>,
    /// Those that are in an ApplySet no more, since they were applied without it, by the id of that set: the next apply
    /// of the set does not prune them. Of a dry run: those that would leave it.
    pub left_sets: BTreeMap<String, Vec<Object>>,
}

impl ApplySummary {
    /// Whether everything was applied.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.failures.is_empty() && self.skipped.is_empty() && self.unknown.is_empty()
    }
}
