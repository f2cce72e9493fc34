//! `edit add`: new items of a kustomization.

use clap::{Args, Subcommand};

use super::lookup;
use super::write::{EditTargets, Request};
use smp_overlay::edit::{
    Edit, EditOptions, FileList, GeneratorEntry, GeneratorList, Label, MetadataField, PatchEntry,
    PatchedField, PathList, build_metadata_options, parse_pairs,
};
use smp_text::diagnostic::{Code, Diagnostic, Result};

#[derive(Debug, Subcommand)]
pub(super) enum AddCommand {
    /// Add files, directories or repositories to `resources`
    Resource(ResourceArgs),
    /// Add directories or repositories to `components`
    Component(PathArgs),
    /// Add a patch to `patches`
    ///
    /// With KIND/NAME, a patch file for this object is created, or extended if it exists. Not part of
    /// kustomize.
    Patch(AddPatchArgs),
    /// Add a ConfigMap generator, or sources to an existing one
    Configmap(ConfigMapArgs),
    /// Add a Secret generator, or sources to an existing one
    Secret(SecretArgs),
    /// Add directories to `resources`
    Base(BaseArgs),
    /// Add options to `buildMetadata`
    Buildmetadata(BuildMetadataArgs),
    /// Add labels to `commonLabels` or `labels`
    Label(LabelArgs),
    /// Add annotations to `commonAnnotations`
    Annotation(AnnotationArgs),
    /// Add files to `transformers`
    Transformer(PathArgs),
    /// Add files to `configurations`
    Configuration(PathArgs),
    /// Add files to `generators`
    Generator(PathArgs),
}

/// Paths or patterns.
#[derive(Debug, Args)]
pub(super) struct PathArgs {
    /// Paths or patterns, relative to the kustomization
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<String>,

    #[command(flatten)]
    pub targets: EditTargets,
}

#[derive(Debug, Args)]
pub(super) struct ResourceArgs {
    #[command(flatten)]
    paths: PathArgs,

    /// Add the paths without checking that they exist
    #[arg(long)]
    no_verify: bool,
}

#[derive(Debug, Args)]
pub(super) struct BaseArgs {
    /// Directories, separated by commas
    #[arg(value_name = "DIR,...")]
    directories: String,

    #[command(flatten)]
    targets: EditTargets,
}

/// Options of `buildMetadata`.
#[derive(Debug, Args)]
pub(super) struct BuildMetadataArgs {
    /// Options, separated by commas: originAnnotations, transformerAnnotations, managedByLabel
    #[arg(value_name = "OPTION,...")]
    options: String,

    #[command(flatten)]
    targets: EditTargets,
}

impl BuildMetadataArgs {
    /// Creates the request for an edit of the options.
    pub(super) fn request(&self, edit: fn(Vec<String>) -> Edit) -> Request<'_> {
        (build_metadata_options(&self.options).map(edit), &self.targets)
    }
}

#[derive(Debug, Args)]
pub(super) struct AnnotationArgs {
    /// Names and values
    #[arg(value_name = "NAME:VALUE", required = true)]
    pairs: Vec<String>,

    /// Replace existing values
    #[arg(short, long)]
    force: bool,

    #[command(flatten)]
    targets: EditTargets,
}

#[derive(Debug, Args)]
pub(super) struct LabelArgs {
    #[command(flatten)]
    pairs: AnnotationArgs,

    /// Add the labels to `labels`, which does not change selectors
    #[arg(long)]
    without_selector: bool,

    /// Also label the templates of workloads; requires --without-selector
    #[arg(long)]
    include_templates: bool,
}

/// A patch, or the object and fields of a new one.
#[derive(Debug, Args)]
pub(super) struct AddPatchArgs {
    /// Object to patch: KIND/NAME, in the manifests or the output
    #[arg(value_name = "KIND/NAME")]
    object: Option<String>,

    /// Fields with their new values, such as spec.replicas=3
    #[arg(value_name = "FIELD=VALUE")]
    fields: Vec<String>,

    #[command(flatten)]
    patch: PatchArgs,
}

/// An entry of `patches`.
#[derive(Debug, Args)]
pub(super) struct PatchArgs {
    /// Path of the patch file
    #[arg(long, default_value = "", hide_default_value = true)]
    path: String,

    /// Inline patch, instead of --path
    #[arg(long, default_value = "", hide_default_value = true)]
    patch: String,

    /// API group of the target
    #[arg(long, default_value = "", hide_default_value = true)]
    group: String,

    /// API version of the target
    #[arg(long, default_value = "", hide_default_value = true)]
    version: String,

    /// Kind of the target
    #[arg(long, default_value = "", hide_default_value = true)]
    kind: String,

    /// Name of the target
    #[arg(long, default_value = "", hide_default_value = true)]
    name: String,

    /// Namespace of the target
    #[arg(long, default_value = "", hide_default_value = true)]
    namespace: String,

    /// Annotation selector of the target
    #[arg(long, default_value = "", hide_default_value = true)]
    annotation_selector: String,

    /// Label selector of the target
    #[arg(long, default_value = "", hide_default_value = true)]
    label_selector: String,

    #[command(flatten)]
    pub targets: EditTargets,
}

impl PatchArgs {
    /// Returns the entry.
    pub(super) fn entry(&self) -> Result<PatchEntry> {
        if !self.patch.is_empty() && !self.path.is_empty() {
            return Err(usage("--path and --patch cannot be used together"));
        }
        Ok(PatchEntry {
            path: self.path.clone(),
            patch: self.patch.clone(),
            group: self.group.clone(),
            version: self.version.clone(),
            kind: self.kind.clone(),
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            annotation_selector: self.annotation_selector.clone(),
            label_selector: self.label_selector.clone(),
        })
    }
}

/// The sources of a generator.
#[derive(Debug, Args)]
struct GeneratorArgs {
    /// Name of the generator
    #[arg(value_name = "NAME")]
    name: String,

    /// Files; the key is the file name unless given
    #[arg(long, value_name = "[KEY=]PATH", value_delimiter = ',')]
    from_file: Vec<String>,

    /// Key and value
    #[arg(long, value_name = "KEY=VALUE")]
    from_literal: Vec<String>,

    /// File with lines of the form KEY=VALUE
    #[arg(long, value_name = "PATH", default_value = "", hide_default_value = true)]
    from_env_file: String,

    /// Namespace of the generated object
    #[arg(long, default_value = "", hide_default_value = true)]
    namespace: String,

    /// Omit the hash of the content in the name
    #[arg(long = "disableNameSuffixHash")]
    disable_name_suffix_hash: bool,

    #[command(flatten)]
    targets: EditTargets,
}

impl GeneratorArgs {
    fn entry(&self) -> GeneratorEntry {
        GeneratorEntry {
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            files: self.from_file.clone(),
            literals: self.from_literal.clone(),
            env_file: self.from_env_file.clone(),
            disable_name_suffix_hash: self.disable_name_suffix_hash,
            ..GeneratorEntry::default()
        }
    }
}

#[derive(Debug, Args)]
pub(super) struct ConfigMapArgs {
    #[command(flatten)]
    generator: GeneratorArgs,

    /// Behavior for an existing name: create, merge or replace
    #[arg(long, default_value = "", hide_default_value = true)]
    behavior: String,
}

#[derive(Debug, Args)]
pub(super) struct SecretArgs {
    #[command(flatten)]
    generator: GeneratorArgs,

    /// Type of a new Secret
    #[arg(long = "type", default_value = "Opaque")]
    secret_type: String,
}

impl AddCommand {
    /// Returns the edit and the kustomizations.
    pub(super) fn request(&self, options: EditOptions) -> Request<'_> {
        match self {
            Self::Resource(ResourceArgs { paths, no_verify }) => {
                (Ok(add_paths(PathList::Resources, paths, !no_verify)), &paths.targets)
            }
            Self::Component(paths) => (Ok(add_paths(PathList::Components, paths, true)), &paths.targets),
            Self::Transformer(paths) => add_files(FileList::Transformers, paths),
            Self::Configuration(paths) => add_files(FileList::Configurations, paths),
            Self::Generator(paths) => add_files(FileList::Generators, paths),
            // kustomize ignores further arguments.
            Self::Patch(AddPatchArgs { object: Some(object), fields, patch }) if !options.as_kustomize => {
                (add_patch_file(object, fields, patch), &patch.targets)
            }
            Self::Patch(AddPatchArgs { patch, .. }) => (add_patch(patch), &patch.targets),
            Self::Configmap(ConfigMapArgs { generator, behavior }) => {
                let entry = GeneratorEntry { behavior: behavior.clone(), ..generator.entry() };
                (Ok(Edit::AddGenerator(GeneratorList::ConfigMaps, entry)), &generator.targets)
            }
            Self::Secret(SecretArgs { generator, secret_type }) => {
                let entry = GeneratorEntry { secret_type: secret_type.clone(), ..generator.entry() };
                (Ok(Edit::AddGenerator(GeneratorList::Secrets, entry)), &generator.targets)
            }
            Self::Base(base) => {
                let directories = base.directories.split(',').map(str::to_string).collect();
                (Ok(Edit::AddBases(directories)), &base.targets)
            }
            Self::Buildmetadata(options) => options.request(Edit::AddBuildMetadata),
            Self::Label(label) => (add_label(label), &label.pairs.targets),
            Self::Annotation(annotation) => {
                (add_metadata(MetadataField::Annotations, annotation), &annotation.targets)
            }
        }
    }
}

fn add_paths(list: PathList, paths: &PathArgs, verify: bool) -> Edit {
    Edit::AddPaths { list, patterns: paths.paths.clone(), verify }
}

fn add_files(list: FileList, paths: &PathArgs) -> Request<'_> {
    (Ok(add_paths(PathList::Files(list), paths, true)), &paths.targets)
}

fn add_patch_file(object: &str, fields: &[String], args: &PatchArgs) -> Result<Edit> {
    if fields.is_empty() {
        return Err(usage("no field is given").help("use FIELD=VALUE, such as spec.replicas=3"));
    }
    if (PatchEntry { path: String::new(), ..args.entry()? }) != PatchEntry::default() {
        return Err(usage("only --path can be used with KIND/NAME"));
    }
    let directory = args.targets.directories().next().unwrap_or_default();
    let object = lookup::object(&directory, object)?;
    let fields = fields.iter().map(|field| PatchedField::parse(field)).collect::<Result<_>>()?;
    let path = match args.path.as_str() {
        "" => format!("{}-{}-patch.yaml", object.kind, object.name).to_lowercase().replace(['/', ':'], "-"),
        path => path.to_string(),
    };
    Ok(Edit::AddPatchFile { object, fields, path })
}

fn add_patch(args: &PatchArgs) -> Result<Edit> {
    let patch = args.entry()?;
    if patch.path.is_empty() && patch.patch.is_empty() {
        return Err(usage("no patch is given").help("use --path or --patch"));
    }
    Ok(Edit::AddPatch(patch))
}

fn add_metadata(field: MetadataField, args: &AnnotationArgs) -> Result<Edit> {
    let pairs = parse_pairs(args.pairs.iter().map(String::as_str), field)?;
    Ok(Edit::AddMetadata { field, pairs, force: args.force })
}

fn add_label(args: &LabelArgs) -> Result<Edit> {
    if !args.without_selector {
        if args.include_templates {
            return Err(usage("--include-templates requires --without-selector"));
        }
        return add_metadata(MetadataField::Labels, &args.pairs);
    }
    let pairs = parse_pairs(args.pairs.pairs.iter().map(String::as_str), MetadataField::Labels)?;
    let label = Label { pairs, include_templates: args.include_templates };
    Ok(Edit::AddLabels { label, force: args.pairs.force })
}

fn usage(message: &str) -> Diagnostic {
    Diagnostic::error(Code::Usage, message)
}
