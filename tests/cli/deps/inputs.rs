//! Make rules, lock files, remote references, charts and programs.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use kubectl_smp_testing::program::{run, temp_dir, temp_dir_with};
use kubectl_smp_testing::requirements;
use serde_json::Value;
use tempfile::TempDir;

use super::{READ, config_map, deps, kinds, printed, shop};

/// File names with characters that are special to make.
const SPECIAL_NAMES: [&str; 18] = [
    "a b.yaml",
    "h#s.yaml",
    "d$r.yaml",
    "e=s.yaml",
    "c:n.yaml",
    "s;i.yaml",
    "p%c.yaml",
    "s*r.yaml",
    "q?m.yaml",
    "b[k].yaml",
    "p|p.yaml",
    "a&p.yaml",
    "~t.yaml",
    "b\\s.yaml",
    "b\\ s.yaml",
    "q'e.yaml",
    "@a.yaml",
    "-d.yaml",
];

fn special_names() -> TempDir {
    let quoted: Vec<String> = SPECIAL_NAMES.iter().map(|name| name.replace('\'', "''")).collect();
    let entries: String = quoted.iter().flat_map(|name| ["- '", name, "'\n"]).collect();
    let home = temp_dir(&[("kustomization.yaml", &format!("resources:\n{entries}"))]);
    for (i, name) in SPECIAL_NAMES.iter().enumerate() {
        fs::write(home.path().join(name), config_map(&format!("n{i}"))).expect("written");
    }
    home
}

#[test]
#[cfg(unix)]
fn make_rules_are_escaped() {
    let home = special_names();
    let rule = deps(home.path(), &[".", "-o", "make", "--rule-target", "o%u t"]);
    let want = r"o\%u\ t: -d.yaml @a.yaml a\ b.yaml a&p.yaml b\[k].yaml b\\\ s.yaml b\s.yaml c\:n.yaml d$$r.yaml e$(subst x,=,x)s.yaml h\#s.yaml kustomization.yaml p%c.yaml p\|p.yaml q'e.yaml q\?m.yaml s\*r.yaml s$(subst x,\;,x)i.yaml ./~t.yaml";
    assert_eq!(rule.trim_end(), want);
    let plain = deps(shop().path(), &["base", "-o", "make"]);
    assert_eq!(plain, "base: base/base.yaml base/kustomization.yaml\n");
    for wrong in [["base", "overlays/prod", "--output", "make"], ["base", ".", "--output", "lines"]] {
        let args = [&["deps"], &wrong[..], &["--rule-target", "x"]].concat();
        assert_eq!(run(shop().path(), &args).status.code(), Some(2));
    }
}

#[test]
#[cfg(unix)]
#[ignore = "needs make"]
fn make_accepts_the_rules() {
    let home = special_names();
    let make = |args: &[&str]| {
        let make = Command::new("make").args(args).current_dir(home.path()).output();
        let made = make.expect("make is installed");
        let text = String::from_utf8_lossy(&[made.stdout, made.stderr].concat()).into_owned();
        (made.status.code().expect("it ends"), text)
    };
    let rule = deps(home.path(), &[".", "-o", "make", "--rule-target", "out"]);
    fs::write(home.path().join("Makefile"), format!("{rule}\ttouch out\n")).expect("written");
    assert_eq!(make(&["out"]), (0, "touch out\n".into()), "{rule}");
    assert_eq!(make(&["-q", "out"]), (0, String::new()), "nothing changed");
    for name in SPECIAL_NAMES {
        let file = fs::File::options().append(true).open(home.path().join(name)).expect("there");
        let made = fs::metadata(home.path().join("out")).and_then(|out| out.modified()).expect("made");
        file.set_modified(made + std::time::Duration::from_secs(2)).expect("touched");
        assert_eq!(make(&["-q", "out"]).0, 1, "{name} changed");
        file.set_modified(made - std::time::Duration::from_secs(2)).expect("touched");
        assert_eq!(make(&["-q", "out"]).0, 0, "{name} is as it was");
    }
    for name in SPECIAL_NAMES {
        let rule = deps(home.path(), &[".", "-o", "make", &format!("--rule-target={name}")]);
        let (target, _) = rule.rsplit_once(": -d").expect("a rule");
        fs::write(home.path().join("Makefile"), format!("{target}: FORCE\n\t@echo made\nFORCE:\n"))
            .expect("written");
        let name = if name.starts_with('~') { format!("./{name}") } else { name.to_string() };
        assert_eq!(make(&["--", &name]), (0, "made\n".into()), "{target}");
    }
}

#[test]
fn all_targets_below_a_directory_are_listed() {
    let home = shop();
    let all: Value = serde_json::from_str(&deps(home.path(), &["-R", ".", "-o", "json"])).expect("JSON");
    let targets: Vec<&str> =
        all.as_array().expect("a list").iter().filter_map(|one| one["target"].as_str()).collect();
    assert_eq!(targets, ["base", "overlays/prod"]);
    let file = |read: &&Value| read["kind"] == "file";
    let reads = all[0]["inputs"].as_array().expect("a list").iter().filter(file);
    assert_eq!(reads.map(|read| read["path"].as_str().expect("a path")).collect::<Vec<_>>(), READ[..2]);

    fs::remove_file(home.path().join("overlays/prod/web.yaml")).expect("removed");
    let output = run(home.path(), &["deps", "-R", "."]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "\
base/base.yaml
base/kustomization.yaml
"
    );
    let diagnostics = String::from_utf8_lossy(&output.stderr);
    insta::assert_snapshot!(diagnostics, @r"
    error[io]: `web.yaml` cannot be read: no such file or directory
     --> overlays/prod/kustomization.yaml:1:25
      |
    1 | resources: [../../base, web.yaml]
      |                         ^^^^^^^^
      |
      = target: overlays/prod
      = note: the path leads to overlays/prod/web.yaml
      = help: paths are relative to the directory of the kustomization file
    error: 1 of 2 targets failed: overlays/prod
    ");
    let alone = run(home.path(), &["deps", "overlays/prod"]);
    assert_eq!((alone.status.code(), alone.stdout.len()), (Some(1), 0));
}

#[test]
fn lock_files_and_schemas_are_listed() {
    let crd = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: as.e.com}
spec:
  group: e.com
  names: {kind: A, plural: as}
  scope: Namespaced
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
";
    let home = temp_dir(&[
        ("k/kustomization.yaml", "resources: [a.yaml]"),
        ("k/a.yaml", &config_map("a")),
        ("smp.lock", "{\"version\": 1, \"remotes\": [], \"schemas\": []}\n"),
        ("crd.yaml", crd),
    ]);
    let read = deps(home.path(), &["k", "--schema", "crd.yaml"]);
    assert_eq!(
        read,
        "\
crd.yaml
k/a.yaml
k/kustomization.yaml
smp.lock
"
    );
}

#[test]
fn remote_references_are_listed_with_their_commit() {
    let home = temp_dir(&[
        ("repository/base/kustomization.yaml", "resources: [c.yaml]"),
        ("repository/base/c.yaml", &config_map("c")),
    ]);
    let repository = home.path().join("repository");
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(args).current_dir(&repository);
        printed(&git.output().expect("git runs")).trim().to_string()
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "one"]);
    let commit = git(&["rev-parse", "HEAD"]);
    let url = format!("file://{}", repository.display());
    fs::write(home.path().join("kustomization.yaml"), format!("resources: ['{url}//base?ref=main']\n"))
        .expect("written");
    assert_eq!(deps(home.path(), &[]), format!("{url}?ref={commit}\nkustomization.yaml\n"));
    let all: Value = serde_json::from_str(&deps(home.path(), &["-o", "json"])).expect("JSON");
    let reads = all[0]["inputs"].as_array().expect("a list");
    let remote = reads.iter().find(|read| read["kind"] == "repository").expect("a repository");
    assert_eq!(
        *remote,
        serde_json::json!({"path": url, "kind": "repository", "ref": "main", "commit": commit})
    );
    assert_eq!(deps(home.path(), &["-o", "make"]), ".: kustomization.yaml\n");
}

#[test]
#[cfg(unix)]
fn programs_are_listed_with_their_inputs() {
    use std::os::unix::fs::PermissionsExt as _;

    let function = "\
apiVersion: example.com/v1
kind: Same
metadata:
  name: same
  annotations:
    config.kubernetes.io/function: |
      exec: {path: ./same.sh}
";
    let home = temp_dir_with(
        &[("c.yaml", &config_map("c")), ("same.yaml", function)],
        r"
-- kustomization.yaml --
resources: [c.yaml]
transformers: [same.yaml]
-- same.sh --
#!/bin/sh
cat
",
    );
    fs::set_permissions(home.path().join("same.sh"), fs::Permissions::from_mode(0o755)).expect("executable");
    let kinds = kinds(home.path(), &[".", "--enable-alpha-plugins", "--enable-exec"]);
    assert_eq!(kinds["file"], ["c.yaml", "kustomization.yaml", "same.yaml"]);
    assert_eq!(kinds["program"], ["same.sh"]);
}

#[test]
#[ignore = "needs helm"]
fn charts_are_listed_as_a_whole() {
    let helm = requirements::required_env("SMP_TEST_HELM", "helm");
    let home = temp_dir_with(
        &[("charts/app/templates/c.yaml", &config_map("{{ .Values.x }}"))],
        r"
-- kustomization.yaml --
helmCharts: [{name: app, releaseName: r, valuesFile: own.yaml}]
-- own.yaml --
x: z
-- charts/app/Chart.yaml --
apiVersion: v2
name: app
version: 1.0.0
-- charts/app/values.yaml --
x: y
-- charts/other/values.yaml --
",
    );
    let kinds = kinds(home.path(), &[".", "--enable-helm", "--helm-command", &helm]);
    assert_eq!(kinds["file"], ["kustomization.yaml", "own.yaml"]);
    let given = ["charts/app/Chart.yaml", "charts/app/templates/c.yaml", "charts/app/values.yaml"];
    assert_eq!(kinds["program"], given);
    assert_eq!(kinds["directory"], ["charts/app", "charts/app/templates"]);
}

/// Removes files of real overlays one at a time: a build may fail only without a listed file.
#[test]
#[ignore = "needs repositories with overlays"]
fn real_overlays_depend_on_the_listed_files() {
    let top = PathBuf::from(requirements::required_env("SMP_TEST_REALWORLD", "CONTRIBUTING.md"));
    let (mut targets, mut removed) = (0, 0);
    for repository in fs::read_dir(top).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        let home = tempfile::tempdir().expect("a folder");
        let copied = Command::new("cp").arg("-R").arg(repository.join("tree")).arg(home.path()).status();
        assert!(copied.expect("cp runs").success());
        let tree = home.path().join("tree");
        let all = run(&tree, &["deps", "-R", ".", "--offline", "-o", "json"]).stdout;
        let all: Value = serde_json::from_slice(&all).unwrap_or_default();
        for target in all.as_array().into_iter().flatten().step_by(4) {
            let name = target["target"].as_str().expect("a name");
            let build = || {
                let output = run(&tree, &["build", name, "--offline"]);
                (output.status.success(), output.stdout)
            };
            let want = build();
            let reads = target["inputs"].as_array().expect("a list").iter();
            let files: BTreeSet<&str> = reads
                .filter(|read| read["kind"] == "file")
                .filter_map(|read| read["path"].as_str())
                .collect();
            for file in files.iter().take(6) {
                let (path, away) = (tree.join(file), tree.join(format!("{file}.away")));
                fs::rename(&path, &away).expect("moved");
                // A base that is also a valid plain directory still builds without its kustomization.
                assert!(build() != want || file.ends_with("/kustomization.yaml"), "{name}: {file}");
                fs::rename(&away, &path).expect("moved back");
                removed += 1;
            }
            targets += 1;
        }
    }
    assert!(targets > 100 && removed > 400, "{targets} targets, {removed} files");
}
