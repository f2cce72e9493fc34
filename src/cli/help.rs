//! What `-h` shows: commands in groups, two examples for each, and the flags of all commands in one place.

use clap::{Arg, Args, Command, Id};

use super::kustomize::KustomizeArgs;
use super::render::MessageArgs;

/// The commands, as the first page shows them.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Render", &["build", "check", "blame", "tree", "deps", "lock", "cache"]),
    ("Edit", &["merge", "merge3", "patch", "create-patch", "recover"]),
    ("Cluster", &["apply", "diff", "wait", "delete", "applyset"]),
    ("Schema", &["schema"]),
    ("Other", &["options", "version"]),
];

/// The examples of each command: paragraphs that begin with the command's words.
const EXAMPLES: &str = include_str!("examples.txt");

/// A command with the help that users see.
pub(super) fn with_help(command: Command) -> Command {
    let command = dressed(command, "");
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Use `kubectl smp COMMAND -h` for a command, and \
         `kubectl smp options` for the flags of all commands.\n",
        groups(&command)
    );
    command.help_template(template)
}

/// The commands below one, with examples and without what all of them share.
fn dressed(command: Command, words: &str) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|below| below.get_name().to_string()).collect();
    let command = names.into_iter().fold(command, |command, name| {
        let words = format!("{words} {name}").trim_start().to_string();
        command.mut_subcommand(name, |below| dressed(below, &words))
    });
    let (folded, long) = (folded(), ids::<KustomizeArgs>());
    let command = command.mut_args(|arg| match arg.get_id() {
        id if folded.contains(id) => arg.hide(true),
        id if long.contains(id) => arg.hide_short_help(true),
        // What stands behind a group of flags has the heading of that group.
        _ => arg.help_heading(None::<&str>),
    });
    let examples = EXAMPLES.split("\n\n").filter_map(|paragraph| paragraph.split_once('\n'));
    match examples.into_iter().find(|(name, _)| *name == words) {
        Some((_, lines)) => command.after_help(format!(
            "Examples:\n{}\n\nSee `kubectl smp options` for the flags that choose a cluster and form messages.",
            lines.trim_end()
        )),
        None => command,
    }
}

/// The commands in their groups.
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

/// The flags that other help leaves out.
pub(super) fn options(command: &Command) -> String {
    let mut all = Command::new("kubectl smp options")
        .disable_help_flag(true)
        .max_term_width(100)
        .help_template("These flags are taken by all commands that they mean something to.\n\n{all-args}");
    let mut left = folded();
    for arg in command.get_arguments().chain(command.get_subcommands().flat_map(Command::get_arguments)) {
        if let Some(i) = left.iter().position(|id| id == arg.get_id()) {
            left.remove(i);
            all = all.arg(unfolded(arg));
        }
    }
    all.render_help().to_string()
}

/// The flags that `kubectl smp options` shows and no other help does.
fn folded() -> Vec<Id> {
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

/// The flags of a group.
fn ids<A: Args>() -> Vec<Id> {
    A::augment_args(Command::new("")).get_arguments().map(|arg| arg.get_id().clone()).collect()
}

/// A flag as the list of all shows it.
fn unfolded(arg: &Arg) -> Arg {
    arg.clone().hide(false).hide_short_help(false).global(false)
}
