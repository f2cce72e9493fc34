//! The help output: commands in groups, two examples per command, and flags under headings.

use clap::{Arg, Args, Command, Id};

use super::kustomize::KustomizeArgs;
use super::render::MessageArgs;
use super::target::{SchemaArgs, TargetArgs};

/// The commands in the groups of `kubectl smp -h`.
const GROUPS: [(&str, &[&str]); 6] = [
    (
        "Build and lint",
        &["build", "check", "blame", "tree", "fix", "edit", "create", "deps", "lock", "cache"],
    ),
    ("Review", &["diff", "preview", "affected", "images"]),
    ("Merge and patch", &["merge", "merge3", "patch", "create-patch", "recover"]),
    ("Cluster", &["apply", "drift", "owners", "wait", "delete", "applyset"]),
    ("Schemas", &["schema"]),
    ("Other", &["kustomize", "completion", "man", "options", "version"]),
];

/// The examples of each command: paragraphs whose first line is the name of the command.
const EXAMPLES: &str = include_str!("examples.txt");

/// The name of the paragraph for the overview.
const PROGRAM: &str = "kubectl smp";

/// The command that has the flags of `apply` but applies recorded manifests and does not build.
const ROLLBACK: &str = "applyset rollback";

/// The heading of the flags of `apply` that `diff` only previews.
const PREVIEWED: &str = "ApplySet options (show what `apply` with these flags would do)";

/// The heading of the flags of `diff` that are rejected for a comparison with a cluster.
const TWO_BUILDS: &str = "Options for comparing two builds (with --rev, --against or --against-base)";

/// The flags below [`TWO_BUILDS`].
const TWO_BUILDS_FLAGS: [&str; 6] =
    ["trust_head", "fail_on", "summary", "ignore", "ignore_noise", "ignore_defaults"];

/// Flags of a group that have no effect on a command, or that it rejects.
const HIDDEN: [(&str, &[&str]); 3] = [
    (
        ROLLBACK,
        &[
            "targets",
            "kustomize",
            "recursive",
            "leaves",
            "filename",
            "selector",
            "applyset",
            "revision",
            "prune",
            "prune_dry_run",
            "base",
            "dialect",
            "restrict_loads",
            "reorder",
            "lock_file",
            "locked",
            "live",
            "kubernetes_version",
            "schema",
            "offline",
        ],
    ),
    ("lock", &["locked"]),
    ("schema fetch", &["schema", "offline"]),
];

/// Adds the help output to the program and its commands.
pub(super) fn with_help(command: Command) -> Command {
    let command = with_command_help(command, "");
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{{after-help}}\n\nUse `kubectl smp COMMAND -h` for help, and \
         `kubectl smp options` for the global flags.\n",
        groups(&command).trim_end()
    );
    command.help_template(template)
}

/// Adds examples and headings to a command and its subcommands, and hides the inherited flags.
fn with_command_help(command: Command, words: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_string()).collect();
    let command = names.into_iter().fold(command, |command, name| {
        let words = format!("{words} {name}").trim_start().to_string();
        command.mut_subcommand(name, |below| with_command_help(below, &words))
    });
    let kustomize = ids::<KustomizeArgs>();
    let (build, schema) = (ids::<TargetArgs>(), ids::<SchemaArgs>());
    let has_all = |ids: &[Id]| ids.iter().all(|id| command.get_arguments().any(|arg| arg.get_id() == id));
    let (is_build, has_schema) = (has_all(&build), has_all(&schema));
    // Other flags may have the name of a cluster flag, such as `create --namespace`.
    let cluster = Some(cluster_flags()).filter(|ids| has_all(ids)).unwrap_or_default();
    let inherited = [ids::<MessageArgs>(), cluster].concat();
    let (builds_nothing, applyset) = (words == ROLLBACK, applyset_flags());
    let hidden = HIDDEN.iter().find(|(name, _)| *name == words).map_or(&[][..], |(_, ids)| *ids);
    let command = command.mut_args(|arg| match arg.get_id() {
        id if inherited.contains(id) || hidden.contains(&id.as_str()) => arg.hide(true),
        id if kustomize.contains(id) => {
            let hide = builds_nothing || arg.is_hide_set();
            // kustomize has no short help.
            arg.hide_short_help(words != "kustomize build").hide(hide)
        }
        id if is_build && !builds_nothing && build.contains(id) => arg.help_heading("Build options"),
        id if has_schema && schema.contains(id) => arg.help_heading("Schema options"),
        id if words == "diff" && applyset.contains(id) => arg.help_heading(PREVIEWED),
        id if words == "diff" && TWO_BUILDS_FLAGS.contains(&id.as_str()) => arg.help_heading(TWO_BUILDS),
        // After a flattened group, clap would list a flag under the heading of that group.
        _ => arg.help_heading(None::<&str>),
    });
    let examples = EXAMPLES.split("\n\n").filter_map(|paragraph| paragraph.split_once('\n'));
    let find = |words: &str| examples.clone().find(|(name, _)| *name == words);
    let own = find(if words.is_empty() { PROGRAM } else { words }).map(|(_, lines)| lines.to_string());
    // The other commands of kustomize have the examples of this program's own commands.
    let lines = own.or_else(|| {
        let (_, lines) = find(words.strip_prefix("kustomize ")?)?;
        Some(lines.replace("kubectl smp ", "kubectl smp kustomize "))
    });
    match lines {
        // The overview lists the other help pages itself.
        Some(lines) if words.is_empty() => command.after_help(format!("Examples:\n{}\n", lines.trim_end())),
        Some(lines) => command.after_help(format!(
            "Examples:\n{}\n\nUse `kubectl smp options` for the global flags.",
            lines.trim_end()
        )),
        None => command,
    }
}

/// Formats the list of commands in their groups.
fn groups(command: &Command) -> String {
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let about = |name: &'static str| {
            let found = command.get_subcommands().find(|below| below.get_name() == name)?;
            let about = found.get_about().map(ToString::to_string).unwrap_or_default();
            Some((
                name,
                found.get_visible_aliases().fold(about, |about, alias| format!("{about} [alias: {alias}]")),
            ))
        };
        let known: Vec<_> = names.iter().copied().filter_map(about).collect();
        if known.is_empty() {
            continue;
        }
        text.extend([heading, ":\n"]);
        for (name, about) in known {
            text.extend(["  ", &format!("{name:<13}"), " ", &about, "\n"]);
        }
        text.push('\n');
    }
    text
}

/// Formats the global flags: the output of `kubectl smp options`.
pub(super) fn options(command: &Command) -> String {
    let mut all =
        Command::new("kubectl smp options").disable_help_flag(true).max_term_width(100).help_template(
            "All commands have these options. Commands that use a cluster also have the cluster options.\n\n{all-args}",
        );
    let mut left = inherited_flags();
    for arg in command.get_arguments().chain(command.get_subcommands().flat_map(Command::get_arguments)) {
        if let Some(i) = left.iter().position(|id| id == arg.get_id()) {
            left.remove(i);
            all = all.arg(visible(arg));
        }
    }
    all.render_help().to_string()
}

/// Returns the flags that only `kubectl smp options` lists.
fn inherited_flags() -> Vec<Id> {
    [ids::<MessageArgs>(), cluster_flags()].concat()
}

#[cfg(feature = "cluster")]
fn cluster_flags() -> Vec<Id> {
    ids::<super::connect::ConnectArgs>()
}

#[cfg(not(feature = "cluster"))]
fn cluster_flags() -> Vec<Id> {
    Vec::new()
}

#[cfg(feature = "cluster")]
fn applyset_flags() -> Vec<Id> {
    ids::<super::prune::SetArgs>()
}

#[cfg(not(feature = "cluster"))]
fn applyset_flags() -> Vec<Id> {
    Vec::new()
}

/// Returns the IDs of the flags of a group.
fn ids<A: Args>() -> Vec<Id> {
    A::augment_args(Command::new("")).get_arguments().map(|arg| arg.get_id().clone()).collect()
}

/// Returns a visible copy of a flag.
fn visible(arg: &Arg) -> Arg {
    arg.clone().hide(false).hide_short_help(false).global(false)
}

#[cfg(test)]
mod tests {
    use super::super::commands::all;

    #[test]
    fn every_command_is_listed_and_has_examples() {
        let overview = all().render_help().to_string();
        for mut command in
            all().get_subcommands().filter(|command| command.get_name() != "test-server").cloned()
        {
            let name = command.get_name().to_string();
            assert!(overview.contains(&format!("\n  {name} ")), "{name}");
            let help = command.render_long_help().to_string();
            assert!(help.contains("\nExamples:\n"), "{name}");
            assert!(!help.contains("Accepted for compatibility"), "{name} lists a hidden flag");
        }
    }
}
