//! `kubectl smp build`: render overlays.

mod directory;
mod output;

use std::path::{Path, PathBuf};

use clap::Args;
use rayon::prelude::*;

use self::output::{OutputArgs, Sink};
use super::sandbox::{Confinement, SandboxArgs, SandboxedBuild};
use super::select::{SelectArgs, Selection, ended, of_target};
use super::target::{ClusterUse, TargetArgs};
use super::validation::{ValidateArgs, Validation, histories_for};
use super::{Failure, Outcome, render};
use smp_inspect::check::{Unfinished, unsilenced};
use smp_overlay::overlay::{Builder, Built};
use smp_text::diagnostic::Diagnostic;
use smp_text::source::SourceMap;

/// Render overlays: kustomizations, or plain directories over a base.
#[derive(Debug, Args)]
pub(super) struct BuildArgs {
    #[command(flatten)]
    select: SelectArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    validate: ValidateArgs,

    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    sandbox: SandboxArgs,
}

/// Targets built at a time: enough to keep all processors busy, few enough to bound memory.
const WINDOW: usize = 64;

/// Builds all targets. Of several that are printed, one that fails leaves the others, unless objects are judged; files
/// are written only when none fails, and not by what was in a sandbox.
pub(super) fn run(args: &BuildArgs, sources: &SourceMap) -> Outcome {
    let selection = args.select.select(args.target.bases(), sources)?;
    let targets = &selection.targets;
    let destination = args.output.destination(targets)?;
    let confinement = args.sandbox.confinement(&args.target, targets)?;
    let cluster = if confinement == Confinement::None { ClusterUse::Asked } else { ClusterUse::Refused };
    // Who applies what is rendered sees to what holds a place for others.
    let validation = args.validate.validation(Unfinished::Spared, sources);
    let histories = histories_for(validation.as_ref());
    let builder = args.target.builder(histories, sources, targets, cluster)?;
    let sandboxed = SandboxedBuild { builder: &builder, args: &args.target, targets };
    let sink = if validation.is_some() { Sink::held(destination) } else { Sink::new(destination) };
    let build = TargetRun { selection: &selection, builder: &builder, validation: validation.as_ref() };
    let (sink, failed) = sandboxed.run(confinement, || fill(sink, &build, sources))?;
    if failed.is_empty() || (sink.is_printed() && failed.len() < targets.len()) {
        sink.finish()?;
    }
    Ok(ended(&failed, targets.len()))
}

/// How targets are built.
#[derive(Clone, Copy)]
struct TargetRun<'b> {
    selection: &'b Selection,
    builder: &'b Builder,
    validation: Option<&'b Validation<'b>>,
}

impl TargetRun<'_> {
    /// Builds one of the targets, and judges what comes of it where that is asked for.
    fn build(&self, target: &Path) -> Result<Built, Vec<Diagnostic>> {
        let mut built = self.selection.build(self.builder, target).map_err(|problem| vec![problem])?;
        if let Some(validation) = self.validation {
            let resources = &built.resources;
            match validation.judge(self.builder, target, resources, resources.iter()) {
                Ok(found) => built.warnings.extend(found),
                Err(found) => return Err([built.warnings, found].concat()),
            }
        }
        Ok(built)
    }

    fn build_window(&self, targets: &[PathBuf]) -> Vec<Result<Built, Vec<Diagnostic>>> {
        if let [one] = targets {
            // Threads are not worth their start for a single small target.
            return vec![self.build(one)];
        }
        targets.par_iter().map(|target| self.build(target)).collect()
    }
}

/// Builds all targets into the output; returns those that failed, too. What is wrong with them is printed at the end, where
/// equal errors of many targets are known to be equal.
fn fill<'b>(
    mut sink: Sink,
    build: &TargetRun<'b>,
    sources: &SourceMap,
) -> Result<(Sink, Vec<&'b PathBuf>), Failure> {
    let mut failed = FailedTargets::default();
    let filled = fill_windows(&mut sink, build, &mut failed, sources);
    render::print(&failed.problems, sources);
    filled?;
    render::print_schema_sources(&build.builder.schema_sources());
    Ok((sink, failed.targets))
}

/// Targets that failed, and why.
#[derive(Debug, Default)]
struct FailedTargets<'b> {
    targets: Vec<&'b PathBuf>,
    problems: Vec<Diagnostic>,
}

fn fill_windows<'b>(
    sink: &mut Sink,
    build: &TargetRun<'b>,
    failed: &mut FailedTargets<'b>,
    sources: &SourceMap,
) -> Result<(), Failure> {
    let TargetRun { selection, builder, .. } = *build;
    let count = selection.targets.len();
    for window in selection.targets.chunks(WINDOW) {
        let built = build.build_window(window);
        // They belong to no one of many targets.
        render::print_before(&builder.take_warnings(), sources)?;
        for (target, mut built) in window.iter().zip(built) {
            if let Some(validation) = build.validation {
                validation.once(built.as_mut().map_or_else(|problems| problems, |built| &mut built.warnings));
            }
            let added =
                built.map_err(Failure::from).and_then(|built| add(sink, count, target, built, sources));
            match added {
                Ok(()) => {}
                Err(Failure::Problems(problems)) => {
                    failed.problems.extend(of_target(problems, target, count));
                    failed.targets.push(target);
                }
                Err(other) => return Err(other),
            }
        }
    }
    Ok(())
}

/// Adds what was built of one target to the output, its warnings first.
fn add(
    sink: &mut Sink,
    count: usize,
    target: &Path,
    built: Built,
    sources: &SourceMap,
) -> Result<(), Failure> {
    render::print_before(&of_target(unsilenced(built.warnings, sources), target, count), sources)?;
    sink.add(target, &built.resources)?;
    if count == 1 {
        // The program ends: to take a large set apart would only cost time.
        std::mem::forget(built.resources);
    }
    Ok(())
}
