//! `kubectl smp fix`: replaces deprecated fields of kustomizations whose output stays the same.

use std::process::ExitCode;

use clap::Args;

use super::{deprecated, fix};
use crate::cli::package::print;
use crate::cli::progress::map_with_counter;
use crate::cli::select::{SelectArgs, exit_status, is_stream, with_target};
use crate::cli::target::{ClusterUse, TargetArgs};
use crate::cli::{Failure, Outcome, render};
use smp_inspect::check::FixedFile;
use smp_merge::diff::unified;
use smp_overlay::overlay::Histories;
use smp_text::diagnostic::{Diagnostic, Severity, counted};
use smp_text::source::SourceMap;

/// Replace deprecated fields of kustomizations.
#[derive(Debug, Args)]
pub(in crate::cli) struct FixArgs {
    #[command(flatten)]
    select: SelectArgs,

    /// Print the changes as a diff, and write nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    target: TargetArgs,
}

/// Replaces deprecated fields. Fields whose replacement might change the output are reported.
pub(in crate::cli) fn run(args: &FixArgs, sources: &SourceMap) -> Outcome {
    let selection = args.select.select(args.target.bases(), sources)?;
    if selection.targets.iter().any(|target| is_stream(target)) {
        return Err(Failure::Usage("standard input cannot be changed: name a file or directory".into()));
    }
    let targets = &selection.targets;
    let builder = args.target.builder(Histories::Disabled, sources, targets, ClusterUse::Optional)?;
    let built = map_with_counter(targets, "targets built", |target| selection.build(&builder, target));
    let (mut findings, mut failed, mut problems): (Vec<Diagnostic>, _, _) =
        (Vec::new(), Vec::new(), Vec::new());
    for (target, built) in targets.iter().zip(built) {
        match built {
            Ok(built) => findings.extend(built.warnings),
            Err(problem) => {
                problems.extend(with_target([problem], target, targets.len()));
                failed.push(target);
            }
        }
    }
    render::print(&problems, sources);
    findings.extend(builder.take_warnings());
    let cache = builder.cache_directory();
    // There are no findings for the kustomizations of failed targets.
    let others: Vec<_> =
        failed.iter().map(|target| (*target).clone()).chain(deprecated::components(&args.select)).collect();
    let files = deprecated::replace(&args.target, &selection, &findings, &others, (sources, cache));
    if args.dry_run {
        for FixedFile { path, before, after, .. } in &files {
            let name = path.display();
            print(&unified(&format!("a/{name}"), &format!("b/{name}"), before, after))?;
        }
    } else {
        fix::write(&files, cache)?;
    }
    if failed.len() < targets.len() {
        print_summary(&files, args.dry_run, failed.len());
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { exit_status(&failed, targets.len()) })
}

fn print_summary(files: &[FixedFile], is_dry_run: bool, failed: usize) {
    let built = if failed == 0 { "all targets" } else { "the targets that can be built" };
    let fields: usize = files.iter().map(|file| file.fixes).sum();
    let message = match (fields, is_dry_run) {
        (0, _) if failed == 0 => "no deprecated field can be replaced".to_string(),
        (0, _) => format!("no deprecated field of {built} can be replaced"),
        (_, true) => {
            format!("{} would be replaced in {}", counted(fields, "field"), counted(files.len(), "file"))
        }
        (_, false) => format!(
            "{} replaced in {}; the output of {built} is unchanged",
            counted(fields, "field"),
            counted(files.len(), "file")
        ),
    };
    render::print_conclusion(Severity::Note, &message);
}
