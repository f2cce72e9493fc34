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

    /// Where new entries of lists go; by default behind the entry that they follow in their own version, and
    /// with `merge` or `--dialect kyaml` behind all others
    #[arg(long, value_enum)]
    list_order: Option<OrderArg>,

    /// Merge lists that no schema knows by the first of these keys that all their entries have, with values
    /// of their own; `none` replaces such lists. Without KEYS, and by default but for `--dialect kyaml`:
    /// mountPath, devicePath, ip, type, topologyKey, name, containerPort
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
    let read = |path| Package::read(path, args.how.rules.reading(), sources);
    let (source, dest) = (read(&args.source)?, read(&args.dest)?);
    let schema = schema_of(&[&source, &dest], &args.how.schema, sources)?;
    let changed = merge2_packages(&source, &dest, &schema, &args.how.rules.options())?;
    render::print(&changed.conflicts, sources);
    args.how.write.write(&changed)?;
    Ok(ExitCode::SUCCESS)
}

/// Merges the changes between two packages into a third.
pub(super) fn run_three_way(args: &Merge3Args, sources: &SourceMap) -> Outcome {
    let read = |path| Package::read(path, args.how.rules.reading(), sources);
    let (original, updated, dest) = (read(&args.original)?, read(&args.updated)?, read(&args.dest)?);
    let schema = schema_of(&[&original, &updated, &dest], &args.how.schema, sources)?;
    let mut options = args.how.rules.options();
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
        return super::package::report(&changed).map(|()| ExitCode::SUCCESS);
    }
    args.how.write.write(&changed)?;
    Ok(ExitCode::SUCCESS)
}
