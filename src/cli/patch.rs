//! `kubectl smp patch` and `kubectl smp create-patch`: patches without a cluster.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::build::write_file;
use super::document::{TextFile, gvk_of, type_of};
use super::target::SchemaArgs;
use super::{Failure, Outcome, render};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::merge::{MergeOptions, merge2};
use crate::patch::{
    self, ApplyOptions, CreateOptions, Outcome as Patched, ThreeWayOptions, apply_json_merge,
    create_json_merge, create_json_patch, parse_json_patch,
};
use crate::schema::{Cursor, Schema};
use crate::source::SourceMap;
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

    /// Rules of strategic merges
    #[arg(long, value_enum, default_value_t = PatchDialect::Apiserver)]
    dialect: PatchDialect,

    /// Output format; without it the text of the file, changed where the patch changes it
    #[arg(short, long, value_enum, conflicts_with = "in_place")]
    output: Option<PatchOutput>,

    /// Change the files instead of printing them
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

    /// By whose rules the patch will be applied
    #[arg(long, value_enum, default_value_t = CreateDialect::Apiserver)]
    dialect: CreateDialect,

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
    let patch = read_patch(args, sources)?;
    let files = TextFile::read_all(&args.filename, sources)?;
    let schema = schema_for(&args.schema, files.iter().flat_map(|f| &f.documents), sources)?;
    let mut notes = Vec::new();
    let mut patched = Vec::with_capacity(files.len());
    let mut count = 0;
    for file in &files {
        let mut documents: Vec<Option<Node>> = Vec::with_capacity(file.documents.len());
        for document in &file.documents {
            if document.is_null() || !is_for(&patch, document, args.patch_type) {
                documents.push(Some(document.clone()));
                continue;
            }
            count += 1;
            documents.push(apply(args, document, &patch, &schema, &mut notes)?);
        }
        patched.push(documents);
    }
    if count == 0 {
        return Err(Diagnostic::error(Code::NoMatch, "the patch is for none of the manifests")
            .at(patch.span().at_start())
            .help("it must have kind and name of a manifest, or none at all")
            .into());
    }
    render::print(&notes, sources);
    print_patched(args, &files, &patched)?;
    Ok(ExitCode::SUCCESS)
}

fn read_patch(args: &PatchArgs, sources: &SourceMap) -> Result<Node> {
    let file = match (&args.patch_file, &args.patch) {
        (Some(path), _) => TextFile::read(path, sources)?,
        (None, text) => TextFile::of_text("--patch", text.as_deref().unwrap_or_default(), sources)?,
    };
    file.only()
}

fn schema_for<'n>(
    args: &SchemaArgs,
    documents: impl Iterator<Item = &'n Node>,
    sources: &SourceMap,
) -> std::result::Result<Schema, Failure> {
    let mut chain = args.chain(sources, false)?;
    let kinds: Vec<_> = documents.filter_map(gvk_of).collect();
    let schema = chain.resolve(&kinds)?;
    render::print(&chain.take_warnings(), sources);
    Ok(schema)
}

/// A patch that names kind or name is for manifests of this kind and name.
fn is_for(patch: &Node, document: &Node, patch_type: PatchType) -> bool {
    if patch_type == PatchType::Json {
        return true;
    }
    let same = |path: &[&str]| {
        let wanted = patch.get_path(path).and_then(Node::scalar_text);
        wanted.is_none() || wanted == document.get_path(path).and_then(Node::scalar_text)
    };
    document.get("kind").is_none() || (same(&["kind"]) && same(&["metadata", "name"]))
}

/// The document after the patch; none when the patch deletes it.
fn apply(
    args: &PatchArgs,
    document: &Node,
    patch: &Node,
    schema: &Schema,
    notes: &mut Vec<Diagnostic>,
) -> Result<Option<Node>> {
    let mut node = document.clone();
    match args.patch_type {
        PatchType::Json => parse_json_patch(patch)?.apply(&mut node)?,
        PatchType::Merge => apply_json_merge(&mut node, patch),
        PatchType::Strategic => {
            let options = match args.dialect {
                PatchDialect::Apiserver => ApplyOptions::apiserver(),
                PatchDialect::Overlay => ApplyOptions::overlay(),
                PatchDialect::Kustomize => {
                    return merge2(Some(node), patch, schema, &MergeOptions::kustomize());
                }
            };
            let cursor = type_of(document, schema, args.schema_type.as_deref())?;
            let cursor = match (cursor, args.dialect) {
                (Some(cursor), _) => cursor,
                (None, PatchDialect::Apiserver) => return Err(no_schema(document)),
                (None, _) => Cursor::unknown(),
            };
            if patch::apply(&mut node, patch, cursor, &options, notes)? == Patched::Deleted {
                return Ok(None);
            }
        }
    }
    Ok(Some(node))
}

fn no_schema(document: &Node) -> Diagnostic {
    let what = gvk_of(document).map_or_else(|| "a document without a kind".into(), |gvk| gvk.to_string());
    Diagnostic::error(Code::NoSchema, format!("no schema is known for {what}"))
        .at(document.span().at_start())
        .help("name one with --schema (and --schema-type), or use --type=merge or --dialect=overlay")
}

fn print_patched(
    args: &PatchArgs,
    files: &[TextFile],
    patched: &[Vec<Option<Node>>],
) -> std::result::Result<(), Failure> {
    let kept = || patched.iter().flatten().flatten().filter(|node| !node.is_null());
    let text = match args.output {
        Some(PatchOutput::Yaml) => yaml::to_documents(kept())?,
        Some(PatchOutput::Json) => kept().map(yaml::to_json_pretty).collect::<Result<String>>()?,
        None => {
            let edit = |(file, after): (&TextFile, &Vec<Option<Node>>)| {
                yaml::edit(&file.text, &file.documents, after)
            };
            let texts = files.iter().zip(patched).map(edit).collect::<Result<Vec<_>>>()?;
            if args.in_place {
                return write_all(files, &texts);
            }
            texts.join("---\n")
        }
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn write_all(files: &[TextFile], texts: &[String]) -> std::result::Result<(), Failure> {
    for (file, text) in files.iter().zip(texts).filter(|(file, text)| file.text != **text) {
        let Some(path) = &file.path else {
            return Err(Diagnostic::error(Code::Usage, "standard input cannot be changed in place").into());
        };
        write_file(path, text.as_bytes())?;
    }
    Ok(())
}

/// Prints the patch that turns the original into the modified manifest.
pub(super) fn run_create(args: &CreatePatchArgs, sources: &SourceMap) -> Outcome {
    let read = |path: &PathBuf| TextFile::read(path, sources).and_then(TextFile::only);
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
    io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn strategic(
    args: &CreatePatchArgs,
    original: &Node,
    modified: &Node,
    current: Option<&Node>,
    sources: &SourceMap,
) -> std::result::Result<Node, Failure> {
    let schema = schema_for(&args.schema, [modified].into_iter(), sources)?;
    let cursor =
        type_of(modified, &schema, args.schema_type.as_deref())?.ok_or_else(|| no_schema(modified))?;
    if let Some(current) = current {
        let options = ThreeWayOptions::default().overwrite(args.overwrite);
        return Ok(patch::create_three_way(original, modified, current, cursor, &options)?);
    }
    let options = match args.dialect {
        CreateDialect::Apiserver => CreateOptions::apiserver(),
        CreateDialect::Overlay => CreateOptions::overlay(),
    };
    Ok(patch::create(original, modified, cursor, &options)?)
}
