//! `kubectl smp blame`: where the values of a built overlay come from.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::report::{print, print_parts};
use super::select::Selection;
use super::target::{ClusterUse, TargetArgs};
use super::{Failure, Outcome, render};
#[cfg(feature = "cluster")]
use smp_cluster::{Cluster, PARALLEL, live_objects};
#[cfg(feature = "cluster")]
use smp_inspect::explain::add_live;
use smp_inspect::explain::{
    Blame, Blamer, MarginStyle, Removals, ResourceBlame, blame, blame_of_field, blame_of_removal,
    blame_to_json, blame_to_yaml, blamed_json, blamed_yaml, fields_at, is_named, nearest_field,
    nearest_object, removals_at, split_field,
};
use smp_overlay::overlay::{Built, Histories};
#[cfg(feature = "cluster")]
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, MessageRenderer, escaped_line};
use smp_text::source::SourceMap;

/// Build an overlay and say of each value where it was written, and what it was before.
#[derive(Debug, Args)]
pub(super) struct BlameArgs {
    /// Target: a directory, a kustomization file, a manifest, or - for a stream of manifests
    #[arg(value_name = "TARGET", required_unless_present = "kustomize")]
    path: Option<PathBuf>,

    /// Which resource, and which of its fields: deployment/web:spec.replicas; with its namespace deploy/shop/web
    #[arg(value_name = "KIND/NAME[:FIELD.PATH]")]
    object: Option<String>,

    /// Directory to build, as kubectl has it, instead of TARGET
    #[arg(short = 'k', long, value_name = "DIR")]
    kustomize: Option<PathBuf>,

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

impl BlameArgs {
    /// What is built, and what is asked for of it: with `-k` the first word is the second.
    fn words(&self) -> Result<(PathBuf, Option<String>), Failure> {
        let usage = |message: &str| Err(Failure::Usage(message.into()));
        #[cfg(feature = "cluster")]
        if self.target.schema.connect.namespace().is_some() {
            return usage("`--namespace` chooses nothing here: name a resource as KIND/NAMESPACE/NAME");
        }
        match (&self.kustomize, &self.path, &self.object) {
            (None, Some(target), object) => Ok((target.clone(), object.clone())),
            (Some(target), None, _) => Ok((target.clone(), None)),
            (Some(target), Some(word), None) => match word.to_str() {
                Some(object) => Ok((target.clone(), Some(object.into()))),
                None => usage("name a resource as deployment/web"),
            },
            (Some(_), Some(_), Some(_)) => usage("name the target once: by `-k` or as the first word"),
            (None, None, _) => usage("name a target"),
        }
    }

    fn removals(&self) -> Removals {
        if self.removed { Removals::Told } else { Removals::Untold }
    }
}

/// Says where values come from.
pub(super) fn run(args: &BlameArgs, sources: &SourceMap) -> Outcome {
    let (target, wanted) = args.words()?;
    let builder =
        args.target.builder(Histories::Kept, sources, std::slice::from_ref(&target), ClusterUse::Asked)?;
    let built = Selection::of(&target, args.target.bases())?.build(&builder, &target)?;
    render::print_before(&built.warnings, sources)?;
    let names = render::place_names(sources);
    if wanted.is_none() && !args.asks_cluster() {
        return show_all(args, built, sources, &names);
    }
    let mut all = blame(&built, sources, &names);
    if let Some(wanted) = wanted.as_deref() {
        return run_for(wanted, args, &built, all, sources);
    }
    look_into_cluster(args, &built, &mut all, sources)?;
    // The program ends: to take a large set apart would only cost time.
    std::mem::forget(built);
    show(args, &all)
}

/// Says where the values of what is named come from, or those of one of its fields.
fn run_for(wanted: &str, args: &BlameArgs, built: &Built, mut all: Blame, sources: &SourceMap) -> Outcome {
    let (object, field) = split_field(&all.resources, wanted);
    if !all.resources.iter().any(|resource| is_named(resource, object)) {
        return Err(no_object(object, wanted, &all.resources).into());
    }
    all.resources.retain(|resource| is_named(resource, object));
    look_into_cluster(args, built, &mut all, sources)?;
    let Some(path) = field else {
        let is_gone = all.resources.iter().all(|resource| resource.node.is_none());
        return match all.resources.first() {
            Some(first) if is_gone && !args.removed => Err(deleted(object, first).into()),
            _ => show(args, &all),
        };
    };
    let missing = no_field(object, path, &all.resources);
    narrow(&mut all, path, args.removals());
    if all.resources.is_empty() {
        return Err(missing.into());
    }
    if args.output == BlameForm::Json {
        return show(args, &all);
    }
    print(&stories(&all, args.removals(), sources))?;
    Ok(ExitCode::SUCCESS)
}

/// The whole story of all values that are left; of several resources each with what it is.
fn stories(all: &Blame, removals: Removals, sources: &SourceMap) -> String {
    let mut out = String::new();
    for resource in &all.resources {
        if all.resources.len() > 1 {
            out.extend([&*escaped_line(&resource.id.to_string()), "\n"]);
        }
        out.extend(resource.fields.iter().map(|field| blame_of_field(field, sources)));
        if removals == Removals::Told {
            out.extend(resource.removed.iter().map(|removal| blame_of_removal(removal, sources)));
        }
    }
    out
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

/// Keeps what is at a path and below, and the resources that have something there.
fn narrow(all: &mut Blame, path: &str, removals: Removals) {
    for resource in &mut all.resources {
        let removed = removals_at(resource, path).into_iter().cloned().collect();
        resource.fields = fields_at(resource, path).into_iter().cloned().collect();
        resource.removed = removed;
        resource.unbuilt.clear();
    }
    let is_told = |resource: &ResourceBlame| {
        !resource.fields.is_empty() || (removals == Removals::Told && !resource.removed.is_empty())
    };
    all.resources.retain(is_told);
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
        MarginStyle { coloring: render::coloring(&io::stdout()), removals: self.removals() }
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

fn no_object(object: &str, wanted: &str, all: &[ResourceBlame]) -> Diagnostic {
    let error = Diagnostic::error(Code::NoMatch, format!("nothing that was built is `{object}`"));
    // The colon may be one of the name.
    match nearest_object(all, wanted).or_else(|| nearest_object(all, object)) {
        Some(name) => error.help(format!("did you mean `{name}`?")),
        None if object.contains('/') => error.help("`kubectl smp build -o name` lists what is built"),
        None => error.help("write KIND/NAME; `kubectl smp build -o name` lists what is built"),
    }
}

/// That an object is in no output any more.
fn deleted(object: &str, resource: &ResourceBlame) -> Diagnostic {
    let by = resource.removed.first().map_or("a step of the build", |removal| removal.by.as_str());
    Diagnostic::error(Code::NoMatch, format!("`{object}` was deleted on the way"))
        .help(format!("`{by}` deleted it: add `--removed` to see what it was"))
}

fn no_field(object: &str, path: &str, resources: &[ResourceBlame]) -> Diagnostic {
    let error = Diagnostic::error(Code::NoMatch, format!("`{object}` has no field `{path}`"));
    let removed = resources.iter().find_map(|resource| Some(&removals_at(resource, path).first()?.by));
    let meant = resources.iter().find_map(|resource| nearest_field(resource, path));
    match (removed, meant) {
        (Some(by), _) => error.help(format!("`{by}` removed it: add `--removed` to see what it was")),
        (None, Some(meant)) => error.help(format!("did you mean `{meant}`?")),
        (None, None) => error.help("write it as metadata.name, ports[0].port or containers[name=NAME].image"),
    }
}
