//! All reading and writing of files.
//!
//! Part of `kubectl-smp`; this crate promises no stability of its own.
//!
//! Owns trees of files that are read ([`FileTree`]: on disk, in memory, confined to a directory), what was read of them
//! ([`ReadSet`]), safe writing of one file or many (`write`), caches (`store`), temporary files and the sandbox. There is
//! one function that opens a path, [`FileTree::open`]. Callers are given a tree, or a [`Directory`] of one, and never ask
//! where it is. Errors of reading are the system's own: callers know which entry of which file named the path.
//!
//! Must not know what is in files. No other crate of the workspace touches the file system.
//!
//! Begin with [`FileTree`], then [`change_files`].

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
