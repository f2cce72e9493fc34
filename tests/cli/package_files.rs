//! Realistic packages: renamed resources, files that are not manifests, reports.

mod kustomizations;
mod other_files;
mod pairing;
mod reports;
mod two_way;

use std::fs;
use std::process::Output;

use kubectl_smp_testing::program::run;

/// Creates three directories with these files.
fn packages(sides: [&[(&str, &str)]; 3]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (side, files) in ["original", "updated", "dest"].iter().zip(sides) {
        fs::create_dir_all(directory.path().join(side)).expect("made");
        for (name, text) in files {
            let path = directory.path().join(side).join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, text).expect("written");
        }
    }
    directory
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

const MERGE3: [&str; 7] = ["merge3", "--original", "original", "--updated", "updated", "--dest", "dest"];

fn merge3(directory: &tempfile::TempDir, args: &[&str]) -> Output {
    run(directory.path(), &[&MERGE3[..], args].concat())
}

/// Merges in place, without conflicts, and returns the contents of a file of dest.
fn merged(sides: [&[(&str, &str)]; 3], file: &str) -> String {
    let directory = packages(sides);
    let output = merge3(&directory, &["--in-place", "--exit-code"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    fs::read_to_string(directory.path().join("dest").join(file)).unwrap_or_default()
}

const WEB: &str = "apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 1
  template:
    spec:
      containers:
      - name: web
        image: web:1
";

fn with_new_image(text: &str) -> String {
    text.replace("web:1", "web:2")
}
