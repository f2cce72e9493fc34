//! `kubectl smp schema`: inspect, fetch, compile and lint schemas.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::format::ReportFormat;
use super::report::{print_json, print_line};
use super::target::SchemaArgs;
use super::{Outcome, render};
use smp_files::{DiskTree, FileKind, FileTree as _, replace_file};
use smp_merge::schema::{Gvk, Model, NamedKind, Scope, compile, is_compiled, lint, read_model, show};
use smp_overlay::overlay::ChainPurpose;
use smp_text::diagnostic::{Code, Diagnostic, Result, Severity, counted, escaped_line, read_error};
use smp_text::source::SourceMap;
#[cfg(feature = "cluster")]
use smp_text::yaml::did_you_mean;

/// Inspect, fetch, compile and lint schemas.
#[derive(Debug, Args)]
pub(super) struct SchemaCommand {
    #[command(subcommand)]
    command: SchemaSubcommand,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "only one value exists in a run")]
enum SchemaSubcommand {
    /// List known kinds and the source of each schema
    List(ListArgs),
    /// Show the schema of a kind or field
    ///
    /// Prints the type, list type, merge keys, patch strategy and the source of the schema.
    Show(ShowArgs),
    /// Fetch schemas from the cluster into the cache
    ///
    /// Later builds of plain directories use them without a connection to the cluster. Kustomizations use
    /// them only with `--schema cache`.
    #[cfg(feature = "cluster")]
    Fetch(FetchArgs),
    /// Compile OpenAPI documents and CRDs into a schema file
    ///
    /// Use the file with --schema FILE. If several documents define the same type, the definition in the
    /// first of them is used.
    Compile(CompileArgs),
    /// Lint the list types and merge keys in schemas
    ///
    /// Checks `x-kubernetes-list-type`, `x-kubernetes-list-map-keys`, and the patch strategies and merge
    /// keys of OpenAPI documents and CRDs.
    Lint(LintArgs),
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Only list these kinds, by kind, plural or short name
    #[arg(value_name = "KIND")]
    kinds: Vec<String>,

    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = ReportFormat::Text)]
    output: ReportFormat,

    #[command(flatten)]
    schema: SchemaArgs,
}

#[cfg(feature = "cluster")]
#[derive(Debug, Args)]
struct FetchArgs {
    /// Kinds to fetch, such as widgets or widget.example.com [default: all]
    #[arg(value_name = "KIND")]
    kinds: Vec<String>,

    #[command(flatten)]
    schema: SchemaArgs,
}

#[derive(Debug, Args)]
struct LintArgs {
    /// OpenAPI v2 or v3 documents, JSON schemas or CRDs
    #[arg(value_name = "SOURCE", required = true)]
    documents: Vec<PathBuf>,
}

#[derive(Debug, Args)]
struct ShowArgs {
    /// Kind and fields, such as deployment.spec.template.spec.containers.ports
    #[arg(value_name = "KIND[.FIELD...]")]
    path: String,

    /// API version of an ambiguous kind, such as apps/v1
    #[arg(long, value_name = "GROUP/VERSION")]
    api_version: Option<String>,

    /// Output format
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t = ReportFormat::Text)]
    output: ReportFormat,

    #[command(flatten)]
    schema: SchemaArgs,
}

#[derive(Debug, Args)]
struct CompileArgs {
    /// OpenAPI documents, JSON schemas, CRDs or compiled schemas; newest first
    #[arg(value_name = "SOURCE", required = true)]
    documents: Vec<PathBuf>,

    /// File to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(super) fn run(args: &SchemaCommand, sources: &SourceMap) -> Outcome {
    match &args.command {
        SchemaSubcommand::List(args) => list_kinds(args, sources),
        SchemaSubcommand::Show(args) => show_path(args, sources),
        #[cfg(feature = "cluster")]
        SchemaSubcommand::Fetch(args) => fetch(args, sources),
        SchemaSubcommand::Compile(args) => compile_files(args, sources),
        SchemaSubcommand::Lint(args) => lint_files(args, sources),
    }
}

fn show_path(args: &ShowArgs, sources: &SourceMap) -> Outcome {
    args.schema.check_no_namespace()?;
    let mut chain = args.schema.chain(sources, ChainPurpose::Manifests)?;
    let mut path = args.path.clone();
    // A kind that is in no local source is looked up by its full name.
    let (word, rest) = path.split_at(path.find(['.', '[']).unwrap_or(path.len()));
    let is_local = show::describe(&chain.resolve([])?, &path, args.api_version.as_deref()).is_ok();
    if !is_local {
        let is_requested = |(_, kind): &(String, NamedKind)| {
            let version = args.api_version.as_ref();
            kind.has_name(word) && version.is_none_or(|version| kind.gvk.api_version() == *version)
        };
        let requested: Vec<Gvk> =
            chain.kinds()?.into_iter().filter(is_requested).map(|(_, kind)| kind.gvk).collect();
        // Loads the requested kinds into the chain.
        chain.resolve(&requested)?;
        if let Some(gvk) = requested.first() {
            path = format!("{}{rest}", gvk.kind.to_lowercase());
        }
    }
    let schema = chain.resolve([])?;
    render::print_or_reject(&chain.take_warnings(), sources)?;
    let description = show::describe(&schema, &path, args.api_version.as_deref())?;
    let mut stdout = io::stdout();
    match args.output {
        ReportFormat::Text => {
            for line in description.to_string().lines() {
                writeln!(stdout, "{}", escaped_line(line))?;
            }
        }
        ReportFormat::Json => print_json(&description)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A kind in a list.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedKind {
    api_version: String,
    kind: String,
    namespaced: Option<bool>,
    names: Vec<String>,
    source: String,
}

fn list_kinds(args: &ListArgs, sources: &SourceMap) -> Outcome {
    args.schema.check_no_namespace()?;
    let mut chain = args.schema.chain(sources, ChainPurpose::Manifests)?;
    let is_requested =
        |kind: &NamedKind| args.kinds.is_empty() || args.kinds.iter().any(|word| kind.has_name(word));
    let kinds = chain.kinds()?.into_iter().filter(|(_, kind)| is_requested(kind));
    let listed = |(source, kind): (String, NamedKind)| ListedKind {
        api_version: kind.gvk.api_version().to_string(),
        kind: kind.gvk.kind.to_string(),
        namespaced: kind.scope.map(|scope| scope == Scope::Namespaced),
        names: kind.names.iter().map(ToString::to_string).collect(),
        source,
    };
    let kinds: Vec<_> = kinds.map(listed).collect();
    render::print_or_reject(&chain.take_warnings(), sources)?;
    if kinds.is_empty() {
        let message = format!("unknown kind {}", args.kinds.join(" or "));
        return Err(Diagnostic::error(Code::NoMatch, message)
            .help("`kubectl smp schema list` lists all; custom resources need a cluster, a cache or --schema FILE")
            .into());
    }
    let mut stdout = io::stdout().lock();
    match args.output {
        ReportFormat::Text => {
            for kind in &kinds {
                let scope = match kind.namespaced {
                    Some(true) => "namespaced",
                    Some(false) => "cluster",
                    None => "-",
                };
                let line = format!("{} {} {scope} {}", kind.api_version, kind.kind, kind.source);
                writeln!(stdout, "{}", escaped_line(&line))?;
            }
        }
        ReportFormat::Json => print_json(&kinds)?,
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(feature = "cluster")]
fn fetch(args: &FetchArgs, sources: &SourceMap) -> Outcome {
    use smp_cluster::{FetchSource, LiveSchema};
    use smp_merge::schema::SchemaSource as _;
    use smp_overlay::schema_chain::cache::SchemaCache;

    args.schema.check_no_namespace()?;
    if args.schema.offline {
        return Err(Diagnostic::error(Code::Usage, "cannot fetch schemas offline")
            .help("remove --offline")
            .into());
    }
    let cache = SchemaCache::open(args.schema.cache.root());
    let live = LiveSchema::new(args.schema.connect.options(sources), cache);
    // This also stores the names of the kinds in the cache.
    let kinds = live.kinds()?;
    let versions = if args.kinds.is_empty() {
        live.group_versions()?
    } else {
        versions_of(&args.kinds, &kinds)?.into_iter().collect()
    };
    let (mut stdout, mut problems) = (io::stdout().lock(), Vec::new());
    for version in versions {
        let (from, graph) = match live.fetch(&version) {
            Ok(Some(fetched)) => fetched,
            Ok(None) => continue,
            Err(problem) => {
                problems.push(problem.note(format!("the schemas of {version} were not fetched")));
                continue;
            }
        };
        let from = match from {
            FetchSource::Cache => "unchanged",
            FetchSource::Server => "fetched",
        };
        let kinds = graph.kinds().count();
        writeln!(stdout, "{}", escaped_line(&format!("{version}: {kinds} kinds, {from}")))?;
    }
    if problems.is_empty() { Ok(ExitCode::SUCCESS) } else { Err(problems.into()) }
}

/// Returns the group-versions of kinds that are given by kind, plural or short name, with or
/// without the group.
#[cfg(feature = "cluster")]
fn versions_of(words: &[String], kinds: &[NamedKind]) -> Result<std::collections::BTreeSet<String>> {
    let mut versions = std::collections::BTreeSet::new();
    for word in words {
        let (name, group) = word.split_once('.').unwrap_or((word, ""));
        let is_requested =
            |kind: &&NamedKind| kind.has_name(name) && (group.is_empty() || kind.gvk.group == group);
        let mut requested = kinds.iter().filter(is_requested).peekable();
        if requested.peek().is_none() {
            let known: Vec<&str> = kinds.iter().map(|kind| kind.gvk.kind.as_str()).collect();
            let error = Diagnostic::error(Code::NoMatch, format!("the cluster has no kind `{word}`"));
            return Err(did_you_mean(name, &known).into_iter().fold(error, Diagnostic::help));
        }
        versions.extend(requested.map(|kind| kind.gvk.api_version().to_string()));
    }
    Ok(versions)
}

/// Compiles documents to a schema file, after checking that the output is not one of the documents.
fn compile_files(args: &CompileArgs, sources: &SourceMap) -> Outcome {
    check_output(args)?;
    let models = args.documents.iter().map(|path| model(path, sources)).collect::<Result<Vec<_>>>()?;
    let graph = compile::compile(models)?;
    let bytes = graph.to_bytes();
    replace_file(&args.output, &bytes)?;
    let (kinds, size) = (graph.kinds().count(), bytes.len());
    print_line(&format!("{}: {kinds} kinds, {size} bytes", args.output.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Checks that the output may be overwritten: it does not exist, is not a regular file, is empty,
/// or is a compiled schema.
///
/// # Errors
/// The output is one of the sources, or another file.
fn check_output(args: &CompileArgs) -> Result<()> {
    let real = |path: &Path| DiskTree.locate(Path::new(""), path).ok();
    let output = real(&args.output).filter(|found| found.kind() == FileKind::File);
    let Some(output) = output else { return Ok(()) };
    let help = "use another file for --output, such as kinds.smpschema";
    let is_source = |path: &&PathBuf| real(path).is_some_and(|found| found.path() == output.path());
    if let Some(source) = args.documents.iter().find(is_source) {
        let message = format!("{} is a source and would be overwritten", source.display());
        return Err(Diagnostic::error(Code::Usage, message).help(help));
    }
    let bytes = read_bytes(output.path())?;
    if bytes.is_empty() || is_compiled(&bytes) {
        return Ok(());
    }
    let message = format!("{} already exists and is not a compiled schema", args.output.display());
    Err(Diagnostic::error(Code::Usage, message).help(help))
}

fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    DiskTree.read_stream(path).map_err(|error| read_error(format_args!("`{}`", path.display()), &error))
}

fn model(path: &Path, sources: &SourceMap) -> Result<Model> {
    read_model(path, read_bytes(path)?, sources)
}

/// Lints a document.
fn findings_of(path: &Path, sources: &SourceMap) -> Result<Vec<Diagnostic>> {
    let bytes = read_bytes(path)?;
    if is_compiled(&bytes) {
        let message = format!("cannot lint `{}`: it is a compiled schema", path.display());
        return Err(Diagnostic::error(Code::InvalidValue, message)
            .help("lint the documents that it was compiled from"));
    }
    Ok(lint(&read_model(path, bytes, sources)?))
}

/// Lints each document separately. Fails if there are errors.
fn lint_files(args: &LintArgs, sources: &SourceMap) -> Outcome {
    let mut status = ExitCode::SUCCESS;
    for path in &args.documents {
        let findings = findings_of(path, sources).unwrap_or_else(|error| vec![error]);
        render::print(&findings, sources);
        let errors = findings.iter().filter(|finding| finding.severity() == Severity::Error).count();
        let warnings = findings.len() - errors;
        let (errors_are, warnings_are) = (counted(errors, "error"), counted(warnings, "warning"));
        print_line(&format!("{}: {errors_are}, {warnings_are}", path.display()))?;
        if errors > 0 {
            status = ExitCode::FAILURE;
        }
    }
    Ok(status)
}
