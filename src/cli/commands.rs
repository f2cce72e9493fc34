//! Command lines: which command is called, and what its arguments are.
//!
//! A run needs one command. The tree of all of them, with their help, is built where it is shown: for help, and for what
//! is wrong with a command line.

use std::ffi::OsString;

use clap::{
    ArgMatches, Args as _, ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, Subcommand,
};

use super::render::MessageArgs;
#[cfg(feature = "cluster")]
use super::{apply, applyset, delete, diff, wait};
use super::{
    blame, build, cache, check, create_patch, deps, help, lock, merge, patch, recover, schema, tree, version,
    words,
};

/// Strategic merge, overlays and server-side apply for Kubernetes.
#[derive(Debug, Parser)]
#[command(name = "kubectl smp", bin_name = "kubectl smp", version, about, max_term_width = 100)]
pub(super) struct Args {
    #[command(flatten)]
    pub messages: MessageArgs,

    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Render overlays: kustomizations, or plain directories over a base
    #[command(visible_alias = "render")]
    Build(build::BuildArgs),
    /// Say of each value of an overlay where it was written, and what it was before
    #[command(visible_alias = "why")]
    Blame(blame::BlameArgs),
    /// Say what is wrong with overlays, though they build
    #[command(visible_alias = "lint")]
    Check(check::CheckArgs),
    /// Show what an overlay is made of, and what each part made and changed
    Tree(tree::TreeArgs),
    /// List what the build of an overlay reads: files, directories, and what comes from elsewhere
    Deps(deps::DepsArgs),
    /// Build an overlay and apply it to the cluster, server-side
    #[cfg(feature = "cluster")]
    Apply(apply::ApplyArgs),
    /// Build an overlay and show what applying it would change in the cluster
    #[cfg(feature = "cluster")]
    Diff(diff::DiffArgs),
    /// Wait until the objects of an overlay are ready in the cluster
    #[cfg(feature = "cluster")]
    Wait(wait::WaitArgs),
    /// Delete the objects of an overlay from the cluster
    #[cfg(feature = "cluster")]
    Delete(delete::DeleteArgs),
    /// Look at ApplySets, and change what is in them
    #[cfg(feature = "cluster")]
    Applyset(applyset::ApplySetCommand),
    /// Merge manifests over others, whose comments and layout stay
    ///
    /// Exit status 3 when there were conflicts and files were changed in place.
    Merge(merge::MergeArgs),
    /// Merge what changed between two versions of manifests into a third
    ///
    /// Exit status 3 when there were conflicts and files were changed in place.
    Merge3(merge::Merge3Args),
    /// Patch manifests in files, without a cluster
    ///
    /// A kustomization is patched by the names of its `images`, `replicas`, generators and Helm charts; its `resources` and
    /// other lists of paths are sets. With --type=merge its lists are replaced.
    Patch(patch::PatchArgs),
    /// Make the patch that turns one manifest into another
    CreatePatch(create_patch::CreatePatchArgs),
    /// End the changes to a directory that a stopped program began: all are made, or taken back
    Recover(recover::RecoverArgs),
    /// Look at merge schemas, and compile them
    Schema(schema::SchemaCommand),
    /// Write down what remote references are now, for builds that must not change by themselves
    Lock(lock::LockCommand),
    /// Look at what was fetched and kept, and take it out
    Cache(cache::CacheCommand),
    /// List the flags of all commands
    Options,
    /// Print the version, and what the program was built from
    Version(version::VersionArgs),
}

/// A command line that is right.
pub(super) struct ParsedLine {
    pub args: Args,
    pub command: clap::Command,
    pub matches: ArgMatches,
}

impl ParsedLine {
    /// Parses a command line, whose first word is the program's name.
    ///
    /// # Errors
    /// It is wrong, or asks for help or the version. Documents in it are not shown, nor is what steers a terminal.
    pub(super) fn parse(words: &[OsString], color: ColorChoice) -> Result<Self, clap::Error> {
        if let Some(command) = called(words).and_then(one)
            && let Ok(line) = Self::parse_as(command, words)
        {
            return Ok(line);
        }
        let whole = || all().color(color);
        Self::parse_as(whole(), words).map_err(|error| {
            let shown: Vec<OsString> =
                words.iter().map(|word| words::shown(&word.to_string_lossy()).into()).collect();
            Self::parse_as(whole(), &shown).err().unwrap_or(error)
        })
    }

    fn parse_as(mut command: clap::Command, words: &[OsString]) -> Result<Self, clap::Error> {
        let matches = command.try_get_matches_from_mut(words)?;
        Ok(Self { args: Args::from_arg_matches(&matches)?, command, matches })
    }
}

/// All commands, with their help.
pub(super) fn all() -> clap::Command {
    help::with_help(Args::command())
}

/// The name of the command in a line: the first word that is no flag of all commands, nor the value of one.
fn called(words: &[OsString]) -> Option<&str> {
    let mut words = words.iter().skip(1).map(|word| word.to_str());
    loop {
        match words.next()?? {
            "--message-format" | "--color" => drop(words.next()?),
            flag if flag.starts_with('-') => {}
            name => return Some(name),
        }
    }
}

/// The program with that command alone, and without help.
fn one(name: &str) -> Option<clap::Command> {
    let (name, augment) = arguments(name)?;
    let command = clap::Command::new(name).disable_help_flag(true).disable_help_subcommand(true);
    let program = clap::Command::new("kubectl smp").disable_help_flag(true).disable_help_subcommand(true);
    Some(MessageArgs::augment_args(program).subcommand_required(true).subcommand(augment(command)))
}

/// What adds arguments to a command.
type Augment = fn(clap::Command) -> clap::Command;

/// A command by its name or alias: its name, and what adds its arguments.
fn arguments(name: &str) -> Option<(&'static str, Augment)> {
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
    fn each_command_can_be_built_alone() {
        for command in Args::command().get_subcommands() {
            for name in command.get_name_and_visible_aliases() {
                let found = arguments(name).map(|(name, _)| name);
                assert_eq!(found, Some(command.get_name()), "{name}");
            }
        }
    }

    #[test]
    fn only_the_called_command_is_built() {
        let words = ["kubectl-smp", "-q", "build", "a"].map(OsString::from);
        let line = ParsedLine::parse(&words, ColorChoice::Never).expect("it is right");
        let names: Vec<&str> = line.command.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(names, ["build"]);
    }

    #[test]
    fn the_command_is_the_first_word_that_is_no_flag() {
        let table = [
            ("x build a", Some("build")),
            ("x -q --color never --strict check", Some("check")),
            ("x --message-format=json deps", Some("deps")),
            ("x --color", None),
            ("x", None),
        ];
        for (line, want) in table {
            let words: Vec<OsString> = line.split(' ').map(Into::into).collect();
            assert_eq!(called(&words), want, "{line}");
        }
    }
}
