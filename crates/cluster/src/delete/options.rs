//! Options of a deletion.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::apply::{DryRun, PARALLEL, WAVE};
use crate::cascade::Cascade;

/// Default time to wait until objects are gone.
pub const DELETE_TIMEOUT: Duration = Duration::from_secs(300);

/// Handling of objects that do not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MissingObjects {
    /// Report an error; other objects are still deleted.
    #[default]
    Error,
    /// Ignore them.
    Ignore,
}

/// Condition for completing a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CompleteWhen {
    /// The server accepted the deletion.
    #[default]
    Accepted,
    /// The object is gone within the given time. Objects that it depends on are deleted afterwards.
    Gone(Duration),
}

/// Options of [`delete`](super::delete()).
#[derive(Debug, Clone)]
pub struct DeleteOptions {
    /// Deletion propagation to dependent objects.
    pub cascade: Cascade,
    /// Handling of objects that do not exist.
    pub missing: MissingObjects,
    /// Condition for completing a deletion.
    pub complete_when: CompleteWhen,
    /// Dry run mode.
    pub dry_run: DryRun,
    /// Maximum number of parallel requests; at least one.
    pub parallel: usize,
    /// The annotations with the wave of an object, a number that orders objects, in order of precedence. Objects with a
    /// higher number are deleted first.
    pub waves: Vec<String>,
    /// Set to true to interrupt the deletion: pending requests may still finish, and nothing else is sent.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Default for DeleteOptions {
    fn default() -> Self {
        Self {
            cascade: Cascade::Background,
            missing: MissingObjects::Error,
            complete_when: CompleteWhen::Gone(DELETE_TIMEOUT),
            dry_run: DryRun::None,
            parallel: PARALLEL,
            waves: vec![WAVE.into()],
            stop: None,
        }
    }
}
