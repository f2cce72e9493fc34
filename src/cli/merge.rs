//! `kubectl smp merge` and `kubectl smp merge3`: merges of manifests that keep the texts of dest.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};

use super::package::{WriteArgs, schema_of};
use super::target::SchemaArgs;
use super::{Outcome, render};
use crate::diagnostic::Severity;
use crate::merge::{ConflictPolicy, InferKeys, ListOrder, MergeOptions};
use crate::package::{Package, merge2_packages, merge3_packages};
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
    #[arg(long, value_name = "PATH")]
    original: PathBuf,

    /// File or directory with the new version
    #[arg(long, value_name = "PATH")]
    updated: PathBuf,

    /// File or directory with changes of its own, that is merged into
    #[arg(long, value_name = "PATH")]
    dest: PathBuf,

    /// What to do where both sides changed a field: take one side, fail, or only report
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
    /// Take the value of the updated version
    Updated,
    /// Leave the value of dest
    Dest,
    /// Write nothing and fail
    Fail,
    /// Only list the conflicts: write nothing, and fail when there are any
    Report,
}

/// Merges one package over another.
pub(super) fn run(args: &MergeArgs, sources: &SourceMap) -> Outcome {
    args.how.write.recover(&args.dest)?;
    let source = Package::read(&args.source, READING, sources)?;
    let dest = Package::read(&args.dest, READING, sources)?;
    let schema = schema_of(&[&source, &dest], &args.how.schema, sources)?;
    let changed = merge2_packages(&source, &dest, &schema, &args.how.lists.options())?;
    args.how.write.write(&args.dest, &changed)?;
    Ok(ExitCode::SUCCESS)
}

/// Merges the changes between two packages into a third.
pub(super) fn run_three_way(args: &Merge3Args, sources: &SourceMap) -> Outcome {
    args.how.write.recover(&args.dest)?;
    let read = |path| Package::read(path, READING, sources);
    let (original, updated, dest) = (read(&args.original)?, read(&args.updated)?, read(&args.dest)?);
    let schema = schema_of(&[&original, &updated, &dest], &args.how.schema, sources)?;
    let mut options = args.how.lists.options();
    if args.on_conflict == OnConflict::Dest {
        options.conflicts = ConflictPolicy::Dest;
    }
    let changed = merge3_packages(&original, &updated, &dest, &schema, &options)?;
    render::print(&changed.conflicts, sources);
    let stops = matches!(args.on_conflict, OnConflict::Fail | OnConflict::Report);
    if stops && !changed.conflicts.is_empty() {
        let count = changed.conflicts.len();
        let message = format!("{count} conflict{}: nothing was written", if count == 1 { "" } else { "s" });
        render::print_plain(Severity::Error, &message);
        return Ok(ExitCode::FAILURE);
    }
    if args.on_conflict == OnConflict::Report {
        super::package::report(&changed);
        return Ok(ExitCode::SUCCESS);
    }
    args.how.write.write(&args.dest, &changed)?;
    Ok(ExitCode::SUCCESS)
}
