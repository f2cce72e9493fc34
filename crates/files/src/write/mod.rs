//! Writes a single file, or several files atomically.

mod error;
#[cfg(not(target_family = "wasm"))]
mod journal;
#[cfg(target_family = "wasm")]
#[path = "../wasm/journal.rs"]
mod journal;
mod permission;
mod replace;
mod resolve;

pub use journal::JOURNAL;
pub use journal::{
    Expected, FileChange, Recovery, change_files, check_no_pending_write, recover,
    recover_directory_and_parents,
};
pub(super) use replace::replace_file_with;
pub use replace::{remove_empty_directories, remove_own_file, replace_file, replace_private_file};
pub use resolve::create_directories;

#[cfg(test)]
mod tests;
