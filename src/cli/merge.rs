//! `kubectl smp merge` and `kubectl smp merge3`: merges of manifests. The comments and layout of
//! dest are kept.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::package::{WriteArgs, read_input, resolve_and_report_schema};
use super::target::SchemaArgs;
use super::{Failure, Outcome, git_driver, render};
use smp_merge::merge::{ConflictPolicy, InferKeys, ListOrder, MergeOptions, NullPolicy};
use smp_overlay::package::{ChangedPackage, ConflictOutput, MarkerLabels, PackageMerge3, merge2_packages};
use smp_text::diagnostic::Severity;
use smp_text::diagnostic::counted;
use smp_text::source::{Reading, SourceMap};

/// Merge manifests into other manifests, keeping comments and layout.
#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// File or directory whose values take precedence, or - (stdin)
    #[arg(value_name = "SRC")]
    source: PathBuf,

    /// File or directory to merge into
    #[arg(value_name = "DEST")]
    dest: PathBuf,

    #[command(flatten)]
    common: CommonArgs,
}

/// Merge upstream changes into customized manifests (three-way merge).
#[derive(Debug, Args)]
#[command(override_usage = "kubectl smp merge3 [OPTIONS] <ORIGINAL> <UPDATED> <DEST>
       kubectl smp merge3 [OPTIONS] --original <PATH> --updated <PATH> --dest <PATH>
       kubectl smp merge3 [OPTIONS] --git-driver <ORIGINAL> <CURRENT> <OTHER> <PATH>")]
pub(super) struct Merge3Args {
    /// Files or directories, instead of --original, --updated and --dest
    ///
    /// `-` is standard input.
    #[arg(
        num_args = 3,
        // With the default action, clap would show `...` after the names.
        action = clap::ArgAction::Set,
        value_names = ["ORIGINAL", "UPDATED", "DEST"],
        conflicts_with_all = ["original", "updated", "dest", "git_driver"]
    )]
    versions: Option<Vec<PathBuf>>,

    /// File or directory with the common ancestor (upstream's old version)
    #[arg(long, value_name = "PATH", required_unless_present_any = ["git_driver", "versions"])]
    original: Option<PathBuf>,

    /// File or directory with upstream's new version
    #[arg(long, value_name = "PATH", required_unless_present_any = ["git_driver", "versions"])]
    updated: Option<PathBuf>,

    /// File or directory with local changes to merge into
    #[arg(long, value_name = "PATH", required_unless_present_any = ["git_driver", "versions"])]
    dest: Option<PathBuf>,

    /// Run as a git merge driver (%O %A %B %P)
    #[arg(
        long,
        num_args = 4,
        value_names = ["ORIGINAL", "CURRENT", "OTHER", "PATH"],
        allow_hyphen_values = true,
        conflicts_with_all = [
            "versions", "original", "updated", "dest", "on_conflict", "output", "output_dir", "in_place", "report",
            "exit_code",
        ]
    )]
    git_driver: Option<Vec<PathBuf>>,

    /// Resolution of conflicts (fields that both sides changed)
    #[arg(long, value_enum, value_name = "RESOLUTION", default_value_t = OnConflict::Updated)]
    on_conflict: OnConflict,

    /// Meaning of null values; `--dialect kyaml` always uses `clear`
    #[arg(long, value_enum, value_name = "MEANING", default_value_t = NullArg::Keep)]
    nulls: NullArg,

    #[command(flatten)]
    common: CommonArgs,
}

/// The flags of both merge commands.
#[derive(Debug, Args)]
struct CommonArgs {
    #[command(flatten)]
    rules: RuleArgs,

    #[command(flatten)]
    write: WriteArgs,

    #[command(flatten)]
    schema: SchemaArgs,
}

#[derive(Debug, Args)]
struct RuleArgs {
    /// Rules for merging lists and maps
    #[arg(long, value_enum, default_value_t = MergeDialect::Auto)]
    dialect: MergeDialect,

    /// Position of new list entries
    ///
    /// By default, `merge3` inserts a new entry after the same neighbor as in the version that added it.
    /// `merge` and `--dialect kyaml` append new entries to the list.
    #[arg(long, value_enum, value_name = "ORDER")]
    list_order: Option<OrderArg>,

    /// Merge keys for lists without a schema; `none` replaces lists
    ///
    /// The first of the keys that all entries have, with distinct values, is used. The built-in keys are
    /// mountPath, devicePath, ip, type, topologyKey, name and containerPort. Default: the built-in keys;
    /// with `--dialect kyaml`, none. `--infer-keys` without a value: the built-in keys, in every dialect.
    #[arg(
        long,
        value_name = "KEYS",
        num_args = 0..=1,
        require_equals = true,
        value_delimiter = ',',
        default_missing_value = ""
    )]
    infer_keys: Option<Vec<String>>,
}

impl RuleArgs {
    fn options(&self) -> MergeOptions {
        let order = self.list_order.map(|order| match order {
            OrderArg::Append => ListOrder::Append,
            OrderArg::Prepend => ListOrder::Prepend,
        });
        let rules = match self.dialect {
            MergeDialect::Auto => MergeOptions::lossless(),
            MergeDialect::Kyaml => MergeOptions::kyaml(ListOrder::Append, InferKeys::Off),
        };
        let infer_keys = self.infer_keys().unwrap_or(rules.infer_keys);
        MergeOptions { list_order: order.or(rules.list_order), infer_keys, ..rules }
    }

    fn infer_keys(&self) -> Option<InferKeys> {
        let keys: Vec<_> = self.infer_keys.as_ref()?.iter().filter(|key| !key.is_empty()).collect();
        Some(match keys.as_slice() {
            [] => InferKeys::common(),
            [none] if *none == "none" => InferKeys::Off,
            keys => InferKeys::Keys(keys.iter().map(|key| key.as_str().into()).collect()),
        })
    }

    /// Returns the YAML reader of the dialect. kyaml compares the text of scalars and reads YAML
    /// like kustomize.
    fn reading(&self) -> Reading {
        match self.dialect {
            MergeDialect::Auto => Reading::Kubectl,
            MergeDialect::Kyaml => Reading::Kustomize,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum MergeDialect {
    /// Merge using the schema, and report conflicts
    Auto,
    /// Exactly like merge2 and merge3 of kyaml (used by kustomize and kpt), including lost changes
    Kyaml,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OrderArg {
    /// After the existing entries
    Append,
    /// Before the existing entries; with `--dialect kyaml`, `merge` also moves changed entries to the front
    Prepend,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnConflict {
    /// Use the value of the updated version
    Updated,
    /// Keep the value of dest
    Dest,
    /// If there is a conflict, fail and write nothing
    Fail,
    /// Preview: report changes and conflicts, write nothing, and fail if there are conflicts
    Report,
    /// Write both values between git's conflict markers
    Markers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum NullArg {
    /// Null is a value; if null conflicts with another value, `--on-conflict=updated` removes the field
    Keep,
    /// Null in the updated version or dest clears the field
    Clear,
}

impl OnConflict {
    /// Returns the output for a conflict.
    fn written_as(self) -> ConflictOutput {
        match self {
            Self::Updated | Self::Dest => ConflictOutput::Resolved,
            Self::Markers => ConflictOutput::Marked,
            Self::Fail | Self::Report => ConflictOutput::Nothing,
        }
    }
}

/// Merges one package into another.
pub(super) fn run(args: &MergeArgs, sources: &SourceMap) -> Outcome {
    args.common.schema.check_no_namespace()?;
    args.common.write.check(&[&args.source, &args.dest])?;
    args.common.write.recover(&args.dest)?;
    let read = |path: &Path| read_input(path, args.common.rules.reading(), sources);
    let (source, dest) = (read(&args.source)?, read(&args.dest)?);
    let schema = resolve_and_report_schema(&[&source, &dest], &args.common.schema, sources)?;
    let changed = merge2_packages(&source, &dest, &schema, &args.common.rules.options())?;
    args.common.write.write(&args.dest, &changed, ConflictOutput::Resolved, sources)
}

/// Merges the changes between two packages into a third one.
pub(super) fn run_three_way(args: &Merge3Args, sources: &SourceMap) -> Outcome {
    args.common.schema.check_no_namespace()?;
    let mut options = args.common.rules.options();
    let reading = args.common.rules.reading();
    if args.nulls == NullArg::Clear {
        options.nulls = NullPolicy::Clear;
    }
    if let Some(names) = &args.git_driver {
        let options = git_driver::DriverOptions { schema: &args.common.schema, merge: &options, reading };
        return git_driver::run(names, &options, sources);
    }
    let [original, updated, dest] = args.versions()?;
    args.common.write.check(&[original, updated, dest])?;
    args.common.write.recover(dest)?;
    let read = |path: &Path| read_input(path, reading, sources);
    let (target, original, updated, dest) = (dest, read(original)?, read(updated)?, read(dest)?);
    let schema = resolve_and_report_schema(&[&updated, &dest, &original], &args.common.schema, sources)?;
    if args.on_conflict == OnConflict::Dest {
        options.conflicts = ConflictPolicy::Dest;
    }
    let merge = PackageMerge3 {
        original: &original,
        updated: &updated,
        dest: &dest,
        schema: &schema,
        options: &options,
        origins: args.common.write.origins(),
    };
    let changed = match args.on_conflict {
        OnConflict::Markers => merge.merge_with_markers(MarkerLabels::SIDES)?,
        _ => merge.merge()?,
    };
    args.conclude(target, changed, sources)
}

impl Merge3Args {
    fn versions(&self) -> Result<[&Path; 3], Failure> {
        let flags = [&self.original, &self.updated, &self.dest];
        let given: Vec<&Path> = match &self.versions {
            Some(versions) => versions.iter().map(PathBuf::as_path).collect(),
            None => flags.into_iter().flatten().map(PathBuf::as_path).collect(),
        };
        given.try_into().map_err(|_| Failure::Usage("--original, --updated and --dest are required".into()))
    }

    /// Writes the result unless the conflicts must prevent it, and prints the report.
    fn conclude(&self, target: &Path, mut changed: ChangedPackage, sources: &SourceMap) -> Outcome {
        let written = self.on_conflict.written_as();
        let count = changed.conflicts.len();
        if written != ConflictOutput::Nothing || (self.on_conflict == OnConflict::Fail && count == 0) {
            return self.common.write.write(target, &changed, written, sources);
        }
        if self.on_conflict == OnConflict::Fail {
            changed.changes.clear();
            changed.origins.iter_mut().for_each(Vec::clear);
        }
        self.common.write.report(&changed, written, sources)?;
        if count == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        render::print_conclusion(
            Severity::Error,
            &format!("{}: nothing was written", counted(count, "conflict")),
        );
        Ok(ExitCode::FAILURE)
    }
}
