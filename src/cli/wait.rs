//! `kubectl smp wait`, and `--wait` of others: waiting until objects are ready.

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use serde_json::json;

use super::cache::rfc3339;
use super::connect::duration;
use super::ending::stop_at_first_signal;
use super::form::ReportFormat;
use super::live::name;
use super::objects::ObjectArgs;
use super::progress::{LiveLines, ago, span};
use super::report::print_line;
use super::{Failure, Outcome, ending, render};
use smp_cluster::{
    Cluster, FAILURE_GRACE, Strictness, WAIT_TIMEOUT, WaitEnd, WaitEvent, WaitOptions, WaitVerdict,
    WaitedObject, check_awaited_kinds, wait_until_ready,
};
use smp_text::diagnostic::{Code, Diagnostic, by_count, counted, escaped_json};
use smp_text::source::SourceMap;

/// Build an overlay, or read manifests, and wait until their objects in the cluster are ready.
#[derive(Debug, Args)]
pub(super) struct WaitArgs {
    #[command(flatten)]
    objects: ObjectArgs,

    /// Wait only for objects of these kinds
    #[arg(long, value_name = "KIND", value_delimiter = ',', value_parser = NonEmptyStringValueParser::new())]
    kinds: Vec<String>,

    /// Print each change of a status as a line of JSON; in the end what is not ready, and why
    #[arg(short, long, value_parser = ["json"], value_name = "FORMAT")]
    output: Option<String>,

    #[command(flatten)]
    wait: WaitFlags,
}

/// How to wait.
#[derive(Debug, Args)]
pub(super) struct WaitFlags {
    /// How long to wait until all objects are ready, 5m if not given; 0 looks once
    #[arg(long, value_name = "DURATION", value_parser = duration, hide_short_help = true)]
    timeout: Option<Duration>,

    /// Take a custom resource without a status for not ready, until its controller was seen
    #[arg(long, hide_short_help = true)]
    strict_wait: bool,

    /// How long images that cannot be pulled, containers that crash and the like are no failure yet, 60s if not given
    #[arg(long, value_name = "DURATION", value_parser = duration, hide_short_help = true)]
    failure_grace: Option<Duration>,
}

impl WaitFlags {
    /// How long it is waited.
    pub(super) fn limit(&self) -> Duration {
        self.timeout.unwrap_or(WAIT_TIMEOUT)
    }

    /// The name of one that is given.
    pub(super) fn given(&self) -> Option<&'static str> {
        match self {
            Self { timeout: Some(_), .. } => Some("--timeout"),
            Self { strict_wait: true, .. } => Some("--strict-wait"),
            Self { failure_grace: Some(_), .. } => Some("--failure-grace"),
            _ => None,
        }
    }

    pub(super) fn options(&self, kinds: &[String]) -> WaitOptions {
        WaitOptions {
            kinds: kinds.to_vec(),
            timeout: self.limit(),
            failure_grace: self.failure_grace.unwrap_or(FAILURE_GRACE),
            strictness: if self.strict_wait { Strictness::ControllerSeen } else { Strictness::Kstatus },
            stop: Some(stop_at_first_signal()),
        }
    }
}

/// Waits for the objects, and succeeds when all of them are ready.
pub(super) fn run(args: &WaitArgs, sources: &SourceMap) -> Outcome {
    let resources = args.objects.load(sources)?;
    let cluster = Cluster::connect(&args.objects.connect(sources))?;
    check_awaited_kinds(&cluster, &resources, "--kinds", &args.kinds).map_err(Failure::of_words)?;
    let options = args.wait.options(&args.kinds);
    let format = if args.output.is_some() { ReportFormat::Json } else { ReportFormat::Text };
    let mut output = WaitOutput::new(format, options.timeout, sources);
    let mut report = |event: WaitEvent<'_>| output.tell(&event);
    let verdict = wait_until_ready(&cluster, &resources, &options, &mut report)?;
    output.progress.clear();
    std::mem::replace(&mut output.printed, Ok(()))?;
    if format == ReportFormat::Json && !verdict.is_ready() {
        for line in closing_lines(&verdict, options.timeout) {
            print_line(&escaped_json(&line.to_string()))?;
        }
    }
    output.conclude(&verdict);
    Ok(output.status)
}

/// Prints the progress and the result of a wait.
pub(super) struct WaitOutput<'a> {
    form: ReportFormat,
    timeout: Duration,
    sources: &'a SourceMap,
    progress: LiveLines,
    started: Option<Instant>,
    printed: io::Result<()>,
    /// The exit status of the verdict.
    pub(super) status: ExitCode,
}

impl<'a> WaitOutput<'a> {
    pub(super) fn new(form: ReportFormat, timeout: Duration, sources: &'a SourceMap) -> Self {
        let (progress, started, printed) = (LiveLines::new(), None, Ok(()));
        Self { form, timeout, sources, progress, started, printed, status: ExitCode::SUCCESS }
    }

    pub(super) fn tell(&mut self, event: &WaitEvent<'_>) {
        let started = *self.started.get_or_insert_with(Instant::now);
        match event {
            WaitEvent::Changed(object) => match self.form {
                ReportFormat::Json if self.printed.is_ok() => {
                    self.printed = print_line(&escaped_json(&json_line(object).to_string()));
                }
                ReportFormat::Json => {}
                ReportFormat::Text if self.progress.is_live() => {}
                ReportFormat::Text => render::print_change(&line(object)),
            },
            WaitEvent::Waiting(unready) => {
                let passed = format!("{} of {}", span(started.elapsed()), span(self.timeout));
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

    /// Prints the verdict.
    pub(super) fn conclude(&mut self, verdict: &WaitVerdict) {
        self.progress.clear();
        if verdict.is_ready() {
            let are = by_count(verdict.ready, "is", "are");
            return render::print_note(&format!("{} {are} ready", counted(verdict.ready, "object")));
        }
        render::print(&problems(verdict, self.timeout), self.sources);
        self.status = if verdict.end == WaitEnd::Stopped { ending::stopped() } else { ExitCode::FAILURE };
    }
}

/// `InProgress (LessReady): 1 of 2 replicas are ready`
fn status(object: &WaitedObject) -> String {
    let status = &object.status;
    let reason = if status.reason.is_empty() { String::new() } else { format!(" ({})", status.reason) };
    let message = if status.message.is_empty() { String::new() } else { format!(": {}", status.message) };
    format!("{}{reason}{message}", status.readiness)
}

fn line(object: &WaitedObject) -> String {
    format!("{} is {}", name(&object.object), status(object))
}

/// What else is known of an object that is not ready.
fn details(object: &WaitedObject) -> Vec<String> {
    let kind = &object.object.gvk.kind;
    let made = object.created.map(|time| format!("the {kind} was created {}", ago(time)));
    let restarts = match object.restarts {
        0 => None,
        1 => Some("1 restart of a container".to_string()),
        many => Some(format!("{many} restarts of containers")),
    };
    let warning = object.warning.as_ref().map(|warning| {
        let time = warning.time.map_or_else(String::new, |time| format!(", {}", ago(time)));
        format!("last warning event{time}: {}: {}", warning.reason, warning.message)
    });
    let troubles = object.troubles.iter().map(|trouble| format!("Pod {trouble}"));
    made.into_iter().chain(restarts).chain(troubles).chain(warning).collect()
}

fn paragraph(object: &WaitedObject) -> Vec<String> {
    let details = details(object).into_iter().map(|detail| format!("    {detail}"));
    std::iter::once(format!("  {}", line(object))).chain(details).collect()
}

fn json_line(waited: &WaitedObject) -> serde_json::Value {
    let WaitedObject { object, status, .. } = waited;
    let version = match object.gvk.group.as_str() {
        "" => object.gvk.version.to_string(),
        group => format!("{group}/{}", object.gvk.version),
    };
    json!({
        "apiVersion": version, "kind": object.gvk.kind.as_str(), "namespace": object.namespace.as_str(),
        "name": object.name.as_str(), "status": status.readiness.word(), "reason": status.reason,
        "message": status.message,
    })
}

/// What ends the lines when not all is ready: one for each object that is not, with what else is known of it, and one
/// for the whole.
fn closing_lines(verdict: &WaitVerdict, timeout: Duration) -> Vec<serde_json::Value> {
    let end = match verdict.end {
        WaitEnd::TimedOut => "TimedOut",
        WaitEnd::Stopped => "Stopped",
        _ => "Failed",
    };
    let closing = |object: &WaitedObject, end: &str| {
        let mut line = json_line(object);
        let warning = object.warning.as_ref().map(|warning| {
            json!({"reason": warning.reason, "message": warning.message, "time": warning.time.map(rfc3339)})
        });
        line["end"] = end.into();
        line["created"] = json!(object.created.map(rfc3339));
        line["restarts"] = json!(object.restarts);
        line["troubles"] = json!(object.troubles);
        line["warning"] = json!(warning);
        line
    };
    let failed = verdict.failed.iter().map(|object| closing(object, "Failed"));
    // What did not fail itself is only not ready.
    let unready = match verdict.end {
        WaitEnd::TimedOut | WaitEnd::Stopped => end,
        _ => "NotReady",
    };
    let unready = verdict.unready.iter().map(|object| closing(object, unready));
    let whole = json!({
        "end": end, "timeoutSeconds": timeout.as_secs(), "ready": verdict.ready,
        "failed": verdict.failed.len(), "unready": verdict.unready.len(),
    });
    failed.chain(unready).chain([whole]).collect()
}

/// What is not ready, and how the wait ended.
fn problems(verdict: &WaitVerdict, timeout: Duration) -> Vec<Diagnostic> {
    let told = |object: &WaitedObject, what: &str| {
        let message = format!("{} {what}: {}", name(&object.object), status(object));
        let problem = Diagnostic::error(Code::NotReady, message);
        let problem = object.rule.into_iter().fold(problem, Diagnostic::at);
        details(object).into_iter().fold(problem, Diagnostic::note)
    };
    let failed = verdict.failed.iter().map(|object| told(object, "does not get ready"));
    let unready = verdict.unready.iter().map(|object| told(object, "is not ready"));
    let mut problems: Vec<Diagnostic> = failed.chain(unready).collect();
    let left = problems.len();
    let end = match verdict.end {
        WaitEnd::TimedOut if timeout.is_zero() => String::new(),
        WaitEnd::TimedOut => format!(" after {}", span(timeout)),
        WaitEnd::Stopped => ", and are waited for no longer".to_string(),
        _ => ", and it makes no sense to wait longer".to_string(),
    };
    let message = format!("{left} of {} objects are not ready{end}", left + verdict.ready);
    problems.push(Diagnostic::error(Code::Summary, message));
    problems
}

/// Says what does not fit together.
pub(super) fn unused(flags: &WaitFlags) -> Result<(), Failure> {
    match flags.given() {
        Some(flag) => Err(Failure::Usage(format!("{flag} only means something with --wait"))),
        None => Ok(()),
    }
}
