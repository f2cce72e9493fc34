//! `kubectl smp blame`: where the values of a built overlay come from.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::report::{print, print_parts};
use super::select::Selection;
use super::target::TargetArgs;
use super::{Outcome, render};
#[cfg(feature = "cluster")]
use crate::cluster::{Cluster, PARALLEL, live_objects};
use crate::diagnostic::{Code, Diagnostic, MessageRenderer};
#[cfg(feature = "cluster")]
use crate::explain::add_live;
use crate::explain::{
    Blame, Blamer, MarginStyle, Removals, ResourceBlame, blame, blame_of_field, blame_to_json, blame_to_yaml,
    blamed_json, blamed_yaml, fields_at, nearest_field,
};
use crate::overlay::Built;
#[cfg(feature = "cluster")]
use crate::resource::Resource;
use crate::source::SourceMap;
use crate::yaml::nearest;

/// Build an overlay and say of each value where it was written, and what it was before.
#[derive(Debug, Args)]
pub(super) struct BlameArgs {
    /// Target: a directory, a kustomization file, a manifest, or - for a stream of manifests
    #[arg(value_name = "TARGET")]
    path: PathBuf,

    /// Which resource, and which of its fields: deployment/web:spec.replicas
    #[arg(value_name = "KIND/NAME[:FIELD.PATH]")]
    object: Option<String>,

    /// Also tell the fields, entries and resources that are no more, and what removed them
    #[arg(long)]
    removed: bool,

    /// Also say who manages each field of the objects in the cluster, and where they differ from what is built
    #[cfg(feature = "cluster")]
    #[arg(long)]
    live: bool,

    /// Form of the output
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: BlameForm,

    #[command(flatten)]
    target: TargetArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BlameForm {
    /// Manifests with comments in the margin
    Text,
    /// A JSON array with an element for each resource
    Json,
}

/// Says where values come from.
pub(super) fn run(args: &BlameArgs, sources: &SourceMap) -> Outcome {
    let targets = [args.path.clone()];
    let builder = args.target.builder_with_histories(sources, &targets)?;
    let built = Selection::of(&args.path)?.build(&builder, &args.path)?;
    render::print_before(&built.warnings, sources)?;
    let names = render::place_names(sources);
    if args.object.is_none() && !args.asks_cluster() {
        return show_all(args, built, sources, &names);
    }
    let mut all = blame(&built, sources, &names);
    let Some(wanted) = args.object.as_deref() else {
        look_into_cluster(args, &built, &mut all, sources)?;
        // The program ends: to take a large set apart would only cost time.
        std::mem::forget(built);
        return show(args, &all);
    };
    let (object, field) = match wanted.split_once(':') {
        Some((object, field)) => (object, Some(field)),
        None => (wanted, None),
    };
    let names: Vec<String> = all.resources.iter().map(name).collect();
    all.resources.retain(|resource| is_meant(resource, object));
    if all.resources.is_empty() {
        return Err(no_object(object, &names).into());
    }
    look_into_cluster(args, &built, &mut all, sources)?;
    let Some(path) = field else { return show(args, &all) };
    let missing =
        all.resources.first().and_then(|resource| nearest_field(resource, path)).map(str::to_string);
    narrow(&mut all, path);
    if all.resources.is_empty() {
        let error = Diagnostic::error(Code::NoMatch, format!("`{object}` has no field `{path}`"));
        return Err(match missing {
            Some(pointer) => error.help(format!("did you mean `{pointer}`?")),
            None => error.help("write it as spec.containers[name=web].image, or as a JSON pointer"),
        }
        .into());
    }
    match args.output {
        BlameForm::Json => show(args, &all),
        BlameForm::Text => {
            let fields = all.resources.iter().flat_map(|resource| &resource.fields);
            print(&fields.map(|field| blame_of_field(field, sources)).collect::<String>())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Adds what the cluster has of the resources that are told of, if that is asked for.
#[cfg(feature = "cluster")]
fn look_into_cluster(
    args: &BlameArgs,
    built: &Built,
    all: &mut Blame,
    sources: &SourceMap,
) -> Result<(), Diagnostic> {
    if !args.asks_cluster() {
        return Ok(());
    }
    let mut told: Vec<&mut ResourceBlame> =
        all.resources.iter_mut().filter(|resource| resource.node.is_some()).collect();
    let wanted: Vec<Resource> = told
        .iter()
        .filter_map(|one| built.resources.position(&one.id))
        .filter_map(|position| built.resources.as_slice().get(position).cloned())
        .collect();
    let cluster = Cluster::connect(&args.target.schema.connect.options(sources))?;
    let live = live_objects(&cluster, &wanted, PARALLEL)?;
    for (resource, live) in told.iter_mut().zip(&live) {
        add_live(resource, live.as_ref());
    }
    Ok(())
}

#[cfg(not(feature = "cluster"))]
#[expect(clippy::unnecessary_wraps, reason = "there is no cluster that could fail")]
fn look_into_cluster(_: &BlameArgs, _: &Built, _: &mut Blame, _: &SourceMap) -> Result<(), Diagnostic> {
    Ok(())
}

/// Keeps the fields at a path and below.
fn narrow(all: &mut Blame, path: &str) {
    for resource in &mut all.resources {
        resource.fields = fields_at(resource, path).into_iter().cloned().collect();
    }
    all.resources.retain(|resource| !resource.fields.is_empty());
    for resource in &mut all.resources {
        resource.unbuilt.clear();
    }
}

fn show(args: &BlameArgs, all: &Blame) -> Outcome {
    let text = match args.output {
        BlameForm::Json => blame_to_json(all)?,
        BlameForm::Text => blame_to_yaml(all, args.style())?,
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints what is told of all resources.
fn show_all(args: &BlameArgs, built: Built, sources: &SourceMap, names: &MessageRenderer<'_>) -> Outcome {
    let blamer = Blamer::new(&built, sources, names);
    let parts = match args.output {
        BlameForm::Json => blamed_json(&blamer)?,
        BlameForm::Text => blamed_yaml(&blamer, args.style())?,
    };
    // The program ends: to take a large set apart would only cost time.
    std::mem::forget(built);
    print_parts(&parts)?;
    Ok(ExitCode::SUCCESS)
}

impl BlameArgs {
    fn style(&self) -> MarginStyle {
        let removals = if self.removed { Removals::Told } else { Removals::Untold };
        MarginStyle { coloring: render::coloring(&io::stdout()), removals }
    }

    #[cfg(feature = "cluster")]
    fn asks_cluster(&self) -> bool {
        self.live
    }

    #[cfg(not(feature = "cluster"))]
    #[expect(clippy::unused_self, reason = "there is no cluster that could be asked")]
    fn asks_cluster(&self) -> bool {
        false
    }
}

/// `deployment.apps/web`.
fn name(resource: &ResourceBlame) -> String {
    resource.id.gvk.object_name(&resource.id.name)
}

/// Whether a resource is meant by `kind/name` or `kind.group/name`, whatever the case of the kind.
fn is_meant(resource: &ResourceBlame, object: &str) -> bool {
    let Some((kind, name)) = object.split_once('/') else { return false };
    let id = &resource.id;
    let (kind, group) = kind.split_once('.').map_or((kind, None), |(kind, group)| (kind, Some(group)));
    id.name == name
        && id.gvk.kind.eq_ignore_ascii_case(kind)
        && group.is_none_or(|group| id.gvk.group == group)
}

fn no_object(object: &str, names: &[String]) -> Diagnostic {
    let error = Diagnostic::error(Code::NoMatch, format!("nothing that was built is `{object}`"));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let name = object.rsplit('/').next().unwrap_or_default();
    let namesake = names.iter().copied().find(|known| known.rsplit('/').next() == Some(name));
    match nearest(&object.to_lowercase(), &names).or(namesake) {
        Some(name) => error.help(format!("did you mean `{name}`?")),
        None => error.help("name it as deployment/web; `kubectl smp build -o name` lists what is built"),
    }
}
