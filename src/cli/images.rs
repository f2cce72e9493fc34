//! `kubectl smp images`: list the images of targets.

use std::collections::BTreeMap;
use std::path::Path;

use clap::Args;
use rayon::prelude::*;
use serde_json::{Value, json};

use super::format::ReportFormat;
use super::report::{print_json, print_lines};
use super::select::{SelectArgs, exit_status, with_target};
use super::target::{ClusterUse, TargetArgs};
use super::{Outcome, render};
use smp_inspect::explain::{ImageUse, image_uses};
use smp_overlay::overlay::Histories;
use smp_text::diagnostic::counted;
use smp_text::source::SourceMap;

/// List images of targets, and the lines that set them.
#[derive(Debug, Args)]
pub(super) struct ImagesArgs {
    #[command(flatten)]
    select: SelectArgs,

    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: ReportFormat,

    #[command(flatten)]
    target: TargetArgs,
}

/// An image, and the location that sets it.
type ImageKey = (String, Option<(String, usize)>);

/// Lists the images of all targets. If one of several fails, those of the others are still listed.
pub(super) fn run(args: &ImagesArgs, sources: &SourceMap) -> Outcome {
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
