//! `kubectl smp delete`: delete the objects of a target or of manifests, in the reverse order of
//! `apply`.

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;

use super::format::duration;
use super::format::one_of;
use super::live::{
    CASCADES, DryRunArg, list_names, qualified_name, still_exists, waiting_lines, with_blockers,
};
use super::objects::ObjectArgs;
use super::progress::{LiveLines, ProgressArg, format_duration};
use super::report::print_line;
use super::signals::stop_at_first_signal;
use super::{Failure, Outcome, render, signals};
use smp_cluster::{
    self, AlsoDeleted, Cascade, Cluster, CompleteWhen, DELETE_TIMEOUT, DeleteEvent, DeleteOptions,
    DeleteSummary, DryRun, MissingObjects, Object, PARALLEL, RemainingObject,
};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, counted, plural};
use smp_text::source::SourceMap;

/// Build an overlay, or read manifests, and delete their objects from the cluster.
#[derive(Debug, Args)]
pub(super) struct DeleteArgs {
    #[command(flatten)]
    objects: ObjectArgs,

    /// Preview only: `client` sends nothing, `server` sends dry-run requests
    #[arg(long, value_enum, value_name = "STRATEGY", default_value = "none", num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    dry_run: DryRunArg,

    /// Wait until the objects are deleted
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "true", action = clap::ArgAction::Set, value_name = "BOOL")]
    wait: bool,

    /// Time to wait until all objects are deleted [default: 5m]
    ///
    /// As in kubectl, 0 means the default.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Option<Duration>,

    /// Deletion propagation to dependents
    ///
    /// Dependents are objects with owner references to the deleted ones.
    #[arg(long, value_parser = one_of(CASCADES), value_name = "POLICY", default_value = "background", num_args = 0..=1, require_equals = true, default_missing_value = "background")]
    cascade: Cascade,

    /// Treat missing objects as deleted
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = clap::ArgAction::Set, value_name = "BOOL")]
    ignore_not_found: bool,

    /// Output format
    #[arg(short, long, value_parser = ["name"], value_name = "FORMAT")]
    output: Option<String>,

    /// Maximum number of objects to delete in parallel
    #[arg(hide_short_help = true, long, value_name = "N", default_value_t = PARALLEL)]
    concurrency: usize,

    #[command(flatten)]
    progress: ProgressArg,
}

impl DeleteArgs {
    fn options(&self) -> DeleteOptions {
        DeleteOptions {
            cascade: self.cascade,
            missing: if self.ignore_not_found { MissingObjects::Ignore } else { MissingObjects::Error },
            complete_when: if self.wait {
                CompleteWhen::Gone(self.timeout())
            } else {
                CompleteWhen::Accepted
            },
            dry_run: if self.dry_run == DryRunArg::Server { DryRun::Server } else { DryRun::None },
            parallel: self.concurrency,
            stop: Some(stop_at_first_signal()),
            ..DeleteOptions::default()
        }
    }

    /// Returns the time to wait.
    fn timeout(&self) -> Duration {
        self.timeout.filter(|timeout| !timeout.is_zero()).unwrap_or(DELETE_TIMEOUT)
    }

    /// Formats the line that is printed for a deleted object.
    fn line(&self, object: &Object) -> String {
        match (&self.output, self.dry_run) {
            (Some(_), _) => object.to_string(),
            (None, DryRunArg::None) => format!("{object} deleted"),
            (None, DryRunArg::Client) => format!("{object} deleted (dry run)"),
            (None, DryRunArg::Server) => format!("{object} deleted (server dry run)"),
        }
    }
}

/// Deletes all objects and prints the status of each. Succeeds if all of them are deleted.
pub(super) fn run(args: &DeleteArgs, sources: &SourceMap) -> Outcome {
    if args.timeout.is_some() && !args.wait {
        return Err(Failure::Usage("--timeout requires --wait".into()));
    }
    let resources = args.objects.load(sources)?;
    if args.dry_run == DryRunArg::Client {
        return print_dry_run(args, &resources, sources);
    }
    let cluster = Cluster::connect(&args.objects.connect(sources))?;
    let options = args.options();
    let (mut progress, mut printed) = (LiveLines::new(&args.progress), Ok(()));
    let mut report = |event: DeleteEvent<'_>| match event {
        DeleteEvent::Waiting(remaining) => progress.show(&waiting_lines(remaining)),
        event => {
            progress.clear();
            match event {
                // A closed standard output does not stop the deletion.
                DeleteEvent::Deleted(object) if printed.is_ok() => {
                    printed = print_line(&args.line(object));
                }
                DeleteEvent::Failed(failure) => {
                    render::print(std::slice::from_ref(&failure.problem), sources);
                }
                DeleteEvent::AlsoDeletes(taken) => render::print(&[cascade_warning(taken)], sources),
                DeleteEvent::Warning(text) => {
                    render::print(&[Diagnostic::warning(Code::ClusterState, text)], sources);
                }
                _ => {}
            }
        }
    };
    let summary = smp_cluster::delete(&cluster, &resources, &options, &mut report)?;
    drop(progress);
    printed?;
    if summary.is_success() {
        let is_dry = args.dry_run == DryRunArg::Server;
        render::print_note(&counts(&summary, if is_dry { "would be deleted" } else { "deleted" }));
        return Ok(ExitCode::SUCCESS);
    }
    let is_interrupted = options.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
    render::print(&problems(&summary, resources.len(), (!is_interrupted).then(|| args.timeout())), sources);
    Ok(if is_interrupted { signals::interrupted_status() } else { ExitCode::FAILURE })
}

/// Prints the objects of a client-side dry run.
fn print_dry_run(args: &DeleteArgs, resources: &[Resource], sources: &SourceMap) -> Outcome {
    let waves = DeleteOptions::default().waves;
    for object in smp_cluster::deletion_order(resources, &args.objects.connect(sources), &waves)? {
        print_line(&args.line(&object))?;
        if object.gvk.is_crd() || (object.gvk.group.is_empty() && object.gvk.kind == "Namespace") {
            let message =
                format!("a client-side dry run cannot list the objects that are deleted with {object}");
            let problem = Diagnostic::warning(Code::CascadingDeletion, message);
            render::print(&[problem.help("use --dry-run=server to list them")], sources);
        }
    }
    render::print_note(&format!("dry run: {}, nothing was deleted", counted(resources.len(), "object")));
    Ok(ExitCode::SUCCESS)
}

fn cascade_warning(taken: &AlsoDeleted) -> Diagnostic {
    let object = &taken.object;
    let message = match taken.count {
        Some(count) => {
            let (objects, are) = (counted(count, "other object"), plural(count, "is", "are"));
            format!("{objects} {are} deleted with {object}: {}", taken.description)
        }
        None => format!("cannot determine which objects are deleted with {object}: {}", taken.description),
    };
    Diagnostic::warning(Code::CascadingDeletion, message)
}

/// Formats the summary: `3 objects: 2 deleted, 1 not found`.
fn counts(summary: &DeleteSummary, done: &str) -> String {
    let all = summary.deleted + summary.absent.len();
    let absent = match summary.absent.len() {
        0 => String::new(),
        absent => format!(", {absent} not found"),
    };
    format!("{}: {} {done}{absent}", counted(all, "object"), summary.deleted)
}

/// Returns the summary, and the errors for objects that were not deleted.
fn problems(summary: &DeleteSummary, all: usize, timeout: Option<Duration>) -> Vec<Diagnostic> {
    let mut problems: Vec<Diagnostic> = summary.timed_out.iter().map(|one| remaining(one, timeout)).collect();
    let left = summary.failures.len() + summary.timed_out.len() + summary.skipped.len();
    let mut last = Diagnostic::error(Code::Summary, format!("{left} of {all} objects were not deleted"));
    if !summary.skipped.is_empty() {
        last = last.note(format!("not attempted: {}", list_names(&summary.skipped, qualified_name)));
        if !summary.timed_out.is_empty() {
            last = last.help(
                "run the command again when the objects that still exist are gone: they may need those that \
                 were not attempted",
            );
        }
    }
    problems.push(last);
    problems
}

/// Returns the error for an object that still exists. If the timeout has been exceeded, the error
/// contains it.
fn remaining(one: &RemainingObject, timeout: Option<Duration>) -> Diagnostic {
    let after = timeout.map_or_else(String::new, |timeout| format!(" after {}", format_duration(timeout)));
    let problem = Diagnostic::error(Code::NotReady, format!("{}{after}", still_exists(one)));
    with_blockers(one, problem).help(if one.blocked_by.iter().any(|holder| holder.starts_with("finalizer")) {
        "check that the controller of the finalizer is running: it removes the finalizer when it is done"
    } else {
        "the object is deleted after its grace period; use --timeout to wait longer"
    })
}
