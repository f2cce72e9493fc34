//! Help pages: grouped commands, two working examples each, flags only where they apply, short pages.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{LazyLock, Mutex};

#[cfg(feature = "cluster")]
use kubectl_smp_testing::fake_server;
use kubectl_smp_testing::program;
use tempfile::TempDir;

const COMMANDS: &[&str] = &[
    "build",
    "blame",
    "check",
    "tree",
    #[cfg(feature = "git")]
    "affected",
    "images",
    "deps",
    "edit",
    "edit add",
    "edit set",
    "edit remove",
    "edit fix",
    "edit move",
    "fix",
    "create",
    "completion",
    "man",
    "kustomize",
    "lock",
    "cache",
    "cache path",
    "cache list",
    "cache clear",
    "cache prune",
    "merge",
    "merge3",
    "patch",
    "create-patch",
    "recover",
    #[cfg(feature = "cluster")]
    "apply",
    "diff",
    #[cfg(feature = "preview")]
    "preview",
    #[cfg(feature = "cluster")]
    "drift",
    #[cfg(feature = "cluster")]
    "owners",
    #[cfg(feature = "cluster")]
    "wait",
    #[cfg(feature = "cluster")]
    "delete",
    #[cfg(feature = "cluster")]
    "applyset",
    #[cfg(feature = "cluster")]
    "applyset list",
    #[cfg(feature = "cluster")]
    "applyset view",
    #[cfg(feature = "cluster")]
    "applyset adopt",
    #[cfg(feature = "cluster")]
    "applyset orphan",
    #[cfg(feature = "cluster")]
    "applyset history",
    #[cfg(feature = "cluster")]
    "applyset rollback",
    "schema",
    "schema list",
    "schema show",
    "schema compile",
    "schema lint",
    "options",
    "version",
];

/// The commands of `edit` and `kustomize`, with at least one example.
const EDITS: &[&str] = &[
    "edit add resource",
    "edit add component",
    "edit add patch",
    "edit add configmap",
    "edit add secret",
    "edit add base",
    "edit add buildmetadata",
    "edit add label",
    "edit add annotation",
    "edit add transformer",
    "edit add configuration",
    "edit add generator",
    "edit set image",
    "edit set namespace",
    "edit set nameprefix",
    "edit set namesuffix",
    "edit set replicas",
    "edit set label",
    "edit set annotation",
    "edit set buildmetadata",
    "edit set configmap",
    "edit set secret",
    "edit remove resource",
    "edit remove component",
    "edit remove transformer",
    "edit remove patch",
    "edit remove configmap",
    "edit remove secret",
    "edit remove label",
    "edit remove annotation",
    "edit remove buildmetadata",
    "kustomize build",
    "kustomize edit",
    "kustomize edit set image",
    "kustomize create",
    "kustomize version",
    "kustomize completion",
];

fn help(words: &str, flag: &str) -> &'static str {
    static PAGES: LazyLock<Mutex<BTreeMap<String, &'static str>>> = LazyLock::new(Mutex::default);
    let called = format!("{words} {flag}");
    if let Some(page) = PAGES.lock().expect("pages").get(&called) {
        return page;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-smp"))
        .args(words.split(' ').filter(|word| !word.is_empty()))
        .arg(flag)
        .env("COLUMNS", "80")
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{called}");
    let page = String::from_utf8(output.stdout).expect("text").leak();
    PAGES.lock().expect("pages").insert(called, page);
    page
}

/// Commands listed on a help page.
fn listed(page: &str) -> Vec<&str> {
    let lines = page.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let words = lines.filter_map(|line| line.trim().split(' ').next());
    words
        .filter(|word| !word.starts_with(['-', '[', '<', '#']) && *word != "kubectl" && *word != "help")
        .collect()
}

#[test]
fn overview_lists_all_commands_in_groups() {
    let page = help("", "-h");
    let mut headings: Vec<_> = page.lines().filter(|line| line.ends_with(':')).collect();
    headings.retain(|line| *line != "Cluster:" || cfg!(feature = "cluster"));
    let groups =
        ["Build and lint:", "Review:", "Merge and patch:", "Cluster:", "Schemas:", "Other:", "Examples:"];
    let want = groups.into_iter().filter(|group| *group != "Cluster:" || cfg!(feature = "cluster"));
    assert_eq!(headings, want.collect::<Vec<_>>());
    let mut commands = listed(page);
    commands.sort_unstable();
    let mut want: Vec<_> = COMMANDS.iter().copied().filter(|words| !words.contains(' ')).collect();
    want.sort_unstable();
    assert_eq!(commands, want);
    assert_eq!(page, help("", "--help"));
}

#[test]
fn help_pages_are_short() {
    for words in COMMANDS.iter().chain(&["", "kustomize build"]) {
        let page = help(words, "-h");
        assert!(page.lines().count() < 60, "{words}: {} lines", page.lines().count());
    }
}

/// The flags on a help page, each with its summary.
fn summaries(page: &str) -> Vec<(&str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    let mut is_open = false;
    for line in page.lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        if (2..=6).contains(&indent) && text.starts_with('-') {
            let (flag, summary) = text.split_once("  ").unwrap_or((text, ""));
            found.push((flag, summary.trim().to_string()));
            is_open = true;
        } else if indent > 6 && is_open && !text.is_empty() {
            let (_, summary) = found.last_mut().expect("an open flag");
            *summary = format!("{summary} {text}").trim().to_string();
        } else {
            is_open = false;
        }
    }
    // Clap adds defaults and values on short pages.
    let is_added = |summary: &str| summary.find(" [default:").or_else(|| summary.find(" [possible values:"));
    for (_, summary) in &mut found {
        summary.truncate(is_added(summary).unwrap_or(summary.len()));
    }
    found
}

#[test]
fn summaries_of_flags_have_at_most_ten_words() {
    let (mut count, mut wrong) = (0, Vec::new());
    for words in COMMANDS.iter().chain(&["", "kustomize build", "options"]) {
        for (flag, summary) in summaries(help(words, "--help")) {
            count += 1;
            if !(1..=10).contains(&summary.split_whitespace().count()) {
                wrong.push(format!("{words} {flag}: {summary}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 400, "{count}");
}

#[test]
fn global_flags_are_listed_only_by_options() {
    let shared =
        ["--context", "--kubeconfig", "--token", "--message-format", "--strict", "--color", "--quiet"];
    let options = help("options", "--verbose");
    for flag in shared {
        assert!(options.contains(flag) || cfg!(not(feature = "cluster")), "{flag}");
        for words in COMMANDS {
            for page in [help(words, "-h"), help(words, "--help")] {
                assert!(
                    !page.contains(&format!("{flag} ")) && !page.contains(&format!("{flag}\n")),
                    "{words} {flag}"
                );
            }
        }
    }
    for words in COMMANDS {
        assert!(help(words, "-h").contains("`kubectl smp options`"), "{words}");
    }
}

#[test]
fn namespace_of_a_kustomization_is_not_the_cluster_flag() {
    for words in ["create", "edit add patch", "edit add configmap", "edit add secret", "edit set configmap"] {
        assert!(help(words, "-h").contains("--namespace <NAMESPACE>"), "{words}");
    }
}

#[cfg(feature = "cluster")]
#[test]
fn flags_that_a_command_always_rejects_are_not_listed() {
    let rollback = help("applyset rollback", "--help");
    for flag in ["--live-objects", "--load-restrictor", "--dialect", "--lock-file", "--enable-helm"] {
        assert!(!rollback.contains(flag), "{flag}");
    }
    assert!(rollback.contains("--dry-run"));
    assert!(!help("lock", "--help").contains("--locked"));
}

#[test]
fn commands_without_cluster_access_reject_cluster_flags() {
    for words in ["cache list", "recover", "schema compile", "version", "options"] {
        let args = words.split(' ').chain(["--context", "x"]);
        let output = Command::new(env!("CARGO_BIN_EXE_kubectl-smp")).args(args).output().expect("runs");
        assert_eq!(output.status.code(), Some(2), "{words}");
    }
}

/// Lines of the examples on a help page.
fn examples(page: &str) -> Vec<&str> {
    let behind = page.split_once("Examples:\n").map_or("", |(_, behind)| behind);
    let lines = behind.lines().take_while(|line| !line.is_empty());
    lines.filter(|line| !line.trim().starts_with('#')).map(str::trim).collect()
}

const WEB: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {a: '1'}
";
const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.e.com}
spec:
  group: e.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object}}}}
";
const OPENAPI: &str = r#"{"definitions": {"a.B": {"type": "object", "properties": {"x": {"type": "string"}},
"x-kubernetes-group-version-kind": [{"group": "e.com", "version": "v1", "kind": "B"}]}}}"#;

/// Creates a directory with all files that the examples use, and a `kubectl` with the plugin.
fn fixture() -> TempDir {
    let home = tempfile::tempdir().expect("a directory");
    let changed = WEB.replace("'1'", "'2'");
    let kubectl = format!(
        r#"#!/bin/sh
shift
exec '{}' "$@"
"#,
        env!("CARGO_BIN_EXE_kubectl-smp")
    );
    let files: &[(&str, &str)] = &[
        ("base/kustomization.yaml", "resources: [web.yaml]"),
        ("base/web.yaml", WEB),
        ("overlays/prod/kustomization.yaml", "resources: [../../base]"),
        (
            "overlays/dev/kustomization.yaml",
            "\
resources: [../../base]
namePrefix: dev-
",
        ),
        (
            "shop/kustomization.yaml",
            "\
components: [../component]
transformers: [labels.yaml]
configMapGenerator: [{name: settings, literals: [a=1]}, {name: flags}]
secretGenerator: [{name: login, literals: [a=1]}]
commonLabels: {team: a}
commonAnnotations: {note: x}
buildMetadata: [managedByLabel]
",
        ),
        ("shop/patch.yaml", &changed),
        (
            "shop/labels.yaml",
            "\
apiVersion: builtin
kind: LabelTransformer
metadata: {name: labels}
labels: {a: b}
fieldSpecs: [{path: metadata/labels, create: true}]
",
        ),
        ("shop/generator.yaml", WEB),
        ("shop/transformer.yaml", WEB),
        ("shop/name-reference.yaml", "nameReference: []"),
        ("component/kustomization.yaml", "{kind: Component, namePrefix: shop-}"),
        ("web.yaml", WEB),
        ("patch.yaml", &changed),
        ("new.yaml", &changed),
        ("live.yaml", WEB),
        ("updates/web.yaml", &changed),
        ("app/web.yaml", WEB),
        ("v1/web.yaml", WEB),
        ("v2/web.yaml", &changed),
        ("ops.json", r#"[{"op": "replace", "path": "/data/a", "value": "3"}]"#),
        ("crd.yaml", CRD),
        ("new.json", OPENAPI),
        ("old.json", OPENAPI),
        ("bin/kubectl", &kubectl),
    ];
    for (path, text) in files {
        program::write(&home.path().join(path), text);
    }
    fs::create_dir(home.path().join("rendered")).expect("made");
    fs::create_dir(home.path().join("cache")).expect("made");
    fs::create_dir_all(home.path().join(".local/bin")).expect("made");
    let commit =
        "git init -q . && git add . && git -c user.name=a -c user.email=a@example.com commit -qm first";
    let made = Command::new("sh").args(["-c", commit]).current_dir(home.path()).status();
    assert!(made.expect("git runs").success());
    let made = Command::new("chmod").arg("+x").arg(home.path().join("bin/kubectl")).status();
    assert!(made.expect("chmod runs").success());
    let plugin = [Path::new(env!("CARGO_BIN_EXE_kubectl-smp")), &home.path().join("bin/kubectl-smp")];
    let made = Command::new("ln").arg("-s").args(plugin).status();
    assert!(made.expect("ln runs").success());
    home
}

#[cfg(feature = "cluster")]
fn server() -> String {
    fake_server::start(|body| (200, String::new(), body.into()))
}

#[cfg(not(feature = "cluster"))]
fn server() -> String {
    "http://127.0.0.1:1".into()
}

fn kubeconfig(home: &Path, server: &str) -> std::path::PathBuf {
    let path = home.join("kubeconfig");
    let text = format!(
        "\
clusters:
- name: c
  cluster: {{server: '{server}'}}
contexts:
- name: c
  context: {{cluster: c}}
current-context: c
"
    );
    fs::write(&path, text).expect("written");
    path
}

/// Creates the command that runs an example in a fixture.
#[cfg(unix)]
fn shell(home: &Path, server: &str, line: &str) -> Command {
    let path = format!("{}/bin:{}", home.display(), std::env::var("PATH").expect("a path"));
    let mut command = Command::new("sh");
    command
        .args(["-c", line.strip_prefix("source ").map_or(line, |_| "kubectl smp completion bash")])
        .current_dir(home)
        .env("PATH", path)
        .env("HOME", home)
        .env("KUBECONFIG", kubeconfig(home, server))
        .env("KUBECTL_SMP_CACHE_DIR", home.join("cache"));
    command
}

/// Returns the first line that an example prints which runs until it is interrupted.
#[cfg(unix)]
fn first_line(mut command: Command) -> String {
    let mut child = command.stdout(Stdio::piped()).spawn().expect("a shell");
    let mut line = String::new();
    let read = BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line);
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    read.expect("text");
    line
}

#[cfg(unix)]
#[test]
fn every_command_has_two_working_examples() {
    let server = server();
    for words in COMMANDS.iter().chain(EDITS) {
        let page = help(words, "-h");
        let examples = examples(page);
        let count = match *words {
            "build" => 3..=3,
            _ if EDITS.contains(words) => 1..=2,
            _ => 2..=2,
        };
        assert!(count.contains(&examples.len()), "{words}: {examples:?}");
        for line in examples {
            let home = fixture();
            if *words == "preview" || line.ends_with(" --watch") {
                let flag = if *words == "preview" { " --no-open" } else { "" };
                let printed = first_line(shell(home.path(), &server, &format!("exec {line}{flag}")));
                let is_well = printed.starts_with("http://127.0.0.1:") || printed.starts_with("apiVersion:");
                assert!(is_well, "{line}\n{printed}");
                continue;
            }
            let output = shell(home.path(), &server, line).output().expect("a shell");
            let stderr = String::from_utf8_lossy(&output.stderr);
            // `diff` exits with status 1 if there are differences. The server has no applied objects and no history,
            // so of these commands only the command line can be tried.
            let needs_more = ["drift", "owners", "applyset history", "applyset rollback"].contains(words);
            let is_well = match output.status.code() {
                Some(0) => true,
                Some(1) => *words == "diff" || needs_more,
                _ => needs_more && !stderr.contains("error[usage]"),
            };
            assert!(is_well && (needs_more || !stderr.contains("error")), "{line}\n{stderr}");
        }
    }
}

#[test]
fn aliases_from_other_tools_work() {
    let home = fixture();
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-smp"));
        command.args(args).current_dir(home.path()).env("KUBECONFIG", "/dev/null").output().expect("runs")
    };
    for (alias, name) in [("render", "build"), ("lint", "check"), ("why", "blame")] {
        let (alias_of, of) = (run(&[alias, "overlays/prod"]), run(&[name, "overlays/prod"]));
        assert_eq!((alias_of.status.code(), alias_of.stdout), (Some(0), of.stdout), "{alias}");
        assert!(help("", "-h").contains(&format!("[alias: {alias}]")), "{alias}");
    }
    let wrong = run(&["build", "--xml"]);
    let message = String::from_utf8_lossy(&wrong.stderr);
    insta::assert_snapshot!(message, @r"
    error[usage]: unexpected argument '--xml' found
     |
     = help: Usage: kubectl smp build [OPTIONS] [TARGET]...
             For more information, try '--help'.
    ");
    assert!(!message.contains("as a value"), "{message}");
}

#[test]
fn words_of_other_tools_have_a_suggestion() {
    for (words, help) in [
        (&["validate"][..], "`kubectl smp check`"),
        (&["template"], "`kubectl smp build`"),
        (&["upgrade"], "`kubectl smp merge3`"),
        (&["install"], "`kubectl smp apply`"),
        (&["buidl"], "did you mean `build`?"),
        (&["kustomise"], "did you mean `kustomize`?"),
        (&["build", "--recursve"], "did you mean `--recursive`?"),
        // The most similar name comes first.
        (&["dif"], "did you mean `diff`"),
        #[cfg(feature = "cluster")]
        (&["aply"], "did you mean `apply`"),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_kubectl-smp")).args(words).output().expect("runs");
        let stderr = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(stderr.contains(help), "{words:?}: {stderr}");
    }
    let output =
        Command::new(env!("CARGO_BIN_EXE_kubectl-smp")).args(["edit", "update"]).output().expect("runs");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("merge3"));
}

#[test]
fn without_command_the_commands_are_listed_as_help() {
    let output = Command::new(env!("CARGO_BIN_EXE_kubectl-smp")).output().expect("the program runs");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]), "{stderr}");
    assert!(stderr.starts_with("error[usage]: a command is required\n"), "{stderr}");
    for command in ["build", "check", "merge3", "version"] {
        assert!(stderr.contains(&format!("\n           {command} ")), "{command}: {stderr}");
    }
}
