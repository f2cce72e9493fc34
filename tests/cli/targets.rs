//! Types of targets: a directory, a file, a stream, or all targets below a directory.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use kubectl_smp_testing::program::{command, run_with_stdin, temp_dir, temp_dir_with};
use tempfile::TempDir;

fn cm(name: &str, value: &str) -> String {
    format!(
        "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
data:
  a: {value}
"
    )
}

fn run(home: &Path, args: &[&str], input: &str) -> Output {
    run_with_stdin(command(home, args), input)
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn stderr(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr.clone()).expect("text")
}

#[test]
fn kustomization_file_selects_its_directory() {
    for name in ["kustomization.yaml", "kustomization.yml", "Kustomization"] {
        let home = temp_dir(&[
            (
                &format!("app/{name}"),
                "\
resources: [a.yaml]
namePrefix: x-
",
            ),
            ("app/a.yaml", &cm("a", "b")),
        ]);
        let sorted = "\
apiVersion: v1
data:
  a: b
kind: ConfigMap
metadata:
  name: x-a
";
        assert_eq!(stdout(&run(home.path(), &["build", &format!("app/{name}")], "")), sorted);
        assert_eq!(stdout(&run(&home.path().join("app"), &["build", name], "")), sorted);
        assert_eq!(stdout(&run(home.path(), &["build", "-k", "app"], "")), sorted);
    }
}

#[test]
fn targets_are_built_in_command_line_order() {
    let home = temp_dir(&[
        ("a/kustomization.yaml", "resources: [a.yaml]"),
        ("a/a.yaml", &cm("a", "1")),
        ("b/kustomization.yaml", "resources: [b.yaml]"),
        ("b/b.yaml", &cm("b", "1")),
        ("c/kustomization.yaml", "resources: [c.yaml]"),
        ("c/c.yaml", &cm("c", "1")),
    ]);
    let table: [(&[&str], &str); 3] = [
        (&["b", "a"], "b a"),
        (&["-k", "c", "-k", "a"], "c a"),
        (&["-kb/kustomization.yaml", "-k", "a"], "b a"),
    ];
    for (args, want) in table {
        let output = stdout(&run(home.path(), &[&["build", "-o", "name"], args].concat(), ""));
        let names: Vec<_> = output.lines().filter_map(|line| line.rsplit('/').next()).collect();
        assert_eq!(names.join(" "), want, "{args:?}");
    }
}

#[test]
fn repeated_target_is_built_once() {
    let home = temp_dir(&[
        ("a/kustomization.yaml", "resources: [a.yaml]"),
        ("a/a.yaml", &cm("a", "1")),
        ("b/kustomization.yaml", "resources: [b.yaml]"),
        ("b/b.yaml", &cm("b", "1")),
    ]);
    let absolute = home.path().join("a");
    let absolute = absolute.to_str().expect("text");
    let table: [(&[&str], &str); 4] = [
        (&["a", "a/", "./a", "b", "b/../a", absolute], "a b"),
        (&["a/kustomization.yaml", "a"], "a"),
        (&["-R", ".", "b", "a"], "a b"),
        (&["-k", "b", "-k", "./b"], "b"),
    ];
    for (args, want) in table {
        let output = stdout(&run(home.path(), &[&["build", "-o", "name"], args].concat(), ""));
        let names: Vec<_> = output.lines().filter_map(|line| line.rsplit('/').next()).collect();
        assert_eq!(names.join(" "), want, "{args:?}");
    }
    let checked = run(home.path(), &["check", "a", "./a"], "");
    assert!(!String::from_utf8_lossy(&checked.stderr).contains("2 targets"));
    let compared = run(home.path(), &["diff", "--against-base", "-R", ".", "a", "-o", "paths"], "");
    assert_eq!(String::from_utf8_lossy(&compared.stdout).matches("configmap/a").count(), 1);
}

#[test]
fn target_is_rejected_next_to_the_flag_k() {
    let home = temp_dir(&[("a/kustomization.yaml", "resources: [a.yaml]"), ("a/a.yaml", &cm("a", "1"))]);
    let output = run(home.path(), &["build", "-k", "a", "a"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("'--kustomize <DIR>' cannot be used with '[TARGET]...'"));
}

#[test]
fn output_directory_is_never_standard_output() {
    let home = temp_dir(&[("a/kustomization.yaml", "resources: [a.yaml]"), ("a/a.yaml", &cm("a", "1"))]);
    let output = run(home.path(), &["build", "a", "--output-dir", "-"], "");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("--output-dir must name a directory"));
    assert!(!home.path().join("-").exists());
}

#[test]
fn manifest_is_merged_onto_the_base_of_its_directory() {
    let one = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: one
data:
  b: c
";
    let home = temp_dir(&[
        ("base/all.yaml", &format!("{}---\n{}", cm("one", "x"), cm("two", "x"))),
        ("prod/one.yaml", one),
        ("prod/two.yaml", &cm("two", "y")),
        ("alone/web.yaml", &cm("web", "z")),
    ]);
    let built = stdout(&run(home.path(), &["build", "prod/one.yaml"], ""));
    insta::assert_snapshot!(built, @r"
    apiVersion: v1
    data:
      a: x
      b: c
    kind: ConfigMap
    metadata:
      name: one
    ---
    apiVersion: v1
    data:
      a: x
    kind: ConfigMap
    metadata:
      name: two
    ");
    assert!(!built.contains("a: v"), "{built}");
    let far = self::temp_dir(&[("deep/er/alone/web.yaml", &cm("web", "z"))]);
    let built = stdout(&run(far.path(), &["build", "deep/er/alone/web.yaml"], ""));
    insta::assert_snapshot!(built, @r"
    apiVersion: v1
    data:
      a: z
    kind: ConfigMap
    metadata:
      name: web
    ");
}

#[test]
fn manifest_beside_a_kustomization_is_rejected() {
    let home = temp_dir(&[("app/kustomization.yaml", "resources: [a.yaml]"), ("app/a.yaml", &cm("a", "b"))]);
    let reported = stderr(&run(home.path(), &["build", "app/a.yaml"], ""));
    insta::assert_snapshot!(reported, @r"
    error[invalid-value]: cannot build app/a.yaml on its own: its directory has a kustomization
     |
     = help: build the directory `app`, or pass the file on stdin with `-`
    ");
}

#[test]
fn stdin_is_a_target() {
    let home = temp_dir(&[("base/a.yaml", &cm("one", "x"))]);
    let stream = format!("{}---\n{}", cm("two", "v"), cm("one", "z"));
    let built = stdout(&run(home.path(), &["build", "-"], &stream));
    insta::assert_snapshot!(built, @r"
    apiVersion: v1
    data:
      a: v
    kind: ConfigMap
    metadata:
      name: two
    ---
    apiVersion: v1
    data:
      a: z
    kind: ConfigMap
    metadata:
      name: one
    ");
    assert!(!built.contains("a: x"), "{built}");
    let built = stdout(&run(
        home.path(),
        &["build", "-", "--base", "base"],
        "\
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
data: {b: c}
",
    ));
    insta::assert_snapshot!(built, @r"
    apiVersion: v1
    data:
      a: x
      b: c
    kind: ConfigMap
    metadata:
      name: one
    ");
    let reported = stderr(&run(home.path(), &["build", "-"], "kind: ["));
    insta::assert_snapshot!(reported, @r"
    error[syntax]: the `[` is not closed
     --> <stdin>:1:7
      |
    1 | kind: [
      |       ^
      |
      = help: add `]`
    ");
    assert_eq!(run(home.path(), &["build", "-", "-"], "").status.code(), Some(2));
    insta::assert_snapshot!(stdout(&run(home.path(), &["build", "-", "-o", "json"], &cm("m", "v"))), @r#"
    {
        "apiVersion": "v1",
        "data": {
            "a": "v"
        },
        "kind": "ConfigMap",
        "metadata": {
            "name": "m"
        }
    }
    "#);
}

/// A directory tree with every type of entry that a search can find.
fn tree() -> TempDir {
    let home = temp_dir_with(
        &[
            ("apps/web/base/a.yaml", &cm("web", "x")),
            ("apps/web/prod/files/plain.yaml", &cm("no", "target")),
            ("plain/base/a.yaml", &cm("plain", "x")),
            ("plain/prod/a.yaml", &cm("plain", "y")),
            ("plain/prod/more/b.yaml", &cm("more", "y")),
            ("plain/mixed/a.yaml", &cm("plain", "y")),
            ("plain/mixed/deep/here/b.yaml", &cm("deep", "z")),
            ("loose/a.yaml", &cm("loose", "no base")),
        ],
        r"
-- apps/web/base/kustomization.yaml --
resources: [a.yaml]
-- apps/web/prod/kustomization.yaml --
resources: [../base]
components: [../extra]
-- apps/web/extra/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
namespace: here
-- plain/mixed/deep/here/kustomization.yaml --
resources: [b.yaml]
-- .hidden/kustomization.yaml --
resources: []
-- node_modules/a/kustomization.yaml --
resources: []
-- apps/web/charts/a/kustomization.yaml --
resources: []
-- out/kustomization.yaml --
resources: []
-- .gitignore --
out/
",
    );
    let git = Command::new("git").args(["init", "-q"]).current_dir(home.path()).status();
    assert!(git.expect("git runs").success());
    home
}

/// Targets of a build with `--output-dir`, derived from the created directories.
fn targets(home: &Path, args: &[&str]) -> Vec<String> {
    let out = tempfile::tempdir().expect("a directory");
    let directory = out.path().to_str().expect("text");
    stdout(&run(home, &[&["build"], args, &["--output-dir", directory]].concat(), ""));
    let mut found: Vec<String> = Vec::new();
    let mut waiting = vec![out.path().to_path_buf()];
    while let Some(directory) = waiting.pop() {
        let entries: Vec<_> =
            fs::read_dir(&directory).expect("readable").map(|e| e.expect("an entry").path()).collect();
        if entries.iter().any(|path| path.is_file() && path.extension().is_some_and(|e| e == "yaml")) {
            let below = directory.strip_prefix(out.path()).expect("below");
            found.push(below.display().to_string());
        }
        waiting.extend(entries.into_iter().filter(|path| path.is_dir()));
    }
    found.sort();
    found
}

#[test]
fn all_targets_below_a_directory_are_found() {
    let home = tree();
    let deep = "plain/mixed/deep/here";
    assert_eq!(targets(home.path(), &["-R"]), ["apps/web/base", "apps/web/prod", deep, "plain/prod"]);
    assert_eq!(targets(home.path(), &["-R", "--leaves"]), ["apps/web/prod", deep, "plain/prod"]);
    assert_eq!(targets(home.path(), &["-R", "apps"]), ["apps/web/base", "apps/web/prod"]);
    assert_eq!(targets(&home.path().join("plain"), &["-R", "prod"]), ["prod"]);
    let built = stdout(&run(home.path(), &["build", "-R", "--leaves"], ""));
    let order: Vec<_> = built.lines().filter(|line| line.starts_with("  name:")).collect();
    assert_eq!(order, ["  name: web", "  name: deep", "  name: plain", "  name: more"], "sorted by target");
}

#[test]
fn search_without_targets_is_an_error() {
    let home = tree();
    insta::assert_snapshot!(stderr(&run(home.path(), &["build", "-R", "loose"], "")), @r"
    error[no-match]: no targets found in loose
     |
     = help: a target is a directory with a kustomization.yaml, or with manifests whose base is ../base or ../../base
    ");
    insta::assert_snapshot!(stderr(&run(home.path(), &["build", "-R", "nope"], "")), @r"
    error[io]: nope: no such file or directory
     |
     = help: pass a directory that has a kustomization file or manifests
    ");
    assert_eq!(run(home.path(), &["build", "--leaves"], "").status.code(), Some(2));
}

#[test]
fn invalid_kustomization_is_a_failed_target() {
    let home = tree();
    fs::write(home.path().join("loose/kustomization.yaml"), "nope: 1\n").expect("written");
    let output = run(home.path(), &["build", "-R"], "");
    let reported = stderr(&output);
    insta::assert_snapshot!(reported, @r"
    error[unknown-field]: unknown field `nope`
     --> loose/kustomization.yaml:1:1
      |
    1 | nope: 1
      | ^^^^
      |
      = field: nope
      = target: loose
    error: 1 of 5 targets failed: loose
    ");
    assert!(!output.stdout.is_empty(), "the others are printed");
}

#[test]
fn shared_base_has_the_same_effect_on_a_later_schema() {
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      \
                      containers: [{name: web, image: w}]\n";
    let patch = "patches:\n- patch: |-\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: web}\n    \
                 spec: {template: {spec: {containers: [{name: side, image: s}]}}}\n";
    let home = temp_dir(&[
        ("base/d.yaml", deployment),
        ("base/kustomization.yaml", "resources: [d.yaml]\n"),
        ("types/types.json", r#"{"definitions": {}}"#),
        ("types/m.yaml", &cm("m", "1")),
        ("types/kustomization.yaml", "openapi: {path: types.json}\nresources: [m.yaml]\n"),
        ("a/kustomization.yaml", "resources: [../base]\n"),
        ("b/kustomization.yaml", &format!("resources: [../base, ../types]\n{patch}")),
    ]);
    let alone = stdout(&run(home.path(), &["build", "b"], ""));
    assert!(alone.contains("name: side") && alone.contains("name: web\n"), "{alone}");
    let both = stdout(&run(home.path(), &["build", "a", "b"], ""));
    assert!(both.ends_with(&alone), "{both}");
}
