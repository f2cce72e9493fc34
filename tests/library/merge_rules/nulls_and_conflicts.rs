//! Nulls, conflicts, and whole packages.

use smp_merge::merge::{ConflictSide, MergeOptions, NullPolicy};
use smp_merge::schema::Schema;
use smp_overlay::package::{Package, merge2_packages, merge3_packages};
use smp_text::source::{Reading, SourceMap};

use super::{holder, kyaml, merged, shown, three_way};

/// The cases in which null in the updated version or in dest does not clear the value: original, updated, dest,
/// result. `1` and `2` are two different values.
const KEPT_NULLS: [[&str; 4]; 9] = [
    ["", "", "null", "null"],
    ["", "null", "", "null"],
    ["", "null", "null", "null"],
    ["null", "null", "null", "null"],
    ["null", "null", "1", "1"],
    ["null", "1", "null", "1"],
    ["1", "1", "null", "null"],
    ["1", "null", "1", "null"],
    ["1", "null", "null", "null"],
];

#[test]
fn null_clears_always_or_only_where_versions_differ() {
    let kinds = [["1", "2", "3"], ["[1]", "[2]", "[3]"], ["{a: 1}", "{a: 2}", "{a: 3}"]];
    let words = ["", "null", "1", "2", "3"];
    for values in kinds {
        let value =
            |word: &str| word.parse::<usize>().map_or(word.to_string(), |number| values[number - 1].into());
        let mut kept = Vec::new();
        for cell in 0..words.len().pow(3) {
            let [original, updated, dest] = [25, 5, 1].map(|step| words[cell / step % 5]);
            let versions = [original, updated, dest].map(value);
            let versions = [0, 1, 2].map(|i| versions[i].as_str());
            let [keep, clear] = [NullPolicy::Keep, NullPolicy::Clear].map(|policy| merged(versions, policy));
            if updated != "null" && dest != "null" {
                assert_eq!(keep, clear, "{versions:?}");
                continue;
            }
            assert_eq!(clear, "", "{versions:?}");
            if keep != clear {
                kept.push(([original, updated, dest], keep));
            }
        }
        for [original, updated, dest, want] in KEPT_NULLS {
            let want = shown(Some(&holder(&value(want))));
            assert!(
                kept.contains(&([original, updated, dest], want)),
                "{original} {updated} {dest}: {kept:?}"
            );
        }
        // The other combinations are the same with `2` and `3` for `1`.
        let is_first = |(words, _): &&([&str; 3], String)| !words.contains(&"2") && !words.contains(&"3");
        assert_eq!(kept.iter().filter(is_first).count(), KEPT_NULLS.len(), "{kept:?}");
    }
    // Also inside maps and lists that no side changed.
    let same = "{a: {b: null, c: [{name: x, d: null}]}, e: 1}";
    assert_eq!(merged([same; 3], NullPolicy::Clear), r#"{"a":{"c":[{"name":"x"}]},"e":1}"#);
}

#[test]
fn conflicting_changes_are_listed() {
    use ConflictSide::{Dest, Updated};
    let table: [(&str, &str, &str, &[ConflictSide]); 9] = [
        ("1", "3", "2", &[Updated]),
        ("1", "", "2", &[Updated]),
        ("1", "3", "", &[Updated]),
        ("1", "null", "2", &[Updated]),
        ("1", "3", "null", &[Dest]),
        ("[1]", "[3]", "[2]", &[Updated]),
        ("{a: 1, b: 1}", "{a: 2, b: 1}", "{a: 1, b: 2}", &[]),
        ("{a: 1, b: 1}", "{a: 2, b: 2}", "{a: 3, b: 3}", &[Updated, Updated]),
        ("[{name: a, v: 1}]", "[]", "[{name: a, v: 2}]", &[Updated]),
    ];
    for (original, updated, dest, want) in table {
        let (_, got) = three_way([original, updated, dest], &MergeOptions::lossless());
        assert_eq!(got, want, "{original} -> {updated}, {dest}");
    }
}

#[test]
fn resources_added_and_removed_by_either_side_are_merged() {
    // The resource in the original, the updated version and dest (value or absent), and the expected result.
    let table = [
        ("Resources present in the original and deleted from the update are deleted.", ["1", "", "1"], ""),
        ("Resources missing from the original and added in the update are added.", ["", "1", ""], "1"),
        ("Resources present only in the dest are kept without changes.", ["", "", "1"], "1"),
        (
            "Resources present in both the update and the dest have their fields merged with the destination.",
            ["1", "2", "1"],
            "2",
        ),
        (
            "3-way merge identifies changes between an original source + updated source and merges the result into a \
             destination, overriding the destination fields where they have changed between original and updated.",
            ["1", "2", "3"],
            "2",
        ),
    ];
    for (sentence, versions, want) in table {
        let text = |value: &str| {
            let map = |name: &str, value: &str| {
                format!(
                    r#"apiVersion: v1
kind: ConfigMap
metadata:
  name: {name}
data:
  key: "{value}"
"#
                )
            };
            let resource = if value.is_empty() { String::new() } else { format!("---\n{}", map("x", value)) };
            map("always", "there") + &resource
        };
        for options in [MergeOptions::lossless(), kyaml()] {
            let sources = SourceMap::default();
            let package = |value: &str| {
                Package::from_text("x.yaml", text(value), Reading::Kubectl, &sources).expect("readable")
            };
            let [original, updated, dest] = versions.map(package);
            let merged = merge3_packages(&original, &updated, &dest, &Schema::embedded(), &options);
            assert_eq!(merged.expect("merged").stream(), text(want), "{sentence} {options:?}");
        }
    }
}

#[test]
fn deployment_receives_upstream_changes() {
    let frame = |replicas: &str, containers: &str| {
        format!(
            "\
apiVersion: apps/v1
kind: Deployment
spec:
  replicas: {replicas}
  template:
    spec:
      containers:
{containers}"
        )
    };
    let source = frame(
        "3",
        r#"      - name: web
        image: web:2
        command: ["new", 'x']
      - name: logs
        image: logs:1
"#,
    );
    let dest = frame(
        "1 # few",
        r"      # in front
      - name: web
        image: web:1
        command: ['old', 'y']
      - name: proxy
        image: proxy:1
",
    );
    let want = frame(
        "3 # few",
        r"      # in front
      - name: web
        image: web:2
        command: ['new', 'x']
      - name: proxy
        image: proxy:1
      - name: logs
        image: logs:1
",
    );
    let sources = SourceMap::default();
    let package = |name: &str, text: String| {
        Package::from_text(name, text, Reading::Kustomize, &sources).expect("readable")
    };
    let lossless = MergeOptions::lossless;
    let cases = [(Schema::embedded(), lossless()), (Schema::empty(), lossless()), (Schema::empty(), kyaml())];
    for (schema, options) in cases {
        let (source, dest) = (package("source", source.clone()), package("dest", dest.clone()));
        let merged = merge2_packages(&source, &dest, &schema, &options).expect("merged");
        assert_eq!(merged.stream(), want);
    }
}
