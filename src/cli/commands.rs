//! The tree of commands and the parsing of command lines.
//!
//! A run builds only the definition of the command that is called. The tree of all commands with
//! their help is built for `--help` and for errors in a command line.

use std::ffi::OsString;

use clap::{
    Arg, ArgAction, ArgMatches, Args as _, ColorChoice, CommandFactory as _, FromArgMatches as _, Parser,
    Subcommand,
};

#[cfg(feature = "git")]
use super::affected;
#[cfg(feature = "preview")]
use super::preview;
use super::render::MessageArgs;
#[cfg(feature = "test-server")]
use super::test_server;
#[cfg(feature = "cluster")]
use super::{apply, applyset, delete, drift, owners, wait};
use super::{
    blame, build, cache, check, completion, create, create_patch, deps, diff, edit, help, images,
    inline_documents, kustomize, lock, man, merge, patch, recover, schema, tree, version,
};
use smp_text::gocompat::strconv::parse_bool;

/// Build, lint, merge and apply kustomize overlays, with the provenance (file and line) of every value.
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
    /// Build kustomizations like `kustomize build`, and directories of manifests
    #[command(visible_alias = "render")]
    Build(build::BuildArgs),
    /// Show overlays in the browser while you edit them
    ///
    /// Serves a page on the loopback interface with the output of each target, its changes, its findings,
    /// and the origin of each value. The page is updated whenever a file is saved. No file is written.
    #[cfg(feature = "preview")]
    Preview(preview::PreviewArgs),
    /// Show where each value of an overlay comes from
    ///
    /// A single argument is the TARGET. To select a resource in the current directory, write
    /// `blame . deploy/web`.
    #[command(visible_alias = "why")]
    Blame(blame::BlameArgs),
    /// Lint overlays for likely mistakes
    #[command(visible_alias = "lint")]
    Check(check::CheckArgs),
    /// Show the bases, patches and generators of an overlay
    ///
    /// Builds the overlay and lists its files, bases, components, patches, generators and transformers,
    /// and the objects that each of them created or changed. Objects are listed with their final names.
    /// A directory that is used several times is expanded only once.
    Tree(tree::TreeArgs),
    /// List targets that can be affected by changes between revisions
    ///
    /// Considers overlays, other kustomizations and plain directories. A target is listed if the revisions
    /// differ in a file or directory that its build reads in the new revision, or if its build looks for
    /// a file that only the old revision has.
    #[cfg(feature = "git")]
    Affected(affected::AffectedArgs),
    /// List images of targets, and the lines that set them
    Images(images::ImagesArgs),
    /// List the files and remote references that a build reads
    ///
    /// Builds each target and records every file and directory that the build reads: kustomizations,
    /// manifests, patches, files of generators, charts, schemas, the lock file, and the commits of remote
    /// bases. All files of a chart and of the mounts of a container are listed, and the executable of a
    /// function. Other files that Helm or a function opens itself are not detected.
    Deps(deps::DepsArgs),
    /// Build an overlay and apply it to the cluster server-side
    #[cfg(feature = "cluster")]
    Apply(apply::ApplyArgs),
    /// Compare an overlay with the cluster, bases or another overlay
    ///
    /// By default, the objects of the targets are compared with those in the cluster. With
    /// --against-base, --against or --rev, two builds are compared without a cluster.
    ///
    /// The exit status is 0 without differences, 1 with differences, and greater than 1 for errors.
    /// KUBECTL_EXTERNAL_DIFF names a program that shows the differences, as for `kubectl diff`.
    Diff(diff::DiffArgs),
    /// Show what other field managers changed since the last apply
    ///
    /// The exit status is 0 without drift, 1 with drift, and 2 for errors.
    #[cfg(feature = "cluster")]
    Drift(drift::DriftArgs),
    /// Show and change the field managers of live objects
    ///
    /// --take, --give and --drop print the requests that change which field managers own a field. --yes
    /// sends them. No value changes.
    #[cfg(feature = "cluster")]
    Owners(owners::OwnersArgs),
    /// Wait until the objects of an overlay are ready
    #[cfg(feature = "cluster")]
    Wait(wait::WaitArgs),
    /// Delete the objects of an overlay from the cluster
    #[cfg(feature = "cluster")]
    Delete(delete::DeleteArgs),
    /// List, inspect and change ApplySets
    #[cfg(feature = "cluster")]
    Applyset(applyset::ApplySetCommand),
    /// Replace deprecated fields if the build output stays the same
    ///
    /// Builds all targets before and after. A field that cannot be replaced without changing the output
    /// of a target is left as it is, and reported. Targets that cannot be built are not changed.
    Fix(check::FixArgs),
    /// Edit kustomizations like `kustomize edit`, and keep their comments
    Edit(edit::EditArgs),
    /// Create a kustomization file
    #[command(visible_alias = "init")]
    Create(create::CreateArgs),
    /// Replace kustomize: same arguments and output as kustomize 5.8.3
    Kustomize(kustomize::KustomizeCommandArgs),
    /// Merge manifests into other manifests, keeping comments and layout
    ///
    /// A conflict is a field whose values have different types: map, list or scalar. The exit status is 3
    /// if files were changed in place and there were conflicts.
    Merge(merge::MergeArgs),
    /// Merge upstream changes into customized manifests (three-way merge)
    ///
    /// The exit status is 3 if files were changed in place and there were conflicts.
    Merge3(merge::Merge3Args),
    /// Patch manifests in files, without a cluster
    ///
    /// If the patched document is a kustomization, `images`, `replicas`, generators and Helm charts are
    /// merged by name. `resources` and other lists of paths are merged as sets. With --type=merge, lists
    /// are replaced.
    Patch(patch::PatchArgs),
    /// Create a patch from two or three manifests
    ///
    /// The patch is verified before it is printed: applied to the original, it must give the modified
    /// manifest.
    CreatePatch(create_patch::CreatePatchArgs),
    /// Serve an API server in memory for tests
    ///
    /// It answers as kube-apiserver does, on a loopback port with a CA and a token of its own. It has no
    /// authorization and no admission webhooks, and answers exec, logs and proxy with 501.
    #[cfg(feature = "test-server")]
    TestServer(test_server::TestServerArgs),
    /// Finish or roll back an interrupted write
    Recover(recover::RecoverArgs),
    /// Inspect, fetch, compile and lint schemas
    ///
    /// The schema of a kind, from OpenAPI or a CRD, determines how its lists and maps merge.
    Schema(schema::SchemaCommand),
    /// Pin remote references in a lock file
    ///
    /// Ignores an existing lock file, builds the targets, and records the commit of each branch and tag
    /// and the checksum of each remote file that they use. The lock file of a target is the nearest
    /// smp.lock in its directory and the parent directories. If there is none, it is created in the
    /// directory of the target. A lock file is written from scratch: name all targets that share it in
    /// one command.
    Lock(lock::LockCommand),
    /// Inspect and clear the cache
    Cache(cache::CacheCommand),
    /// Print the completion script of a shell
    ///
    /// To complete `kubectl smp`, create a symlink to kubectl-smp that is named kubectl_complete-smp, in a
    /// directory on the PATH.
    Completion(completion::CompletionArgs),
    /// Print or write manual pages
    Man(man::ManArgs),
    /// List the global flags
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
    /// The command line is invalid or requests the help or the version. The error contains neither
    /// inline documents nor terminal control sequences of the command line.
    pub(super) fn parse(words: &[OsString], color: ColorChoice) -> Result<Self, clap::Error> {
        let name = command_name(words);
        if let Some(command) = name.and_then(single_command)
            && let Ok(line) = Self::parse_as(as_in_kustomize(command, name, words), words)
        {
            return Ok(line);
        }
        let whole = || as_in_kustomize(all().color(color), name, words);
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

/// Accepts flags like kubectl and kustomize: boolean flags with `=true` or `=false`. For the
/// commands of kustomize, also accepts repeated flags, of which the last one is used, and values
/// that begin with a dash.
fn as_in_kustomize(command: clap::Command, name: Option<&str>, words: &[OsString]) -> clap::Command {
    let with_values: Vec<&str> = words
        .iter()
        .take_while(|word| *word != "--")
        .filter_map(|word| {
            let (flag, _) = word.to_str()?.split_once('=')?;
            flag.strip_prefix("--")
                .or_else(|| flag.strip_prefix('-').filter(|name| name.chars().count() == 1))
        })
        .collect();
    with_flag_rules(command, &with_values, matches!(name, Some("edit" | "create" | "init" | kustomize::NAME)))
}

fn with_flag_rules(command: clap::Command, with_values: &[&str], overrides: bool) -> clap::Command {
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_string()).collect();
    let command = names.into_iter().fold(command, |command, name| {
        command.mut_subcommand(name, |below| with_flag_rules(below, with_values, overrides))
    });
    let has_value = |arg: &Arg| {
        matches!(arg.get_action(), ArgAction::SetTrue)
            && (arg.get_long().is_some_and(|long| with_values.contains(&long))
                || arg.get_short().is_some_and(|short| with_values.contains(&short.to_string().as_str())))
    };
    command.args_override_self(overrides).mut_args(|arg| {
        if !has_value(&arg) {
            // In kustomize, the word after a flag with a value is always its value.
            let takes_next =
                arg.get_action().takes_values() && !arg.is_positional() && !arg.is_require_equals_set();
            return if overrides && takes_next { arg.allow_hyphen_values(true) } else { arg };
        }
        let arg = arg.action(ArgAction::Set).num_args(0..=1).require_equals(true).default_value("false");
        arg.default_missing_value("true")
            .value_parser(|text: &str| parse_bool(text).ok_or_else(|| "expected true or false".to_string()))
    })
}

/// Returns the tree of all commands with their help.
pub(super) fn all() -> clap::Command {
    help::with_help(Args::command())
}

/// Returns the name of the command, which is the first argument that is neither a global flag nor
/// the value of one.
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

/// Returns the program with only one command, and without help.
fn single_command(name: &str) -> Option<clap::Command> {
    let (name, augment) = find_command(name)?;
    let command = clap::Command::new(name).disable_help_flag(true).disable_help_subcommand(true);
    let program = clap::Command::new("kubectl smp").disable_help_flag(true).disable_help_subcommand(true);
    Some(MessageArgs::augment_args(program).subcommand_required(true).subcommand(augment(command)))
}

/// Commands of other tools, with the help that names the command of this program.
const OTHER_WORDS: [(&str, &str); 17] = [
    ("template", "use `kubectl smp build`"),
    ("generate", "use `kubectl smp build`"),
    ("validate", "use `kubectl smp check`"),
    ("test", "use `kubectl smp check`"),
    ("vet", "use `kubectl smp check`"),
    ("explain", "use `kubectl smp blame`"),
    ("origin", "use `kubectl smp blame`"),
    ("list", "use `kubectl smp tree`"),
    ("live", "use `kubectl smp apply`"),
    ("sync", "use `kubectl smp apply`"),
    ("install", "use `kubectl smp apply`"),
    ("deploy", "use `kubectl smp apply`"),
    ("uninstall", "use `kubectl smp delete`"),
    ("destroy", "use `kubectl smp delete`"),
    ("upgrade", "use `kubectl smp merge3`"),
    ("update", "use `kubectl smp merge3`"),
    ("localize", "use `kubectl smp lock`"),
];

/// Returns the help for a command that another tool has.
pub(super) fn help_for_word(word: &str) -> Option<&'static str> {
    OTHER_WORDS.iter().find(|(known, _)| *known == word).map(|(_, help)| *help)
}

/// A function that adds arguments to a command.
type Augment = fn(clap::Command) -> clap::Command;

/// Looks up a command by its name or alias. Returns its name and the function that adds its
/// arguments.
#[expect(clippy::too_many_lines, reason = "one line for each command")]
fn find_command(name: &str) -> Option<(&'static str, Augment)> {
    let found: (_, Augment) = match name {
        "build" | "render" => ("build", build::BuildArgs::augment_args),
        #[cfg(feature = "preview")]
        "preview" => ("preview", preview::PreviewArgs::augment_args),
        "blame" | "why" => ("blame", blame::BlameArgs::augment_args),
        "check" | "lint" => ("check", check::CheckArgs::augment_args),
        "tree" => ("tree", tree::TreeArgs::augment_args),
        #[cfg(feature = "git")]
        "affected" => ("affected", affected::AffectedArgs::augment_args),
        "images" => ("images", images::ImagesArgs::augment_args),
        "deps" => ("deps", deps::DepsArgs::augment_args),
        #[cfg(feature = "cluster")]
        "apply" => ("apply", apply::ApplyArgs::augment_args),
        "diff" => ("diff", diff::DiffArgs::augment_args),
        #[cfg(feature = "cluster")]
        "drift" => ("drift", drift::DriftArgs::augment_args),
        #[cfg(feature = "cluster")]
        "owners" => ("owners", owners::OwnersArgs::augment_args),
        #[cfg(feature = "cluster")]
        "wait" => ("wait", wait::WaitArgs::augment_args),
        #[cfg(feature = "cluster")]
        "delete" => ("delete", delete::DeleteArgs::augment_args),
        #[cfg(feature = "cluster")]
        "applyset" => ("applyset", applyset::ApplySetCommand::augment_args),
        "fix" => ("fix", check::FixArgs::augment_args),
        "edit" => ("edit", edit::EditArgs::augment_args),
        "create" | "init" => ("create", create::CreateArgs::augment_args),
        "kustomize" => ("kustomize", kustomize::KustomizeCommandArgs::augment_args),
        "merge" => ("merge", merge::MergeArgs::augment_args),
        "merge3" => ("merge3", merge::Merge3Args::augment_args),
        "patch" => ("patch", patch::PatchArgs::augment_args),
        "create-patch" => ("create-patch", create_patch::CreatePatchArgs::augment_args),
        #[cfg(feature = "test-server")]
        "test-server" => ("test-server", test_server::TestServerArgs::augment_args),
        "recover" => ("recover", recover::RecoverArgs::augment_args),
        "schema" => ("schema", schema::SchemaCommand::augment_args),
        "lock" => ("lock", lock::LockCommand::augment_args),
        "cache" => ("cache", cache::CacheCommand::augment_args),
        "completion" => ("completion", completion::CompletionArgs::augment_args),
        "man" => ("man", man::ManArgs::augment_args),
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
            "x build --dialect overlay a",
            "x patch -f a -p b --dialect overlay",
            "x create-patch a b --dialect overlay",
            #[cfg(feature = "cluster")]
            "x lock --schemas cluster a",
            #[cfg(feature = "cluster")]
            "x diff --live a b",
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
