//! Findings shared by several targets, and resources dropped from the output of a target.

use kubectl_smp_testing::program::{check_findings, run, stdout, temp_dir, temp_dir_with};
use serde_json::Value;

use super::{POD, target_of};

const WEB_BASE: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
";

#[test]
fn findings_of_one_overlay_are_reported_beside_valid_overlays() {
    let broken = "\
resources: [../base]
patches:
- patch: |-
    - op: copy
      from: /spec/template/spec/containers/0
      path: /spec/template/spec/containers/-
  target: {kind: Deployment}
";
    let fixed = "\
resources: [../unfinished]
patches:
- patch: |-
    - op: add
      path: /spec/template/spec/containers/0/image
      value: nginx
  target: {kind: Deployment}
";
    let home = temp_dir(&[
        ("base/web.yaml", WEB_BASE),
        ("base/kustomization.yaml", "resources: [web.yaml]"),
        ("dev/kustomization.yaml", "resources: [../base]"),
        ("prod/kustomization.yaml", broken),
        ("unfinished/web.yaml", &WEB_BASE.replace(", image: nginx", "")),
        ("unfinished/kustomization.yaml", "resources: [web.yaml]"),
        ("finished/kustomization.yaml", fixed),
    ]);
    let home = home.path();
    for args in [&["prod"] as &[&str], &["prod", "dev", "base"], &["-R", "."]] {
        let (reported, status) = check_findings(home, args);
        let double: Vec<_> =
            reported.iter().filter(|reported| reported.starts_with("duplicate-merge-key ")).collect();
        assert_eq!((double.len(), status), (1, Some(1)), "{args:?}: {reported:?}");
        assert_eq!(
            reported.len(),
            1,
            "a base may leave something to those that use it: {args:?}: {reported:?}"
        );
    }
    assert_eq!(check_findings(home, &["unfinished"]).0, ["container-without-image unfinished/web.yaml:8"]);
}

#[test]
fn misspelling_is_attributed_to_its_target() {
    let home = temp_dir(&[
        ("a/kustomization.yaml", "resources: [none.yaml]"),
        ("b/kustomization.yaml", "resources: [web.yaml, none.yaml]"),
        ("b/web.yaml", &WEB_BASE.replace("  selector", "  replicass: 1\n  selector")),
    ]);
    let reported = stdout(&run(home.path(), &["check", "a", "b", "-o", "json"]));
    let reported: Value = serde_json::from_str(&reported).expect("JSON");
    let reported = reported.as_array().expect("an array").iter().find(|one| one["code"] == "unknown-field");
    assert_eq!(reported.expect("a finding")["target"], "b");
}

#[test]
fn comments_suppress_all_build_warnings() {
    let home = temp_dir_with(
        &[("pod.yaml", POD)],
        r"
-- kustomization.yaml --
resources: [pod.yaml]
namePrefix: a-
namePrefix: b- # smp:ignore duplicate-key known
",
    );
    let output = run(home.path(), &["build", "."]);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn suppressions_inside_block_scalars_are_ignored() {
    let map = r#"apiVersion: v1
kind: ConfigMap
metadata: {name: m}
data:
  ci.yaml: |
    # smp:ignore unmatched-image there
    images: []
    # smp:ignore nothing
  one: "a # smp:ignore no-effect b" # smp:ignore no-effect here
"#;
    let home = target_of(map);
    assert_eq!(check_findings(home.path(), &["."]).0, ["unused-suppression all.yaml:9"]);
}

/// A Deployment without an image, which another tool may set.
const NO_IMAGE: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, comand: [x]}
";

#[test]
fn findings_in_a_base_are_held_back_if_an_overlay_does_not_build() {
    let home = temp_dir(&[
        ("base/web.yaml", NO_IMAGE),
        ("base/kustomization.yaml", "resources: [web.yaml]"),
        ("middle/kustomization.yaml", "resources: [../base]"),
        ("prod/kustomization.yaml", "resources: [../middle/, missing.yaml]"),
    ]);
    let home = home.path();
    let of_base = ["container-without-image base/web.yaml:10", "unknown-field base/web.yaml:10"];
    assert_eq!(check_findings(home, &["base", "middle"]).0, of_base);
    let (all, _) = check_findings(home, &["-R", "."]);
    assert_eq!(all, ["unknown-field base/web.yaml:10", "io prod/kustomization.yaml:1"]);
}

#[test]
fn images_filled_in_by_operators_are_not_required() {
    let object =
        NO_IMAGE.replace("apps/v1", "apps.openshift.io/v1").replace("Deployment", "DeploymentConfig");
    let patch = "\
resources: [web.yaml]
patches:
- patch: |-
    - {op: add, path: /spec/template/spec/containers/-, value: {name: sidecar}}
  target: {kind: DeploymentConfig}
";
    let home = temp_dir(&[
        ("a/web.yaml", &object),
        ("a/kustomization.yaml", "resources: [web.yaml]"),
        ("b/web.yaml", &object),
        ("b/kustomization.yaml", patch),
    ]);
    assert_eq!(check_findings(home.path(), &["a"]).0, [""; 0]);
    assert_eq!(check_findings(home.path(), &["b"]).0, ["container-without-image b/kustomization.yaml:4"]);
}

#[test]
fn build_errors_name_their_cause() {
    let base = NO_IMAGE.replace("comand: [x]", "image: nginx");
    let patch = "\
resources: [../base]
patches:
- patch: |-
    - {op: remove, path: /spec/template/metadata/labels}
  target: {kind: Deployment}
";
    let home = temp_dir(&[
        ("base/web.yaml", &base),
        ("base/kustomization.yaml", "resources: [web.yaml]"),
        ("prod/kustomization.yaml", patch),
    ]);
    let home = home.path();
    let output = run(home, &["build", "prod", "--validate"]);
    let diagnostics = String::from_utf8(output.stderr).expect("text");
    insta::assert_snapshot!(diagnostics, @r"
    error[selector-mismatch]: the selector requires `app: web`, but the Pod template has no label `app`
     --> prod/kustomization.yaml:4:26
      |
    4 |     - {op: remove, path: /spec/template/metadata/labels}
      |                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
     ::: base/web.yaml:5:33
      |
    5 |   selector: {matchLabels: {app: web}}
      |                                 --- this value no longer matches
      |
      = resource: Deployment.apps web
      = field: spec.selector.matchLabels.app
    ");
    assert!(!output.status.success(), "{diagnostics}");
}

const LOCAL_FILES: [(&str, &str); 2] = [
    (
        "base/kustomization.yaml",
        r"
resources: [all.yaml]
patches:
- patch: '{apiVersion: v1, kind: Secret, metadata: {name: placeholder}, stringData: {a: c}}'
",
    ),
    (
        "base/all.yaml",
        r"
apiVersion: v1
kind: Secret
metadata: {name: placeholder}
stringData: {a: b}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: map}
data: {a: b}
",
    ),
];

/// Findings of a kustomization over the base, and its build output.
fn over_placeholder(text: &str) -> (Vec<String>, String) {
    let home = temp_dir(&[&LOCAL_FILES[..], &[("over/kustomization.yaml", text)]].concat());
    let built = stdout(&run(home.path(), &["build", "over"]));
    (check_findings(home.path(), &["over", "base"]).0, built)
}

#[test]
fn entries_that_drop_a_resource_have_an_effect() {
    let by_patch = r#"
resources: [../base]
patches:
- patch: |-
    apiVersion: v1
    kind: Secret
    metadata: {name: placeholder, annotations: {config.kubernetes.io/local-config: "true"}}
"#;
    let by_json = r#"
resources: [../base]
patches:
- target: {kind: Secret}
  patch: '[{"op": "add", "path": "/metadata/annotations", "value": {"config.kubernetes.io/local-config": "true"}}]'
"#;
    let by_replacement = r#"
resources: [../base]
replacements:
- source: {kind: ConfigMap, fieldPath: data.a}
  targets:
  - select: {kind: Secret}
    fieldPaths: ["metadata.annotations.[config.kubernetes.io/local-config]"]
    options: {create: true}
"#;
    let by_deletion = r"
resources: [../base]
patches:
- patch: '{apiVersion: v1, kind: Secret, metadata: {name: placeholder}, $patch: delete}'
";
    for text in [by_patch, by_json, by_replacement, by_deletion] {
        let (findings, built) = over_placeholder(text);
        assert_eq!(findings, [""; 0], "{text}");
        assert!(!built.contains("Secret"), "{built}");
    }
    let of_all = r#"
resources: [../base]
commonAnnotations: {config.kubernetes.io/local-config: "true"}
"#;
    assert_eq!(over_placeholder(of_all), (Vec::new(), String::new()));
}

#[test]
fn entries_that_change_a_dropped_resource_have_an_effect_unless_the_value_is_equal() {
    let text = r#"
resources: [../base]
patches:
- patch: '{apiVersion: v1, kind: Secret, metadata: {name: placeholder}, stringData: {a: d}}'
- patch: '{apiVersion: v1, kind: Secret, metadata: {name: placeholder}, stringData: {a: d}}'
- target: {kind: Secret}
  patch: '[{"op": "add", "path": "/metadata/annotations", "value": {"config.kubernetes.io/local-config": "true"}}]'
replacements:
- source: {kind: Secret, name: placeholder, fieldPath: stringData.a}
  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.a]}]
"#;
    let (findings, built) = over_placeholder(text);
    assert_eq!(findings, ["no-effect over/kustomization.yaml:5"]);
    insta::assert_snapshot!(built, @r"
    apiVersion: v1
    data:
      a: d
    kind: ConfigMap
    metadata:
      name: map
    ");
}

#[test]
fn resources_that_are_dropped_are_shown_as_deleted() {
    let text = r#"
resources: [../base]
patches:
- target: {kind: Secret}
  patch: '[{"op": "add", "path": "/metadata/annotations", "value": {"config.kubernetes.io/local-config": "true"}}]'
"#;
    let home = temp_dir(&[&LOCAL_FILES[..], &[("over/kustomization.yaml", text)]].concat());
    let tree = stdout(&run(home.path(), &["tree", "over"]));
    insta::assert_snapshot!(tree, @r"
    target over              1 object
    ├─ base ../base          2 objects
    │  ├─ resource all.yaml  ConfigMap/map, Secret/placeholder (deleted by patches[0])
    │  └─ patch patches[0]   Secret/placeholder (deleted): 1 value
    └─ patch patches[0]      Secret/placeholder (deleted): 1 value

    total: 1 object, 1 deleted during the build
    ");
    assert!(!tree.contains("matches nothing"), "{tree}");
}

#[test]
fn documents_of_plain_overlays_are_checked_as_patches() {
    let spec = |fields: &str| {
        let kind = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n";
        format!("{kind}spec:\n  replicas: 1\n  template:\n    spec:\n      containers:\n{fields}")
    };
    let container = "      - name: web\n        image: nginx\n        env: [{name: DB_HOST, value: a}]\n";
    let labels = "  selector: {matchLabels: {app: web}}\n";
    let base = spec(container)
        .replace("  template:\n", &format!("{labels}  template:\n    metadata: {{labels: {{app: web}}}}\n"));
    let home = temp_dir(&[
        ("base/web.yaml", &base),
        ("base/pod.yaml", &POD.replace("name: web}", "name: other}")),
        ("container/web.yaml", &spec("      - {name: wbe, image: nginx}\n")),
        ("variable/web.yaml", &spec("      - name: web\n        env: [{name: DB_HOTS, value: b}]\n")),
        ("nothing/web.yaml", &base),
        ("image/web.yaml", &base.replace("nginx", "nginx:2")),
        ("order/web.yaml", &spec("      - {name: side, image: x}\n      - {name: web}\n")),
        ("delete/web.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n$patch: delete\n"),
        ("added/pod.yaml", POD),
    ]);
    let table: [(&str, &[&str]); 7] = [
        ("container", &["similar-key container/web.yaml:9"]),
        ("variable", &["similar-key variable/web.yaml:10"]),
        ("nothing", &["no-effect nothing/web.yaml:1"]),
        ("image", &[]),
        ("order", &[]),
        ("delete", &[]),
        ("added", &[]),
    ];
    for (target, want) in table {
        assert_eq!(check_findings(home.path(), &[target]).0, want, "{target}");
    }
    let output = stdout(&run(home.path(), &["check", "nothing", "-o", "short"]));
    assert_eq!(
        output,
        "nothing/web.yaml:1:1: warning[no-effect]: the document changes nothing: its values are already set, or what \
         it removes does not exist\n"
    );
}
