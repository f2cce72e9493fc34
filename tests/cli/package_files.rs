//! Packages as people have them: other names for the same resources, files that are no manifests, reports.

use std::fs;
use std::process::Output;

use kubectl_smp_testing::program;
use kubectl_smp_testing::program::run;
use serde_json::{Value, json};

/// Three directories, each with these files.
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

/// Merges in place, without any conflict, and returns what is in a file of dest.
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

fn upgraded(text: &str) -> String {
    text.replace("web:1", "web:2")
}

#[test]
fn what_dest_calls_otherwise_is_still_the_same_resource() {
    let named = |metadata: &str| WEB.replace("metadata:\n  name: web\n", metadata);
    for metadata in [
        "\
metadata:
  name: web
  namespace: shop
",
        "\
metadata:
  name: web
  namespace: default
",
        "\
metadata:
  name: prod-web
",
        "\
metadata:
  name: web-v1
  namespace: shop
",
        "\
metadata: # kpt-merge: /web
  name: shopfront
",
        "\
metadata:
  name: shopfront
  annotations:
    internal.kpt.dev/upstream-identifier: 'apps|Deployment|default|web'
",
        "\
metadata:
  name: shopfront
",
    ] {
        let dest = named(metadata).replace("replicas: 1", "replicas: 3");
        let sides = [&[("web.yaml", WEB)][..], &[("web.yaml", &upgraded(WEB))], &[("web.yaml", &dest)]];
        assert_eq!(merged(sides, "web.yaml"), upgraded(&dest), "{metadata}");
    }
}

#[test]
fn upstream_identities_hold_in_other_files_too() {
    let said = WEB.replace(
        "metadata:\n  name: web\n",
        "\
metadata: # kpt-merge: shop/web
  name: frontend
",
    );
    let original = WEB.replace(
        "  name: web\n",
        r"  name: web
  namespace: shop
",
    );
    let sides =
        [&[("a.yaml", &*original)][..], &[("a.yaml", &upgraded(&original))], &[("other/b.yaml", &said)]];
    assert_eq!(merged(sides, "other/b.yaml"), upgraded(&said));
}

#[test]
fn between_two_that_fit_none_is_taken() {
    let as_name = |name: &str| WEB.replace("  name: web\nspec", &format!("  name: {name}\nspec"));
    let dest = [as_name("a-web"), as_name("b-web")].join("---\n");
    let directory = packages([&[("web.yaml", WEB)], &[("web.yaml", &upgraded(WEB))], &[("web.yaml", &dest)]]);
    let output = merge3(&directory, &["--in-place", "--on-conflict", "dest", "--exit-code"]);
    assert_eq!(output.status.code(), Some(3), "the upgrade of what dest does not have any more is told");
    assert_eq!(fs::read_to_string(directory.path().join("dest/web.yaml")).expect("there"), dest);
    insta::assert_snapshot!(text(&output.stdout), @r"
    warning[conflict]: dest removed this resource, and the updated version changes it: it is left as dest has it
     --> updated/web.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | ^ in the updated version
      |
     ::: original/web.yaml:1:1
      |
    1 | apiVersion: apps/v1
      | - in the original
      |
      = resource: Deployment.apps web
      = note: dest does not have it
    nothing changed, 1 conflict
    ");
}

#[test]
fn documents_without_a_kind_are_paired_by_content() {
    let head = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: x}
";
    let docs = |docs: &[&str]| [&[head], docs].concat().join("---\n");
    let original = docs(&[
        "\
first: 1
a: x
",
        "\
second: 1
b: x
",
    ]);
    let updated = docs(&[
        "new: 1\n",
        "\
first: 1
a: x
",
        "\
second: 2
b: x
",
    ]);
    let dest = docs(&["\
second: 1 # mine
b: x
c: y
"]);
    let sides = [&[("x.yaml", &*original)][..], &[("x.yaml", &updated)], &[("x.yaml", &dest)]];
    assert_eq!(
        merged(sides, "x.yaml"),
        docs(&[
            "\
second: 2 # mine
b: x
c: y
",
            "new: 1\n"
        ])
    );
}

/// A file on the three sides, and as it shall be; empty where it is not there.
type OtherFile = (&'static str, [&'static str; 4]);

const OTHER_FILES: [OtherFile; 9] = [
    (
        "README.md",
        [
            "\
# It

one

two
",
            "\
# It

ONE

two
",
            "\
# It

one

II
",
            "\
# It

ONE

II
",
        ],
    ),
    (
        "values.yaml",
        [
            "\
a: 1
b: 2
c: 3
",
            "\
a: 9
b: 2
c: 3
",
            "\
a: 1
b: 2
c: 9
",
            "\
a: 9
b: 2
c: 9
",
        ],
    ),
    ("Kptfile", ["kind: Kptfile\n", "kind: Kptfile # 2\n", "kind: Kptfile\n", "kind: Kptfile # 2\n"]),
    ("gone.txt", ["x\n", "", "x\n", ""]),
    ("stays-away.txt", ["x\n", "x\n", "", ""]),
    ("new.txt", ["", "n\n", "", "n\n"]),
    ("mine.txt", ["", "", "m\n", "m\n"]),
    ("logo.png", ["\u{1}\0a", "\u{1}\0b", "\u{1}\0a", "\u{1}\0b"]),
    (
        "t.yaml",
        [
            "\
a: {{ x }}
b: 1
c: 1
",
            "\
a: {{ x }}
b: 1
c: 2
",
            "\
a: {{ y }}
b: 1
c: 1
",
            "\
a: {{ y }}
b: 1
c: 2
",
        ],
    ),
];

#[test]
fn other_files_take_part() {
    let updated = PARTIAL.replace("None", "Webhook");
    let dest = PARTIAL.replace("name: x", "name: x # mine");
    let patches = [PARTIAL, &updated, &dest].map(|text| ("config/crd/patches/p.yaml", text));
    let [original, updated, dest] = [0, 1, 2].map(|side| {
        let files = OTHER_FILES.iter().map(|(name, texts)| (*name, texts[side]));
        files.filter(|(_, text)| !text.is_empty()).chain([patches[side]]).collect::<Vec<_>>()
    });
    let directory = packages([&original, &updated, &dest]);
    let output = merge3(&directory, &["--output-dir", "out", "--exit-code"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let out = |name: &str| fs::read_to_string(directory.path().join("out").join(name)).unwrap_or_default();
    for (name, [.., want]) in OTHER_FILES {
        assert_eq!(out(name), want, "{name}");
    }
    let both = PARTIAL.replace("None", "Webhook").replace("name: x", "name: x # mine");
    assert_eq!(out("config/crd/patches/p.yaml"), both);
    let told = text(&output.stderr);
    for name in ["t.yaml", "config/crd/patches/p.yaml"] {
        assert!(told.contains(&format!("dest/{name} is merged by lines: ")), "{told}");
    }
    assert_eq!(merge3(&directory, &["--output-dir", "out"]).status.code(), Some(1), "it is not empty now");
}

const PARTIAL: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: x
spec:
  conversion:
    strategy: None
";

#[test]
fn directories_print_manifests_and_name_other_files() {
    let directory = packages([
        &[("web.yaml", WEB), ("README.md", "a\n"), ("values.yaml", "a: 1\n")],
        &[("web.yaml", &upgraded(WEB)), ("README.md", "b\n"), ("values.yaml", "a: 1\n")],
        &[("web.yaml", WEB), ("README.md", "a\n"), ("values.yaml", "a: 1\n")],
    ]);
    let output = merge3(&directory, &[]);
    assert_eq!(text(&output.stdout), upgraded(WEB));
    let told = text(&output.stderr);
    for line in [
        "dest/README.md: changed\n",
        "dest/README.md: not printed, since it is no manifest\n",
        "dest/values.yaml: not printed, since it is no manifest\n",
        "dest/web.yaml: Deployment.apps web: changed spec.template.spec.containers[name=web].image\n",
    ] {
        assert!(told.contains(line), "{line} is not in {told}");
    }
}

#[test]
fn what_both_sides_changed_is_a_conflict_in_other_files_too() {
    let file = |name: &'static str, line: &'static str| (name, line);
    let sides: [&[(&str, &str)]; 3] = [
        &[file("a.txt", "1\n"), file("gone.txt", "1\n"), file("back.txt", "1\n")],
        &[file("a.txt", "2\n"), file("back.txt", "2\n")],
        &[file("a.txt", "3\n"), file("gone.txt", "3\n")],
    ];
    let out = |policy: &str| {
        let directory = packages(sides);
        let output = merge3(&directory, &["--in-place", "--on-conflict", policy]);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert!(text(&output.stdout).ends_with("3 conflicts\n"), "{output:?}");
        let read =
            |name: &str| fs::read_to_string(directory.path().join("dest").join(name)).unwrap_or_default();
        ["a.txt", "gone.txt", "back.txt"].map(read)
    };
    assert_eq!(out("updated"), ["2\n", "", "2\n"]);
    assert_eq!(out("dest"), ["3\n", "3\n", ""]);
    let marked = |dest: &str, updated: &str| {
        format!(
            "\
<<<<<<< dest
{dest}||||||| original
1
=======
{updated}>>>>>>> updated
"
        )
    };
    assert_eq!(out("markers"), [marked("3\n", "2\n"), marked("3\n", ""), marked("", "2\n")]);
    let directory = packages([&[], &[], &[]]);
    for (side, content) in [("original", b"\0a"), ("updated", b"\0b"), ("dest", b"\0c")] {
        fs::write(directory.path().join(side).join("x.bin"), content).expect("written");
    }
    let output = merge3(&directory, &["--in-place", "--on-conflict", "markers", "--exit-code"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!(fs::read(directory.path().join("dest/x.bin")).expect("there"), b"\0c");
}

#[cfg(unix)]
#[test]
fn the_executable_bit_is_merged_and_links_and_git_are_left_alone() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let files: &[(&str, &str)] =
        &[("up.sh", "x\n"), ("down.sh", "x\n"), ("web.yaml", WEB), ("mine.sh", "x\n")];
    let directory = packages([files, files, files]);
    let set = |file: &str, mode: u32| {
        let path = directory.path().join(file);
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
    };
    for (file, mode) in [
        ("updated/up.sh", 0o755),
        ("original/down.sh", 0o755),
        ("dest/down.sh", 0o755),
        ("dest/mine.sh", 0o750),
        ("updated/web.yaml", 0o755),
    ] {
        set(file, mode);
    }
    symlink("web.yaml", directory.path().join("dest/link.yaml")).expect("linked");
    symlink("nowhere", directory.path().join("updated/broken")).expect("linked");
    fs::create_dir(directory.path().join("dest/.git")).expect("made");
    fs::write(directory.path().join("dest/.git/x.yaml"), "a: [").expect("written");
    let output = merge3(&directory, &["--in-place"]);
    assert!(output.status.success(), "{output:?}");
    let mode = |file: &str| {
        let metadata = fs::metadata(directory.path().join("dest").join(file)).expect("there");
        metadata.permissions().mode() & 0o777
    };
    let modes = ["up.sh", "down.sh", "mine.sh", "web.yaml"].map(|file| mode(file) & 0o100 != 0);
    assert_eq!(modes, [true, false, true, true]);
    assert_eq!(mode("mine.sh"), 0o750);
    assert!(fs::symlink_metadata(directory.path().join("dest/link.yaml")).expect("there").is_symlink());
    let told = text(&output.stdout);
    for line in ["dest/.git: left alone\n", "dest/link.yaml: left alone\n", "updated/broken: left alone\n"] {
        assert!(told.contains(line), "{told}");
    }
    assert!(text(&output.stderr).is_empty(), "{output:?}");
}

/// The report of a merge with one conflict.
fn json_report(taken: &str) -> Value {
    let place = |side: &str, value: i64| json!({"file": format!("{side}/web.yaml"), "line": 6, "column": 13, "value": value});
    json!({
        "changed": [
            {"file": "dest/a.txt", "action": "changed", "resource": null},
            {"file": "dest/web.yaml", "action": "changed", "resource": "Deployment.apps web"},
        ],
        "conflicts": [{
            "resource": "Deployment.apps web",
            "field": "spec.replicas",
            "original": place("original", 1),
            "updated": place("updated", 2),
            "dest": place("dest", 5),
            "taken": taken,
        }],
        "origins": [
            origin("a.txt", None, None, "updated", [Some((1, 1)), Some((1, 1)), Some((1, 1))]),
            origin(
                "web.yaml",
                Some("Deployment.apps web"),
                Some((
                    "spec.template.spec.containers[name=web].image",
                    "/spec/template/spec/containers/0/image",
                )),
                "updated",
                [Some((11, 16)), Some((11, 16)), Some((11, 16))],
            ),
        ],
    })
}

/// What a report says of a part that one side changed; the places are those in the original, the updated version and
/// dest.
fn origin(
    file: &str,
    resource: Option<&str>,
    field: Option<(&str, &str)>,
    side: &str,
    places: [Option<(u32, u32)>; 3],
) -> Value {
    let mut told = json!({
        "file": format!("dest/{file}"),
        "resource": resource,
        "field": field.map(|(field, _)| field),
        "pointer": field.map(|(_, pointer)| pointer),
        "side": side,
    });
    for (version, place) in ["original", "updated", "dest"].into_iter().zip(places) {
        told[version] = place.map_or(
            Value::Null,
            |(line, column)| json!({"file": format!("{version}/{file}"), "line": line, "column": column}),
        );
    }
    told
}

/// An object, its parts, and the keys of the entries of its lists.
fn configured(replicas: &str, labels: &str, containers: &str) -> String {
    format!(
        "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {{{labels}}}
spec:
  replicas: {replicas}
  template: {{spec: {{containers: [{containers}]}}}}
"
    )
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn reports_say_which_side_changed_what() {
    let map = |name: &str, data: &str| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata: {{name: {name}}}
data: {{{data}}}
"
        )
    };
    let original = configured("1", "a: x, b: x, c: x, d: x", "{name: p, image: i}, {name: q, image: i}");
    let updated = configured("2", "a: y, b: x, c: z, e: n", "{name: p, image: j}, {name: q, image: i}");
    let dest = configured(
        "3",
        "a: x, b: y, c: z, d: x",
        "{name: new, image: k}, {name: p, image: i}, {name: q, image: i}",
    );
    let directory = packages([
        &[
            ("w.yaml", &original),
            ("gone.yaml", &map("gone", "a: x")),
            (
                "b.sh",
                "\
1
2
3
4
",
            ),
            ("c.sh", "1\n"),
        ],
        &[
            ("w.yaml", &updated),
            ("new.yaml", &map("new", "a: x")),
            ("both.yaml", &map("both", "a: x, b: y")),
            (
                "b.sh",
                "\
0
2
3
4
",
            ),
            ("c.sh", "1\n"),
        ],
        &[
            ("w.yaml", &dest),
            ("gone.yaml", &map("gone", "a: x")),
            ("mine.yaml", &map("mine", "a: x")),
            ("both.yaml", &map("both", "a: x, c: z")),
            (
                "b.sh",
                "\
1
2
3
5
",
            ),
            ("c.sh", "2\n"),
        ],
    ]);
    let before = fs::read_to_string(directory.path().join("dest/w.yaml")).expect("there");
    let output = merge3(&directory, &["--report", "json", "--on-conflict", "dest", "--output-dir", "out"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let origins = report["origins"].as_array().expect("origins");
    let told: Vec<String> = origins
        .iter()
        .map(|one| {
            let text = |field: &str| one[field].as_str().unwrap_or("-").to_string();
            let at = |version: &str| match &one[version] {
                Value::Null => "-".to_string(),
                place => format!("{}:{}", place["line"], place["column"]),
            };
            let places = ["original", "updated", "dest"].map(at).join(" ");
            format!("{} {} {} {places}", text("file"), text("pointer"), text("side"))
        })
        .collect();
    let want = [
        "dest/b.sh - both 1:1 1:1 1:1",
        "dest/both.yaml /apiVersion both - 1:13 1:13",
        "dest/both.yaml /data/a both - 4:11 4:11",
        "dest/both.yaml /data/b updated - 4:17 -",
        "dest/both.yaml /data/c dest - - 4:17",
        "dest/both.yaml /kind both - 2:7 2:7",
        "dest/both.yaml /metadata both - 3:11 3:11",
        "dest/c.sh - dest 1:1 1:1 1:1",
        "dest/gone.yaml - updated 1:1 - 1:1",
        "dest/mine.yaml - dest - - 1:1",
        "dest/new.yaml - updated - 1:1 -",
        "dest/w.yaml /metadata/labels/a updated 5:15 5:15 5:15",
        "dest/w.yaml /metadata/labels/b dest 5:21 5:21 5:21",
        "dest/w.yaml /metadata/labels/c both 5:27 5:27 5:27",
        "dest/w.yaml /metadata/labels/d updated 5:33 - 5:33",
        "dest/w.yaml /metadata/labels/e updated - 5:33 -",
        "dest/w.yaml /spec/template/spec/containers/0 dest - - 8:34",
        "dest/w.yaml /spec/template/spec/containers/1/image updated 8:51 8:51 8:74",
    ];
    let mut sorted = told.clone();
    sorted.sort();
    assert_eq!(sorted, want, "{report:#}");
    assert!(told.is_sorted_by_key(|one| one.split(' ').next().map(str::to_string)), "{told:?}");
    assert_eq!(report["conflicts"].as_array().map(Vec::len), Some(1), "the replicas: {report:#}");
    let at = |file: &str| fs::read_to_string(directory.path().join(file)).expect("there");
    assert_eq!(at("dest/w.yaml"), before);
    insta::assert_snapshot!(at("out/w.yaml"), @r"
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
      labels: {a: y, b: y, c: z, e: n}
    spec:
      replicas: 3
      template: {spec: {containers: [{name: new, image: k}, {name: p, image: j}, {name: q, image: i}]}}
    ");
}

#[test]
fn origins_are_told_of_all_ways_to_end_conflicts() {
    let original = configured("1", "a: x", "{name: p, image: i}");
    let updated = configured("2", "a: y", "{name: p, image: i}");
    let dest = configured("3", "a: x", "{name: p, image: j}");
    for policy in ["updated", "dest", "report", "markers"] {
        let directory = packages([&[("w.yaml", &original)], &[("w.yaml", &updated)], &[("w.yaml", &dest)]]);
        let output = merge3(&directory, &["--report", "json", "--on-conflict", policy]);
        let report: Value = serde_json::from_slice(&last_line_of_json(&output.stderr)).expect("JSON");
        let told: Vec<_> = report["origins"]
            .as_array()
            .expect("origins")
            .iter()
            .map(|one| (one["field"].as_str().expect("a field"), one["side"].as_str().expect("a side")))
            .collect();
        let image = "spec.template.spec.containers[name=p].image";
        assert_eq!(told, [("metadata.labels.a", "updated"), (image, "dest")], "{policy}");
    }
}

/// The line of a text that is a report.
fn last_line_of_json(text: &[u8]) -> Vec<u8> {
    let line = text.split(|byte| *byte == b'\n').find(|line| line.starts_with(b"{"));
    line.expect("a report").to_vec()
}

#[cfg(unix)]
#[test]
fn nothing_is_written_through_links() {
    use std::os::unix::fs::symlink;
    let added = WEB.replace("name: web\nspec", "name: added\nspec");
    let directory = packages([&[], &[("link.yaml", &added), ("sub/x.txt", "x\n")], &[("real.yaml", WEB)]]);
    fs::create_dir(directory.path().join("elsewhere")).expect("made");
    symlink("real.yaml", directory.path().join("dest/link.yaml")).expect("linked");
    symlink("../elsewhere", directory.path().join("dest/sub")).expect("linked");
    let output = merge3(&directory, &["--in-place"]);
    assert!(output.status.success(), "{output:?}");
    let told = text(&output.stderr);
    for path in ["link.yaml", "sub/x.txt"] {
        assert!(told.contains(&format!("{path} is left alone: a side has a link there")), "{told}");
    }
    assert_eq!(fs::read_to_string(directory.path().join("dest/real.yaml")).expect("there"), WEB);
    assert_eq!(fs::read_dir(directory.path().join("elsewhere")).expect("there").count(), 0);
}

#[test]
fn reports_are_json_when_asked() {
    let dest = WEB.replace("replicas: 1", "replicas: 5");
    let updated = upgraded(WEB).replace("replicas: 1", "replicas: 2");
    let sides = [
        &[("web.yaml", WEB), ("a.txt", "1\n")][..],
        &[("web.yaml", &updated), ("a.txt", "2\n")],
        &[("web.yaml", &dest), ("a.txt", "1\n")],
    ];
    let whole: [(&[&str], bool); 4] = [
        (&["--in-place"], true),
        (&["-o", "out.yaml"], true),
        (&["--output-dir", "out"], true),
        (&[], false),
    ];
    for (args, to_stdout) in whole {
        for taken in ["updated", "dest"] {
            let directory = packages(sides);
            let json = ["--report", "json", "--on-conflict", taken];
            let output = merge3(&directory, &[&json[..], args].concat());
            let status = if args.contains(&"--in-place") { 3 } else { 0 };
            assert_eq!(output.status.code(), Some(status), "{output:?}");
            let report = if to_stdout { output.stdout } else { last_line(&output.stderr) };
            let got: Value = serde_json::from_slice(&report).expect("JSON");
            assert_eq!(got, json_report(taken), "{args:?}");
            let text = text(&report);
            assert!(
                text.starts_with(r#"{"changed":[{"file":"dest/a.txt","action":"changed","resource":null}"#)
            );
        }
    }
    let directory = packages(sides);
    let output = merge3(&directory, &["--report", "json", "--on-conflict", "report"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains(r#""taken":null"#), "{output:?}");
}

fn last_line(text: &[u8]) -> Vec<u8> {
    text.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default().to_vec()
}

#[test]
fn values_of_secrets_are_in_no_report() {
    let secret = |value: &str| {
        format!(
            "\
apiVersion: v1
kind: Secret
metadata: {{name: s}}
stringData:
  p: {value}
"
        )
    };
    let broken = |value: &str| {
        format!(
            "\
kind: Secret
x: {{{{ y }}}}
stringData:
  p: {value}
"
        )
    };
    let directory = packages([&[], &[], &[]]);
    for (side, value) in [("original", "hunter1"), ("updated", "hunter2"), ("dest", "hunter3")] {
        for (name, text) in [("s.yaml", secret(value)), ("b.yaml", broken(value))] {
            fs::write(directory.path().join(side).join(name), text).expect("written");
        }
    }
    for form in ["text", "json"] {
        for policy in ["updated", "dest", "report", "markers"] {
            let output =
                merge3(&directory, &["--output-dir", "out", "--report", form, "--on-conflict", policy]);
            let told = text(&[output.stdout, output.stderr].concat());
            assert!(told.contains("stringData.p") && told.contains("***"), "{told}");
            assert!(!told.contains("hunter"), "{form} {policy}: {told}");
            let _ = fs::remove_dir_all(directory.path().join("out"));
        }
    }
}

#[test]
fn exit_status_tells_merged_refused_and_conflicts() {
    let dest = WEB.replace("replicas: 1", "replicas: 5");
    let updated = WEB.replace("replicas: 1", "replicas: 2");
    let directory = packages([&[("w.yaml", WEB)], &[("w.yaml", &updated)], &[("w.yaml", &dest)]]);
    for (args, status) in [
        (&[][..], 0),
        (&["--exit-code"], 3),
        (&["--output-dir", "out"], 0),
        (&["--in-place", "--on-conflict", "fail"], 1),
        (&["--exit-code", "--on-conflict", "dest"], 3),
        (&["--exit-code", "--on-conflict", "markers"], 3),
        (&["--exit-code", "--on-conflict", "fail"], 1),
        (&["--on-conflict", "report"], 1),
        (&["--in-place", "-o", "x"], 2),
        (&["--git-driver", "a", "b", "c", "d"], 2),
    ] {
        assert_eq!(merge3(&directory, args).status.code(), Some(status), "{args:?}");
    }
    assert_eq!(run(directory.path(), &["merge3", "--git-driver", "a", "b"]).status.code(), Some(2));
    assert_eq!(run(directory.path(), &["merge3", "--original", "a"]).status.code(), Some(2));
}

#[test]
fn conflicts_in_place_end_with_a_status_of_their_own() {
    let dest = WEB.replace("replicas: 1", "replicas: 5");
    let updated = WEB.replace("replicas: 1", "replicas: 2");
    for policy in ["updated", "dest", "markers"] {
        let directory = packages([&[("w.yaml", WEB)], &[("w.yaml", &updated)], &[("w.yaml", &dest)]]);
        let output = merge3(&directory, &["--in-place", "--on-conflict", policy]);
        assert_eq!(output.status.code(), Some(3), "{policy}: {output:?}");
    }
    let help = text(&run(std::path::Path::new("."), &["merge3", "--help"]).stdout);
    let start: String = help.lines().take(8).collect();
    insta::assert_snapshot!(start, @"Merge what changed between two versions of manifests into a thirdExit status 3 when there were conflicts and files were changed in place.Usage: kubectl smp merge3 [OPTIONS] <ORIGINAL> <UPDATED> <DEST>       kubectl smp merge3 [OPTIONS] --original <PATH> --updated <PATH> --dest <PATH>       kubectl smp merge3 [OPTIONS] --git-driver <ORIGINAL> <CURRENT> <OTHER> <PATH>");
}

#[test]
fn three_versions_are_named_by_position() {
    let updated = upgraded(WEB);
    let directory = packages([&[("w.yaml", WEB)], &[("w.yaml", &updated)], &[("w.yaml", WEB)]]);
    let merge3 = |args: &[&str]| run(directory.path(), &[&["merge3"], args].concat());
    let output = merge3(&["original", "updated", "dest"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), updated.clone()), "{output:?}");
    assert_eq!(merge3(&["original", "updated", "dest", "--in-place"]).status.code(), Some(0));
    assert_eq!(fs::read_to_string(directory.path().join("dest/w.yaml")).expect("there"), updated);
    for wrong in [
        &[][..],
        &["--original", "original", "--dest", "dest"],
        &["original", "updated"],
        &["original", "updated", "dest", "--dest", "dest"],
        &["-", "-", "dest"],
    ] {
        assert_eq!(merge3(wrong).status.code(), Some(2), "{wrong:?}");
    }
    let help = text(&merge3(&["-h"]).stdout);
    let four = text(&merge3(&["original", "updated", "dest", "more"]).stderr);
    insta::assert_snapshot!(four, @r"
    error[usage]: 3 values required for '[ORIGINAL] [UPDATED] [DEST]' but 4 were provided
     |
     = help: Usage: kubectl smp merge3 [OPTIONS] <ORIGINAL> <UPDATED> <DEST>
             kubectl smp merge3 [OPTIONS] --original <PATH> --updated <PATH> --dest <PATH>
             kubectl smp merge3 [OPTIONS] --git-driver <ORIGINAL> <CURRENT> <OTHER> <PATH>
             For more information, try '--help'.
    ");
    for usage in [
        "\n  [ORIGINAL] [UPDATED] [DEST]  The three versions",
        "merge3 [OPTIONS] <ORIGINAL> <UPDATED> <DEST>",
        "merge3 [OPTIONS] --original <PATH> --updated <PATH> --dest <PATH>",
    ] {
        assert!(help.contains(usage), "{help}");
    }
}

#[test]
fn the_source_of_a_merge_can_be_standard_input() {
    let directory = packages([&[], &[], &[("w.yaml", WEB)]]);
    let output = program::run_with_stdin(
        program::command(directory.path(), &["merge", "-", "dest/w.yaml"]),
        &upgraded(WEB),
    );
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), upgraded(WEB)), "{output:?}");
}

#[test]
fn two_way_merges_take_comments_behind_keys_and_replace_scalars_in_silence() {
    let manifest = |spec: &str| {
        format!(
            "\
apiVersion: example.com/v1
kind: Thing
metadata:
  name: a
spec:
{spec}"
        )
    };
    let source = manifest(
        r"  map: # why
    a: 1
  list: # which
  - x
  value: 2 # new
  same:
    a: 1
",
    );
    let dest = manifest(
        r"  map:
    a: 2
  list:
  - y
  value: 1 # old
  same: # mine
    a: 1
",
    );
    let want = manifest(
        r"  map: # why
    a: 1
  list: # which
  - x
  value: 2 # new
  same: # mine
    a: 1
",
    );
    let directory = packages([&[("t.yaml", &source)], &[], &[("t.yaml", &dest)]]);
    let output = run(directory.path(), &["merge", "original/t.yaml", "dest/t.yaml", "--strict"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), want), "{output:?}");
}

#[test]
fn null_clears_where_that_is_asked_for() {
    let map = |data: &str| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: a
data:
{data}"
        )
    };
    let (old, new, cleared) = (
        map(r"  a: x
  b: y
"),
        map(r"  a: null
  b: y
"),
        map("  b: y\n"),
    );
    let directory = packages([&[("m.yaml", &old)], &[("m.yaml", &new)], &[("m.yaml", &old)]]);
    for (args, want) in [(&[][..], &new), (&["--nulls=clear"], &cleared), (&["--dialect=kyaml"], &cleared)] {
        let output = merge3(&directory, args);
        assert_eq!((output.status.code(), &text(&output.stdout)), (Some(0), want), "{args:?} {output:?}");
    }
}

const PAIRS: &str = r"
definitions:
  com.example.v1.Thing:
    type: object
    x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Thing}]
    properties:
      apiVersion: {type: string}
      kind: {type: string}
      metadata: {type: object, properties: {name: {type: string}}}
      list:
        type: array
        items: {type: object, properties: {foo: {type: string}, bar: {type: string}, baz: {type: string}, other: {type: string}}}
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: foo
        x-kubernetes-recommended-patch-merge-key: foo,bar,baz
";

#[test]
fn merges_tell_entries_apart_by_recommended_keys() {
    let thing = |entries: &[&str]| {
        let entries = entries.iter().map(|entry| format!("- {{{entry}}}\n")).collect::<Vec<_>>().concat();
        let list = if entries.is_empty() { String::new() } else { format!("list:\n{entries}") };
        format!(
            "\
apiVersion: example.com/v1
kind: Thing
metadata: {{name: a}}
{list}"
        )
    };
    let (x, z) = ("foo: a, bar: x", "foo: a, bar: z");
    let changed = ["foo: a, bar: x, other: \"1\"", "foo: a, bar: z, other: \"2\""];
    let (gained, both) = ("foo: a, bar: x, baz: m", "foo: a, bar: x, baz: m, other: \"1\"");
    let table = [
        [thing(&[]), thing(&[x]), thing(&[z]), thing(&[z, x])],
        [thing(&[x, z]), thing(&[changed[0], z]), thing(&[x, changed[1]]), thing(&changed)],
        // An entry that gains a key is the same entry, and the other side's change stays.
        [thing(&[x]), thing(&[gained]), thing(&[changed[0]]), thing(&[both])],
        [thing(&[x, z]), thing(&[gained, z]), thing(&[changed[0], z]), thing(&[both, z])],
        [thing(&[x]), thing(&[z]), thing(&[changed[0]]), thing(&["foo: a, bar: z, other: \"1\""])],
    ];
    for [original, updated, dest, want] in table {
        let directory = packages([&[("t.yaml", &original)], &[("t.yaml", &updated)], &[("t.yaml", &dest)]]);
        fs::write(directory.path().join("schema.yaml"), PAIRS).expect("written");
        let output = merge3(&directory, &["--schema", "schema.yaml", "--exit-code"]);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), want), "{output:?}");
    }
}

#[test]
fn two_way_merges_take_the_source_of_other_files() {
    let directory = packages([
        &[
            ("web.yaml", &upgraded(WEB)),
            ("README.md", "src\n"),
            ("new.txt", "n\n"),
            ("values.yaml", "a: 2\n"),
            ("t.yaml", "a: [\n"),
        ],
        &[],
        &[
            ("web.yaml", WEB),
            ("README.md", "dest\n"),
            ("mine.txt", "m\n"),
            (
                "values.yaml",
                "\
a: 1
b: 1
",
            ),
            ("t.yaml", "b: [\n"),
        ],
    ]);
    let output = run(directory.path(), &["merge", "original", "dest", "--in-place"]);
    assert!(output.status.success(), "{output:?}");
    let dest = |name: &str| fs::read_to_string(directory.path().join("dest").join(name)).expect("there");
    assert_eq!(dest("web.yaml"), upgraded(WEB));
    for (name, want) in [
        ("README.md", "src\n"),
        ("new.txt", "n\n"),
        ("mine.txt", "m\n"),
        (
            "values.yaml",
            "\
a: 2
b: 1
",
        ),
        ("t.yaml", "a: [\n"),
    ] {
        assert_eq!(dest(name), want, "{name}");
    }
    insta::assert_snapshot!(text(&output.stdout), @r"
    dest/README.md: changed
    dest/new.txt: added
    dest/t.yaml: changed
    dest/values.yaml: document 1: changed a
    dest/web.yaml: Deployment.apps web: changed spec.template.spec.containers[name=web].image
    1 added, 4 changed, 0 removed
    ");
    assert!(
        text(&output.stderr).contains("original/t.yaml is not merged")
            || text(&output.stderr).contains("dest/t.yaml is not merged"),
        "{output:?}"
    );
}

#[test]
fn warnings_are_printed() {
    let thing = |list: &str| {
        format!(
            "\
apiVersion: example.com/v1
kind: Thing
metadata: {{name: x}}
spec: {list}
"
        )
    };
    let directory = packages([&[("x.yaml", &thing("[{a: 1}]"))], &[], &[("x.yaml", &thing("[{a: 2}]"))]]);
    let output = run(directory.path(), &["merge", "original", "dest"]);
    insta::assert_snapshot!(text(&output.stderr), @r"
    warning[no-schema]: this list was replaced: no schema says how its entries are merged
     --> original/x.yaml:4:7
      |
    4 | spec: [{a: 1}]
      |       ^^^^^^^^
      |
      = resource: Thing.example.com x
      = field: spec
      = help: give a schema, or tell its entries apart by `$patchMergeKey`
    dest/x.yaml: Thing.example.com x: changed spec
    0 added, 1 changed, 0 removed
    ");
}

#[test]
fn files_that_dest_has_as_they_came_become_the_updated_ones_byte_for_byte() {
    let updated = format!("# new words\n{}", upgraded(WEB).replace("image: web:2", "image:   web:2 # why"));
    let sides =
        [&[("web.yaml", WEB), ("b.yaml", "# x\n")][..], &[("web.yaml", &updated)], &[("web.yaml", WEB)]];
    assert_eq!(merged(sides, "web.yaml"), updated);
}

#[test]
fn kustomizations_are_read_as_by_kustomize() {
    let kustomization = |tag: &str| {
        format!(
            "\
kind: Kustomization
namePrefix: a-
images:
- name: web
  newTag: {tag}
"
        )
    };
    let [original, updated, dest] = [kustomization("y"), kustomization("on"), kustomization("y")];
    let name = "kustomization.yaml";
    let sides = [&[(name, &*original)][..], &[(name, &updated)], &[(name, &dest.replace("a-", "b-"))]];
    assert_eq!(merged(sides, name), updated.replace("a-", "b-"));
    let name = "other.yaml";
    let sides = [&[(name, &*original)][..], &[(name, &updated)], &[(name, &dest.replace("a-", "b-"))]];
    assert_eq!(merged(sides, name), dest.replace("a-", "b-"), "both are `true` to kubectl");
}

#[test]
fn what_upstream_moves_is_moved() {
    let kustomization = |path: &str| {
        format!(
            "\
resources:
- {path}
"
        )
    };
    let old = kustomization("web.yaml");
    let new = kustomization("apps/web.yaml");
    let updated = upgraded(WEB);
    let versions = |dest: &str| {
        let directory = packages([
            &[("kustomization.yaml", &old), ("web.yaml", WEB)],
            &[("kustomization.yaml", &new), ("apps/web.yaml", &updated)],
            &[("kustomization.yaml", &old), ("web.yaml", dest)],
        ]);
        let output = merge3(&directory, &["--in-place", "--exit-code"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(text(&output.stdout).contains("moved from dest/web.yaml"), "{output:?}");
        let dest = directory.path().join("dest");
        assert!(!dest.join("web.yaml").exists());
        assert_eq!(fs::read_to_string(dest.join("kustomization.yaml")).expect("there"), new);
        fs::read_to_string(dest.join("apps/web.yaml")).expect("moved")
    };
    assert_eq!(versions(WEB), updated, "as it came");
    let customised = format!("# ours\n{}", WEB.replace("replicas: 1", "replicas: 3 # more"));
    assert_eq!(versions(&customised), upgraded(&customised));
}

#[test]
fn what_one_side_alone_renames_is_still_the_same_resource() {
    let renamed = WEB.replace("name: web\nspec", "name: acme-web\nspec");
    let sides = [&[("web.yaml", WEB)][..], &[("web.yaml", &renamed)], &[("web.yaml", &upgraded(WEB))]];
    assert_eq!(merged(sides, "web.yaml"), upgraded(&renamed));
}

#[test]
fn what_is_guessed_never_makes_anything_go() {
    let config = |name: &str, value: &str| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
data:
  a: '{value}'
"
        )
    };
    let (old, own) = (config("config", "1"), config("grafana-config", "2"));
    let sides = [&[("config.yaml", &*old)][..], &[], &[("grafana.yaml", &own)]];
    assert_eq!(merged(sides, "grafana.yaml"), own);
    let (old, own) = (config("web", "1"), config("mine", "7"));
    let sides = [&[("a.yaml", &*old)][..], &[], &[("a.yaml", &own)]];
    assert_eq!(merged(sides, "a.yaml"), own);
}

#[test]
fn what_was_renamed_alone_goes_when_upstream_removes_it() {
    let renamed = WEB.replace(
        "name: web\nspec",
        "\
name: web
  namespace: shop
spec",
    );
    let other = WEB.replace("name: web\nspec", "name: other\nspec");
    let (original, updated) = ([("web.yaml", WEB), ("o.yaml", &*other)], [("o.yaml", &*other)]);
    assert_eq!(merged([&original, &updated, &[("web.yaml", &renamed), ("o.yaml", &other)]], "web.yaml"), "");
}

#[test]
fn what_says_its_origin_goes_before_what_only_has_the_name() {
    let config = |metadata: &str, value: &str| {
        format!(
            "\
apiVersion: v1
kind: ConfigMap
metadata:{metadata}
data:
  a: '{value}'
"
        )
    };
    let (old, new) = (config("\n  name: a", "1"), config("\n  name: a", "2"));
    let dest = |value: &str| {
        [config(" # kpt-merge: default/a\n  name: x", value), config("\n  name: a", "mine")].join("---\n")
    };
    let sides = [&[("a.yaml", &*old)][..], &[("a.yaml", &new)], &[("a.yaml", &dest("1"))]];
    assert_eq!(merged(sides, "a.yaml"), dest("2"));
}

#[test]
fn what_several_may_be_is_added_and_told() {
    let own = WEB.replace("replicas: 1", "replicas: 3");
    let directory =
        packages([&[("a.yaml", WEB)], &[("b.yaml", &upgraded(WEB))], &[("c.yaml", &own), ("d.yaml", &own)]]);
    let output = merge3(&directory, &[]);
    assert!(text(&output.stderr).contains("several of dest may be it"), "{output:?}");
    assert_eq!(text(&output.stdout).matches("kind: Deployment").count(), 3);
}

#[test]
fn both_sides_add_to_the_resources_of_a_kustomization() {
    for head in [
        "",
        "\
kind: Kustomization
apiVersion: kustomize.config.k8s.io/v1beta1
",
    ] {
        let kustomization = |more: &str, tag: &str| {
            format!(
                "\
{head}resources:
- a.yaml
{more}images:
- name: web
  newTag: '{tag}'
- name: log
  newTag: '1'
"
            )
        };
        let original = kustomization("", "1");
        let (updated, dest) = (kustomization("- up.yaml\n", "2"), kustomization("- mine.yaml\n", "1"));
        let dest = dest.replace("log\n  newTag: '1'", "log\n  newTag: '9'");
        let name = "kustomization.yaml";
        let sides = [&[(name, &*original)][..], &[(name, &updated)], &[(name, &dest)]];
        let want = kustomization(
            "\
- mine.yaml
- up.yaml
",
            "2",
        )
        .replace("log\n  newTag: '1'", "log\n  newTag: '9'");
        assert_eq!(merged(sides, name), want);
    }
}

#[test]
fn both_sides_change_versions_of_a_definition() {
    let definition = |required: &str, size: &str| {
        format!(
            "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: ws.x.io
spec:
  group: x.io
  names:
    kind: W
    plural: ws
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: {required}
        properties:
          size:
            type: {size}
"
        )
    };
    let original = definition("[id]", "integer");
    let (updated, dest) = (definition("[id, qty]", "integer"), definition("[id]", "number"));
    let sides = [&[("crd.yaml", &*original)][..], &[("crd.yaml", &updated)], &[("crd.yaml", &dest)]];
    assert_eq!(merged(sides, "crd.yaml"), definition("[id, qty]", "number"));
}

#[test]
fn the_updated_definition_says_how_its_lists_merge() {
    let definition = |list: &str| {
        format!(
            "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: ws.x.io
spec:
  group: x.io
  names:
    kind: W
    plural: ws
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          l:
            type: array
{list}            items:
              type: object
              properties: {{id: {{type: string}}}}
"
        )
    };
    let (old, new) = (
        definition("            x-kubernetes-list-type: atomic\n"),
        definition(
            r"            x-kubernetes-list-type: map
            x-kubernetes-list-map-keys: [id]
",
        ),
    );
    let custom = |entries: &str| {
        format!(
            "\
apiVersion: x.io/v1
kind: W
metadata:
  name: w
l:
- id: a
{entries}"
        )
    };
    let [original, updated, dest] = ["", "- id: up\n", "- id: mine\n"].map(custom);
    let sides = [
        &[("crd.yaml", &*old), ("w.yaml", &original)][..],
        &[("crd.yaml", &new), ("w.yaml", &updated)],
        &[("crd.yaml", &old), ("w.yaml", &dest)],
    ];
    assert_eq!(
        merged(sides, "w.yaml"),
        custom(
            "\
- id: mine
- id: up
"
        )
    );
}

#[test]
fn words_that_kubectl_reads_otherwise_keep_their_spelling() {
    let custom = |panel: &str| {
        format!(
            "\
apiVersion: x.io/v1
kind: Board
metadata:
  name: b
spec:
  title: a
{panel}"
        )
    };
    let panel = r"  grid: {x: 0, y: 1}
  n:
  - off # as it is
  since: 2024-01-31
  1: on
";
    let (original, updated) = (custom(""), custom(panel));
    let own = |text: String| text.replace("title: a", "title: mine");
    let sides =
        [&[("b.yaml", &*original)][..], &[("b.yaml", &updated)], &[("b.yaml", &own(original.clone()))]];
    assert_eq!(merged(sides, "b.yaml"), own(updated.clone()));
}

#[test]
fn places_that_cannot_be_meant_are_refused() {
    let sides = || packages([&[("web.yaml", WEB)], &[("web.yaml", WEB)], &[("web.yaml", WEB)]]);
    for (args, why) in [
        (&["--output-dir", "dest/sub"][..], "is inside of dest"),
        (&["--output-dir", "updated"], "is inside of updated"),
        (&["-o", "json"], "say ./json"),
        (&["-o", "dest"], "use --output-dir"),
    ] {
        let directory = sides();
        let output = merge3(&directory, args);
        assert_eq!(output.status.code(), Some(2), "{args:?} {output:?}");
        assert!(text(&output.stderr).contains(why), "{args:?} {output:?}");
        assert_eq!(text(&output.stdout), "");
        assert!(!directory.path().join("dest/sub").exists() && !directory.path().join("json").exists());
    }
    let directory = sides();
    let output = run(directory.path(), &["merge", "updated", "dest/web.yaml"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let marked = WEB.replace(
        "  replicas: 1\n",
        "\
<<<<<<< dest
  replicas: 1
=======
>>>>>>> updated
",
    );
    let directory = packages([&[("web.yaml", WEB)], &[("web.yaml", WEB)], &[("web.yaml", &marked)]]);
    let output = merge3(&directory, &["--in-place"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    insta::assert_snapshot!(text(&output.stderr), @r"
    error[conflict]: dest/web.yaml has a conflict between markers
     --> dest/web.yaml:6:1
      |
    6 | ***
      | ^^^ here
      |
      = help: resolve it, and take the markers away
    ");
}

#[test]
fn loose_ends_of_kustomizations_are_told() {
    let kustomization = |names: &str| format!("resources: [{names}]\n");
    let own = format!("{WEB}---\n{}", WEB.replace("name: web\nspec", "name: mine\nspec"));
    let table = [
        // What dest added to a file that upstream moves is named by none.
        (
            [("b.yaml, a.yaml", vec![("a.yaml", WEB)]), ("b.yaml, c.yaml", vec![("c.yaml", WEB)])],
            ("b.yaml, a.yaml", vec![("a.yaml", own.as_str())]),
            "a.yaml is named by no kustomization after the merge",
        ),
        // Both move it, and each names its own place.
        (
            [("a.yaml", vec![("a.yaml", WEB)]), ("b.yaml", vec![("b.yaml", WEB)])],
            ("c.yaml", vec![("c.yaml", WEB)]),
            "kustomization.yaml names b.yaml, which is not there after the merge",
        ),
    ];
    for ([original, updated], dest, told) in table {
        let texts = [&original, &updated, &dest].map(|(names, _)| kustomization(names));
        let mut files = [original.1, updated.1, dest.1];
        for (files, text) in files.iter_mut().zip(&texts) {
            files.push(("kustomization.yaml", text));
        }
        let directory = packages([&files[0], &files[1], &files[2]]);
        let output = merge3(&directory, &["--in-place"]);
        assert!(output.status.success(), "{output:?}");
        assert!(text(&output.stderr).contains(told), "{told}: {output:?}");
    }
}

#[test]
fn patches_of_kustomizations_are_told_apart_by_their_paths() {
    let kustomization = |paths: &[&str]| {
        let patches: Vec<_> = paths.iter().map(|path| format!("- path: {path}\n")).collect();
        format!("patches:\n{}", patches.concat())
    };
    let name = "kustomization.yaml";
    let [original, updated, dest] =
        [&["p.yaml"][..], &["patches/p.yaml"], &["p.yaml", "own.yaml"]].map(kustomization);
    let sides = [&[(name, &*original)][..], &[(name, &updated)], &[(name, &dest)]];
    let patches = merged(sides, name);
    for path in ["path: patches/p.yaml", "path: own.yaml"] {
        assert!(patches.contains(path), "{patches}");
    }
    assert!(!patches.contains("path: p.yaml"), "{patches}");
}

#[test]
fn files_that_upstream_joins_are_joined_in_its_order() {
    let namespace = "\
apiVersion: v1
kind: Namespace
metadata:
  name: n
";
    let updated = format!("{namespace}---\n{}", upgraded(WEB));
    let dest = WEB.replace("replicas: 1", "replicas: 5");
    let sides = [
        &[("z.yaml", namespace), ("app.yaml", WEB)][..],
        &[("all.yaml", &updated)],
        &[("z.yaml", namespace), ("app.yaml", &dest)],
    ];
    assert_eq!(merged(sides, "all.yaml"), format!("{namespace}---\n{}", upgraded(&dest)));
}

#[test]
fn new_items_stand_in_their_list() {
    let item = |name: &str, value: &str| {
        format!(
            "\
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: {name}
  data:
    a: '{value}'
"
        )
    };
    let list = |items: &[String]| {
        format!(
            "\
apiVersion: v1
kind: List
items:
{}",
            items.concat()
        )
    };
    let original = list(&[item("a", "1")]);
    let (updated, dest) = (list(&[item("a", "1"), item("b", "2")]), list(&[item("a", "mine")]));
    let sides = [&[("l.yaml", &*original)][..], &[("l.yaml", &updated)], &[("l.yaml", &dest)]];
    assert_eq!(merged(sides, "l.yaml"), list(&[item("a", "mine"), item("b", "2")]));
}

#[test]
fn names_that_both_sides_change_are_a_conflict() {
    let named = |name: &str| WEB.replace("name: web\nspec", &format!("name: {name}\nspec"));
    let (updated, dest) = (named("b"), named("c"));
    let directory = packages([&[("w.yaml", WEB)], &[("w.yaml", &updated)], &[("w.yaml", &dest)]]);
    let output = merge3(&directory, &["--report", "json", "--in-place"]);
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["conflicts"][0]["field"], "metadata.name", "{report}");
    let result = fs::read_to_string(directory.path().join("dest/w.yaml")).expect("there");
    assert_eq!(result, updated, "one resource");
}
