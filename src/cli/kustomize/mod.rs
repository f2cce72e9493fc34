//! `kubectl smp kustomize`, and the program with the name `kustomize`.
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
use super::completion::{self, CompletionArgs};
use super::create::{self, CreateArgs};
use super::edit::{self, EditArgs};
use super::{Failure, Outcome};
use smp_overlay::edit::EditOptions;
use smp_text::gocompat::strconv::parse_bool;
use smp_text::source::SourceMap;

/// The name of the command, and of a symlink to the program that acts as kustomize.
pub(super) const NAME: &str = "kustomize";

/// Replace kustomize: same arguments and output as kustomize 5.8.3.
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
    ///
    /// kustomize itself has no -k, --dry-run and --output.
    Edit(EditArgs),
    /// Create a kustomization file
    ///
    /// The file is created in the working directory, or in the directory of -k. kustomize itself has no -k
    /// and --output.
    #[command(visible_alias = "init")]
    Create(CreateArgs),
    /// Print the completion script of a shell
    Completion(CompletionArgs),
    /// Print the version of kustomize
    Version(KustomizeVersionArgs),
    /// Not available
    #[command(hide = true, visible_aliases = ["cfg", "fn", "openapi"])]
    Localize(IgnoredArgs),
}

/// Arguments of commands that are not available.
#[derive(Debug, Args)]
struct IgnoredArgs {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<OsString>,
}

/// Returns the command line with the command `kustomize` in front, if that is the name of the
/// program. kustomize's flags `--stack-trace` and `--help=false` are removed, and `--help=true`
/// becomes `--help`.
pub(super) fn expand_name(words: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = words.into_iter().collect();
    if words.first().is_some_and(is_named) {
        words.insert(1, NAME.into());
    }
    if is_kustomize(&words) {
        let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
        let rest = words.split_off(end);
        words = words.into_iter().filter_map(without_value).chain(rest).collect();
    }
    words
}

/// Returns a word without the value of `--help`, or `None` for a flag without effect.
///
/// Invalid values are kept.
fn without_value(word: OsString) -> Option<OsString> {
    let text = word.to_string_lossy();
    let (flag, value) = text.split_once('=').unwrap_or((&text, "true"));
    match (flag, parse_bool(value)) {
        ("--stack-trace", Some(_)) | ("--help" | "-h", Some(false)) => None,
        ("--help" | "-h", Some(true)) => Some(flag.into()),
        _ => Some(word),
    }
}

/// Returns true if the name of a program makes it act as kustomize. The name may end with a
/// version, such as `kustomize-v5.8.3` or `kustomize_5_8_3`.
fn is_named(program: &OsString) -> bool {
    let name = Path::new(program).file_name().unwrap_or_default().to_string_lossy();
    name.strip_prefix(NAME).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Returns the help that kustomize prints, with status 0, for a group of commands without a
/// command. Within `edit`, kustomize also prints it for an unknown command. `tree` creates the tree
/// of all commands.
pub(super) fn help_of_group(words: &[OsString], tree: fn() -> clap::Command) -> Option<String> {
    if !is_kustomize(words) {
        return None;
    }
    let mut words = words[2..].iter().map(|word| word.to_string_lossy()).peekable();
    let is_help = words.next_if(|word| word == "help").is_some();
    let mut root = tree();
    root.build();
    let mut command = root.find_subcommand(NAME)?.clone();
    let mut depth = 0;
    while let Some(below) = words.peek().and_then(|word| command.find_subcommand(&**word)) {
        (command, depth) = (below.clone(), depth + 1);
        words.next();
    }
    let rest: Vec<_> = words.collect();
    let asks_for_help = rest.iter().any(|word| word == "-h" || word == "--help");
    let is_known = rest.is_empty() || (depth > 0 && rest.iter().all(|word| !word.starts_with('-')));
    (is_help || ((is_known || asks_for_help) && command.has_subcommands()))
        .then(|| command.render_help().to_string())
}

/// Returns help in which the name of the program is `kustomize`, if the program has that name.
pub(super) fn with_own_name(help: String, words: &[OsString]) -> String {
    if words.first().is_some_and(is_named) { help.replace("kubectl smp kustomize", NAME) } else { help }
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
        KustomizeCommand::Completion(args) => completion::run(&args, NAME),
        KustomizeCommand::Version(args) => version::run(&args),
        KustomizeCommand::Localize(IgnoredArgs { .. }) => Err(Failure::Usage(
            "the commands `localize`, `cfg`, `fn` and `openapi` of kustomize are not available".into(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_a_version_are_kustomize() {
        for (name, want) in [
            ("kustomize", true),
            ("/custom-tools/kustomize_5_8_3", true),
            ("bin/kustomize-v5.8.3", true),
            ("kustomize.exe", true),
            ("kustomizer", false),
            ("kubectl-smp", false),
        ] {
            assert_eq!(is_named(&name.into()), want, "{name}");
        }
    }
}
