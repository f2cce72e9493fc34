//! Writing a single file, or several files atomically.

#[cfg(not(target_family = "wasm"))]
mod journal;
#[cfg(target_family = "wasm")]
#[path = "../wasm/journal.rs"]
mod journal;
mod permission;
mod resolve;
mod error;
mod replace;

pub use journal::JOURNAL;
pub use journal::{Expected, FileChange, Recovery, change_files, check_no_pending_write, recover_directory_and_parents, recover};
pub use resolve::create_directories;
pub use replace::replace_file;
pub(super) use replace::replace_file_with;

#[cfg(test)]
mod tests;
