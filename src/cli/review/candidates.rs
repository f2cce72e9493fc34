//! The targets whose builds read something that differs between two revisions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use super::revisions::Revisions;
use super::target_pair::TargetPair;
use crate::cli::Failure;
use crate::cli::select::{SelectArgs, Selection};
use crate::cli::target::TargetArgs;
use smp_files::{ChangedRead, FileTree, RecordingTree, TreeChanges};
use smp_overlay::overlay::{Builder, Histories};
use smp_text::diagnostic::Code;
use smp_text::source::{KUSTOMIZATION_FILES, SourceMap};

/// A target whose output may differ.
#[derive(Debug)]
pub(in crate::cli) struct ChangedTarget {
    /// The target on both sides.
    pub pair: TargetPair,
    /// The paths that its build reads and that differ. Empty if the target is only on one side.
    pub reasons: Vec<(PathBuf, ChangedRead)>,
}

/// The targets of two revisions.
#[derive(Debug, Default)]
pub(in crate::cli) struct ChangedTargets {
    /// The targets whose output may differ, sorted by path.
    pub changed: Vec<ChangedTarget>,
    /// The number of the others.
    pub unchanged: usize,
}

/// The flags that select and build targets.
#[derive(Clone, Copy)]
pub(in crate::cli) struct TargetFlags<'a> {
    pub select: &'a SelectArgs,
    pub build: &'a TargetArgs,
    /// Fetches remote references. Otherwise only cached ones are used.
    pub is_trusted: bool,
}

impl TargetFlags<'_> {
    /// Creates a builder of a revision.
    pub(super) fn builder(
        &self,
        tree: Arc<dyn FileTree>,
        histories: Histories,
        sources: &SourceMap,
        targets: &[PathBuf],
    ) -> Result<Builder, Failure> {
        let change = |options: &mut smp_overlay::overlay::BuildOptions| {
            options.tree = tree;
            options.histories = histories;
            options.offline |= !self.is_trusted;
        };
        self.build.hermetic_builder(change, sources, targets)
    }

    /// Selects the targets of a revision. A directory that does not exist there has none.
    fn select(&self, tree: &Arc<dyn FileTree>, sources: &SourceMap) -> Result<Vec<PathBuf>, Failure> {
        let here = [PathBuf::from(".")];
        let named = if self.select.named().is_empty() { &here } else { self.select.named() };
        let mut targets = Vec::new();
        for name in named.iter().filter(|name| Builder::is_remote(name) || tree.contains(name)) {
            let found = self.select.select_in(tree, vec![name.clone()], self.build.bases(), sources);
            match found {
                Ok(Selection { targets: found, .. }) => targets.extend(found),
                Err(Failure::Problems(problems))
                    if problems.iter().all(|one| one.code() == Code::NoMatch) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(targets)
    }
}

/// Finds the targets whose output may differ between two revisions.
///
/// The build of a target only depends on what it reads. If everything that the new build read is
/// the same in the old revision, the old build would read the same and have the same output.
///
/// # Errors
/// A directory cannot be searched, or a target is in neither revision.
pub(in crate::cli) fn find(
    flags: &TargetFlags<'_>,
    revisions: &Revisions,
    sources: &SourceMap,
) -> Result<ChangedTargets, Failure> {
    let pairs = pairs(flags, revisions, sources)?;
    let targets: Vec<PathBuf> = pairs.iter().filter_map(|pair| pair.new.clone()).collect();
    let common = RecordingTree::new(Arc::clone(&revisions.new));
    let builder = flags.builder(Arc::new(common.clone()), Histories::Disabled, sources, &targets)?;
    let changes = TreeChanges::new(Arc::clone(&revisions.old), Arc::clone(&revisions.new));
    let search = Search { revisions, common: &common, builder: &builder, changes: &changes };
    let all = pairs.len();
    let changed: Vec<_> = pairs.into_par_iter().filter_map(|pair| search.changed(pair)).collect();
    Ok(ChangedTargets { unchanged: all - changed.len(), changed })
}

/// Returns the targets of both revisions.
fn pairs(
    flags: &TargetFlags<'_>,
    revisions: &Revisions,
    sources: &SourceMap,
) -> Result<Vec<TargetPair>, Failure> {
    let mut pairs: BTreeMap<PathBuf, TargetPair> = BTreeMap::new();
    for (tree, is_new) in [(&revisions.old, false), (&revisions.new, true)] {
        for target in flags.select(tree, sources)? {
            let pair = TargetPair { shown: target.clone(), old: None, new: None };
            let pair = pairs.entry(target.clone()).or_insert(pair);
            *(if is_new { &mut pair.new } else { &mut pair.old }) = Some(target);
        }
    }
    if pairs.is_empty() {
        // The search in the new revision reports why.
        let named = flags.select.named().to_vec();
        let named = if named.is_empty() { vec![PathBuf::from(".")] } else { named };
        let found = flags.select.select_in(&revisions.new, named, flags.build.bases(), sources)?;
        let pair = |target: PathBuf| TargetPair { shown: target.clone(), old: None, new: Some(target) };
        return Ok(found.targets.into_iter().map(pair).collect());
    }
    Ok(pairs.into_values().collect())
}

struct Search<'s> {
    revisions: &'s Revisions,
    /// Records reads that do not belong to a single target.
    common: &'s RecordingTree,
    builder: &'s Builder,
    changes: &'s TreeChanges,
}

impl Search<'_> {
    fn changed(&self, pair: TargetPair) -> Option<ChangedTarget> {
        let (Some(_), Some(target)) = (&pair.old, &pair.new) else {
            return Some(ChangedTarget { pair, reasons: Vec::new() });
        };
        let own = RecordingTree::new(Arc::clone(&self.revisions.new));
        let built = self.builder.build_from_tree(Arc::new(own.clone()), target);
        // Manifests without a base are no target of a build, which then does not read them.
        if built.is_err() && !self.has_kustomization(target) {
            return Some(ChangedTarget { pair, reasons: Vec::new() });
        }
        let reads = RecordingTree::read_set_of([&own, self.common]);
        if !self.changes.affects(&reads) {
            return None;
        }
        let reasons = self.changes.changed_reads(&reads);
        Some(ChangedTarget { pair, reasons })
    }

    fn has_kustomization(&self, target: &Path) -> bool {
        KUSTOMIZATION_FILES.iter().any(|name| self.revisions.new.contains(&target.join(name)))
    }
}
