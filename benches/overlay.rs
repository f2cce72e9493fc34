//! The build time of overlays of many applications.
//!
//!     cargo bench --bench overlay
//!     KUSTOMIZE=kustomize cargo bench --bench overlay     # whole processes of both, in turn
//!
//! Prints medians. Machines differ, so compare the ratios.

#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: usize = 5;

/// Builds overlays of 1 to 3,000 applications, each a Deployment, a Service and a ConfigMap.
fn main() {
    let ours = env!("CARGO_BIN_EXE_kubectl-smp");
    let theirs = std::env::var("KUSTOMIZE").ok();
    for apps in [1, 100, 1000, 3000] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        write_overlay(directory.path(), apps);
        let target = directory.path().join("overlays/prod");
        // kustomize is quadratic: 3,000 applications would take minutes.
        let theirs = theirs.as_deref().filter(|_| apps <= 1000);
        let runs = if theirs.is_some() && apps >= 1000 { 1 } else { RUNS };
        let (mut own, mut other) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            own.push(time(ours, &target));
            other.extend(theirs.map(|program| time(program, &target)));
        }
        let own = median(&mut own);
        print!("overlay of {apps:>5} applications: {own:>10.2?}");
        if !other.is_empty() {
            let other = median(&mut other);
            print!("   kustomize {other:>10.2?}   {:.0} times", other.as_secs_f64() / own.as_secs_f64());
        }
        println!();
    }
}

fn time(program: &str, target: &Path) -> Duration {
    let start = Instant::now();
    let status =
        Command::new(program).arg("build").arg(target).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let elapsed = start.elapsed();
    assert!(status.expect("the program runs").success(), "{program} failed");
    elapsed
}

fn write_overlay(root: &Path, apps: usize) {
    let (base, prod) = (root.join("base"), root.join("overlays/prod"));
    fs::create_dir_all(&base).expect("a directory");
    fs::create_dir_all(&prod).expect("a directory");
    let mut resources = String::from("resources:\n");
    let mut patches = String::new();
    for i in 0..apps {
        fs::write(base.join(format!("app-{i}.yaml")), app(i)).expect("a file");
        writeln!(resources, "- app-{i}.yaml").expect("text");
        if i % 5 == 0 {
            fs::write(prod.join(format!("patch-{i}.yaml")), patch(i)).expect("a file");
            writeln!(patches, "- path: patch-{i}.yaml").expect("text");
        }
    }
    fs::write(base.join("kustomization.yaml"), resources).expect("a file");
    let overlay = format!(
        "resources: [../../base]\nnamespace: prod\nnamePrefix: prod-\nlabels:\n- pairs: {{env: prod}}\n  includeTemplates: true\nimages:\n- {{name: registry.example.com/proxy, newTag: 2.2.0}}\nreplicas:\n- {{name: app-0, count: 3}}\npatches:\n{patches}"
    );
    fs::write(prod.join("kustomization.yaml"), overlay).expect("a file");
}

/// Deployment, Service and ConfigMap of the application `{i}`.
const APP: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: app-{i}, labels: {app: app-{i}}}
spec:
  replicas: 1
  selector:
    matchLabels: {app: app-{i}}
  template:
    metadata:
      labels: {app: app-{i}}
    spec:
      containers:
      - name: main
        image: registry.example.com/app-{i}:1.0.0
        env:
        - {name: MODE, value: base}
        - name: LOG_LEVEL
          valueFrom:
            configMapKeyRef: {name: app-{i}, key: level}
        ports:
        - {name: http, containerPort: 8080}
      - name: proxy
        image: registry.example.com/proxy:2.1.0
---
apiVersion: v1
kind: Service
metadata: {name: app-{i}}
spec:
  selector: {app: app-{i}}
  ports:
  - {name: http, port: 80, targetPort: http}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: app-{i}}
data:
  level: info
  config.yaml: |
    listen: 0.0.0.0:8080
    features: [a, b, c]
";

fn app(i: usize) -> String {
    APP.replace("{i}", &i.to_string())
}

fn patch(i: usize) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{name: app-{i}}}
spec:
  template:
    spec:
      containers:
      - name: main
        env:
        - {{name: MODE, value: prod}}
      - name: sidecar
        image: registry.example.com/sidecar:0.3.0
"
    )
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}
