//! Builds from files in memory equal builds from disk: output, warnings, errors, and the files read.
//!
//! Each overlay is built a third time, only from the files that the first build read.
//!
//! `SMP_TEST_REALWORLD` names a directory with a subdirectory for each repository. All kustomizations in them are
//! built, too.

#![allow(clippy::print_stderr, reason = "a test says how much it compared")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kubectl_smp_testing::overlays;
use rayon::iter::Either;
use rayon::prelude::*;
use smp_files::{DiskTree, FileKind, FileTree, MemoryTree, ReadSet, RecordingTree};
use smp_overlay::overlay::{BuildOptions, Builder, Built, ChainPurpose, Targets};
use smp_overlay::resource::Resource;
use smp_overlay::schema_chain::{ChainSources, SchemaChain, SchemaChoice};
use smp_text::diagnostic::{Diagnostic, Result};
use smp_text::source::{KUSTOMIZATION_FILES, SourceMap};
use smp_text::yaml;

/// The same errors, as worded by the system and by a tree in memory.
const WORDS: [(&str, &str); 3] = [
    ("Not a directory (os error 20)", "not a directory"),
    ("Is a directory (os error 21)", "is a directory"),
    ("Too many levels of symbolic links (os error 40)", "too many levels of symbolic links"),
];

/// The complete diagnostic as printed.
fn shown(problem: &Diagnostic, sources: &SourceMap) -> String {
    let place = |span| sources.describe(span).unwrap_or_default();
    let labels = problem.labels().iter().map(|label| format!("{} {}", place(label.span), label.text));
    let labels = labels.collect::<Vec<_>>();
    let text = format!(
        "\
{:?} {:?} {problem}
{labels:#?}
{:#?}
{:?}",
        problem.severity(),
        problem.code(),
        problem.notes(),
        problem.help_text()
    );
    WORDS.iter().fold(text, |text, (of_system, ours)| text.replace(of_system, ours))
}

fn options(tree: Arc<dyn FileTree>) -> BuildOptions {
    let mut options = BuildOptions::default().tree(tree);
    options.offline = true;
    options
}

fn built(options: BuildOptions, target: &Path, sources: &SourceMap) -> Result<Built> {
    let chain = |used| {
        let hermetic = used == ChainPurpose::Kustomizations;
        SchemaChain::new(
            &SchemaChoice::Auto,
            ChainSources { hermetic, offline: true, ..ChainSources::default() },
        )
    };
    Builder::with_chain(sources.clone(), options, Box::new(chain), Targets::One)?.build(target)
}

/// The result of a target.
#[derive(PartialEq)]
struct Outcome {
    builds: bool,
    /// The warnings and the output, or the error.
    text: String,
}

fn build(tree: Arc<dyn FileTree>, target: &Path) -> Outcome {
    let sources = SourceMap::default();
    let text = built(options(tree), target, &sources).and_then(|built| {
        let warnings: String = built.warnings.iter().map(|warning| shown(warning, &sources)).collect();
        Ok(warnings + &yaml::to_documents(built.resources.iter().map(Resource::node))?)
    });
    let builds = text.is_ok();
    Outcome { builds, text: text.unwrap_or_else(|problem| shown(&problem, &sources)) }
}

/// Loads a directory and all below it, with the same paths.
fn load(directory: &Path, tree: MemoryTree) -> MemoryTree {
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    let tree = tree.with_directory(directory).expect("distinct");
    entries.fold(tree, |tree, path| match path.symlink_metadata().expect("there").file_type() {
        t if t.is_dir() => load(&path, tree),
        t if t.is_symlink() => {
            let target = fs::read_link(&path).expect("a link").into_os_string();
            tree.with_link(&path, target.into_string().expect("UTF-8")).expect("distinct")
        }
        _ => {
            let content = fs::read(&path).expect("a file");
            tree.with_file(&path, content).expect("distinct")
        }
    })
}

/// A tree with the files in `read`, and only the names of other files.
fn only(read: &ReadSet, all: &MemoryTree) -> MemoryTree {
    let here = all.working_directory().expect("given");
    let mut tree = MemoryTree::default().with_working_directory(here);
    let mut found: Vec<(PathBuf, FileKind)> = read.found.clone().into_iter().collect();
    for directory in &read.directories {
        let entries = all.list(directory).expect("a directory").into_iter();
        found.extend(entries.map(|entry| (directory.join(entry.name), entry.kind)));
    }
    for (path, kind) in found {
        tree = match kind {
            FileKind::Directory => tree.with_directory(path).expect("distinct"),
            FileKind::File => tree.with_file(path, &b""[..]).expect("distinct"),
            FileKind::Link | FileKind::Other => tree,
        };
    }
    for path in &read.files {
        tree = tree.with_file(path, all.read(path).expect("there")).expect("distinct");
    }
    for (path, target) in &read.links {
        let is_below_another = path.ancestors().skip(1).any(|above| read.links.contains_key(above));
        if !is_below_another {
            tree = tree.with_link(path, target.to_str().expect("UTF-8")).expect("distinct");
        }
    }
    tree
}

/// Builds a target from both trees. Returns true if it builds, or a description of the difference.
fn compare(memory: &MemoryTree, target: &Path) -> std::result::Result<bool, String> {
    let on_disk = Arc::new(RecordingTree::new(Arc::new(DiskTree)));
    let want = build(on_disk.clone(), target);
    let in_memory = Arc::new(RecordingTree::new(Arc::new(memory.clone())));
    let got = build(in_memory.clone(), target);
    let differs = |what: &str, got: &str, want: &str| {
        Err(format!(
            "\
{}: {what}:
{got}
--- instead of
{want}",
            target.display()
        ))
    };
    if got != want {
        return differs("from memory", &got.text, &want.text);
    }
    let (read, want_read) = (in_memory.read_set(), on_disk.read_set());
    if read != want_read {
        return differs("what was read", &format!("{read:#?}"), &format!("{want_read:#?}"));
    }
    let alone = build(Arc::new(only(&read, memory)), target);
    if without_reason(&alone.text) != without_reason(&want.text) {
        return differs("from what was read", &alone.text, &want.text);
    }
    Ok(want.builds)
}

/// Removes the reason of a failed access: it is known only for paths that were inspected.
fn without_reason(text: &str) -> String {
    let reasons = WORDS.iter().map(|(_, ours)| *ours);
    reasons.fold(text.to_string(), |text, reason| text.replace(reason, "no such file or directory"))
}

/// All directories with a kustomization, at any depth.
fn kustomizations(directory: &Path, out: &mut Vec<PathBuf>) {
    if KUSTOMIZATION_FILES.iter().any(|name| directory.join(name).is_file()) {
        out.push(directory.to_path_buf());
    }
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path());
    let below = entries.filter(|path| path.is_dir() && !path.is_symlink());
    below.for_each(|path| kustomizations(&path, out));
}

/// Compares all kustomizations below a directory and some other targets. Returns their number, and the number of
/// those that build.
fn compare_all(directory: &Path, others: &[PathBuf]) -> [usize; 2] {
    let directory = directory.canonicalize().expect("a directory");
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).expect("a directory");
    let memory = load(&directory, MemoryTree::default()).with_working_directory(here);
    let mut targets = others.to_vec();
    kustomizations(&directory, &mut targets);
    let (built, wrong): (Vec<bool>, Vec<String>) =
        targets.par_iter().partition_map(|target| match compare(&memory, target) {
            Ok(builds) => Either::Left(builds),
            Err(difference) => Either::Right(difference),
        });
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), targets.len(), wrong.join("\n\n"));
    [targets.len(), built.into_iter().filter(|builds| *builds).count()]
}

#[test]
fn examples_and_cases_build_from_memory() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let plain = ["overlays", "base", "."].map(|path| project.join("examples/plain").join(path));
    let [targets, built] = compare_all(&project.join("examples"), &plain);
    assert!(targets > 5 && built >= 5, "{built} of {targets}");
    let missing = [project.join("tests/cases/kustomize/missing")];
    let [targets, built] = compare_all(&project.join("tests/cases/kustomize"), &missing);
    assert!(targets > 5 && built == targets - 1, "{built} of {targets}");
}

#[test]
fn random_overlays_build_from_memory() {
    let directory = tempfile::tempdir().expect("a directory");
    for seed in 0..40 {
        overlays::write(seed, &directory.path().join(seed.to_string()));
    }
    let [targets, built] = compare_all(directory.path(), &[]);
    assert!(targets > 60 && built * 2 > targets && built < targets, "{built} of {targets}");
}

#[cfg(unix)]
fn write_linked(home: &Path) {
    let map = |name: &str| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}}}
"
        )
    };
    let files = [
        ("app/kustomization.yaml", "resources: [a.yaml, link.yaml, ../linked, ../to-base]\n".to_string()),
        ("app/a.yaml", map("a")),
        ("app/b.yaml", map("b")),
        (
            "base/kustomization.yaml",
            "\
resources: [c.yaml]
namePrefix: base-
"
            .into(),
        ),
        ("base/c.yaml", map("c")),
        ("linked/real.yaml", "configMapGenerator: [{name: d, files: [x=../linked/text]}]\n".into()),
        ("linked/text", "x".into()),
        ("out/kustomization.yaml", "resources: [out.yaml]\n".into()),
        ("file-as-directory/kustomization.yaml", "resources: [../app/a.yaml/x]\n".into()),
        ("directory-as-file/kustomization.yaml", "configMapGenerator: [{name: a, files: [../app]}]\n".into()),
        ("unread/kustomization.yaml", "components: [../app/a.yaml]\n".into()),
        ("plain/base/e.yaml", map("e")),
        ("plain/overlay/f.yaml", map("f")),
        ("plain/overlay/.more/g.yaml", map("g")),
        ("plain/outside/g.yaml", map("g")),
        ("circle/h.yaml", map("h")),
        ("mixed/i.yaml", map("i")),
    ];
    for (path, text) in files {
        let path = home.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }
    let links = [
        ("app/link.yaml", "./b.yaml"),
        ("to-base", "base"),
        ("linked/kustomization.yaml", "real.yaml"),
        ("out/out.yaml", "../app/a.yaml"),
        ("plain/overlay/more", ".more"),
        ("plain/outside/app", "../../app"),
        ("circle/up", ".."),
        ("mixed/app", "../app"),
        ("loop", "loop"),
    ];
    for (path, target) in links {
        std::os::unix::fs::symlink(target, home.join(path)).expect("linked");
    }
}

#[cfg(unix)]
#[test]
fn symlinks_are_followed_in_memory() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = directory.path().canonicalize().expect("its real path");
    write_linked(&home);
    let others = "plain/overlay plain/outside plain/base to-base circle mixed loop app/a.yaml .";
    let others: Vec<PathBuf> = others.split(' ').map(|path| home.join(path)).collect();
    assert_eq!(compare_all(&home, &others), [16, 6]);
}

#[test]
fn only_needed_files_are_read() {
    let files = [
        (
            "app/kustomization.yaml",
            "\
resources: [../base]
namePrefix: my-
",
        ),
        ("base/kustomization.yaml", "resources: [map.yaml]\n"),
        (
            "base/map.yaml",
            "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
",
        ),
    ];
    let tree = Arc::new(MemoryTree::new(files).expect("distinct"));
    let want = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: my-a
";
    assert_eq!(build(tree.clone(), Path::new("app")).text, want);
    assert!(build(tree, Path::new("examples/kustomize/base")).text.contains("no such file or directory"));
}

#[test]
fn programs_are_not_run_for_files_in_memory() {
    let function = "\
apiVersion: v1
kind: F
metadata:
  name: f
  annotations:
    config.kubernetes.io/function: 'exec: {path: ./f}'
";
    let files = [("k/kustomization.yaml", "generators: [f.yaml]\n"), ("k/f.yaml", function)];
    let charts = [("k/kustomization.yaml", "helmCharts: [{name: a, repo: b}]\n")];
    for tree in [MemoryTree::new(files), MemoryTree::new(charts)] {
        let tree: Arc<dyn FileTree> = Arc::new(tree.expect("distinct"));
        let mut options = options(tree);
        (options.functions.plugins, options.functions.exec) = (true, true);
        options.helm.enabled = true;
        let error = built(options, Path::new("k"), &SourceMap::default()).expect_err("not on disk");
        assert!(error.message().starts_with("cannot run "), "{error}");
        assert!(error.message().ends_with("/k: it is not on disk"), "{error}");
    }
}

#[test]
#[ignore = "needs SMP_TEST_REALWORLD, a folder with repositories"]
fn real_overlays_build_from_memory() {
    let all = std::env::var_os("SMP_TEST_REALWORLD").expect("SMP_TEST_REALWORLD names a folder");
    let repositories = fs::read_dir(all).expect("a folder").map(|entry| entry.expect("an entry").path());
    let counts: Vec<_> =
        repositories.filter(|path| path.is_dir()).map(|path| compare_all(&path, &[])).collect();
    let [targets, built] = [0, 1].map(|i| counts.iter().map(|count| count[i]).sum::<usize>());
    assert!(
        built > 0 && built * 2 > targets,
        "{built} of {targets} kustomizations build: the rest says little"
    );
    eprintln!("{built} of {targets} kustomizations build");
}
