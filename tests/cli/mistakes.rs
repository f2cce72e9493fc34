//! Mistakes that would otherwise reach production: each is reported where it was made, with a suggestion.

mod added_documents;
mod cluster;
mod kustomizations;
mod several_errors;
mod suggestions;
mod wrong_input;

use std::path::Path;

use kubectl_smp_testing::program::run;
use serde_json::Value;

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: 'web:1'}
";

fn cm(name: &str) -> String {
    format!(
        "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
data:
  a: b
"
    )
}

/// Returns the messages of a command, which must fail and print nothing on stdout.
fn rejected(home: &Path, args: &[&str]) -> String {
    let output = run(home, args);
    let reported = String::from_utf8(output.stderr).expect("text");
    assert_eq!((output.stdout.len(), output.status.success()), (0, false), "{args:?}: {reported}");
    reported
}

/// Returns the messages of a command, which must succeed.
fn reported(home: &Path, args: &[&str]) -> String {
    let output = run(home, args);
    let reported = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.success() && !output.stdout.is_empty(), "{args:?}: {reported}");
    reported
}

fn messages(reported: &str) -> Vec<Value> {
    reported.lines().map(|line| serde_json::from_str(line).expect("an object")).collect()
}

#[track_caller]
fn assert_contains_all(reported: &str, parts: &[&str]) {
    for part in parts {
        assert!(reported.contains(part), "no `{part}` in:\n{reported}");
    }
}
