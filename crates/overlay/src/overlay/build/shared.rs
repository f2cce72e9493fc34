//! State shared between the targets of one run. Directories are read once, and built once per schema, which is
//! nearly always the same.

use std::sync::{Arc, Mutex, PoisonError};

use super::accumulated::Accumulated;
use crate::overlay::tree::{SharedTrees, Tree};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Diagnostic, WithWarnings};

/// The directories of one run.
#[derive(Debug, Default)]
pub(in crate::overlay) struct SharedDirectories {
    trees: SharedTrees,
    built: Mutex<Vec<SharedBuild>>,
}

#[derive(Debug)]
struct SharedBuild {
    tree: Arc<Tree>,
    schema: Arc<Schema>,
    accumulated: Arc<Accumulated>,
    /// The warnings, which every target that uses the directory gets.
    warnings: Vec<Diagnostic>,
}

impl SharedDirectories {
    /// Returns the directories that were read.
    pub(super) fn trees(&self) -> &SharedTrees {
        &self.trees
    }

    /// Returns the result of a directory for a schema, if it was built.
    pub(super) fn get(&self, tree: &Arc<Tree>, schema: &Arc<Schema>) -> Option<WithWarnings<Accumulated>> {
        let found = {
            let built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
            let same = |b: &&SharedBuild| Arc::ptr_eq(&b.tree, tree) && Arc::ptr_eq(&b.schema, schema);
            built.iter().find(same).map(|b| (b.accumulated.clone(), b.warnings.clone()))
        };
        found.map(|(accumulated, warnings)| WithWarnings { value: (*accumulated).clone(), warnings })
    }

    /// Stores the result of a directory.
    pub(super) fn put(&self, tree: Arc<Tree>, schema: Arc<Schema>, built: WithWarnings<Accumulated>) {
        let WithWarnings { value, warnings } = built;
        let build = SharedBuild { tree, schema, accumulated: Arc::new(value), warnings };
        self.built.lock().unwrap_or_else(PoisonError::into_inner).push(build);
    }
}
