//! `kubectl smp drift`: what other field managers changed since the last apply.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};

use super::format::ReportFormat;
use super::live::{object_json, qualified_name};
use super::objects::ObjectArgs;
use super::report::{print_json, print_line};
use super::{Failure, Outcome, diff_output, render};
use smp_cluster::{Cluster, DriftState, FIELD_MANAGER, FieldDrift, FieldWriter, ObjectDrift, PARALLEL};
use smp_inspect::review::forms::short_values;
use smp_text::diagnostic::{Code, Diagnostic, counted};
use smp_text::source::SourceMap;
use smp_text::yaml::Node;

/// Show what other field managers changed since the last apply.
#[derive(Debug, Args)]
pub(super) struct DriftArgs {
    #[command(flatten)]
    objects: ObjectArgs,

    /// Name of the field manager that applied the objects
    #[arg(long, value_name = "NAME", default_value = FIELD_MANAGER)]
    field_manager: String,

    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = ReportFormat::Text)]
    output: ReportFormat,

    /// Maximum number of objects to read in parallel
    #[arg(long, value_name = "N", default_value_t = PARALLEL, hide_short_help = true)]
    concurrency: usize,
}

/// Shows the drift of all objects.
pub(super) fn run(args: &DriftArgs, sources: &SourceMap) -> Outcome {
    diff_output::with_error_status(show(args, sources), sources)
}

fn show(args: &DriftArgs, sources: &SourceMap) -> Outcome {
    let resources = args.objects.load(sources)?;
    let cluster = Cluster::connect(&args.objects.connect(sources))?;
    let drifts = smp_cluster::drift(&cluster, &resources, &args.field_manager, args.concurrency)?;
    match args.output {
        ReportFormat::Json => {
            let objects: Vec<Value> = drifts.iter().filter(|drift| is_shown(drift)).map(drift_json).collect();
            print_json(&json!({"objects": objects}))?;
        }
        ReportFormat::Text => drifts.iter().filter(|drift| is_shown(drift)).try_for_each(print_drift)?,
    }
    let not_applied = drifts.iter().filter(|drift| drift.state == DriftState::NotApplied).count();
    let drifted = drifts.iter().filter(|drift| drift.has_drifted()).count();
    if not_applied > 0 {
        render::print(&[unknown(not_applied, &args.field_manager)], sources);
    }
    render::print_note(&summary(&drifts, drifted, not_applied));
    Ok(exit_status(drifted, not_applied))
}

/// Returns the exit status: 0 without drift, 1 with drift, 2 if the drift of an object is unknown.
fn exit_status(drifted: usize, not_applied: usize) -> ExitCode {
    ExitCode::from(if not_applied > 0 { diff_output::ERROR } else { u8::from(drifted > 0) })
}

fn unknown(count: usize, manager: &str) -> Diagnostic {
    let objects = counted(count, "object");
    let message = format!("the drift of {objects} is unknown: the field manager `{manager}` owns no fields");
    Diagnostic::error(Code::ClusterState, message)
        .note(format!("the manager has never applied {objects}, or others took or removed all of its fields"))
        .help("apply the objects, or name the field manager that applied them with --field-manager")
}

fn is_shown(drift: &ObjectDrift) -> bool {
    drift.has_drifted() || drift.state == DriftState::NotApplied
}

/// Formats the summary: `3 objects: 1 changed by others, 2 without drift`.
fn summary(found: &[ObjectDrift], drifted: usize, not_applied: usize) -> String {
    let missing = found.iter().filter(|one| one.state == DriftState::Missing).count();
    let counts = [
        (drifted - missing, "changed by others"),
        (missing, "missing"),
        (not_applied, "not applied"),
        (found.len() - drifted - not_applied, "without drift"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    format!("{}: {}", counted(found.len(), "object"), counts.join(", "))
}

fn print_drift(one: &ObjectDrift) -> Result<(), Failure> {
    let name = qualified_name(&one.object);
    match &one.state {
        DriftState::Missing => return Ok(print_line(&format!("missing   {name}"))?),
        DriftState::NotApplied => return Ok(print_line(&format!("unknown   {name}"))?),
        _ => print_line(&format!("changed   {name}"))?,
    }
    for field in &one.fields {
        let by = field.writer.as_ref().map(writer_text).unwrap_or_default();
        let by = match (&field.live, by.as_str()) {
            (Some(_), _) => by,
            (None, "") => " (removed by others, or new in the manifest)".into(),
            (None, by) => format!(" (removed by others, or new in the manifest; last write{by})"),
        };
        let [old, new] = short_values(field.manifest.as_ref(), field.live.as_ref());
        print_line(&format!("  {}: {old} -> {new}{by}", field.path))?;
    }
    Ok(())
}

/// Formats a writer, for example as ` by kubectl-edit at 2026-01-02T03:04:05Z`.
fn writer_text(writer: &FieldWriter) -> String {
    let subresource = match writer.subresource.as_str() {
        "" => String::new(),
        subresource => format!(" ({subresource})"),
    };
    // The server does not record the time of each write of a subresource.
    let time = if writer.time.is_empty() { String::new() } else { format!(" at {}", writer.time) };
    format!(" by {}{subresource}{time}", writer.manager)
}

fn drift_json(one: &ObjectDrift) -> Value {
    let mut found = object_json(&one.object);
    let (state, applied) = match &one.state {
        DriftState::Missing => ("missing", None),
        DriftState::Applied(time) => ("changed", Some(time.as_str())),
        _ => ("unknown", None),
    };
    found["state"] = state.into();
    found["appliedAt"] = json!(applied);
    found["fields"] = one.fields.iter().map(field_json).collect();
    found
}

fn field_json(field: &FieldDrift) -> Value {
    let value = |node: &Option<Node>| node.as_ref().map(Node::to_json_value);
    let writer = field.writer.as_ref().map(|writer| {
        json!({
            "manager": writer.manager, "operation": writer.operation, "subresource": writer.subresource,
            "time": Some(writer.time.as_str()).filter(|time| !time.is_empty()),
        })
    });
    json!({
        "path": field.path.to_string(), "manifest": value(&field.manifest), "live": value(&field.live),
        "writer": writer,
    })
}
