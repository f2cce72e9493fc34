//! `kubectl smp wait`, and `--wait` of other commands: wait until objects are ready.

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::json;

use super::cache::rfc3339;
use super::format::ReportFormat;
use super::format::duration;
use super::live::{object_json, qualified_name};
use super::objects::ObjectArgs;
use super::progress::{LiveLines, ProgressArg, format_age, format_duration};
use super::report::print_line;
use super::signals::stop_at_first_signal;
use super::{Failure, Outcome, render, signals};
use smp_cluster::{
    Cluster, FAILURE_GRACE, PodProblem, ReadinessLevel, WAIT_TIMEOUT, WaitEnd, WaitEvent, WaitOptions,
    WaitResult, WaitedObject, WarningEvent, check_wait_kinds, wait_until_ready,
};
use smp_text::diagnostic::{Code, Diagnostic, counted, escaped_json, plural};
use smp_text::source::SourceMap;

/// Wait until the objects of an overlay are ready.
#[derive(Debug, Args)]
pub(super) struct WaitArgs {
    #[command(flatten)]
    objects: ObjectArgs,

    /// Only wait for objects of these kinds
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    kinds: Vec<String>,

    /// Print status changes and the result as JSON lines
    #[arg(short, long, value_parser = ["json"], value_name = "FORMAT")]
    output: Option<String>,

    #[command(flatten)]
    wait: WaitFlags,

    #[command(flatten)]
    progress: ProgressArg,
}

/// The wait flags.
#[derive(Debug, Args)]
pub(super) struct WaitFlags {
    /// Time to wait for readiness; 0 checks once [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = duration, hide_short_help = true)]
    timeout: Option<Duration>,

    /// Wait for a status of custom resources
    ///
    /// They are not ready until their controller writes a status.
    #[arg(long, hide_short_help = true)]
    strict_wait: bool,

    /// Time to tolerate temporary failures [default: 60s]
    ///
    /// An example is an image that cannot be pulled.
    #[arg(long, alias = "failure-grace", value_name = "DURATION", value_parser = duration, hide_short_help = true)]
    failure_grace_period: Option<Duration>,
}

impl WaitFlags {
    /// Returns the time to wait.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(WAIT_TIMEOUT)
    }

    /// Returns the first flag that is set.
    pub(super) fn given(&self) -> Option<&'static str> {
        match self {
            Self { timeout: Some(_), .. } => Some("--timeout"),
            Self { strict_wait: true, .. } => Some("--strict-wait"),
            Self { failure_grace_period: Some(_), .. } => Some("--failure-grace-period"),
            _ => None,
        }
    }

    pub(super) fn options(&self, kinds: &[String]) -> WaitOptions {
        WaitOptions {
            kinds: kinds.to_vec(),
            timeout: self.timeout(),
            failure_grace: self.failure_grace_period.unwrap_or(FAILURE_GRACE),
            level: if self.strict_wait { ReadinessLevel::RequireController } else { ReadinessLevel::Kstatus },
            stop: Some(stop_at_first_signal()),
        }
    }
}

/// Waits for the objects. Succeeds if all of them become ready.
pub(super) fn run(args: &WaitArgs, sources: &SourceMap) -> Outcome {
    let resources = args.objects.load(sources)?;
    let cluster = Cluster::connect(&args.objects.connect(sources))?;
    check_wait_kinds(&cluster, &resources, "--kinds", &args.kinds).map_err(Failure::from_server)?;
    let options = args.wait.options(&args.kinds);
    let format = if args.output.is_some() { ReportFormat::Json } else { ReportFormat::Text };
    let progress = LiveLines::new(&args.progress);
    let mut output = WaitOutput::new(format, options.timeout, progress, sources);
    let mut report = |event: WaitEvent<'_>| output.report(&event);
    let verdict = wait_until_ready(&cluster, &resources, &options, &mut report)?;
    output.progress.clear();
    std::mem::replace(&mut output.printed, Ok(()))?;
    if format == ReportFormat::Json {
        for line in result_lines(&verdict, options.timeout) {
            print_line(&escaped_json(&line.to_string()))?;
        }
    }
    output.finish(&verdict);
    Ok(output.status)
}

/// Prints the progress and the result of a wait.
pub(super) struct WaitOutput<'a> {
    format: ReportFormat,
    timeout: Duration,
    sources: &'a SourceMap,
    progress: LiveLines,
    started: Option<Instant>,
    printed: io::Result<()>,
    /// The exit status for the result of the wait.
    pub(super) status: ExitCode,
}

impl<'a> WaitOutput<'a> {
    pub(super) fn new(
        format: ReportFormat,
        timeout: Duration,
        progress: LiveLines,
        sources: &'a SourceMap,
    ) -> Self {
        let (started, printed) = (None, Ok(()));
        Self { format, timeout, sources, progress, started, printed, status: ExitCode::SUCCESS }
    }

    pub(super) fn report(&mut self, event: &WaitEvent<'_>) {
        let started = *self.started.get_or_insert_with(Instant::now);
        match event {
            WaitEvent::Changed(object) => match self.format {
                ReportFormat::Json if self.printed.is_ok() => {
                    self.printed = print_line(&escaped_json(&json_line(object).to_string()));
                }
                ReportFormat::Json => {}
                ReportFormat::Text if self.progress.is_live() => {}
                ReportFormat::Text => render::print_change(&line(object)),
            },
            WaitEvent::Waiting(unready) => {
                let passed =
                    format!("{} of {}", format_duration(started.elapsed()), format_duration(self.timeout));
                let head = format!("waiting for {}, {passed}", counted(unready.len(), "object"));
                let lines: Vec<String> =
                    std::iter::once(head).chain(unready.iter().flat_map(paragraph)).collect();
                self.progress.show(&lines);
            }
            WaitEvent::Warning(text) => {
                self.progress.clear();
                render::print(&[Diagnostic::warning(Code::ClusterState, *text)], self.sources);
            }
        }
    }

    /// Prints the result and sets the exit status.
    pub(super) fn finish(&mut self, verdict: &WaitResult) {
        self.progress.clear();
        if verdict.is_ready() {
            let are = plural(verdict.ready, "is", "are");
            return render::print_note(&format!("{} {are} ready", counted(verdict.ready, "object")));
        }
        render::print(&problems(verdict, self.timeout), self.sources);
        self.status = if verdict.end == WaitEnd::Interrupted {
            signals::interrupted_status()
        } else {
            ExitCode::FAILURE
        };
    }
}

/// Formats the status of an object: `InProgress (LessReady): 1 of 2 replicas are ready`.
fn status(object: &WaitedObject) -> String {
    let status = &object.status;
    let reason = if status.reason.is_empty() { String::new() } else { format!(" ({})", status.reason) };
    let message = if status.message.is_empty() { String::new() } else { format!(": {}", status.message) };
    format!("{}{reason}{message}", status.readiness)
}

fn line(object: &WaitedObject) -> String {
    format!("{} is {}", qualified_name(&object.object), status(object))
}

/// Returns details about an object that is not ready: its age, container restarts, Pod problems and
/// the last warning event.
fn details(object: &WaitedObject) -> Vec<String> {
    let kind = &object.object.gvk.kind;
    let created = object.created.map(|time| format!("the {kind} was created {}", format_age(time)));
    let restarts = match object.restarts {
        0 => None,
        1 => Some("1 restart of a container".to_string()),
        many => Some(format!("{many} restarts of containers")),
    };
    let warning = object.warning.as_ref().map(|warning| {
        let time = warning.time.map_or_else(String::new, |time| format!(", {}", format_age(time)));
        format!("last warning event{time}: {}: {}", warning.reason, warning.message)
    });
    let problems = object.problems.iter().flat_map(|problem| {
        let log = problem.log.iter().map(|line| format!("log of {}: {line}", problem.pod));
        std::iter::once(format!("Pod {problem}")).chain(log)
    });
    created.into_iter().chain(restarts).chain(problems).chain(warning).collect()
}

fn paragraph(object: &WaitedObject) -> Vec<String> {
    let details = details(object).into_iter().map(|detail| format!("    {detail}"));
    std::iter::once(format!("  {}", line(object))).chain(details).collect()
}

fn json_line(waited: &WaitedObject) -> serde_json::Value {
    let WaitedObject { object, status, .. } = waited;
    let mut line = object_json(object);
    line["status"] = status.readiness.as_str().into();
    line["reason"] = json!(status.reason);
    line["message"] = json!(status.message);
    line
}

fn problem_json(problem: &PodProblem) -> serde_json::Value {
    let exit = problem
        .exit
        .as_ref()
        .map(|exit| json!({"code": exit.code, "reason": exit.reason, "message": exit.message}));
    json!({
        "pod": problem.pod, "container": problem.container, "reason": problem.reason, "message": problem.message,
        "exit": exit, "log": problem.log, "help": problem.help(),
    })
}

/// Returns the last JSON lines: one line with details per object that is not ready, and a summary.
fn result_lines(verdict: &WaitResult, timeout: Duration) -> Vec<serde_json::Value> {
    let outcome = match verdict.end {
        WaitEnd::TimedOut => "TimedOut",
        WaitEnd::Interrupted => "Interrupted",
        WaitEnd::Ready => "Ready",
        _ => "Failed",
    };
    let with_details = |object: &WaitedObject, outcome: &str| {
        let mut line = json_line(object);
        let warning = object.warning.as_ref().map(|warning| {
            json!({"reason": warning.reason, "message": warning.message, "time": warning.time.map(rfc3339)})
        });
        line["outcome"] = outcome.into();
        line["created"] = json!(object.created.map(rfc3339));
        line["restarts"] = json!(object.restarts);
        line["podProblems"] = object.problems.iter().map(problem_json).collect();
        line["lastWarningEvent"] = json!(warning);
        line
    };
    let failed = verdict.failed.iter().map(|object| with_details(object, "Failed"));
    // The other objects did not fail.
    let unready = match verdict.end {
        WaitEnd::TimedOut | WaitEnd::Interrupted => outcome,
        _ => "NotReady",
    };
    let unready = verdict.unready.iter().map(|object| with_details(object, unready));
    let summary = json!({
        "outcome": outcome, "timeoutSeconds": timeout.as_secs(), "ready": verdict.ready,
        "failed": verdict.failed.len(), "notReady": verdict.unready.len(),
    });
    failed.chain(unready).chain([summary]).collect()
}

/// Returns the errors for objects that are not ready, and the summary.
fn problems(verdict: &WaitResult, timeout: Duration) -> Vec<Diagnostic> {
    let error = |object: &WaitedObject, state: &str| {
        let message = format!("{} {state}: {}", qualified_name(&object.object), status(object));
        let problem = Diagnostic::error(Code::NotReady, message);
        let problem = object.rule_span.into_iter().fold(problem, Diagnostic::at);
        let problem = details(object).into_iter().fold(problem, Diagnostic::note);
        let event_help = object.warning.as_ref().and_then(WarningEvent::help);
        let help = object.problems.iter().find_map(PodProblem::help).or(event_help);
        help.into_iter().fold(problem, Diagnostic::help)
    };
    let failed = verdict.failed.iter().map(|object| error(object, "failed"));
    let unready = verdict.unready.iter().map(|object| error(object, "is not ready"));
    let mut problems: Vec<Diagnostic> = failed.chain(unready).collect();
    let not_ready = problems.len();
    let end = match verdict.end {
        WaitEnd::TimedOut if timeout.is_zero() => String::new(),
        WaitEnd::TimedOut => format!(" after {}", format_duration(timeout)),
        WaitEnd::Interrupted => " (interrupted)".to_string(),
        _ => " because of failed objects".to_string(),
    };
    let message = format!("{not_ready} of {} objects are not ready{end}", not_ready + verdict.ready);
    problems.push(Diagnostic::error(Code::Summary, message));
    problems
}

/// Rejects wait flags without `--wait`.
pub(super) fn reject_without_wait(flags: &WaitFlags) -> Result<(), Failure> {
    match flags.given() {
        Some(flag) => Err(Failure::Usage(format!("{flag} requires --wait"))),
        None => Ok(()),
    }
}
