//! The tree of commands and the parsing of command lines.
//!
//! A run builds only the command that is called. The tree of all commands with their help is built
//! for `--help` and for errors in a command line.

use std::ffi::OsString;

use clap::{
    ArgMatches, Args as _, ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
};

use super::render::MessageArgs;
#[cfg(feature = "cluster")]
use super::{apply, applyset, delete, diff, drift, wait};
use super::{
    blame, build, cache, check, create_patch, deps, help, inline_documents, lock, merge, patch, recover,
    schema, tree, version,
};

/// Build, lint, merge and apply kustomize overlays, with the provenance of every value.
#[derive(Debug, Parser)]
#[command(name = "kubectl smp", bin_name = "kubectl smp", version, max_term_width = 100)]
pub(super) struct Args {
    #[command(flatten)]
    pub messages: MessageArgs,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Build kustomizations and plain overlay directories, like `kustomize build`
    #[command(visible_alias = "render")]
    Build(build::BuildArgs),
    /// Show where each value of an overlay comes from
    #[command(visible_alias = "why")]
    Blame(blame::BlameArgs),
    /// Lint overlays for likely mistakes
    #[command(visible_alias = "lint")]
    Check(check::CheckArgs),
    /// Show the bases, patches and generators of an overlay
    Tree(tree::TreeArgs),
    /// List the files and remote references that a build reads
    Deps(deps::DepsArgs),
    /// Build an overlay and apply it to the cluster server-side
    #[cfg(feature = "cluster")]
    Apply(apply::ApplyArgs),
    /// Show what applying an overlay would change in the cluster
    #[cfg(feature = "cluster")]
    Diff(diff::DiffArgs),
    /// Show what others changed since the last apply
    #[cfg(feature = "cluster")]
    Drift(drift::DriftArgs),
    /// Wait until the objects of an overlay are ready
    #[cfg(feature = "cluster")]
    Wait(wait::WaitArgs),
    /// Delete the objects of an overlay from the cluster
    #[cfg(feature = "cluster")]
    Delete(delete::DeleteArgs),
    /// List, inspect and change ApplySets
    #[cfg(feature = "cluster")]
    Applyset(applyset::ApplySetCommand),
    /// Merge manifests over others, keeping comments and layout
    ///
    /// The exit status is 3 if files were changed in place and there were conflicts.
    Merge(merge::MergeArgs),
    /// Merge upstream changes into customized manifests (three-way merge)
    ///
    /// The exit status is 3 if files were changed in place and there were conflicts.
    Merge3(merge::Merge3Args),
    /// Patch manifests in files, without a cluster
    ///
    /// In a kustomization, `images`, `replicas`, generators and Helm charts are merged by name.
    /// `resources` and other lists of paths are merged as sets. With --type=merge, lists are replaced.
    Patch(patch::PatchArgs),
    /// Create a patch from two or three manifests
    CreatePatch(create_patch::CreatePatchArgs),
    /// Finish or roll back an interrupted write
    Recover(recover::RecoverArgs),
    /// Inspect, fetch, compile and lint merge schemas
    Schema(schema::SchemaCommand),
    /// Pin remote references in a lock file
    Lock(lock::LockCommand),
    /// Inspect and clear the cache
    Cache(cache::CacheCommand),
    /// List the flags that all commands inherit
    Options,
    /// Print the version and build information
    Version(version::VersionArgs),
}

/// A valid command line.
pub(super) struct ParsedLine {
    pub args: Args,
    pub command: clap::Command,
    pub matches: ArgMatches,
}

impl ParsedLine {
    /// Parses a command line. The first argument is the name of the program.
    ///
    /// # Errors
    /// The command line is invalid, or asks for help or the version. The error shows neither inline
    /// documents nor terminal control sequences of the command line.
    pub(super) fn parse(words: &[OsString], color: ColorChoice) -> Result<Self, clap::Error> {
        if let Some(command) = command_name(words).and_then(single_command)
            && let Ok(line) = Self::parse_as(command, words)
        {
            return Ok(line);
        }
        let whole = || all().color(color);
        Self::parse_as(whole(), words).map_err(|error| {
            let shown: Vec<OsString> =
                words.iter().map(|word| inline_documents::redact(&word.to_string_lossy()).into()).collect();
            Self::parse_as(whole(), &shown).err().unwrap_or(error)
        })
    }

    fn parse_as(mut command: clap::Command, words: &[OsString]) -> Result<Self, clap::Error> {
        let matches = command.try_get_matches_from_mut(words)?;
        Ok(Self { args: Args::from_arg_matches(&matches)?, command, matches })
    }
}

/// Returns the tree of all commands with their help.
pub(super) fn all() -> clap::Command {
    help::with_help(Args::command())
}

/// Returns the name of the command: the first argument that is neither a global flag nor the value
/// of one.
fn command_name(words: &[OsString]) -> Option<&str> {
    let mut words = words.iter().skip(1).map(|word| word.to_str());
    loop {
        match words.next()?? {
            "--message-format" | "--color" => drop(words.next()?),
            flag if flag.starts_with('-') => {}
            name => return Some(name),
        }
    }
}

/// Returns the program with only the named command, and without help.
fn single_command(name: &str) -> Option<clap::Command> {
    let (name, augment) = find_command(name)?;
    let command = clap::Command::new(name).disable_help_flag(true).disable_help_subcommand(true);
    let program = clap::Command::new("kubectl smp").disable_help_flag(true).disable_help_subcommand(true);
    Some(MessageArgs::augment_args(program).subcommand_required(true).subcommand(augment(command)))
}

/// A function that adds arguments to a command.
type Augment = fn(clap::Command) -> clap::Command;

/// Looks up a command by its name or alias. Returns its name and the function that adds its
/// arguments.
fn find_command(name: &str) -> Option<(&'static str, Augment)> {
    let found: (_, Augment) = match name {
        "build" | "render" => ("build", build::BuildArgs::augment_args),
        "blame" | "why" => ("blame", blame::BlameArgs::augment_args),
        "check" | "lint" => ("check", check::CheckArgs::augment_args),
        "tree" => ("tree", tree::TreeArgs::augment_args),
        "deps" => ("deps", deps::DepsArgs::augment_args),
        #[cfg(feature = "cluster")]
        "apply" => ("apply", apply::ApplyArgs::augment_args),
        #[cfg(feature = "cluster")]
        "diff" => ("diff", diff::DiffArgs::augment_args),
        #[cfg(feature = "cluster")]
        "drift" => ("drift", drift::DriftArgs::augment_args),
        #[cfg(feature = "cluster")]
        "wait" => ("wait", wait::WaitArgs::augment_args),
        #[cfg(feature = "cluster")]
        "delete" => ("delete", delete::DeleteArgs::augment_args),
        #[cfg(feature = "cluster")]
        "applyset" => ("applyset", applyset::ApplySetCommand::augment_args),
        "merge" => ("merge", merge::MergeArgs::augment_args),
        "merge3" => ("merge3", merge::Merge3Args::augment_args),
        "patch" => ("patch", patch::PatchArgs::augment_args),
        "create-patch" => ("create-patch", create_patch::CreatePatchArgs::augment_args),
        "recover" => ("recover", recover::RecoverArgs::augment_args),
        "schema" => ("schema", schema::SchemaCommand::augment_args),
        "lock" => ("lock", lock::LockCommand::augment_args),
        "cache" => ("cache", cache::CacheCommand::augment_args),
        "options" => ("options", |command| command),
        "version" => ("version", version::VersionArgs::augment_args),
        _ => return None,
    };
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_and_alias_can_be_built_separately() {
        for command in Args::command().get_subcommands() {
            for name in command.get_name_and_visible_aliases() {
                let found = find_command(name).map(|(name, _)| name);
                assert_eq!(found, Some(command.get_name()), "{name}");
            }
        }
    }

    #[test]
    fn only_the_called_command_is_built() {
        let words = ["kubectl-smp", "-q", "build", "a"].map(OsString::from);
        let line = ParsedLine::parse(&words, ColorChoice::Never).expect("valid");
        let names: Vec<&str> = line.command.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(names, ["build"]);
    }

    #[test]
    fn command_name_is_first_argument_that_is_not_a_flag() {
        let table = [
            ("x build a", Some("build")),
            ("x -q --color never --strict check", Some("check")),
            ("x --message-format=json deps", Some("deps")),
            ("x --color", None),
            ("x", None),
        ];
        for (line, want) in table {
            let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
            assert_eq!(command_name(&words), want, "{line}");
        }
    }

    #[test]
    fn former_flags_and_values_are_accepted() {
        let lines = [
            "x check --kubernetes 1.34 a",
            "x build --validate --kubernetes 1.34 a",
            "x deps --output lines a",
            #[cfg(feature = "cluster")]
            "x apply --prune --applyset shop --prune-holding Namespace a",
            #[cfg(feature = "cluster")]
            "x wait --failure-grace 30s a",
        ];
        for line in lines {
            let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
            assert!(ParsedLine::parse(&words, ColorChoice::Never).is_ok(), "{line}");
        }
    }

    #[test]
    fn descriptions_of_commands_have_at_most_ten_words() {
        let mut all = vec![all()];
        while let Some(command) = all.pop() {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let is_own = command.get_name() != "help" && command.get_name() != "kubectl smp";
            assert!(!is_own || about.split(' ').count() <= 10, "{about}");
            all.extend(command.get_subcommands().cloned());
        }
    }
}
