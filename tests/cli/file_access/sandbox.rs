//! Sandboxed builds print the same output, and the operating system blocks all other access.

use std::fs;
use std::path::Path;

use super::local::CREDENTIALS;
use super::{Ended, Place, SECRET, map};

const NONE: &str = "--load-restrictor=LoadRestrictionsNone";
const ON: &str = "--sandbox";

/// Creates a repository with an overlay over a base of another repository.
fn repositories() -> (Place, String) {
    let place =
        Place::new(&[("other/b/kustomization.yaml", "resources: [b.yaml]"), ("other/b/b.yaml", &map("b"))]);
    let other = place.repository("other");
    place.write(
        "repo/app/kustomization.yaml",
        &format!("resources: [a.yaml, ../near, '{other}//b?ref=main']"),
    );
    place.write("repo/near/kustomization.yaml", "resources: [n.yaml]");
    place.write("repo/near/n.yaml", &map("n"));
    place.write("repo/app/a.yaml", &map("a"));
    let url = place.repository("repo");
    (place, format!("{url}//app?ref=main"))
}

#[test]
fn flags_that_run_programs_conflict_with_the_sandbox() {
    let place = Place::new(&[("app/kustomization.yaml", "resources: [a.yaml]"), ("app/a.yaml", &map("a"))]);
    for flag in ["--enable-helm", "--enable-exec", "--enable-alpha-plugins"] {
        let message = place.refused(&["build", "app", ON, flag]);
        let said = format!("{flag} needs more than a sandbox allows");
        assert_eq!(message.matches(&said).count(), 1, "{message}");
        let (remote, url) = repositories();
        let ended = remote.run(&["build", &url, flag]);
        let note = format!("note: no sandbox: {flag} needs more than one allows\n");
        assert!(ended.succeeded && ended.messages == note, "{}", ended.messages);
        let told = remote.run(&["build", &url, flag, "-v"]);
        assert_eq!(told.messages.matches("no sandbox").count(), 1, "{}", told.messages);
        let unasked = remote.run(&["build", &url, flag, "--sandbox=off"]);
        assert!(unasked.succeeded && unasked.messages.is_empty(), "{}", unasked.messages);
    }
    let message = place.refused(&["build", "app", ON, "--schema", "cluster"]);
    insta::assert_snapshot!(message, @"error[usage]: --schema cluster needs more than a sandbox allows: leave out --sandbox");
}

#[test]
fn local_and_unrestricted_targets_build_without_a_sandbox() {
    let (place, url) = repositories();
    place.write("app/kustomization.yaml", "resources: [../out/secret.yaml]");
    let ended = place.run(&["build", "app", NONE, "-v"]);
    assert!(ended.succeeded && !ended.messages.contains("sandbox"), "{}", ended.messages);
    let both = place.run(&["build", &url, "app", NONE, "-v"]);
    assert!(both.succeeded && !both.messages.contains("sandbox"), "{}", both.messages);
}

#[test]
#[cfg(feature = "cluster")]
fn commands_that_talk_to_a_cluster_have_no_sandbox() {
    let place = Place::new(&[]);
    for command in ["apply", "diff", "wait", "delete"] {
        let ended = place.run(&[command, "--help"]);
        assert!(ended.succeeded && !ended.output.contains("--sandbox"), "{}", ended.output);
    }
}

/// Creates a repository with the plain directory `over`, whose merge needs a schema that is not available, and a
/// kubeconfig of a server that counts connections.
#[cfg(feature = "cluster")]
fn plain_repository() -> (Place, String, std::net::TcpListener) {
    let place = Place::new(&[]);
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
    place.write("repo/base/a.yaml", &custom("one"));
    place.write("repo/over/a.yaml", &custom("two"));
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    server.set_nonblocking(true).expect("a socket");
    let address = server.local_addr().expect("bound");
    place.write(
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
    let url = place.repository("repo");
    (place, format!("{url}//over?ref=main"), server)
}

#[test]
#[cfg(feature = "cluster")]
fn fetched_plain_directories_stay_in_the_sandbox_and_off_the_cluster() {
    let (place, url, server) = plain_repository();
    let run = |arguments: &[&str]| {
        let mut command = place.command(&[&["build", &url], arguments].concat());
        command.env("KUBECONFIG", place.at("kubeconfig"));
        Ended::of(command)
    };
    let ended = run(&["-v"]);
    assert!(ended.succeeded && ended.output.contains("name: two"), "{}", ended.messages);
    assert!(server.accept().is_err(), "somebody asked the cluster: {}", ended.messages);
    let said = "the cluster could not be asked for the schema of example.com/v1 A: builds of fetched directories \
                ask no cluster";
    assert_eq!(ended.messages.matches(said).count(), 1, "{}", ended.messages);
    assert!(ended.messages.contains("with --sandbox=off it is asked"), "{}", ended.messages);
    assert!(!ended.messages.contains("no sandbox: the cluster"), "{}", ended.messages);
    let offline = run(&["--offline"]);
    assert!(!offline.messages.contains("ask no cluster"), "nobody wants to ask: {}", offline.messages);
    drop(server);
    let explicit = run(&["--schema", "cluster", "--sandbox=auto"]);
    assert!(explicit.messages.contains("note: no sandbox: --schema cluster"), "{}", explicit.messages);
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
    let (place, url) = repositories();
    let run = |arguments: &[&str]| {
        let program = place.command(&[]);
        let mut python = std::process::Command::new("python3");
        python.args(["-c", WITHOUT_LANDLOCK]).arg(program.get_program()).args(arguments);
        python.current_dir(&place.home).env("XDG_CACHE_HOME", place.at("cache"));
        Ended::of(python)
    };
    let usual = run(&["build", &url]);
    assert!(usual.succeeded && usual.messages.is_empty(), "{}", usual.messages);
    let told = run(&["build", &url, "-v"]);
    assert_eq!(
        (told.output, told.messages),
        (usual.output, "note: no sandbox: this system has no Landlock\n".into())
    );
    let asked = run(&["build", &url, ON]);
    assert!(!asked.succeeded && asked.output.is_empty(), "{}", asked.output);
    assert!(
        asked.messages.contains("this system has no Landlock: leave out --sandbox"),
        "{}",
        asked.messages
    );
}

/// Tests for systems with Landlock.
mod enforced {
    use super::*;

    /// Returns the output of a build, which fails if the sandbox cannot be enforced.
    fn prints_in_sandbox(place: &Place, arguments: &[&str]) -> String {
        let ended = place.run(&[arguments, &["-v"]].concat());
        assert!(ended.succeeded, "{arguments:?}: {}", ended.messages);
        assert!(ended.messages.contains("note: building in a sandbox"), "{arguments:?}: {}", ended.messages);
        ended.output
    }

    #[test]
    #[ignore = "needs a kernel with Landlock"]
    fn operating_system_blocks_files_outside_the_sandbox() {
        let files = [
            ("app/kustomization.yaml", "resources: [../out/secret.yaml]"),
            ("over/b.yaml", &map("b")),
            ("base/a.yaml", &map("a")),
        ];
        let place = Place::new(&files);
        place.link("over/l.yaml", "../out/secret.yaml");
        for target in ["app", "over"] {
            assert!(place.prints(&["build", target, NONE]).contains(SECRET), "without a sandbox it is read");
            let message = place.refused(&["build", target, NONE, ON]);
            assert!(
                message.contains("out/secret.yaml cannot be read: permission denied")
                    || message.contains("l.yaml cannot be read: permission")
            );
        }
    }

    #[test]
    #[ignore = "needs a kernel with Landlock"]
    fn detected_bases_do_not_widen_the_sandbox() {
        let place = Place::new(&[("repo/over/a.yaml", &map("a")), ("repo/near/b.yaml", &map("b"))]);
        place.write(".docker/config.json", CREDENTIALS);
        place.link("repo/base", "../.docker");
        place.repository("repo");
        let message = place.refused(&["build", "repo/over", ON]);
        assert!(message.contains("`repo/base` leads outside of repo"), "{message}");
        // The repository is also detected in the sandbox, which cannot list its parent.
        fs::remove_file(place.at("repo/base")).expect("removed");
        place.link("repo/base", "near");
        let built = prints_in_sandbox(&place, &["build", "repo/over", ON]);
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
        let place = Place::new(&[]);
        let mut built = 0;
        for target in targets {
            let input = target.join("input");
            let target = if input.is_dir() { input } else { target };
            let target = target.to_str().expect("UTF-8");
            let outside = place.run(&["build", target]);
            let inside = place.run(&["build", target, ON, "-v"]);
            let is_said_to_both = |line: &&str| {
                *line != "note: building in a sandbox" && !line.starts_with("note[schema-source]")
            };
            let said = inside.messages.lines().filter(is_said_to_both);
            let messages = said.fold(String::new(), |text, line| text + line + "\n");
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
        let (place, url) = repositories();
        let outside = place.prints(&["build", &url, "--sandbox=off"]);
        assert_eq!(outside.matches("name: ").count(), 3);
        assert_eq!(prints_in_sandbox(&place, &["build", &url]), outside);
        // With an empty cache, and with a cache that cannot be created.
        fs::remove_dir_all(place.at("cache")).expect("there");
        assert_eq!(prints_in_sandbox(&place, &["build", &url]), outside);
        let mut command = place.command(&["build", &url, "-v"]);
        let temporary = place.at("tmp");
        fs::create_dir(&temporary).expect("made");
        command.env("XDG_CACHE_HOME", place.at("out/secret.yaml")).env("TMPDIR", &temporary);
        let ended = Ended::of(command);
        assert_eq!(ended.output, outside, "{}", ended.messages);
        assert_eq!(fs::read_dir(&temporary).expect("there").count(), 0, "nothing is left behind");
        // Local targets beside it are readable roots, too.
        place.write("local/kustomization.yaml", "resources: [l.yaml]");
        place.write("local/l.yaml", &map("l"));
        let both = prints_in_sandbox(&place, &["build", &url, "local"]);
        assert_eq!(both, format!("{outside}---\n{}", map("l")));
    }

    #[test]
    #[ignore = "needs a kernel with Landlock"]
    fn sandboxed_builds_write_their_output() {
        let (place, url) = repositories();
        let want = place.prints(&["build", &url, "--sandbox=off"]);
        fs::create_dir(place.at("dir")).expect("made");
        fs::write(place.at("old.yaml"), "old").expect("written");
        for output in ["new.yaml", "old.yaml", "dir/new.yaml", "out/new.yaml"] {
            prints_in_sandbox(&place, &["build", &url, "-o", output]);
            assert_eq!(fs::read_to_string(place.at(output)).expect("written"), want, "{output}");
        }
        for directory in ["dir", "more/deep"] {
            prints_in_sandbox(&place, &["build", &url, "--output-dir", directory]);
        }
        let written = fs::read_dir(place.at("dir")).expect("there").count();
        assert!(written > 1 && place.at("more/deep").is_dir(), "{written}");
    }

    #[test]
    #[ignore = "needs a kernel with Landlock"]
    fn output_directories_do_not_widen_the_sandbox() {
        let place = Place::new(&[("app/kustomization.yaml", "resources: [../out/secret.yaml]")]);
        let before = place.prints(&["build", "app", NONE, "--sandbox=off"]);
        assert!(before.contains(SECRET), "without a sandbox it is read");
        for output in [["-o", "out/new.yaml"], ["-o", "out/"], ["--output-dir", "out"], ["-o", "near.yaml"]] {
            let message = place.refused(&[&["build", "app", NONE, ON][..], &output].concat());
            assert!(
                message.contains("out/secret.yaml cannot be read: permission denied"),
                "{output:?}: {message}"
            );
        }
        let left: Vec<_> = fs::read_dir(place.at("out")).expect("there").collect();
        assert!(left.len() == 1 && !place.at("near.yaml").exists(), "{left:?}");
    }

    #[test]
    #[ignore = "needs a kernel with Landlock"]
    #[cfg(feature = "cluster")]
    fn fetched_plain_directories_are_built_in_a_sandbox() {
        let (place, url, _server) = plain_repository();
        let mut command = place.command(&["build", &url, "-v"]);
        command.env("KUBECONFIG", place.at("kubeconfig"));
        let ended = Ended::of(command);
        assert!(
            ended.succeeded && ended.messages.contains("note: building in a sandbox"),
            "{}",
            ended.messages
        );
    }

    #[test]
    #[ignore = "needs a kernel with Landlock"]
    fn sandboxed_builds_report_the_same_errors() {
        let (place, _) = repositories();
        place.write("other/c/kustomization.yaml", "resources: [nope.yaml, 'file:///nowhere/repo?ref=x']");
        place.write("other/d/kustomization.yaml", "resources: ['file:///nowhere/repo?ref=x', nope.yaml]");
        place.write(
            "other/e/kustomization.yaml",
            "\
resources: [../b]
patches: [{path: nope.yaml}]
",
        );
        for target in ["c", "d", "e"] {
            let url = format!("file://{}//{target}", place.at("other").display());
            place.run(&["build", &url]);
            let message = |flag: &str| place.refused(&["build", &url, flag]);
            assert_eq!(message(ON), message("--sandbox=off"), "{target}");
        }
    }
}
