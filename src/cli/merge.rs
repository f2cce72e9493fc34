//! `kubectl smp merge` and `kubectl smp merge3`: merges of manifests that keep the texts of dest.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::package::{WriteArgs, read_input, schema_of};
use super::target::SchemaArgs;
use super::{Failure, Outcome, git_driver, render};
use smp_merge::merge::{ConflictPolicy, InferKeys, ListOrder, MergeOptions, NullPolicy};
use smp_overlay::package::{ChangedPackage, ConflictWriting, MarkerWords, PackageMerge3, merge2_packages};
use smp_text::diagnostic::Severity;
use smp_text::diagnostic::counted;
use smp_text::source::{Reading, SourceMap};

/// Merge manifests, or directories of them, over others, which keep their comments and layout.
#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// File or directory whose values win, or - for standard input
    #[arg(value_name = "SRC")]
    source: PathBuf,

    /// File or directory that is merged into
    #[arg(value_name = "DEST")]
    dest: PathBuf,

    #[command(flatten)]
    how: HowArgs,
}

/// Merge what changed between two versions of manifests into a third.
#[derive(Debug, Args)]
#[command(override_usage = "kubectl smp merge3 [OPTIONS] <ORIGINAL> <UPDATED> <DEST>
       kubectl smp merge3 [OPTIONS] --original <PATH> --updated <PATH> --dest <PATH>
       kubectl smp merge3 [OPTIONS] --git-driver <ORIGINAL> <CURRENT> <OTHER> <PATH>")]
pub(super) struct Merge3Args {
    /// The three versions, instead of --original, --updated and --dest; - for standard input
    #[arg(
        num_args = 3,
        // Appending, the default, would be shown as `...` behind the names.
        action = clap::ArgAction::Set,
        value_names = ["ORIGINAL", "UPDATED", "DEST"],
        conflicts_with_all = ["original", "updated", "dest", "git_driver"]
    )]
    versions: Option<Vec<PathBuf>>,

    /// File or directory with the version that both sides started from
    #[arg(long, value_name = "PATH", required_unless_present_any = ["git_driver", "versions"])]
    original: Option<PathBuf>,

    /// File or directory with the new version
    #[arg(long, value_name = "PATH", required_unless_present_any = ["git_driver", "versions"])]
    updated: Option<PathBuf>,

    /// File or directory with changes of its own, that is merged into
    #[arg(long, value_name = "PATH", required_unless_present_any = ["git_driver", "versions"])]
    dest: Option<PathBuf>,

    /// Merge one file as a merge driver of git, which gives these names: %O %A %B %P
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

    /// What to do where both sides changed the same
    #[arg(long, value_enum, default_value_t = OnConflict::Updated)]
    on_conflict: OnConflict,

    /// What null means; `--dialect kyaml` always clears
    #[arg(long, value_enum, default_value_t = NullArg::Keep)]
    nulls: NullArg,

    #[command(flatten)]
    how: HowArgs,
}

/// What both merges take.
#[derive(Debug, Args)]
struct HowArgs {
    #[command(flatten)]
    rules: RuleArgs,

    #[command(flatten)]
    write: WriteArgs,

    #[command(flatten)]
    schema: SchemaArgs,
}

#[derive(Debug, Args)]
struct RuleArgs {
    /// By whose rules to merge
    #[arg(long, value_enum, default_value_t = MergeDialect::Auto)]
    dialect: MergeDialect,

    /// Where new list entries go
    ///
    /// By default behind the entry that they follow in their own version, and with `merge` or `--dialect kyaml` behind
    /// all others.
    #[arg(long, value_enum)]
    list_order: Option<OrderArg>,

    /// Merge keys of lists without a schema; `none` replaces such lists
    ///
    /// The first key counts that all entries have, with distinct values. Without KEYS, and by default except for
    /// `--dialect kyaml`: mountPath, devicePath, ip, type, topologyKey, name, containerPort.
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
            [] => InferKeys::usual(),
            [none] if *none == "none" => InferKeys::Off,
            keys => InferKeys::Keys(keys.iter().map(|key| key.as_str().into()).collect()),
        })
    }

    /// As whose texts manifests are read. kyaml's rules go by the text of scalars, and kyaml reads as
    /// kustomize does.
    fn reading(&self) -> Reading {
        match self.dialect {
            MergeDialect::Auto => Reading::Kubectl,
            MergeDialect::Kyaml => Reading::Kustomize,
        }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum MergeDialect {
    /// Nothing is lost: by what changed and by the schema, and what both sides changed is listed
    Auto,
    /// As kyaml's merge2 and merge3, the library behind kustomize and kpt, its losses included
    Kyaml,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OrderArg {
    /// Behind the entries that are there
    Append,
    /// Before them; with `merge --dialect kyaml` the entries that the source changes go there, too
    Prepend,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum OnConflict {
    /// Take what the updated version has
    Updated,
    /// Leave what dest has
    Dest,
    /// Write nothing and fail
    Fail,
    /// Only report: write nothing, and fail when there are conflicts
    Report,
    /// Write both into the text, between markers as git has them
    Markers,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum NullArg {
    /// A value while only one side changed the field; it clears the field where both did
    Keep,
    /// Null in the updated version or in dest clears the field
    Clear,
}

impl OnConflict {
    /// What is written then.
    fn written(self) -> ConflictWriting {
        match self {
            Self::Updated | Self::Dest => ConflictWriting::Chosen,
            Self::Markers => ConflictWriting::Marked,
            Self::Fail | Self::Report => ConflictWriting::Nothing,
        }
    }
}

/// Merges one package over another.
pub(super) fn run(args: &MergeArgs, sources: &SourceMap) -> Outcome {
    args.how.schema.check_no_namespace()?;
    args.how.write.check(&[&args.source, &args.dest])?;
    args.how.write.recover(&args.dest)?;
    let read = |path: &Path| read_input(path, args.how.rules.reading(), sources);
    let (source, dest) = (read(&args.source)?, read(&args.dest)?);
    let schema = schema_of(&[&source, &dest], &args.how.schema, sources)?;
    let changed = merge2_packages(&source, &dest, &schema, &args.how.rules.options())?;
    args.how.write.write(&args.dest, &changed, ConflictWriting::Chosen, sources)
}

/// Merges the changes between two packages into a third.
pub(super) fn run_three_way(args: &Merge3Args, sources: &SourceMap) -> Outcome {
    args.how.schema.check_no_namespace()?;
    let mut options = args.how.rules.options();
    let reading = args.how.rules.reading();
    if args.nulls == NullArg::Clear {
        options.nulls = NullPolicy::Clear;
    }
    if let Some(names) = &args.git_driver {
        let how = git_driver::DriverOptions { schema: &args.how.schema, merge: &options, reading };
        return git_driver::run(names, &how, sources);
    }
    let [original, updated, dest] = args.versions()?;
    args.how.write.check(&[original, updated, dest])?;
    args.how.write.recover(dest)?;
    let read = |path: &Path| read_input(path, reading, sources);
    let (target, original, updated, dest) = (dest, read(original)?, read(updated)?, read(dest)?);
    let schema = schema_of(&[&updated, &dest, &original], &args.how.schema, sources)?;
    if args.on_conflict == OnConflict::Dest {
        options.conflicts = ConflictPolicy::Dest;
    }
    let merge = PackageMerge3 {
        original: &original,
        updated: &updated,
        dest: &dest,
        schema: &schema,
        options: &options,
        origins: args.how.write.origins(),
    };
    let changed = match args.on_conflict {
        OnConflict::Markers => merge.merge_with_markers(MarkerWords::SIDES)?,
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
        given.try_into().map_err(|_| Failure::Usage("--original, --updated and --dest are needed".into()))
    }

    /// Writes what was merged, unless conflicts forbid it, and says what happened.
    fn conclude(&self, target: &Path, mut changed: ChangedPackage, sources: &SourceMap) -> Outcome {
        let written = self.on_conflict.written();
        let count = changed.conflicts.len();
        if written != ConflictWriting::Nothing || (self.on_conflict == OnConflict::Fail && count == 0) {
            return self.how.write.write(target, &changed, written, sources);
        }
        if self.on_conflict == OnConflict::Fail {
            changed.changes.clear();
            changed.origins.iter_mut().for_each(Vec::clear);
        }
        self.how.write.report(&changed, written, sources)?;
        if count == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        render::print_plain(Severity::Error, &format!("{}: nothing was written", counted(count, "conflict")));
        Ok(ExitCode::FAILURE)
    }
}
