//! `edit remove`: removes items from a kustomization.

use clap::{Args, Subcommand};

use super::add::{BuildMetadataArgs, PatchArgs, PathArgs};
use super::ignored::IgnoredArgs;
use super::write::{EditTargets, Request};
use smp_overlay::edit::{Edit, EditOptions, FileList, GeneratorList, MetadataField, PathList};
use smp_text::diagnostic::{Code, Diagnostic, Result};

#[derive(Debug, Subcommand)]
pub(super) enum RemoveCommand {
    /// Remove entries from `resources`
    Resource(PathArgs),
    /// Remove entries from `components`
    Component(PathArgs),
    /// Remove entries from `transformers`
    Transformer(PathArgs),
    /// Remove the entry of `patches` with exactly the given fields
    Patch(RemovePatchArgs),
    /// Remove ConfigMap generators
    Configmap(GeneratorArgs),
    /// Remove Secret generators
    Secret(GeneratorArgs),
    /// Remove labels from `commonLabels`
    Label(KeyArgs),
    /// Remove annotations from `commonAnnotations`
    Annotation(KeyArgs),
    /// Remove options from `buildMetadata`
    Buildmetadata(BuildMetadataArgs),
}

#[derive(Debug, Args)]
pub(super) struct RemovePatchArgs {
    #[command(flatten)]
    patch: PatchArgs,

    #[command(flatten)]
    ignored: IgnoredArgs,
}

#[derive(Debug, Args)]
pub(super) struct GeneratorArgs {
    /// Names, separated by commas
    #[arg(value_name = "NAME,...")]
    names: String,

    /// Namespace of the generators
    #[arg(long, default_value = "", hide_default_value = true)]
    namespace: String,

    #[command(flatten)]
    targets: EditTargets,
}

#[derive(Debug, Args)]
pub(super) struct KeyArgs {
    /// Names, separated by commas
    #[arg(value_name = "NAME,...")]
    names: String,

    /// Skip names that do not exist
    #[arg(short, long)]
    ignore_non_existence: bool,

    #[command(flatten)]
    targets: EditTargets,
}

impl RemoveCommand {
    /// Returns the edit and the kustomizations.
    pub(super) fn request(&self, options: EditOptions) -> Request<'_> {
        match self {
            Self::Resource(args) => remove_paths(PathList::Resources, args),
            Self::Component(args) => remove_paths(PathList::Components, args),
            Self::Transformer(args) => remove_paths(PathList::Files(FileList::Transformers), args),
            Self::Patch(RemovePatchArgs { patch, ignored }) => {
                let edit = ignored.check(options).and_then(|()| patch.entry()).map(Edit::RemovePatch);
                (edit, &patch.targets)
            }
            Self::Configmap(args) => remove_generators(GeneratorList::ConfigMaps, args),
            Self::Secret(args) => remove_generators(GeneratorList::Secrets, args),
            Self::Label(args) => (remove_metadata(MetadataField::Labels, args), &args.targets),
            Self::Annotation(args) => (remove_metadata(MetadataField::Annotations, args), &args.targets),
            Self::Buildmetadata(args) => args.request(Edit::RemoveBuildMetadata),
        }
    }
}

fn remove_paths(list: PathList, args: &PathArgs) -> Request<'_> {
    (Ok(Edit::RemovePaths { list, patterns: args.paths.clone() }), &args.targets)
}

fn remove_generators(list: GeneratorList, args: &GeneratorArgs) -> Request<'_> {
    let names = args.names.split(',').map(str::to_string).collect();
    (Ok(Edit::RemoveGenerators { list, names, namespace: args.namespace.clone() }), &args.targets)
}

fn remove_metadata(field: MetadataField, args: &KeyArgs) -> Result<Edit> {
    let keys: Vec<String> = args.names.split(',').map(str::to_string).collect();
    if keys.iter().any(String::is_empty) {
        return Err(Diagnostic::error(Code::Usage, format!("`{}` has an empty name", args.names))
            .help("separate the names by single commas"));
    }
    Ok(Edit::RemoveMetadata { field, keys, ignore_missing: args.ignore_non_existence })
}
