//! The two sides of a comparison, and the targets that are compared.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

#[cfg(feature = "git")]
use super::candidates::TargetFlags;
use super::request::ReviewRequest;
#[cfg(feature = "git")]
use super::revision_sides::RevisionSides;
#[cfg(feature = "git")]
use super::revisions::{RevisionRange, Revisions};
use super::side::{BuiltTarget, Side};
use super::target_pair::TargetPair;
use crate::cli::configs::Configs;
use crate::cli::disk::disk_tree;
use crate::cli::progress::map_with_counter;
use crate::cli::select::{Selection, is_stream, with_target};
use crate::cli::target::TargetArgs;
use crate::cli::{Failure, render};
use smp_files::{EditedTree, FileTree};
use smp_inspect::check::CheckConfig;
use smp_inspect::review::{
    CompareOptions, DangerSuppressions, Presence, Review, TargetOutcome, TargetReview, compare_builds,
};
#[cfg(feature = "git")]
use smp_overlay::overlay::Histories;
use smp_overlay::overlay::{BuildOptions, Builder, TargetBase};
use smp_text::diagnostic::{Code, Diagnostic, Result, counted};
use smp_text::source::SourceMap;

/// The sides of a comparison.
enum Sides<'a> {
    /// Two targets.
    Targets { old: Box<Side>, new: Side },
    /// The bases of each target, and the target.
    Bases { new: Side, args: &'a TargetArgs, sources: &'a SourceMap },
    /// Two revisions.
    #[cfg(feature = "git")]
    Revisions(Box<RevisionSides>),
}

impl Sides<'_> {
    /// Returns the old side, if it is a revision.
    fn old_revision(&self) -> Option<&Side> {
        match self {
            #[cfg(feature = "git")]
            Self::Revisions(sides) => Some(&sides.old),
            _ => None,
        }
    }

    fn new_side(&self) -> &Side {
        match self {
            Self::Targets { new, .. } | Self::Bases { new, .. } => new,
            #[cfg(feature = "git")]
            Self::Revisions(sides) => &sides.new,
        }
    }

    /// Builds both sides of a target. Returns `None` if its build reads only unchanged files.
    #[cfg_attr(
        not(feature = "git"),
        allow(clippy::unnecessary_wraps, reason = "only the reads of revisions are known")
    )]
    fn build(&self, pair: &TargetPair) -> Option<[Result<Option<BuiltTarget>>; 2]> {
        let build = |side: &Side, target: &Option<PathBuf>| {
            target.as_deref().map(|target| side.build(target)).transpose()
        };
        Some(match self {
            Self::Targets { old, new } => [build(old, &pair.old), build(new, &pair.new)],
            Self::Bases { new, args, sources } => {
                let old = pair.old.as_deref().map_or(Ok(None), |target| {
                    let base = new.builder.base_of(target)?;
                    build_base(args, (&new.builder, new.builder.tree()), target, base, sources)
                });
                [old, build(new, &pair.new)]
            }
            #[cfg(feature = "git")]
            Self::Revisions(sides) => {
                let new = sides.affected(pair)?.new.transpose();
                [build(&sides.old, &pair.old), new]
            }
        })
    }
}

/// Two sides, and the targets that are compared.
pub(in crate::cli) struct Comparison<'a> {
    sides: Sides<'a>,
    pairs: Vec<TargetPair>,
    /// The number of targets that are not built, because their builds read only unchanged files.
    unaffected: usize,
    /// The tree from which configurations are read.
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
            let (select, build, is_trusted) = (request.select, request.target, request.review.trust_head);
            let flags = TargetFlags { select, build, is_trusted, histories: Histories::Enabled };
            return Self::of_revisions(&flags, range, sources);
        }
        let args = request.target;
        let tree = disk_tree();
        let selection = request.select.select(args.bases(), sources)?;
        let builder = args.hermetic_builder(|_| {}, None, sources, &selection.targets)?;
        let new = Side { builder, selection };
        let Some(against) = &request.review.against else {
            let same = |target: &PathBuf| TargetPair {
                shown: target.clone(),
                old: Some(target.clone()),
                new: Some(target.clone()),
            };
            let pairs = new.selection.targets.iter().map(same).collect();
            return Ok(Self::on_disk(Sides::Bases { new, args, sources }, pairs));
        };
        if is_stream(against) && new.selection.targets.iter().any(|target| is_stream(target)) {
            return Err(Failure::Usage("standard input can be read only once: use a single `-`".into()));
        }
        let selection = request.select.select_in(&tree, vec![against.clone()], args.bases(), sources)?;
        let builder = args.hermetic_builder(|_| {}, None, sources, &selection.targets)?;
        let old = Box::new(Side { builder, selection });
        let pairs = pairs_against(request, &old.selection, &new.selection)?;
        Ok(Self::on_disk(Sides::Targets { old, new }, pairs))
    }

    fn on_disk(sides: Sides<'a>, pairs: Vec<TargetPair>) -> Self {
        Self { sides, pairs, unaffected: 0, configurations: disk_tree(), trusts_new: true }
    }

    /// Finds the targets of two revisions that may differ.
    ///
    /// # Errors
    /// The errors of [`Comparison::new`], or a revision does not exist.
    #[cfg(feature = "git")]
    pub(in crate::cli) fn of_revisions(
        flags: &TargetFlags<'_>,
        range: &RevisionRange,
        sources: &SourceMap,
    ) -> std::result::Result<Self, Failure> {
        let revisions = Revisions::open(range, flags.select.named())?;
        render::print(revisions.warning.as_slice(), sources);
        let mut sides = RevisionSides::new(flags, &revisions, sources)?;
        Ok(Self {
            pairs: std::mem::take(&mut sides.candidates),
            unaffected: sides.unaffected,
            sides: Sides::Revisions(Box::new(sides)),
            configurations: if flags.is_trusted { revisions.new } else { revisions.old },
            trusts_new: flags.is_trusted,
        })
    }

    /// Returns the configurations of the targets: those of the old revision, unless the new one is trusted.
    pub(super) fn configs(&self, sources: &'a SourceMap) -> Configs<'a> {
        Configs::new(Arc::clone(&self.configurations), sources)
    }

    /// Removes the dangers that comments and configurations suppress.
    ///
    /// # Errors
    /// A configuration is invalid.
    pub(super) fn suppress(
        &self,
        review: &mut Review,
        configs: &Configs<'_>,
        sources: &SourceMap,
    ) -> std::result::Result<(), Failure> {
        let has_dangers =
            |target: &&TargetReview| target.objects().iter().any(|object| !object.dangers.is_empty());
        let mut known: FxHashMap<PathBuf, Arc<CheckConfig>> = FxHashMap::default();
        for target in review.targets.iter().filter(has_dangers) {
            known.insert(target.target.clone(), configs.of(&target.target).map_err(Failure::UsageAt)?);
        }
        let renderer = &render::location_renderer(sources);
        let suppressions = DangerSuppressions { sources, renderer, trusts_new: self.trusts_new };
        suppressions.apply(review, |target| known.get(&target.target).map(|config| &**config));
        Ok(())
    }

    /// Builds and compares all targets. Also returns the warnings of the new side; those that the old
    /// revision has as well are only counted. With configurations, the noise that they list is ignored.
    ///
    /// # Errors
    /// A configuration is invalid.
    pub(in crate::cli) fn review(
        &self,
        options: &CompareOptions,
        configs: Option<&Configs<'_>>,
        sources: &SourceMap,
    ) -> std::result::Result<(Review, Vec<Diagnostic>), Failure> {
        let options = &CompareOptions { prefers_old_schema: !self.trusts_new, ..options.clone() };
        let compared = map_with_counter(&self.pairs, "targets compared", |pair| {
            let options = match configs {
                Some(configs) => with_config_noise(options, &*configs.of(&pair.shown)?)?,
                None => options.clone(),
            };
            Ok(self.compare(pair, &options))
        });
        let compared: Vec<_> = compared.into_iter().collect::<Result<_>>().map_err(Failure::UsageAt)?;
        let reviewed: Vec<_> = compared.into_iter().flatten().collect();
        let unaffected = self.unaffected + self.pairs.len() - reviewed.len();
        let (targets, found): (Vec<TargetReview>, Vec<_>) = reviewed.into_iter().unzip();
        let count = targets.len();
        let (mut known, mut warnings) = (Vec::new(), self.sides.new_side().builder.take_warnings());
        for (target, [old, new]) in targets.iter().zip(found) {
            known.extend(old);
            warnings.extend(with_target(new, &target.target, count));
        }
        if let Some(old) = self.sides.old_revision() {
            known.extend(old.builder.take_warnings());
            count_known(&mut warnings, &known, sources);
        }
        Ok((Review { targets, unaffected, suppressed: 0 }, warnings))
    }

    /// Compares a target, unless its build reads only unchanged files.
    fn compare(
        &self,
        pair: &TargetPair,
        options: &CompareOptions,
    ) -> Option<(TargetReview, [Vec<Diagnostic>; 2])> {
        let presence = match (&pair.old, &pair.new) {
            (None, _) => Presence::Added,
            (_, None) => Presence::Removed,
            _ => Presence::Both,
        };
        let (outcome, warnings) = match self.sides.build(pair)? {
            [Ok(mut old), Ok(mut new)] => {
                let sides = [old.as_ref(), new.as_ref()].map(|side| side.map(BuiltTarget::side));
                let changes = compare_builds(sides[0], sides[1], options);
                let warnings = [&mut old, &mut new].map(|side| {
                    side.as_mut().map(|side| std::mem::take(&mut side.built.warnings)).unwrap_or_default()
                });
                (TargetOutcome::Compared(changes), warnings)
            }
            [old, new] => (TargetOutcome::Failed([old.err(), new.err()]), Default::default()),
        };
        Some((TargetReview { target: pair.shown.clone(), presence, outcome }, warnings))
    }
}

/// Replaces the warnings that are known by a note with their number. Lines are not compared, since they
/// change.
fn count_known(warnings: &mut Vec<Diagnostic>, known: &[Diagnostic], sources: &SourceMap) {
    let key = |one: &Diagnostic| {
        let file =
            one.labels().first().and_then(|label| Some(sources.get(label.span.source)?.name().to_path_buf()));
        (one.code(), one.message().to_string(), one.resource_name().map(str::to_string), file)
    };
    let known: FxHashSet<_> = known.iter().map(key).collect();
    let mut found = FxHashSet::default();
    warnings.retain(|one| {
        let key = key(one);
        let is_known = known.contains(&key);
        if is_known {
            found.insert(key);
        }
        !is_known
    });
    if !found.is_empty() {
        let are = if found.len() == 1 { "is" } else { "are" };
        let message = format!("{} {are} also in the old revision", counted(found.len(), "warning"));
        warnings.push(Diagnostic::info(Code::Summary, message));
    }
}

/// Returns options that also ignore the noise that a configuration lists.
fn with_config_noise(options: &CompareOptions, config: &CheckConfig) -> Result<CompareOptions> {
    let mut options = options.clone();
    for noise in &config.noise {
        options.noise.add(noise).map_err(|problem| problem.at(noise.span))?;
    }
    Ok(options)
}

/// Builds the base of a target. `of_target` is the builder of the target and the tree from which the
/// target was built: directories that the target includes are read and built only once.
pub(in crate::cli) fn build_base(
    args: &TargetArgs,
    of_target: (&Builder, &Arc<dyn FileTree>),
    target: &Path,
    base: TargetBase,
    sources: &SourceMap,
) -> Result<Option<BuiltTarget>> {
    let (builder, tree) = of_target;
    match base {
        TargetBase::None => Ok(None),
        TargetBase::Kustomization { file, text } => {
            let edited = Arc::new(EditedTree::new(Arc::clone(tree), [(file, text)]));
            BuiltTarget::new(builder, builder.build_from_tree(edited, target)?, target).map(Some)
        }
        TargetBase::Directories(mut bases) => {
            let Some(target) = bases.pop() else { return Ok(None) };
            let selection = Selection::from_target(target.clone());
            let change = |options: &mut BuildOptions| {
                options.tree = Arc::clone(tree);
                options.bases = bases;
            };
            let builder = args.hermetic_builder(change, None, sources, &selection.targets);
            let builder = builder.map_err(Failure::into_diagnostic)?;
            Side { builder, selection }.build(&target).map(Some)
        }
    }
}

/// With `--recursive`, pairs the targets below two directories by their path. Otherwise, pairs the
/// single target of each side.
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
