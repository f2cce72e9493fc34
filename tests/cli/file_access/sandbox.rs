//! Sandboxed builds print the same output, and the operating system blocks all other access.

use std::fs;
use std::path::Path;

use super::local::CREDENTIALS;
use super::{Outcome, SECRET, Workspace, map};

const NONE: &str = "--load-restrictor=LoadRestrictionsNone";
const ON: &str = "--sandbox";

/// Creates a repository with an overlay over a base of another repository.
fn repositories() -> (Workspace, String) {
    let workspace = Workspace::new(&[
        ("other/b/kustomization.yaml", "resources: [b.yaml]"),
        ("other/b/b.yaml", &map("b")),
    ]);
    let other = workspace.repository("other");
    workspace.write(
        "repo/app/kustomization.yaml",
        &format!("resources: [a.yaml, ../near, '{other}//b?ref=main']"),
    );
    workspace.write("repo/near/kustomization.yaml", "resources: [n.yaml]");
    workspace.write("repo/near/n.yaml", &map("n"));
    workspace.write("repo/app/a.yaml", &map("a"));
    let url = workspace.repository("repo");
    (workspace, format!("{url}//app?ref=main"))
}

#[test]
fn flags_that_run_programs_conflict_with_the_sandbox() {
    let workspace =
        Workspace::new(&[("app/kustomization.yaml", "resources: [a.yaml]"), ("app/a.yaml", &map("a"))]);
    for flag in ["--enable-helm", "--enable-exec", "--enable-alpha-plugins"] {
        let message = workspace.rejected(&["build", "app", ON, flag]);
        let diagnostics = format!("{flag} cannot be used with --sandbox: remove one of them");
        assert_eq!(message.matches(&diagnostics).count(), 1, "{message}");
        let (remote, url) = repositories();
        let outcome = remote.run(&["build", &url, flag]);
        let note = format!("note: not using a sandbox because of {flag}\n");
        assert!(outcome.succeeded && outcome.messages == note, "{}", outcome.messages);
        let reported = remote.run(&["build", &url, flag, "-v"]);
        assert_eq!(reported.messages.matches("not using a sandbox").count(), 1, "{}", reported.messages);
        let unasked = remote.run(&["build", &url, flag, "--sandbox=off"]);
        assert!(unasked.succeeded && unasked.messages.is_empty(), "{}", unasked.messages);
    }
    let message = workspace.rejected(&["build", "app", ON, "--schema", "cluster"]);
    insta::assert_snapshot!(message, @"error[usage]: --schema cluster cannot be used with --sandbox: remove one of them");
}

#[test]
fn local_and_unrestricted_targets_build_without_a_sandbox() {
    let (workspace, url) = repositories();
    workspace.write("app/kustomization.yaml", "resources: [../out/secret.yaml]");
    let outcome = workspace.run(&["build", "app", NONE, "-v"]);
    assert!(outcome.succeeded && !outcome.messages.contains("sandbox"), "{}", outcome.messages);
    let both = workspace.run(&["build", &url, "app", NONE, "-v"]);
    assert!(both.succeeded && !both.messages.contains("sandbox"), "{}", both.messages);
}

#[test]
#[cfg(feature = "cluster")]
fn commands_that_talk_to_a_cluster_have_no_sandbox() {
    let workspace = Workspace::new(&[]);
    for command in ["apply", "diff", "wait", "delete"] {
        let outcome = workspace.run(&[command, "--help"]);
        assert!(outcome.succeeded && !outcome.output.contains("--sandbox"), "{}", outcome.output);
    }
}

/// Creates a repository with the plain directory `over`, whose merge needs a schema that is not available, and a
/// kubeconfig of a server that counts connections.
#[cfg(feature = "cluster")]
fn plain_repository() -> (Workspace, String, std::net::TcpListener) {
    let workspace = Workspace::new(&[]);
    let custom = |entry: &str| {
        format!(
            "\
apiVersion: example.com/v1
kind: A
metadata: {{name: a}}
spec: {{list: [{{name: {entry}}}]}}
"
        )
    };
    workspace.write("repo/base/a.yaml", &custom("one"));
    workspace.write("repo/over/a.yaml", &custom("two"));
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    server.set_nonblocking(true).expect("a socket");
    let address = server.local_addr().expect("bound");
    workspace.write(
        "kubeconfig",
        &format!(
            "\
apiVersion: v1
kind: Config
current-context: c
clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}]
users: [{{name: u, user: {{token: {SECRET}}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
"
        ),
    );
    let url = workspace.repository("repo");
    (workspace, format!("{url}//over?ref=main"), server)
}

#[test]
#[cfg(feature = "cluster")]
fn fetched_plain_directories_stay_in_the_sandbox_and_off_the_cluster() {
    let (workspace, url, server) = plain_repository();
    let run = |arguments: &[&str]| {
        let mut command = workspace.command(&[&["build", &url], arguments].concat());
        command.env("KUBECONFIG", workspace.at("kubeconfig"));
        Outcome::run(command)
    };
    let outcome = run(&["-v"]);
    assert!(outcome.succeeded && outcome.output.contains("name: two"), "{}", outcome.messages);
    assert!(server.accept().is_err(), "somebody asked the cluster: {}", outcome.messages);
    let diagnostics = "cannot get the schema of example.com/v1 A from the cluster: sandboxed builds of remote \
                targets do not use the cluster";
    assert_eq!(outcome.messages.matches(diagnostics).count(), 1, "{}", outcome.messages);
    assert!(outcome.messages.contains("use --sandbox=off to allow it"), "{}", outcome.messages);
    assert!(!outcome.messages.contains("not using a sandbox because of"), "{}", outcome.messages);
    let offline = run(&["--offline"]);
    assert!(
        !offline.messages.contains("do not use the cluster"),
        "nobody wants to ask: {}",
        offline.messages
    );
    drop(server);
    let explicit = run(&["--schema", "cluster", "--sandbox=auto"]);
    assert!(
        explicit.messages.contains("note: not using a sandbox because of --schema cluster"),
        "{}",
        explicit.messages
    );
}

/// Runs the program with the Landlock system calls blocked, as on a kernel without Landlock.
const WITHOUT_LANDLOCK: &str = r"
import ctypes, os, struct, sys
instruction = lambda code, yes, no, value: struct.pack('HBBI', code, yes, no, value)
program = (instruction(0x20, 0, 0, 0) + instruction(0x35, 0, 2, 444) + instruction(0x25, 1, 0, 446)
           + instruction(0x06, 0, 0, 0x50000 | 38) + instruction(0x06, 0, 0, 0x7fff0000))
text = ctypes.create_string_buffer(program, len(program))
filter = ctypes.create_string_buffer(struct.pack('HxxxxxxP', len(program) // 8, ctypes.addressof(text)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0 and libc.prctl(22, 2, filter, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
";

#[test]
#[ignore = "needs python3"]
fn missing_landlock_is_reported_with_verbose_or_an_explicit_sandbox() {
    let (workspace, url) = repositories();
    let run = |arguments: &[&str]| {
        let program = workspace.command(&[]);
        let mut python = std::process::Command::new("python3");
        python.args(["-c", WITHOUT_LANDLOCK]).arg(program.get_program()).args(arguments);
        python.current_dir(&workspace.home).env("XDG_CACHE_HOME", workspace.at("cache"));
        Outcome::run(python)
    };
    let usual = run(&["build", &url]);
    assert!(usual.succeeded && usual.messages.is_empty(), "{}", usual.messages);
    let reported = run(&["build", &url, "-v"]);
    assert_eq!(
        (reported.output, reported.messages),
        (usual.output, "note: not using a sandbox: this system does not support Landlock\n".into())
    );
    let requested = run(&["build", &url, ON]);
    assert!(!requested.succeeded && requested.output.is_empty(), "{}", requested.output);
    assert!(
        requested
            .messages
            .contains("this system does not support Landlock: remove --sandbox to build without a sandbox"),
        "{}",
        requested.messages
    );
}

/// Tests for systems with Landlock.
mod enforced {
    use super::*;

    /// Returns the output of a build, which fails if the sandbox cannot be enforced.
    fn prints_in_sandbox(workspace: &Workspace, arguments: &[&str]) -> String {
        let outcome = workspace.run(&[arguments, &["-v"]].concat());
        assert!(outcome.succeeded, "{arguments:?}: {}", outcome.messages);
        assert!(
            outcome.messages.contains("note: building in a sandbox"),
            "{arguments:?}: {}",
            outcome.messages
        );
        outcome.output
    }

    #[test]
    #[ignore = "needs a kernel with Landlock"]
    fn operating_system_blocks_files_outside_the_sandbox() {
        let files = [
            ("app/kustomization.yaml", "resources: [../out/secret.yaml]"),
            ("over/b.yaml", &map("b")),
            ("base/a.yaml", &map("a")),
        ];
        let workspace = Workspace::new(&files);
        workspace.link("over/l.yaml", "../out/secret.yaml");
        for target in ["app", "over"] {
            assert!(
                workspace.stdout_of(&["build", target, NONE]).contains(SECRET),
                "without a sandbox it is read"
            );
            let message = workspace.rejected(&["build", target, NONE, ON]);
            assert!(
                message.contains("out/secret.yaml` cannot be read: permission denied")
                    || message.contains("l.yaml` cannot be read: permission")
            );
        }
    }

    #[test]
    #[ignore = "needs a kernel with Landlock"]
    fn detected_bases_do_not_widen_the_sandbox() {
        let workspace = Workspace::new(&[("repo/over/a.yaml", &map("a")), ("repo/near/b.yaml", &map("b"))]);
        workspace.write(".docker/config.json", CREDENTIALS);
        workspace.link("repo/base", "../.docker");
        workspace.repository("repo");
        let message = workspace.rejected(&["build", "repo/over", ON]);
        assert!(
            message.contains("`repo/base` is a symlink") && message.contains("is outside of `repo`"),
            "{message}"
        );
        // The repository is also detected in the sandbox, which cannot list its parent.
        fs::remove_file(workspace.at("repo/base")).expect("removed");
        workspace.link("repo/base", "near");
        let built = prints_in_sandbox(&workspace, &["build", "repo/over", ON]);
        assert_eq!(built, format!("{}---\n{}", map("b"), map("a")));
    }

    #[test]
    #[ignore = "needs a kernel with Landlock"]
    fn sandboxed_builds_print_the_same_output() {
        let project = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut targets = vec![project.join("examples/plain/overlays")];
        for folder in ["tests/cases/kustomize", "examples/kustomize"] {
            let entries = fs::read_dir(project.join(folder)).expect("a directory");
            targets.extend(entries.map(|entry| entry.expect("an entry").path()));
        }
        let workspace = Workspace::new(&[]);
        let mut built = 0;
        for target in targets {
            let input = target.join("input");
            let target = if input.is_dir() { input } else { target };
            let target = target.to_str().expect("UTF-8");
            let outside = workspace.run(&["build", target]);
            let inside = workspace.run(&["build", target, ON, "-v"]);
            let is_said_to_both = |line: &&str| {
                *line != "note: building in a sandbox" && !line.starts_with("note[schema-source]")
            };
            let diagnostics = inside.messages.lines().filter(is_said_to_both);
            let messages = diagnostics.fold(String::new(), |text, line| text + line + "\n");
            assert!(inside.messages.len() > messages.len(), "{target}: {messages}");
            assert_eq!((inside.succeeded, &inside.output), (outside.succeeded, &outside.output), "{target}");
            assert_eq!(messages, outside.messages, "{target}");
            built += usize::from(inside.succeeded);
        }
        assert!(built > 5, "{built}");
    }

    #[test]
    #[ignore = "needs a kernel with Landlock"]
    fn remote_targets_are_sandboxed_by_default() {
        let (workspace, url) = repositories();
        let outside = workspace.stdout_of(&["build", &url, "--sandbox=off"]);
        assert_eq!(outside.matches("name: ").count(), 3);
        assert_eq!(prints_in_sandbox(&workspace, &["build", &url]), outside);
        // With an empty cache, and with a cache that cannot be created.
        fs::remove_dir_all(workspace.at("cache")).expect("there");
        assert_eq!(prints_in_sandbox(&workspace, &["build", &url]), outside);
        let mut command = workspace.command(&["build", &url, "-v"]);
        let temporary = workspace.at("tmp");
        fs::create_dir(&temporary).expect("made");
        command.env("XDG_CACHE_HOME", workspace.at("out/secret.yaml")).env("TMPDIR", &temporary);
        let outcome = Outcome::run(command);
        assert_eq!(outcome.output, outside, "{}", outcome.messages);
        assert_eq!(fs::read_dir(&temporary).expect("there").count(), 0, "nothing is left behind");
        // Local targets beside it are readable roots, too.
        workspace.write("local/kustomization.yaml", "resources: [l.yaml]");
        workspace.write("local/l.yaml", &map("l"));
        let both = prints_in_sandbox(&workspace, &["build", &url, "local"]);
        assert_eq!(both, format!("{outside}---\n{}", map("l")));
    }

    #[test]
    #[ignore = "needs a kernel with Landlock"]
    fn sandboxed_builds_write_their_output() {
        let (workspace, url) = repositories();
        let want = workspace.stdout_of(&["build", &url, "--sandbox=off"]);
        fs::create_dir(workspace.at("dir")).expect("made");
        fs::write(workspace.at("old.yaml"), "old").expect("written");
        for output in ["new.yaml", "old.yaml", "dir/new.yaml", "out/new.yaml"] {
            prints_in_sandbox(&workspace, &["build", &url, "-o", output]);
            assert_eq!(fs::read_to_string(workspace.at(output)).expect("written"), want, "{output}");
        }
        for directory in ["dir", "more/deep"] {
            prints_in_sandbox(&workspace, &["build", &url, "--output-dir", directory]);
        }
        let written = fs::read_dir(workspace.at("dir")).expect("there").count();
        assert!(written > 1 && workspace.at("more/deep").is_dir(), "{written}");
    }

    #[test]
    #[ignore = "needs a kernel with Landlock"]
    fn output_directories_do_not_widen_the_sandbox() {
        let workspace = Workspace::new(&[("app/kustomization.yaml", "resources: [../out/secret.yaml]")]);
        let before = workspace.stdout_of(&["build", "app", NONE, "--sandbox=off"]);
        assert!(before.contains(SECRET), "without a sandbox it is read");
        for output in [["-o", "out/new.yaml"], ["-o", "out/"], ["--output-dir", "out"], ["-o", "near.yaml"]] {
            let message = workspace.rejected(&[&["build", "app", NONE, ON][..], &output].concat());
            assert!(
                message.contains("out/secret.yaml` cannot be read: permission denied"),
                "{output:?}: {message}"
            );
        }
        let left: Vec<_> = fs::read_dir(workspace.at("out")).expect("there").collect();
        assert!(left.len() == 1 && !workspace.at("near.yaml").exists(), "{left:?}");
    }

    #[test]
    #[ignore = "needs a kernel with Landlock"]
    #[cfg(feature = "cluster")]
    fn fetched_plain_directories_are_built_in_a_sandbox() {
        let (workspace, url, _server) = plain_repository();
        let mut command = workspace.command(&["build", &url, "-v"]);
        command.env("KUBECONFIG", workspace.at("kubeconfig"));
        let outcome = Outcome::run(command);
        assert!(
            outcome.succeeded && outcome.messages.contains("note: building in a sandbox"),
            "{}",
            outcome.messages
        );
    }

    #[test]
    #[ignore = "needs a kernel with Landlock"]
    fn sandboxed_builds_report_the_same_errors() {
        let (workspace, _) = repositories();
        workspace.write("other/c/kustomization.yaml", "resources: [nope.yaml, 'file:///nowhere/repo?ref=x']");
        workspace.write("other/d/kustomization.yaml", "resources: ['file:///nowhere/repo?ref=x', nope.yaml]");
        workspace.write(
            "other/e/kustomization.yaml",
            "\
resources: [../b]
patches: [{path: nope.yaml}]
",
        );
        for target in ["c", "d", "e"] {
            let url = format!("file://{}//{target}", workspace.at("other").display());
            workspace.run(&["build", &url]);
            let message = |flag: &str| workspace.rejected(&["build", &url, flag]);
            assert_eq!(message(ON), message("--sandbox=off"), "{target}");
        }
    }
}
