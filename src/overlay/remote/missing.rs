//! What a run asked for and may not fetch, for one error that lists all of it.

use std::sync::{Mutex, PoisonError};

use super::super::repo_spec::without_password;
use crate::diagnostic::{Code, Diagnostic};
use crate::source::Span;

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
    /// Adds a reference; the error with all of them so far. `lock` names the lock file.
    pub(super) fn add(&self, reference: &str, at: Span, lack: Lack, lock: &str) -> Diagnostic {
        let mut missing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !missing.iter().any(|missed| missed.reference == reference) {
            missing.push(Missed { reference: reference.to_string(), at, lack });
        }
        drop(missing);
        let none = || Diagnostic::error(Code::Remote, format!("`{reference}` is missing"));
        self.error(lock).unwrap_or_else(none)
    }

    /// One error with all of them, if there are any. What is not locked comes first: the rest cannot be told
    /// before it is.
    pub(super) fn error(&self, lock: &str) -> Option<Diagnostic> {
        let missing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (unlocked, uncached): (Vec<&Missed>, Vec<&Missed>) =
            missing.iter().partition(|missed| missed.lack == Lack::Lock);
        let (all, error) = match (unlocked.as_slice(), uncached.as_slice()) {
            ([], []) => return None,
            ([], uncached) => {
                let message =
                    format!("{} not in the cache, and nothing may be fetched offline", count(uncached.len()));
                let error = Diagnostic::error(Code::Remote, message);
                (uncached, error.help("run it once without --offline, with the same cache directory"))
            }
            (unlocked, _) => {
                let message = format!("{} not in {lock}, which must have all", count(unlocked.len()));
                let error = Diagnostic::error(Code::Locked, message);
                (unlocked, error.help("run `kubectl smp lock`, or leave --locked out"))
            }
        };
        Some(all.iter().fold(error, |error, missed| {
            let why = if missed.lack == Lack::Damaged { "damaged" } else { "missing" };
            let note = format!("{why}: {}", without_password(&missed.reference));
            error.label(missed.at, "").note(note)
        }))
    }
}

fn count(number: usize) -> String {
    if number == 1 { "1 remote reference is".to_string() } else { format!("{number} remote references are") }
}
