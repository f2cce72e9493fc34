//! Findings name the kustomization field or patch operation that caused them.

use kubectl_smp_testing::program::{check_findings, run, stdout, temp_dir, temp_dir_with};
use serde_json::Value;

use super::{POD, TWICE, WEB};

#[test]
fn duplicates_in_a_kustomization_are_reported_with_both_locations() {
    let home = temp_dir(&[("pod.yaml", POD), ("kustomization.yaml", TWICE)]);
    let home = home.path();
    let want = [
        "duplicate-key kustomization.yaml:5",
        "duplicate-key kustomization.yaml:6",
        "duplicate-key kustomization.yaml:8",
        "ignored-document kustomization.yaml:11",
    ];
    assert_eq!(check_findings(home, &["."]), (want.map(String::from).to_vec(), Some(0)));
    let reported: Value = serde_json::from_str(&stdout(&run(home, &["check", "-o", "json"]))).expect("JSON");
    assert_eq!(reported[0]["locations"][1]["line"], 2);
    let built = run(home, &["build", "."]);
    insta::assert_snapshot!(stdout(&built), @r#"
    apiVersion: v1
    kind: Pod
    metadata:
      labels:
        x: "3"
      name: web
      namespace: a
    spec:
      containers:
      - image: nginx
        name: web
    "#);
    let diagnostics = String::from_utf8(built.stderr).expect("text");
    assert_eq!(diagnostics.matches("warning[duplicate-key]").count(), 3, "{diagnostics}");
}

#[test]
fn duplicate_operations_are_reported_and_can_be_suppressed() {
    let operations = "\
resources: [pod.yaml]
patches:
- target: {kind: Pod}
  patch: |-
    - op: replace
      path: /metadata/name
      value: a
      value: b
";
    let silenced = TWICE.replace(
        r#"namespace: a
labels:
- pairs: {x: "2"}"#,
        "# smp:ignore duplicate-key later\nnamespace: a",
    );
    let home = temp_dir_with(
        &[
            ("a/pod.yaml", POD),
            ("a/kustomization.yaml", operations),
            ("b/pod.yaml", POD),
            ("c/pod.yaml", POD),
            ("c/kustomization.yaml", &silenced),
        ],
        r"
-- b/kustomization.yaml --
---
resources: [pod.yaml]
---
# nothing
",
    );
    let home = home.path();
    assert_eq!(check_findings(home, &["a"]).0, ["duplicate-key a/kustomization.yaml:8"]);
    assert_eq!(check_findings(home, &["b"]).0, [""; 0]);
    let want = ["duplicate-key c/kustomization.yaml:7", "ignored-document c/kustomization.yaml:10"];
    assert_eq!(check_findings(home, &["c"]).0, want);
}

const OPERATIONS: &str = "\
resources: [../base]
patches:
- target: {kind: Deployment}
  patch: |-
    - op: remove
      path: /spec/template/spec/containers/0/image
    - op: remove
      path: /spec/template/spec/volumes
    - op: add
      path: /spec/typ
      value: x
    - op: copy
      from: /spec/selector
      path: /spec/slector
- target: {kind: Service}
  path: ports.yaml
";

/// A base and an overlay with these files.
fn overlay_of_web(files: &[(&str, &str)]) -> tempfile::TempDir {
    let base = [("base/web.yaml", WEB), ("base/kustomization.yaml", "resources: [web.yaml]")];
    temp_dir(&[&base, files].concat())
}

#[test]
fn operation_that_removed_a_field_is_named() {
    let ports = "\
- op: test
  path: /kind
  value: Service
- op: remove
  path: /spec/ports
";
    let home = overlay_of_web(&[("a/kustomization.yaml", OPERATIONS), ("a/ports.yaml", ports)]);
    let (all, _) = check_findings(home.path(), &["a"]);
    for want in [
        "container-without-image a/kustomization.yaml:6",
        "volume-mount a/kustomization.yaml:8",
        "unknown-field a/kustomization.yaml:10",
        "unknown-field a/kustomization.yaml:14",
        "service-ports a/ports.yaml:5",
    ] {
        assert!(all.contains(&want.to_string()), "{want}: {all:?}");
    }
    assert_eq!(all.len(), 5, "{all:?}");
    let silenced = OPERATIONS.replace("path: /spec/typ", "path: /spec/typ # smp:ignore unknown-field later");
    let home = overlay_of_web(&[("a/kustomization.yaml", &silenced), ("a/ports.yaml", ports)]);
    let (all, _) = check_findings(home.path(), &["a"]);
    assert!(!all.iter().any(|reported| reported.ends_with(":10")), "{all:?}");
    assert_eq!(all.len(), 4, "{all:?}");
}

/// Returns a kustomization over that base with these patch operations in block style.
fn operations(kind: &str, operations: &str) -> String {
    format!(
        "\
resources: [../base]
patches:
- target: {{kind: {kind}}}
  patch: |-
{operations}"
    )
}

#[test]
fn findings_in_operations_point_to_path_or_value() {
    let labels = r"    - op: replace
      path: /spec/template/metadata/labels
      value:
        tier: x
        app: wob
";
    let label = r"    - op: replace
      path: /spec/template/metadata/labels/app
      value: wob
";
    let container = r"    - op: add
      path: /spec/template/spec/containers/-
      value:
        name: b
        image: b
        imgae: b
";
    let lost = r"    - op: replace
      path: /spec/template/spec/containers
      value:
      - name: web
        imgae: b
";
    let moved = r"    - op: move
      from: /spec/selector
      path: /spec/slector
";
    for (wrong, want) in [
        (
            r"    - op: replace
      path: /spec/replcas
      value: 3
",
            &["replace-missing-field 6", "unknown-field 6"][..],
        ),
        (
            r"    - value: wrong
      op: replace
      path: /spec/replicas
",
            &["wrong-type 5", "replace-missing-field 7"],
        ),
        (labels, &["unmatched-selector 9", "selector-mismatch 9"]),
        (label, &["unmatched-selector 7", "selector-mismatch 7"]),
        (container, &["unknown-field 10"]),
        (lost, &["container-without-image 8", "unknown-field 9"]),
        (moved, &["missing-required 6", "unknown-field 7"]),
        (
            r"    - op: remove
      path: /spec/nothing
",
            &["missing-field 6"],
        ),
        (
            r"    - op: copy
      from: /spec/a/b
      path: /spec/c
",
            &["missing-field 6"],
        ),
        (
            r"    - op: copy
      path: /spec/a/c
      from: /spec/replicas
",
            &["missing-field 6"],
        ),
    ] {
        let home = overlay_of_web(&[("a/kustomization.yaml", &operations("Deployment", wrong))]);
        let want: Vec<_> =
            want.iter().map(|reported| reported.replace(' ', " a/kustomization.yaml:")).collect();
        assert_eq!(check_findings(home.path(), &["a"]).0, want, "{wrong}");
    }
}

#[test]
fn json_patch_test_counts_as_an_effect() {
    let same = r"    - op: add
      path: /spec/type
      value: ClusterIP
    - op: remove
      path: /spec/type
";
    let guard = r"    - op: test
      path: /spec/ports/0/port
      value: 80
";
    for (patch, want) in
        [(same, &["no-effect a/kustomization.yaml:5"][..]), (guard, &[]), (&format!("{guard}{same}"), &[])]
    {
        let home = overlay_of_web(&[
            ("a/kustomization.yaml", &operations("Service", patch)),
            (
                "b/kustomization.yaml",
                "\
resources: [../base]
patches:
- target: {kind: Service}
  path: p.yaml
",
            ),
            ("b/p.yaml", patch.replace("\n    ", "\n").trim_start()),
        ]);
        assert_eq!(check_findings(home.path(), &["a"]).0, want, "{patch}");
        assert_eq!(check_findings(home.path(), &["b"]).0.len(), want.len(), "{patch}");
    }
}

#[test]
fn patch_that_removed_a_field_is_named() {
    let merged = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: null
";
    let labels = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    metadata:
      labels:
        app: wob
";
    let home = overlay_of_web(&[
        (
            "a/kustomization.yaml",
            "\
resources: [../base]
patches:
- path: ./q/../selector.yaml
",
        ),
        ("a/q/x.yaml", ""),
        ("a/selector.yaml", merged),
        (
            "b/kustomization.yaml",
            "\
resources: [../base]
patches:
- path: labels.yaml
",
        ),
        ("b/labels.yaml", labels),
    ]);
    let home = home.path();
    assert_eq!(check_findings(home, &["a"]).0, ["missing-required a/selector.yaml:5"]);
    let want = ["unmatched-selector b/labels.yaml:8", "selector-mismatch b/labels.yaml:8"];
    assert_eq!(check_findings(home, &["b"]).0, want);
    let text = stdout(&run(home, &["check", "b"]));
    insta::assert_snapshot!(text, @r"
    warning[unmatched-selector]: no Pod of the build has the label `app: web`
      --> b/labels.yaml:8:9
       |
     8 |         app: wob
       |         ^^^
       |
      ::: base/web.yaml:20:19
       |
    20 |   selector: {app: web}
       |                   --- this value no longer matches
       |
      ::: b/labels.yaml:8:14
       |
     8 |         app: wob
       |              --- label of the Pods of Deployment.apps web
       |
       = resource: Service web
       = field: spec.selector
       = target: b

    error[selector-mismatch]: the selector requires `app: web`, but the Pod template has `app: wob`
     --> b/labels.yaml:8:9
      |
    8 |         app: wob
      |         ^^^
      |
     ::: base/web.yaml:5:33
      |
    5 |   selector: {matchLabels: {app: web}}
      |                                 --- this value no longer matches
      |
      = resource: Deployment.apps web
      = field: spec.selector.matchLabels.app
      = target: b
    ");
}

#[test]
fn generated_keys_have_a_location() {
    let keys = r#"resources: [../base]
labels:
- pairs:
    "a b": x
commonAnnotations:
  "c d": e
configMapGenerator:
- name: m # smp:ignore unused-generator later
  literals:
  - "a b=c"
"#;
    let home = overlay_of_web(&[("a/kustomization.yaml", keys)]);
    let (all, _) = check_findings(home.path(), &["a"]);
    assert!(all.iter().all(|reported| reported.contains("a/kustomization.yaml:")), "{all:?}");
    let lines: Vec<&str> = all.iter().filter_map(|reported| reported.split(':').next_back()).collect();
    assert!(lines.contains(&"4") && lines.contains(&"6") && lines.contains(&"10"), "{all:?}");
}

#[test]
fn images_that_no_runtime_accepts_are_reported_where_they_were_written() {
    let pod = "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  initContainers:
  - {name: a, image: 'foo:bar:baz'}
  - {name: b, image: $(IMAGE)}
  - {name: c, image: IMAGE_PLACEHOLDER}
  containers:
  - {name: d, image: nginx}
  - {name: e, image: 'nginx:1'}
  - {name: f, image: app}
  - {name: g, image: 'nginx: 1.0'}
  - {name: h, image: side}
  - {name: i, image: ghcr.io/Foo/y}
  volumes:
  - {name: v, image: {reference: 'ghcr.io/Foo/x:1'}}
";
    let base = "\
resources: [pod.yaml]
images:
- {name: app, newTag: v1, newName: ghcr.io/Foo/app}
- name: side
  digest: abc
";
    let overlay = "\
resources: [../base]
images:
- name: nginx
  newTag: nginx:1
- name: ghcr.io/Foo/app
  newTag: v2
- name: ghcr.io/Foo/y
  newName: ghcr.io/foo/y
";
    let home = temp_dir(&[
        ("base/pod.yaml", pod),
        ("base/kustomization.yaml", base),
        ("over/kustomization.yaml", overlay),
    ]);
    let invalid = |line: &str| format!("invalid-image {line}");
    let in_base = [
        "base/kustomization.yaml:3",
        "base/kustomization.yaml:5",
        "base/pod.yaml:6",
        "base/pod.yaml:13",
        "base/pod.yaml:17",
    ];
    // The overlay corrects the name at line 15.
    let both: Vec<String> =
        in_base.iter().chain(&["over/kustomization.yaml:4"]).map(|line| invalid(line)).collect();
    let (mut found, status) = check_findings(home.path(), &["base", "over"]);
    found.sort();
    let mut want = both;
    want.sort();
    assert_eq!((found, status), (want, Some(1)));
    let (found, _) = check_findings(home.path(), &["base"]);
    assert!(found.contains(&invalid("base/pod.yaml:15")), "{found:?}");
}
