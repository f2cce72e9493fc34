//! `deps` lists the files that builds read.

mod inputs;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Output;

use kubectl_smp_testing::program::{self, command, run, temp_dir, temp_dir_with};
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

/// An overlay that reads a file through each field, and files beside it that are not read.
fn shop() -> TempDir {
    let patch = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {b: c}
";
    temp_dir_with(
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

/// Paths of each kind for the first target.
fn kinds(home: &Path, args: &[&str]) -> BTreeMap<String, Vec<String>> {
    let all: Value = serde_json::from_str(&deps(home, &[args, &["-o", "json"]].concat())).expect("JSON");
    let mut kinds: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for read in all[0]["inputs"].as_array().expect("a list") {
        let text = |field: &str| read[field].as_str().expect(field).to_string();
        kinds.entry(text("kind")).or_default().push(text("path"));
    }
    kinds
}

#[test]
fn every_file_is_listed_once() {
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
fn only_listed_files_affect_the_build() {
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
        let output_or_error =
            path.strip_prefix(home.path()).expect("below").to_str().expect("UTF-8").to_string();
        let text = fs::read(&path).expect("there");
        fs::remove_file(&path).expect("removed");
        assert_eq!(build() != want, READ.contains(&output_or_error.as_str()), "{output_or_error} removed");
        fs::write(&path, "{{").expect("written");
        assert_eq!(build() != want, READ.contains(&output_or_error.as_str()), "{output_or_error} changed");
        fs::write(&path, text).expect("written");
    }
}

#[test]
fn json_lists_the_kind_of_each_path() {
    let home = shop();
    let kinds = kinds(home.path(), &["overlays/prod"]);
    assert_eq!(kinds["file"], READ);
    for absent in
        ["base/kustomization.yml", "overlays/prod/Kustomization", "overlays/prod/smp.lock", "smp.lock"]
    {
        assert!(kinds["missing"].iter().any(|path| path == absent), "{absent}: {:?}", kinds["missing"]);
    }
    assert_eq!(kinds.keys().collect::<Vec<_>>(), ["file", "missing"]);
}

#[test]
fn plain_directories_are_listed() {
    let home = temp_dir(&[
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
fn symlinks_and_their_targets_are_listed() {
    use std::os::unix::fs::symlink;

    let home = temp_dir(&[
        ("k/kustomization.yaml", "resources: [a.yaml, ../link]"),
        ("k/real.yaml", &config_map("a")),
        ("dir/base/kustomization.yaml", "resources: [b.yaml]"),
        ("dir/base/b.yaml", &config_map("b")),
    ]);
    symlink("real.yaml", home.path().join("k/a.yaml")).expect("linked");
    symlink("dir/two", home.path().join("link")).expect("linked");
    symlink("base", home.path().join("dir/two")).expect("linked");
    let kinds = kinds(home.path(), &["k"]);
    assert_eq!(kinds["symlink"], ["dir/two", "k/a.yaml", "link"]);
    let files = ["dir/base/b.yaml", "dir/base/kustomization.yaml", "k/kustomization.yaml", "k/real.yaml"];
    assert_eq!(kinds["file"], files);
    assert_eq!(deps(home.path(), &["k", "-o", "argocd"]), ".;../dir;../link\n");
}

/// Returns true if Argo CD detects a changed file for an application with these watched paths.
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
    assert_eq!(within, value, "same output in every directory");
}

#[test]
fn directory_above_the_application_replaces_all_other_paths() {
    let home = temp_dir(&[
        ("apps/a/kustomization.yaml", "resources: [../../b;c/base, ../../common.yaml]"),
        ("apps/b/x.yaml", ""),
        ("common.yaml", &config_map("common")),
        ("b;c/base/kustomization.yaml", "resources: [b.yaml]"),
        ("b;c/base/b.yaml", &config_map("b")),
    ]);
    let args = ["apps/a", "--load-restrictor", "LoadRestrictionsNone", "-o", "argocd"];
    // A semicolon cannot be escaped, so the closest directory without one is watched.
    assert_eq!(deps(home.path(), &args), "../..\n");
    fs::rename(home.path().join("b;c"), home.path().join("bc")).expect("moved");
    let text = "resources: [../../bc/base, ../../common.yaml]\n";
    fs::write(home.path().join("apps/a/kustomization.yaml"), text).expect("written");
    assert_eq!(deps(home.path(), &args), ".;../../bc/base;../../common.yaml\n");
    let stream = command(home.path(), &["deps", "-", "-o", "argocd"]);
    let stream = program::run_with_stdin(stream, &config_map("x"));
    assert_eq!(stream.status.code(), Some(1), "it is no path");
}
