//! `kubectl smp build`: build kustomizations and plain directories.

mod directory;
mod layout;
mod output;
mod written_files;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, FromArgMatches as _};
use rayon::prelude::*;

use self::output::{OutputArgs, Sink};
use super::disk::is_recording;
use super::progress::LiveLines;
use super::review::AffectedFlag;
use super::sandbox::{Confinement, SandboxArgs, SandboxedBuild};
use super::select::{SelectArgs, Selection, exit_status, with_target};
use super::target::{ClusterUse, TargetArgs};
use super::validation::{ValidateArgs, Validation, histories_for};
use super::watch::WatchArgs;
use super::{Failure, Outcome, rebuild, render};
use smp_inspect::check::{IncompleteObjects, without_suppressed};
use smp_overlay::overlay::{Builder, Built};
use smp_text::diagnostic::Diagnostic;
use smp_text::source::SourceMap;

/// Build kustomizations and directories of manifests, like `kustomize build`.
#[derive(Debug, Args)]
pub(super) struct BuildArgs {
    #[command(flatten)]
    select: SelectArgs,

    #[command(flatten)]
    affected: AffectedFlag,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    watch: WatchArgs,

    #[command(flatten)]
    validate: ValidateArgs,

    #[command(flatten)]
    target: TargetArgs,

    #[command(flatten)]
    sandbox: SandboxArgs,
}

impl BuildArgs {
    /// Creates the default flags for a target, with the output of kustomize's `--output`.
    pub(super) fn for_kustomize(targets: Vec<PathBuf>, output: Option<PathBuf>) -> Result<Self, Failure> {
        let words = std::iter::once("--".into()).chain(targets.into_iter().map(PathBuf::into_os_string));
        let command = Self::augment_args(clap::Command::new("build").no_binary_name(true));
        let matches = command.try_get_matches_from(words);
        let parsed = matches.and_then(|matches| Self::from_arg_matches(&matches));
        let mut args = parsed.map_err(|error| Failure::Usage(error.to_string()))?;
        args.output.set_path(output);
        Ok(args)
    }

    /// Returns the build flags, to change them.
    pub(super) fn target_mut(&mut self) -> &mut TargetArgs {
        &mut self.target
    }
}

/// The number of targets that are built at a time. It is large enough to keep all processors busy
/// and small enough to limit memory.
const WINDOW: usize = 64;

/// Builds all targets.
///
/// If several targets are printed and one fails, the others are still printed, unless `--validate`
/// is set. Files are only written if no target fails, and outside of the sandbox.
pub(super) fn run(args: &BuildArgs, sources: &SourceMap) -> Outcome {
    args.watch.run(args.select.named(), sources, |sources| run_once(args, sources))
}

fn run_once(args: &BuildArgs, sources: &SourceMap) -> Outcome {
    let selection = args.affected.select(&args.select, &args.target, sources)?;
    let targets = &selection.targets;
    if targets.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let destination = args.output.destination(targets)?;
    let confinement = args.sandbox.confinement(&args.target, targets)?;
    if confinement != Confinement::None {
        args.watch.check_unused("a sandbox, which remote targets use by default")?;
    }
    let cluster = if confinement == Confinement::None { ClusterUse::Optional } else { ClusterUse::Forbidden };
    // The output may contain placeholders that are replaced before it is applied.
    let validation = args.validate.validation(IncompleteObjects::Skip, sources);
    let histories = histories_for(validation.as_ref());
    let builder = args.target.builder(histories, sources, targets, cluster)?;
    let sandboxed = SandboxedBuild { builder: &builder, args: &args.target, targets };
    let sink = if validation.is_some() { Sink::buffered(destination) } else { Sink::new(destination) };
    let build = TargetRun { selection: &selection, builder: &builder, validation: validation.as_ref() };
    let (sink, failed) = sandboxed.run(confinement, || fill(sink, &build, sources))?;
    if failed.is_empty() || (sink.prints_immediately() && failed.len() < targets.len()) {
        sink.finish(sources)?;
    } else if failed.len() < targets.len() {
        render::print_note("nothing was written: name the other targets to build them");
    }
    Ok(exit_status(&failed, targets.len()))
}

/// The settings with which targets are built.
#[derive(Clone, Copy)]
struct TargetRun<'b> {
    selection: &'b Selection,
    builder: &'b Builder,
    validation: Option<&'b Validation<'b>>,
}

impl TargetRun<'_> {
    /// Builds a target, and validates the result if validation is enabled.
    fn build(&self, target: &Path) -> Result<Built, Vec<Diagnostic>> {
        let built = rebuild::build(self.selection, self.builder, target);
        let mut built = built.map_err(|problem| vec![problem])?;
        if let Some(validation) = self.validation {
            let resources = &built.resources;
            match validation.validate(self.builder, target, resources, resources.iter()) {
                Ok(found) => built.warnings.extend(found),
                Err(found) => return Err([built.warnings, found].concat()),
            }
        }
        Ok(built)
    }

    fn build_window(&self, targets: &[PathBuf]) -> Vec<Result<Built, Vec<Diagnostic>>> {
        if let [one] = targets {
            // For a single target, no threads need to be started.
            return vec![self.build(one)];
        }
        targets.par_iter().map(|target| self.build(target)).collect()
    }
}

/// Builds all targets into the output, and returns the failed ones. Errors are printed at the end,
/// so that the same error of many targets is printed once.
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

/// The failed targets and their errors.
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
    let (count, started) = (selection.targets.len(), Instant::now());
    let mut progress = LiveLines::of_command(sink.prints_immediately());
    for (i, window) in selection.targets.chunks(WINDOW).enumerate() {
        if started.elapsed() >= Duration::from_secs(1) {
            progress.show(&[format!("{} of {count} targets built", i * WINDOW)]);
        }
        let built = build.build_window(window);
        progress.clear();
        // These warnings do not belong to a single target.
        render::print_or_reject(&builder.take_warnings(), sources)?;
        for (target, mut built) in window.iter().zip(built) {
            if let Some(validation) = build.validation {
                validation.deduplicate(
                    built.as_mut().map_or_else(|problems| problems, |built| &mut built.warnings),
                );
            }
            let added =
                built.map_err(Failure::from).and_then(|built| add(sink, count, target, built, sources));
            match added {
                Ok(()) => {}
                Err(Failure::Problems(problems)) => {
                    failed.problems.extend(with_target(problems, target, count));
                    failed.targets.push(target);
                }
                Err(other) => return Err(other),
            }
        }
    }
    Ok(())
}

/// Prints the warnings of a target, then adds its resources to the output.
fn add(
    sink: &mut Sink,
    count: usize,
    target: &Path,
    built: Built,
    sources: &SourceMap,
) -> Result<(), Failure> {
    render::print_or_reject(
        &with_target(without_suppressed(built.warnings, sources), target, count),
        sources,
    )?;
    sink.add(target, &built.resources)?;
    if count == 1 && !is_recording() {
        // The program is about to exit, and dropping a large value would only take time.
        std::mem::forget(built.resources);
    }
    Ok(())
}
