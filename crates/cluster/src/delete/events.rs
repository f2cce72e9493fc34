//! What happens when objects are deleted, as data.

use crate::plan::{Object, ObjectFailure};

/// Receives the events of a run.
pub(crate) type DeleteReport<'r> = &'r mut (dyn FnMut(DeleteEvent<'_>) + Send);

/// Something that happened.
#[derive(Debug)]
#[non_exhaustive]
pub enum DeleteEvent<'e> {
    /// The server took the deletion of an object, or would take it.
    Deleted(&'e Object),
    /// An object was not deleted.
    Failed(&'e ObjectFailure),
    /// About a second has passed; these are still there.
    Waiting(&'e [RemainingObject]),
    /// Objects that are not to be deleted go with one that is about to be.
    TakesAlong(&'e TakenAlong),
    /// Something that makes the wait longer, or less telling.
    Warning(&'e str),
}

/// What goes with a namespace, or with a CRD, beside the objects of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TakenAlong {
    /// What it goes with.
    pub object: Object,
    /// How many objects go; none where that is not known.
    pub count: Option<usize>,
    /// The names of some of them, or why they are not known.
    pub what: String,
}

/// An object whose deletion was taken, and that is still there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemainingObject {
    /// The object.
    pub object: Object,
    /// What holds it: its finalizers with who set them, what a namespace still has. May hold anything.
    pub held_by: Vec<String>,
}

/// What came of deleting.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DeleteSummary {
    /// How many objects were deleted, or would be.
    pub deleted: usize,
    /// Those that were not there, where that is no failure.
    pub absent: Vec<Object>,
    /// Those that were not deleted.
    pub failures: Vec<ObjectFailure>,
    /// Those that were still there when the time was over.
    pub remaining: Vec<RemainingObject>,
    /// Those that were not tried: the run was stopped, the server did not answer any more, or something that may need them
    /// was waited for in vain.
    pub skipped: Vec<Object>,
}

impl DeleteSummary {
    /// Whether everything was deleted.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.failures.is_empty() && self.remaining.is_empty() && self.skipped.is_empty()
    }
}
