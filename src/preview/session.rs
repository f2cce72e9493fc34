//! Keeps the state of all targets, and rebuilds those that a change affects.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::Instant;

use super::model::{ChangedObject, Event, TargetState, TargetSummary};
use smp_files::{DiskTree, FileTree as _, ReadSet, affected_results};
use smp_inspect::review::{Presence, TargetOutcome, TargetReview};
use smp_overlay::overlay::Built;
use smp_text::diagnostic::{Code, Diagnostic, MessageFormat, MessageRenderer, Result, Severity};
use smp_text::source::{SourceMap, relative_path};

/// A target that was built, checked and compared.
#[derive(Debug)]
pub struct EvaluatedTarget {
    /// The target.
    pub target: PathBuf,
    /// The files that the build read.
    pub reads: ReadSet,
    /// The result of the build, with histories.
    pub built: Result<Built>,
    /// The findings of `check`, or the errors of the build if it failed.
    pub findings: Vec<Diagnostic>,
    /// The comparison of two builds; `None` if targets are not compared with a build.
    pub review: Option<TargetReview>,
    /// The changes that an apply would make in the cluster; `None` if targets are not compared with a cluster.
    pub live: Option<Result<Vec<ChangedObject>>>,
}

/// Targets that were built together.
#[derive(Debug)]
pub struct Evaluation {
    /// The targets, in the order of the request.
    pub targets: Vec<EvaluatedTarget>,
    /// The inputs that all of them have in common, such as configurations.
    pub common: ReadSet,
}

/// Builds targets for a session.
pub trait Evaluator: Send + Sync {
    /// Returns the name of the previewed targets.
    fn title(&self) -> String;

    /// Returns the name of the comparison, such as `base`, or `None` if targets are not compared.
    fn comparison(&self) -> Option<String>;

    /// Finds the targets, and returns the reads of the search. Targets that are only in the revision to compare with
    /// are included.
    ///
    /// # Errors
    /// The targets cannot be found.
    fn targets(&self) -> Result<(Vec<PathBuf>, ReadSet)>;

    /// Builds, checks and compares targets. Adds all texts to `sources`.
    ///
    /// # Errors
    /// Settings that all targets share are invalid. The failure of a single target is part of the result.
    fn evaluate(&self, targets: &[PathBuf], sources: &SourceMap) -> Result<Evaluation>;
}

/// A target and the texts of its build.
#[derive(Debug)]
pub(super) struct BuiltTarget {
    pub(super) sources: SourceMap,
    pub(super) evaluated: EvaluatedTarget,
}

/// The state of a target: its last build, and its last successful one.
#[derive(Debug, Clone)]
pub(super) struct KnownTarget {
    pub(super) summary: TargetSummary,
    /// The last build.
    pub(super) last: Arc<BuiltTarget>,
    /// The last successful build.
    pub(super) good: Option<Arc<BuiltTarget>>,
}

#[derive(Default)]
struct State {
    generation: u64,
    targets: BTreeMap<String, KnownTarget>,
    /// The files and directories that the search for targets read.
    search: ReadSet,
    common: ReadSet,
    /// The targets that the last search found and that have not been built yet.
    new: Vec<PathBuf>,
    /// True if the read sets have changed since `take_read_set` was last called.
    has_other_reads: bool,
}

/// A preview of targets. It can be shared between threads.
///
/// The session does not watch files. Pass the paths of changed files to [`Session::refresh`].
pub struct Session {
    evaluator: Box<dyn Evaluator>,
    state: RwLock<State>,
}

impl Session {
    /// Finds and builds all targets. Adds all texts to `sources`.
    ///
    /// # Errors
    /// The targets cannot be found, or the settings that all targets share are invalid.
    pub fn new(evaluator: Box<dyn Evaluator>, sources: &SourceMap) -> Result<Self> {
        let (targets, search) = evaluator.targets()?;
        let evaluation = evaluator.evaluate(&targets, sources)?;
        let session = Self { evaluator, state: RwLock::default() };
        let mut state = session.write();
        state.search = search;
        state.add(evaluation, sources);
        drop(state);
        Ok(session)
    }

    pub(super) fn comparison(&self) -> Option<String> {
        self.evaluator.comparison()
    }

    /// Returns all targets as the first event.
    pub fn state(&self) -> Event {
        let state = self.read();
        Event::State {
            generation: state.generation,
            title: self.evaluator.title(),
            comparison: self.evaluator.comparison(),
            targets: state.targets.values().map(|target| target.summary.clone()).collect(),
        }
    }

    /// Rebuilds the targets that changed files affect. Returns `None` if there are none.
    pub fn refresh(&self, changed: &BTreeSet<PathBuf>) -> Option<Event> {
        let started = Instant::now();
        let removed = self.search_again(changed);
        let affected = self.affected(changed);
        if affected.is_empty() && removed.is_empty() {
            return None;
        }
        let sources = SourceMap::default();
        let evaluation = self.evaluator.evaluate(&affected, &sources);
        let mut state = self.write();
        let names: Vec<String> = affected.iter().map(|target| name_of(target)).collect();
        let evaluation = evaluation.unwrap_or_else(|problem| state.failed(affected, &problem));
        let replaced = state.add(evaluation, &sources);
        // Freeing many builds takes longer than sending the event.
        rayon::spawn(|| drop(replaced));
        Some(Event::Update {
            generation: state.generation,
            changed: shown_paths(changed),
            milliseconds: (started.elapsed().as_secs_f64() * 1e6).round() / 1000.0,
            targets: names.iter().filter_map(|name| Some(state.targets.get(name)?.summary.clone())).collect(),
            removed,
        })
    }

    /// Returns all dependencies of the targets, if they have changed since the last call.
    pub fn take_read_set(&self) -> Option<ReadSet> {
        let mut state = self.write();
        if !std::mem::take(&mut state.has_other_reads) {
            return None;
        }
        let mut all = ReadSet::default();
        let targets = state.targets.values().map(|target| &target.last.evaluated.reads);
        targets.chain([&state.search, &state.common]).for_each(|reads| all.add(reads));
        Some(all)
    }

    /// Returns the generation in which a target was last built.
    pub fn generation(&self, name: &str) -> Option<u64> {
        self.read().targets.get(name).map(|target| target.summary.generation)
    }

    pub(super) fn target(&self, name: &str) -> Option<KnownTarget> {
        self.read().targets.get(name).cloned()
    }

    /// Returns the last successful builds of all targets.
    pub(super) fn good_builds(&self) -> Vec<(String, Arc<BuiltTarget>)> {
        let state = self.read();
        state.targets.iter().filter_map(|(name, target)| Some((name.clone(), target.good.clone()?))).collect()
    }

    /// Searches the targets again if the search depends on a change. Returns the names of targets that no longer exist.
    fn search_again(&self, changed: &BTreeSet<PathBuf>) -> Vec<String> {
        if !changed.iter().any(|path| self.affects_search(path)) {
            return Vec::new();
        }
        let (targets, search) = match self.evaluator.targets() {
            Ok(found) => found,
            Err(problem) if problem.code() == Code::NoMatch => (Vec::new(), self.read().search.clone()),
            // The targets of a directory that currently cannot be searched are kept. Their builds report the problem.
            Err(_) => return Vec::new(),
        };
        let mut state = self.write();
        state.has_other_reads |= state.search != search;
        state.search = search;
        let names: BTreeSet<String> = targets.iter().map(|target| name_of(target)).collect();
        let removed: Vec<String> =
            state.targets.keys().filter(|name| !names.contains(*name)).cloned().collect();
        for name in &removed {
            state.targets.remove(name);
        }
        state.has_other_reads |= !removed.is_empty();
        state.new =
            targets.into_iter().filter(|target| !state.targets.contains_key(&name_of(target))).collect();
        removed
    }

    /// Returns true if a change may add or remove a target. A file that a successful build read cannot add or remove a
    /// target when its content changes.
    fn affects_search(&self, path: &Path) -> bool {
        let state = self.read();
        let is_content = || {
            let built = state.targets.values().map(|target| &target.last.evaluated);
            let mut built = built.filter(|target| target.built.is_ok());
            built.any(|target| target.reads.files.contains(path)) && DiskTree.contains(path)
        };
        state.search.files.contains(path) || (state.search.depends_on(path) && !is_content())
    }

    /// Returns the new targets and those that a change affects.
    fn affected(&self, changed: &BTreeSet<PathBuf>) -> Vec<PathBuf> {
        let state = self.read();
        let known = state.targets.values().map(|target| &target.last.evaluated);
        let known = known.map(|target| (target.target.clone(), &target.reads));
        let is_explained = |path: &Path| !state.new.is_empty() || state.search.depends_on(path);
        let mut affected = affected_results(changed, known, &state.common, is_explained);
        affected.extend(state.new.iter().cloned());
        affected
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns the evaluation of targets that all fail for the same reason. The common inputs are still watched.
    fn failed(&self, targets: Vec<PathBuf>, problem: &Diagnostic) -> Evaluation {
        let is_reviewed = self.targets.values().any(|target| target.last.evaluated.review.is_some());
        let review = |target: &PathBuf| TargetReview {
            target: target.clone(),
            presence: Presence::Both,
            outcome: TargetOutcome::Failed([None, Some(problem.clone())]),
        };
        let failed = |target: PathBuf| EvaluatedTarget {
            reads: ReadSet::default(),
            built: Err(problem.clone()),
            findings: vec![problem.clone()],
            review: is_reviewed.then(|| review(&target)),
            live: None,
            target,
        };
        Evaluation { targets: targets.into_iter().map(failed).collect(), common: self.common.clone() }
    }

    /// Replaces targets by new builds. Returns the former ones.
    fn add(&mut self, evaluation: Evaluation, sources: &SourceMap) -> Vec<KnownTarget> {
        let Evaluation { targets, common } = evaluation;
        self.generation += 1;
        self.new.clear();
        if targets.len() < self.targets.len() {
            // The targets that are not rebuilt still depend on the earlier common inputs.
            let before = self.common.clone();
            self.common.add(&common);
            self.has_other_reads |= self.common != before;
        } else {
            self.has_other_reads |= self.common != common;
            self.common = common;
        }
        let mut replaced = Vec::new();
        for mut evaluated in targets {
            let name = name_of(&evaluated.target);
            let former = self.targets.remove(&name);
            if let (Err(_), Some(former)) = (&evaluated.built, &former) {
                // A failed build may stop before it reads all files, so the files of the last build are also watched.
                evaluated.reads.add(&former.last.evaluated.reads);
            }
            let same_reads = former.as_ref().is_some_and(|one| one.last.evaluated.reads == evaluated.reads);
            self.has_other_reads |= !same_reads;
            let last = Arc::new(BuiltTarget { sources: sources.clone(), evaluated });
            let is_good = last.evaluated.built.is_ok();
            let earlier = former.as_ref().and_then(|one| one.good.clone());
            let good = if is_good { Some(Arc::clone(&last)) } else { earlier };
            let summary = summary(&name, &last, good.as_deref(), self.generation);
            self.targets.insert(name, KnownTarget { summary, last, good });
            replaced.extend(former);
        }
        replaced
    }
}

fn summary(name: &str, last: &BuiltTarget, good: Option<&BuiltTarget>, generation: u64) -> TargetSummary {
    let target = &last.evaluated;
    let count = |severity| target.findings.iter().filter(|finding| finding.severity() == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let is_deleted = target.review.as_ref().is_some_and(|review| review.presence == Presence::Removed);
    let state = match (&target.built, errors, warnings) {
        _ if is_deleted => TargetState::Deleted,
        (Ok(_), 0, 0) => TargetState::Ok,
        (Ok(_), 0, _) => TargetState::Warning,
        _ => TargetState::Error,
    };
    // Views also display the output and the changes of the last successful build.
    let shown = good.map_or(target, |good| &good.evaluated);
    let dangers = danger_severities(shown);
    TargetSummary {
        name: name.to_string(),
        state,
        errors: errors.max(usize::from(target.built.is_err())),
        error: first_error(last),
        warnings,
        stale: target.built.is_err() && good.is_some(),
        dangers: dangers.len(),
        danger_errors: dangers.iter().filter(|severity| **severity == Severity::Error.name()).count(),
        changes: change_count(shown),
        resources: shown.built.as_ref().map_or(0, |built| built.resources.as_slice().len()),
        generation,
    }
}

/// Returns the number of changed objects, or `None` if the target was not compared.
fn change_count(target: &EvaluatedTarget) -> Option<usize> {
    let compared = target.review.as_ref().filter(|review| review.failure().is_none());
    let live = target.live.as_ref().and_then(|live| live.as_ref().ok());
    compared.map(|review| review.objects().len()).or_else(|| live.map(Vec::len))
}

/// Returns the severities of the dangers of all changes.
fn danger_severities(target: &EvaluatedTarget) -> Vec<&'static str> {
    let objects = target.review.as_ref().map_or(&[][..], TargetReview::objects);
    let reviewed = objects.iter().flat_map(|object| &object.dangers).map(|one| one.finding.severity().name());
    let live = target.live.iter().flatten().flatten().flat_map(|object| &object.dangers);
    reviewed.chain(live.map(|danger| danger.severity)).collect()
}

fn first_error(target: &BuiltTarget) -> Option<String> {
    let error = target.evaluated.findings.iter().find(|finding| finding.severity() == Severity::Error)?;
    let here = DiskTree.working_directory().unwrap_or_default();
    Some(MessageRenderer::new(&target.sources, MessageFormat::Short).relative_to(here).render(error))
}

/// Returns the name of a target in the views.
fn name_of(target: &Path) -> String {
    escaped_path(target)
}

/// Returns paths relative to the working directory.
pub(super) fn shown_paths<'p>(paths: impl IntoIterator<Item = &'p PathBuf>) -> Vec<String> {
    let here = DiskTree.working_directory().unwrap_or_default();
    paths.into_iter().map(|path| escaped_path(&relative_path(path, &here))).collect()
}

/// Returns a path as text. Bytes that are not UTF-8 are escaped, so that different paths have different names.
fn escaped_path(path: &Path) -> String {
    let mut name = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        name.push_str(chunk.valid());
        name.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    name
}
