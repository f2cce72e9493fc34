//! Flags and schema lookup of the commands for packages.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use super::document::{read_stdin, stdin_used_twice};
use super::format::ReportFormat;
pub(super) use super::report::print;
use super::report::{ReportTo, json_report};
use super::target::SchemaArgs;
use super::{Failure, Outcome, render};
use smp_files::{DiskTree, FileTree as _, Located, replace_file};
use smp_merge::schema::{Gvk, Schema, kustomization_types};
use smp_overlay::overlay::ChainPurpose;
use smp_overlay::package::{
    ChangedPackage, ConflictOutput, OriginRecording, Package, recover_target, write_copy, write_files,
};
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result, WithWarnings};
use smp_text::source::{Reading, SourceMap};

/// The exit status of a merge with conflicts, under `--in-place` or `--exit-code`.
const WITH_CONFLICTS: u8 = 3;

/// The flags for the result and the report.
#[derive(Debug, Args)]
pub(super) struct WriteArgs {
    /// Write the manifests to a file instead of standard output
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["in_place", "output_dir"])]
    output: Option<PathBuf>,

    /// Write the result to a new or empty directory
    #[arg(long, value_name = "DIR", conflicts_with = "in_place")]
    output_dir: Option<PathBuf>,

    /// Update files in place; conflicts exit with status 3
    ///
    /// Either all files are updated, or none if an error occurs.
    #[arg(long)]
    in_place: bool,

    /// Format of the list of changes and conflicts
    ///
    /// The list is printed to stderr if the result goes to stdout.
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = ReportFormat::Text)]
    report: ReportFormat,

    /// Exit with status 3 if there were conflicts
    ///
    /// This is the default with --in-place.
    #[arg(long)]
    exit_code: bool,
}

impl WriteArgs {
    /// Rejects combinations of inputs and outputs that are not possible. `inputs` are files or
    /// directories; the last one is dest.
    pub(super) fn check(&self, inputs: &[&Path]) -> std::result::Result<(), Failure> {
        let stdin = |input: &&&Path| **input == Path::new("-");
        if inputs.iter().filter(stdin).count() > 1 {
            return Err(stdin_used_twice());
        }
        if self.in_place && inputs.last().is_some_and(|dest| stdin(&dest)) {
            return Err(Failure::Usage("standard input cannot be changed in place".into()));
        }
        let is_directory = |path: &&&Path| DiskTree.is_directory(path);
        let usage = |message: String| Err(Failure::Usage(message));
        if let Some(directory) = inputs.iter().find(is_directory)
            && let Some(dest) = inputs.last().filter(|dest| DiskTree.contains(dest) && !is_directory(dest))
        {
            let (dest, directory) = (dest.display(), directory.display());
            return usage(format!(
                "cannot merge the directory {directory} into the file {dest}: use a directory as dest"
            ));
        }
        if let Some(path) = &self.output {
            let name = path.display();
            if path.to_string_lossy().ends_with('/') || DiskTree.is_directory(path) {
                return usage(format!("{name} is a directory: use --output-dir {name}"));
            }
            if path.extension().is_none() && path.components().count() == 1 && !DiskTree.contains(path) {
                return usage(format!(
                    "`--output` takes a file: use ./{name} to write to a file of that name"
                ));
            }
        }
        match inputs.iter().find(|input| self.output_dir.as_ref().is_some_and(|out| is_below(out, input))) {
            Some(input) => {
                usage(format!("--output-dir is inside the input {}: use another directory", input.display()))
            }
            None => Ok(()),
        }
    }

    /// With `--in-place`, finishes or rolls back an interrupted write before the files are read.
    pub(super) fn recover(&self, target: &Path) -> Result<()> {
        if self.in_place { recover_target(target) } else { Ok(()) }
    }

    /// Writes or prints the result and the report.
    pub(super) fn write(
        &self,
        target: &Path,
        changed: &ChangedPackage,
        written: ConflictOutput,
        sources: &SourceMap,
    ) -> Outcome {
        render::reject_if_strict(&changed.warnings)?;
        render::reject_if_strict(
            &changed.conflicts.iter().map(|one| one.diagnostic(written)).collect::<Vec<_>>(),
        )?;
        if self.in_place {
            write_files(target, &changed.files)?;
        } else if let Some(path) = &self.output {
            replace_file(path, changed.stream().as_bytes())?;
        } else if let Some(directory) = &self.output_dir {
            check_empty(directory)?;
            write_copy(&changed.files, directory)?;
        } else {
            print(&changed.stream())?;
        }
        self.report(changed, written, sources)?;
        let is_status_3 = (self.exit_code || self.in_place) && !changed.conflicts.is_empty();
        Ok(if is_status_3 { ExitCode::from(WITH_CONFLICTS) } else { ExitCode::SUCCESS })
    }

    /// Returns `Enabled` if the report lists the origin of each part of the result.
    pub(super) fn origins(&self) -> OriginRecording {
        match self.report {
            ReportFormat::Text => OriginRecording::Disabled,
            ReportFormat::Json => OriginRecording::Enabled,
        }
    }

    /// Prints the changes that were made, or would be made.
    pub(super) fn report(
        &self,
        changed: &ChangedPackage,
        written: ConflictOutput,
        sources: &SourceMap,
    ) -> std::result::Result<(), Failure> {
        render::print(&changed.warnings, sources);
        let has_whole = self.in_place || self.output_dir.is_some();
        let to = match &self.output {
            None if !has_whole => ReportTo::Stderr,
            _ => ReportTo::Stdout,
        };
        let others = if has_whole { None } else { Some("not printed, because it is not a manifest") };
        let text = match self.report {
            ReportFormat::Text => return to.print(changed, written, others, sources),
            ReportFormat::Json => json_report(changed, written, sources).map_err(anyhow::Error::from)? + "\n",
        };
        match to {
            ReportTo::Stdout => print(&text),
            ReportTo::Stderr => {
                // If stderr is closed, the error cannot be printed.
                let _ = io::stderr().lock().write_all(text.as_bytes());
                Ok(())
            }
        }
    }
}

/// Reads a file or directory, or standard input for `-`.
pub(super) fn read_input(path: &Path, reading: Reading, sources: &SourceMap) -> Result<Package> {
    if path == Path::new("-") {
        return Package::from_text("<stdin>", read_stdin()?, reading, sources);
    }
    Package::read_everything(path, reading, sources)
}

/// Returns true if a path, which may not exist yet, is the directory or below it.
fn is_below(path: &Path, directory: &Path) -> bool {
    let real = |path: &Path| DiskTree.locate(Path::new(""), path).map(Located::into_path).ok();
    let Some(directory) = real(directory).filter(|real| DiskTree.is_directory(real)) else { return false };
    let ancestors =
        path.ancestors().map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path });
    let nearest = ancestors.into_iter().find_map(real);
    nearest.is_some_and(|path| path.starts_with(directory))
}

/// Checks that a directory has no entries, since the result must not be mixed with other files.
fn check_empty(directory: &Path) -> Result<()> {
    let has_entries = DiskTree.list(directory).is_ok_and(|entries| !entries.is_empty());
    if !has_entries {
        return Ok(());
    }
    Err(Diagnostic::error(Code::Io, format!("{} is not empty", directory.display()))
        .help("use a new directory, or --in-place to update dest"))
}

/// Resolves the schema for the manifests of packages and prints the warnings.
///
/// The schema of `--schema FILE` takes precedence, followed by the CRDs of the packages (those of
/// the first package before those of the others), and all other sources.
///
/// # Errors
/// The selected source does not respond, or there are warnings under `--strict`.
pub(super) fn resolve_and_report_schema(
    packages: &[&Package],
    args: &SchemaArgs,
    sources: &SourceMap,
) -> Result<Schema> {
    let WithWarnings { value: schema, warnings } = resolve_schema(packages, args, sources)?;
    render::print_or_reject(&warnings, sources).map_err(|rejected| {
        let mut problems = Problems::default();
        for problem in rejected {
            problems.add(problem.into_error());
        }
        problems
            .into_result(())
            .err()
            .unwrap_or_else(|| Diagnostic::error(Code::Summary, "warnings are errors because of --strict"))
    })?;
    Ok(schema)
}

/// Resolves the schema like [`resolve_and_report_schema`], and returns the warnings.
pub(super) fn resolve_schema(
    packages: &[&Package],
    args: &SchemaArgs,
    sources: &SourceMap,
) -> Result<WithWarnings<Schema>> {
    let file = args.file(sources)?;
    let mut chain = args.chain_with(file.clone(), ChainPurpose::Manifests, sources)?;
    let mut own = Schema::empty();
    // Each package is inserted before the previous ones.
    packages.iter().rev().for_each(|package| package.add_types(&mut own));
    own.push_back("kustomization", kustomization_types());
    let kinds = packages.iter().flat_map(|package| package.kinds());
    let mut schema = chain.resolve(&kinds.filter(|gvk| own.kind(gvk).is_none()).collect::<Vec<Gvk>>())?;
    let warnings = chain.take_warnings();
    for (name, graph) in own.graphs().rev() {
        schema.push_types(name, graph.clone());
    }
    if let Some(file) = file {
        schema.push_types("file", file);
    }
    Ok(WithWarnings { value: schema, warnings })
}
