//! File access for kubectl-smp.
//!
//! Part of `kubectl-smp`; this crate promises no stability of its own.
//!
//! This crate contains file trees ([`FileTree`]: on disk, in memory, confined to a directory), the record of reads
//! ([`ReadSet`]), safe writes of one or many files (`write`), caches (`store`), temporary files and the sandbox. Only
//! [`FileTree::open`] opens a path. Callers get a tree, or a [`Directory`] of a tree, and do not depend on where it is
//! stored. Read errors are those of the system. Callers add the file and the entry that contained the path.
//!
//! This crate does not depend on the content of files. No other crate of the workspace accesses the file
//! system.
//!
//! Start with [`FileTree`], then [`change_files`].

// Tests contain long tables.
#![cfg_attr(test, allow(clippy::too_many_lines))]
// Some functions are only used by the journal, which is not available on WebAssembly.
#![cfg_attr(target_family = "wasm", allow(dead_code))]

mod cached_disk;
mod cleanup;
#[cfg(not(target_family = "wasm"))]
mod confined;
#[cfg(target_family = "wasm")]
#[path = "wasm/confined.rs"]
mod confined;
mod directory;
mod disk;
mod edited;
#[cfg(all(feature = "git", not(target_family = "wasm")))]
mod git;
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
mod tree_changes;
mod walk;
#[cfg(all(feature = "watch", not(target_family = "wasm")))]
mod watch;
mod write;

pub use cached_disk::CachedDiskTree;
pub use cleanup::remove_all as end_temporaries;
pub use confined::ConfinedTree;
pub use confined::is_outside_error;
pub use directory::Directory;
pub use disk::DiskTree;
pub use edited::EditedTree;
#[cfg(all(feature = "git", not(target_family = "wasm")))]
pub use git::{GitRepository, GitTree, WorkingTree};
pub use lexical::clean_path;
pub use lock::LockMode;
pub use memory::MemoryTree;
pub use nearest::{RejectedFile, nearest_file};
pub use read_set::{ReadSet, RecordingTree, affected_results};
#[cfg(feature = "sandbox")]
pub use sandbox::{Sandbox, SandboxStatus};
pub use seal::{Description, hex};
pub use stamp::FileStamp;
pub use store::user_cache;
pub use store::{CacheEntry, CacheKind, Cleared};
pub use store::{
    CachedDirectory, HeldDirectory, MAX_UNUSED_AGE, Removal, Staging, Store, StoredEntry, cache_key,
    is_cache_key,
};
pub use temporary::{TemporaryDirectory, TemporaryFile, UnnamedFile};
pub use tree::SPECIAL_FILE;
#[cfg(feature = "sandbox")]
pub use tree::read_bounded;
pub use tree::{ContentId, DirectoryEntry, FileKind, FileTree, Located, MAX_FILE_SIZE, OpenFile};
pub use tree_changes::{ChangedRead, TreeChanges};
pub use walk::Hidden;
pub use walk::{LinkPolicy, TreeWalk, WalkEntry, WalkError, WalkOptions};
#[cfg(all(feature = "watch", not(target_family = "wasm")))]
pub use watch::{WatchStop, Watcher};
pub use write::JOURNAL;
pub use write::{Expected, FileChange};
pub use write::{
    Recovery, change_files, check_no_pending_write, recover, recover_directory_and_parents,
    remove_empty_directories, remove_own_file, replace_file, replace_private_file,
};

#[cfg(test)]
mod tests;
