//! Results of an apply on standard output: lines of text or JSON, or the applied objects.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::io;
use std::time::Duration;

use serde_json::json;
use smol_str::SmolStr;

use super::format::{OutputFormat, ReportFormat, ResourceWriter};
use super::live::{DryRunArg, list_names, object_json, qualified_name};
use super::progress::{LiveLines, format_duration};
use super::report::{print_line, print_line_deferring_errors};
use super::{Failure, render};
use smp_cluster::{
    AppliedObject, ApplyChange, ApplyFailure, ApplyProgress, ApplySetEvent, ApplySummary, Event, Object,
};
use smp_merge::schema::Schema;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, counted, escaped_json};
use smp_text::source::SourceMap;
use smp_text::yaml::Node;

/// The formats of the results of an apply.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResultFormat {
    /// The format of the applied objects, if they are printed instead of lines.
    pub(super) output: Option<OutputFormat>,
    pub(super) results: ReportFormat,
    pub(super) dry_run: DryRunArg,
    pub(super) show_managed_fields: bool,
}

impl ResultFormat {
    pub(super) fn is_json(self) -> bool {
        self.results == ReportFormat::Json
    }
}

/// Prints the results and the progress of an apply.
pub(super) struct AppliedOutput {
    format: ResultFormat,
    pub(super) counts: Counts,
    /// The applied objects, if they are printed at the end.
    live: Vec<Resource>,
    printed: io::Result<()>,
    /// The objects in missing namespaces, by namespace. Only the error of the first object is
    /// printed immediately.
    without_namespace: BTreeMap<SmolStr, Vec<Object>>,
    progress: LiveLines,
}

/// The time after which a server is reported as not responding.
const SILENCE: Duration = Duration::from_secs(3);

impl AppliedOutput {
    pub(super) fn new(format: ResultFormat, progress: LiveLines) -> Self {
        let (counts, without_namespace) = (Counts::default(), BTreeMap::new());
        Self { format, counts, live: Vec::new(), printed: Ok(()), without_namespace, progress }
    }

    fn is_dry_run(&self) -> bool {
        self.format.dry_run != DryRunArg::None
    }

    fn fail(&mut self, failure: &ApplyFailure, sources: &SourceMap) {
        let ApplyFailure { object, problem, lacks_namespace, duration, .. } = failure;
        if self.format.is_json() {
            let line = ObjectResult {
                reason: Some(problem.message()),
                duration: *duration,
                ..self.result(object, "failed")
            };
            self.print(&line.to_line());
        }
        if *lacks_namespace {
            let objects = self.without_namespace.entry(object.namespace.clone()).or_default();
            objects.push(object.clone());
            if objects.len() > 1 {
                return;
            }
        }
        render::print(std::slice::from_ref(problem), sources);
    }

    /// Prints an error for the remaining objects of each missing namespace.
    pub(super) fn report_missing_namespaces(&self, sources: &SourceMap) {
        for (namespace, objects) in &self.without_namespace {
            if let [_, others @ ..] = objects.as_slice()
                && !others.is_empty()
            {
                let count = counted(others.len(), "more object");
                let message = format!("{count} cannot be applied: namespace {namespace} does not exist");
                let problem = Diagnostic::error(Code::Remote, message);
                render::print(&[problem.note(list_names(others, Object::to_string))], sources);
            }
        }
    }

    /// Prints the results of objects that were not sent or for which there was no response.
    pub(super) fn report_unsent(&mut self, summary: &ApplySummary) {
        if self.format.is_json() {
            let skipped = summary.skipped.iter().map(|object| (object, "skipped"));
            for (object, action) in skipped.chain(summary.unknown.iter().map(|object| (object, "unknown"))) {
                let line = self.result(object, action).to_line();
                self.print(&line);
            }
        }
    }

    fn result<'o>(&self, object: &'o Object, action: &'o str) -> ObjectResult<'o> {
        ObjectResult { dry_run: self.is_dry_run(), ..ObjectResult::new(object, action) }
    }

    /// Prints a line. A closed standard output does not stop the apply.
    fn print(&mut self, line: &str) {
        if self.printed.is_ok() {
            self.printed = print_line(line);
        }
    }

    pub(super) fn report(&mut self, event: &Event<'_>, sources: &SourceMap) {
        self.progress.clear();
        match event {
            Event::Progress(progress) => self.progress.show(&[progress_line(progress)]),
            Event::Applied(applied) => self.add(applied),
            Event::Failed(failure) => self.fail(failure, sources),
            Event::Warning(text) => {
                render::print(&[Diagnostic::warning(Code::ServerWarning, *text)], sources);
            }
            Event::StateWarning(text) => {
                render::print(&[Diagnostic::warning(Code::ClusterState, *text)], sources);
            }
        }
    }

    fn add(&mut self, applied: &AppliedObject) {
        self.counts.add(applied.change);
        let name = applied.object.to_string();
        let line = match self.format.output {
            None if self.format.is_json() => {
                let AppliedObject { object, change, duration, .. } = applied;
                ObjectResult { duration: *duration, ..self.result(object, action(*change)) }.to_line()
            }
            Some(OutputFormat::Name) => name,
            Some(OutputFormat::Json | OutputFormat::Yaml) => {
                let mut live = applied.live.clone();
                let metadata = live.get_mut("metadata").and_then(Node::as_map_mut);
                if let Some(metadata) = metadata.filter(|_| !self.format.show_managed_fields) {
                    metadata.remove("managedFields");
                }
                self.live.extend(Resource::new(live, &Schema::empty()).ok());
                return;
            }
            None if matches!(self.format.dry_run, DryRunArg::Server) => {
                format!("{name} {} (server dry run)", applied.change.as_str())
            }
            None => format!("{name} {}", applied.change.as_str()),
        };
        self.print(&line);
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        if let Some(format @ (OutputFormat::Json | OutputFormat::Yaml)) = self.format.output {
            let mut joined = ResourceWriter::new(format, io::stdout());
            joined.add(&self.live)?;
            joined.finish()?;
        }
        Ok(self.printed?)
    }
}

/// Formats the progress: `1 of 5 objects applied after 12s; no response for 5s, waiting for pod/a`.
fn progress_line(progress: &ApplyProgress<'_>) -> String {
    let (finished, all) = (progress.finished, counted(progress.all, "object"));
    let mut line = format!("{finished} of {all} applied after {}", format_duration(progress.elapsed));
    if progress.waiting_for.is_none() {
        line.push_str("; waiting until CustomResourceDefinitions are established");
    } else if progress.silence >= SILENCE {
        let _ = write!(line, "; no response for {}", format_duration(progress.silence));
        if let Some(object) = progress.waiting_for {
            let _ = write!(line, ", waiting for {}", qualified_name(object));
        }
    }
    line
}

/// The number of objects per change.
#[derive(Debug, Default)]
pub(super) struct Counts(Vec<(ApplyChange, usize)>);

impl Counts {
    fn add(&mut self, change: ApplyChange) {
        match self.0.iter_mut().find(|(counted, _)| *counted == change) {
            Some((_, count)) => *count += 1,
            None => self.0.push((change, 1)),
        }
    }
}

impl fmt::Display for Counts {
    /// Formats the counts, for example as `3 objects: 1 created, 2 unchanged`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: usize = self.0.iter().map(|(_, count)| count).sum();
        f.write_str(&counted(all, "object"))?;
        for (i, (change, count)) in self.0.iter().enumerate() {
            write!(f, "{} {count} {}", if i == 0 { ":" } else { "," }, change.as_str())?;
        }
        Ok(())
    }
}

/// The result for one object.
struct ObjectResult<'o> {
    object: &'o Object,
    action: &'o str,
    reason: Option<&'o str>,
    dry_run: bool,
    duration: Duration,
}

impl<'o> ObjectResult<'o> {
    fn new(object: &'o Object, action: &'o str) -> Self {
        Self { object, action, reason: None, dry_run: false, duration: Duration::ZERO }
    }

    /// Returns the result as a line of JSON.
    fn to_line(&self) -> String {
        let mut line = object_json(self.object);
        line["action"] = self.action.into();
        line["reason"] = json!(self.reason);
        line["dryRun"] = self.dry_run.into();
        line["durationMilliseconds"] = json!(u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX));
        escaped_json(&line.to_string())
    }
}

/// Returns the name of a change in results.
fn action(change: ApplyChange) -> &'static str {
    match change {
        ApplyChange::Applied => "applied",
        change => change.as_str(),
    }
}

/// Returns the result of a resource in a client-side dry run.
pub(super) fn resource_dry_run_line(resource: &Resource, change: ApplyChange) -> String {
    let id = resource.id();
    let object = Object { gvk: id.gvk.clone(), namespace: id.namespace.clone(), name: id.name.clone() };
    dry_run_line(&object, change)
}

/// Returns the result of an object in a client-side dry run.
pub(super) fn dry_run_line(object: &Object, change: ApplyChange) -> String {
    ObjectResult { dry_run: true, ..ObjectResult::new(object, action(change)) }.to_line()
}

/// Prints the result of a pruned or kept object.
pub(super) fn print_set_event(event: &ApplySetEvent<'_>, dry_run: bool) {
    let (object, action, reason) = match event {
        ApplySetEvent::Pruned(object) => (*object, "pruned", None),
        ApplySetEvent::Terminating(one) | ApplySetEvent::TimedOut(one) => (&one.object, "terminating", None),
        ApplySetEvent::Kept(kept) => (&kept.object, "kept", Some(kept.reason.as_str())),
        ApplySetEvent::Failed(failure) => (&failure.object, "failed", Some(failure.problem.message())),
        _ => return,
    };
    print_line_deferring_errors(
        &ObjectResult { reason, dry_run, ..ObjectResult::new(object, action) }.to_line(),
    );
}
