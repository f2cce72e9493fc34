//! The two sides of a comparison, and the targets that are compared.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

#[cfg(feature = "git")]
use super::changed_targets::{ChangedTarget, TargetFlags, find as find_changed_targets};
use super::request::ReviewRequest;
#[cfg(feature = "git")]
use super::revisions::{RevisionRange, Revisions};
use super::target_pair::TargetPair;
use crate::cli::select::{Selection, is_stream, with_target};
use crate::cli::target::TargetArgs;
use crate::cli::{Failure, render};
use smp_files::{DiskTree, EditedTree, FileTree};
use smp_inspect::check::CheckConfig;
use smp_inspect::review::{
    BuiltSide, CompareOptions, DangerSuppressions, Presence, Review, TargetOutcome, TargetReview,
    compare_builds,
};
use smp_merge::schema::Schema;
#[cfg(feature = "git")]
use smp_overlay::overlay::Histories;
use smp_overlay::overlay::{Builder, Built, TargetBase};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::{SourceMap, relative_path};

/// A built target with the schema of its objects.
struct BuiltTarget {
    built: Built,
    schema: Arc<Schema>,
}

impl BuiltTarget {
    fn side(&self) -> BuiltSide<'_> {
        BuiltSide { built: &self.built, schema: &self.schema }
    }
}

/// One side of a comparison: a builder, and the targets that it builds.
struct Side {
    builder: Builder,
    selection: Selection,
}

impl Side {
    /// Builds a target. Manifests without a base are compared as they are.
    fn build(&self, target: &Path) -> Result<BuiltTarget> {
        let mut built = match self.selection.manifests(&self.builder, target)? {
            Some(built) => built,
            None => self.selection.build(&self.builder, target)?,
        };
        let directory = if is_stream(target) { Path::new(".") } else { target };
        let schema = self.builder.schema_for(directory, &built.resources)?.into_value(&mut built.warnings);
        Ok(BuiltTarget { built, schema })
    }
}

/// The two sides of revisions.
#[cfg(feature = "git")]
pub(in crate::cli) struct RevisionSides {
    old: Side,
    new: Side,
}

#[cfg(feature = "git")]
impl RevisionSides {
    /// Creates the builders of both revisions for targets whose output may differ.
    ///
    /// # Errors
    /// Flags cannot be used together.
    pub(in crate::cli) fn new(
        flags: &TargetFlags<'_>,
        revisions: &Revisions,
        targets: &[ChangedTarget],
        sources: &SourceMap,
    ) -> std::result::Result<Self, Failure> {
        let side = |tree: &Arc<dyn FileTree>, path: fn(&TargetPair) -> Option<&PathBuf>| {
            let targets: Vec<PathBuf> =
                targets.iter().filter_map(|target| path(&target.pair).cloned()).collect();
            let builder = flags.builder(Arc::clone(tree), Histories::Enabled, sources, &targets)?;
            Ok::<_, Failure>(Side { builder, selection: Selection::of_all(targets) })
        };
        let old = side(&revisions.old, |pair| pair.old.as_ref())?;
        let new = side(&revisions.new, |pair| pair.new.as_ref())?;
        Ok(Self { old, new })
    }

    /// Returns true if a target has another output, or builds only in one revision.
    pub(in crate::cli) fn has_different_output(&self, pair: &TargetPair) -> bool {
        let output = |side: &Side, target: &Option<PathBuf>| {
            let built = target.as_deref().map(|target| side.build(target));
            built.map(|built| built.and_then(|built| built.built.to_yaml()).ok())
        };
        output(&self.old, &pair.old) != output(&self.new, &pair.new)
    }
}

/// The old side of a comparison.
enum OldSide<'a> {
    /// Another target, or another revision.
    Other(Box<Side>),
    /// The bases of each target.
    Bases { args: &'a TargetArgs, sources: &'a SourceMap },
}

/// Two sides, and the targets that are compared.
pub(super) struct Comparison<'a> {
    old: OldSide<'a>,
    new: Side,
    pairs: Vec<TargetPair>,
    /// The number of targets that are not compared, because nothing that they read changed.
    unaffected: usize,
    /// The files that configurations are read from: those of the old side of revisions.
    configurations: Arc<dyn FileTree>,
    /// True if comments on changed lines may suppress dangers.
    trusts_new: bool,
}

impl<'a> Comparison<'a> {
    /// Selects the targets of both sides.
    ///
    /// # Errors
    /// A directory cannot be searched, or flags cannot be used together.
    pub(super) fn new(
        request: &ReviewRequest<'a>,
        sources: &'a SourceMap,
    ) -> std::result::Result<Self, Failure> {
        #[cfg(feature = "git")]
        if let Some(range) = &request.review.rev {
            return Self::of_revisions(request, range, sources);
        }
        let args = request.target;
        let tree: Arc<dyn FileTree> = Arc::new(DiskTree);
        let selection = request.select.select(args.bases(), sources)?;
        let builder = args.hermetic_builder(|_| {}, sources, &selection.targets)?;
        let new = Side { builder, selection };
        let Some(against) = &request.review.against else {
            let same = |target: &PathBuf| TargetPair {
                shown: target.clone(),
                old: Some(target.clone()),
                new: Some(target.clone()),
            };
            let pairs = new.selection.targets.iter().map(same).collect();
            return Ok(Self::on_disk(OldSide::Bases { args, sources }, new, pairs));
        };
        if is_stream(against) && new.selection.targets.iter().any(|target| is_stream(target)) {
            return Err(Failure::Usage("standard input can be read only once: use a single `-`".into()));
        }
        let selection = request.select.select_in(&tree, vec![against.clone()], args.bases(), sources)?;
        let builder = args.hermetic_builder(|_| {}, sources, &selection.targets)?;
        let old = Side { builder, selection };
        let pairs = pairs_against(request, &old.selection, &new.selection)?;
        Ok(Self::on_disk(OldSide::Other(Box::new(old)), new, pairs))
    }

    fn on_disk(old: OldSide<'a>, new: Side, pairs: Vec<TargetPair>) -> Self {
        Self { old, new, pairs, unaffected: 0, configurations: Arc::new(DiskTree), trusts_new: true }
    }

    #[cfg(feature = "git")]
    fn of_revisions(
        request: &ReviewRequest<'a>,
        range: &RevisionRange,
        sources: &'a SourceMap,
    ) -> std::result::Result<Self, Failure> {
        let trusts_new = request.review.trust_head;
        let flags = TargetFlags { select: request.select, build: request.target, is_trusted: trusts_new };
        let revisions = Revisions::open(range)?;
        render::print(revisions.warning.as_slice(), sources);
        let found = find_changed_targets(&flags, &revisions, sources)?;
        let sides = RevisionSides::new(&flags, &revisions, &found.changed, sources)?;
        Ok(Self {
            old: OldSide::Other(Box::new(sides.old)),
            new: sides.new,
            pairs: found.changed.into_iter().map(|target| target.pair).collect(),
            unaffected: found.unchanged,
            configurations: revisions.old,
            trusts_new,
        })
    }

    /// Removes the dangers that comments and configurations suppress.
    ///
    /// # Errors
    /// A configuration is invalid.
    pub(super) fn suppress(
        &self,
        review: &mut Review,
        sources: &SourceMap,
    ) -> std::result::Result<(), Failure> {
        let renderer = render::location_renderer(sources);
        let mut configs: FxHashMap<PathBuf, CheckConfig> = FxHashMap::default();
        let mut files: FxHashMap<PathBuf, PathBuf> = FxHashMap::default();
        let here = self.configurations.working_directory().unwrap_or_default();
        let has_dangers =
            |target: &&TargetReview| target.objects().iter().any(|object| !object.dangers.is_empty());
        for target in review.targets.iter().filter(has_dangers) {
            let nearest =
                CheckConfig::nearest(&*self.configurations, &target.target).map_err(Failure::UsageAt)?;
            let Some(file) = nearest else { continue };
            if !configs.contains_key(&file) {
                let shown = relative_path(&file, &here).into_owned();
                let config = CheckConfig::read(&*self.configurations, &file, &shown, sources);
                configs.insert(file.clone(), config.map_err(Failure::UsageAt)?);
            }
            files.insert(target.target.clone(), file);
        }
        let suppressions = DangerSuppressions { sources, renderer: &renderer, trusts_new: self.trusts_new };
        suppressions.apply(review, |target| configs.get(files.get(&target.target)?));
        Ok(())
    }

    /// Builds and compares all targets. Also returns the warnings of the new side.
    pub(super) fn review(&self, options: &CompareOptions) -> (Review, Vec<Diagnostic>) {
        let reviewed: Vec<_> = self.pairs.par_iter().map(|pair| self.compare(pair, options)).collect();
        let (targets, warnings): (Vec<_>, Vec<_>) = reviewed.into_iter().unzip();
        let count = targets.len();
        let named =
            self.pairs.iter().zip(warnings).flat_map(|(pair, found)| with_target(found, &pair.shown, count));
        let warnings = self.new.builder.take_warnings().into_iter().chain(named).collect();
        (Review { targets, unaffected: self.unaffected, suppressed: 0 }, warnings)
    }

    fn compare(&self, pair: &TargetPair, options: &CompareOptions) -> (TargetReview, Vec<Diagnostic>) {
        let presence = match (&pair.old, &pair.new) {
            (None, _) => Presence::Added,
            (_, None) => Presence::Removed,
            _ => Presence::Both,
        };
        let old = pair.old.as_deref().map_or(Ok(None), |target| self.build_old(target));
        let new = pair.new.as_deref().map(|target| self.new.build(target)).transpose();
        let (outcome, warnings) = match (old, new) {
            (Ok(old), Ok(mut new)) => {
                let sides = [old.as_ref(), new.as_ref()].map(|side| side.map(BuiltTarget::side));
                let changes = compare_builds(sides[0], sides[1], options);
                let warnings = new.as_mut().map(|new| std::mem::take(&mut new.built.warnings));
                (TargetOutcome::Compared(changes), warnings.unwrap_or_default())
            }
            (old, new) => (TargetOutcome::Failed([old.err(), new.err()]), Vec::new()),
        };
        (TargetReview { target: pair.shown.clone(), presence, outcome }, warnings)
    }

    fn build_old(&self, target: &Path) -> Result<Option<BuiltTarget>> {
        match &self.old {
            OldSide::Other(side) => side.build(target).map(Some),
            OldSide::Bases { args, sources } => match self.new.builder.base_of(target)? {
                TargetBase::None => Ok(None),
                base => build_base(args, target, base, sources).map(Some),
            },
        }
    }
}

/// Builds the base of a target.
fn build_base(
    args: &TargetArgs,
    target: &Path,
    base: TargetBase,
    sources: &SourceMap,
) -> Result<BuiltTarget> {
    let (mut tree, mut bases): (Arc<dyn FileTree>, _) = (Arc::new(DiskTree), Vec::new());
    let mut target = target.to_path_buf();
    match base {
        TargetBase::Kustomization { file, text } => tree = Arc::new(EditedTree::new(tree, [(file, text)])),
        TargetBase::Directories(mut directories) => {
            target = directories.pop().unwrap_or(target);
            bases = directories;
        }
        TargetBase::None => {}
    }
    let targets = [target];
    let change = |options: &mut smp_overlay::overlay::BuildOptions| {
        options.tree = tree;
        options.bases = bases;
    };
    let builder = args.hermetic_builder(change, sources, &targets).map_err(into_diagnostic)?;
    let [target] = targets;
    let side = Side { builder, selection: Selection::of(target.clone()) };
    side.build(&target)
}

/// Returns the problem of a builder whose flags were already checked for the new side.
fn into_diagnostic(failure: Failure) -> Diagnostic {
    match failure {
        Failure::Problems(mut problems) if !problems.is_empty() => problems.remove(0),
        Failure::UsageAt(problem) => problem,
        failure => Diagnostic::error(Code::Usage, format!("{failure:?}")),
    }
}

/// Pairs the targets below two directories by their path, or the only target of each side.
fn pairs_against(
    request: &ReviewRequest<'_>,
    old: &Selection,
    new: &Selection,
) -> std::result::Result<Vec<TargetPair>, Failure> {
    if !request.select.is_recursive() {
        let [target] = new.targets.as_slice() else {
            let message =
                "`--against` compares a single TARGET: use --recursive to compare two directories of targets";
            return Err(Failure::Usage(message.into()));
        };
        return Ok(vec![TargetPair {
            shown: target.clone(),
            old: old.targets.first().cloned(),
            new: Some(target.clone()),
        }]);
    }
    let here = PathBuf::from(".");
    let (before, after) = match (request.review.against.as_deref(), request.select.named()) {
        (Some(before), []) => (before, here.as_path()),
        (Some(before), [after]) => (before, after.as_path()),
        _ => {
            let message = "`--against` with --recursive compares a single directory";
            return Err(Failure::Usage(message.into()));
        }
    };
    let below =
        |directory: &Path, target: &PathBuf| target.strip_prefix(directory).unwrap_or(target).to_path_buf();
    let mut pairs: BTreeMap<PathBuf, TargetPair> = BTreeMap::new();
    for target in &new.targets {
        let pair = TargetPair { shown: target.clone(), old: None, new: Some(target.clone()) };
        pairs.insert(below(after, target), pair);
    }
    for target in &old.targets {
        let pair = TargetPair { shown: target.clone(), old: None, new: None };
        pairs.entry(below(before, target)).or_insert(pair).old = Some(target.clone());
    }
    Ok(pairs.into_values().collect())
}
