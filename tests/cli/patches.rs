//! `patch` and `create-patch` on the command line: selected manifests, added values, and fields kept in live objects.

mod conflicts;
mod layout;
mod messages;
mod pitfalls;
mod schemas;
mod selection;
mod three_way;
mod versions;
mod warnings;

use std::fs;
use std::path::Path;

use kubectl_smp_testing::program::{run, temp_dir, temp_dir_from_text, temp_dir_with};
use tempfile::TempDir;

/// Returns stdout and stderr.
fn succeed(directory: &Path, args: &[&str]) -> (String, String) {
    let output = run(directory, args);
    let [stdout, stderr] =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
    assert!(output.status.success(), "{args:?}: {stderr}");
    (stdout, stderr)
}

fn fail(directory: &Path, args: &[&str]) -> String {
    let output = run(directory, args);
    assert!(!output.status.success() && output.stdout.is_empty(), "{args:?} must fail");
    String::from_utf8(output.stderr).expect("text")
}

const WEB: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {tier: front}
spec:
  replicas: 1 # one
  template:
    spec:
      containers:
      - name: web
        image: web:1
";

/// A realistic directory: manifests beside files that only look like manifests.
fn application() -> TempDir {
    temp_dir_with(
        &[("app/db.yaml", &WEB.replace("web", "db").replace("front", "back")), ("app/web.yaml", WEB)],
        r"
-- app/kustomization.yaml --
resources: [web.yaml, db.yaml]
-- app/overlay/kustomization.yaml --
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
-- app/values.yaml --
replicas: 2
",
    )
}

/// A ConfigMap named `c`, in a namespace or without one.
fn config(namespace: &str, value: &str) -> String {
    let namespace = if namespace.is_empty() { String::new() } else { format!("  namespace: {namespace}\n") };
    format!(
        "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: c
{namespace}data:
  a: {value}
"
    )
}

const CUSTOM: &str = "\
apiVersion: example.com/v1
kind: Thing
metadata:
  name: a
spec:
  l: [{id: 1, x: 1}, {id: 2}]
";

const CRD: &str = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  names: {kind: Thing, plural: things}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              l:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [id]
                items: {type: object, properties: {id: {type: integer}, x: {type: integer}}, required: [id]}
";

/// A live object: applied fields, fields added by others, and fields set by the server.
const LIVE: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  uid: 6a0c
  finalizers: [others.example.com/keep]
  labels: {app: web, old: x, others: x}
  annotations:
    deployment.kubernetes.io/revision: '1'
    kubectl.kubernetes.io/last-applied-configuration: |
      {\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"annotations\":{},\"labels\":{\"app\":\"web\",\"old\":\"x\"},\"name\":\"web\"},\"spec\":{\"paused\":true,\"template\":{\"spec\":{\"containers\":[{\"image\":\"web:1\",\"name\":\"web\"}]}}}}
spec:
  paused: true
  template:
    spec:
      containers:
      - {name: web, image: 'web:1', imagePullPolicy: Always}
      - {name: injected, image: 'mesh:1'}
status: {replicas: 3}
";

const APPLIED: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web, old: x}}
spec: {paused: true, template: {spec: {containers: [{name: web, image: 'web:1'}]}}}
";

const NEW: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web2}}
spec: {template: {spec: {containers: [{name: web, image: 'web:2'}]}}}
";

const TYPES: [&[&str]; 4] =
    [&["--type", "strategic"], &["--type", "merge"], &["--type", "json"], &["--dialect", "schema"]];

/// Applies a patch of the given type to a manifest and returns the result as JSON.
fn apply_patch_type(files: &TempDir, manifest: &str, create: &[&str], of: &[&str]) -> serde_json::Value {
    let (patch, _) = succeed(files.path(), &[create, of].concat());
    fs::write(files.path().join("patch.yaml"), patch).expect("written");
    let apply = ["patch", "-f", manifest, "--patch-file", "patch.yaml", "-o", "json"];
    serde_json::from_str(&succeed(files.path(), &[&apply[..], of].concat()).0).expect("JSON")
}
