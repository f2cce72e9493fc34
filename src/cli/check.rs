//! `kubectl smp check`: lint overlays for likely mistakes.

mod args;
mod baseline;
mod check_run;
mod deprecated;
mod explain;
mod fix;
mod fix_command;
#[cfg(feature = "git")]
mod revision;

pub(super) use self::args::CheckArgs;
pub(super) use self::baseline::KnownFindings;
#[cfg(feature = "preview")]
pub(super) use self::check_run::Checker;
pub(super) use self::fix::common_directory;
pub(super) use self::fix_command::{FixArgs, run as run_fix};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use self::check_run::CheckRun;
use super::report::print;
use super::select::{Selection, is_stream};
use super::target::ClusterUse;
use super::{Failure, Outcome, render};
use smp_inspect::check::report::{ReportFormat, render as render_report, summary};
use smp_inspect::check::{CheckReport, SuppressionTrust};
use smp_overlay::overlay::Histories;
use smp_text::diagnostic::Severity;
use smp_text::source::SourceMap;

/// Checks targets, or prints the documentation of rules.
pub(super) fn run(args: &CheckArgs, sources: &SourceMap) -> Outcome {
    if let Some(code) = &args.explain {
        return explain::print_rule(code);
    }
    if args.list {
        return explain::print_list();
    }
    #[cfg(feature = "git")]
    if let Some(range) = &args.revisions.rev {
        args.watch.check_unused("--rev")?;
        return print_report(args, &revision::new_findings(args, range, sources)?, sources);
    }
    if args.fix || args.update_baseline {
        args.watch.check_unused(if args.fix { "--fix" } else { "--update-baseline" })?;
    }
    args.watch.run(args.select.named(), sources, |sources| check(args, sources))
}

fn check(args: &CheckArgs, sources: &SourceMap) -> Outcome {
    let selection = args.affected.select(&args.select, &args.target, sources)?;
    if args.fix && selection.targets.iter().any(|target| is_stream(target)) {
        return Err(Failure::Usage("`--fix` cannot change standard input: name a file or directory".into()));
    }
    let (report, cache) = build_report(args, &selection, sources)?;
    if !args.fix {
        return print_report(args, &report, sources);
    }
    let fixed = fix::fix(&report, cache.as_deref(), sources)?;
    let replaced = deprecated::replace(
        &args.target,
        &selection,
        &report.findings,
        &deprecated::components(&args.select),
        (sources, cache.as_deref()),
    );
    if fixed + fix::write(&replaced, cache.as_deref())? == 0 {
        deprecated::print_nothing_fixed();
        return print_report(args, &report, sources);
    }
    // The remaining findings are reported with the locations in the changed files.
    let sources = SourceMap::default();
    let (report, _) = build_report(args, &selection, &sources)?;
    print_report(args, &report, &sources)
}

/// Checks all targets on disk. Returns the report and the directory of fetched files.
fn build_report(
    args: &CheckArgs,
    selection: &Selection,
    sources: &SourceMap,
) -> std::result::Result<(CheckReport, Option<PathBuf>), Failure> {
    let builder =
        args.target.builder(Histories::Enabled, sources, &selection.targets, ClusterUse::Optional)?;
    let known = KnownFindings::new(args.baseline.as_deref(), args.update_baseline)?;
    let tree = Arc::clone(builder.tree());
    let run = CheckRun { args, builder: &builder, configurations: Arc::clone(&tree), tree, sources };
    let found = run.find(selection)?;
    let (files, baselines) = known.resolve(&found).map_err(Failure::UsageAt)?;
    let report = run.conclude(SuppressionTrust::All, |conclusion| {
        let mut report = conclusion.report(found, baselines);
        if args.update_baseline {
            known.update(&files, &mut report, conclusion)?;
        }
        Ok(report)
    });
    Ok((report?, builder.cache_directory().map(Path::to_path_buf)))
}

/// Prints the report and returns the exit status.
fn print_report(args: &CheckArgs, report: &CheckReport, sources: &SourceMap) -> Outcome {
    let renderer = render::location_renderer(sources).coloring(render::coloring(&io::stdout()));
    let text = render_report(report, args.output, &renderer);
    print(&match args.output {
        ReportFormat::Json | ReportFormat::Sarif => sources.findings_without_hidden_values(&text),
        _ => sources.without_hidden_values(&text),
    })?;
    let has_failed = report.has_errors() || (render::is_strict() && report.has_problems());
    let severity = if has_failed { Severity::Error } else { Severity::Note };
    render::print_conclusion(severity, &summary(report));
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}
