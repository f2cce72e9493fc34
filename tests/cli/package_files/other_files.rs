//! Files that are not manifests: text files, symlinks, modes.

use std::fs;

use super::{WEB, merge3, packages, text, with_new_image};

/// A file on the three sides and its expected content; empty if the file is absent.
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
fn other_files_are_merged() {
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
    let reported = text(&output.stderr);
    for name in ["t.yaml", "config/crd/patches/p.yaml"] {
        assert!(
            reported.contains(&format!("dest/{name} ")) && reported.contains("so it is merged line by line"),
            "{reported}"
        );
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
fn directory_merge_prints_manifests_and_lists_other_files() {
    let directory = packages([
        &[("web.yaml", WEB), ("README.md", "a\n"), ("values.yaml", "a: 1\n")],
        &[("web.yaml", &with_new_image(WEB)), ("README.md", "b\n"), ("values.yaml", "a: 1\n")],
        &[("web.yaml", WEB), ("README.md", "a\n"), ("values.yaml", "a: 1\n")],
    ]);
    let output = merge3(&directory, &[]);
    assert_eq!(text(&output.stdout), with_new_image(WEB));
    let reported = text(&output.stderr);
    for line in [
        "dest/README.md: changed\n",
        "dest/README.md: not printed, because it is not a manifest\n",
        "dest/values.yaml: not printed, because it is not a manifest\n",
        "dest/web.yaml: Deployment.apps web: changed spec.template.spec.containers[name=web].image\n",
    ] {
        assert!(reported.contains(line), "{line} is not in {reported}");
    }
}

#[test]
fn other_files_changed_on_both_sides_are_a_conflict() {
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
fn executable_bit_is_merged_and_symlinks_and_git_are_untouched() {
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
    let reported = text(&output.stdout);
    for line in ["dest/.git: not changed\n", "dest/link.yaml: not changed\n", "updated/broken: not changed\n"]
    {
        assert!(reported.contains(line), "{reported}");
    }
    assert!(text(&output.stderr).is_empty(), "{output:?}");
}
