//! Stands for the journal where the system has no locks and no handles of directories: many files cannot be
//! changed there, since nothing would make all of them one change.

#[path = "../write/journal/change.rs"]
mod change;

use std::path::Path;

pub use self::change::{Expected, FileChange, Recovery};
use super::super::lock::Waiting;
use super::super::tree::FileTree;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The directory of a journal.
pub const JOURNAL: &str = ".kubectl-smp-journal";

/// Changes files in and below a directory: all of them, or none.
///
/// # Errors
/// Always, unless there is nothing to change.
pub fn change_files(_directory: &Path, changes: &[FileChange<'_>]) -> Result<()> {
    if changes.is_empty() { Ok(()) } else { Err(no_locks()) }
}

/// Ends what a program began to change in a directory and did not end.
///
/// # Errors
/// Somebody began, which cannot be ended here.
pub fn recover(directory: &Path, _waiting: Waiting) -> Result<Recovery> {
    if directory.join(JOURNAL).exists() { Err(no_locks()) } else { Ok(Recovery::Nothing) }
}

/// Ends what a program began to change in a directory, or one that it is in.
///
/// # Errors
/// As [`recover`].
pub fn end_unfinished(directory: &Path) -> Result<()> {
    if has_journal(directory) { Err(no_locks()) } else { Ok(()) }
}

/// Fails for a directory that may have been changed in part only: what is read there is neither old nor new.
///
/// # Errors
/// There is a journal in it, or in one that it is in; who wrote it cannot be told here.
pub fn check_finished(tree: &dyn FileTree, directory: &Path) -> Result<()> {
    if !tree.is_on_disk() || !has_journal(directory) {
        return Ok(());
    }
    let message = format!(
        "{} may be changed in part: a program was stopped, or is at it just now",
        directory.display()
    );
    Err(Diagnostic::error(Code::Io, message).help("run `kubectl smp recover` on it outside of WebAssembly"))
}

fn has_journal(directory: &Path) -> bool {
    directory.ancestors().any(|above| above.join(JOURNAL).exists())
}

fn no_locks() -> Diagnostic {
    Diagnostic::error(Code::Unsupported, "files are not changed here: WebAssembly has no locks for them")
        .help("write the texts of the result yourself")
}
