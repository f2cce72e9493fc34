//! `deps`: what the builds of targets read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Output};

use kubectl_smp_testing::needs;
use kubectl_smp_testing::program;
use kubectl_smp_testing::program::{command, folder, folder_with, run};
use serde_json::Value;
use tempfile::TempDir;

const KUSTOMIZATION: &str = "\
resources: [../../base, web.yaml]
components: [../../parts/c]
configurations: [fields.yaml]
crds: [crd.json]
openapi: {path: types.json}
configMapGenerator:
- name: a
  files: [data.txt]
  envs: [values.env]
patches:
- path: patch.yaml
transformers: [prefix.yaml]
replacements:
- path: replacement.yaml
";

const PREFIX: &str = "\
apiVersion: builtin
kind: PrefixTransformer
metadata: {name: x}
prefix: p-
fieldSpecs: [{kind: ConfigMap, path: metadata/name}]
";

const REPLACEMENT: &str = "\
source: {kind: ConfigMap, name: web, fieldPath: data.a}
targets: [{select: {name: base}, fieldPaths: [data.a]}]
";

const FIELDS: &str = "commonAnnotations: [{path: metadata/annotations, create: true}]\n";

const TYPES: &str = "{\"swagger\": \"2.0\", \"definitions\": {}}";

fn config_map(name: &str) -> String {
    format!(
        "\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}}}
data: {{a: {name}}}
"
    )
}

/// An overlay that reads something by each field, and files beside it that nobody reads.
fn shop() -> TempDir {
    let patch = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {b: c}
";
    folder_with(
        &[
            ("overlays/prod/kustomization.yaml", KUSTOMIZATION),
            ("overlays/prod/web.yaml", &config_map("web")),
            ("overlays/prod/patch.yaml", patch),
            ("overlays/prod/fields.yaml", FIELDS),
            ("overlays/prod/crd.json", "{}"),
            ("overlays/prod/types.json", TYPES),
            ("overlays/prod/data.txt", "x"),
            ("overlays/prod/prefix.yaml", PREFIX),
            ("overlays/prod/replacement.yaml", REPLACEMENT),
            ("overlays/prod/unread.yaml", &config_map("unread")),
            ("base/base.yaml", &config_map("base")),
            ("base/unread.yaml", &config_map("unread")),
        ],
        r"
-- overlays/prod/values.env --
A=b
-- base/kustomization.yaml --
resources: [base.yaml]
-- parts/c/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
commonAnnotations: {a: b}
-- parts/notes.txt --
",
    )
}

const READ: [&str; 13] = [
    "base/base.yaml",
    "base/kustomization.yaml",
    "overlays/prod/crd.json",
    "overlays/prod/data.txt",
    "overlays/prod/fields.yaml",
    "overlays/prod/kustomization.yaml",
    "overlays/prod/patch.yaml",
    "overlays/prod/prefix.yaml",
    "overlays/prod/replacement.yaml",
    "overlays/prod/types.json",
    "overlays/prod/values.env",
    "overlays/prod/web.yaml",
    "parts/c/kustomization.yaml",
];

#[track_caller]
fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[track_caller]
fn deps(home: &Path, args: &[&str]) -> String {
    printed(&run(home, &[&["deps"], args].concat()))
}

/// The paths of each kind that the first target reads.
fn kinds(home: &Path, args: &[&str]) -> BTreeMap<String, Vec<String>> {
    let all: Value = serde_json::from_str(&deps(home, &[args, &["-o", "json"]].concat())).expect("JSON");
    let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for read in all[0]["reads"].as_array().expect("a list") {
        let text = |field: &str| read[field].as_str().expect(field).to_string();
        kinds.entry(text("kind")).or_default().push(text("path"));
    }
    kinds
}

#[test]
fn every_file_is_told_once() {
    let home = shop();
    let want: String = READ.iter().flat_map(|path| [*path, "\n"]).collect();
    assert_eq!(deps(home.path(), &["overlays/prod"]), want);
    let again = deps(home.path(), &["overlays/prod", "base", "overlays/prod/kustomization.yaml"]);
    assert_eq!(again, want, "of several targets together");
    let within = deps(&home.path().join("overlays/prod"), &[]);
    insta::assert_snapshot!(within, @r"
    ../../base/base.yaml
    ../../base/kustomization.yaml
    ../../parts/c/kustomization.yaml
    crd.json
    data.txt
    fields.yaml
    kustomization.yaml
    patch.yaml
    prefix.yaml
    replacement.yaml
    types.json
    values.env
    web.yaml
    ");
}

#[test]
fn what_is_told_matters_and_nothing_else_does() {
    let home = shop();
    let build = || {
        let output = run(home.path(), &["build", "overlays/prod"]);
        (output.status.success(), output.stdout)
    };
    let want = build();
    assert!(want.0);
    let mut all: Vec<PathBuf> = Vec::new();
    let mut open = vec![home.path().to_path_buf()];
    while let Some(directory) = open.pop() {
        let entries =
            fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
        let (below, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
        open.extend(below.into_iter().filter(|path| !path.ends_with("cache")));
        all.extend(files);
    }
    assert_eq!(all.len(), READ.len() + 3);
    for path in all {
        let shown = path.strip_prefix(home.path()).expect("below").to_str().expect("UTF-8").to_string();
        let text = fs::read(&path).expect("there");
        fs::remove_file(&path).expect("removed");
        assert_eq!(build() != want, READ.contains(&shown.as_str()), "{shown} removed");
        fs::write(&path, "{{").expect("written");
        assert_eq!(build() != want, READ.contains(&shown.as_str()), "{shown} changed");
        fs::write(&path, text).expect("written");
    }
}

#[test]
fn json_tells_what_each_path_is() {
    let home = shop();
    let kinds = kinds(home.path(), &["overlays/prod"]);
    assert_eq!(kinds["file"], READ);
    for absent in
        ["base/kustomization.yml", "overlays/prod/Kustomization", "overlays/prod/smp.lock", "smp.lock"]
    {
        assert!(kinds["absent"].iter().any(|path| path == absent), "{absent}: {:?}", kinds["absent"]);
    }
    assert_eq!(kinds.keys().collect::<Vec<_>>(), ["absent", "file"]);
}

#[test]
fn plain_directories_are_listed() {
    let home = folder(&[
        ("base/a.yaml", &config_map("a")),
        ("over/b.yaml", &config_map("b")),
        ("over/sub/c.yaml", &config_map("c")),
        ("over/notes.txt", ""),
    ]);
    let want = "\
base/
base/a.yaml
over/
over/b.yaml
over/sub/
over/sub/c.yaml
";
    assert_eq!(deps(home.path(), &["over"]), want);
    assert_eq!(kinds(home.path(), &["over"])["directory"], ["base", "over", "over/sub"]);
}

#[test]
#[cfg(unix)]
fn links_are_told_and_what_they_lead_to() {
    use std::os::unix::fs::symlink;

    let home = folder(&[
        ("k/kustomization.yaml", "resources: [a.yaml, ../link]"),
        ("k/real.yaml", &config_map("a")),
        ("dir/base/kustomization.yaml", "resources: [b.yaml]"),
        ("dir/base/b.yaml", &config_map("b")),
    ]);
    symlink("real.yaml", home.path().join("k/a.yaml")).expect("linked");
    symlink("dir/two", home.path().join("link")).expect("linked");
    symlink("base", home.path().join("dir/two")).expect("linked");
    let kinds = kinds(home.path(), &["k"]);
    assert_eq!(kinds["link"], ["dir/two", "k/a.yaml", "link"]);
    let files = ["dir/base/b.yaml", "dir/base/kustomization.yaml", "k/kustomization.yaml", "k/real.yaml"];
    assert_eq!(kinds["file"], files);
    assert_eq!(deps(home.path(), &["k", "-o", "argocd"]), ".;../dir;../link\n");
}

/// Whether Argo CD sees a changed file below one of the paths, for an application with a path in a repository.
fn is_watched(annotation: &str, application: &str, file: &str) -> bool {
    annotation.split(';').filter(|item| !item.is_empty()).any(|item| {
        let joined = if let Some(from_root) = item.strip_prefix('/') {
            PathBuf::from(from_root)
        } else {
            Path::new(application).join(item)
        };
        let mut path = PathBuf::new();
        for part in joined.components() {
            match part {
                Component::ParentDir => assert!(path.pop(), "{item} leads out of the repository"),
                Component::CurDir => {}
                part => path.push(part),
            }
        }
        Path::new(file).starts_with(path)
    })
}

#[test]
fn argo_cd_watches_each_input_and_little_else() {
    let home = shop();
    let value = deps(home.path(), &["overlays/prod", "-o", "argocd"]);
    assert_eq!(value, ".;../../base;../../parts/c\n");
    for file in READ {
        assert!(is_watched(value.trim(), "overlays/prod", file), "{file}");
    }
    assert!(!is_watched(value.trim(), "overlays/prod", "parts/notes.txt"));
    let several = deps(home.path(), &["overlays/prod", "base", "-o", "argocd"]);
    assert_eq!(several, format!("overlays/prod\t{value}base\t.\n"));
    let within = deps(&home.path().join("overlays/prod"), &["-o", "argocd"]);
    assert_eq!(within, value, "wherever it is asked");
}

#[test]
fn what_lies_above_an_application_is_told_alone() {
    let home = folder(&[
        ("apps/a/kustomization.yaml", "resources: [../../b;c/base, ../../common.yaml]"),
        ("apps/b/x.yaml", ""),
        ("common.yaml", &config_map("common")),
        ("b;c/base/kustomization.yaml", "resources: [b.yaml]"),
        ("b;c/base/b.yaml", &config_map("b")),
    ]);
    let args = ["apps/a", "--load-restrictor", "LoadRestrictionsNone", "-o", "argocd"];
    // Nothing can quote a semicolon: all below what has none is watched.
    assert_eq!(deps(home.path(), &args), "../..\n");
    fs::rename(home.path().join("b;c"), home.path().join("bc")).expect("moved");
    let text = "resources: [../../bc/base, ../../common.yaml]\n";
    fs::write(home.path().join("apps/a/kustomization.yaml"), text).expect("written");
    assert_eq!(deps(home.path(), &args), ".;../../bc/base;../../common.yaml\n");
    let stream = command(home.path(), &["deps", "-", "-o", "argocd"]);
    let stream = program::run_with_stdin(stream, &config_map("x"));
    assert_eq!(stream.status.code(), Some(1), "it is no path");
}

/// Names that make reads as something else unless they are quoted.
const ODD: [&str; 18] = [
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

fn odd() -> TempDir {
    let quoted: Vec<String> = ODD.iter().map(|name| name.replace('\'', "''")).collect();
    let entries: String = quoted.iter().flat_map(|name| ["- '", name, "'\n"]).collect();
    let home = folder(&[("kustomization.yaml", &format!("resources:\n{entries}"))]);
    for (i, name) in ODD.iter().enumerate() {
        fs::write(home.path().join(name), config_map(&format!("n{i}"))).expect("written");
    }
    home
}

#[test]
#[cfg(unix)]
fn rules_of_make_are_quoted() {
    let home = odd();
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
fn make_reads_the_rules() {
    let home = odd();
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
    for name in ODD {
        let file = fs::File::options().append(true).open(home.path().join(name)).expect("there");
        let made = fs::metadata(home.path().join("out")).and_then(|out| out.modified()).expect("made");
        file.set_modified(made + std::time::Duration::from_secs(2)).expect("touched");
        assert_eq!(make(&["-q", "out"]).0, 1, "{name} changed");
        file.set_modified(made - std::time::Duration::from_secs(2)).expect("touched");
        assert_eq!(make(&["-q", "out"]).0, 0, "{name} is as it was");
    }
    for name in ODD {
        let rule = deps(home.path(), &[".", "-o", "make", &format!("--rule-target={name}")]);
        let (target, _) = rule.rsplit_once(": -d").expect("a rule");
        fs::write(home.path().join("Makefile"), format!("{target}: FORCE\n\t@echo made\nFORCE:\n"))
            .expect("written");
        let name = if name.starts_with('~') { format!("./{name}") } else { name.to_string() };
        assert_eq!(make(&["--", &name]), (0, "made\n".into()), "{target}");
    }
}

#[test]
fn all_targets_below_a_directory_are_told() {
    let home = shop();
    let all: Value = serde_json::from_str(&deps(home.path(), &["-R", ".", "-o", "json"])).expect("JSON");
    let targets: Vec<&str> =
        all.as_array().expect("a list").iter().filter_map(|one| one["target"].as_str()).collect();
    assert_eq!(targets, ["base", "overlays/prod"]);
    let file = |read: &&Value| read["kind"] == "file";
    let reads = all[0]["reads"].as_array().expect("a list").iter().filter(file);
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
    let said = String::from_utf8_lossy(&output.stderr);
    insta::assert_snapshot!(said, @r"
    error[io]: `web.yaml` cannot be read: no such file or directory
     --> overlays/prod/kustomization.yaml:1:25
      |
    1 | resources: [../../base, web.yaml]
      |                         ^^^^^^^^
      |
      = target: overlays/prod
      = help: looked for overlays/prod/web.yaml
    error: 1 of 2 targets failed: overlays/prod
    ");
    let alone = run(home.path(), &["deps", "overlays/prod"]);
    assert_eq!((alone.status.code(), alone.stdout.len()), (Some(1), 0));
}

#[test]
fn locks_and_schemas_are_told() {
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
    let home = folder(&[
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
fn what_comes_from_elsewhere_is_told_by_its_commit() {
    let home = folder(&[
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
    let reads = all[0]["reads"].as_array().expect("a list");
    let remote = reads.iter().find(|read| read["kind"] == "repository").expect("a repository");
    assert_eq!(
        *remote,
        serde_json::json!({"path": url, "kind": "repository", "ref": "main", "commit": commit})
    );
    assert_eq!(deps(home.path(), &["-o", "make"]), ".: kustomization.yaml\n");
}

#[test]
#[cfg(unix)]
fn programs_are_told_with_what_they_are_given() {
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
    let home = folder_with(
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
    assert_eq!(kinds["given"], ["same.sh"]);
}

#[test]
#[ignore = "needs helm"]
fn charts_are_told_as_a_whole() {
    let helm = needs::needed("SMP_TEST_HELM", "helm");
    let home = folder_with(
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
    assert_eq!(kinds["given"], given);
    assert_eq!(kinds["directory"], ["charts/app", "charts/app/templates"]);
}

/// Files of real overlays are removed, one at a time.
#[test]
#[ignore = "needs repositories with overlays"]
fn real_overlays_depend_on_what_is_told() {
    let top = PathBuf::from(needs::needed("SMP_TEST_REALWORLD", "CONTRIBUTING.md"));
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
            let reads = target["reads"].as_array().expect("a list").iter();
            let files: BTreeSet<&str> = reads
                .filter(|read| read["kind"] == "file")
                .filter_map(|read| read["path"].as_str())
                .collect();
            for file in files.iter().take(6) {
                let (path, away) = (tree.join(file), tree.join(format!("{file}.away")));
                fs::rename(&path, &away).expect("moved");
                // A base that is a plain directory as well is rendered as one without its kustomization.
                assert!(build() != want || file.ends_with("/kustomization.yaml"), "{name}: {file}");
                fs::rename(&away, &path).expect("moved back");
                removed += 1;
            }
            targets += 1;
        }
    }
    assert!(targets > 100 && removed > 400, "{targets} targets, {removed} files");
}
