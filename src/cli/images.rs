//! `kubectl smp images`: list the images of targets.

use std::collections::BTreeMap;
use std::path::Path;
#[cfg(feature = "git")]
use std::process::ExitCode;

use clap::Args;
use rayon::prelude::*;
use serde_json::{Value, json};

use super::format::ReportFormat;
use super::report::{print_json, print_lines};
#[cfg(feature = "git")]
use super::review::{Comparison, RevisionRange, TargetFlags, failures};
use super::select::{SelectArgs, exit_status, with_target};
use super::target::{ClusterUse, TargetArgs};
use super::{Outcome, render};
use smp_inspect::explain::{ImageUse, image_uses};
#[cfg(feature = "git")]
use smp_inspect::review::{CompareOptions, ImageChange, image_changes};
use smp_overlay::overlay::Histories;
use smp_text::diagnostic::counted;
use smp_text::source::SourceMap;

/// List images of targets, and the lines that set them.
#[derive(Debug, Args)]
pub(super) struct ImagesArgs {
    #[command(flatten)]
    select: SelectArgs,

    /// List images that changed between git revisions: `A`, `A..B`, `A...B`
    ///
    /// REV is A (compares A with the working tree), A..B (compares A with B), or A...B (compares the merge
    /// base of A and B with B).
    #[cfg(feature = "git")]
    #[arg(long, value_name = "REV")]
    rev: Option<RevisionRange>,

    /// Trust the new revision: fetch its remote references
    #[cfg(feature = "git")]
    #[arg(long, requires = "rev", hide_short_help = true)]
    trust_head: bool,

    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: ReportFormat,

    #[command(flatten)]
    target: TargetArgs,
}

/// An image, and the location that sets it.
type ImageKey = (String, Option<(String, usize)>);

/// Lists the images of all targets. If one of several targets fails, those of the others are still
/// listed.
pub(super) fn run(args: &ImagesArgs, sources: &SourceMap) -> Outcome {
    #[cfg(feature = "git")]
    if let Some(range) = &args.rev {
        return list_changes(args, range, sources);
    }
    let selection = args.select.select(args.target.bases(), sources)?;
    let targets = &selection.targets;
    let builder = args.target.builder(Histories::Enabled, sources, targets, ClusterUse::Optional)?;
    let renderer = render::location_renderer(sources);
    let built: Vec<_> = targets
        .par_iter()
        .map(|target| {
            let built = selection.build(&builder, target)?;
            let uses: Vec<_> =
                image_uses(&built).into_iter().map(|one| (key(&one, &renderer), one)).collect();
            Ok((uses, built.warnings))
        })
        .collect();
    let (mut all, mut failed, mut problems) =
        (BTreeMap::<ImageKey, Vec<(&Path, ImageUse)>>::new(), Vec::new(), Vec::new());
    for (target, built) in targets.iter().zip(built) {
        match built {
            Ok((uses, warnings)) => {
                render::print_or_reject(&with_target(warnings, target, targets.len()), sources)?;
                for (key, one) in uses {
                    all.entry(key).or_default().push((target, one));
                }
            }
            Err(problem) => {
                problems.extend(with_target([problem], target, targets.len()));
                failed.push(target);
            }
        }
    }
    render::print(&problems, sources);
    match args.output {
        ReportFormat::Text => print_lines(&all.iter().map(line).collect::<Vec<_>>())?,
        ReportFormat::Json => print_json(&all.iter().map(image_json).collect::<Vec<_>>())?,
    }
    Ok(exit_status(&failed, targets.len()))
}

/// Lists the images that differ between two revisions, with the lines that cause the difference.
#[cfg(feature = "git")]
fn list_changes(args: &ImagesArgs, range: &RevisionRange, sources: &SourceMap) -> Outcome {
    let (select, build) = (&args.select, &args.target);
    let flags = TargetFlags { select, build, is_trusted: args.trust_head, histories: Histories::Enabled };
    let comparison = Comparison::of_revisions(&flags, range, sources)?;
    let (review, warnings) = comparison.review(&CompareOptions::default(), None, sources)?;
    render::print_or_reject(&warnings, sources)?;
    render::print(&failures(&review), sources);
    let changes = image_changes(&review, &render::location_renderer(sources));
    match args.output {
        ReportFormat::Text => print_lines(&changes.iter().map(change_line).collect::<Vec<_>>())?,
        ReportFormat::Json => print_json(&changes.iter().map(change_json).collect::<Vec<_>>())?,
    }
    Ok(if review.has_failures() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

#[cfg(feature = "git")]
fn change_line(change: &ImageChange) -> String {
    let at = change.at.as_ref().map(|(file, line)| format!(" at {file}:{line}")).unwrap_or_default();
    let is_mutable = change.new.as_ref().is_some_and(|image| !image.contains('@'));
    let digest = if is_mutable { ", without digest" } else { "" };
    let count = counted(change.count, "field");
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => format!("~ {old} -> {new}{at} in {count}{digest}"),
        (None, Some(new)) => format!("+ {new}{at} in {count}{digest}"),
        (old, _) => format!("- {}{at} in {count}", old.as_deref().unwrap_or_default()),
    }
}

#[cfg(feature = "git")]
fn change_json(change: &ImageChange) -> Value {
    let location = change.at.as_ref().map(|(file, line)| json!({"file": file, "line": line}));
    json!({
        "old": change.old.as_deref(), "new": change.new.as_deref(), "location": location, "count": change.count,
        "hasDigest": change.new.as_ref().map(|image| image.contains('@')),
    })
}

fn key(one: &ImageUse, renderer: &smp_text::diagnostic::MessageRenderer<'_>) -> ImageKey {
    let at = one.at.and_then(|at| renderer.location(at)).map(|at| (at.file, at.line));
    (one.image.to_string(), at)
}

fn line(((image, at), uses): (&ImageKey, &Vec<(&Path, ImageUse)>)) -> String {
    let at = at.as_ref().map(|(file, line)| format!(" at {file}:{line}")).unwrap_or_default();
    let digest = if image.contains('@') { "" } else { ", without digest" };
    format!("{image}{at} in {}{digest}", counted(uses.len(), "object"))
}

fn image_json(((image, at), uses): (&ImageKey, &Vec<(&Path, ImageUse)>)) -> Value {
    let location = at.as_ref().map(|(file, line)| json!({"file": file, "line": line}));
    let user = |(target, one): &(&Path, ImageUse)| {
        json!({
            "target": target.to_string_lossy(), "apiVersion": one.id.gvk.api_version().as_str(),
            "kind": one.id.gvk.kind.as_str(), "namespace": one.id.namespace.as_str(), "name": one.id.name.as_str(),
            "path": one.path,
        })
    };
    json!({"image": image, "location": location, "hasDigest": image.contains('@'), "uses": uses.iter().map(user).collect::<Vec<_>>()})
}
