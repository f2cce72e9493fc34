//! The time of merges: patches of long lists, and three-way merges of packages of many files.
//!
//!     cargo bench --bench merge
//!
//! Prints medians. Ten times as many entries should take about ten times as long.

#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use smp_merge::merge::{Exceptions, MergeOptions, PatchRules, apply, merge2};
use smp_merge::patch::create;
use smp_merge::schema::{Gvk, Schema};
use smp_overlay::package::{
    ChangedFile, FileContent, FileRole, Package, PackageFile, merge3_packages, write_files,
};
use smp_text::source::{Reading, SourceMap};
use smp_text::yaml::{Map, Node};

const RUNS: usize = 5;

fn main() {
    for length in [1_000, 10_000, 100_000] {
        lists(length);
    }
    for files in [100, 1_000, 3_000, 10_000] {
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
        for (name_of_rules, rules) in [("apiserver", PatchRules::Apiserver), ("overlay", PatchRules::Overlay)]
        {
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
        create(&object, &all, kind, PatchRules::Apiserver).expect("made");
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

/// Merges an upgrade into a package of `files` files, each with a Deployment, including reading and writing. Also
/// measures only reading the three versions and writing the third.
fn packages(files: usize) {
    let schema = Schema::embedded();
    let options = MergeOptions::lossless();
    let side = |version: &str, replicas: usize| {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for i in 0..files {
            let text = deployment(i, version, replicas);
            fs::write(directory.path().join(format!("app-{i}.yaml")), text).expect("written");
        }
        directory
    };
    let (original, updated) = (side("1.0", 1), side("2.0", 1));
    let sides = |dest: &Path, sources: &SourceMap| {
        let read = |path: &Path| Package::read(path, Reading::Kubectl, sources).expect("readable");
        [read(original.path()), read(updated.path()), read(dest)]
    };
    measure(&format!("merge3 of {files} files, read and written"), || {
        let target = side("1.0", 3);
        let start = Instant::now();
        let [original, updated, dest] = sides(target.path(), &SourceMap::default());
        let merged = merge3_packages(&original, &updated, &dest, &schema, &options).expect("merges");
        assert_eq!(merged.counts(), [0, files, 0, 0], "added, changed, moved, removed");
        write_files(target.path(), &merged.files).expect("written");
        start.elapsed()
    });
    measure(&format!("{files} files, only read and written"), || {
        let target = side("1.0", 3);
        let start = Instant::now();
        let [_, _, dest] = sides(target.path(), &SourceMap::default());
        let same: Vec<_> = dest.files().iter().map(unchanged).collect();
        write_files(target.path(), &same).expect("written");
        start.elapsed()
    });
}

/// A file that is written, though its content is unchanged.
fn unchanged(file: &PackageFile) -> ChangedFile {
    ChangedFile {
        path: file.path.clone(),
        relative: file.relative.clone(),
        content: Some(FileContent::Text(file.text.to_string())),
        executable: file.executable,
        role: FileRole::Manifests,
        is_changed: true,
        stamp: file.stamp.clone(),
    }
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
