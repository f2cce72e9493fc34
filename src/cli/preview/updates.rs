//! Waits for changes of files, and rebuilds the affected targets.

use std::collections::BTreeSet;
use std::process::ExitCode;

use crate::cli::watch::cannot_watch;
use crate::cli::{Failure, Outcome};
use crate::preview::{Event, Session};
use smp_files::Watcher;

/// Rebuilds targets after changes, until the wait is stopped.
pub(super) fn watch(
    session: &Session,
    watcher: &mut Watcher,
    mut publish: impl FnMut(Event) -> Result<(), Failure>,
) -> Outcome {
    loop {
        let missed = match session.take_read_set() {
            Some(reads) => watcher.watch(reads).map_err(|error| cannot_watch(&error))?,
            None => BTreeSet::new(),
        };
        let changed = if missed.is_empty() { watcher.wait() } else { Some(missed) };
        let Some(changed) = changed else { return Ok(ExitCode::SUCCESS) };
        if let Some(update) = session.refresh(&changed) {
            publish(update)?;
        }
    }
}
