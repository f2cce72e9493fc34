//! Builds, checks and compares the targets of a preview.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::args::PreviewArgs;
use crate::cli::check::{Checker, KnownFindings};
use crate::cli::configs::Configs;
#[cfg(feature = "cluster")]
use crate::cli::live::qualified_name;
use crate::cli::review::{BuiltTarget, build_base};
use crate::cli::review::{RevisionRange, Revisions, TargetFlags};
use crate::cli::target::has_kustomization;
use crate::cli::validation::KubernetesVersion;
use crate::cli::{Failure, render};
#[cfg(feature = "cluster")]
use crate::preview::{ChangedObject, DangerView, DiffLine};
use crate::preview::{EvaluatedTarget, Evaluation, Evaluator};
#[cfg(feature = "cluster")]
use smp_cluster::{Cluster, DiffOptions, ObjectDiff, Risk};
use smp_files::{CachedDiskTree, DiskTree, FileTree, Located, ReadSet, RecordingTree};
use smp_inspect::check::{
    Agreement, Conclusion, LocalFiles, RuleSelection, SuppressionTrust, TargetFindings, is_unused_suppression,
};
use smp_inspect::review::{
    BuiltSide, CompareOptions, DangerSuppressions, Presence, Review, TargetOutcome, TargetReview,
    compare_builds,
};
use smp_overlay::overlay::{Builder, Built, Histories};
#[cfg(feature = "cluster")]
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, MessageRenderer, Result};
use smp_text::source::{SourceId, SourceMap, is_kustomization, relative_path};

/// Builds targets with the flags of the command.
pub(super) struct TargetEvaluator {
    args: PreviewArgs,
    /// The revision with which targets are compared.
    revisions: Option<Revisions>,
    /// The targets of the revision.
    old_targets: BTreeSet<PathBuf>,
    /// The targets of the revision that the last search did not find in the working tree.
    deleted: Mutex<BTreeSet<PathBuf>>,
    /// The cluster with which targets are compared. Only one request is sent at a time.
    #[cfg(feature = "cluster")]
    cluster: Option<Mutex<Cluster>>,
}

/// The builders of one evaluation.
struct Run<'e> {
    evaluator: &'e TargetEvaluator,
    disk: Arc<dyn FileTree>,
    sources: &'e SourceMap,
    renderer: MessageRenderer<'e>,
    builder: &'e Builder,
    /// The real path of the directory that contains fetched repositories.
    fetched: Option<PathBuf>,
    /// Finds the bases of targets. The builds of the targets also read them.
    bases: &'e Builder,
    /// The builder of the revision to compare with.
    old: Option<Builder>,
    checker: Checker<'e>,
}

/// A target after its build.
struct Checked {
    /// Records the reads of the build.
    own: RecordingTree,
    /// The build; `None` for a target that is only in the revision.
    built: Option<Result<BuiltTarget>>,
}

/// The texts of an evaluation by the names of their files.
struct Texts {
    working_directory: PathBuf,
    by_name: FxHashMap<PathBuf, Vec<SourceId>>,
}

impl Texts {
    fn new(sources: &SourceMap) -> Self {
        let mut by_name: FxHashMap<PathBuf, Vec<SourceId>> = FxHashMap::default();
        for id in sources.top_level_texts() {
            let Some(source) = sources.get(id) else { continue };
            by_name.entry(source.name().to_path_buf()).or_default().push(id);
        }
        Self { working_directory: DiskTree.working_directory().unwrap_or_default(), by_name }
    }

    fn name<'p>(&self, path: &'p Path) -> Cow<'p, Path> {
        relative_path(path, &self.working_directory)
    }

    /// Returns the texts of the files that a build read.
    fn read_in(&self, reads: &ReadSet) -> Vec<SourceId> {
        let texts = reads.files.iter().filter_map(|path| self.by_name.get(&*self.name(path)));
        texts.flatten().copied().collect()
    }

    /// Removes findings about suppressions that another target uses. The others remain for the
    /// targets in whose directories they are. These are always evaluated together with the targets
    /// that include them.
    fn remove_used_suppressions(&self, targets: &mut [EvaluatedTarget], sources: &SourceMap) {
        let suppression = |finding: &Diagnostic| {
            let at = finding.labels().first().filter(|_| is_unused_suppression(finding))?.span;
            Some((sources.get(at.source)?.name().to_path_buf(), at.start))
        };
        let mut unused: FxHashMap<(PathBuf, u32), usize> = FxHashMap::default();
        for found in targets.iter().flat_map(|target| &target.findings).filter_map(suppression) {
            *unused.entry(found).or_default() += 1;
        }
        if unused.is_empty() {
            return;
        }
        let files: FxHashSet<&Path> = unused.keys().map(|(file, _)| file.as_path()).collect();
        let mut readers: FxHashMap<PathBuf, usize> = FxHashMap::default();
        let read = targets.iter().flat_map(|target| &target.reads.files).map(|file| self.name(file));
        for file in read.filter(|file| files.contains(&**file)) {
            *readers.entry(file.into_owned()).or_default() += 1;
        }
        let is_unused = |((file, _), count): &((PathBuf, u32), usize)| {
            readers.get(file).is_none_or(|readers| readers == count)
        };
        let unused: FxHashSet<_> = unused.into_iter().filter(is_unused).map(|(key, _)| key).collect();
        for target in targets {
            let name = without_dots(&self.name(&target.target));
            let directory = if is_kustomization(&name) { name.parent().unwrap_or(&name) } else { &name };
            let is_within = |file: &Path| directory == Path::new(".") || file.starts_with(directory);
            target.findings.retain(|finding| {
                suppression(finding).is_none_or(|key| unused.contains(&key) && is_within(&key.0))
            });
        }
    }
}

impl TargetEvaluator {
    /// Opens the revision to compare with.
    ///
    /// # Errors
    /// The revision does not exist.
    pub(super) fn new(args: PreviewArgs) -> std::result::Result<Self, Failure> {
        let revisions = match &args.rev {
            Some(revision) => Some(Revisions::open(&single_revision(revision)?, args.select.named())?),
            None => None,
        };
        let old_targets = match &revisions {
            Some(revisions) => {
                flags(&args).targets(&revisions.old, &|_| false, &SourceMap::default())?.into_iter().collect()
            }
            None => BTreeSet::new(),
        };
        #[cfg(feature = "cluster")]
        let cluster = if args.against_cluster {
            let options = args.target.schema.connect.options(&SourceMap::default());
            Some(Mutex::new(Cluster::connect(&options)?))
        } else {
            None
        };
        Ok(Self {
            args,
            revisions,
            old_targets,
            deleted: Mutex::default(),
            #[cfg(feature = "cluster")]
            cluster,
        })
    }

    fn builder(&self, tree: Arc<dyn FileTree>, sources: &SourceMap, targets: &[PathBuf]) -> Result<Builder> {
        let builder =
            self.args.target.hermetic_builder(|options| options.tree = tree, None, sources, targets);
        builder.map_err(Failure::into_diagnostic)
    }

    fn old_builder(&self, sources: &SourceMap, targets: &[PathBuf]) -> Result<Option<Builder>> {
        let Some(revisions) = &self.revisions else { return Ok(None) };
        flags(&self.args)
            .builder(revisions, Arc::clone(&revisions.old), sources, targets)
            .map(Some)
            .map_err(Failure::into_diagnostic)
    }

    /// Finds the targets of the working tree.
    fn found(&self, tree: &Arc<dyn FileTree>) -> Result<Vec<PathBuf>> {
        let named = self.args.select.named();
        let mut named: Vec<PathBuf> = named.iter().map(|target| without_dots(target)).collect();
        if named.is_empty() {
            named.push(".".into());
        }
        named.retain(|target| tree.contains(target) || !self.old_targets.contains(target));
        if named.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.args.select.select_in(tree, named, self.args.target.bases(), &SourceMap::default());
        match found.map_err(Failure::into_diagnostic) {
            Err(problem) if problem.code() == Code::NoMatch && !self.old_targets.is_empty() => Ok(Vec::new()),
            found => Ok(found?.targets),
        }
    }

    fn is_deleted(&self, target: &Path) -> bool {
        self.deleted.lock().unwrap_or_else(PoisonError::into_inner).contains(target)
    }
}

/// Parses the argument of `--rev`.
///
/// # Errors
/// The text is a range, or not a revision.
fn single_revision(text: &str) -> std::result::Result<RevisionRange, Failure> {
    let revision = match text.parse() {
        Ok(range @ RevisionRange::WorkingTree(_)) => return Ok(range),
        Ok(RevisionRange::Between(old, _)) => old,
        Ok(RevisionRange::FromMergeBase(old, new)) => format!("\"$(git merge-base {old} {new})\""),
        Err(message) => return Err(Failure::Usage(format!("invalid value of --rev: {message}"))),
    };
    let message = "`preview --rev` takes one revision, and compares the working tree with it";
    Err(Failure::Usage(format!("{message}: use --rev {revision}")))
}

/// Returns a path without `.` parts, so that different spellings of a target's path are equal.
fn without_dots(path: &Path) -> PathBuf {
    let path: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    if path.as_os_str().is_empty() { ".".into() } else { path }
}

/// Returns the flags with which targets of the revision are selected and built.
fn flags(args: &PreviewArgs) -> TargetFlags<'_> {
    let (select, build) = (&args.select, &args.target);
    TargetFlags { select, build, is_trusted: true, histories: Histories::Enabled }
}

#[cfg(feature = "cluster")]
impl TargetEvaluator {
    fn is_live(&self) -> bool {
        self.cluster.is_some()
    }

    /// Returns the changes that an apply would make in the cluster.
    fn compare_live(&self, built: &BuiltTarget) -> Option<Result<Vec<ChangedObject>>> {
        let cluster = self.cluster.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let resources: Vec<Resource> = built.built.resources.iter().cloned().collect();
        let compared = smp_cluster::diff(&cluster, &resources, &DiffOptions::default());
        Some(compared.and_then(|report| {
            if let Some(problem) = report.problems.into_iter().next() {
                return Err(problem);
            }
            report.objects.iter().filter(|diff| diff.is_changed()).map(changed_object).collect()
        }))
    }
}

#[cfg(feature = "cluster")]
fn changed_object(diff: &ObjectDiff) -> Result<ChangedObject> {
    let (old, new) = diff.texts()?;
    let danger = |(risk, message): &(Risk, String)| DangerView {
        severity: "warning",
        code: risk.as_str(),
        message: message.clone(),
        location: None,
    };
    Ok(ChangedObject {
        id: qualified_name(&diff.object),
        action: diff.change.as_str(),
        dangers: diff.risks.iter().map(danger).collect(),
        lines: DiffLine::between(&old, &new),
    })
}

#[cfg(not(feature = "cluster"))]
impl TargetEvaluator {
    #[expect(clippy::unused_self, reason = "needs the feature `cluster`")]
    fn is_live(&self) -> bool {
        false
    }

    #[expect(clippy::unused_self, reason = "needs the feature `cluster`")]
    fn compare_live(&self, _: &BuiltTarget) -> Option<Result<Vec<crate::preview::ChangedObject>>> {
        None
    }
}

impl Evaluator for TargetEvaluator {
    fn title(&self) -> String {
        match self.args.select.named() {
            [] => ".".into(),
            [one] => one.display().to_string(),
            [first, ..] => format!("{} and others", first.display()),
        }
    }

    fn comparison(&self) -> Option<String> {
        if let Some(revision) = &self.args.rev {
            return Some(format!("revision {revision}"));
        }
        #[cfg(feature = "cluster")]
        if self.args.against_cluster {
            return Some("cluster".into());
        }
        Some("base".into())
    }

    fn targets(&self) -> Result<(Vec<PathBuf>, ReadSet)> {
        let recorded = RecordingTree::new(Arc::new(DiskTree));
        let tree: Arc<dyn FileTree> = Arc::new(recorded.clone());
        let found: BTreeSet<PathBuf> = self.found(&tree)?.into_iter().collect();
        let deleted: BTreeSet<PathBuf> = self.old_targets.difference(&found).cloned().collect();
        let targets = found.into_iter().chain(deleted.iter().cloned()).collect();
        *self.deleted.lock().unwrap_or_else(PoisonError::into_inner) = deleted;
        Ok((targets, recorded.read_set()))
    }

    fn evaluate(&self, targets: &[PathBuf], sources: &SourceMap) -> Result<Evaluation> {
        let disk: Arc<dyn FileTree> = Arc::new(CachedDiskTree::default());
        let common = RecordingTree::new(Arc::clone(&disk));
        let tree: Arc<dyn FileTree> = Arc::new(common.clone());
        let builder = self.builder(Arc::clone(&tree), sources, targets)?;
        let selected = RuleSelection::new([], [])?;
        let checker = Checker {
            builder: &builder,
            selected: &selected,
            sources,
            options: KubernetesVersion::options(None),
            policies: Vec::new(),
            configs: Configs::new(tree, sources),
        };
        let old = self.old_builder(sources, targets)?;
        let bases = self.builder(Arc::clone(&disk), sources, targets)?;
        let fetched = builder.cache_directory().and_then(|cache| DiskTree.locate(Path::new(""), cache).ok());
        let run = Run {
            evaluator: self,
            disk,
            sources,
            renderer: render::location_renderer(sources),
            builder: &builder,
            fetched: fetched.map(Located::into_path),
            bases: &bases,
            old,
            checker,
        };
        let (checked, found): (Vec<Checked>, Vec<TargetFindings>) =
            targets.par_iter().map(|target| run.check(target)).unzip();
        // As in `check --recursive`, a finding that an overlay fixes is not reported for its base.
        let agreement = &Agreement::new(&found, sources);
        let texts = &Texts::new(sources);
        let all = targets.par_iter().zip(checked).zip(found).enumerate();
        let mut targets: Vec<EvaluatedTarget> = all
            .map(|(number, ((target, checked), found))| {
                let agreed = |finding: &Diagnostic| agreement.holds(finding, number, sources);
                run.evaluate(target, checked, (found, texts), agreed)
            })
            .collect();
        texts.remove_used_suppressions(&mut targets, sources);
        Ok(Evaluation { targets, common: common.read_set() })
    }
}

impl Run<'_> {
    /// Builds a target, and runs the rules on it.
    fn check(&self, target: &Path) -> (Checked, TargetFindings) {
        let own = RecordingTree::new(Arc::clone(&self.disk));
        if self.evaluator.is_deleted(target) {
            // A kustomization that is added later is a change.
            has_kustomization(&own, target);
            return (Checked { own, built: None }, TargetFindings::default());
        }
        let mut built = self.build(&own, target);
        let found = match (&mut built, self.checker.configs.of(target)) {
            (Ok(built), Ok(config)) => self.checker.check_built(target, &mut built.built, &config),
            (Err(problem), config) => {
                TargetFindings::from_failure(target, problem, config.unwrap_or_default())
            }
            (Ok(_), Err(problem)) => TargetFindings::from_failure(target, &problem, Arc::default()),
        };
        (Checked { own, built: Some(built) }, found)
    }

    /// Compares a target, and combines its findings.
    fn evaluate(
        &self,
        target: &Path,
        Checked { own, built }: Checked,
        found: (TargetFindings, &Texts),
        agreed: impl Fn(&Diagnostic) -> bool,
    ) -> EvaluatedTarget {
        let Some(built) = built else { return self.deleted(target, &own) };
        let findings = match &built {
            Ok(_) => self.findings(found, agreed, &own).unwrap_or_else(|problem| vec![problem]),
            Err(problem) => std::iter::once(problem).chain(problem.attached()).cloned().collect(),
        };
        let live = built.as_ref().ok().and_then(|built| self.evaluator.compare_live(built));
        let side = built.as_ref().map(|built| Some(built.side())).map_err(Clone::clone);
        let review = (!self.evaluator.is_live()).then(|| self.review(target, &own, side));
        let (target, reads, built) = (target.to_path_buf(), own.read_set(), built.map(|one| one.built));
        EvaluatedTarget { target, reads, built, findings, review, live }
    }

    /// Returns the result for a target that is only in the revision. All its objects are deleted.
    fn deleted(&self, target: &Path, own: &RecordingTree) -> EvaluatedTarget {
        EvaluatedTarget {
            target: target.to_path_buf(),
            reads: own.read_set(),
            built: Ok(Built::default()),
            findings: Vec::new(),
            review: Some(self.review(target, own, Ok(None))),
            live: None,
        }
    }

    /// Builds a target. Manifests without a base are shown unchanged.
    fn build(&self, own: &RecordingTree, target: &Path) -> Result<BuiltTarget> {
        let tree: Arc<dyn FileTree> = Arc::new(own.clone());
        let built = match self.builder.build_from_tree(Arc::clone(&tree), target) {
            Err(problem) if !has_kustomization(&*self.disk, target) => {
                let builder = self.evaluator.builder(tree, self.sources, &[target.to_path_buf()])?;
                builder.manifests(target)?.ok_or(problem)
            }
            built => built,
        };
        BuiltTarget::new(self.builder, built?, target)
    }

    /// Returns the findings of a target that are not suppressed and that all its overlays also
    /// have.
    fn findings(
        &self,
        (found, texts): (TargetFindings, &Texts),
        agreed: impl Fn(&Diagnostic) -> bool,
        own: &RecordingTree,
    ) -> Result<Vec<Diagnostic>> {
        let found = vec![found];
        let known = KnownFindings::new(None, false).map_err(Failure::into_diagnostic)?;
        let (_, baselines) = known.resolve(&found)?;
        let files = LocalFiles { tree: own, fetched: self.fetched.as_deref() };
        let conclusion = Conclusion {
            sources: self.sources,
            selection: self.checker.selected,
            renderer: &self.renderer,
            files,
            suppressions: SuppressionTrust::All,
            texts: &texts.read_in(&own.read_set()),
        };
        let mut findings = conclusion.report(found, baselines).findings;
        findings.retain(agreed);
        Ok(findings)
    }

    /// Compares a target with its bases, or with a revision. `new` is `None` for a deleted target.
    fn review(&self, target: &Path, own: &RecordingTree, new: Result<Option<BuiltSide<'_>>>) -> TargetReview {
        let old = self.build_old(target, own);
        let presence = match (&old, &new) {
            (_, Ok(None)) => Presence::Removed,
            (Ok(None), Ok(_)) => Presence::Added,
            _ => Presence::Both,
        };
        let outcome = match (old, new) {
            (Ok(old), Ok(new)) => {
                let old = old.as_ref().map(BuiltTarget::side);
                TargetOutcome::Compared(compare_builds(old, new, &CompareOptions::default()))
            }
            (old, new) => TargetOutcome::Failed([old.err(), new.err()]),
        };
        let mut review = TargetReview { target: target.to_path_buf(), presence, outcome };
        if self.old.is_none() && presence == Presence::Added {
            // Without a base, there are no changes.
            review.clear_dangers();
        }
        self.without_suppressed(review).unwrap_or_else(|problem| TargetReview {
            target: target.to_path_buf(),
            presence,
            outcome: TargetOutcome::Failed([Some(problem), None]),
        })
    }

    /// Removes the dangers that comments and the configuration suppress.
    fn without_suppressed(&self, review: TargetReview) -> Result<TargetReview> {
        let config = self.checker.configs.of(&review.target)?;
        let mut all = Review { targets: vec![review], ..Review::default() };
        let renderer = &self.renderer;
        let suppressions = DangerSuppressions { sources: self.sources, renderer, trusts_new: true };
        suppressions.apply(&mut all, |_| Some(&config));
        Ok(all.targets.remove(0))
    }

    fn build_old(&self, target: &Path, own: &RecordingTree) -> Result<Option<BuiltTarget>> {
        if let (Some(builder), Some(revisions)) = (&self.old, &self.evaluator.revisions) {
            if !revisions.old.contains(target) {
                return Ok(None);
            }
            let built = match builder.manifests(target)? {
                Some(built) => built,
                None => builder.build(target)?,
            };
            return BuiltTarget::new(builder, built, target).map(Some);
        }
        let base = self.bases.base_of(target)?;
        let tree: Arc<dyn FileTree> = Arc::new(own.clone());
        build_base(&self.evaluator.args.target, (self.builder, &tree), target, base, self.sources)
    }
}
