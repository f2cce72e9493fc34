//! The files on disk, and the record of a command's reads.
//!
//! Like the settings of messages, the record is global in the process.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smp_files::{CachedDiskTree, DiskTree, FileTree, Located, ReadSet, RecordingTree};

/// The recorded reads.
#[derive(Default)]
struct Record {
    trees: Vec<RecordingTree>,
    /// The reads of the last search for targets.
    search: Option<RecordingTree>,
    /// The real paths of directories to which the command writes.
    outputs: Vec<PathBuf>,
}

/// The current record; `None` if reads are not recorded.
static RECORD: Mutex<Option<Record>> = Mutex::new(None);

fn record() -> MutexGuard<'static, Option<Record>> {
    RECORD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the files on disk, as they are during a command.
pub(super) fn disk_tree() -> Arc<dyn FileTree> {
    recorded(Arc::new(CachedDiskTree::default()))
}

/// Returns the files on disk, for a search for targets.
pub(super) fn search_tree() -> Arc<dyn FileTree> {
    let tree = disk_tree();
    if let Some(record) = &mut *record() {
        record.search = record.trees.last().cloned();
    }
    tree
}

/// Returns the reads of the last search for targets.
pub(super) fn search_read_set() -> ReadSet {
    let record = record();
    let search = record.as_ref().and_then(|record| record.search.as_ref());
    search.map(RecordingTree::read_set).unwrap_or_default()
}

/// Returns a tree whose reads are recorded, if recording is enabled.
pub(super) fn recorded(tree: Arc<dyn FileTree>) -> Arc<dyn FileTree> {
    match &mut *record() {
        Some(record) => {
            let tree = RecordingTree::new(tree);
            record.trees.push(tree.clone());
            Arc::new(tree)
        }
        None => tree,
    }
}

/// Adds the reads of a tree to the record.
pub(super) fn record_reads_of(tree: &RecordingTree) {
    if let Some(record) = &mut *record() {
        record.trees.push(tree.clone());
    }
}

/// Starts a new record, which replaces the old one.
pub(super) fn start_recording() {
    *record() = Some(Record::default());
}

/// Returns all reads since the record started, except those of outputs.
pub(super) fn read_set() -> ReadSet {
    let record = record();
    let mut reads = RecordingTree::read_set_of(record.iter().flat_map(|record| &record.trees));
    record.iter().flat_map(|record| &record.outputs).for_each(|output| reads.remove_within(output));
    reads
}

/// Excludes a directory from the record, because the command writes to it.
pub(super) fn record_output(directory: &Path) {
    if let Some(record) = &mut *record() {
        let found = DiskTree.locate(Path::new(""), directory).map(Located::into_path);
        let here = || DiskTree.working_directory().unwrap_or_default();
        record.outputs.push(found.unwrap_or_else(|_| here().join(directory)));
    }
}

/// Records a file, or all files of a directory, that is not read through the tree.
pub(super) fn record_access(path: &Path) {
    if is_recording() {
        disk_tree().record_program_access(path);
    }
}

/// Returns true if reads are recorded. In that case, the command may run again.
pub(super) fn is_recording() -> bool {
    record().is_some()
}
