//! How long merges take: patches of long lists, and three-way merges of packages of many files.
//!
//!     cargo bench --bench merge
//!
//! Prints medians; what is to be seen is that ten times the entries take about ten times the time.

#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use kubectl_smp::merge::{Exceptions, InferKeys, ListOrder, MergeOptions, Rules, apply, merge2};
use kubectl_smp::package::{Package, merge3_packages, write_files};
use kubectl_smp::patch::create;
use kubectl_smp::schema::{Gvk, Schema};
use kubectl_smp::source::{Reading, SourceMap};
use kubectl_smp::yaml::{Map, Node};

const RUNS: usize = 5;

fn main() {
    for length in [1_000, 10_000, 100_000] {
        lists(length);
    }
    for files in [100, 1_000, 10_000] {
        packages(files);
    }
}

/// Patches one entry, and all entries, of a list of containers.
fn lists(length: usize) {
    let schema = Schema::embedded();
    let kind = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
    let names = |image: &'static str| (0..length).map(move |i| (format!("c{i}"), image.to_string()));
    let object = pod(names("a"));
    let (one, all) = (pod([(format!("c{}", length / 2), "b".to_string())]), pod(names("b")));
    for (name, patch) in [("one", &one), ("all", &all)] {
        for (name_of_rules, rules) in [("apiserver", Rules::Apiserver), ("overlay", Rules::Overlay)] {
            measure(&format!("{name_of_rules}: patch {name} of {length} entries"), || {
                let dest = object.clone();
                let start = Instant::now();
                let _merged = apply(dest, patch, kind, &schema, rules).expect("applies");
                start.elapsed()
            });
        }
        measure(&format!("kustomize: patch {name} of {length} entries"), || {
            let dest = Some(object.clone());
            let start = Instant::now();
            let options = MergeOptions::kustomize(Exceptions::None);
            let _ = merge2(dest, patch, &schema, &options).expect("merges");
            start.elapsed()
        });
    }
    measure(&format!("apiserver: create a patch of all of {length} entries"), || {
        let start = Instant::now();
        create(&object, &all, kind, Rules::Apiserver).expect("made");
        start.elapsed()
    });
}

fn pod(containers: impl IntoIterator<Item = (String, String)>) -> Node {
    let map = |fields: Vec<(&str, Node)>| Node::map(fields.into_iter().collect::<Map>());
    let container = |(name, image): (String, String)| {
        map(vec![("name", Node::string(name)), ("image", Node::string(image))])
    };
    let list = Node::list(containers.into_iter().map(container).collect());
    map(vec![
        ("apiVersion", Node::string("v1")),
        ("kind", Node::string("Pod")),
        ("metadata", map(vec![("name", Node::string("p"))])),
        ("spec", map(vec![("containers", list)])),
    ])
}

/// Merges an upgrade into a package of as many files, each a Deployment; reads and writes them, too.
fn packages(files: usize) {
    let schema = Schema::embedded();
    let options = MergeOptions::kyaml(ListOrder::Append, InferKeys::Off);
    let side = |version: &str, replicas: usize| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for i in 0..files {
            let text = deployment(i, version, replicas);
            fs::write(directory.path().join(format!("app-{i}.yaml")), text).expect("written");
        }
        directory
    };
    let (original, updated) = (side("1.0", 1), side("2.0", 1));
    measure(&format!("merge3 of {files} files, read and written"), || {
        let target = side("1.0", 3);
        let start = Instant::now();
        let sources = SourceMap::default();
        let read = |path: &Path| Package::read(path, Reading::Kustomize, &sources).expect("readable");
        let (original, updated, dest) = (read(original.path()), read(updated.path()), read(target.path()));
        let merged = merge3_packages(&original, &updated, &dest, &schema, &options).expect("merges");
        assert_eq!(merged.counts(), [0, files, 0], "added, changed, removed");
        write_files(target.path(), &merged.files).expect("written");
        start.elapsed()
    });
}

fn deployment(i: usize, version: &str, replicas: usize) -> String {
    format!(
        "# Application {i}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{i}
  labels: {{app: app-{i}}}
spec:
  replicas: {replicas} # as many as it takes
  selector:
    matchLabels: {{app: app-{i}}}
  template:
    metadata:
      labels: {{app: app-{i}}}
    spec:
      containers:
      - name: main
        image: registry.example.com/app-{i}:{version}
        env:
        - name: MODE
          value: \"dev\"
        ports:
        - containerPort: 8080
"
    )
}

fn measure(what: &str, run: impl Fn() -> Duration) {
    let mut times: Vec<_> = (0..RUNS).map(|_| run()).collect();
    times.sort();
    println!("{what:<55} {:>10.2?}", times[RUNS / 2]);
}
