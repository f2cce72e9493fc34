//! `kubectl smp blame`: the origin of each value of a built overlay.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::report::{print, print_parts};
use super::select::Selection;
use super::target::{ClusterUse, TargetArgs, has_kustomization};
use super::{Failure, Outcome, render};
#[cfg(feature = "cluster")]
use smp_cluster::{Cluster, PARALLEL, live_objects};
use smp_files::{DiskTree, FileTree as _};
#[cfg(feature = "cluster")]
use smp_inspect::explain::add_live;
use smp_inspect::explain::{
    Blame, Blamer, MarginStyle, Removals, ResourceBlame, blame, blame_of_field, blame_of_removal,
    blame_to_json, blame_to_json_parts, blame_to_yaml, blame_to_yaml_parts, fields_at, matches_name,
    nearest_field, nearest_object, removals_at, split_field,
};
use smp_overlay::overlay::{Builder, Built, Histories};
#[cfg(feature = "cluster")]
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, MessageRenderer, escaped_line};
use smp_text::source::SourceMap;

/// Build an overlay and show where each value comes from.
#[derive(Debug, Args)]
pub(super) struct BlameArgs {
    /// Directory, kustomization file or manifest to build, or - (stdin)
    #[arg(value_name = "TARGET", required_unless_present = "kustomize")]
    path: Option<PathBuf>,

    /// Resource and field to show, such as deployment/web:spec.replicas or deploy/shop/web
    #[arg(value_name = "KIND/[NAMESPACE/]NAME[:FIELD.PATH]")]
    object: Option<String>,

    /// Directory to build; alternative to TARGET, as in kubectl
    #[arg(short = 'k', long, value_name = "DIR")]
    kustomize: Option<PathBuf>,

    /// Also show what was removed, and what removed it
    #[arg(long)]
    removed: bool,

    /// Also show field managers and differing values of live objects
    #[cfg(feature = "cluster")]
    #[arg(long)]
    live: bool,

    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: BlameFormat,

    #[command(flatten)]
    target: TargetArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BlameFormat {
    /// Manifests annotated with the origin of each line
    Text,
    /// JSON array with one element per resource
    Json,
}

/// Returns true if a target is missing and looks like a resource of the kustomization in the working
/// directory.
fn is_object_here(target: &Path) -> bool {
    let kind = target.iter().next().unwrap_or_default();
    has_kustomization(&DiskTree, Path::new(""))
        && target.iter().count() > 1
        && !Builder::is_remote(target)
        && !DiskTree.contains(Path::new(kind))
}

impl BlameArgs {
    /// Returns the target and the resource to show. With `-k`, the first argument is the resource.
    fn target_and_object(&self) -> Result<(PathBuf, Option<String>), Failure> {
        let usage = |message: &str| Err(Failure::Usage(message.into()));
        #[cfg(feature = "cluster")]
        if self.target.schema.connect.namespace().is_some() {
            return usage("`--namespace` has no effect on `blame`: name a resource as KIND/NAMESPACE/NAME");
        }
        match (&self.kustomize, &self.path, &self.object) {
            (None, Some(word), None) if is_object_here(word) => {
                let word = word.display();
                usage(&format!(
                    "the target `{word}` does not exist: did you mean `kubectl smp blame . {word}`?"
                ))
            }
            (None, Some(target), object) => Ok((target.clone(), object.clone())),
            (Some(target), None, _) => Ok((target.clone(), None)),
            (Some(target), Some(word), None) => match word.to_str() {
                Some(object) => Ok((target.clone(), Some(object.into()))),
                None => usage("the resource is not valid UTF-8: write it as KIND/NAME"),
            },
            (Some(_), Some(_), Some(_)) => usage("target given twice: use either `-k` or the first argument"),
            (None, None, _) => usage("a target is required"),
        }
    }

    fn removals(&self) -> Removals {
        if self.removed { Removals::Shown } else { Removals::Hidden }
    }
}

/// Prints the origin of values.
pub(super) fn run(args: &BlameArgs, sources: &SourceMap) -> Outcome {
    let (target, wanted) = args.target_and_object()?;
    let builder = args.target.builder(
        Histories::Enabled,
        sources,
        std::slice::from_ref(&target),
        ClusterUse::Optional,
    )?;
    let mut built = Selection::single(&target, args.target.bases())?.build(&builder, &target)?;
    // Deprecated fields do not change where a value comes from.
    built.warnings.retain(|warning| warning.code() != Code::DeprecatedField);
    render::print_or_reject(&built.warnings, sources)?;
    let renderer = render::location_renderer(sources);
    if wanted.is_none() && !args.is_live() {
        // Without a selected object and without live state, resources can be reported one at a time.
        return print_all(args, built, sources, &renderer);
    }
    let mut all = blame(&built, sources, &renderer);
    if let Some(wanted) = wanted.as_deref() {
        return run_for_object(wanted, args, &built, all, sources);
    }
    add_live_state(args, &built, &mut all, sources)?;
    all.mask_secret_values(sources);
    // The program is about to exit, and dropping a large value would only take time.
    std::mem::forget(built);
    print_blame(args, &all)
}

/// Prints the origin of the values of one resource or field.
fn run_for_object(
    wanted: &str,
    args: &BlameArgs,
    built: &Built,
    mut all: Blame,
    sources: &SourceMap,
) -> Outcome {
    let (object, field) = split_field(&all.resources, wanted);
    if !all.resources.iter().any(|resource| matches_name(resource, object)) {
        return Err(unknown_object(object, wanted, &all.resources).into());
    }
    all.resources.retain(|resource| matches_name(resource, object));
    add_live_state(args, built, &mut all, sources)?;
    let Some(path) = field else {
        let is_deleted = all.resources.iter().all(|resource| resource.node.is_none());
        return match all.resources.first() {
            Some(first) if is_deleted && !args.removed => Err(deleted(object, first).into()),
            _ => {
                all.mask_secret_values(sources);
                print_blame(args, &all)
            }
        };
    };
    let missing = unknown_field(object, path, &all.resources);
    narrow(&mut all, path, args.removals());
    if all.resources.is_empty() {
        return Err(missing.into());
    }
    all.mask_secret_values(sources);
    if args.output == BlameFormat::Json {
        return print_blame(args, &all);
    }
    print(&field_histories(&all, args.removals(), sources))?;
    Ok(ExitCode::SUCCESS)
}

/// Formats the complete history of the selected values. If there are several resources, each is
/// preceded by its ID.
fn field_histories(all: &Blame, removals: Removals, sources: &SourceMap) -> String {
    let mut out = String::new();
    for resource in &all.resources {
        if all.resources.len() > 1 {
            out.extend([&*escaped_line(&resource.id.to_string()), "\n"]);
        }
        out.extend(resource.fields.iter().map(|field| blame_of_field(field, sources)));
        if removals == Removals::Shown {
            out.extend(resource.removed.iter().map(|removal| blame_of_removal(removal, sources)));
        }
    }
    out
}

/// Adds the live state of the displayed resources if `--live` is set.
#[cfg(feature = "cluster")]
fn add_live_state(
    args: &BlameArgs,
    built: &Built,
    all: &mut Blame,
    sources: &SourceMap,
) -> Result<(), Diagnostic> {
    if !args.is_live() {
        return Ok(());
    }
    let mut shown: Vec<&mut ResourceBlame> =
        all.resources.iter_mut().filter(|resource| resource.node.is_some()).collect();
    let wanted: Vec<Resource> = shown
        .iter()
        .filter_map(|one| built.resources.position(&one.id))
        .filter_map(|position| built.resources.as_slice().get(position).cloned())
        .collect();
    let cluster = Cluster::connect(&args.target.schema.connect.options(sources))?;
    let live = live_objects(&cluster, &wanted, PARALLEL)?;
    for (resource, live) in shown.iter_mut().zip(&live) {
        add_live(resource, live.as_ref());
    }
    Ok(())
}

#[cfg(not(feature = "cluster"))]
#[expect(clippy::unnecessary_wraps, reason = "only fails with the feature `cluster`")]
fn add_live_state(_: &BlameArgs, _: &Built, _: &mut Blame, _: &SourceMap) -> Result<(), Diagnostic> {
    Ok(())
}

/// Keeps only the fields at or below a path, and the resources with such fields.
fn narrow(all: &mut Blame, path: &str, removals: Removals) {
    for resource in &mut all.resources {
        let removed = removals_at(resource, path).into_iter().cloned().collect();
        resource.fields = fields_at(resource, path).into_iter().cloned().collect();
        resource.removed = removed;
        resource.live_only.clear();
    }
    let is_shown = |resource: &ResourceBlame| {
        !resource.fields.is_empty() || (removals == Removals::Shown && !resource.removed.is_empty())
    };
    all.resources.retain(is_shown);
}

fn print_blame(args: &BlameArgs, all: &Blame) -> Outcome {
    let text = match args.output {
        BlameFormat::Json => blame_to_json(all)?,
        BlameFormat::Text => blame_to_yaml(all, args.style())?,
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the origin of the values of all resources.
fn print_all(args: &BlameArgs, built: Built, sources: &SourceMap, renderer: &MessageRenderer<'_>) -> Outcome {
    let blamer = Blamer::new(&built, sources, renderer);
    let parts = match args.output {
        BlameFormat::Json => blame_to_json_parts(&blamer)?,
        BlameFormat::Text => blame_to_yaml_parts(&blamer, args.style())?,
    };
    // The program is about to exit, and dropping a large value would only take time.
    std::mem::forget(built);
    print_parts(&parts)?;
    Ok(ExitCode::SUCCESS)
}

impl BlameArgs {
    fn style(&self) -> MarginStyle {
        MarginStyle { coloring: render::coloring(&io::stdout()), removals: self.removals() }
    }

    #[cfg(feature = "cluster")]
    fn is_live(&self) -> bool {
        self.live
    }

    #[cfg(not(feature = "cluster"))]
    #[expect(clippy::unused_self, reason = "the flag needs the feature `cluster`")]
    fn is_live(&self) -> bool {
        false
    }
}

fn unknown_object(object: &str, wanted: &str, all: &[ResourceBlame]) -> Diagnostic {
    let error = Diagnostic::error(Code::NoMatch, format!("the build has no resource `{object}`"));
    // The colon may be part of the name.
    match nearest_object(all, wanted).or_else(|| nearest_object(all, object)) {
        Some(name) => error.help(format!("did you mean `{name}`?")),
        None if object.contains('/') => error.help("`kubectl smp build -o name` lists the resources"),
        None => error.help("write KIND/NAME; `kubectl smp build -o name` lists the resources"),
    }
}

/// Returns the error for a resource that the build deletes.
fn deleted(object: &str, resource: &ResourceBlame) -> Diagnostic {
    let by = resource.removed.first().map_or("a step of the build", |removal| removal.by.as_str());
    Diagnostic::error(Code::NoMatch, format!("`{object}` is deleted by the build"))
        .help(format!("`{by}` deleted it: use `--removed` to show its last value"))
}

fn unknown_field(object: &str, path: &str, resources: &[ResourceBlame]) -> Diagnostic {
    let error = Diagnostic::error(Code::NoMatch, format!("`{object}` has no field `{path}`"));
    let removed = resources.iter().find_map(|resource| Some(&removals_at(resource, path).first()?.by));
    let meant = resources.iter().find_map(|resource| nearest_field(resource, path));
    match (removed, meant) {
        (Some(by), _) => error.help(format!("`{by}` removed it: use `--removed` to show its last value")),
        (None, Some(meant)) => error.help(format!("did you mean `{meant}`?")),
        (None, None) => error.help(
            "if the path is correct, the build does not set this field. Paths look like metadata.name, \
             ports[0].port or containers[name=NAME].image",
        ),
    }
}
