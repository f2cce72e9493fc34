//! `edit set`: sets fields of a kustomization.

use clap::{Args, Subcommand};

use super::add::BuildMetadataArgs;
use super::write::{EditTargets, Request};
use smp_overlay::edit::{
    Edit, GeneratorChange, GeneratorList, ImageEdit, MetadataField, ReplicaEdit, ScalarField,
    check_annotations, parse_pairs,
};
use smp_text::diagnostic::Result;

#[derive(Debug, Subcommand)]
pub(super) enum SetCommand {
    /// Set names, tags and digests of images
    ///
    /// `*` as NEW_NAME, TAG or DIGEST keeps the value in the kustomization.
    Image(ImageArgs),
    /// Set the namespace of all resources
    Namespace(TextArgs),
    /// Set the prefix of all names
    Nameprefix(TextArgs),
    /// Set the suffix of all names
    Namesuffix(TextArgs),
    /// Set replica counts
    Replicas(ReplicaArgs),
    /// Set labels in `commonLabels`
    Label(PairArgs),
    /// Set annotations in `commonAnnotations`
    Annotation(PairArgs),
    /// Replace the options of `buildMetadata`
    Buildmetadata(BuildMetadataArgs),
    /// Set literals or the namespace of a ConfigMap generator
    Configmap(GeneratorArgs),
    /// Set literals or the namespace of a Secret generator
    Secret(GeneratorArgs),
}

#[derive(Debug, Args)]
pub(super) struct ImageArgs {
    /// Images, such as NAME:TAG, NAME=NEW_NAME or NAME=NEW_NAME:TAG@DIGEST
    #[arg(value_name = "IMAGE", required = true)]
    images: Vec<String>,

    #[command(flatten)]
    targets: EditTargets,
}

#[derive(Debug, Args)]
pub(super) struct TextArgs {
    /// New value; an empty string ("") removes the field
    #[arg(value_name = "VALUE")]
    value: String,

    #[command(flatten)]
    targets: EditTargets,
}

#[derive(Debug, Args)]
pub(super) struct ReplicaArgs {
    /// Names and counts
    #[arg(value_name = "NAME=COUNT", required = true)]
    replicas: Vec<String>,

    #[command(flatten)]
    targets: EditTargets,
}

#[derive(Debug, Args)]
pub(super) struct PairArgs {
    /// Names and values
    #[arg(value_name = "NAME:VALUE", required = true)]
    pairs: Vec<String>,

    #[command(flatten)]
    targets: EditTargets,
}

#[derive(Debug, Args)]
pub(super) struct GeneratorArgs {
    /// Name of the generator
    #[arg(value_name = "NAME")]
    name: String,

    /// Existing key and its new value
    #[arg(long, value_name = "KEY=VALUE")]
    from_literal: Vec<String>,

    /// Current namespace of the generator
    #[arg(long, default_value = "", hide_default_value = true)]
    namespace: String,

    /// New namespace of the generator
    #[arg(long, default_value = "", hide_default_value = true)]
    new_namespace: String,

    #[command(flatten)]
    targets: EditTargets,
}

impl SetCommand {
    /// Returns the edit and the kustomizations.
    pub(super) fn request(&self) -> Request<'_> {
        match self {
            Self::Image(args) => {
                let images: Result<_> = args.images.iter().map(|image| ImageEdit::parse(image)).collect();
                (images.map(Edit::SetImages), &args.targets)
            }
            Self::Namespace(args) => set_text(ScalarField::Namespace, args),
            Self::Nameprefix(args) => set_text(ScalarField::NamePrefix, args),
            Self::Namesuffix(args) => set_text(ScalarField::NameSuffix, args),
            Self::Replicas(args) => {
                let replicas: Result<_> = args.replicas.iter().map(|text| ReplicaEdit::parse(text)).collect();
                (replicas.map(Edit::SetReplicas), &args.targets)
            }
            Self::Label(args) => (set_pairs(MetadataField::Labels, args), &args.targets),
            Self::Annotation(args) => (set_pairs(MetadataField::Annotations, args), &args.targets),
            Self::Buildmetadata(args) => args.request(Edit::SetBuildMetadata),
            Self::Configmap(args) => set_generator(GeneratorList::ConfigMaps, args),
            Self::Secret(args) => set_generator(GeneratorList::Secrets, args),
        }
    }
}

fn set_text(field: ScalarField, args: &TextArgs) -> Request<'_> {
    (Ok(Edit::SetField(field, args.value.clone())), &args.targets)
}

fn set_pairs(field: MetadataField, args: &PairArgs) -> Result<Edit> {
    let pairs = parse_pairs(args.pairs.iter().map(String::as_str), field)?;
    if field == MetadataField::Annotations {
        check_annotations(&pairs)?;
    }
    Ok(Edit::SetMetadata(field, pairs))
}

fn set_generator(list: GeneratorList, args: &GeneratorArgs) -> Request<'_> {
    let change = GeneratorChange {
        name: args.name.clone(),
        namespace: args.namespace.clone(),
        literals: args.from_literal.clone(),
        new_namespace: args.new_namespace.clone(),
    };
    (Ok(Edit::SetGenerator(list, change)), &args.targets)
}
