//! Warnings and errors about unmatched references name the location of the reference and the likely target.

use kubectl_smp_testing::program::{run, temp_dir};

const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: app
        image: example.org/nginx:1.25
---
apiVersion: example.org/v1
kind: Thing
metadata: {name: thing}
spec: {image: 'other:1'}
";

/// Returns the messages of `build` for a kustomization with these fields.
fn reported(fields: &str) -> String {
    let kustomization = format!("resources: [web.yaml]\n{fields}");
    let home = temp_dir(&[("app/web.yaml", WEB), ("app/kustomization.yaml", &kustomization)]);
    let output = run(home.path(), &["build", "app", "--message-format", "json"]);
    String::from_utf8(output.stderr).expect("a text")
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn unmatched_references_suggest_candidates() {
    let source = |path: &str| {
        format!(
            "\
replacements:
- source: {{kind: Deployment, name: web, fieldPath: {path}}}
  targets:
  - select: {{kind: Thing}}
    fieldPaths: [spec.image]
"
        )
    };
    let target = |name: &str, path: &str| {
        format!(
            "\
replacements:
- sourceValue: x
  targets:
  - select: {{name: {name}}}
    fieldPaths: [{path}]
"
        )
    };
    let table = [
        (
            r#"patches:
- target: {kind: Deployment, name: wbe}
  patch: '[{"op": "remove", "path": "/spec"}]'
"#
            .into(),
            "unmatched-patch",
            ["3:36", "1:1 similar resource"],
        ),
        (
            r#"images:
- {name: example.org/ngnix, newTag: "2"}
"#
            .into(),
            "unmatched-image",
            ["3:10", "11:16 similar image"],
        ),
        (
            r#"images:
- {name: other, newTag: "2"}
"#
            .into(),
            "unmatched-image",
            ["3:10", "16:15 field with this image"],
        ),
        (
            r#"images:
- {name: example.org/nginx, newName: new}
- {name: example.org/nginx, newTag: "2"}
"#
            .into(),
            "unmatched-image",
            ["4:10", "3:38 other entry"],
        ),
        (
            "\
images:
- {name: example.org/ngnix, newName: new}
"
            .into(),
            "unmatched-image",
            ["3:10", "11:16 similar image"],
        ),
        (
            "\
replacements:
- sourceValue: x
  targets:
  - select: {kind: Deployment, name: wbe}
"
            .into(),
            "unmatched-replacement",
            ["5:38", "1:1 similar resource"],
        ),
        (source("spec.replcas"), "no-match", ["3:52", "6:13 similar field"]),
        (source("spec.absent"), "no-match", ["3:52", "1:1 source resource"]),
        (target("web", "spec.replcas"), "no-match", ["6:18", "1:1 target resource"]),
        (target("web", "spec.replicas"), "wrong-type", ["6:13 field that keeps its type", "6:18"]),
    ];
    for (fields, code, want) in table {
        let reported = reported(&fields);
        let messages =
            reported.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
        let locations: Vec<Vec<String>> = messages
            .filter(|message| message["code"] == code)
            .map(|message| {
                let locations = message["locations"].as_array().cloned().unwrap_or_default();
                let output_or_error = |location: &serde_json::Value| {
                    let text = location["label"].as_str().unwrap_or_default();
                    format!("{}:{} {text}", location["line"], location["column"]).trim_end().to_string()
                };
                locations.iter().map(output_or_error).collect()
            })
            .collect();
        let has = |locations: &Vec<String>| {
            locations.first().is_some_and(|first| first == want[0])
                && locations.iter().any(|one| one == want[1])
        };
        assert!(locations.iter().any(has), "{want:?}: {reported}");
    }
}
