//! Values added by a patch match the style of the surrounding text.

use std::fs;

use kubectl_smp_testing::program::temp_dir;

use super::{WEB, succeed};

#[test]
fn added_values_match_the_surrounding_style() {
    let files = temp_dir(&[("web.yaml", WEB)]);
    let patch = r#"{"spec": {"paused": true, "minReadySeconds": 5, "template": {"spec": {"nodeName": "on", "containers":
        [{"name": "web", "args": ["-v", "1"], "env": [{"name": "A", "value": "a\nb\n"}]}]}}}}"#;
    let (patched, diagnostics) = succeed(files.path(), &["patch", "-f", "web.yaml", "-p", patch]);
    let want = WEB.replace(
        "        image: web:1\n",
        r#"        image: web:1
        args:
        - -v
        - "1"
        env:
        - name: A
          value: |
            a
            b
      nodeName: "on"
  paused: true
  minReadySeconds: 5
"#,
    );
    assert_eq!((patched, diagnostics), (want, String::new()));
    let operations = r#"[{"op": "add", "path": "/spec/strategy", "value": {"type": "Recreate"}}]"#;
    let (patched, _) = succeed(files.path(), &["patch", "-f", "web.yaml", "--type=json", "-p", operations]);
    assert_eq!(patched, format!("{WEB}  strategy:\n    type: Recreate\n"));
    // JSON input stays JSON.
    let json = "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"data\": {\"a\": \"b\"}}\n";
    let files = temp_dir(&[("a.json", json)]);
    let (patched, _) = succeed(
        files.path(),
        &[
            "patch",
            "-f",
            "a.json",
            "-p",
            "\
data:
  c: d
",
        ],
    );
    assert_eq!(patched, json.replace("\"b\"}", "\"b\", \"c\": \"d\"}"));
    // A patch in YAML determines the style.
    let files = temp_dir(&[("web.yaml", WEB)]);
    let (patched, _) = succeed(
        files.path(),
        &[
            "patch",
            "-f",
            "web.yaml",
            "-p",
            "\
spec:
  strategy: {type: 'Recreate'}
",
        ],
    );
    assert_eq!(patched, format!("{WEB}  strategy: {{type: 'Recreate'}}\n"));
}

#[test]
fn added_values_use_flow_style_beside_flow_style() {
    let manifest = WEB.replace(
        "    spec:\n",
        r"    spec:
      tolerations: [{key: a}] # some
      volumes:
      - {name: A, emptyDir: {}}
",
    );
    let files = temp_dir(&[("web.yaml", &manifest)]);
    let patch = |patch: &str, kind: &str| {
        succeed(files.path(), &["patch", "-f", "web.yaml", "--type", kind, "-p", patch]).0
    };
    let volume = "      - {name: A, emptyDir: {}}\n";
    let block = "\
spec:
  template:
    spec:
      tolerations:
      - key: b
      - key: c
      volumes:
      - name: B
        emptyDir: {}
";
    let want = manifest
        .replace("[{key: a}]", "[{key: b}, {key: c}]")
        .replace(volume, &format!("      - {{name: B, emptyDir: {{}}}}\n{volume}"));
    assert_eq!(patch(block, "strategic"), want);
    let operations = "[{op: replace, path: /spec/template/spec/tolerations, value: [{key: b}]}, \
                      {op: add, path: /spec/template/spec/volumes/-, value: {name: B, emptyDir: {}}}]";
    let want = manifest
        .replace("[{key: a}]", "[{key: b}]")
        .replace(volume, &format!("{volume}      - {{name: B, emptyDir: {{}}}}\n"));
    assert_eq!(patch(operations, "json"), want);
    // Long values use block style.
    let long = format!("{{spec: {{template: {{spec: {{tolerations: [{{key: {}}}]}}}}}}}}", "k".repeat(120));
    let want = manifest.replace(" [{key: a}] # some", &format!(" # some\n      - key: {}", "k".repeat(120)));
    assert_eq!(patch(&long, "strategic"), want);
}

const ANCHORED: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - &web
        name: web
        image: a
        env: &env
        - {name: A, value: x}
      - <<: *web
        name: second
      - <<: *web
        name: third
        image: own
      - name: fourth
        env: *env
";

#[test]
fn aliases_with_the_right_value_are_kept() {
    let files = temp_dir(&[("web.yaml", ANCHORED)]);
    let patch = "{spec: {template: {spec: {containers: [{name: web, image: c}]}}}}";
    let (patched, _) = succeed(files.path(), &["patch", "-f", "web.yaml", "-p", patch]);
    let want = ANCHORED.replace("image: a\n", "image: c\n").replace(
        r"      - <<: *web
        name: second
",
        r"      - name: second
        image: a
        env:
        - {name: A, value: x}
",
    );
    assert_eq!(patched, want);
    // Aliases stay if their new value equals that of the anchor.
    let all = "{spec: {template: {spec: {containers: [{name: web, image: c}, {name: second, image: c}]}}}}";
    let (patched, _) = succeed(files.path(), &["patch", "-f", "web.yaml", "-p", all]);
    assert_eq!(patched, ANCHORED.replace("image: a\n", "image: c\n"));
    // An alias cannot outlive its anchor or precede it.
    for patch in [
        "{spec: {template: {spec: {containers: [{name: web, $patch: delete}]}}}}",
        "{spec: {template: {spec: {containers: [{name: web, image: c, env: [{name: A, $patch: delete}]}]}}}}",
        "{spec: {template: {spec: {containers: [{name: web, image: c}], $setElementOrder/containers: \
         [{name: third}, {name: fourth}, {name: web}, {name: second}]}}}}",
    ] {
        let as_json = |file: &str| succeed(files.path(), &["patch", "-f", file, "-p", patch, "-o", "json"]).0;
        let plain = as_json("web.yaml");
        let expanded = succeed(files.path(), &["patch", "-f", "web.yaml", "-p", "{}", "-o", "json"]).0;
        fs::write(files.path().join("plain.json"), expanded).expect("written");
        assert_eq!(plain, as_json("plain.json"), "{patch}");
    }
}
