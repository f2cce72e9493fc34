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

/// Two examples for each command, by its words: what they do, and the line.
const EXAMPLES: &[(&str, [(&str, &str); 2])] = &[
    (
        "build",
        [
            ("Render an overlay", "kubectl smp build overlays/prod"),
            (
                "Render all overlays below a directory, a file per resource",
                "kubectl smp build -R overlays --output-dir rendered",
            ),
        ],
    ),
    (
        "blame",
        [
            ("Say where each value of an overlay comes from", "kubectl smp blame overlays/prod"),
            ("Tell the whole story of one of them", "kubectl smp blame overlays/prod configmap/web:data.a"),
        ],
    ),
    (
        "check",
        [
            ("Check all overlays below a directory", "kubectl smp check -R overlays"),
            ("Say what a rule is about", "kubectl smp check --explain unmatched-image"),
        ],
    ),
    (
        "tree",
        [
            ("Show what an overlay is made of", "kubectl smp tree overlays/prod"),
            ("Draw it", "kubectl smp tree overlays/prod -o dot | dot -Tsvg > prod.svg"),
        ],
    ),
    (
        "deps",
        [
            ("List the files that an overlay is built from", "kubectl smp deps overlays/prod"),
            ("Tell Argo CD which changes concern an application", "kubectl smp deps overlays/prod -o argocd"),
        ],
    ),
    (
        "apply",
        [
            ("Build an overlay and apply it", "kubectl smp apply overlays/prod"),
            (
                "Show what the server would make of manifests",
                "kubectl smp apply -f web.yaml --dry-run=server",
            ),
        ],
    ),
    (
        "diff",
        [
            ("Show what applying an overlay would change", "kubectl smp diff overlays/prod"),
            ("Compare a stream with the cluster", "cat web.yaml | kubectl smp diff -f -"),
        ],
    ),
    (
        "wait",
        [
            ("Wait until what an overlay makes is ready", "kubectl smp wait overlays/prod"),
            ("Wait ten minutes at most", "kubectl smp wait overlays/prod --timeout 10m"),
        ],
    ),
    (
        "delete",
        [
            ("Delete what an overlay makes", "kubectl smp delete overlays/prod"),
            ("Show what the server would delete", "kubectl smp delete -f web.yaml --dry-run=server"),
        ],
    ),
    (
        "applyset",
        [
            ("List the sets of all namespaces", "kubectl smp applyset list -A"),
            ("Show what is in a set", "kubectl smp applyset view shop -n shop"),
        ],
    ),
    (
        "applyset list",
        [
            ("List the sets of all namespaces", "kubectl smp applyset list -A"),
            ("The same for programs", "kubectl smp applyset list -A -o json"),
        ],
    ),
    (
        "applyset view",
        [
            ("Show what is in a set", "kubectl smp applyset view shop -n shop"),
            ("The same where the parent is a ConfigMap", "kubectl smp applyset view configmaps/shop -n shop"),
        ],
    ),
    (
        "applyset adopt",
        [
            (
                "Take what an overlay names into a set",
                "kubectl smp applyset adopt shop overlays/prod -n shop",
            ),
            ("The same for manifests", "kubectl smp applyset adopt shop -f web.yaml -n shop"),
        ],
    ),
    (
        "applyset orphan",
        [
            ("Give a set up, and keep its objects", "kubectl smp applyset orphan shop -n shop"),
            ("Empty a set", "kubectl smp applyset orphan shop -n shop --keep-parent"),
        ],
    ),
    (
        "merge",
        [
            ("Merge manifests over others and print them", "kubectl smp merge patch.yaml web.yaml"),
            ("Change a directory itself", "kubectl smp merge updates app --in-place"),
        ],
    ),
    (
        "merge3",
        [
            (
                "Take over a new version of a package that was customised",
                "kubectl smp merge3 --original v1 --updated v2 --dest app --in-place",
            ),
            (
                "Only tell what is in conflict",
                "kubectl smp merge3 --original v1 --updated v2 --dest app --on-conflict report",
            ),
        ],
    ),
    (
        "patch",
        [
            (
                "Apply a strategic merge patch to a file",
                "kubectl smp patch -f web.yaml -p '{spec: {replicas: 3}}'",
            ),
            (
                "Apply a JSON patch to what comes on standard input",
                "cat web.yaml | kubectl smp patch -f - --type json --patch-file ops.json",
            ),
        ],
    ),
    (
        "create-patch",
        [
            (
                "Make the patch that turns one manifest into another",
                "kubectl smp create-patch web.yaml new.yaml",
            ),
            (
                "Make a three-way patch for a live object",
                "kubectl smp create-patch web.yaml new.yaml --current live.yaml",
            ),
        ],
    ),
    (
        "recover",
        [
            ("End what a stopped `merge --in-place` began", "kubectl smp recover app"),
            ("The same for a directory of rendered files", "kubectl smp recover rendered"),
        ],
    ),
    (
        "schema list",
        [
            ("List all kinds that are known, and who knows them", "kubectl smp schema list"),
            ("Find a kind by a name that people use", "kubectl smp schema list deploy"),
        ],
    ),
    (
        "schema fetch",
        [
            (
                "Keep the schemas of a cluster for builds without it",
                "kubectl smp schema fetch --context prod",
            ),
            ("Only those of one kind", "kubectl smp schema fetch widgets.example.com"),
        ],
    ),
    (
        "schema show",
        [
            (
                "Show how the list of containers merges",
                "kubectl smp schema show deployment.spec.template.spec.containers",
            ),
            ("Show what a CRD says of a field", "kubectl smp schema show widget.spec --schema crd.yaml"),
        ],
    ),
    (
        "schema compile",
        [
            ("Compile CRDs", "kubectl smp schema compile crd.yaml --output crds.smpschema"),
            (
                "Put a newer document before an older one",
                "kubectl smp schema compile new.json old.json --output all.smpschema",
            ),
        ],
    ),
    (
        "schema",
        [
            ("Show how the ports of a Service merge", "kubectl smp schema show service.spec.ports"),
            ("Compile CRDs", "kubectl smp schema compile crd.yaml --output crds.smpschema"),
        ],
    ),
    (
        "cache",
        [
            ("List what is kept", "kubectl smp cache list"),
            ("Remove what was not used for long", "kubectl smp cache prune"),
        ],
    ),
    ("version", [("Print the version", "kubectl smp version"), ("The same", "kubectl smp --version")]),
    (
        "options",
        [
            ("List the flags of all commands", "kubectl smp options"),
            ("Find those for colours", "kubectl smp options | grep color"),
        ],
    ),
    (
        "lock",
        [
            ("Write down what remote references are now", "kubectl smp lock overlays/prod"),
            ("Lock several targets together", "kubectl smp lock overlays/prod overlays/dev"),
        ],
    ),
    (
        "cache list",
        [
            ("List what is kept", "kubectl smp cache list"),
            ("The same for programs", "kubectl smp cache list -o json"),
        ],
    ),
    (
        "cache path",
        [
            ("Print where it is", "kubectl smp cache path"),
            ("Measure it", "du -sh \"$(kubectl smp cache path)\""),
        ],
    ),
    (
        "cache clear",
        [
            ("Remove all of it", "kubectl smp cache clear"),
            ("Remove another one", "kubectl smp cache clear --cache-dir ./cache"),
        ],
    ),
    (
        "cache prune",
        [
            ("Remove what was not used for long", "kubectl smp cache prune"),
            ("The same for another one", "kubectl smp cache prune --cache-dir ./cache"),
        ],
    ),
];

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
    match EXAMPLES.iter().find(|(name, _)| *name == words) {
        Some((_, examples)) => command.after_help(shown(examples)),
        None => command,
    }
}

fn shown(examples: &[(&str, &str)]) -> String {
    let mut text = "Examples:\n".to_string();
    for (what, line) in examples {
        text.extend(["  # ", what, "\n  ", line, "\n"]);
    }
    text + "\nSee `kubectl smp options` for the flags that choose a cluster and form messages."
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
