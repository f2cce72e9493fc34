//! Whose turn it is: a mark on the parent that says who works on the set, so that no object is pruned that another run
//! has just applied.
//!
//! A run begins by writing its own mark, in the place of any other: a run that was killed must not stop the next. It
//! prunes only while the mark is its own, which it says in the mark; the mark of a run that prunes is not replaced but
//! when it has not changed for so long that its run must have ended. All writes name the version of the parent that
//! they are based on. kubectl, which knows no marks, takes them away when it writes the parent: then nothing more is
//! pruned here, either.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::Duration;

/// The annotation of the parent with the mark. It is there only while a run works on the set, or was killed.
pub(super) const CLAIM: &str = "smp.kubectl.dev/applyset-run";

/// After so long it renews the mark.
pub(super) const RENEW: Duration = Duration::from_secs(2);

/// When the mark of a run that prunes did not change for so long, that run has ended.
pub(super) const TAKEOVER: Duration = Duration::from_secs(8);

/// What a run is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SetWork {
    Applying,
    Pruning,
}

/// The mark of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SetClaim {
    pub(super) work: SetWork,
    run: String,
    /// How often it was renewed.
    times: u32,
}

impl SetClaim {
    /// Of a new run.
    pub(super) fn new(work: SetWork) -> Self {
        let random = RandomState::new().build_hasher().finish();
        Self { work, run: format!("{random:016x}"), times: 0 }
    }

    /// The mark that follows, of the same run.
    pub(super) fn next(&self, work: SetWork) -> Self {
        Self { work, run: self.run.clone(), times: self.times + 1 }
    }

    /// What nobody here wrote is of a run that applies.
    pub(super) fn read(text: &str) -> Self {
        let mut words = text.split(' ');
        let work = if words.next() == Some("pruning") { SetWork::Pruning } else { SetWork::Applying };
        let run = words.next().unwrap_or(text).to_string();
        Self { work, run, times: words.next().and_then(|times| times.parse().ok()).unwrap_or(0) }
    }
}

impl fmt::Display for SetClaim {
    /// `pruning 0123456789abcdef 3`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let work = match self.work {
            SetWork::Applying => "applying",
            SetWork::Pruning => "pruning",
        };
        write!(f, "{work} {} {}", self.run, self.times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_read_as_they_are_written() {
        let first = SetClaim::new(SetWork::Applying);
        let next = first.next(SetWork::Pruning);
        for claim in [&first, &next] {
            assert_eq!(SetClaim::read(&claim.to_string()), *claim);
        }
        assert!(first.run == next.run && first != next);
        assert_ne!(first.run, SetClaim::new(SetWork::Applying).run, "each run has its own");
        assert_eq!(SetClaim::read("what is this").work, SetWork::Applying);
        assert!(RENEW * 2 < TAKEOVER);
    }
}
