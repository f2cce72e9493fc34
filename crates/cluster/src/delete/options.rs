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
    /// Reports an error. Other objects are still deleted.
    #[default]
    Error,
    /// Ignores missing objects.
    Ignore,
}

/// Condition for completing a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CompleteWhen {
    /// The server accepted the deletion.
    #[default]
    Accepted,
    /// The object is gone within the given time. Objects on which it depends are deleted after that.
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
    /// The annotations with the wave of an object, in order of precedence. A wave is a number. Objects of a higher wave
    /// are deleted first.
    pub waves: Vec<String>,
    /// The interrupt flag. Once it is true, no more requests are sent. Pending requests may still finish.
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
