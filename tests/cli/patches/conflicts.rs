//! Conflicts, and changes that a patch type cannot express.

use std::fs;

use kubectl_smp_testing::program::temp_dir;

use super::{APPLIED, LIVE, NEW, TYPES, WEB, apply_patch_type, fail, succeed};

#[test]
fn unsupported_changes_suggest_only_patch_types_that_work() {
    let thing = |more: &str| {
        format!(
            "\
apiVersion: example.com/v1
kind: Thing
metadata: {{name: a}}
{more}
"
        )
    };
    let files = temp_dir(&[
        ("a.yaml", &thing("")),
        ("map.yaml", &thing("z: {q: null}")),
        ("field.yaml", &thing("z: null")),
        ("list.yaml", &thing("z: [{q: null}]")),
    ]);
    // The modified version, the type that cannot express the change, and the flags that the error names.
    let table: [(&str, &[&str], &[&str]); 5] = [
        ("map.yaml", TYPES[1], &["--type json"]),
        ("field.yaml", TYPES[1], &["--type json"]),
        ("map.yaml", TYPES[3], &["--type json"]),
        ("list.yaml", TYPES[3], &["--type merge", "--type json"]),
        ("field.yaml", TYPES[3], &["--type json"]),
    ];
    for (modified, of, patch_types) in table {
        let diagnostics = fail(files.path(), &[&["create-patch", "a.yaml", modified], of].concat());
        for flag in ["--dialect schema", "--type merge", "--type json"] {
            assert_eq!(
                diagnostics.contains(flag),
                patch_types.contains(&flag),
                "{modified} {of:?} {flag}: {diagnostics}"
            );
        }
        for patch_type in patch_types {
            let patch_type: Vec<&str> = patch_type.split(' ').collect();
            let got = apply_patch_type(&files, "a.yaml", &["create-patch", "a.yaml", modified], &patch_type);
            let want = serde_json::json!({
                "apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "a"},
                "z": match modified { "map.yaml" => serde_json::json!({"q": null}), "list.yaml" => serde_json::json!([{"q": null}]), _ => serde_json::json!(null) },
            });
            assert_eq!(got, want, "{modified} {patch_type:?}");
        }
    }
    // Within a list entry, null is a value in a merge patch.
    let (patch, _) = succeed(files.path(), &["create-patch", "a.yaml", "list.yaml", "--type", "merge"]);
    assert_eq!(
        patch,
        "\
z:
- q: null
"
    );
    // Errors before a patch is created have a help text, too.
    let config = |more: &str| {
        WEB.replace(
            "spec:\n  replicas: 1 # one\n",
            &format!(
                "\
spec:
  nope: {{a: {more}}}
"
            ),
        )
    };
    let files = temp_dir(&[("a.yaml", &config("1")), ("b.yaml", &config("2"))]);
    let diagnostics = fail(files.path(), &["create-patch", "a.yaml", "b.yaml"]);
    insta::assert_snapshot!(diagnostics, @r"
    error[unknown-field]: the schema has no field `nope` here, so it cannot be merged
     --> b.yaml:7:9
      |
    7 |   nope: {a: 2}
      |         ^^^^^^
      |
      = field: spec.nope
      = note: `--dialect schema`, `--type merge` or `--type json` can express this change
      = help: check the name, or use a JSON merge patch for free-form fields
    ");
}

/// Output of `kubectl create deployment --dry-run=client -o yaml`.
const DRY_RUN: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  creationTimestamp: null
  name: web
spec:
  selector: {matchLabels: {app: web}}
  strategy: {}
  template:
    metadata:
      creationTimestamp: null
      labels: {app: web}
    spec:
      nodeSelector: {disk: ssd}
      containers:
      - image: web:1
        name: web
        resources: {}
status: {}
";

/// The object as created by a server, with fields added by others.
const CREATED: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  creationTimestamp: '2024-01-01T00:00:00Z'
  name: web
  uid: 6a0c
spec:
  replicas: 1
  selector: {matchLabels: {app: web, others: x}}
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}
  template:
    metadata:
      labels: {app: web}
    spec:
      nodeSelector: {disk: ssd, zone: a}
      containers:
      - image: web:1
        name: web
        resources: {limits: {cpu: '1'}}
status: {replicas: 1}
";

#[test]
fn null_and_empty_fields_are_not_conflicts() {
    let files = temp_dir(&[
        ("applied.yaml", DRY_RUN),
        ("new.yaml", &DRY_RUN.replace("web:1", "web:2")),
        ("live.yaml", CREATED),
        // Empty server fields count as absent.
        (
            "plain.yaml",
            &DRY_RUN.replace("creationTimestamp: null", "generateName: ''").replace("\nstatus: {}", ""),
        ),
    ]);
    let mut want: serde_json::Value = serde_json::from_str(
        &succeed(files.path(), &["patch", "-f", "live.yaml", "-p", "{}", "-o", "json"]).0,
    )
    .expect("JSON");
    want["spec"]["template"]["spec"]["containers"][0]["image"] = "web:2".into();
    for of in &TYPES[..3] {
        for overwrite in [&[][..], &["--overwrite"]] {
            let create = ["create-patch", "applied.yaml", "new.yaml", "--current", "live.yaml"];
            let got = apply_patch_type(&files, "live.yaml", &[&create, overwrite].concat(), of);
            assert_eq!(got, want, "{of:?} {overwrite:?}");
        }
    }
    // An overlay merges atomic maps as one value: keys added by others are a conflict.
    let create =
        ["create-patch", "applied.yaml", "new.yaml", "--current", "live.yaml", "--dialect", "schema"];
    let diagnostics = fail(files.path(), &create);
    insta::assert_snapshot!(diagnostics, @r"
    error[conflict]: the cluster and the manifest both changed this field since the last apply
     --> new.yaml:7:13
      |
    7 |   selector: {matchLabels: {app: web}}
      |             ^^^^^^^^^^^^^^^^^^^^^^^^^ value in the manifest
      |
     ::: live.yaml:9:13
      |
    9 |   selector: {matchLabels: {app: web, others: x}}
      |             ------------------------------------ value in the cluster
      |
      = field: spec.selector
      = help: use --overwrite to undo the change in the cluster, or copy the value of the cluster to the manifest
    ");
    let got = apply_patch_type(&files, "live.yaml", &[&create[..5], &["--overwrite"]].concat(), TYPES[3]);
    assert_eq!(got["metadata"], want["metadata"]);
    // In a two-way patch, null is a value in a JSON patch and absent in all other types.
    for of in TYPES {
        let got = apply_patch_type(&files, "plain.yaml", &["create-patch", "plain.yaml", "new.yaml"], of);
        assert!(got["metadata"]["creationTimestamp"].is_null(), "{of:?}");
        assert_eq!(got["spec"]["template"]["spec"]["containers"][0]["image"], "web:2", "{of:?}");
    }
}

#[test]
fn maps_merge_by_key_if_the_patch_type_supports_it() {
    let files = temp_dir(&[
        ("applied.yaml", DRY_RUN),
        (
            "new.yaml",
            &DRY_RUN
                .replace("disk: ssd", "disk: hdd")
                .replace("matchLabels: {app: web}", "matchLabels: {app: web2}"),
        ),
        ("live.yaml", CREATED),
    ]);
    for of in &TYPES[1..3] {
        let create = ["create-patch", "applied.yaml", "new.yaml", "--current", "live.yaml", "--overwrite"];
        let got = apply_patch_type(&files, "live.yaml", &create, of);
        let selector = serde_json::json!({"app": "web2", "others": "x"});
        assert_eq!(got["spec"]["selector"]["matchLabels"], selector, "{of:?}");
        let nodes = serde_json::json!({"disk": "hdd", "zone": "a"});
        assert_eq!(got["spec"]["template"]["spec"]["nodeSelector"], nodes, "{of:?}");
    }
}

#[test]
fn conflicts_name_the_overwrite_flag() {
    let changed = LIVE.replace("paused: true\n  template", "paused: false\n  template");
    let files = temp_dir(&[("live.yaml", &changed), ("applied.yaml", APPLIED), ("new.yaml", NEW)]);
    let create = ["create-patch", "applied.yaml", "new.yaml", "--current", "live.yaml"];
    for of in TYPES {
        let diagnostics = fail(files.path(), &[&create[..], of].concat());
        assert!(
            diagnostics.contains("use --overwrite to undo the change in the cluster"),
            "{of:?}: {diagnostics}"
        );
    }
    // No flag resolves a different name.
    fs::write(files.path().join("new.yaml"), NEW.replace("name: web, labels", "name: wob, labels"))
        .expect("written");
    for of in TYPES {
        let diagnostics = fail(files.path(), &[&create[..], of].concat());
        assert!(!diagnostics.contains("--overwrite"), "{of:?}: {diagnostics}");
    }
}
