//! Collects the references that a build needs but may not fetch, to report all of them in one error.

use std::sync::{Mutex, PoisonError};

use super::super::repo_spec::without_password;
use smp_text::diagnostic::{Code, Diagnostic, counted, plural};
use smp_text::source::Span;

/// The reason why a reference is not available.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingReason {
    /// It is not in the cache of an offline run.
    NotCached,
    /// The entry in the cache of an offline run is damaged.
    Damaged,
    /// It is not in the lock file, which must contain everything.
    NotLocked,
}

#[derive(Debug)]
struct Missed {
    reference: String,
    at: Span,
    lack: MissingReason,
}

/// The missing references.
#[derive(Debug, Default)]
pub(super) struct MissingReferences(Mutex<Vec<Missed>>);

impl MissingReferences {
    /// Adds a reference and returns the error for it. `lock` is the name of the lock file.
    pub(super) fn add(&self, reference: &str, at: Span, lack: MissingReason, lock: &str) -> Diagnostic {
        let missed = Missed { reference: reference.to_string(), at, lack };
        let error = error_of(&[&missed], lock);
        let mut missing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !missing.iter().any(|known| known.reference == reference) {
            missing.push(missed);
        }
        error
    }

    /// Returns one error with all missing references, if there are any. References that are not locked come first,
    /// because whether they are in the cache is only known after they are locked.
    pub(super) fn error(&self, lock: &str) -> Option<Diagnostic> {
        let missing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (unlocked, uncached): (Vec<&Missed>, Vec<&Missed>) =
            missing.iter().partition(|missed| missed.lack == MissingReason::NotLocked);
        let first = if unlocked.is_empty() { uncached } else { unlocked };
        (!first.is_empty()).then(|| error_of(&first, lock))
    }
}

/// Returns the error for references that are missing for the same reason.
fn error_of(all: &[&Missed], lock: &str) -> Diagnostic {
    let are = plural(all.len(), "is", "are");
    let missing = format!("{} {are}", counted(all.len(), "remote reference"));
    let (message, help) = if all.iter().any(|missed| missed.lack == MissingReason::NotLocked) {
        let message = format!("{missing} not in {lock}, but --locked requires all of them");
        (message, "run `kubectl smp lock`, or remove --locked")
    } else {
        let message = format!("{missing} not in the cache and cannot be fetched offline");
        (message, "run the command once without --offline, with the same cache directory")
    };
    let error = Diagnostic::error(Code::NotFetched, message).help(help);
    all.iter().fold(error, |error, missed| {
        let why = if missed.lack == MissingReason::Damaged { "damaged" } else { "missing" };
        let note = format!("{why}: {}", without_password(&missed.reference));
        error.label(missed.at, "").note(note)
    })
}
