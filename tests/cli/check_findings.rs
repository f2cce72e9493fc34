//! Findings of `check`, their locations, and input without findings.

mod configuration;
mod definitions;
mod operations;
mod references;
mod targets;

use kubectl_smp_testing::program::{run, temp_dir};
use serde_json::Value;

const POD: &str = "\
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: web, image: nginx}
";

const UNMATCHED: &str = r#"resources: [pod.yaml]
images:
- name: ngnix
  newTag: "1"
"#;

const TWICE: &str = r#"resources: [pod.yaml]
namespace: a
labels:
- pairs: {x: "1"}
namespace: a
labels:
- pairs: {x: "2"}
labels:
- pairs: {x: "3"}
---
namePrefix: x-
"#;

/// A Deployment and its Service.
const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      volumes:
      - {name: v, emptyDir: {}}
      containers:
      - name: web
        image: nginx:1
        volumeMounts: [{name: v, mountPath: /v}]
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{port: 80}]
";

/// Creates a target of one file.
fn target_of(manifests: &str) -> tempfile::TempDir {
    temp_dir(&[("kustomization.yaml", "resources: [all.yaml]"), ("all.yaml", manifests)])
}

/// Codes and messages of the findings in a target of one file.
fn findings_of(manifests: &str) -> Vec<String> {
    let home = target_of(manifests);
    let output = run(home.path(), &["check", "-o", "json"]);
    let findings: Vec<Value> = serde_json::from_slice(&output.stdout).expect("an array");
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap_or_default().to_string();
    findings
        .iter()
        .map(|finding| format!("{}: {}", text(finding, "code"), text(finding, "message")))
        .collect()
}
