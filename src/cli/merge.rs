//! `kubectl smp merge` and `kubectl smp merge3`: merges of manifests that keep the texts of dest.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::package::{WriteArgs, schema_of};
use super::report::conflicts;
use super::target::SchemaArgs;
use super::{Failure, Outcome, git_driver, render};
use crate::diagnostic::Severity;
use crate::merge::{ConflictPolicy, InferKeys, ListOrder, MergeOptions};
use crate::package::{ChangedPackage, MarkerWords, Package, PackageMerge3, Taken, merge2_packages};
use crate::source::{Reading, SourceMap};

/// kyaml's rules go by the text of scalars, and kyaml reads as kustomize does.
const READING: Reading = Reading::Kustomize;

/// Merge manifests, or directories of them, over others, which keep their comments and layout.
#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// File or directory whose values win
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
pub(super) struct Merge3Args {
    /// File or directory with the version that both sides started from
    #[arg(long, value_name = "PATH", required_unless_present = "git_driver")]
    original: Option<PathBuf>,

    /// File or directory with the new version
    #[arg(long, value_name = "PATH", required_unless_present = "git_driver")]
    updated: Option<PathBuf>,

    /// File or directory with changes of its own, that is merged into
    #[arg(long, value_name = "PATH", required_unless_present = "git_driver")]
    dest: Option<PathBuf>,

    /// Merge one file as a merge driver of git, which gives these names: %O %A %B %P
    #[arg(
        long,
        num_args = 4,
        value_names = ["ORIGINAL", "CURRENT", "OTHER", "PATH"],
        allow_hyphen_values = true,
        conflicts_with_all = [
            "original", "updated", "dest", "on_conflict", "output", "output_dir", "in_place", "report",
            "exit_code",
        ]
    )]
    git_driver: Option<Vec<PathBuf>>,

    /// What to do where both sides changed the same
    #[arg(long, value_enum, default_value_t = OnConflict::Updated)]
    on_conflict: OnConflict,

    #[command(flatten)]
    how: HowArgs,
}

/// What both merges take.
#[derive(Debug, Args)]
struct HowArgs {
    #[command(flatten)]
    lists: ListArgs,

    #[command(flatten)]
    write: WriteArgs,

    #[command(flatten)]
    schema: SchemaArgs,
}

#[derive(Debug, Args)]
struct ListArgs {
    /// Where new entries of lists go
    #[arg(long, value_enum, default_value_t = OrderArg::Append)]
    list_order: OrderArg,

    /// Merge lists that no schema knows by the first of these keys that all their entries have
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

impl ListArgs {
    fn options(&self) -> MergeOptions {
        let order = match self.list_order {
            OrderArg::Append => ListOrder::Append,
            OrderArg::Prepend => ListOrder::Prepend,
        };
        MergeOptions::kyaml(order, self.infer_keys())
    }

    fn infer_keys(&self) -> InferKeys {
        let Some(keys) = &self.infer_keys else { return InferKeys::Off };
        let keys: Vec<_> = keys.iter().filter(|key| !key.is_empty()).map(Into::into).collect();
        if keys.is_empty() { InferKeys::usual() } else { InferKeys::Keys(keys) }
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OrderArg {
    /// Behind the entries that are there
    Append,
    /// Before them; with `merge` the entries that the source changes go there, too
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

impl OnConflict {
    /// What stands in the result then.
    fn taken(self) -> Taken {
        match self {
            Self::Updated => Taken::Updated,
            Self::Dest => Taken::Dest,
            Self::Markers => Taken::Markers,
            Self::Fail | Self::Report => Taken::Nothing,
        }
    }
}

/// Merges one package over another.
pub(super) fn run(args: &MergeArgs, sources: &SourceMap) -> Outcome {
    let source = Package::read_everything(&args.source, READING, sources)?;
    let dest = Package::read_everything(&args.dest, READING, sources)?;
    let schema = schema_of(&[&source, &dest], &args.how.schema, sources)?;
    let changed = merge2_packages(&source, &dest, &schema, &args.how.lists.options())?;
    args.how.write.write(&changed, Taken::Updated, sources)
}

/// Merges the changes between two packages into a third.
pub(super) fn run_three_way(args: &Merge3Args, sources: &SourceMap) -> Outcome {
    let mut options = args.how.lists.options();
    let (original, updated, dest) = match (&args.git_driver, &args.original, &args.updated, &args.dest) {
        (Some(names), ..) => {
            let how = git_driver::DriverOptions { schema: &args.how.schema, merge: &options, reading: READING };
            return git_driver::run(names, &how, sources);
        }
        (None, Some(original), Some(updated), Some(dest)) => (original, updated, dest),
        _ => return Err(Failure::Usage("--original, --updated and --dest are needed".into())),
    };
    let read = |path: &Path| Package::read_everything(path, READING, sources);
    let (original, updated, dest) = (read(original)?, read(updated)?, read(dest)?);
    let schema = schema_of(&[&original, &updated, &dest], &args.how.schema, sources)?;
    if args.on_conflict == OnConflict::Dest {
        options.conflicts = ConflictPolicy::Dest;
    }
    let merge = PackageMerge3 {
        original: &original,
        updated: &updated,
        dest: &dest,
        schema: &schema,
        options: &options,
    };
    let changed = match args.on_conflict {
        OnConflict::Markers => merge.merge_with_markers(MarkerWords::SIDES)?,
        _ => merge.merge()?,
    };
    args.conclude(changed, sources)
}

impl Merge3Args {
    /// Writes what was merged, unless conflicts forbid it, and says what happened.
    fn conclude(&self, mut changed: ChangedPackage, sources: &SourceMap) -> Outcome {
        let taken = self.on_conflict.taken();
        let count = changed.conflicts.len();
        if taken != Taken::Nothing || (self.on_conflict == OnConflict::Fail && count == 0) {
            return self.how.write.write(&changed, taken, sources);
        }
        if self.on_conflict == OnConflict::Fail {
            changed.changes.clear();
        }
        self.how.write.report(&changed, taken, sources)?;
        if count == 0 {
            return Ok(ExitCode::SUCCESS);
        }
        render::print_plain(Severity::Error, &format!("{}: nothing was written", conflicts(count)));
        Ok(ExitCode::FAILURE)
    }
}
