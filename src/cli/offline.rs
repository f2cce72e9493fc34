//! `apply --dry-run=client --live-objects`: an apply to the objects of a dump.

use std::io;
use std::process::ExitCode;

use super::format::{OutputFormat, ReportFormat, ResourceWriter};
use super::live::{DumpArg, taken_fields};
use super::objects::ObjectArgs;
use super::report::print_line;
use super::results::{ResultFormat, dry_run_line};
use super::{Failure, Outcome, render};
use smp_cluster::{ApplyConflict, OfflineApply, ServerSideApplyOptions, Timestamp};
use smp_merge::schema::Schema;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::counted;
use smp_text::source::SourceMap;
use smp_text::yaml::Node;

/// Prints the changes that an apply would make. Fails if there are conflicts that are not forced,
/// or invalid objects.
pub(super) fn apply(
    (objects, dump): (&ObjectArgs, &DumpArg),
    format: ResultFormat,
    resources: &[Resource],
    options: &ServerSideApplyOptions,
    sources: &SourceMap,
) -> Outcome {
    let (dump, schema) = objects.dump(&dump.live, sources)?;
    let connect = objects.connect(sources);
    let time = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let report = smp_cluster::apply_offline(resources, &dump, &connect, (schema, time.as_str()), options)?;
    render::print(&report.warnings, sources);
    let is_stopped =
        |one: &&OfflineApply| one.conflict.as_ref().is_some_and(|conflict| !options.takes(conflict));
    let (stopped, done): (Vec<&OfflineApply>, Vec<&OfflineApply>) =
        report.objects.iter().partition(|one| is_stopped(one));
    for line in done.iter().filter_map(|one| one.conflict.as_ref()).flat_map(taken_fields) {
        render::print_note(&line);
    }
    print(format, &done)?;
    let conflicts = stopped.iter().filter_map(|one| one.conflict.as_ref()).map(ApplyConflict::error);
    let failed: Vec<_> = conflicts.chain(report.problems).collect();
    render::print(&failed, sources);
    let note = format!("{} (dry run): nothing was sent", counted(done.len(), "object"));
    render::print_note(&note);
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(format: ResultFormat, done: &[&OfflineApply]) -> Result<(), Failure> {
    let ResultFormat { output, results, show_managed_fields, .. } = format;
    let Some(format) = output else {
        for one in done {
            print_line(&match results {
                ReportFormat::Json => dry_run_line(&one.object, one.change),
                ReportFormat::Text => format!("{} {} (dry run)", one.object, one.change.as_str()),
            })?;
        }
        return Ok(());
    };
    let mut objects = Vec::with_capacity(done.len());
    for one in done {
        let mut node = one.applied.clone();
        let metadata = node.get_mut("metadata").and_then(Node::as_map_mut);
        if let Some(metadata) = metadata.filter(|_| !show_managed_fields) {
            metadata.remove("managedFields");
        }
        objects.push(Resource::new(node, &Schema::empty())?);
    }
    if format == OutputFormat::Name {
        return Ok(done.iter().try_for_each(|one| print_line(&one.object.to_string()))?);
    }
    let mut joined = ResourceWriter::new(format, io::stdout());
    joined.add(&objects)?;
    joined.finish()?;
    Ok(())
}
