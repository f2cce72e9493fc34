//! `kubectl smp schema`: look at merge schemas, and compile them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};

use super::target::SchemaArgs;
use super::{Outcome, render};
use crate::diagnostic::{Code, Diagnostic, Result, Severity, escaped};
use crate::files::{DiskTree, FileTree as _, replace_file};
use crate::overlay::ChainUse;
use crate::schema::{Gvk, Model, compile, lint, read_model, show};
use crate::source::SourceMap;

/// Look at merge schemas, and compile them.
#[derive(Debug, Args)]
pub(super) struct SchemaCommand {
    #[command(subcommand)]
    command: SchemaSubcommand,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one of it in a run")]
enum SchemaSubcommand {
    /// Show what is known of a kind or a field: type, list type, keys, patch strategy, and who says so
    Show(ShowArgs),
    /// Compile OpenAPI documents and CRDs, the newest first, into a schema for --schema FILE
    Compile(CompileArgs),
    /// Check the merge directives of OpenAPI documents and CRDs: keys, and how clients merge by them
    Lint(LintArgs),
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

    /// API version of the kind, such as apps/v1; needed for kinds that only the cluster knows
    #[arg(long, value_name = "GROUP/VERSION")]
    api_version: Option<String>,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = ShowFormat::Text)]
    output: ShowFormat,

    #[command(flatten)]
    schema: SchemaArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ShowFormat {
    Text,
    Json,
}

#[derive(Debug, Args)]
struct CompileArgs {
    /// OpenAPI v2 or v3 documents, JSON schemas, CRDs or compiled schemas, the newest first
    #[arg(value_name = "SOURCE", required = true)]
    documents: Vec<PathBuf>,

    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

pub(super) fn run(args: &SchemaCommand, sources: &SourceMap) -> Outcome {
    match &args.command {
        SchemaSubcommand::Show(args) => show_path(args, sources),
        SchemaSubcommand::Compile(args) => compile_files(args, sources),
        SchemaSubcommand::Lint(args) => lint_files(args, sources),
    }
}

fn show_path(args: &ShowArgs, sources: &SourceMap) -> Outcome {
    let mut chain = args.schema.chain(sources, ChainUse::Manifests)?;
    // A kind that nobody at hand knows is asked for by its full name.
    let kind = args.path.split('.').next().unwrap_or_default();
    let asked = args.api_version.as_ref().map(|version| Gvk::from_manifest(version, kind));
    let schema = chain.resolve(asked.iter())?;
    render::print(&chain.take_warnings(), sources);
    let description = show::describe(&schema, &args.path, args.api_version.as_deref())?;
    let mut stdout = io::stdout();
    match args.output {
        ShowFormat::Text => {
            for line in description.to_string().lines() {
                writeln!(stdout, "{}", escaped(line))?;
            }
        }
        ShowFormat::Json => {
            let text =
                serde_json::to_string_pretty(&description).context("the description cannot be printed")?;
            writeln!(stdout, "{text}")?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn compile_files(args: &CompileArgs, sources: &SourceMap) -> Outcome {
    let models = args.documents.iter().map(|path| model(path, sources));
    let graph = compile::compile(models.collect::<Result<Vec<_>>>()?)?;
    let bytes = graph.to_bytes();
    replace_file(&args.output, &bytes)?;
    let (kinds, size) = (graph.kinds().count(), bytes.len());
    writeln!(io::stdout(), "{}: {kinds} kinds, {size} bytes", args.output.display())?;
    Ok(ExitCode::SUCCESS)
}

fn model(path: &Path, sources: &SourceMap) -> Result<Model> {
    let bytes = DiskTree.read_stream(path).map_err(|error| {
        Diagnostic::error(Code::Io, format!("{} cannot be read: {error}", path.display()))
    })?;
    read_model(path, bytes, sources)
}

/// Fails when there are errors. Each document is checked alone, and all are.
fn lint_files(args: &LintArgs, sources: &SourceMap) -> Outcome {
    let mut status = ExitCode::SUCCESS;
    for path in &args.documents {
        let findings = model(path, sources).map_or_else(|error| vec![error], |model| lint(&model));
        render::print(&findings, sources);
        let errors = findings.iter().filter(|finding| finding.severity() == Severity::Error).count();
        let warnings = findings.len() - errors;
        writeln!(io::stdout(), "{}: {errors} errors, {warnings} warnings", path.display())?;
        if errors > 0 {
            status = ExitCode::FAILURE;
        }
    }
    Ok(status)
}
