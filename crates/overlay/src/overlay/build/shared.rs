//! What several targets of one run have in common: directories that are read once, and built once for
//! each schema, which nearly always is one and the same.

use std::sync::{Arc, Mutex, PoisonError};

use super::accumulated::Accumulated;
use crate::overlay::tree::{SharedTrees, Tree};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Diagnostic, Warned};

/// The directories of one run.
#[derive(Debug, Default)]
pub(in crate::overlay) struct Shared {
    trees: SharedTrees,
    built: Mutex<Vec<SharedBuild>>,
}

#[derive(Debug)]
struct SharedBuild {
    tree: Arc<Tree>,
    schema: Arc<Schema>,
    accumulated: Arc<Accumulated>,
    /// What was odd: each target that uses it is told.
    warnings: Vec<Diagnostic>,
}

impl Shared {
    /// The directories that were read.
    pub(super) fn trees(&self) -> &SharedTrees {
        &self.trees
    }

    /// What a directory has become by a schema, if it was built.
    pub(super) fn get(&self, tree: &Arc<Tree>, schema: &Arc<Schema>) -> Option<Warned<Accumulated>> {
        let found = {
            let built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
            let same = |b: &&SharedBuild| Arc::ptr_eq(&b.tree, tree) && Arc::ptr_eq(&b.schema, schema);
            built.iter().find(same).map(|b| (b.accumulated.clone(), b.warnings.clone()))
        };
        found.map(|(accumulated, warnings)| Warned { value: (*accumulated).clone(), warnings })
    }

    /// Keeps what a directory has become.
    pub(super) fn put(&self, tree: Arc<Tree>, schema: Arc<Schema>, built: Warned<Accumulated>) {
        let Warned { value, warnings } = built;
        let build = SharedBuild { tree, schema, accumulated: Arc::new(value), warnings };
        self.built.lock().unwrap_or_else(PoisonError::into_inner).push(build);
    }
}
