//! The builds of two revisions, and the targets that a change between the revisions affects.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::candidates::{TargetFlags, pairs, remove_unaffected};
use super::revisions::Revisions;
use super::side::{BuiltTarget, Side};
use super::target_pair::TargetPair;
use crate::cli::Failure;
use crate::cli::select::Selection;
use crate::cli::target::has_kustomization;
use smp_files::{ChangedRead, FileTree, ReadSet, RecordingTree, TreeChanges};
use smp_text::diagnostic::{Diagnostic, Result};
use smp_text::source::{SourceMap, is_kustomization};

/// The two sides of a comparison of revisions.
pub(in crate::cli) struct RevisionSides {
    pub(super) old: Side,
    pub(super) new: Side,
    /// The files of the new revision.
    files: Arc<dyn FileTree>,
    changes: TreeChanges,
    /// The differing paths that all builds read, such as a schema file from a flag.
    common: Vec<(PathBuf, ChangedRead)>,
    /// The targets that may be affected, sorted by path.
    pub(in crate::cli) candidates: Vec<TargetPair>,
    /// The number of other targets.
    pub(super) unaffected: usize,
}

/// An affected target: its build reads a changed path, or it is only in one revision.
pub(in crate::cli) struct AffectedTarget {
    /// The build of the new revision; `None` if the revision does not contain the target.
    pub(in crate::cli) new: Option<Result<BuiltTarget>>,
    /// The files that the build read.
    reads: ReadSet,
}

impl RevisionSides {
    /// Finds the targets of both revisions, and creates their builders.
    ///
    /// # Errors
    /// A directory cannot be searched, a target is in neither revision, or flags cannot be used together.
    pub(in crate::cli) fn new(
        flags: &TargetFlags<'_>,
        revisions: &Revisions,
        sources: &SourceMap,
    ) -> std::result::Result<Self, Failure> {
        let changes = TreeChanges::new(Arc::clone(&revisions.old), Arc::clone(&revisions.new));
        let mut candidates = pairs(flags, revisions, &changes, sources)?;
        let common = RecordingTree::new(Arc::clone(&revisions.new));
        let side = |tree: Arc<dyn FileTree>, path: fn(&TargetPair) -> Option<&PathBuf>| {
            let targets: Vec<PathBuf> = candidates.iter().filter_map(path).cloned().collect();
            let builder = flags.builder(revisions, tree, sources, &targets)?;
            Ok::<_, Failure>(Side { builder, selection: Selection::from_targets(targets) })
        };
        let old = side(Arc::clone(&revisions.old), |pair| pair.old.as_ref())?;
        let new = side(Arc::new(common.clone()), |pair| pair.new.as_ref())?;
        let all = candidates.len();
        let common = changes.changed_reads(&common.read_set());
        if common.is_empty() {
            candidates = remove_unaffected(candidates, revisions, &changes);
        }
        let files = Arc::clone(&revisions.new);
        Ok(Self { old, new, files, changes, common, unaffected: all - candidates.len(), candidates })
    }

    /// Builds the new revision of a target. Returns `None` if the build reads only unchanged paths.
    ///
    /// The build of a target only depends on its reads. If all reads of the new build are
    /// unchanged, the old build has the same reads and the same output.
    pub(in crate::cli) fn affected(&self, pair: &TargetPair) -> Option<AffectedTarget> {
        let (Some(_), Some(target)) = (&pair.old, &pair.new) else {
            let new = pair.new.as_deref().map(|target| self.new.build(target));
            return Some(AffectedTarget { new, reads: ReadSet::default() });
        };
        let own = RecordingTree::new(Arc::clone(&self.files));
        let new = self.new.build_recorded(&own, target);
        // Manifests without a base are not built as a target, so no build reads them.
        if new.is_err() && !has_kustomization(&*self.files, target) {
            return Some(AffectedTarget { new: Some(self.new.build(target)), reads: ReadSet::default() });
        }
        let reads = own.read_set();
        let is_affected = !self.common.is_empty() || self.changes.affects(&reads);
        is_affected.then_some(AffectedTarget { new: Some(new), reads })
    }

    /// Returns the changed paths that the build of a target reads.
    pub(in crate::cli) fn reasons(&self, target: &AffectedTarget) -> Vec<(PathBuf, ChangedRead)> {
        self.common.iter().cloned().chain(self.changes.changed_reads(&target.reads)).collect()
    }

    /// Returns the error of a path that is no target in either revision: it has no kustomization,
    /// and does not build.
    pub(in crate::cli) fn not_a_target(
        &self,
        pair: &TargetPair,
        target: &AffectedTarget,
    ) -> Option<Diagnostic> {
        let Some(Err(problem)) = &target.new else { return None };
        let is_kustomization = |side: &Side, path: &Path| {
            is_kustomization(path) || has_kustomization(&**side.builder.tree(), path)
        };
        let is_new = pair.new.as_deref().is_some_and(|path| is_kustomization(&self.new, path));
        let is_old = |path: &Path| is_kustomization(&self.old, path) || self.old.build(path).is_ok();
        (!is_new && !pair.old.as_deref().is_some_and(is_old)).then(|| problem.clone())
    }

    /// Returns true if a target has another output, builds only in one revision, or fails in the
    /// new revision and reads something that differs and is not part of the revisions.
    pub(in crate::cli) fn has_different_output(&self, pair: &TargetPair, target: &AffectedTarget) -> bool {
        let output = |built: Option<&Result<BuiltTarget>>| {
            built.map(|built| built.as_ref().ok().and_then(|built| built.built.to_yaml().ok()))
        };
        let old = pair.old.as_deref().map(|target| self.old.build(target));
        output(old.as_ref()) != output(target.new.as_ref())
            || matches!(target.new, Some(Err(_))) && self.changes.has_unreadable(&target.reads)
    }
}
