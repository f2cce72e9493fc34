//! Builds that are kept between the runs of `--watch`, so that only affected targets are rebuilt.
//!
//! Like the record of reads, the builds are global in the process.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::disk::{record_reads_of, search_read_set};
use super::select::{Selection, is_stream};
use smp_files::{DiskTree, FileTree, Located, ReadSet, RecordingTree, affected_results};
use smp_overlay::overlay::{Builder, Built};
use smp_text::diagnostic::Result;
use smp_text::source::SourceMap;

/// A build of a target.
#[derive(Clone)]
pub(super) struct TargetBuild {
    pub(super) built: Built,
    /// True if the target consists only of manifests, which are used without a build.
    pub(super) is_plain: bool,
}

/// A build and its reads.
struct KeptBuild {
    reads: ReadSet,
    own: RecordingTree,
    result: Result<TargetBuild>,
}

/// The builds of a run, and those of earlier runs that are still valid.
#[derive(Default)]
struct Run {
    sources: SourceMap,
    /// Valid builds of the previous run.
    former: BTreeMap<PathBuf, KeptBuild>,
    builds: BTreeMap<PathBuf, KeptBuild>,
    /// The number of builds that were reused from the previous run.
    reused: usize,
    /// The reads that all builds have in common.
    common: Option<RecordingTree>,
    /// True if a build used remote references. Their warnings belong to the run.
    is_remote: bool,
}

/// The current run; `None` without `--watch`.
static RUN: Mutex<Option<Run>> = Mutex::new(None);

fn run() -> MutexGuard<'static, Option<Run>> {
    RUN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a run after changes of files, before its reads are recorded. Returns its source map,
/// which contains the texts of the builds that are kept.
pub(super) fn start_run(changed: &BTreeSet<PathBuf>) -> SourceMap {
    let mut run = run();
    let next = run.take().map(|former| former.after(changed)).unwrap_or_default();
    let sources = next.sources.clone();
    *run = Some(next);
    sources
}

/// Returns the number of targets that the run built, and the number of all targets. Returns `None`
/// if it built all of them.
pub(super) fn built_counts() -> Option<(usize, usize)> {
    let (reused, all) = run().as_ref().map(|run| (run.reused, run.builds.len()))?;
    (reused > 0).then(|| (all.saturating_sub(reused), all))
}

fn recording(tree: &Arc<dyn FileTree>) -> Option<RecordingTree> {
    tree.recording()?.downcast::<RecordingTree>().ok().map(|tree| *tree)
}

impl Run {
    /// Returns the next run, with the builds that the changes do not affect.
    fn after(self, changed: &BTreeSet<PathBuf>) -> Self {
        let Self { sources, builds, common, is_remote, .. } = self;
        // Values of Secrets that were removed must not be hidden in the next run.
        let Some(common) = common.filter(|_| !is_remote && !sources.has_hidden_values()) else {
            return Self::default();
        };
        let (search, common) = (search_read_set(), common.read_set());
        let known = builds.iter().map(|(target, build)| (target.clone(), &build.reads));
        let is_known = |path: &Path| search.depends_on(path);
        let affected: BTreeSet<PathBuf> =
            affected_results(changed, known, &common, is_known).into_iter().collect();
        let mut all = ReadSet::default();
        for build in builds.values() {
            all.add(&build.reads);
        }
        let former: BTreeMap<_, _> =
            builds.into_iter().filter(|(target, _)| !affected.contains(target)).collect();
        let mut kept = common;
        for build in former.values() {
            kept.add(&build.reads);
        }
        let here = DiskTree.working_directory().unwrap_or_default();
        let sources = sources.retained(|source| is_kept(&here.join(source.name()), &kept, &all));
        Self { sources, former, ..Self::default() }
    }
}

/// Returns true if the path of a text is that of a file that kept builds read, or not that of a
/// file. `all` contains the reads of all builds.
fn is_kept(path: &Path, kept: &ReadSet, all: &ReadSet) -> bool {
    if kept.files.contains(path) {
        return true;
    }
    match DiskTree.locate(Path::new(""), path).map(Located::into_path) {
        Ok(path) => kept.files.contains(&path),
        Err(_) => !all.files.contains(path),
    }
}

/// Builds a target, unless the previous run built it and no file that it read has changed.
///
/// # Errors
/// The errors of [`Selection::build`].
pub(super) fn build(selection: &Selection, builder: &Builder, target: &Path) -> Result<Built> {
    let build = kept_or(selection, builder, target, |tree| {
        let built = match tree {
            Some(tree) => builder.build_from_tree(tree, target)?,
            None => selection.build(builder, target)?,
        };
        Ok(TargetBuild { built, is_plain: false })
    });
    build.map(|build| build.built)
}

/// Builds a target like [`build`], but manifests without a base are not changed.
///
/// # Errors
/// The errors of [`Selection::build`].
pub(super) fn build_or_read(selection: &Selection, builder: &Builder, target: &Path) -> Result<TargetBuild> {
    kept_or(selection, builder, target, |tree| {
        let manifests = match &tree {
            Some(tree) => builder.manifests_from_tree(Arc::clone(tree), target)?,
            None => selection.manifests(builder, target)?,
        };
        let (is_plain, built) = match (manifests, tree) {
            (Some(built), _) => (true, built),
            (None, Some(tree)) => (false, builder.build_from_tree(tree, target)?),
            (None, None) => (false, selection.build(builder, target)?),
        };
        Ok(TargetBuild { built, is_plain })
    })
}

/// Returns a kept build, or builds the target from a tree that records its reads. For a single
/// target, no build is kept.
fn kept_or(
    selection: &Selection,
    builder: &Builder,
    target: &Path,
    build: impl FnOnce(Option<Arc<dyn FileTree>>) -> Result<TargetBuild>,
) -> Result<TargetBuild> {
    let former = match &mut *run() {
        Some(run) if selection.targets.len() > 1 && !is_stream(target) => {
            run.common = recording(builder.tree());
            let former = run.former.remove(target);
            run.reused += usize::from(former.is_some());
            Some(former)
        }
        _ => None,
    };
    let kept = match former {
        None => return build(None),
        Some(Some(former)) => former,
        Some(None) => {
            let own = RecordingTree::new(Arc::new(DiskTree));
            let result = build(Some(Arc::new(own.clone())));
            KeptBuild { reads: own.read_set(), own, result }
        }
    };
    record_reads_of(&kept.own);
    let result = kept.result.clone();
    if let Some(run) = &mut *run() {
        run.is_remote |= !builder.used_references().is_empty();
        run.builds.insert(target.to_path_buf(), kept);
    }
    result
}
