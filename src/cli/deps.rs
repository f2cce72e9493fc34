//! `kubectl smp deps`: list the inputs of builds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use rayon::prelude::*;

use super::report::print;
use super::select::{SelectArgs, Selection, exit_status, is_stream, with_target};
use super::target::TargetArgs;
use super::{Failure, Outcome, render};
use smp_files::{DiskTree, FileTree as _, RecordingTree};
use smp_inspect::explain::{
    TargetReads, collect_reads, reads_to_argocd, reads_to_json, reads_to_lines, reads_to_make,
};
use smp_overlay::overlay::{Builder, RemoteReference};
use smp_text::diagnostic::{Diagnostic, quoted_path, read_error};
use smp_text::source::SourceMap;

/// List the files and remote references that a build reads.
#[derive(Debug, Args)]
pub(super) struct DepsArgs {
    #[command(flatten)]
    select: SelectArgs,

    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: DepsFormat,

    /// Name of the make target, for --output=make [default: TARGET]
    #[arg(long, value_name = "NAME")]
    rule_target: Option<String>,

    #[command(flatten)]
    target: TargetArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DepsFormat {
    /// One path per line, sorted; a directory whose entries the build reads ends with a slash
    #[value(alias = "lines")]
    Text,
    /// JSON array with one element per target, including missing files that the build looked for
    Json,
    /// Rule to include in a Makefile
    Make,
    /// Value of Argo CD's annotation argocd.argoproj.io/manifest-generate-paths
    Argocd,
}

/// Lists the inputs of builds. If one of several targets fails, the others are still listed.
pub(super) fn run(args: &DepsArgs, sources: &SourceMap) -> Outcome {
    let selection = args.select.select(args.target.bases(), sources)?;
    let targets = &selection.targets;
    if args.rule_target.is_some() && (args.output != DepsFormat::Make || targets.len() != 1) {
        let message = "`--rule-target` requires a single TARGET and --output=make";
        return Err(Failure::Usage(message.into()));
    }
    let read = build_all(args, &selection, sources)?;
    let (mut all, mut failed, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for (target, read) in targets.iter().zip(read) {
        match read {
            Ok((reads, warnings)) => {
                render::print_or_reject(&with_target(warnings, target, targets.len()), sources)?;
                all.push(reads);
            }
            Err(Failure::Problems(problems)) => {
                wrong.extend(with_target(problems, target, targets.len()));
                failed.push(target);
            }
            Err(other) => return Err(other),
        }
    }
    render::print(&wrong, sources);
    if failed.len() < targets.len() {
        print(&text(args, &all)?)?;
    }
    Ok(exit_status(&failed, targets.len()))
}

/// Builds all targets.
fn build_all(args: &DepsArgs, selection: &Selection, sources: &SourceMap) -> Result<Vec<Read>, Failure> {
    let targets = &selection.targets;
    let common = RecordingTree::new(Arc::new(DiskTree));
    let shared = SharedBuilder::new(args, &common, selection, sources)?;
    let own = |target: &PathBuf| build_separately(args, selection, target, sources);
    let reads = |target: &PathBuf| if is_stream(target) { own(target) } else { shared.reads(target) };
    let read = targets.par_iter().map(reads).collect();
    if targets.len() > 1 && !shared.builder.used_references().is_empty() {
        // A shared builder does not record which target used which remote reference, so each target gets its own
        // builder.
        return Ok(targets.par_iter().map(own).collect());
    }
    Ok(read)
}

/// A built target with its reads and warnings.
type Read = Result<(BuiltTarget, Vec<Diagnostic>), Failure>;

/// The inputs of the build of a target.
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
        let reads = collect_reads(&RecordingTree::read_set_of(&self.trees), &self.used, here);
        TargetReads { target: self.target.clone(), directory: self.directory.clone(), reads }
    }
}

/// Builds targets with one builder, so that shared files are read only once.
struct SharedBuilder<'t> {
    builder: Builder,
    /// Records reads that do not depend on a target.
    common: &'t RecordingTree,
}

impl<'t> SharedBuilder<'t> {
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
        let built = self.builder.build_from_tree(Arc::new(own.clone()), target)?;
        Ok((
            BuiltTarget::new(target, [own, self.common.clone()], self.builder.used_references()),
            built.warnings,
        ))
    }
}

/// Builds a target with a builder of its own.
fn build_separately(args: &DepsArgs, selection: &Selection, target: &Path, sources: &SourceMap) -> Read {
    let tree = RecordingTree::new(Arc::new(DiskTree));
    let builder = args.target.builder_over(Arc::new(tree.clone()), sources, &[target.to_path_buf()])?;
    let built = selection.build(&builder, target)?;
    Ok((BuiltTarget::new(target, [tree.clone(), tree], builder.used_references()), built.warnings))
}

/// Returns the real path of a directory target, or of the parent directory of a file.
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
    let here = DiskTree.working_directory().map_err(|error| read_error("the working directory", &error))?;
    if args.output == DepsFormat::Text {
        // A shared input is listed once, whichever targets read it.
        let read = RecordingTree::read_set_of(all.iter().flat_map(|target| &target.trees));
        let used = all.iter().flat_map(|target| target.used.clone()).collect();
        let reads = collect_reads(&read, &used, &here);
        return Ok(reads_to_lines(&[TargetReads { target: String::new(), directory: None, reads }]));
    }
    let all: Vec<TargetReads> = all.par_iter().map(|target| target.reads(&here)).collect();
    match args.output {
        DepsFormat::Text => Ok(reads_to_lines(&all)),
        DepsFormat::Json => reads_to_json(&all),
        DepsFormat::Make => reads_to_make(&all, args.rule_target.as_deref()),
        DepsFormat::Argocd => {
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
