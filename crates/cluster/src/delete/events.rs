//! Progress events and results of a deletion.

use crate::plan::{Object, ObjectFailure};

/// Callback that receives the events of a run.
pub(crate) type DeleteReport<'r> = &'r mut (dyn FnMut(DeleteEvent<'_>) + Send);

/// A progress event of a deletion.
#[derive(Debug)]
#[non_exhaustive]
pub enum DeleteEvent<'e> {
    /// The server accepted the deletion of an object, or would accept it in a dry run.
    Deleted(&'e Object),
    /// An object was not deleted.
    Failed(&'e ObjectFailure),
    /// Sent about once a second: the objects that still exist.
    Waiting(&'e [RemainingObject]),
    /// The deletion of an object will also delete objects that are not in the manifests.
    AlsoDeletes(&'e AlsoDeleted),
    /// A warning, for example that an object still exists after a minute.
    Warning(&'e str),
}

/// Objects that are not in the manifests and are deleted with a namespace or CRD.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AlsoDeleted {
    /// The namespace or CRD.
    pub object: Object,
    /// The number of objects; `None` if it is unknown.
    pub count: Option<usize>,
    /// Names of some of the objects, or the reason why they are unknown.
    pub description: String,
}

/// An object whose deletion was accepted and that still exists.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RemainingObject {
    /// The object.
    pub object: Object,
    /// The reasons why it is not deleted yet: finalizers with their owners, and the remaining contents of a namespace.
    pub blocked_by: Vec<String>,
}

/// Result of a deletion.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct DeleteSummary {
    /// Number of objects that were deleted, or would be in a dry run.
    pub deleted: usize,
    /// Objects that did not exist, if that is not an error.
    pub absent: Vec<Object>,
    /// Objects that were not deleted.
    pub failures: Vec<ObjectFailure>,
    /// Objects that still existed when the wait timed out.
    pub timed_out: Vec<RemainingObject>,
    /// Objects whose deletion was not attempted: the run was interrupted, the server stopped responding, or objects of
    /// an earlier step, whose deletion may need these objects, still existed at the timeout.
    pub skipped: Vec<Object>,
}

impl DeleteSummary {
    /// Returns true if all objects were deleted.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.failures.is_empty() && self.timed_out.is_empty() && self.skipped.is_empty()
    }
}
