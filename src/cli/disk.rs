//! The files on disk, and the record of what a command reads from them.
//!
//! Like the settings of messages, the record is global to the process.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smp_files::{DiskTree, FileTree, ReadSet, RecordingTree};

/// The trees of the current record; none if reads are not recorded.
static RECORD: Mutex<Option<Vec<RecordingTree>>> = Mutex::new(None);

fn record() -> MutexGuard<'static, Option<Vec<RecordingTree>>> {
    RECORD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the files on disk.
pub(super) fn disk_tree() -> Arc<dyn FileTree> {
    recorded(Arc::new(DiskTree))
}

/// Returns a tree whose reads are recorded, if reads are recorded at all.
pub(super) fn recorded(tree: Arc<dyn FileTree>) -> Arc<dyn FileTree> {
    match &mut *record() {
        Some(trees) => {
            let tree = RecordingTree::new(tree);
            trees.push(tree.clone());
            Arc::new(tree)
        }
        None => tree,
    }
}

/// Starts a record. An earlier one is dropped.
pub(super) fn start_recording() {
    *record() = Some(Vec::new());
}

/// Returns everything that was read since the record started.
pub(super) fn read_set() -> ReadSet {
    RecordingTree::read_set_of(record().iter().flatten())
}

/// Records a file, or all files of a directory, that is read by other means.
pub(super) fn record_access(path: &Path) {
    if is_recording() {
        disk_tree().record_program_access(path);
    }
}

/// Returns true if reads are recorded, so that the command may run again.
pub(super) fn is_recording() -> bool {
    record().is_some()
}
