//! `kubectl smp patch` and `kubectl smp create-patch`: patches without a cluster.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::document::{documents_of, gvk_of, read_document, read_documents, read_stdin, type_of};
use super::package::{print, schema_of};
use super::report::print_changes;
use super::target::SchemaArgs;
use super::{Failure, Outcome, render};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::{Exceptions, Rules};
use crate::overlay::ChainUse;
use crate::package::{
    ChangedPackage, Package, PatchKind, Patches, patch_package, recover_target, write_files,
};
use crate::patch::{self, ThreeWayOptions, create_json_merge, create_json_patch};
use crate::source::{Reading, SourceMap};
use crate::yaml::{self, Node};

/// Patch manifests in files, without a cluster.
#[derive(Debug, Args)]
pub(super) struct PatchArgs {
    /// File or directory with the manifests, or - for standard input
    #[arg(short, long, value_name = "FILE|DIR|-")]
    filename: PathBuf,

    /// File with the patch
    #[arg(long, value_name = "FILE", required_unless_present = "patch", conflicts_with = "patch")]
    patch_file: Option<PathBuf>,

    /// The patch itself
    #[arg(short, long, value_name = "TEXT")]
    patch: Option<String>,

    /// Type of the patch: strategic merge, JSON merge (RFC 7386) or JSON patch (RFC 6902)
    #[arg(long = "type", value_enum, default_value_t = PatchType::Strategic)]
    patch_type: PatchType,

    /// Rules of strategic merges; without it the API server's
    #[arg(long, value_enum)]
    dialect: Option<PatchDialect>,

    /// Output format; without it the text of the file, changed where the patch changes it
    #[arg(short, long, value_enum, conflicts_with = "in_place")]
    output: Option<PatchOutput>,

    /// Change the files instead of printing them
    ///
    /// All of them, or none when something fails.
    #[arg(long)]
    in_place: bool,

    #[command(flatten)]
    schema: SchemaArgs,

    /// Definition that describes documents without a kind
    #[arg(long, value_name = "NAME")]
    schema_type: Option<String>,
}

/// Make the patch that turns one manifest into another.
#[derive(Debug, Args)]
pub(super) struct CreatePatchArgs {
    /// File with the manifest as it is, or as it was last applied
    #[arg(value_name = "ORIGINAL")]
    original: PathBuf,

    /// File with the manifest as it shall be
    #[arg(value_name = "MODIFIED")]
    modified: PathBuf,

    /// File with the live object: the patch is made for it, and removes what MODIFIED has no more
    #[arg(long, value_name = "FILE")]
    current: Option<PathBuf>,

    /// Undo what others changed in the live object; otherwise that is an error
    #[arg(long, requires = "current")]
    overwrite: bool,

    /// Type of the patch
    #[arg(long = "type", value_enum, default_value_t = PatchType::Strategic)]
    patch_type: PatchType,

    /// By whose rules the strategic patch will be applied; without it the API server's
    #[arg(long, value_enum)]
    dialect: Option<CreateDialect>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = PatchOutput::Yaml)]
    output: PatchOutput,

    #[command(flatten)]
    schema: SchemaArgs,

    /// Definition that describes documents without a kind
    #[arg(long, value_name = "NAME")]
    schema_type: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PatchType {
    Strategic,
    Merge,
    Json,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PatchDialect {
    /// As the API server
    Apiserver,
    /// By list map keys with their defaults, sets, atomic lists and maps
    Overlay,
    /// As kustomize
    Kustomize,
}

impl PatchDialect {
    fn rules(self) -> Rules {
        match self {
            Self::Apiserver => Rules::Apiserver,
            Self::Overlay => Rules::Overlay,
            Self::Kustomize => Rules::Kustomize { exceptions: Exceptions::None },
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CreateDialect {
    Apiserver,
    Overlay,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PatchOutput {
    Yaml,
    Json,
}

/// Patches all documents that the patch is for, or changes nothing.
pub(super) fn run_patch(args: &PatchArgs, sources: &SourceMap) -> Outcome {
    if args.in_place {
        recover_target(&args.filename)?;
    }
    let patches = Patches::new(read_patches(args, sources)?, &args.kind()?)?;
    let package = read_package(args, sources)?;
    for problem in package.definition_problems() {
        render::print(&[problem.clone().into_warning()], sources);
    }
    let schema = schema_of(&[&package], &args.schema, sources)?;
    let changed = patch_package(&package, &patches, &schema, args.schema_type.as_deref())?;
    render::print_before(&changed.warnings, sources)?;
    match args.output {
        _ if args.in_place => {
            write_files(&args.filename, &changed.files)?;
            print_changes(&changed);
        }
        None => print(&changed.stream())?,
        Some(format) => print_canonical(&changed, format, sources)?,
    }
    Ok(ExitCode::SUCCESS)
}

impl PatchArgs {
    fn kind(&self) -> std::result::Result<PatchKind, Failure> {
        match (self.patch_type, self.dialect) {
            (PatchType::Strategic, dialect) => {
                Ok(PatchKind::Strategic(dialect.map_or(Rules::Apiserver, PatchDialect::rules)))
            }
            (_, Some(_)) => Err(dialect_of_no_strategic()),
            (PatchType::Merge, None) => Ok(PatchKind::Merge),
            (PatchType::Json, None) => Ok(PatchKind::Json),
        }
    }
}

/// JSON patches and JSON merge patches have but one meaning.
fn dialect_of_no_strategic() -> Failure {
    Failure::Usage("`--dialect` is for strategic merge patches: leave it out, or use --type=strategic".into())
}

fn read_patches(args: &PatchArgs, sources: &SourceMap) -> Result<Vec<Node>> {
    match (&args.patch_file, &args.patch) {
        (Some(path), _) => read_documents(path, sources),
        (None, text) => documents_of("--patch", text.clone().unwrap_or_default(), sources),
    }
}

fn read_package(args: &PatchArgs, sources: &SourceMap) -> Result<Package> {
    if args.filename != Path::new("-") {
        return Package::read(&args.filename, Reading::Kubectl, sources);
    }
    if args.in_place {
        return Err(Diagnostic::error(Code::Usage, "standard input cannot be changed in place"));
    }
    Package::of_text("<stdin>", read_stdin()?, Reading::Kubectl, sources)
}

fn print_canonical(
    changed: &ChangedPackage,
    format: PatchOutput,
    sources: &SourceMap,
) -> std::result::Result<(), Failure> {
    let mut documents = Vec::new();
    for file in &changed.files {
        let text = file.text().unwrap_or_default().to_string();
        documents.extend(documents_of(&file.path.display().to_string(), text, sources)?);
    }
    let documents = documents.iter().filter(|node| !node.is_null());
    print(&match format {
        PatchOutput::Yaml => yaml::to_documents(documents)?,
        PatchOutput::Json => documents.map(yaml::to_json_pretty).collect::<Result<String>>()?,
    })
}

fn no_schema(document: &Node) -> Diagnostic {
    let what = gvk_of(document).map_or_else(|| "a document without a kind".into(), |gvk| gvk.to_string());
    Diagnostic::error(Code::NoSchema, format!("no schema is known for {what}"))
        .at(document.span().at_start())
        .help("name one with --schema (and --schema-type), or use --type=merge")
}

impl CreatePatchArgs {
    /// # Errors
    /// Arguments that would have no effect.
    fn check(&self) -> std::result::Result<(), Failure> {
        if self.patch_type != PatchType::Strategic && self.dialect.is_some() {
            return Err(dialect_of_no_strategic());
        }
        if self.current.is_some() && matches!(self.dialect, Some(CreateDialect::Overlay)) {
            let message =
                "three-way patches are made for the API server: leave out `--dialect` or `--current`";
            return Err(Failure::Usage(message.into()));
        }
        Ok(())
    }
}

/// Prints the patch that turns the original into the modified manifest.
pub(super) fn run_create(args: &CreatePatchArgs, sources: &SourceMap) -> Outcome {
    args.check()?;
    let read = |path: &PathBuf| read_document(path, sources);
    let (original, modified) = (read(&args.original)?, read(&args.modified)?);
    let current = args.current.as_ref().map(read).transpose()?;
    let patch = match args.patch_type {
        PatchType::Strategic => strategic(args, &original, &modified, current.as_ref(), sources)?,
        PatchType::Merge => create_json_merge(current.as_ref().unwrap_or(&original), &modified),
        PatchType::Json => create_json_patch(current.as_ref().unwrap_or(&original), &modified),
    };
    let text = match args.output {
        PatchOutput::Yaml => yaml::to_yaml(&patch)?,
        PatchOutput::Json => yaml::to_json_pretty(&patch)?,
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn strategic(
    args: &CreatePatchArgs,
    original: &Node,
    modified: &Node,
    current: Option<&Node>,
    sources: &SourceMap,
) -> std::result::Result<Node, Failure> {
    let mut chain = args.schema.chain(sources, ChainUse::Manifests)?;
    let schema = chain.resolve(gvk_of(modified).as_ref())?;
    render::print_before(&chain.take_warnings(), sources)?;
    let cursor =
        type_of(modified, &schema, args.schema_type.as_deref())?.ok_or_else(|| no_schema(modified))?;
    if let Some(current) = current {
        let options = ThreeWayOptions::default().overwrite(args.overwrite);
        return Ok(patch::create_three_way(original, modified, current, cursor, &options)?);
    }
    let rules = match args.dialect {
        None | Some(CreateDialect::Apiserver) => Rules::Apiserver,
        Some(CreateDialect::Overlay) => Rules::Overlay,
    };
    Ok(patch::create(original, modified, cursor, rules)?)
}
