//! `kubectl smp kustomize`, and the program under the name `kustomize`.
//!
//! The command line is that of kustomize 5.8.3. The exit status is 1 for every failure, and `build`
//! uses kustomize's own rules.

mod args;
mod build;
mod version;

use std::ffi::OsString;
use std::path::Path;

use clap::{Args, Subcommand};

pub(super) use self::args::KustomizeArgs;
use self::build::KustomizeBuildArgs;
use self::version::KustomizeVersionArgs;
use super::create::{self, CreateArgs};
use super::edit::{self, EditArgs};
use super::{Failure, Outcome};
use smp_overlay::edit::EditOptions;
use smp_text::source::SourceMap;

/// The name of the command, and of a link to the program that acts as kustomize.
pub(super) const NAME: &str = "kustomize";

/// Run a command of kustomize 5.8.3.
#[derive(Debug, Args)]
pub(super) struct KustomizeCommandArgs {
    #[command(subcommand)]
    command: KustomizeCommand,
}

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "one command is parsed in each run")]
enum KustomizeCommand {
    /// Build a kustomization by the rules of kustomize
    Build(KustomizeBuildArgs),
    /// Edit a kustomization file, and keep its comments
    Edit(EditArgs),
    /// Create a kustomization file in the working directory
    #[command(visible_alias = "init")]
    Create(CreateArgs),
    /// Print the version of kustomize
    Version(KustomizeVersionArgs),
    /// Not available
    #[command(hide = true, visible_aliases = ["cfg", "fn"])]
    Localize(IgnoredArgs),
}

/// Arguments of commands that are not available.
#[derive(Debug, Args)]
struct IgnoredArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<OsString>,
}

/// Returns the command line with the command `kustomize` in front, if the program has that name.
/// kustomize's flag `--stack-trace` is left out.
pub(super) fn expand_name(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    if words.first().is_some_and(|name| Path::new(name).file_stem().is_some_and(|stem| stem == NAME)) {
        words.insert(1, NAME.into());
    }
    if is_kustomize(&words) {
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let mut i = 0;
        words.retain(|word| {
            i += 1;
            i > end || !(word == "--stack-trace" || word.to_string_lossy().starts_with("--stack-trace="))
        });
    }
    words
}

/// Returns true for a command line of kustomize.
pub(super) fn is_kustomize(words: &[OsString]) -> bool {
    words.get(1).is_some_and(|word| word == NAME)
}

/// Runs a command of kustomize.
pub(super) fn run(args: KustomizeCommandArgs, sources: &SourceMap) -> Outcome {
    match args.command {
        KustomizeCommand::Build(args) => build::run(args, sources),
        KustomizeCommand::Edit(args) => edit::run(&args, EditOptions { as_kustomize: true }, sources),
        KustomizeCommand::Create(args) => create::run(&args, EditOptions { as_kustomize: true }, sources),
        KustomizeCommand::Version(args) => version::run(&args),
        KustomizeCommand::Localize(IgnoredArgs { .. }) => Err(Failure::Usage(
            "the commands `localize`, `cfg` and `fn` of kustomize are not available".into(),
        )),
    }
}
