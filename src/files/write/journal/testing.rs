//! Programs that are stopped while they change files.

use std::path::Path;

use super::commit::{make_directories, make_one, take_one_back};
use super::list::Changes;
use super::{FileChange, Journal, Waiting, prepare};

/// Prepares changes, makes so many of them, takes some of these back when that is said, and is stopped.
pub(in super::super) fn stop(root: &Path, changes: &[FileChange<'_>], made: usize, back: Option<usize>) {
    let plan = prepare::plan(changes, root).expect("places");
    let journal = Journal::open(root, Waiting::Never).expect("a journal");
    let all = plan.prepare(&journal.path, root).expect("prepared");
    all.write(&journal.path).expect("a list");
    make_directories(&all, root).expect("made");
    for (n, change) in all.files.iter().enumerate().take(made) {
        make_one(change, n, &journal.path, &root.join(&change.path)).expect("made");
    }
    if let Some(back) = back {
        Changes::take_back(&journal.path).expect("noted");
        for (n, change) in all.files.iter().enumerate().rev().take(back) {
            take_one_back(change, n, &journal.path, &root.join(&change.path)).expect("taken back");
        }
    }
}
