//! `kubectl smp delete`: the objects of a target or of manifests, in the reverse of the order of `apply`.

use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clap::Args;

use super::connect::duration;
use super::ending::stop_at_first_signal;
use super::form::one_of;
use super::live::{CASCADES, DryRunArg, held, name, named, still_there, waiting};
use super::objects::ObjectArgs;
use super::progress::{LiveLines, span};
use super::report::print_line;
use super::{Failure, Outcome, ending, render};
use smp_cluster::{
    self, Absent, Cascade, Cluster, DELETE_TIMEOUT, DeleteEvent, DeleteOptions, DeleteSummary, DoneWhen,
    DryRun, Object, PARALLEL, RemainingObject, TakenAlong,
};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, by_count, counted};
use smp_text::source::SourceMap;

/// Build an overlay, or read manifests, and delete their objects from the cluster.
#[derive(Debug, Args)]
pub(super) struct DeleteArgs {
    #[command(flatten)]
    objects: ObjectArgs,

    /// Only show what would be deleted: without asking the server, or as it would have it
    #[arg(long, value_enum, default_value = "none", num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    dry_run: DryRunArg,

    /// Wait until the objects are gone
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "true", action = clap::ArgAction::Set, value_name = "BOOL")]
    wait: bool,

    /// How long to wait until all objects are gone, 5m if not given, and for 0
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Option<Duration>,

    /// What becomes of what belongs to the objects: it is deleted afterwards, before, or stays
    #[arg(long, value_parser = one_of(CASCADES), default_value = "background", num_args = 0..=1, require_equals = true, default_missing_value = "background")]
    cascade: Cascade,

    /// Take what is not there for deleted
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", default_value = "false", action = clap::ArgAction::Set, value_name = "BOOL")]
    ignore_not_found: bool,

    /// Print names alone
    #[arg(short, long, value_parser = ["name"], value_name = "FORMAT")]
    output: Option<String>,

    /// Most objects that are deleted at a time
    #[arg(hide_short_help = true, long, value_name = "N", default_value_t = PARALLEL)]
    concurrency: usize,
}

impl DeleteArgs {
    fn options(&self) -> DeleteOptions {
        DeleteOptions {
            cascade: self.cascade,
            absent: if self.ignore_not_found { Absent::Ignored } else { Absent::Failure },
            done_when: if self.wait { DoneWhen::Gone(self.limit()) } else { DoneWhen::Accepted },
            dry_run: if self.dry_run == DryRunArg::Server { DryRun::Server } else { DryRun::None },
            parallel: self.concurrency,
            stop: Some(stop_at_first_signal()),
            ..DeleteOptions::default()
        }
    }

    fn limit(&self) -> Duration {
        self.timeout.filter(|timeout| !timeout.is_zero()).unwrap_or(DELETE_TIMEOUT)
    }

    /// What is printed of an object.
    fn line(&self, object: &Object) -> String {
        match (&self.output, self.dry_run) {
            (Some(_), _) => object.to_string(),
            (None, DryRunArg::None) => format!("{object} deleted"),
            (None, DryRunArg::Client) => format!("{object} deleted (dry run)"),
            (None, DryRunArg::Server) => format!("{object} deleted (server dry run)"),
        }
    }
}

/// Deletes all objects, says what became of each, and succeeds when all of them are gone.
pub(super) fn run(args: &DeleteArgs, sources: &SourceMap) -> Outcome {
    if args.timeout.is_some() && !args.wait {
        return Err(Failure::Usage("--timeout only means something with --wait".into()));
    }
    let resources = args.objects.load(sources)?;
    if args.dry_run == DryRunArg::Client {
        return show_only(args, &resources, sources);
    }
    let cluster = Cluster::connect(&args.objects.connect(sources))?;
    let options = args.options();
    let (mut progress, mut printed) = (LiveLines::new(), Ok(()));
    let mut report = |event: DeleteEvent<'_>| match event {
        DeleteEvent::Waiting(remaining) => progress.show(&waiting(remaining)),
        event => {
            progress.clear();
            match event {
                // Nobody may be reading any more; that is no reason to stop half-way.
                DeleteEvent::Deleted(object) if printed.is_ok() => {
                    printed = print_line(&args.line(object));
                }
                DeleteEvent::Failed(failure) => {
                    render::print(std::slice::from_ref(&failure.problem), sources);
                }
                DeleteEvent::TakesAlong(taken) => render::print(&[taken_along(taken)], sources),
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
    let is_stopped = options.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
    render::print(&problems(&summary, resources.len(), (!is_stopped).then(|| args.limit())), sources);
    Ok(if is_stopped { ending::stopped() } else { ExitCode::FAILURE })
}

/// Shows what would be deleted, and asks no server.
fn show_only(args: &DeleteArgs, resources: &[Resource], sources: &SourceMap) -> Outcome {
    let waves = DeleteOptions::default().waves;
    for object in smp_cluster::deletion_order(resources, &args.objects.connect(sources), &waves)? {
        print_line(&args.line(&object))?;
        if object.gvk.is_crd() || (object.gvk.group.is_empty() && object.gvk.kind == "Namespace") {
            let message = format!("no server was asked what goes with {object}");
            let problem = Diagnostic::warning(Code::TakenAlong, message);
            render::print(&[problem.help("--dry-run=server asks")], sources);
        }
    }
    render::print_note(&format!("{}: none was deleted", counted(resources.len(), "object")));
    Ok(ExitCode::SUCCESS)
}

fn taken_along(taken: &TakenAlong) -> Diagnostic {
    let object = &taken.object;
    let message = match taken.count {
        Some(count) => {
            let (go, are) = (by_count(count, "goes", "go"), by_count(count, "is", "are"));
            let objects = counted(count, "object");
            format!("{objects} {go} with {object} that {are} not among those to delete: {}", taken.what)
        }
        None => format!("what goes with {object} is not known: {}", taken.what),
    };
    Diagnostic::warning(Code::TakenAlong, message)
}

/// `3 objects: 2 deleted, 1 not there`
fn counts(summary: &DeleteSummary, done: &str) -> String {
    let all = summary.deleted + summary.absent.len();
    let absent = match summary.absent.len() {
        0 => String::new(),
        absent => format!(", {absent} not there"),
    };
    format!("{}: {} {done}{absent}", counted(all, "object"), summary.deleted)
}

/// What is still there and why, and how much that is.
fn problems(summary: &DeleteSummary, all: usize, limit: Option<Duration>) -> Vec<Diagnostic> {
    let mut problems: Vec<Diagnostic> = summary.remaining.iter().map(|one| remaining(one, limit)).collect();
    let left = summary.failures.len() + summary.remaining.len() + summary.skipped.len();
    let mut last = Diagnostic::error(Code::Summary, format!("{left} of {all} objects are not gone"));
    if !summary.skipped.is_empty() {
        last = last.note(format!("not tried: {}", named(&summary.skipped, name)));
        if !summary.remaining.is_empty() {
            last = last.help("what is still there may need these until it is gone: delete again then");
        }
    }
    problems.push(last);
    problems
}

/// An object that is still there, after the time that there was, if it is over.
fn remaining(one: &RemainingObject, limit: Option<Duration>) -> Diagnostic {
    let after = limit.map_or_else(String::new, |limit| format!(" after {}", span(limit)));
    let problem = Diagnostic::error(Code::NotReady, format!("{}{after}", still_there(one)));
    held(one, problem).help(if one.held_by.iter().any(|holder| holder.starts_with("finalizer")) {
        "see that what set a finalizer runs, and takes it away when its work is done"
    } else {
        "it goes by itself when its time to end is over; --timeout waits longer"
    })
}
