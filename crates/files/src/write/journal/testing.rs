//! Helpers for tests of interrupted programs.

use std::path::Path;

use super::commit::Commit;
use super::list::Changes;
use super::{FileChange, Journal, LockMode, prepare};

/// Prepares changes, makes `made` of them, rolls back `back` of these if it is set, and stops.
pub(in super::super) fn interrupt(root: &Path, changes: &[FileChange<'_>], made: usize, back: Option<usize>) {
    let plan = prepare::plan(changes, root).expect("resolved paths");
    let journal = Journal::open(root, LockMode::Try, root).expect("a journal");
    let all = plan.prepare(&journal.path, root).expect("prepared");
    all.write(&journal.path).expect("a list");
    let commit = Commit::new(&all, root, &journal.path).expect("directories");
    commit.make_directories().expect("made");
    for (n, change) in all.files.iter().enumerate().take(made) {
        commit.make_one(n, change).expect("made");
    }
    if let Some(back) = back {
        Changes::start_rollback(&journal.path).expect("started");
        for (n, change) in all.files.iter().enumerate().rev().take(back) {
            commit.roll_back_one(n, change).expect("rolled back");
        }
    }
}

/// Opens the journal of an interrupted write, calls a function, and then completes the write.
pub(in super::super) fn recover_after(root: &Path, opened: impl FnOnce()) {
    let journal = Journal::open(root, LockMode::Wait, root).expect("a journal");
    opened();
    journal.recover().expect("recovered");
}
