//! Fetched trees: no symlink and no `..` leads out of a repository, whatever the flags.

use super::{Workspace, map};

const FLAGS: [&[&str]; 2] = [&[], &["--load-restrictor=LoadRestrictionsNone"]];

/// Files and symlinks of a repository, and the directory that is built. Symlinks to anything else point to `/out`,
/// which has a secret.
struct Trap {
    name: &'static str,
    files: &'static [(&'static str, &'static str)],
    links: &'static [(&'static str, &'static str)],
    target: &'static str,
    /// Path that the message must name.
    named: &'static str,
}

const MAP: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
";

const TRAPS: &[Trap] = &[
    Trap {
        name: "a link to a file in a plain directory",
        files: &[("ov/a.yaml", MAP), ("base/a.yaml", MAP)],
        links: &[("ov/l.yaml", "/out/secret.yaml")],
        target: "ov",
        named: "ov/l.yaml` is outside of the repository",
    },
    Trap {
        name: "a link to a directory in a plain directory",
        files: &[("ov/a.yaml", MAP), ("base/a.yaml", MAP)],
        links: &[("ov/d", "/out")],
        target: "ov",
        named: "ov/d` is outside of the repository",
    },
    Trap {
        name: "a base that is found and is a link",
        files: &[("ov/a.yaml", MAP)],
        links: &[("base", "/out")],
        target: "ov",
        named: "/base` is outside of the repository",
    },
    Trap {
        name: "a relative link that is too long",
        files: &[("ov/a.yaml", MAP), ("base/a.yaml", MAP)],
        links: &[("base/l.yaml", "../../../../../../../../../../../../../../../../etc/passwd")],
        target: "ov",
        named: "base/l.yaml` is outside of the repository",
    },
    Trap {
        name: "a link inside that leads out of the directory",
        files: &[("ov/a.yaml", MAP), ("base/a.yaml", MAP), ("other/s.yaml", MAP)],
        links: &[("ov/l.yaml", "../other/s.yaml")],
        target: "ov",
        named: "ov/l.yaml` is not in or below",
    },
    Trap {
        name: "a base of a base that is above",
        files: &[
            ("ov/a.yaml", MAP),
            ("base/kustomization.yaml", "resources: [../../../../../../../../../../../../..HOME/out]"),
        ],
        links: &[],
        target: "ov",
        named: "/out` is outside of the repository",
    },
    Trap {
        name: "a base that is the directory above the repository",
        files: &[("base/kustomization.yaml", "resources: [../../..]")],
        links: &[],
        target: "base",
        named: "`../../..` is outside of the repository",
    },
    Trap {
        name: "a base that is a link",
        files: &[("app/kustomization.yaml", "resources: [../l]")],
        links: &[("l", "/out")],
        target: "app",
        named: "`../l` is outside of the repository",
    },
    Trap {
        name: "a component that is absolute",
        files: &[("app/kustomization.yaml", "components: [HOME/out]")],
        links: &[],
        target: "app",
        named: "/out` is outside of the repository",
    },
    Trap {
        name: "a resource that is a link",
        files: &[("app/kustomization.yaml", "resources: [l.yaml]")],
        links: &[("app/l.yaml", "/out/secret.yaml")],
        target: "app",
        named: "`l.yaml` is outside of the repository",
    },
    Trap {
        name: "a patch by an absolute path",
        files: &[
            ("app/kustomization.yaml", "resources: [a.yaml]\npatches: [{path: HOME/out/secret.yaml}]"),
            ("app/a.yaml", MAP),
        ],
        links: &[],
        target: "app",
        named: "/out/secret.yaml` is outside of the repository",
    },
    Trap {
        name: "a generator's file through a link",
        files: &[("app/kustomization.yaml", "configMapGenerator: [{name: a, files: [d/secret.yaml]}]")],
        links: &[("app/d", "/out")],
        target: "app",
        named: "`d/secret.yaml` is outside of the repository",
    },
    Trap {
        name: "a kustomization that is a link",
        files: &[("app/a.yaml", MAP), ("base/a.yaml", MAP)],
        links: &[("app/kustomization.yaml", "/out/secret.yaml")],
        target: "app",
        named: "app/kustomization.yaml` is outside of the repository",
    },
    Trap {
        name: "a target that is a link",
        files: &[("a.yaml", MAP)],
        links: &[("app", "/out")],
        target: "app",
        named: "`app` is outside of the repository",
    },
];

#[test]
fn fetched_repository_cannot_read_outside_itself() {
    for Trap { name, files, links, target, named } in TRAPS {
        for flags in FLAGS {
            let workspace = Workspace::new(&[]);
            for (path, text) in *files {
                workspace.write(&format!("repo/{path}"), text);
            }
            for (path, to) in *links {
                workspace.link(&format!("repo/{path}"), to);
            }
            let url = format!("{}//{target}?ref=main", workspace.repository("repo"));
            let message = workspace.rejected(&[&["build", &url], flags].concat());
            assert!(message.contains(named), "{name}: {message}");
            // The same from a local kustomization that references the repository.
            workspace.write("local/kustomization.yaml", &format!("resources: ['{url}']"));
            if files.iter().any(|(path, _)| path.ends_with("kustomization.yaml") && path.starts_with(target))
            {
                let message = workspace.rejected(&[&["build", "local"], flags].concat());
                assert!(message.contains(named), "{name}, as a base: {message}");
            }
        }
    }
}

#[test]
fn symlinks_within_a_repository_are_followed() {
    let workspace = Workspace::new(&[
        ("repo/app/kustomization.yaml", "resources: [l.yaml, ../to-base]"),
        ("repo/app/sub/a.yaml", &map("a")),
        ("repo/real/kustomization.yaml", "resources: [b.yaml]"),
        ("repo/real/b.yaml", &map("b")),
        ("repo/over/c.yaml", &map("c")),
    ]);
    workspace.link("repo/app/l.yaml", "../app/sub/a.yaml");
    workspace.link("repo/to-base", "real");
    workspace.link("repo/base", "real");
    let url = workspace.repository("repo");
    let both = |one: &str, other: &str| format!("{}---\n{}", map(one), map(other));
    assert_eq!(workspace.stdout_of(&["build", &format!("{url}//app")]), both("a", "b"));
    assert_eq!(workspace.stdout_of(&["build", &format!("{url}//over")]), both("b", "c"), "a base beside it");
}

#[test]
fn no_base_is_searched_above_a_fetched_repository() {
    let workspace = Workspace::new(&[("repo/a.yaml", &map("a"))]);
    let url = workspace.repository("repo");
    workspace.run(&["build", &url]);
    // Next to the tree in the cache, where the base of a local directory would be.
    let kept = std::fs::read_dir(workspace.at("cache/kubectl-smp/remote/repositories")).expect("the cache");
    for repository in kept.map(|entry| entry.expect("an entry").path()) {
        std::fs::create_dir_all(repository.join("base")).expect("made");
        std::fs::write(repository.join("base/secret.yaml"), map(super::SECRET)).expect("written");
    }
    let message = workspace.rejected(&["build", &url]);
    assert!(message.contains("so it is merged over a base, and none was found"), "{message}");
}

/// A fake helm that records the directory it pulls charts to, and creates them.
const HELM: &str = r#"#!/bin/sh
case "$1" in
version) echo v3.99.0 ;;
pull)
  echo "$4" >>"HOME/pulled"
  mkdir -p "$4/c" && echo 'a: b' >"$4/c/values.yaml" ;;
template) printf 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: rendered\n' ;;
esac
"#;

#[test]
fn charts_are_never_pulled_into_a_fetched_tree() {
    use std::os::unix::fs::PermissionsExt as _;

    let chart = "helmCharts: [{name: c, repo: 'http://127.0.0.1:1/', releaseName: r}]\n";
    let workspace = Workspace::new(&[
        ("helm", HELM),
        ("repo/direct/kustomization.yaml", chart),
        ("repo/nested/kustomization.yaml", "resources: [../direct]"),
        ("repo/plain/over/a.yaml", &map("a")),
        ("repo/plain/base/kustomization.yaml", chart),
    ]);
    let helm = workspace.at("helm");
    std::fs::set_permissions(&helm, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let url = workspace.repository("repo");
    for target in ["direct", "nested", "plain/over"] {
        let url = format!("{url}//{target}");
        let flags = ["--enable-helm", "--helm-command", helm.to_str().expect("UTF-8")];
        let built = workspace.stdout_of(&[&["build", &url][..], &flags].concat());
        assert!(built.contains("name: rendered"), "{target}: {built}");
    }
    let pulled = std::fs::read_to_string(workspace.at("pulled")).expect("pulled");
    let cache = workspace.at("cache").display().to_string();
    assert_eq!(pulled.lines().count(), 3);
    assert!(!pulled.contains(&cache), "{pulled}");
}

#[test]
fn charts_with_symlinks_out_of_a_repository_are_rejected() {
    use std::os::unix::fs::PermissionsExt as _;

    let workspace = Workspace::new(&[
        ("helm", HELM),
        ("repo/app/kustomization.yaml", "helmCharts: [{name: c, releaseName: r}]"),
        ("repo/app/charts/c/values.yaml", "a: b"),
        ("repo/app/values.yaml", "a: b"),
    ]);
    std::fs::set_permissions(workspace.at("helm"), std::fs::Permissions::from_mode(0o755))
        .expect("executable");
    let flags = ["--enable-helm", "--helm-command", "./helm"];
    workspace.link("repo/app/charts/c/templates/inside.yaml", "../../../values.yaml");
    let url = format!("{}//app", workspace.repository("repo"));
    insta::assert_snapshot!(workspace.stdout_of(&[&["build", &url][..], &flags].concat()), @r"
    apiVersion: v1
    kind: ConfigMap
    metadata:
      name: rendered
    ");
    workspace.link("repo/app/charts/c/templates/outside.yaml", "/out/secret.yaml");
    workspace.repository("repo");
    // helm follows symlinks on its own.
    let message = workspace.rejected(&[&["build", &url][..], &flags].concat());
    assert!(
        message.contains("charts/c/templates/outside.yaml is outside of the fetched repository"),
        "{message}"
    );
}

#[test]
fn journal_in_a_fetched_repository_is_not_recovered() {
    let workspace = Workspace::new(&[
        ("repo/ov/kustomization.yaml", "resources: [../base]"),
        ("repo/base/kustomization.yaml", "resources: [a.yaml]"),
        ("repo/base/a.yaml", &map("a")),
    ]);
    for directory in ["ov", "base"] {
        workspace.write(&format!("repo/{directory}/.kubectl-smp-journal/list"), "{}");
    }
    let url = workspace.repository("repo");
    assert_eq!(workspace.stdout_of(&["build", &format!("{url}//ov?ref=main")]), map("a"));
}

#[test]
fn fetched_repository_cannot_reference_local_repositories() {
    let workspace =
        Workspace::new(&[("private/kustomization.yaml", "resources: [s.yaml]"), ("private/s.yaml", MAP)]);
    let private = workspace.repository("private");
    for reference in [format!("{private}?ref=main"), format!("git::{private}?ref=main")] {
        let repository = format!("repo-{}", reference.len());
        workspace
            .write(&format!("{repository}/n/kustomization.yaml"), &format!("resources: ['{reference}']"));
        workspace.repository(&repository);
        let url = format!("https://example.test/{repository}//n?ref=main");
        let mut command = workspace.command(&["build", &url]);
        // Makes git resolve the remote URL to a local repository.
        command.env("GIT_CONFIG_COUNT", "1");
        command.env("GIT_CONFIG_KEY_0", format!("url.file://{}/.insteadOf", workspace.at("").display()));
        command.env("GIT_CONFIG_VALUE_0", "https://example.test/");
        let output = command.output().expect("runs");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && output.stdout.is_empty(), "{message}");
        assert!(message.contains("remote kustomization refers to the local repository"), "{message}");
    }
    // Local kustomizations may reference local repositories.
    workspace.write("own/n/kustomization.yaml", &format!("resources: ['{private}?ref=main']"));
    let url = format!("{}//n?ref=main", workspace.repository("own"));
    assert_eq!(workspace.stdout_of(&["build", &url]), map("a"));
}

#[test]
fn base_of_a_fetched_kustomization_is_rejected() {
    let workspace = Workspace::new(&[
        ("repo/app/kustomization.yaml", "resources: [a.yaml]"),
        ("repo/app/a.yaml", MAP),
        ("base/b.yaml", &map("b")),
    ]);
    let url = format!("{}//app?ref=main", workspace.repository("repo"));
    let message = workspace.rejected(&["build", &url, "--base", "base"]);
    insta::assert_snapshot!(message, @r"
    error[usage]: `--base` cannot be used with the kustomization file://HOME/repo//app?ref=main
     |
     = help: remove `--base`: a kustomization lists its bases under `resources`
    ");
}
