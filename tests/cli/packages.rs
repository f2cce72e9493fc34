//! `merge`, `merge3` and `patch` on the command line: output, files and reports.

use std::fs;

use kubectl_smp_testing::program::{run, temp_dir, temp_dir_from_text, temp_dir_with};

const ORIGINAL: &str = "\
kind: Web
metadata: {name: web}
replicas: 1
image: web:1
";
const UPDATED: &str = "\
kind: Web
metadata: {name: web}
replicas: 2
image: web:2
";
const DEST: &str = "\
# ours
kind: Web
metadata: {name: web}
replicas: 5 # more
image: web:1
";

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

fn three_versions() -> tempfile::TempDir {
    temp_dir(&[("original/web.yaml", ORIGINAL), ("updated/web.yaml", UPDATED), ("dest/web.yaml", DEST)])
}

const MERGE3: [&str; 7] = ["merge3", "--original", "original", "--updated", "updated", "--dest", "dest"];

#[test]
fn three_way_merge_prints_the_result_and_reports_on_stderr() {
    let sides = three_versions();
    let output = run(sides.path(), &MERGE3);
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{stderr}");
    assert_eq!(
        stdout,
        "\
# ours
kind: Web
metadata: {name: web}
replicas: 2 # more
image: web:2
"
    );
    insta::assert_snapshot!(stderr, @r"
    warning[conflict]: both sides changed this field: the updated value is taken
     --> dest/web.yaml:4:11
      |
    4 | replicas: 5 # more
      |           ^ in dest
      |
     ::: updated/web.yaml:3:11
      |
    3 | replicas: 2
      |           - in the updated version
      |
     ::: original/web.yaml:3:11
      |
    3 | replicas: 1
      |           - in the original
      |
      = resource: Web web
      = field: replicas
    dest/web.yaml: Web web: changed replicas, image
    0 added, 1 changed, 0 removed, 1 conflict
    ");
    for location in ["dest/web.yaml:4:", "updated/web.yaml:3:", "original/web.yaml:3:"] {
        assert!(stderr.contains(location), "{location} is not in {stderr}");
    }
    assert_eq!(fs::read_to_string(sides.path().join("dest/web.yaml")).expect("there"), DEST);
}

#[test]
fn conflicts_follow_the_resolution_strategy() {
    let sides = three_versions();
    let run = |policy: &str| run(sides.path(), &[&MERGE3[..], &["--on-conflict", policy]].concat());
    let dest = run("dest");
    insta::assert_snapshot!(text(&dest.stdout), @r"
    # ours
    kind: Web
    metadata: {name: web}
    replicas: 5 # more
    image: web:2
    ");
    for stops in ["fail", "report"] {
        let output = run(stops);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), String::new()), "{stops}");
        let stderr = text(&output.stderr);
        assert!(stderr.ends_with("error: 1 conflict: nothing was written\n"), "{stops}: {stderr}");
        assert!(!stderr.contains("taken") && stderr.contains("this field: nothing was written"), "{stderr}");
    }
    assert_eq!(run("nobody").status.code(), Some(2));
}

#[test]
fn in_place_directory_merge_is_all_or_nothing() {
    let gone = "\
kind: Web
metadata: {name: gone}
";
    let sides = three_versions();
    fs::write(sides.path().join("original/gone.yaml"), gone).expect("written");
    fs::write(sides.path().join("dest/gone.yaml"), gone).expect("written");
    fs::write(
        sides.path().join("updated/new.yaml"),
        "\
# new
kind: Web
metadata: {name: new}
",
    )
    .expect("written");
    let output = run(sides.path(), &[&MERGE3[..], &["--in-place"]].concat());
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(3), String::new()), "{output:?}");
    insta::assert_snapshot!(text(&output.stdout), @r"
    warning[conflict]: both sides changed this field: the updated value is taken
     --> dest/web.yaml:4:11
      |
    4 | replicas: 5 # more
      |           ^ in dest
      |
     ::: updated/web.yaml:3:11
      |
    3 | replicas: 2
      |           - in the updated version
      |
     ::: original/web.yaml:3:11
      |
    3 | replicas: 1
      |           - in the original
      |
      = resource: Web web
      = field: replicas
    dest/gone.yaml: Web gone: removed
    dest/new.yaml: Web new: added
    dest/web.yaml: Web web: changed replicas, image
    1 added, 1 changed, 1 removed, 1 conflict
    ");
    let dest = |name: &str| fs::read_to_string(sides.path().join("dest").join(name)).ok();
    assert!(dest("web.yaml").is_some_and(|text| text.contains("image: web:2")));
    assert_eq!(
        dest("new.yaml").as_deref(),
        Some(
            "\
# new
kind: Web
metadata: {name: new}
"
        )
    );
    assert_eq!(dest("gone.yaml"), None);
    // A directory in place of a file: no other file is written either.
    fs::write(sides.path().join("dest/web.yaml"), DEST).expect("written");
    fs::remove_file(sides.path().join("dest/new.yaml")).expect("gone");
    fs::create_dir(sides.path().join("dest/new.yaml")).expect("made");
    let output = run(sides.path(), &[&MERGE3[..], &["--in-place"]].concat());
    assert_eq!((output.status.code(), dest("web.yaml").as_deref()), (Some(1), Some(DEST)), "{output:?}");
}

#[test]
fn invalid_manifest_does_not_stop_the_merge() {
    let sides = three_versions();
    fs::write(sides.path().join("dest/bad.yaml"), "a: [\n").expect("written");
    let output = run(sides.path(), &[&MERGE3[..], &["--in-place"]].concat());
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let reported = text(&output.stderr);
    insta::assert_snapshot!(reported, @r"
    warning[syntax]: dest/bad.yaml does not parse (the `[` is not closed), so it is merged line by line
     --> dest/bad.yaml:1:4
      |
    1 | a: [
      |    ^
    warning: 2 warnings
    ");
    let dest = |name: &str| fs::read_to_string(sides.path().join("dest").join(name)).ok();
    assert!(dest("web.yaml").is_some_and(|text| text.contains("image: web:2")));
    assert_eq!(dest("bad.yaml").as_deref(), Some("a: [\n"));
    // A single file named on the command line is an error.
    let output = run(sides.path(), &["merge", "updated/web.yaml", "dest/bad.yaml"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    insta::assert_snapshot!(text(&output.stderr), @r"
    error[syntax]: the `[` is not closed
     --> dest/bad.yaml:1:4
      |
    1 | a: [
      |    ^
      |
      = help: add `]`
    ");
}

#[test]
fn two_way_merges_infer_keys_and_order_lists() {
    let files = temp_dir_from_text(
        r"
-- source.yaml --
l:
- mountPath: /b
  v: 2
- mountPath: /c
-- dest.yaml --
l:
# first
- mountPath: /a
- mountPath: /b # b
  v: 1
",
    );
    let merge = |args: &[&str]| {
        let output = run(files.path(), &[&["merge", "source.yaml", "dest.yaml"], args].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let appended = "\
l:
# first
- mountPath: /a
- mountPath: /b # b
  v: 2
- mountPath: /c
";
    let replaced = "\
l:
- mountPath: /b # b
  v: 2
- mountPath: /c
";
    for dialect in ["auto", "kyaml"] {
        let merge = |args: &[&str]| merge(&[&["--dialect", dialect], args].concat());
        assert_eq!(merge(&["--infer-keys"]), appended);
        assert_eq!(merge(&["--infer-keys=name,mountPath"]), appended);
        assert_eq!(merge(&["--infer-keys=none"]), replaced);
    }
    assert_eq!(merge(&[]), appended);
    assert_eq!(merge(&["--dialect", "kyaml"]), replaced);
    let prepended = "\
l:
- mountPath: /c
# first
- mountPath: /a
- mountPath: /b # b
  v: 2
";
    assert_eq!(merge(&["--list-order", "prepend"]), prepended);
    let prepended = "\
l:
- mountPath: /b # b
  v: 2
- mountPath: /c
# first
- mountPath: /a
";
    assert_eq!(merge(&["--dialect", "kyaml", "--infer-keys", "--list-order", "prepend"]), prepended);
    let reported = "\
dest.yaml: document 1: changed l[mountPath=/b].v, l[mountPath=/c]
0 added, 1 changed, 0 removed
";
    assert_eq!(merge(&["-o", "out.yaml"]), reported);
    assert_eq!(fs::read_to_string(files.path().join("out.yaml")).expect("written"), appended);
}

#[test]
fn patches_are_applied_to_files() {
    let files = temp_dir_with(
        &[("dir/web.yaml", DEST)],
        r"
-- dir/b.yaml --
kind: B
metadata: {name: b}
-- dir/kustomization.yaml --
resources: [web.yaml]
-- dir/values.yaml --
replicas: 1
-- p.yaml --
kind: Web
replicas: 9
",
    );
    let patch = |args: &[&str]| {
        run(
            files.path(),
            &[&["patch", "-f", "dir", "--patch-file", "p.yaml", "--type", "merge"], args].concat(),
        )
    };
    let patched = DEST.replace("replicas: 5", "replicas: 9");
    let others = "\
kind: B
metadata: {name: b}
---
resources: [web.yaml]
---
replicas: 1
";
    assert_eq!(text(&patch(&[]).stdout), format!("{others}---\n{patched}"));
    insta::assert_snapshot!(text(&patch(&["-o", "json"]).stdout), @r#"
    {
        "kind": "B",
        "metadata": {
            "name": "b"
        }
    }
    {
        "resources": [
            "web.yaml"
        ]
    }
    {
        "replicas": 1
    }
    {
        "image": "web:1",
        "kind": "Web",
        "metadata": {
            "name": "web"
        },
        "replicas": 9
    }
    "#);
    assert!(patch(&["--in-place"]).status.success());
    assert_eq!(fs::read_to_string(files.path().join("dir/web.yaml")).expect("there"), patched);
    let nothing = run(files.path(), &["patch", "-f", "dir", "-p", "kind: Nope", "--type", "merge"]);
    assert_eq!((nothing.status.code(), nothing.stdout.len()), (Some(1), 0));
    let stdin = run(files.path(), &["patch", "-f", "-", "-p", "a: 1", "--in-place"]);
    assert_eq!(stdin.status.code(), Some(1));
}
