//! All reading and writing of files: trees that are read, what was read of them, files that are written.
//!
//! Nothing else in the library touches the file system. Who reads is given a [`FileTree`], or a
//! [`Directory`] of one, and never asks where the tree is: on a [`DiskTree`], in a [`MemoryTree`], or behind
//! a [`RecordingTree`], which notes in a [`ReadSet`] what a result depends on. There is one place where a
//! path is opened, [`FileTree::open`], and one folder where files are written, `write`. Caches are `store`s.
//!
//! Errors of reading are the system's own: callers know by which name in which text a file was meant, and
//! say so. Must not know what is in files.

// Tests are tables.
#![cfg_attr(test, allow(clippy::too_many_lines))]
// What only the journal needs, which is not there.
#![cfg_attr(target_family = "wasm", allow(dead_code))]

mod cleanup;
#[cfg(not(target_family = "wasm"))]
mod confined;
#[cfg(target_family = "wasm")]
#[path = "wasm/confined.rs"]
mod confined;
mod directory;
mod disk;
mod edited;
mod handle;
mod lexical;
mod lock;
mod memory;
mod nearest;
mod read_set;
#[cfg(feature = "sandbox")]
mod sandbox;
mod seal;
mod stamp;
mod store;
mod temporary;
mod tree;
mod walk;
mod write;

pub use cleanup::end as end_temporaries;
pub use confined::ConfinedTree;
pub use confined::leads_out;
pub use directory::Directory;
pub use disk::DiskTree;
pub use edited::EditedTree;
pub use lexical::clean;
pub use lock::Waiting;
pub use memory::MemoryTree;
pub use nearest::{Distrust, nearest_file};
pub use read_set::{ReadSet, RecordingTree};
#[cfg(feature = "sandbox")]
pub use sandbox::{Closed, Sandbox};
pub use seal::{About, hex};
pub use stamp::FileStamp;
pub use store::user_cache;
pub use store::{CacheEntry, CacheKind, Cleared};
pub use store::{HeldDirectory, KeptDirectory, Removal, Staging, Store, StoredEntry, UNUSED, is_key, key};
pub use temporary::{TemporaryDirectory, TemporaryFile, UnnamedFile};
pub use tree::NO_FILE;
#[cfg(feature = "sandbox")]
pub use tree::read_bounded;
pub use tree::{DirectoryEntry, FileKind, FileTree, Located, MAX_FILE_SIZE, OpenFile};
pub use walk::Hidden;
pub use walk::{LinkPolicy, TreeWalk, WalkError, WalkOptions, Walked};
pub use write::JOURNAL;
pub use write::{Expected, FileChange};
pub use write::{Recovery, change_files, check_finished, end_unfinished, recover, replace_file};

#[cfg(test)]
mod tests;
