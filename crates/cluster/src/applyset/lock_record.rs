//! The ApplySet lock: an annotation of the parent that identifies the run that currently changes the set. It prevents a
//! run from pruning objects that another run has just applied.
//!
//! When a run begins, it replaces the lock annotation of any run that is not pruning, because a killed run must not
//! block the next one. A run prunes only while the annotation is its own and has the step `pruning`. The annotation of
//! a pruning run is replaced after it has not changed for [`LOCK_TIMEOUT`]. All writes are conditional on the parent's
//! resource version. kubectl does not know the annotation and drops it when it writes the parent, which also stops the
//! pruning of this program.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::Duration;

/// The lock annotation of the parent. It exists only while a run changes the set, or after a run was killed.
pub(super) const LOCK_ANNOTATION: &str = "smp.kubectl.dev/applyset-run";

/// Interval at which a run renews the annotation.
pub(super) const RENEW_INTERVAL: Duration = Duration::from_secs(2);

/// The time after which an unchanged annotation of a pruning run means that the run has ended.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(8);

/// The current step of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunStep {
    Applying,
    Pruning,
}

/// Value of the lock annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LockRecord {
    pub(super) step: RunStep,
    run: String,
    /// Number of renewals.
    renewals: u32,
}

impl LockRecord {
    /// Returns the value for a new run.
    pub(super) fn new(step: RunStep) -> Self {
        let random = RandomState::new().build_hasher().finish();
        Self { step, run: format!("{random:016x}"), renewals: 0 }
    }

    /// Returns the renewed value of the same run.
    pub(super) fn renewed(&self, step: RunStep) -> Self {
        Self { step, run: self.run.clone(), renewals: self.renewals + 1 }
    }

    /// Parses an annotation. A value that this program did not write is treated as that of an applying run.
    pub(super) fn parse(text: &str) -> Self {
        let mut words = text.split(' ');
        let step = if words.next() == Some("pruning") { RunStep::Pruning } else { RunStep::Applying };
        let run = words.next().unwrap_or(text).to_string();
        Self { step, run, renewals: words.next().and_then(|renewals| renewals.parse().ok()).unwrap_or(0) }
    }
}

impl fmt::Display for LockRecord {
    /// Formats the value, for example as `pruning 0123456789abcdef 3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = match self.step {
            RunStep::Applying => "applying",
            RunStep::Pruning => "pruning",
        };
        write!(f, "{step} {} {}", self.run, self.renewals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_annotations_round_trip() {
        let first = LockRecord::new(RunStep::Applying);
        let next = first.renewed(RunStep::Pruning);
        for record in [&first, &next] {
            assert_eq!(LockRecord::parse(&record.to_string()), *record);
        }
        assert!(first.run == next.run && first != next);
        assert_ne!(first.run, LockRecord::new(RunStep::Applying).run, "each run has its own ID");
        assert_eq!(LockRecord::parse("unknown value").step, RunStep::Applying);
        assert!(RENEW_INTERVAL * 2 < LOCK_TIMEOUT);
    }
}
