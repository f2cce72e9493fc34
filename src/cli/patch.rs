//! `kubectl smp patch`: patch manifests in files, without a cluster.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use smol_str::SmolStr;

use super::document::{parse_text, read_documents, read_stdin, stdin_used_twice};
use super::package::{print, resolve_and_report_schema};
use super::report::print_changes;
use super::target::SchemaArgs;
use super::{Failure, Outcome, render};
use smp_merge::merge::{Exceptions, MergeRules, PatchRules, Rules};
use smp_merge::patch::{PatchType, check_strategic_support};
use smp_overlay::overlay::Kustomization;
use smp_overlay::package::{
    ChangeKind, ChangedPackage, CustomKinds, Package, PackagePatchOptions, Patches, patch_package,
    recover_target, write_files,
};
use smp_overlay::resource::{LabelSelector, ObjectArg};
use smp_overlay::schema_chain::SchemaChoice;
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::{Reading, SourceMap, Span};
use smp_text::yaml::{self, Node, ParseOptions};

/// Patch manifests in files, without a cluster.
#[derive(Debug, Args)]
#[command(
    override_usage = "kubectl smp patch [OPTIONS] --filename <FILE|DIR|-> <--patch-file <FILE>|--patch <TEXT>>"
)]
pub(super) struct PatchArgs {
    /// File or directory with the manifests, or - (stdin)
    #[arg(short, long, value_name = "FILE|DIR|-")]
    filename: PathBuf,

    /// File with the patch
    #[arg(long, value_name = "FILE", required_unless_present = "patch", conflicts_with = "patch")]
    patch_file: Option<PathBuf>,

    /// The patch itself
    #[arg(short, long, value_name = "TEXT")]
    patch: Option<String>,

    /// Type of the patch: strategic, JSON merge or JSON patch
    ///
    /// JSON merge patches are those of RFC 7386, and JSON patches those of RFC 6902.
    #[arg(long = "type", value_name = "TYPE", value_parser = patch_type(), default_value = "strategic")]
    patch_type: PatchType,

    /// Rules for strategic merge patches [default: apiserver]
    #[arg(long, value_enum)]
    dialect: Option<PatchDialect>,

    /// Output format [default: keep the file's comments and layout]
    #[arg(short, long, value_enum, value_name = "FORMAT", conflicts_with = "in_place")]
    output: Option<PatchOutput>,

    /// Update the files instead of printing them
    ///
    /// Either all files are updated, or none if an error occurs. Manifests deleted by `$patch: delete`
    /// are listed, and a file without remaining manifests is removed.
    #[arg(long)]
    in_place: bool,

    /// Only patch documents of this kind, such as Deployment
    ///
    /// Short names and groups are accepted, such as deploy or deployments.apps.
    #[arg(long, value_name = "KIND[.GROUP]", conflicts_with = "all")]
    kind: Option<SmolStr>,

    /// Only patch documents with this NAME or KIND/NAME
    #[arg(long, value_name = "[KIND/]NAME", conflicts_with = "all")]
    name: Option<SmolStr>,

    /// Only patch documents that match this label selector
    #[arg(short = 'l', long, value_name = "SELECTOR", conflicts_with = "all")]
    selector: Option<String>,

    /// Patch all documents, including kustomizations and documents without a kind
    ///
    /// A patch that has a name is applied only to the documents with that name.
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    schema: SchemaArgs,

    /// OpenAPI definition for documents without a known kind
    ///
    /// An example is io.k8s.api.core.v1.PodSpec.
    #[arg(long, value_name = "NAME")]
    schema_type: Option<String>,
}

/// Parses the value of `--type`.
pub(super) fn patch_type() -> impl TypedValueParser<Value = PatchType> {
    PossibleValuesParser::new(PatchType::ALL.map(PatchType::as_str)).map(|name| {
        let named = PatchType::ALL.into_iter().find(|patch_type| patch_type.as_str() == name);
        named.unwrap_or(PatchType::Strategic)
    })
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PatchDialect {
    /// Like the API server
    Apiserver,
    /// Use the list types and list map keys in the schema
    #[value(alias = "overlay")]
    Schema,
    /// Like kustomize
    Kustomize,
}

impl PatchDialect {
    fn rules(self) -> Rules {
        match self {
            Self::Apiserver => PatchRules::Apiserver.into(),
            Self::Schema => PatchRules::Overlay.into(),
            Self::Kustomize => MergeRules::Kustomize { exceptions: Exceptions::None }.into(),
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum PatchOutput {
    Yaml,
    Json,
}

/// Patches all matching documents, or changes nothing if an error occurs.
pub(super) fn run(args: &PatchArgs, sources: &SourceMap) -> Outcome {
    args.check()?;
    if args.in_place {
        recover_target(&args.filename)?;
    }
    let package = read_package(args, sources)?;
    let patches = read_patches(args, sources)
        .and_then(|nodes| Patches::new(nodes, args.patch_type).map_err(|error| at_patch(error, sources)));
    let patches = patches.map_err(|error| {
        hide_secret_values(&error, &package, sources);
        with_flag_help(error, args.patch_type)
    })?;
    for problem in package.definition_problems() {
        render::print(&[problem.clone().into_warning()], sources);
    }
    let schema = resolve_and_report_schema(&[&package], &args.schema, sources)?;
    let changed = patch_package(&package, &patches, &schema, &args.options()?);
    let changed = changed.map_err(|error| with_flag_help(error, args.patch_type))?;
    render::print_or_reject(&changed.warnings, sources)?;
    match args.output {
        _ if args.in_place => {
            write_files(&args.filename, &changed.files)?;
            print_changes(&changed);
        }
        None => {
            print(&changed.stream())?;
            print_removed(&changed);
        }
        Some(format) => {
            print_canonical(&changed, format, sources)?;
            print_removed(&changed);
        }
    }
    for file in changed.files.iter().filter(|file| file.is_changed && file.content.is_none()) {
        let what = if args.in_place { "file removed" } else { "file would be removed" };
        render::print_change(&format!("{}: {what}, because it has no manifests left", file.path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

impl PatchArgs {
    /// Rejects invalid combinations of flags.
    ///
    /// # Errors
    /// A selector is empty, for example from an unset variable, `--name KIND/NAME` is used with
    /// `--kind`, standard input is used twice, or a flag does not apply to the patch type.
    fn check(&self) -> std::result::Result<(), Failure> {
        if self.dialect.is_some() && self.patch_type != PatchType::Strategic {
            return Err(dialect_requires_strategic());
        }
        let stdin = Path::new("-");
        if self.filename == stdin && self.patch_file.as_deref() == Some(stdin) {
            return Err(stdin_used_twice());
        }
        let given = [
            ("--kind", self.kind.as_deref()),
            ("--name", self.name.as_deref()),
            ("--selector", self.selector.as_deref()),
        ];
        if self.kind.is_some() && self.object().is_some() {
            return Err(Failure::Usage(
                "--name KIND/NAME cannot be used with --kind: keep one of them".into(),
            ));
        }
        match given.into_iter().find(|(_, value)| value.is_some_and(|value| value.trim().is_empty())) {
            Some((flag, _)) => {
                Err(Failure::Usage(format!("{flag} is empty: use --all to patch all documents")))
            }
            None => Ok(()),
        }
    }

    /// Returns the object of `--name KIND/NAME`, or `None` for a name without a kind.
    fn object(&self) -> Option<ObjectArg<'_>> {
        self.name.as_deref().and_then(ObjectArg::parse)
    }

    fn options(&self) -> Result<PackagePatchOptions> {
        let rules = self.dialect.map_or(PatchRules::Apiserver.into(), PatchDialect::rules);
        let mut options = PackagePatchOptions { rules, ..PackagePatchOptions::default() };
        options.is_kustomization_field = Kustomization::has_field;
        options.selection.kind.clone_from(&self.kind);
        options.selection.name.clone_from(&self.name);
        options.selection.labels = self.selector.as_deref().map(LabelSelector::parse).transpose()?;
        options.selection.all = self.all;
        #[cfg(feature = "cluster")]
        options.selection.namespace.clone_from(&self.schema.connect.namespace().map(Into::into));
        if let Some(ObjectArg { kind, namespace, name }) = self.object() {
            let selection = &mut options.selection;
            (selection.kind, selection.name) = (Some(kind.into()), Some(name.into()));
            selection.namespace = namespace.map(Into::into).or(selection.namespace.take());
        }
        options.type_name.clone_from(&self.schema_type);
        if names_schema(&self.schema, self.schema_type.as_deref()) {
            options.custom_kinds = CustomKinds::Patched;
        }
        Ok(options)
    }
}

/// Returns true if the user selected a schema for kinds that are not built in.
fn names_schema(schema: &SchemaArgs, schema_type: Option<&str>) -> bool {
    matches!(schema.schema, SchemaChoice::File(_)) || schema_type.is_some()
}

/// Checks that the API server supports strategic merge patches for an object, or that the user
/// selected a schema.
///
/// # Errors
/// The kind is not built in, and no schema is selected.
pub(super) fn check_strategic_kind(
    object: &Node,
    schema: &SchemaArgs,
    schema_type: Option<&str>,
) -> Result<()> {
    if names_schema(schema, schema_type) {
        return Ok(());
    }
    check_strategic_support(object).map_err(|error| with_flag_help(error, PatchType::Strategic))
}

/// Adds the flags that resolve an error to its help.
fn with_flag_help(error: Diagnostic, patch_type: PatchType) -> Diagnostic {
    error.map_each(|error| with_own_flag_help(error, patch_type))
}

fn with_own_flag_help(error: Diagnostic, patch_type: PatchType) -> Diagnostic {
    match error.code() {
        Code::NoSchema => error.help(
            "use --type=merge, which works for any kind; to patch without a server, use --dialect=schema or --schema \
             FILE, with --schema-type for documents without a kind",
        ),
        Code::WrongType if patch_type != PatchType::Json && error.resource_name().is_none() => {
            error.help("use --type=json for a JSON patch (a list of operations)")
        }
        // In a manifest, this error is about list entries, which flags cannot select.
        Code::Ambiguous if error.resource_name().is_none() => error.help(
            "select documents with apiVersion, kind and name in the patch, or with --kind, --name, -l or --all",
        ),
        _ => error,
    }
}

/// Returns the error for `--dialect` with a JSON patch or JSON merge patch.
pub(super) fn dialect_requires_strategic() -> Failure {
    Failure::Usage("`--dialect` requires a strategic merge patch: remove it, or use --type=strategic".into())
}

/// Prints the manifests that a patch deletes, since they are missing in the output.
fn print_removed(changed: &ChangedPackage) {
    let removed = changed.changes.iter().filter(|change| change.kind == ChangeKind::Removed);
    removed.for_each(|change| render::print_change(&change.to_string()));
}

fn read_patches(args: &PatchArgs, sources: &SourceMap) -> Result<Vec<Node>> {
    let options = ParseOptions::kubectl().for_patch();
    match (&args.patch_file, &args.patch) {
        (Some(path), _) => read_documents(path, options, sources),
        (None, text) => parse_text("--patch", text.clone().unwrap_or_default(), options, sources),
    }
}

/// Adds the start of the patch as the location of an error without one, such as that of an empty
/// patch. The patch is the last text that was read.
fn at_patch(error: Diagnostic, sources: &SourceMap) -> Diagnostic {
    match sources.top_level_texts().last() {
        Some(last) if error.labels().is_empty() => error.at(Span::new(*last, 0, 0)),
        _ => error,
    }
}

/// Hides the excerpt of a patch in its errors if the patch may be for a Secret.
fn hide_secret_values(error: &Diagnostic, package: &Package, sources: &SourceMap) {
    if package.has_secrets() {
        error.labels().iter().for_each(|label| sources.mark_secret(label.span.source));
    }
}

fn read_package(args: &PatchArgs, sources: &SourceMap) -> Result<Package> {
    if args.filename != Path::new("-") {
        return Package::read(&args.filename, Reading::Kubectl, sources);
    }
    if args.in_place {
        return Err(Diagnostic::error(Code::Usage, "standard input cannot be changed in place"));
    }
    Package::from_text("<stdin>", read_stdin()?, Reading::Kubectl, sources)
}

fn print_canonical(
    changed: &ChangedPackage,
    format: PatchOutput,
    sources: &SourceMap,
) -> std::result::Result<(), Failure> {
    let mut documents = Vec::new();
    for file in &changed.files {
        let text = file.text().unwrap_or_default().to_string();
        documents.extend(parse_text(
            &file.path.display().to_string(),
            text,
            ParseOptions::kubectl(),
            sources,
        )?);
    }
    let documents = documents.iter().filter(|node| !node.is_null());
    print(&match format {
        PatchOutput::Yaml => yaml::to_documents(documents)?,
        PatchOutput::Json => documents.map(yaml::to_json_pretty).collect::<Result<String>>()?,
    })
}
