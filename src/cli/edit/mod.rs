//! `kubectl smp edit`: edits of kustomization files with the commands of `kustomize edit`.

mod add;
mod ignored;
mod lookup;
mod proof;
mod relocate;
mod remove;
mod set;
mod write;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use self::add::AddCommand;
use self::ignored::IgnoredArgs;
use self::relocate::MoveArgs;
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
    /// Move a base or file, and update paths to it
    ///
    /// All kustomizations of the git repository, or else of the working directory, are updated. Not part of
    /// kustomize.
    Move(MoveArgs),
    /// List the built-in plugins of kustomize
    #[command(name = "alpha-list-builtin-plugin", hide = true)]
    ListBuiltinPlugins(IgnoredArgs),
}

#[derive(Debug, Args)]
struct FixArgs {
    /// Also convert `vars` to `replacements`
    ///
    /// This changes the files that use them.
    #[arg(long)]
    vars: bool,

    #[command(flatten)]
    targets: EditTargets,

    #[command(flatten)]
    ignored: IgnoredArgs,
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
        EditCommand::Add(command) => command.request(options),
        EditCommand::Set(command) => command.request(),
        EditCommand::Remove(command) => command.request(options),
        EditCommand::Move(args) => return relocate::run(args, sources),
        EditCommand::Fix(FixArgs { vars, targets, ignored }) => {
            (ignored.check(options).map(|()| Edit::Fix { vars: *vars }), targets)
        }
        EditCommand::ListBuiltinPlugins(_) => {
            print(&format!("Builtin plugins:\n\n * {}\n", BUILTIN_PLUGINS.join("\n * ")))?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    let edit = edit.map_err(Failure::UsageAt)?;
    targets.edit(&edit, options, sources)
}
