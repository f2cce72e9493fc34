//! `kubectl smp deps`: what the builds of targets depend on.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use rayon::prelude::*;

use super::report::print;
use super::select::{SelectArgs, Selection, ended, is_stream, of_target};
use super::target::TargetArgs;
use super::{Failure, Outcome, render};
use smp_files::{DiskTree, FileTree as _, RecordingTree};
use smp_inspect::explain::{
    TargetReads, reads_of, reads_to_argocd, reads_to_json, reads_to_lines, reads_to_make,
};
use smp_overlay::overlay::{Builder, RemoteReference};
use smp_text::diagnostic::{Diagnostic, quoted_path, unreadable};
use smp_text::source::SourceMap;

/// Build overlays and list what the builds read.
///
/// Each target is built, and every file and directory that its build reads is noted: kustomizations, manifests,
/// patches, files of generators, charts, schemas, the lock file, and the commits of what comes from elsewhere. A chart,
/// the executable of a function, and what a container sees count as a whole, since helm and functions read for
/// themselves; other files that a function reads are not seen.
#[derive(Debug, Args)]
pub(super) struct DepsArgs {
    #[command(flatten)]
    select: SelectArgs,

    /// Form of the output
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "lines")]
    output: DepsForm,

    /// With --output make: what the rule makes, instead of TARGET
    #[arg(long, value_name = "NAME")]
    rule_target: Option<String>,

    #[command(flatten)]
    target: TargetArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DepsForm {
    /// A path on each line, sorted; directories whose names are read end with a slash
    Lines,
    /// A JSON array with an element for each target; what is looked for and not there is told, too
    Json,
    /// A rule for make, to be included in a Makefile
    Make,
    /// The value of Argo CD's annotation argocd.argoproj.io/manifest-generate-paths
    Argocd,
}

/// Lists what builds read. Of several targets, one that fails leaves the others.
pub(super) fn run(args: &DepsArgs, sources: &SourceMap) -> Outcome {
    let selection = args.select.select(args.target.bases(), sources)?;
    let targets = &selection.targets;
    if args.rule_target.is_some() && (args.output != DepsForm::Make || targets.len() != 1) {
        let message = "`--rule-target` names what one rule makes: give one TARGET, and --output make";
        return Err(Failure::Usage(message.into()));
    }
    let read = build_all(args, &selection, sources)?;
    let (mut all, mut failed, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for (target, read) in targets.iter().zip(read) {
        match read {
            Ok((reads, warnings)) => {
                render::print_before(&of_target(warnings, target, targets.len()), sources)?;
                all.push(reads);
            }
            Err(Failure::Problems(problems)) => {
                wrong.extend(of_target(problems, target, targets.len()));
                failed.push(target);
            }
            Err(other) => return Err(other),
        }
    }
    render::print(&wrong, sources);
    if failed.len() < targets.len() {
        print(&text(args, &all)?)?;
    }
    Ok(ended(&failed, targets.len()))
}

/// Builds all targets.
fn build_all(args: &DepsArgs, selection: &Selection, sources: &SourceMap) -> Result<Vec<Read>, Failure> {
    let targets = &selection.targets;
    let common = RecordingTree::new(Arc::new(DiskTree));
    let together = Together::new(args, &common, selection, sources)?;
    let own = |target: &PathBuf| alone(args, selection, target, sources);
    let reads = |target: &PathBuf| if is_stream(target) { own(target) } else { together.reads(target) };
    let read = targets.par_iter().map(reads).collect();
    if targets.len() > 1 && !together.builder.used().is_empty() {
        // A shared builder does not know which target used which remote reference, so each gets its own builder.
        return Ok(targets.par_iter().map(own).collect());
    }
    Ok(read)
}

/// A built target with its reads and its warnings.
type Read = Result<(BuiltTarget, Vec<Diagnostic>), Failure>;

/// What the build of a target read.
struct BuiltTarget {
    target: String,
    directory: Option<PathBuf>,
    trees: [RecordingTree; 2],
    used: BTreeMap<RemoteReference, String>,
}

impl BuiltTarget {
    fn new(target: &Path, trees: [RecordingTree; 2], used: BTreeMap<RemoteReference, String>) -> Self {
        Self { target: target.display().to_string(), directory: directory(target), trees, used }
    }

    fn reads(&self, here: &Path) -> TargetReads {
        let reads = reads_of(&RecordingTree::read_set_of(&self.trees), &self.used, here);
        TargetReads { target: self.target.clone(), directory: self.directory.clone(), reads }
    }
}

/// Builds targets with one builder, so that what several share is read only once.
struct Together<'t> {
    builder: Builder,
    /// Records reads that do not depend on the target.
    common: &'t RecordingTree,
}

impl<'t> Together<'t> {
    fn new(
        args: &DepsArgs,
        common: &'t RecordingTree,
        selection: &Selection,
        sources: &SourceMap,
    ) -> Result<Self, Failure> {
        let builder = args.target.builder_over(Arc::new(common.clone()), sources, &selection.targets)?;
        Ok(Self { builder, common })
    }

    fn reads(&self, target: &Path) -> Read {
        let own = RecordingTree::new(Arc::new(DiskTree));
        let built = self.builder.build_over(Arc::new(own.clone()), target)?;
        Ok((BuiltTarget::new(target, [own, self.common.clone()], self.builder.used()), built.warnings))
    }
}

/// Builds a target with a builder of its own.
fn alone(args: &DepsArgs, selection: &Selection, target: &Path, sources: &SourceMap) -> Read {
    let tree = RecordingTree::new(Arc::new(DiskTree));
    let builder = args.target.builder_over(Arc::new(tree.clone()), sources, &[target.to_path_buf()])?;
    let built = selection.build(&builder, target)?;
    Ok((BuiltTarget::new(target, [tree.clone(), tree], builder.used()), built.warnings))
}

/// The real path of the directory that a target is, or is in.
fn directory(target: &Path) -> Option<PathBuf> {
    if is_stream(target) || Builder::is_remote(target) {
        return None;
    }
    let found = DiskTree.locate(Path::new(""), target).ok()?;
    if found.is_directory() {
        return Some(found.into_path());
    }
    let above = target.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    DiskTree.locate(Path::new(""), above).ok().map(smp_files::Located::into_path)
}

fn text(args: &DepsArgs, all: &[BuiltTarget]) -> Result<String, Diagnostic> {
    let here = DiskTree.working_directory().map_err(|error| unreadable("the working directory", &error))?;
    if args.output == DepsForm::Lines {
        // What several targets read is listed once, so that it need not be known which of them did.
        let read = RecordingTree::read_set_of(all.iter().flat_map(|target| &target.trees));
        let used = all.iter().flat_map(|target| target.used.clone()).collect();
        let reads = reads_of(&read, &used, &here);
        return Ok(reads_to_lines(&[TargetReads { target: String::new(), directory: None, reads }]));
    }
    let all: Vec<TargetReads> = all.par_iter().map(|target| target.reads(&here)).collect();
    match args.output {
        DepsForm::Lines => Ok(reads_to_lines(&all)),
        DepsForm::Json => reads_to_json(&all),
        DepsForm::Make => reads_to_make(&all, args.rule_target.as_deref()),
        DepsForm::Argocd => {
            let values = all.iter().map(|target| Ok((target.target.as_str(), reads_to_argocd(target)?)));
            let values = values.collect::<Result<Vec<_>, Diagnostic>>()?;
            Ok(match values.as_slice() {
                [(_, value)] => format!("{value}\n"),
                several => several
                    .iter()
                    .flat_map(|(target, value)| {
                        [&*quoted_path(target), "\t", value, "\n"].map(str::to_string)
                    })
                    .collect(),
            })
        }
    }
}
