//! The targets of two revisions, except those that certainly read the same content in both.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;

use super::revisions::Revisions;
use super::target_pair::TargetPair;
use crate::cli::select::{SelectArgs, Selection, distinct};
use crate::cli::target::{TargetArgs, has_kustomization};
use crate::cli::{Failure, render};
use smp_files::{DiskTree, FileTree, TreeChanges};
use smp_overlay::overlay::{BuildOptions, Builder, Histories, SkipDirectory, UnaffectedTargets};
use smp_overlay::schema_chain::SchemaChoice;
use smp_text::diagnostic::{Code, Diagnostic, counted};
use smp_text::source::SourceMap;

/// The flags that select and build targets.
#[derive(Clone, Copy)]
pub(in crate::cli) struct TargetFlags<'a> {
    pub select: &'a SelectArgs,
    pub build: &'a TargetArgs,
    /// True to fetch remote references. Otherwise only cached ones are used.
    pub is_trusted: bool,
    /// Selects whether builds record the histories of values.
    pub histories: Histories,
}

impl TargetFlags<'_> {
    /// Creates a builder of a revision. A schema file of `--schema` in the repository is that of
    /// the old revision, unless the new one is trusted. Without trust, nothing is fetched.
    pub(in crate::cli) fn builder(
        &self,
        revisions: &Revisions,
        tree: Arc<dyn FileTree>,
        sources: &SourceMap,
        targets: &[PathBuf],
    ) -> Result<Builder, Failure> {
        let change = |options: &mut BuildOptions| {
            options.tree = tree;
            options.histories = self.histories;
            options.offline |= !self.is_trusted;
        };
        let settings: &dyn FileTree = match &self.build.schema.schema {
            SchemaChoice::File(path) if !revisions.contains(path) => &DiskTree,
            _ if self.is_trusted => &*revisions.new,
            _ => &*revisions.old,
        };
        self.build.hermetic_builder(change, Some(settings), sources, targets)
    }

    /// Selects the targets of a revision. A directory that does not exist in the revision contains
    /// none.
    pub(in crate::cli) fn targets(
        &self,
        tree: &Arc<dyn FileTree>,
        skip: SkipDirectory<'_>,
        sources: &SourceMap,
    ) -> Result<Vec<PathBuf>, Failure> {
        let here = [PathBuf::from(".")];
        let named = if self.select.named().is_empty() { &here } else { self.select.named() };
        let mut targets = Vec::new();
        for name in named.iter().filter(|name| Builder::is_remote(name) || tree.contains(name)) {
            let found =
                self.select.select_except((tree, skip), vec![name.clone()], self.build.bases(), sources);
            match found {
                Ok(Selection { targets: found, .. }) => targets.extend(found),
                Err(Failure::Problems(problems))
                    if problems.iter().all(|one| one.code() == Code::NoMatch) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(distinct(&**tree, targets))
    }
}

/// Returns the targets of both revisions, sorted by path.
///
/// # Errors
/// A directory cannot be searched, or a target is in neither revision.
pub(super) fn pairs(
    flags: &TargetFlags<'_>,
    revisions: &Revisions,
    changes: &TreeChanges,
    sources: &SourceMap,
) -> Result<Vec<TargetPair>, Failure> {
    let mut pairs: BTreeMap<PathBuf, TargetPair> = BTreeMap::new();
    for target in new_targets(flags, revisions, sources)? {
        pairs.insert(target.clone(), TargetPair { shown: target.clone(), old: None, new: Some(target) });
    }
    // A directory that is identical in both revisions has the same targets, so only the new
    // revision is searched.
    let may_skip = flags.select.is_recursive() && !flags.select.is_leaves();
    let skip = |directory: &Path| may_skip && changes.is_equal_directory(directory);
    for target in flags.targets(&revisions.old, &skip, sources)? {
        let pair = TargetPair { shown: target.clone(), old: None, new: None };
        pairs.entry(pair.shown.clone()).or_insert(pair).old = Some(target);
    }
    pairs.par_iter_mut().filter(|(_, pair)| may_skip && pair.old.is_none()).for_each(|(target, pair)| {
        let is_skipped = has_kustomization(&*revisions.new, target)
            && revisions.new.locate(Path::new(""), target).is_ok_and(|found| skip(found.path()));
        pair.old = is_skipped.then(|| target.clone());
    });
    if pairs.is_empty() {
        // The search in the new revision reports the reason.
        let named = flags.select.named().to_vec();
        let named = if named.is_empty() { vec![PathBuf::from(".")] } else { named };
        let found = flags.select.select_in(&revisions.new, named, flags.build.bases(), sources)?;
        let pair = |target: PathBuf| TargetPair { shown: target.clone(), old: None, new: Some(target) };
        return Ok(found.targets.into_iter().map(pair).collect());
    }
    Ok(pairs.into_values().collect())
}

/// Returns the targets of the new revision, except those in git submodules, which are not part of a
/// revision.
fn new_targets(
    flags: &TargetFlags<'_>,
    revisions: &Revisions,
    sources: &SourceMap,
) -> Result<Vec<PathBuf>, Failure> {
    let mut targets = flags.targets(&revisions.new, &|_| false, sources)?;
    if !revisions.has_submodules() {
        return Ok(targets);
    }
    let all = targets.len();
    targets.retain(|target| !revisions.is_in_submodule(target));
    if targets.len() < all {
        let message =
            format!("{} in git submodules are not compared", counted(all - targets.len(), "target"));
        let help = "run the command in the submodule";
        render::print(&[Diagnostic::warning(Code::Io, message).help(help)], sources);
    }
    Ok(targets)
}

/// Removes the targets that certainly read the same content in both revisions.
pub(super) fn remove_unaffected(
    pairs: Vec<TargetPair>,
    revisions: &Revisions,
    changes: &TreeChanges,
) -> Vec<TargetPair> {
    let unaffected = UnaffectedTargets::new(changes, Arc::clone(&revisions.old), Arc::clone(&revisions.new));
    let is_unaffected = |pair: &TargetPair| match (&pair.old, &pair.new) {
        (Some(_), Some(target)) => unaffected.contains(target),
        _ => false,
    };
    pairs.into_par_iter().filter(|pair| !is_unaffected(pair)).collect()
}
