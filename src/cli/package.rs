//! What the commands on packages share: where they write, and by which schema they merge.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::document::{read_stdin, stdin_twice};
pub(super) use super::report::print;
use super::report::{ReportTo, json_report};
use super::target::SchemaArgs;
use super::{Failure, Outcome, render};
use smp_files::{DiskTree, FileTree as _, Located, replace_file};
use smp_merge::schema::{Gvk, Schema, kustomization_files};
use smp_overlay::overlay::ChainUse;
use smp_overlay::package::{
    ChangedPackage, ConflictWriting, OriginKeeping, Package, recover_target, write_copy, write_files,
};
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result, Warned};
use smp_text::source::{Reading, SourceMap};

/// The exit status of a merge with conflicts, under `--in-place` or `--exit-code`.
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

    /// Change the files themselves: all of them, or none when something fails. Exit status 3 when there were conflicts
    #[arg(long)]
    in_place: bool,

    /// Form of the report, which goes to stdout where the result does not, else to stderr
    #[arg(long, value_enum, default_value_t = ReportForm::Text)]
    report: ReportForm,

    /// Exit with status 3 when there were conflicts, also without --in-place
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
    /// Refuses places for the result that cannot be meant. The inputs are directories or files, dest the last one.
    pub(super) fn check(&self, inputs: &[&Path]) -> std::result::Result<(), Failure> {
        let stdin = |input: &&&Path| **input == Path::new("-");
        if inputs.iter().filter(stdin).count() > 1 {
            return Err(stdin_twice());
        }
        if self.in_place && inputs.last().is_some_and(|dest| stdin(&dest)) {
            return Err(Failure::Usage("standard input cannot be changed in place".into()));
        }
        let is_directory = |path: &&&Path| DiskTree.is_directory(path);
        let usage = |message: String| Err(Failure::Usage(message));
        if let Some(directory) = inputs.iter().find(is_directory)
            && let Some(dest) = inputs.last().filter(|dest| DiskTree.has(dest) && !is_directory(dest))
        {
            let (dest, directory) = (dest.display(), directory.display());
            return usage(format!(
                "{dest} is a file, and {directory} is a directory: name a directory as dest"
            ));
        }
        if let Some(path) = &self.output {
            let name = path.display();
            if path.to_string_lossy().ends_with('/') || DiskTree.is_directory(path) {
                return usage(format!("{name} is a directory: use --output-dir {name}"));
            }
            if path.extension().is_none() && path.components().count() == 1 && !DiskTree.has(path) {
                return usage(format!(
                    "-o takes a file: to write to one that is called {name}, say ./{name}"
                ));
            }
        }
        match inputs.iter().find(|input| self.output_dir.as_ref().is_some_and(|out| is_below(out, input))) {
            Some(input) => usage(format!("--output-dir is inside of {}, which is merged", input.display())),
            None => Ok(()),
        }
    }

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
        let is_told = (self.exit_code || self.in_place) && !changed.conflicts.is_empty();
        Ok(if is_told { ExitCode::from(WITH_CONFLICTS) } else { ExitCode::SUCCESS })
    }

    /// Whether the report says where each part of the result comes from.
    pub(super) fn origins(&self) -> OriginKeeping {
        match self.report {
            ReportForm::Text => OriginKeeping::Dropped,
            ReportForm::Json => OriginKeeping::Kept,
        }
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

/// Reads a file or directory, or standard input for `-`.
pub(super) fn read_input(path: &Path, reading: Reading, sources: &SourceMap) -> Result<Package> {
    if path == Path::new("-") {
        return Package::of_text("<stdin>", read_stdin()?, reading, sources);
    }
    Package::read_everything(path, reading, sources)
}

/// Whether a path, of which the end need not be there, is a directory or below it.
fn is_below(path: &Path, directory: &Path) -> bool {
    let real = |path: &Path| DiskTree.locate(Path::new(""), path).map(Located::into_path).ok();
    let Some(directory) = real(directory).filter(|real| DiskTree.is_directory(real)) else { return false };
    let there = path.ancestors().map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path });
    let nearest = there.into_iter().find_map(real);
    nearest.is_some_and(|path| path.starts_with(directory))
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

/// The schema for the manifests of packages: the one that was asked for, then the CRDs among them, those of the
/// first package before the others, then what else there is. What is odd about it is said.
///
/// # Errors
/// A chosen source does not answer; `--strict` refuses what is odd.
pub(super) fn schema_of(packages: &[&Package], args: &SchemaArgs, sources: &SourceMap) -> Result<Schema> {
    let Warned { value: schema, warnings } = looked_up(packages, args, sources)?;
    render::print_before(&warnings, sources).map_err(|refused| {
        let mut problems = Problems::default();
        for problem in refused {
            problems.add(problem.into_error());
        }
        problems.or(()).err().unwrap_or_else(|| Diagnostic::error(Code::Summary, "refused by --strict"))
    })?;
    Ok(schema)
}

/// As [`schema_of`], and says nothing.
pub(super) fn looked_up(
    packages: &[&Package],
    args: &SchemaArgs,
    sources: &SourceMap,
) -> Result<Warned<Schema>> {
    let file = args.file(sources)?;
    let mut chain = args.chain_with(file.clone(), ChainUse::Manifests, sources)?;
    let mut own = Schema::none();
    // Each goes before those that are there.
    packages.iter().rev().for_each(|package| package.add_types(&mut own));
    own.push_back("kustomization", kustomization_files());
    let kinds = packages.iter().flat_map(|package| package.kinds());
    let mut schema = chain.resolve(&kinds.filter(|gvk| own.kind(gvk).is_none()).collect::<Vec<Gvk>>())?;
    let warnings = chain.take_warnings();
    for (name, graph) in own.graphs().rev() {
        schema.push_types(name, graph.clone());
    }
    if let Some(file) = file {
        schema.push_types("file", file);
    }
    Ok(Warned { value: schema, warnings })
}
