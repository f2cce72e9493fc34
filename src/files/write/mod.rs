//! Writing files: one whole, or many of them, all or none.
//!
//! Nothing is ever seen half written: a text goes to the disk beside its place and is then renamed.

mod batch;
mod replace;

pub use batch::{FileChange, change_files};
pub(super) use replace::replace_file_with;
pub use replace::{ReplaceError, create_directories, replace_file};
