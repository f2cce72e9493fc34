//! Tests of merging, patching and writing packages.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use smp_files::{DiskTree, FileKind, FileTree as _, Hidden, LinkPolicy, TreeWalk, WalkOptions};
use smp_merge::merge::{ConflictPolicy, InferKeys, ListOrder, MergeOptions, PatchRules};
use smp_merge::patch::PatchType;
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Result};
use smp_text::source::{Reading, SourceMap};
use smp_text::yaml::{ParseOptions, parse_documents};

/// Creates a directory with files.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (name, text) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(path, text).expect("written");
    }
    directory
}

fn read(directory: &tempfile::TempDir) -> Package {
    Package::read(directory.path(), Reading::Kustomize, &SourceMap::default()).expect("readable")
}

fn file(text: &str) -> Package {
    Package::from_text("file.yaml", text.to_string(), Reading::Kustomize, &SourceMap::default())
        .expect("readable")
}

fn kyaml() -> MergeOptions {
    MergeOptions::kyaml(ListOrder::Append, InferKeys::Off)
}

/// Returns the changed files with their text.
fn texts(changed: &ChangedPackage, root: &Path) -> Vec<(String, Option<String>)> {
    let relative = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    let changed = changed.files.iter().filter(|f| f.is_changed);
    changed.map(|f| (relative(&f.path), f.text().map(str::to_string))).collect()
}

fn reports(changed: &ChangedPackage, root: &Path) -> Vec<String> {
    let root = format!("{}/", root.display());
    changed.changes.iter().map(|c| c.to_string().replace(&root, "")).collect()
}

fn config(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name} # name\ndata:\n  key: {value}\n")
}

#[test]
fn source_manifests_are_merged_over_the_matching_ones_of_dest() {
    let source = directory(&[
        ("a.yaml", &config("a", "new")),
        ("sub/new.yaml", &format!("# of new\n{}---\n{}", config("n1", "x"), config("b", "changed"))),
        ("old.yaml", &config("added", "x")),
    ]);
    let dest = directory(&[
        ("a.yaml", &config("a", "old # why")),
        ("moved/b.yaml", &format!("# head\n{}", config("b", "old"))),
        ("old.yaml", &config("only", "dest")),
        ("values.txt", "not: read"),
        (".git/x.yaml", "not: [read"),
    ]);
    let merged =
        merge2_packages(&read(&source), &read(&dest), &Schema::embedded(), &kyaml()).expect("merged");
    let want = [
        ("a.yaml", config("a", "new # why")),
        ("moved/b.yaml", format!("# head\n{}", config("b", "changed"))),
        ("old.yaml", format!("{}---\n{}", config("only", "dest"), config("added", "x"))),
        ("sub/new.yaml", format!("# of new\n{}", config("n1", "x"))),
    ];
    let want: Vec<_> = want.into_iter().map(|(p, t)| (p.to_string(), Some(t))).collect();
    assert_eq!(texts(&merged, dest.path()), want);
    let reports = reports(&merged, dest.path());
    assert_eq!(
        reports,
        [
            "a.yaml: ConfigMap a: changed data.key",
            "moved/b.yaml: ConfigMap b: changed data.key",
            "old.yaml: ConfigMap added: added",
            "sub/new.yaml: ConfigMap n1: added",
        ]
    );
    assert_eq!(merged.counts(), [2, 2, 0, 0]);
}

#[test]
fn upstream_changes_reach_dest() {
    let original = directory(&[
        ("all.yaml", &[config("a", "1"), config("gone", "1"), config("kept-away", "1")].join("---\n")),
        ("gone.yaml", &config("gone-file", "1")),
        ("same.yaml", &config("same", "1")),
    ]);
    let updated = directory(&[
        ("all.yaml", &[config("a", "2"), config("kept-away", "1"), config("new", "2")].join("---\n")),
        ("same.yaml", &config("same", "1")),
    ]);
    let dest = directory(&[
        ("all.yaml", &["# mine\n".to_string() + &config("a", "1 # why"), config("gone", "1")].join("---\n")),
        ("gone.yaml", &config("gone-file", "1")),
        ("mine.yaml", &config("mine", "1")),
        ("same.yaml", &config("same", "other")),
    ]);
    let merged =
        merge3_packages(&read(&original), &read(&updated), &read(&dest), &Schema::embedded(), &kyaml())
            .expect("merged");
    let all = ["# mine\n".to_string() + &config("a", "2 # why"), config("new", "2")].join("---\n");
    let want = [("all.yaml".to_string(), Some(all)), ("gone.yaml".to_string(), None)];
    assert_eq!(texts(&merged, dest.path()), want);
    assert_eq!(merged.counts(), [1, 1, 0, 2]);
    assert!(merged.conflicts.is_empty(), "{:?}", merged.conflicts);
    assert_eq!(merged.files.len(), 4, "files that do not change are there as well");
}

#[test]
fn conflicts_show_all_sides_and_are_resolved_by_the_policy() {
    let sources = SourceMap::default();
    let side = |name: &str, text: &str| {
        Package::from_text(name, text.to_string(), Reading::Kustomize, &sources).expect("readable")
    };
    let original =
        side("original.yaml", &[config("a", "1"), config("b", "1"), config("c", "1")].join("---\n"));
    let updated = side("updated.yaml", &[config("a", "2"), config("c", "2")].join("---\n"));
    let dest = side("dest.yaml", &[config("a", "3"), config("b", "3")].join("---\n"));
    for policy in [ConflictPolicy::Updated, ConflictPolicy::Dest] {
        let options = MergeOptions { conflicts: policy, ..kyaml() };
        let merged =
            merge3_packages(&original, &updated, &dest, &Schema::embedded(), &options).expect("merged");
        let shown: Vec<_> = merged
            .conflicts
            .iter()
            .map(|c| c.diagnostic(ConflictOutput::Resolved))
            .map(|c| {
                let places: Vec<_> = c.labels().iter().filter_map(|l| sources.describe(l.span)).collect();
                format!("{c} @ {}", places.join(" "))
            })
            .collect();
        let (value, gone, again) = match policy {
            ConflictPolicy::Updated => ("the updated", "it is removed", "it is added again"),
            ConflictPolicy::Dest => ("dest's", "dest's version is kept", "dest's version is kept"),
        };
        assert_eq!(
            shown,
            [
                format!(
                    "ConfigMap a: data.key: both sides changed this field: {value} value is taken @ dest.yaml:6:8 updated.yaml:6:8 original.yaml:6:8"
                ),
                format!(
                    "ConfigMap b: the updated version removes this resource, and dest changed it: {gone} @ dest.yaml:8:1 original.yaml:8:1"
                ),
                format!(
                    "ConfigMap c: dest removed this resource, and the updated version changes it: {again} @ updated.yaml:8:1 original.yaml:15:1"
                ),
            ]
        );
        let want = match policy {
            ConflictPolicy::Updated => [config("a", "2"), config("c", "2")].join("---\n"),
            ConflictPolicy::Dest => [config("a", "3"), config("b", "3")].join("---\n"),
        };
        assert_eq!(merged.stream(), want);
    }
}

#[test]
fn lists_without_a_schema_are_reported() {
    let custom = |name: &str| {
        file(&format!(
            "apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: x\nspec: [{{name: {name}}}]\n"
        ))
    };
    let (a, b, c) = (custom("a"), custom("b"), custom("c"));
    let schema = Schema::embedded();
    let merged = merge2_packages(&b, &a, &schema, &kyaml()).expect("merged");
    let warnings: Vec<_> = merged.warnings.iter().map(ToString::to_string).collect();
    let message = "this list is replaced: no schema defines how its entries merge";
    assert_eq!(warnings, [format!("Thing.example.com x: spec: {message}")]);

    let merged = merge3_packages(&a, &b, &c, &schema, &kyaml()).expect("merged");
    let help = "provide a schema with the merge keys of this list, or infer the keys (`--infer-keys`)";
    assert_eq!(merged.conflicts[0].diagnostic(ConflictOutput::Resolved).help_text(), Some(help));

    let inferred = MergeOptions::kyaml(ListOrder::Append, InferKeys::name());
    assert!(merge2_packages(&b, &a, &schema, &inferred).expect("merged").warnings.is_empty());
    assert!(merge3_packages(&a, &b, &c, &schema, &inferred).expect("merged").conflicts.is_empty());
}

#[test]
fn single_documents_need_no_names() {
    let merge = |source, dest| {
        let merged = merge2_packages(&file(source), &file(dest), &Schema::empty(), &kyaml()).expect("merged");
        merged.stream()
    };
    assert_eq!(merge("a: 2\nc: 3\n", "# c\na: 1 # one\nb: 2\n"), "# c\na: 2 # one\nb: 2\nc: 3\n");
    assert_eq!(merge("a: null\n", "a: 1\n"), "{}\n");
    assert_eq!(
        merge("kind: A\na: 2\n", "kind: A\nmetadata: {name: x}\n"),
        "kind: A\nmetadata: {name: x}\na: 2\n"
    );
    assert_eq!(merge("a: 1\n", ""), "a: 1\n");
    assert_eq!(merge("", "a: 1\n"), "a: 1\n");
    let (a, b) = (config("a", "1"), config("b", "1"));
    assert_eq!(merge(&a, &b), format!("{b}---\n{a}"), "other names are other things");
    assert_eq!(merge("x: 1\n---\ny: 1\n", "x: 0\n---\ny: 0\n"), "x: 1\n---\ny: 1\n");
}

#[test]
fn items_of_lists_are_manifests() {
    let item = |name: &str, value: &str| {
        let lines =
            config(name, value).lines().flat_map(|l| ["    ", l, "\n"].map(String::from)).collect::<String>();
        format!("  - {}", lines.trim_start())
    };
    let list = |items: &[String]| format!("apiVersion: v1\nkind: List\nitems: # all\n{}", items.concat());
    let dest = list(&[item("a", "1 # why"), item("b", "1")]);
    let source = format!("{}---\n{}", config("b", "2"), config("c", "3"));
    let merged =
        merge2_packages(&file(&source), &file(&dest), &Schema::embedded(), &kyaml()).expect("merged");
    let want = format!("{}---\n{}", list(&[item("a", "1 # why"), item("b", "2")]), config("c", "3"));
    assert_eq!(merged.stream(), want);
    let kept = list(&[item("a", "1")]);
    let without = |text: &str| {
        merge3_packages(&file(&dest), &file(text), &file(&dest), &Schema::embedded(), &kyaml())
            .expect("merged")
    };
    assert_eq!(without(&kept).stream(), list(&[item("a", "1 # why")]));
    assert_eq!(without("").files[0].text(), None, "an empty list is nothing");
}

#[test]
fn duplicate_manifests_are_rejected() {
    let twice = format!("{}---\n{}", config("a", "1"), config("a", "2"));
    let error = merge2_packages(&file(&twice), &file(&config("a", "1")), &Schema::empty(), &kyaml());
    assert_eq!(error.expect_err("twice").code(), Code::DuplicateResource);
    // In different files they are variants of one resource.
    let variants = [("a.yaml", config("a", "1")), ("b.yaml", config("a", "2"))];
    let dest = directory(&variants.each_ref().map(|(p, t)| (*p, t.as_str())));
    let source = directory(&[("b.yaml", &config("a", "3"))]);
    let merged = merge2_packages(&read(&source), &read(&dest), &Schema::empty(), &kyaml()).expect("merged");
    assert_eq!(texts(&merged, dest.path()), [("b.yaml".to_string(), Some(config("a", "3")))]);
}

fn patch(text: &str, patch: &str, patch_type: PatchType) -> Result<String> {
    patch_by(PatchRules::Apiserver, text, patch, patch_type)
}

fn patch_by(rules: PatchRules, text: &str, patch: &str, patch_type: PatchType) -> Result<String> {
    let sources = SourceMap::default();
    let id = sources.add("patch.yaml", patch);
    let documents = parse_documents(&sources, id, ParseOptions::default()).expect("readable");
    let patches = Patches::new(documents, patch_type)?;
    let options = PackagePatchOptions { rules: rules.into(), ..PackagePatchOptions::default() };
    patch_package(&file(text), &patches, &Schema::embedded(), &options).map(|changed| changed.stream())
}

#[test]
fn patches_apply_to_the_targets_they_name() {
    let text = format!("{}---\n{}", config("a", "1"), config("b", "1"));
    let server = PatchType::Strategic;
    let both = format!("{}---\n{}", config("a", "2"), config("b", "2"));
    let only_b = format!("{}---\n{}", config("a", "1"), config("b", "2"));
    let table = [
        ("kind: ConfigMap\ndata: {key: 2}", PatchType::Merge, Some(&both)),
        ("apiVersion: v1\ndata: {key: 2}", server, Some(&both)),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {key: 2}", server, Some(&only_b)),
        ("metadata: {name: b}\ndata: {key: 2}", PatchType::Merge, Some(&only_b)),
        ("kind: Secret\ndata: {key: 2}", server, None),
        ("apiVersion: apps/v1\nkind: ConfigMap\ndata: {key: 2}", server, None),
        // A namespace that no manifest has is not set.
        ("metadata: {name: b, namespace: other}\ndata: {key: 2}", server, None),
    ];
    for (change, kind, want) in table {
        let patched = patch(&text, change, kind);
        match want {
            None => assert_eq!(patched.expect_err(change).code(), Code::NoMatch, "{change}"),
            Some(want) => assert_eq!(patched.expect(change), *want, "{change}"),
        }
    }
    for (change, kind) in [
        ("data: {key: 2}", server),
        ("metadata: {namespace: other}", PatchType::Merge),
        ("- {op: replace, path: /data/key, value: 2}", PatchType::Json),
    ] {
        assert_eq!(patch(&text, change, kind).expect_err(change).code(), Code::Ambiguous, "{change}");
        // A patch need not name the only manifest.
        assert_eq!(patch(&config("a", "1"), "data: {key: 2}", server), Ok(config("a", "2")));
    }
    let second = "metadata: {name: a}\n$patch: delete\n---\nmetadata: {name: b}\ndata: {key: 2}\n";
    assert_eq!(patch(&text, second, server), Ok(config("b", "2")));
}

#[test]
fn invalid_patches_are_rejected() {
    let server = PatchType::Strategic;
    let code = |text: &str, change: &str, patch_type: PatchType| {
        patch(text, change, patch_type).expect_err(change).code()
    };
    assert_eq!(code("a: 1\n", "a: 2\n", server), Code::NoSchema);
    assert_eq!(code(&config("a", "1"), "- {op: test, path: /a}\n", server), Code::WrongType);
    assert_eq!(code(&config("a", "1"), "a: 1\n", PatchType::Json), Code::WrongType);
    assert_eq!(code(&config("a", "1"), "# nothing\n", server), Code::InvalidValue);
    assert_eq!(patch_by(PatchRules::Overlay, "a: 1\n", "a: 2\n", PatchType::Strategic), Ok("a: 2\n".into()));
    let patches =
        Patches::new(vec![file("a: 2\n").files()[0].documents[0].clone()], server).expect("a patch");
    let options = PackagePatchOptions { type_name: Some("nope".into()), ..PackagePatchOptions::default() };
    let error = patch_package(&file("a: 1\n"), &patches, &Schema::embedded(), &options);
    assert_eq!(error.expect_err("no such type").code(), Code::NoMatch);
}

fn changed(path: PathBuf, text: Option<&str>) -> ChangedFile {
    let content = text.map(|text| FileContent::Text(text.into()));
    let role = FileRole::Manifests;
    let there = fs::metadata(&path).is_ok_and(|there| there.is_file());
    let read = there.then(|| DiskTree.open(&path).expect("readable").stamp()).flatten();
    ChangedFile {
        relative: path.clone(),
        path,
        content,
        executable: false,
        role,
        is_changed: true,
        stamp: read,
    }
}

/// Returns all files of a directory with their text.
fn listing(directory: &tempfile::TempDir) -> Vec<(String, String)> {
    let options = WalkOptions { links: LinkPolicy::Keep, hidden: Hidden::Keep, max_depth: usize::MAX };
    let walked = TreeWalk::new(&DiskTree, directory.path(), options).map(|walked| walked.expect("readable"));
    let files = walked.filter(|walked| walked.kind == FileKind::File).map(|walked| walked.path);
    let text = |path: &PathBuf| fs::read_to_string(directory.path().join(path)).expect("text");
    files.map(|path| (path.display().to_string(), text(&path))).collect()
}

#[test]
fn files_are_written_and_removed() {
    let directory = directory(&[("a.yaml", "a: 1\n"), ("b.yaml", "b: 1\n"), ("c.yaml", "c: 1\n")]);
    let path = |name: &str| directory.path().join(name);
    let untouched = ChangedFile { is_changed: false, ..changed(path("c.yaml"), Some("other")) };
    let files = [
        changed(path("a.yaml"), Some("a: 2\n")),
        changed(path("b.yaml"), None),
        untouched,
        changed(path("new/deep/d.yaml"), Some("d: 1\n")),
    ];
    write_files(directory.path(), &files).expect("written");
    let want = [("a.yaml", "a: 2\n"), ("c.yaml", "c: 1\n"), ("new/deep/d.yaml", "d: 1\n")];
    assert_eq!(listing(&directory), want.map(|(n, t)| (n.to_string(), t.to_string())));
}

#[test]
fn all_files_are_written_or_none() {
    let directory = directory(&[("a.yaml", "a: 1\n"), ("b.yaml", "b: 1\n"), ("dir/x", "")]);
    let before = listing(&directory);
    let path = |name: &str| directory.path().join(name);
    // Replacing a directory by a file fails late, creating a file below a file fails early.
    for bad in ["dir", "b.yaml/c.yaml"] {
        let files = [
            changed(path("a.yaml"), Some("a: 2\n")),
            changed(path("b.yaml"), None),
            changed(path("new.yaml"), Some("n: 1\n")),
            changed(path(bad), Some("x: 1\n")),
        ];
        assert_eq!(write_files(directory.path(), &files).expect_err(bad).code(), Code::Io);
        assert_eq!(listing(&directory), before, "{bad}");
    }
}

#[cfg(unix)]
#[test]
fn symlinks_and_permissions_are_kept() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = directory(&[("real.yaml", "a: 1\n")]);
    let (real, link) = (directory.path().join("real.yaml"), directory.path().join("link.yaml"));
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("set");
    std::os::unix::fs::symlink("real.yaml", &link).expect("linked");
    write_files(directory.path(), &[changed(link.clone(), Some("a: 2\n"))]).expect("written");
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    assert_eq!(fs::read_to_string(&real).expect("there"), "a: 2\n");
    assert_eq!(fs::metadata(&real).expect("there").permissions().mode() & 0o777, 0o640);
}

#[test]
fn files_are_joined_to_one_stream() {
    let texts = ["a: 1", "\u{feff}b: 2\n", "---\nc: 3\n", "\n", "%YAML 1.2\n---\nd: 4\n"];
    let files = texts.iter().map(|t| changed(PathBuf::new(), Some(t))).collect();
    let stream = ChangedPackage { files, ..ChangedPackage::default() }.stream();
    assert_eq!(stream, "a: 1\n---\nb: 2\n---\nc: 3\n...\n%YAML 1.2\n---\nd: 4\n");
    assert_eq!(file(&stream).files()[0].documents.len(), 4);
}

#[test]
fn many_manifests_merge_in_linear_time() {
    let all =
        |value: &str| (0..5000).map(|i| config(&format!("c{i}"), value)).collect::<Vec<_>>().join("---\n");
    let (original, updated) = (file(&all("1")), file(&all("2")));
    let started = std::time::Instant::now();
    let merged =
        merge3_packages(&original, &updated, &original, &Schema::embedded(), &kyaml()).expect("merged");
    assert_eq!(merged.counts(), [0, 5000, 0, 0]);
    assert_eq!(merged.stream(), all("2"));
    // The limit is far above the unoptimized time and far below quadratic time.
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
}

#[test]
fn markers_enclose_conflicts_only() {
    let [original, updated, dest] = [
        [config("a", "1"), config("same", "1"), config("gone", "1")],
        [config("a", "2"), config("same", "2"), String::new()],
        [config("a", "3 # why"), config("same", "1 # mine"), config("gone", "3")],
    ]
    .map(|docs| file(&docs.into_iter().filter(|doc| !doc.is_empty()).collect::<Vec<_>>().join("---\n")));
    let (schema, options) = (Schema::embedded(), MergeOptions::lossless());
    let merge = PackageMerge3 {
        original: &original,
        updated: &updated,
        dest: &dest,
        schema: &schema,
        options: &options,
        origins: OriginRecording::Disabled,
    };
    let merged = merge.merge_with_markers(MarkerLabels::SIDES).expect("merged");
    let a = config("a", "1").replace(
        "  key: 1\n",
        "<<<<<<< dest\n  key: 3 # why\n||||||| original\n  key: 1 # why\n=======\n  key: 2 # why\n>>>>>>> updated\n",
    );
    let head = config("gone", "").replace("  key: \n", "");
    let gone = format!(
        "<<<<<<< dest\n---\n{head}  key: 3\n||||||| original\n---\n{head}  key: 1\n=======\n>>>>>>> updated\n"
    );
    assert_eq!(merged.stream(), format!("{a}---\n{}{gone}", config("same", "2 # mine")));
    let kinds: Vec<_> = merged.changes.iter().map(|change| change.kind.action()).collect();
    assert_eq!(kinds, ["changed"; 3], "{:?}", merged.changes);
}

#[test]
fn many_renamed_manifests_are_matched() {
    let all = |prefix: &str, value: &str| {
        let configs = (0..2000).map(|i| config(&format!("{prefix}c-{i}"), value));
        configs.collect::<Vec<_>>().join("---\n")
    };
    let (original, updated) = (file(&all("", "1")), file(&all("", "2")));
    let started = std::time::Instant::now();
    let dest = file(&all("prod-", "1"));
    let merged = merge3_packages(&original, &updated, &dest, &Schema::embedded(), &MergeOptions::lossless())
        .expect("merged");
    assert_eq!((merged.counts(), merged.conflicts.len()), ([0, 2000, 0, 0], 0));
    assert_eq!(merged.stream(), all("prod-", "2"));
    assert!(started.elapsed().as_secs() < 30, "{:?}", started.elapsed());
}

#[test]
fn files_changed_since_they_were_read_are_not_overwritten() {
    let directory = directory(&[("a.yaml", "a: 1\n")]);
    let path = |name: &str| directory.path().join(name);
    let (read, new) = (changed(path("a.yaml"), Some("a: 2\n")), changed(path("b.yaml"), Some("b: 1\n")));
    fs::write(path("a.yaml"), "a: mine\n").expect("written");
    let error = write_files(directory.path(), &[read, new.clone()]).expect_err("changed since");
    assert!(error.message().contains("another program changed it"), "{error}");
    fs::write(path("b.yaml"), "b: mine\n").expect("written");
    write_files(directory.path(), &[new]).expect_err("made since");
    let want = [("a.yaml", "a: mine\n"), ("b.yaml", "b: mine\n")];
    assert_eq!(listing(&directory), want.map(|(n, t)| (n.to_string(), t.to_string())));
}
