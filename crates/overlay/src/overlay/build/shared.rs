//! State shared between the targets of one run. Directories are read once, and built once per schema, which is
//! nearly always the same.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::accumulated::Accumulated;
use crate::overlay::outline::OutlineBody;
use crate::overlay::tree::{SharedTrees, Tree};
use smp_merge::schema::Schema;
use smp_text::diagnostic::Diagnostic;

/// The directories of one run.
#[derive(Debug, Default)]
pub(in crate::overlay) struct SharedDirectories {
    trees: SharedTrees,
    /// The results by the addresses of tree and schema, which stay allocated next to their result.
    built: Mutex<FxHashMap<(usize, usize), StoredBuild>>,
}

/// A result, with the tree and schema that it was built from.
type StoredBuild = (Arc<Tree>, Arc<Schema>, Arc<SharedBuild>);

/// The result of a directory, for all targets that use it.
#[derive(Debug)]
pub(super) struct SharedBuild {
    pub(super) accumulated: Accumulated,
    /// The warnings, which every target that uses the directory gets.
    pub(super) warnings: Vec<Diagnostic>,
    /// Its part of the outline; empty if histories are not kept.
    pub(super) outline: OutlineBody,
    /// True if it contains loaded resources, which determine the effect of a schema that is set later.
    pub(super) has_loaded: bool,
}

impl SharedDirectories {
    /// Returns the directories that were read.
    pub(super) fn trees(&self) -> &SharedTrees {
        &self.trees
    }

    /// Returns the result of a directory for a schema, if it was built.
    pub(super) fn get(&self, tree: &Arc<Tree>, schema: &Arc<Schema>) -> Option<Arc<SharedBuild>> {
        let built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        built.get(&key(tree, schema)).map(|(_, _, build)| Arc::clone(build))
    }

    /// Stores the result of a directory.
    pub(super) fn put(&self, tree: Arc<Tree>, schema: Arc<Schema>, build: SharedBuild) {
        let key = key(&tree, &schema);
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        built.insert(key, (tree, schema, Arc::new(build)));
    }
}

fn key(tree: &Arc<Tree>, schema: &Arc<Schema>) -> (usize, usize) {
    (Arc::as_ptr(tree).addr(), Arc::as_ptr(schema).addr())
}
