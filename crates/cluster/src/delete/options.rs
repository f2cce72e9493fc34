//! How objects are deleted.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::apply::{DryRun, PARALLEL, WAVE};
use crate::cascade::Cascade;

/// How long it is waited until objects are gone when nothing else is said.
pub const DELETE_TIMEOUT: Duration = Duration::from_secs(300);

/// What is done about objects that are not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Absent {
    /// It is a failure, which stops nothing.
    #[default]
    Failure,
    /// Nothing: that is what was wanted.
    Ignored,
}

/// When a deletion is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum DoneWhen {
    /// When the server took it.
    #[default]
    Accepted,
    /// When the object is gone, for so long; what depends on it is deleted only then.
    Gone(Duration),
}

/// How to delete.
#[derive(Debug, Clone)]
pub struct DeleteOptions {
    /// What becomes of what belongs to the objects.
    pub cascade: Cascade,
    /// What is done about objects that are not there.
    pub absent: Absent,
    /// When it is done.
    pub done_when: DoneWhen,
    /// How much is done.
    pub dry_run: DryRun,
    /// The most requests at a time; at least one.
    pub parallel: usize,
    /// The annotations with the number of the wave in which an object is applied; the first that it has counts.
    pub waves: Vec<String>,
    /// When it is set, what is under way is still waited for, and nothing more is sent.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Default for DeleteOptions {
    fn default() -> Self {
        Self {
            cascade: Cascade::Background,
            absent: Absent::Failure,
            done_when: DoneWhen::Gone(DELETE_TIMEOUT),
            dry_run: DryRun::None,
            parallel: PARALLEL,
            waves: vec![WAVE.into()],
            stop: None,
        }
    }
}
