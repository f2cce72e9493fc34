//! Local targets: symlinks, special files, oversized files, and files named on the command line.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::net::UnixListener;
use std::process::Stdio;

use super::{Outcome, SECRET, Workspace, kustomize, map};

const NONE: &str = "--load-restrictor=LoadRestrictionsNone";

#[test]
fn symlinks_out_of_a_kustomization_are_rejected() {
    let entries = [
        ("resources: [l.yaml]", "l.yaml"),
        ("resources: [d/secret.yaml]", "d/secret.yaml"),
        ("resources: [a.yaml]\npatches: [{path: l.yaml}]", "l.yaml"),
        ("resources: [a.yaml]\npatchesStrategicMerge: [l.yaml]", "l.yaml"),
        (
            "resources: [a.yaml]\npatchesJson6902: [{path: l.yaml, target: {kind: ConfigMap, name: a}}]",
            "l.yaml",
        ),
        ("configMapGenerator: [{name: a, files: [d/secret.yaml]}]", "d/secret.yaml"),
        ("secretGenerator: [{name: a, envs: [l.yaml]}]", "l.yaml"),
        ("resources: [a.yaml]\nopenapi: {path: l.yaml}", "l.yaml"),
        ("resources: [a.yaml]\ncrds: [l.yaml]", "l.yaml"),
        ("resources: [a.yaml]\nconfigurations: [l.yaml]", "l.yaml"),
        ("resources: [a.yaml]\nreplacements: [{path: l.yaml}]", "l.yaml"),
        ("resources: [a.yaml]\ntransformers: [l.yaml]", "l.yaml"),
        ("resources: [a.yaml]\ngenerators: [d/secret.yaml]", "d/secret.yaml"),
    ];
    for (text, named) in entries {
        let workspace = Workspace::new(&[("app/kustomization.yaml", text), ("app/a.yaml", &map("a"))]);
        workspace.link("app/l.yaml", "../out/secret.yaml");
        workspace.link("app/d", "/out");
        let message = workspace.rejected(&["build", "app"]);
        assert!(message.contains(&format!("`{named}` is not in or below `app`")), "{text}: {message}");
        assert!(message.contains("it resolves to `out/secret.yaml`"), "{text}: {message}");
    }
}

#[test]
fn symlinks_out_of_plain_directories_are_rejected() {
    for (link, target) in [("l.yaml", "../out/secret.yaml"), ("l.yaml", "/out/secret.yaml"), ("d", "../out")]
    {
        for (directory, target_directory) in [("over", "over"), ("base", "over")] {
            let workspace = Workspace::new(&[("base/a.yaml", &map("a")), ("over/b.yaml", &map("b"))]);
            workspace.link(&format!("{directory}/{link}"), target);
            let message = workspace.rejected(&["build", target_directory]);
            let want = format!("`{directory}/{link}` is not in or below `{directory}`");
            assert!(message.contains(&want), "{message}");
            let given = ["build", "over", "--base", "base"];
            assert!(workspace.rejected(&given).contains(&want), "a base that is given");
            let lifted = workspace.stdout_of(&["build", target_directory, NONE]);
            assert!(lifted.contains(super::SECRET), "allowed by the flag: {lifted}");
        }
    }
}

#[test]
fn symlinks_that_are_not_manifests_are_ignored() {
    let workspace =
        Workspace::new(&[("base/a.yaml", &map("a")), ("over/b.yaml", &map("b")), ("README.md", "x")]);
    workspace.link("over/README.md", "../README.md");
    assert_eq!(workspace.stdout_of(&["build", "over"]), format!("{}---\n{}", map("a"), map("b")));
}

/// Directories with allowed symlinks: absolute ones within the root, and symlinked bases.
fn with_symlinks() -> Workspace {
    let workspace = Workspace::new(&[
        (
            "app/kustomization.yaml",
            "\
resources: [l.yaml, d/b.yaml, ../to-base, ../absolute]
namePrefix: x-
",
        ),
        ("app/sub/a.yaml", &map("a")),
        ("app/sub/b.yaml", &map("b")),
        (
            "elsewhere/base/real.yaml",
            "\
resources: [c.yaml]
configMapGenerator: [{name: g, files: [t=l]}]
",
        ),
        ("elsewhere/base/c.yaml", &map("c")),
        ("elsewhere/base/text", "text"),
        ("elsewhere/other/kustomization.yaml", "resources: [d.yaml]"),
        ("elsewhere/other/sub/d.yaml", &map("d")),
    ]);
    workspace.link("app/l.yaml", "/app/sub/a.yaml");
    workspace.link("app/d", "/app/sub");
    workspace.link("to-base", "elsewhere/base");
    workspace.link("absolute", "/elsewhere/other");
    workspace.link("elsewhere/base/kustomization.yaml", "/elsewhere/base/real.yaml");
    workspace.link("elsewhere/base/l", "../base/./text");
    workspace.link("elsewhere/other/d.yaml", "/absolute/sub/d.yaml");
    workspace
}

#[test]
fn symlinks_within_the_root_and_symlinked_bases_are_followed() {
    let built = with_symlinks().stdout_of(&["build", "app"]);
    for name in ["a", "b", "c", "d", "g-"] {
        assert!(built.contains(&format!("name: x-{name}")), "{name}: {built}");
    }
}

#[test]
#[ignore = "needs kustomize, see .ci/tools"]
fn symlinks_are_followed_as_in_kustomize() {
    let workspace = with_symlinks();
    for target in ["app", "to-base", "absolute", "elsewhere/base"] {
        assert_eq!(workspace.stdout_of(&["build", target]), kustomize(&workspace.at(target)), "{target}");
    }
}

#[test]
fn plain_bases_may_be_or_contain_symlinks() {
    let workspace = Workspace::new(&[("elsewhere/.x/a.yaml", &map("a")), ("over/b.yaml", &map("b"))]);
    workspace.link("base", "elsewhere");
    workspace.link("elsewhere/x", "/elsewhere/.x");
    assert_eq!(workspace.stdout_of(&["build", "over"]), format!("{}---\n{}", map("a"), map("b")));
}

#[test]
fn unreadable_kustomization_is_an_error() {
    for name in ["kustomization.yaml", "kustomization.yml", "Kustomization"] {
        // With manifests and a base beside it, the directory would be a plain one without the kustomization.
        let workspace = || Workspace::new(&[("app/a.yaml", &map("a")), ("base/a.yaml", &map("a"))]);
        let path = format!("app/{name}");
        let outside = workspace();
        outside.link(&path, "../out/secret.yaml");
        let message = outside.rejected(&["build", "app"]);
        assert!(message.contains(&format!("`{path}` is not in or below `app`")), "{message}");
        let lost = workspace();
        lost.link(&path, "nowhere");
        assert!(
            lost.rejected(&["build", "app"])
                .contains(&format!("symlink {path} cannot be followed: no such file or directory"))
        );
        let pipe = workspace();
        pipe.pipe(&path);
        assert!(pipe.rejected(&["build", "app"]).contains(&format!("`{path}` is a pipe")));
        let device = workspace();
        device.link(&path, "/dev/zero");
        assert!(device.rejected(&["build", "app", NONE]).contains(&format!("`{path}` is a pipe, a device")));
        let directory = workspace();
        directory.write(&format!("{path}/a.txt"), "");
        assert!(directory.rejected(&["build", "app"]).contains(&format!("{path} is a directory")));
    }
}

#[test]
fn pipes_devices_and_sockets_are_rejected_by_name() {
    let entries = [
        ("resources: [x.yaml]", "app"),
        ("resources: [a.yaml]\npatches: [{path: x.yaml}]", "app"),
        ("configMapGenerator: [{name: a, files: [x.yaml]}]", "app"),
        ("secretGenerator: [{name: a, envs: [x.yaml]}]", "app"),
        ("resources: [a.yaml]\nopenapi: {path: x.yaml}", "app"),
        ("resources: [a.yaml]\ncrds: [x.yaml]", "app"),
        ("resources: [a.yaml]\ngenerators: [x.yaml]", "app"),
        ("", "plain"),
    ];
    for (text, target) in entries {
        for what in ["pipe", "socket", "device"] {
            let workspace =
                Workspace::new(&[("base/a.yaml", &map("a")), (&format!("{target}/a.yaml"), &map("b"))]);
            if !text.is_empty() {
                workspace.write("app/kustomization.yaml", text);
            }
            let path = format!("{target}/x.yaml");
            match what {
                "pipe" => drop(workspace.pipe(&path)),
                "socket" => drop(UnixListener::bind(workspace.at(&path)).expect("a socket")),
                _ => workspace.link(&path, "/dev/zero"),
            }
            let output_or_error = if text.is_empty() { path.as_str() } else { "x.yaml" };
            let message = workspace.rejected(&["build", target, NONE]);
            let want = format!("`{output_or_error}` is a pipe, a device or a socket, not a file");
            assert!(message.contains(&want), "{what} {text}: {message}");
        }
    }
}

#[test]
fn pipes_in_manifest_directories_are_rejected_by_name() {
    for link in [false, true] {
        let workspace = Workspace::new(&[("src/a.yaml", &map("a")), ("dest/a.yaml", &map("a"))]);
        if link {
            workspace.link("src/x.yaml", "/dev/zero");
        } else {
            drop(workspace.pipe("src/x.yaml"));
        }
        let mut commands = vec![];
        if link {
            // Directory merges ignore symlinks.
            let outcome = workspace.run(&["merge", "src", "dest"]);
            assert!(
                outcome.succeeded && outcome.messages.contains("src/x.yaml: not changed"),
                "{}",
                outcome.messages
            );
        } else {
            commands.push(["merge", "src", "dest"]);
        }
        if cfg!(feature = "cluster") {
            commands.push(["apply", "-f", "src"]);
        }
        for command in commands {
            let message = workspace.rejected(&command);
            assert!(message.contains("src/x.yaml is a pipe, a device or a socket"), "{command:?}: {message}");
        }
    }
}

#[test]
fn oversized_files_are_rejected_by_name() {
    let workspace = Workspace::new(&[("app/kustomization.yaml", "resources: [big.yaml]")]);
    File::create(workspace.at("app/big.yaml")).and_then(|file| file.set_len(1 << 40)).expect("a sparse file");
    let message = workspace.rejected(&["build", "app"]);
    insta::assert_snapshot!(message, @r"
    error[limit-exceeded]: `app/big.yaml` cannot be read: it is larger than 1 GiB, the maximum file size
     --> app/kustomization.yaml:1:13
      |
    1 | resources: [big.yaml]
      |             ^^^^^^^^
    ");
}

/// Runs a command while a thread writes to a pipe each time it is opened, up to a maximum count.
fn with_writer(workspace: &Workspace, arguments: &[&str], text: &str) -> Outcome {
    let pipe = workspace.pipe("pipe");
    let (path, text) = (pipe.clone(), text.to_string());
    std::thread::spawn(move || {
        let mut pipe = File::options().write(true).open(path).expect("a reader");
        pipe.write_all(text.as_bytes()).expect("read");
    });
    Outcome::run(workspace.command(arguments))
}

#[test]
fn pipe_named_on_the_command_line_is_read() {
    let manifest = map("a");
    let schema = "definitions: {a: {type: object, x-kubernetes-group-version-kind: [{group: e.com, version: v1, \
                  kind: E}], properties: {spec: {type: object, properties: {l: {type: array, items: {type: object}, \
                  x-kubernetes-patch-merge-key: id, x-kubernetes-patch-strategy: merge}}}}}}\n";
    let patch = ["patch", "-f", "pipe", "--type", "merge", "--patch", "data: {a: b}"];
    let workspace = Workspace::new(&[]);
    let outcome = with_writer(&workspace, &patch, &manifest);
    insta::assert_snapshot!(outcome.output, @r"
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: a
    data: {a: b}
    ");
    assert!(outcome.succeeded, "{}", outcome.messages);
    let workspace = Workspace::new(&[("b.yaml", &manifest)]);
    let outcome = with_writer(&workspace, &["merge", "pipe", "b.yaml"], &manifest);
    assert_eq!(
        (outcome.output.as_str(), outcome.succeeded),
        (manifest.as_str(), true),
        "{}",
        outcome.messages
    );
    // A plain directory reads the schema twice.
    let custom = |list: &str| {
        format!(
            "\
apiVersion: e.com/v1
kind: E
metadata:
  name: a
spec:
  l:
{list}"
        )
    };
    let workspace = Workspace::new(&[
        (
            "base/a.yaml",
            &custom(
                r"  - id: a
    x: 1
",
            ),
        ),
        (
            "over/a.yaml",
            &custom(
                r"  - id: b
    x: 2
",
            ),
        ),
    ]);
    let outcome = with_writer(&workspace, &["build", "over", "--schema", "pipe"], schema);
    let merged = custom(
        r"  - id: a
    x: 1
  - id: b
    x: 2
",
    );
    assert_eq!((outcome.output.as_str(), outcome.succeeded), (merged.as_str(), true), "{}", outcome.messages);
}

#[test]
fn standard_input_named_on_the_command_line_is_read() {
    for name in ["/dev/stdin", "/dev/fd/0", "-"] {
        let workspace = Workspace::new(&[]);
        let mut command =
            workspace.command(&["patch", "-f", name, "--type", "merge", "--patch", "data: {a: b}"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the program");
        child.stdin.take().expect("its input").write_all(map("a").as_bytes()).expect("it reads");
        let output = child.wait_with_output().expect("ended");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            format!("{}data: {{a: b}}\n", map("a")),
            "{name}"
        );
    }
}

/// Credentials file of a registry client. It is not a manifest, so an error about it would quote it.
pub(super) const CREDENTIALS: &str = r#"{"auths": {"registry.example.com": {"auth": "top-secret"}}}"#;

#[test]
fn detected_bases_must_be_inside_the_repository() {
    for (overlay, base) in [("repo/over", "repo/base"), ("repo/overlays/prod", "repo/base")] {
        let workspace = Workspace::new(&[
            (&format!("{overlay}/a.yaml"), &map("a")),
            ("repo/sub/ok/a.yaml", &map("a")),
            ("repo/sub/base/b.yaml", &map("b")),
            (".docker/config.json", CREDENTIALS),
        ]);
        workspace.link(base, "../.docker");
        workspace.repository("repo");
        for flags in [&[][..], &[NONE]] {
            for command in ["build", "check"] {
                let outcome = workspace.run(&[&[command, overlay], flags].concat());
                let reported = outcome.messages + &outcome.output;
                assert!(!outcome.succeeded && !reported.contains(SECRET), "{command} {flags:?}: {reported}");
                assert!(
                    reported
                        .contains(&format!("`{base}` is a symlink to `.docker`, which is outside of `repo`")),
                    "{command} {flags:?}: {reported}"
                );
                assert!(reported.contains("--base .docker"), "{reported}");
            }
        }
        let all = workspace.run(&["check", "-R", "repo"]);
        assert!(
            !all.succeeded
                && all
                    .output
                    .contains(&format!("`{base}` is a symlink to `.docker`, which is outside of `repo`")),
            "{} {}",
            all.output,
            all.messages
        );
        assert!(all.messages.contains("2 targets"), "the other target is checked, too: {}", all.messages);
        // A base named on the command line is intended.
        workspace.write(".docker/config.json", &map("kept"));
        assert_eq!(
            workspace.stdout_of(&["build", overlay, "--base", ".docker"]),
            format!("{}---\n{}", map("kept"), map("a"))
        );
    }
}

#[test]
fn detected_bases_without_a_repository_must_be_inside_the_directory() {
    let workspace = Workspace::new(&[("app/over/a.yaml", &map("a")), ("app/elsewhere/b.yaml", &map("b"))]);
    workspace.link("app/base", "elsewhere");
    assert_eq!(workspace.stdout_of(&["build", "app/over"]), format!("{}---\n{}", map("b"), map("a")));
    workspace.write(".docker/config.json", CREDENTIALS);
    std::fs::remove_file(workspace.at("app/base")).expect("removed");
    workspace.link("app/base", "/.docker");
    let message = workspace.rejected(&["build", "app/over"]);
    insta::assert_snapshot!(message, @r"
    error[outside-root]: `app/base` is a symlink to `.docker`, which is outside of `app`
     |
     = note: it was found as the base of `app/over`
     = help: if it is the intended base, pass --base .docker
    ");
}

#[test]
fn no_base_is_detected_beside_a_repository() {
    let workspace = Workspace::new(&[("repo/a.yaml", &map("a")), ("base/config.json", CREDENTIALS)]);
    workspace.repository("repo");
    let message = workspace.rejected(&["build", "repo"]);
    insta::assert_snapshot!(message, @r"
    error[missing-field]: `repo` has no kustomization.yaml, so it is merged over a base, and none was found
     |
     = note: looked for a directory `base` next to it and next to its parent
     = help: pass the base with --base DIR, or add a kustomization.yaml
    ");
}
