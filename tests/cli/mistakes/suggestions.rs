//! Misspelled names: the message suggests the right one, with its location.

use kubectl_smp_testing::program::{run, temp_dir, temp_dir_with};

use super::{DEPLOYMENT, assert_contains_all, cm, messages, rejected, reported};

#[test]
fn component_built_on_its_own_is_reported() {
    let home = temp_dir_with(
        &[("part/a.yaml", &cm("a"))],
        r"
-- part/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
resources: [a.yaml]
-- app/kustomization.yaml --
components: [../part]
-- none/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
",
    );
    let alone = reported(home.path(), &["build", "part"]);
    insta::assert_snapshot!(alone, @r"
    warning[standalone-component]: target is a Component: it is built on its own and only applies to its own resources
     --> part/kustomization.yaml:2:7
      |
    2 | kind: Component
      |       ^^^^^^^^^
      |
      = help: build a kustomization that lists it under `components`
    ");
    assert_eq!(reported(home.path(), &["build", "app"]), "");
    assert_eq!(run(home.path(), &["build", "part"]).stdout, run(home.path(), &["build", "app"]).stdout);
    // An empty component is not a target, and not an error.
    assert_eq!(reported(home.path(), &["build", "-R", "."]), "");
}

#[test]
fn replacement_of_common_labels_includes_selectors() {
    let home = temp_dir_with(
        &[("app/a.yaml", &cm("a"))],
        r"
-- app/kustomization.yaml --
resources: [a.yaml]
commonLabels: {a: b}
patchesStrategicMerge: [a.yaml]
",
    );
    let reported = reported(home.path(), &["build", "app"]);
    insta::assert_snapshot!(reported, @r"
    warning[deprecated-field]: `commonLabels` is deprecated
     --> app/kustomization.yaml:2:1
      |
    2 | commonLabels: {a: b}
      | ^^^^^^^^^^^^
      |
      = help: use `labels` instead; to keep the labels in selectors, use `labels: [{pairs: {...}, includeSelectors: true}]`
    warning[deprecated-field]: `patchesStrategicMerge` is deprecated
     --> app/kustomization.yaml:3:1
      |
    3 | patchesStrategicMerge: [a.yaml]
      | ^^^^^^^^^^^^^^^^^^^^^
      |
      = help: use `patches` instead, each file as `path: FILE`
    warning: 2 warnings
    ");
    let quiet = run(home.path(), &["build", "app", "--quiet"]);
    assert!(quiet.status.success() && quiet.stderr.is_empty());
}

/// A kustomization with a mistake, and its expected messages.
const MISTAKES: [(&str, &str, &[&str]); 11] = [
    ("resources: [setings.yaml]\n", "a", &["app/kustomization.yaml:1:13", "did you mean `settings.yaml`?"]),
    ("resources: [../bse]\n", "a", &["did you mean `../base`?"]),
    (
        "\
resources: [settings.yaml]
patches: [path.yaml]
",
        "path: path.yaml",
        &["app/kustomization.yaml:2:11"],
    ),
    (
        "\
resorces: [settings.yaml]
patchs: []
",
        "a",
        &["did you mean `resources`?", "did you mean `patches`?"],
    ),
    (
        "\
resources: [settings.yaml]
patches:
- patch: |-
    kind: ConfigMap
    apiVersion: v1
    metadata: {name: setings}
",
        "did you mean ConfigMap `settings`?",
        &["app/kustomization.yaml:6:22"],
    ),
    (
        "\
resources: [settings.yaml]
patches:
- patch: |-
    kind: ConfigMapp
    apiVersion: v1
    metadata: {name: settings}
",
        "did you mean ConfigMap `settings`?",
        &["app/kustomization.yaml:4:11"],
    ),
    (
        "\
resources: [settings.yaml]
patches:
- target: {kind: ConfigMap}
  patch: |-
    - op: remove
      path: /metadata/labls/x
",
        "app/kustomization.yaml:6:13",
        &["did you mean `/metadata/labels/x`?"],
    ),
    (
        "\
resources: [web.yaml]
replicas:
- {name: wep, count: 3}
",
        "did you mean `web`?",
        &["app/kustomization.yaml:3:10"],
    ),
    (
        "\
resources: [settings.yaml]
replacements:
- source: {kind: ConfigMap, name: settigs}
  targets: [{select: {kind: ConfigMap}}]
",
        "did you mean ConfigMap `settings`?",
        &["app/kustomization.yaml:3:11"],
    ),
    (
        "\
resources: [settings.yaml]
replacements:
- source: {kind: ConfigMap, fieldPath: data.a}
  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.aa]}]
",
        "did you mean `data.a`?",
        &["app/kustomization.yaml:4:54"],
    ),
    (
        "\
resources: [settings.yaml]
configMapGenerator:
- {name: g, files: [setings.yaml]}
",
        "did you mean `settings.yaml`?",
        &["app/kustomization.yaml:3:21"],
    ),
];

#[test]
fn misspelled_names_get_suggestions() {
    let a = cm("settings");
    for (kustomization, part, parts) in MISTAKES {
        let a = a.replace(
            "metadata:\n",
            "\
metadata:
  labels: {x: y}
",
        );
        let home = temp_dir(&[
            ("app/kustomization.yaml", kustomization),
            ("app/settings.yaml", &a),
            ("app/web.yaml", DEPLOYMENT),
            ("base/kustomization.yaml", "resources: []"),
        ]);
        let reported = rejected(home.path(), &["build", "app"]);
        assert_contains_all(&reported, &[&[part], parts].concat());
    }
    let home = temp_dir(&[("base/kustomization.yaml", "resources: [a.yaml]"), ("base/a.yaml", &a)]);
    insta::assert_snapshot!(&rejected(home.path(), &["build", "bsae"]), @r"
    error[io]: bsae: no such file or directory
     |
     = help: did you mean `base`?
    ");
}

#[test]
fn suggested_fixes_are_machine_readable() {
    let home = temp_dir_with(
        &[("fine/a.yaml", &cm("a")), ("new/a.yaml", &cm("a"))],
        r"
-- app/kustomization.yaml --
resorces:
- a.yaml
-- old/kustomization.yaml --
bases: [../fine]
-- fine/kustomization.yaml --
resources: [a.yaml]
-- new/kustomization.yaml --
resources: [b.yaml]
-- paths/kustomization.yaml --
patches: [p.yaml]
",
    );
    let table = [
        ("app", "app/kustomization.yaml", (1, 1, 9), "resources"),
        ("old", "old/kustomization.yaml", (1, 1, 6), "resources"),
        ("new", "new/kustomization.yaml", (1, 13, 19), "a.yaml"),
        ("paths", "paths/kustomization.yaml", (1, 11, 17), "{path: p.yaml}"),
    ];
    for (target, file, (line, column, end), replacement) in table {
        let output = run(home.path(), &["build", target, "--message-format", "json"]);
        let reported = messages(&String::from_utf8(output.stderr).expect("text"));
        let want = serde_json::json!({"file": file, "line": line, "column": column, "end_line": line,
            "end_column": end, "replacement": replacement});
        assert!(reported.iter().any(|message| message["fix"] == want), "{target}: {reported:#?}");
    }
}

#[test]
fn locations_are_relative_to_the_working_directory() {
    let home = temp_dir_with(
        &[("base/a.yaml", &cm("a"))],
        r"
-- base/kustomization.yaml --
resources: [a.yaml]
-- prod/kustomization.yaml --
resources: [../base]
patches:
- path: p.yaml
-- prod/p.yaml --

{apiVersion: v1, kind: ConfigMap, metadata: {name: nope}}
-- else/where/x --
",
    );
    for (here, target, want) in [
        (".", "prod", "prod/p.yaml:2:52"),
        ("prod", ".", "p.yaml:2:52"),
        ("else/where", "../../prod", "../../prod/p.yaml:2:52"),
    ] {
        let here = home.path().join(here);
        let reported = rejected(&here, &["build", target, "--message-format", "short"]);
        assert!(reported.starts_with(&format!("{want}: error[no-match]")), "{reported}");
        let json = messages(&rejected(&here, &["build", target, "--message-format", "json"]));
        let file = json[0]["locations"][0]["file"].as_str().expect("a file");
        assert!(here.join(file).is_file(), "{file}");
    }
}

#[test]
fn errors_in_inline_patches_point_into_the_kustomization() {
    let table = [
        (
            "\
- patch: |-
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: a}
    data: }
",
            "7:11",
        ),
        ("- patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}'\n", "3:62"),
        (
            "- patch: \"{apiVersion: v1,\\n kind: ConfigMap,\\n metadata: {name: a},\\n data: {x: 1, x: 2}}\"\n",
            "3:85",
        ),
        (
            "\
- target: {kind: ConfigMap}
  patch: |-
    - op: add
      path: /data/x
      value: y
    - op: remove
      path: /nope
",
            "9:13",
        ),
        (
            "\
- patch: |
    kind: ConfigMap
    apiVersion: v1
    metadata:
      name: a
    data:
      x: 1
      x: 2
",
            "10:7",
        ),
    ];
    for (patch, want) in table {
        let home = temp_dir(&[
            (
                "app/kustomization.yaml",
                &format!(
                    "\
resources: [a.yaml]
patches:
{patch}"
                ),
            ),
            ("app/a.yaml", &cm("a")),
        ]);
        let output = run(home.path(), &["build", "app", "--message-format", "short"]);
        let reported = String::from_utf8(output.stderr).expect("text");
        assert!(reported.starts_with(&format!("app/kustomization.yaml:{want}: ")), "{want}: {reported}");
    }
}
