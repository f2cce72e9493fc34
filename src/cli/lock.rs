//! `kubectl smp lock`: pin remote references in a lock file.

use std::collections::BTreeMap;
#[cfg(feature = "cluster")]
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
#[cfg(feature = "cluster")]
use clap::ValueEnum;

use super::report::print_line;
use super::select::{SelectArgs, Selection, is_stream, with_target};
use super::target::{ClusterUse, TargetArgs};
use super::{Failure, Outcome, render};
use smp_files::{DiskTree, FileTree as _, replace_file};
#[cfg(feature = "cluster")]
use smp_merge::schema::Gvk;
use smp_merge::schema::is_built_in;
#[cfg(feature = "cluster")]
use smp_overlay::overlay::Built;
use smp_overlay::overlay::{Builder, LOCK_FILE, LockFile, LockSource};
use smp_overlay::schema_chain::LockedSchema;
use smp_text::diagnostic::{Code, Diagnostic, counted, read_error};
use smp_text::source::SourceMap;
use smp_text::yaml;

/// Pin remote references in a lock file.
#[derive(Debug, Args)]
pub(super) struct LockCommand {
    #[command(flatten)]
    select: SelectArgs,

    /// Also pin the cluster's schemas of built custom resources
    ///
    /// Kinds whose CRD is in the build are not pinned. `--schema` does not pin schemas: it selects the
    /// schemas that this build merges with.
    #[cfg(feature = "cluster")]
    #[arg(long = "pin-schemas", alias = "schemas", value_enum, value_name = "SOURCE")]
    schemas: Option<SchemasFrom>,

    #[command(flatten)]
    target: TargetArgs,
}

#[cfg(feature = "cluster")]
#[derive(Debug, Clone, Copy, ValueEnum)]
enum SchemasFrom {
    /// The live cluster
    Cluster,
}

/// Writes the lock files of all targets. All of them are computed before the first one is written.
pub(super) fn run(args: &LockCommand, sources: &SourceMap) -> Outcome {
    if args.target.locked {
        let message = "`--locked` cannot be used with `lock`, which writes the lock file: remove the flag";
        return Err(Failure::Usage(message.into()));
    }
    let mut groups: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    let selection = args.select.select(args.target.bases(), sources)?;
    for target in &selection.targets {
        groups.entry(lock_file(args, target)?).or_default().push(target.clone());
    }
    let mut texts = Vec::new();
    for (file, targets) in groups {
        let lock = lock_of(args, &file, (&selection, &targets), sources)?;
        texts.push((lock.to_text()?, lock, file));
    }
    for (text, _, file) in &texts {
        replace_file(file, text.as_bytes())?;
    }
    for (_, lock, file) in &texts {
        let (remotes, schemas) =
            (counted(lock.remotes.len(), "remote"), counted(lock.schemas.len(), "schema"));
        print_line(&format!("{}: {remotes}, {schemas}", displayed(file).display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the path of the lock file of a target, which may not exist yet.
fn lock_file(args: &LockCommand, target: &Path) -> Result<PathBuf, Failure> {
    if let Some(file) = &args.target.lock_file {
        return Ok(file.clone());
    }
    let target = if is_stream(target) { Path::new(".") } else { target };
    if let Some(file) = LockFile::nearest(&DiskTree, target)? {
        return Ok(file);
    }
    match DiskTree.locate(Path::new(""), target) {
        Ok(found) if found.is_directory() => Ok(found.path().join(LOCK_FILE)),
        // The lock file of a file target is in the directory of the file.
        Ok(_) => Ok(target.with_file_name(LOCK_FILE)),
        Err(error) if !Builder::is_remote(target) => {
            Err(read_error(format_args!("`{}`", target.display()), &error)
                .help("pass a directory that has a kustomization file or manifests")
                .into())
        }
        Err(_) => {
            let message =
                format!("cannot create a lock file for {}: not a local directory", target.display());
            Err(Diagnostic::error(Code::Io, message).help("set the lock file with --lock-file").into())
        }
    }
}

/// Returns a path relative to the working directory if it is below it, otherwise the path itself.
fn displayed(file: &Path) -> &Path {
    let here = DiskTree.working_directory();
    here.ok().and_then(|here| file.strip_prefix(here).ok()).unwrap_or(file)
}

fn lock_of(
    args: &LockCommand,
    file: &Path,
    (selection, targets): (&Selection, &[PathBuf]),
    sources: &SourceMap,
) -> Result<LockFile, Failure> {
    let builder =
        args.target.builder_with_lock(LockSource::Ignore, sources, targets, ClusterUse::Optional)?;
    let (mut built, mut problems) = (Vec::new(), Vec::new());
    for target in targets {
        match selection.build(&builder, target) {
            Ok(mut one) => {
                let warnings = with_target(std::mem::take(&mut one.warnings), target, targets.len());
                render::print_or_reject(&warnings, sources)?;
                built.push(one);
            }
            Err(problem) => problems.extend(with_target([problem], target, targets.len())),
        }
    }
    if !problems.is_empty() {
        return Err(Failure::Problems(problems));
    }
    let remotes = builder.used_references();
    #[cfg(feature = "cluster")]
    if let Some(SchemasFrom::Cluster) = args.schemas {
        return Ok(LockFile { remotes, schemas: schemas_of_cluster(args, &built, sources)? });
    }
    Ok(LockFile { remotes, schemas: kept_schemas(file, sources)? })
}

/// Returns the schemas in an existing lock file, without those of built-in kinds. A file that is
/// not a lock file or has a newer version is an error, so that it is not overwritten.
fn kept_schemas(file: &Path, sources: &SourceMap) -> smp_text::diagnostic::Result<Vec<LockedSchema>> {
    if !DiskTree.contains(file) {
        return Ok(Vec::new());
    }
    let read = DiskTree
        .read(file)
        .map_err(|error| read_error(format_args!("`{}`", displayed(file).display()), &error));
    let schemas = read
        .and_then(yaml::decode)
        .and_then(|text| LockFile::read_schemas(sources, sources.add(displayed(file), text)));
    let (built_in, kept): (Vec<_>, Vec<_>) = schemas
        .map_err(|problem| {
            problem.help("remove the file to create a new lock file").note("nothing was written")
        })?
        .into_iter()
        .partition(|schema| is_built_in(&schema.gvk));
    for LockedSchema { gvk, .. } in built_in {
        render::print_note(&format!("the schema of {gvk} was dropped: the kind is built into Kubernetes"));
    }
    Ok(kept)
}

#[cfg(feature = "cluster")]
fn schemas_of_cluster(
    args: &LockCommand,
    built: &[Built],
    sources: &SourceMap,
) -> smp_text::diagnostic::Result<Vec<LockedSchema>> {
    use smp_cluster::{Cluster, locked_schemas};

    if args.target.schema.offline {
        return Err(Diagnostic::error(Code::Usage, "cannot fetch schemas from the cluster offline")
            .help("remove --offline or --pin-schemas"));
    }
    let kinds = custom_kinds(built);
    if kinds.is_empty() {
        return Ok(Vec::new());
    }
    let cluster = Cluster::connect(&args.target.schema.connect.options(sources))?;
    let locked = locked_schemas(&cluster, &kinds)?;
    let is_locked = |gvk: &&Gvk| locked.iter().any(|schema| schema.gvk == **gvk);
    let unknown: Vec<_> = kinds.iter().filter(|gvk| !is_locked(gvk)).map(unknown_kind).collect();
    render::print(&unknown, sources);
    Ok(locked)
}

#[cfg(feature = "cluster")]
fn unknown_kind(gvk: &Gvk) -> Diagnostic {
    let message = format!("{gvk} was not pinned: the cluster has no schema of it");
    Diagnostic::warning(Code::NoSchema, message)
        .help("install its CRD in the cluster, or add the CRD to the build")
}

/// Returns the built kinds that neither the embedded schema nor a CRD of the build defines.
#[cfg(feature = "cluster")]
fn custom_kinds(built: &[Built]) -> BTreeSet<Gvk> {
    use smp_merge::schema::openapi::{is_crd, read_crd};

    let resources = || built.iter().flat_map(|built| &built.resources);
    let crds = resources().filter(|resource| is_crd(resource.node()));
    let defined: BTreeSet<Gvk> =
        crds.filter_map(|crd| read_crd(crd.node()).ok()).flat_map(|model| model.kinds.into_keys()).collect();
    let kinds = resources().map(|resource| resource.id().gvk.clone());
    kinds.filter(|gvk| !is_built_in(gvk) && !defined.contains(gvk)).collect()
}
