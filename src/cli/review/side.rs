//! One side of a comparison. It builds targets.

use std::path::Path;
use std::sync::Arc;

use crate::cli::select::{Selection, is_stream};
#[cfg(feature = "git")]
use smp_files::{FileTree, RecordingTree};
use smp_inspect::review::BuiltSide;
use smp_merge::schema::Schema;
use smp_overlay::overlay::{Builder, Built};
use smp_text::diagnostic::Result;

/// A built target with the schema of its objects.
pub(in crate::cli) struct BuiltTarget {
    pub(in crate::cli) built: Built,
    pub(in crate::cli) schema: Arc<Schema>,
}

impl BuiltTarget {
    /// Adds the schema of the objects to a build.
    pub(in crate::cli) fn new(builder: &Builder, mut built: Built, target: &Path) -> Result<Self> {
        let directory = if is_stream(target) { Path::new(".") } else { target };
        let schema = builder.schema_for(directory, &built.resources)?.into_value(&mut built.warnings);
        Ok(Self { built, schema })
    }

    pub(in crate::cli) fn side(&self) -> BuiltSide<'_> {
        BuiltSide { built: &self.built, schema: &self.schema }
    }
}

/// One side of a comparison: a builder, and the targets that it builds.
pub(super) struct Side {
    pub(super) builder: Builder,
    pub(super) selection: Selection,
}

impl Side {
    /// Builds a target. Manifests without a base are compared unchanged.
    pub(super) fn build(&self, target: &Path) -> Result<BuiltTarget> {
        let built = match self.selection.manifests(&self.builder, target)? {
            Some(built) => built,
            None => self.selection.build(&self.builder, target)?,
        };
        BuiltTarget::new(&self.builder, built, target)
    }

    /// Builds a kustomization. `tree` has the same files and records the reads.
    #[cfg(feature = "git")]
    pub(super) fn build_recorded(&self, tree: &RecordingTree, target: &Path) -> Result<BuiltTarget> {
        let tree: Arc<dyn FileTree> = Arc::new(tree.clone());
        BuiltTarget::new(&self.builder, self.builder.build_from_tree(tree, target)?, target)
    }
}
