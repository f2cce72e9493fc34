//! What a build asked for and may not fetch, for one error that lists all of it.

use std::sync::{Mutex, PoisonError};

use super::super::repo_spec::without_password;
use smp_text::diagnostic::{Code, Diagnostic, by_count, counted};
use smp_text::source::Span;

/// Why something is not to be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lack {
    /// It is not in the cache of an offline run.
    Cache,
    /// What the cache of an offline run has is not what was fetched.
    Damaged,
    /// It is not in the lock file that must have all.
    Lock,
}

#[derive(Debug)]
struct Missed {
    reference: String,
    at: Span,
    lack: Lack,
}

/// The references that cannot be had.
#[derive(Debug, Default)]
pub(super) struct Missing(Mutex<Vec<Missed>>);

impl Missing {
    /// Adds a reference; the error for it. `lock` names the lock file.
    pub(super) fn add(&self, reference: &str, at: Span, lack: Lack, lock: &str) -> Diagnostic {
        let missed = Missed { reference: reference.to_string(), at, lack };
        let error = error_of(&[&missed], lock);
        let mut missing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !missing.iter().any(|known| known.reference == reference) {
            missing.push(missed);
        }
        error
    }

    /// One error with all of them, if there are any. What is not locked comes first: the rest cannot be told
    /// before it is.
    pub(super) fn error(&self, lock: &str) -> Option<Diagnostic> {
        let missing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (unlocked, uncached): (Vec<&Missed>, Vec<&Missed>) =
            missing.iter().partition(|missed| missed.lack == Lack::Lock);
        let first = if unlocked.is_empty() { uncached } else { unlocked };
        (!first.is_empty()).then(|| error_of(&first, lock))
    }
}

/// The error for references that are missing for one reason.
fn error_of(all: &[&Missed], lock: &str) -> Diagnostic {
    let are = by_count(all.len(), "is", "are");
    let missing = format!("{} {are}", counted(all.len(), "remote reference"));
    let (message, help) = if all.iter().any(|missed| missed.lack == Lack::Lock) {
        let message = format!("{missing} not in {lock}, which must have all");
        (message, "run `kubectl smp lock`, or leave --locked out")
    } else {
        let message = format!("{missing} not in the cache, and nothing may be fetched offline");
        (message, "run it once without --offline, with the same cache directory")
    };
    let error = Diagnostic::error(Code::NotFetched, message).help(help);
    all.iter().fold(error, |error, missed| {
        let why = if missed.lack == Lack::Damaged { "damaged" } else { "missing" };
        let note = format!("{why}: {}", without_password(&missed.reference));
        error.label(missed.at, "").note(note)
    })
}
