//! `kubectl smp edit`: edits of kustomization files with the commands of `kustomize edit`.

mod add;
mod remove;
mod set;
mod write;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use self::add::AddCommand;
use self::remove::RemoveCommand;
use self::set::SetCommand;
use self::write::EditTargets;
pub(super) use self::write::reader;
use super::package::print;
use super::{Failure, Outcome};
use smp_overlay::edit::{Edit, EditOptions};
use smp_text::source::SourceMap;

/// Edit kustomization files.
#[derive(Debug, Args)]
pub(super) struct EditArgs {
    #[command(subcommand)]
    command: EditCommand,
}

#[derive(Debug, Subcommand)]
enum EditCommand {
    /// Add an item to the kustomization
    #[command(subcommand)]
    Add(AddCommand),
    /// Set the value of a field of the kustomization
    #[command(subcommand)]
    Set(SetCommand),
    /// Remove items from the kustomization
    #[command(subcommand)]
    Remove(RemoveCommand),
    /// Replace deprecated fields like `kustomize edit fix`
    Fix(FixArgs),
    /// List the built-in plugins of kustomize
    #[command(name = "alpha-list-builtin-plugin", hide = true)]
    ListBuiltinPlugins,
}

#[derive(Debug, Args)]
struct FixArgs {
    #[command(flatten)]
    targets: EditTargets,
}

/// The built-in plugins of kustomize, in its order.
const BUILTIN_PLUGINS: [&str; 18] = [
    "ConfigMapGenerator",
    "IAMPolicyGenerator",
    "SecretGenerator",
    "HelmChartInflationGenerator",
    "ReplicaCountTransformer",
    "AnnotationsTransformer",
    "ImageTagTransformer",
    "PatchStrategicMergeTransformer",
    "PatchTransformer",
    "SuffixTransformer",
    "ValueAddTransformer",
    "HashTransformer",
    "LabelTransformer",
    "NamespaceTransformer",
    "PatchJson6902Transformer",
    "PrefixSuffixTransformer",
    "PrefixTransformer",
    "ReplacementTransformer",
];

/// Runs an edit command.
pub(super) fn run(args: &EditArgs, options: EditOptions, sources: &SourceMap) -> Outcome {
    let (edit, targets) = match &args.command {
        EditCommand::Add(command) => command.request(),
        EditCommand::Set(command) => command.request(),
        EditCommand::Remove(command) => command.request(),
        EditCommand::Fix(args) => (Ok(Edit::Fix), &args.targets),
        EditCommand::ListBuiltinPlugins => {
            print(&format!("Builtin plugins:\n\n * {}\n", BUILTIN_PLUGINS.join("\n * ")))?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    let edit = edit.map_err(Failure::UsageAt)?;
    targets.edit(&edit, options, sources)
}
