//! A placeholder for the journal on systems without file locks and directory handles. Changes of several files are
//! rejected, since they would not be atomic.

#[path = "../write/journal/change.rs"]
mod change;

use std::path::Path;

pub use self::change::{Expected, FileChange, Recovery};
use super::super::lock::LockMode;
use super::super::tree::FileTree;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The directory of a journal.
pub const JOURNAL: &str = ".kubectl-smp-journal";

/// Changes files in and below a directory: all of them, or none.
///
/// # Errors
/// Always, unless there are no changes.
pub fn change_files(_directory: &Path, changes: &[FileChange<'_>]) -> Result<()> {
    if changes.is_empty() { Ok(()) } else { Err(unsupported()) }
}

/// Completes or rolls back an interrupted write in a directory.
///
/// # Errors
/// There is an interrupted write, which cannot be completed on this system.
pub fn recover(directory: &Path, _waiting: LockMode) -> Result<Recovery> {
    if directory.join(JOURNAL).exists() { Err(unsupported()) } else { Ok(Recovery::Nothing) }
}

/// Completes or rolls back an interrupted write in a directory or in a parent directory.
///
/// # Errors
/// The errors of [`recover`].
pub fn recover_directory_and_parents(directory: &Path) -> Result<()> {
    if has_journal(directory) { Err(unsupported()) } else { Ok(()) }
}

/// Checks that no interrupted write is pending for a directory. Otherwise its files could be a mix of old and new ones.
///
/// # Errors
/// The directory or a parent directory has a journal. Its state cannot be determined on this system.
pub fn check_no_pending_write(tree: &dyn FileTree, directory: &Path) -> Result<()> {
    if !tree.is_on_disk() || !has_journal(directory) {
        return Ok(());
    }
    let message = format!(
        "{} may be partially written: a write is in progress or was interrupted",
        directory.display()
    );
    Err(Diagnostic::error(Code::Io, message)
        .help("run `kubectl smp recover` on the directory outside of WebAssembly"))
}

fn has_journal(directory: &Path) -> bool {
    directory.ancestors().any(|above| above.join(JOURNAL).exists())
}

fn unsupported() -> Diagnostic {
    Diagnostic::error(Code::Unsupported, "files cannot be written: WebAssembly has no file locks")
        .help("use the result and write its files outside of WebAssembly")
}
