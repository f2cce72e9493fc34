//! What the commands on packages share: where they write, and by which schema they merge.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

pub(super) use super::report::print;
use super::report::{ReportTo, json_report};
use super::target::SchemaArgs;
use super::{Failure, Outcome, render};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::files::{DiskTree, FileTree as _, replace_file};
use crate::overlay::ChainUse;
use crate::package::{ChangedPackage, ConflictWriting, Package, recover_target, write_copy, write_files};
use crate::schema::{Gvk, Schema};
use crate::source::SourceMap;

/// The exit status of a merge that met conflicts, when that is asked for.
const WITH_CONFLICTS: u8 = 3;

/// Where the result goes, and what is told of it.
#[derive(Debug, Args)]
pub(super) struct WriteArgs {
    /// Write the manifests to a file instead of printing them
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["in_place", "output_dir"])]
    output: Option<PathBuf>,

    /// Write the whole result, all files of it, to a directory that is new or empty
    #[arg(long, value_name = "DIR", conflicts_with = "in_place")]
    output_dir: Option<PathBuf>,

    /// Change the files themselves: all of them, or none when something fails
    #[arg(long)]
    in_place: bool,

    /// Form of the report, which goes to stdout where the result does not, else to stderr
    #[arg(long, value_enum, default_value_t = ReportForm::Text)]
    report: ReportForm,

    /// Exit with status 3 when there were conflicts
    #[arg(long)]
    exit_code: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportForm {
    /// For people
    Text,
    /// For programs: one line of JSON
    Json,
}

impl WriteArgs {
    /// Ends what a stopped program began to change, before the files are read.
    pub(super) fn recover(&self, target: &Path) -> Result<()> {
        if self.in_place { recover_target(target) } else { Ok(()) }
    }

    /// Writes or prints the result, and says what changed.
    pub(super) fn write(
        &self,
        target: &Path,
        changed: &ChangedPackage,
        written: ConflictWriting,
        sources: &SourceMap,
    ) -> Outcome {
        render::refuse(&changed.warnings)?;
        render::refuse(&changed.conflicts.iter().map(|one| one.diagnostic(written)).collect::<Vec<_>>())?;
        if self.in_place {
            write_files(target, &changed.files)?;
        } else if let Some(path) = &self.output {
            replace_file(path, changed.stream().as_bytes())?;
        } else if let Some(directory) = &self.output_dir {
            must_be_empty(directory)?;
            write_copy(&changed.files, directory)?;
        } else {
            print(&changed.stream())?;
        }
        self.report(changed, written, sources)?;
        let is_told = self.exit_code && !changed.conflicts.is_empty();
        Ok(if is_told { ExitCode::from(WITH_CONFLICTS) } else { ExitCode::SUCCESS })
    }

    /// Says what changed, or would change.
    pub(super) fn report(
        &self,
        changed: &ChangedPackage,
        written: ConflictWriting,
        sources: &SourceMap,
    ) -> std::result::Result<(), Failure> {
        render::print(&changed.warnings, sources);
        let has_whole = self.in_place || self.output_dir.is_some();
        let to = match &self.output {
            None if !has_whole => ReportTo::Stderr,
            _ => ReportTo::Stdout,
        };
        let others = if has_whole { None } else { Some("not printed, since it is no manifest") };
        let text = match self.report {
            ReportForm::Text => return to.tell(changed, written, others, sources),
            ReportForm::Json => json_report(changed, written, sources).map_err(anyhow::Error::from)? + "\n",
        };
        match to {
            ReportTo::Stdout => print(&text),
            ReportTo::Stderr => {
                // When stderr is closed there is nobody left to tell.
                let _ = io::stderr().lock().write_all(text.as_bytes());
                Ok(())
            }
        }
    }
}

/// A result that is mixed with other files would not be one.
fn must_be_empty(directory: &Path) -> Result<()> {
    let has_entries = DiskTree.list(directory).is_ok_and(|entries| !entries.is_empty());
    if !has_entries {
        return Ok(());
    }
    Err(Diagnostic::error(Code::Io, format!("{} is not empty", directory.display()))
        .help("name a new directory, or use --in-place to change dest itself"))
}

/// The schema for the manifests of packages, CRDs among them included.
pub(super) fn schema_of(packages: &[&Package], args: &SchemaArgs, sources: &SourceMap) -> Result<Schema> {
    let mut chain = args.chain(sources, ChainUse::Manifests)?;
    let mut own = Schema::none();
    for package in packages {
        package.add_types(&mut own);
    }
    let kinds: Vec<Gvk> =
        packages.iter().flat_map(|p| p.kinds()).filter(|gvk| own.kind(gvk).is_none()).collect();
    let mut schema = chain.resolve(&kinds)?;
    render::print(&chain.take_warnings(), sources);
    // Kustomization files and the like, which are no kinds of a cluster.
    for (name, graph) in Schema::kustomize().graphs() {
        schema.push_back(name, graph.clone());
    }
    for (name, graph) in own.graphs() {
        schema.push_types(name, graph.clone());
    }
    Ok(schema)
}
