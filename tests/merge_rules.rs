//! The rules of two-way and three-way merges as kyaml documents them, rule by rule.

use kubectl_smp::merge::{InferKeys, ListOrder, MergeOptions, merge2, merge3};
use kubectl_smp::package::{Package, merge2_packages};
use kubectl_smp::schema::Schema;
use kubectl_smp::source::{Reading, SourceMap};
use kubectl_smp::yaml::{Node, ParseOptions, parse_one, to_json};

fn node(text: &str) -> Node {
    let sources = SourceMap::default();
    parse_one(&sources, sources.add("rule", text), ParseOptions::default()).expect(text)
}

fn options() -> MergeOptions {
    MergeOptions::kyaml(ListOrder::Append, InferKeys::usual())
}

/// A map whose field `f` is the cell's value, or that lacks it.
fn holder(value: &str) -> Node {
    node(&if value.is_empty() { "{other: 1}".to_string() } else { format!("{{other: 1, f: {value}}}") })
}

fn shown(node: Option<&Node>) -> String {
    node.and_then(|node| node.get("f")).map_or_else(String::new, |value| to_json(value).expect("JSON"))
}

#[test]
fn two_way_merges() {
    // The source, dest, and what comes of them.
    let table = [
        // Scalars.
        ("", "3", "3"),
        ("5", "3", "5"),
        ("5", "", "5"),
        ("null", "3", ""),
        // Lists without a merge key.
        ("", "[a, b, c]", "[a, b, c]"),
        ("[1, 2, 3]", "[a, b, c]", "[1, 2, 3]"),
        ("null", "[a, b, c]", ""),
        ("[{x: 1}]", "[{x: 2}]", "[{x: 1}]"),
        // Maps.
        ("", "{key: 1}", "{key: 1}"),
        (
            "{key1: value1, key2: value2}",
            "{key2: value0, key3: value3}",
            "{key1: value1, key2: value2, key3: value3}",
        ),
        ("{key1: null}", "{key1: 1, key2: 2}", "{key2: 2}"),
        ("{deep: {a: 1}}", "{deep: {b: 2}}", "{deep: {b: 2, a: 1}}"),
        // Entries of associative lists, paired by each of the seven keys.
        ("[{mountPath: x, v: 1}]", "[{mountPath: x, w: 2}]", "[{mountPath: x, w: 2, v: 1}]"),
        ("[{devicePath: x, v: 1}]", "[{devicePath: x, w: 2}]", "[{devicePath: x, w: 2, v: 1}]"),
        ("[{ip: x, v: 1}]", "[{ip: x, w: 2}]", "[{ip: x, w: 2, v: 1}]"),
        ("[{type: x, v: 1}]", "[{type: x, w: 2}]", "[{type: x, w: 2, v: 1}]"),
        ("[{topologyKey: x, v: 1}]", "[{topologyKey: x, w: 2}]", "[{topologyKey: x, w: 2, v: 1}]"),
        ("[{name: x, v: 1}]", "[{name: x, w: 2}]", "[{name: x, w: 2, v: 1}]"),
        ("[{containerPort: 1, v: 1}]", "[{containerPort: 1, w: 2}]", "[{containerPort: 1, w: 2, v: 1}]"),
        ("", "[{name: x}]", "[{name: x}]"),
        ("[{name: y}]", "[{name: x}]", "[{name: x}, {name: y}]"),
        // The first of the keys that all entries have: here it is `ip`.
        ("[{ip: a, name: x}]", "[{ip: a, name: y}]", "[{ip: a, name: x}]"),
        // Not all entries have a key: the list is replaced.
        ("[{name: y}, {v: 1}]", "[{name: x}, {v: 1}]", "[{name: y}, {v: 1}]"),
    ];
    for (source, dest, want) in table {
        let merged = merge2(Some(holder(dest)), &holder(source), &Schema::none(), &options());
        let got = shown(merged.expect("merged").node.as_ref());
        let want = shown(Some(&holder(want)));
        assert_eq!(sorted(&got), sorted(&want), "{source:?} over {dest:?}");
    }
}

/// The order of fields in a map is told by another test.
fn sorted(json: &str) -> String {
    serde_json::from_str::<serde_json::Value>(json).map_or_else(|_| json.into(), |value| value.to_string())
}

/// The original, the updated version, dest, and what comes of them.
const THREE_WAY: &[(&str, &str, &str, &str)] = &[
    // Scalars: null in updated or dest clears.
    ("1", "null", "1", ""),
    ("1", "1", "null", ""),
    // Unchanged upstream: dest's value.
    ("1", "1", "2", "2"),
    ("", "", "2", "2"),
    // Added, removed, changed upstream: the updated value.
    ("", "3", "", "3"),
    ("", "3", "2", "3"),
    ("1", "", "1", ""),
    ("1", "", "2", ""),
    ("1", "3", "1", "3"),
    ("1", "3", "2", "3"),
    // Lists without a merge key.
    ("[1]", "null", "[1]", ""),
    ("[1]", "[1]", "null", ""),
    ("[1]", "[1]", "[2]", "[2]"),
    ("", "[3]", "", "[3]"),
    ("[1]", "", "[2]", ""),
    ("[1]", "[3]", "[2]", "[3]"),
    // Maps.
    ("{a: 1}", "null", "{a: 1}", ""),
    ("{a: 1}", "{a: 1}", "null", ""),
    ("", "", "{a: 1}", "{a: 1}"),
    ("", "{a: 1}", "", "{a: 1}"),
    ("{a: 1, b: 1, c: 1}", "{a: 2, c: 1, d: 1}", "{a: 1, b: 1, c: 3, e: 1}", "{a: 2, c: 3, e: 1, d: 1}"),
    // Entries of associative lists.
    ("[]", "[]", "[{name: x}]", "[{name: x}]"),
    ("[{name: a}]", "[{name: a}, {name: b}]", "[{name: a, v: 1}]", "[{name: a, v: 1}, {name: b}]"),
    (
        "[{name: a, v: 1}, {name: b}]",
        "[{name: a, v: 2}]",
        "[{name: a, v: 1, w: 1}, {name: b}, {name: c}]",
        "[{name: a, v: 2, w: 1}, {name: c}]",
    ),
    (
        "[{mountPath: x, v: 1}]",
        "[{mountPath: x, v: 2}]",
        "[{mountPath: x, v: 1, w: 1}]",
        "[{mountPath: x, v: 2, w: 1}]",
    ),
];

#[test]
fn three_way_merges() {
    for &(original, updated, dest, want) in THREE_WAY {
        let sides = [original, updated, dest].map(holder);
        let [original, updated, dest] = sides.clone();
        let merged = merge3(Some(&original), Some(&updated), Some(dest), &Schema::none(), &options());
        let got = shown(merged.expect("merged").node.as_ref());
        let want = shown(Some(&holder(want)));
        assert_eq!(sorted(&got), sorted(&want), "{sides:?}");
    }
}

#[test]
fn a_deployment_takes_what_its_source_changes() {
    let frame = |replicas: &str, containers: &str| {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nspec:\n  replicas: {replicas}\n  template:\n    spec:\n      containers:\n{containers}"
        )
    };
    let source = frame(
        "3",
        "      - name: web\n        image: web:2\n        command: [\"new\", 'x']\n      - name: logs\n        image: logs:1\n",
    );
    let dest = frame(
        "1 # few",
        "      # in front\n      - name: web\n        image: web:1\n        command: ['old', 'y']\n      - name: proxy\n        image: proxy:1\n",
    );
    let want = frame(
        "3 # few",
        "      # in front\n      - name: web\n        image: web:2\n        command: ['new', 'x']\n      - name: proxy\n        image: proxy:1\n      - name: logs\n        image: logs:1\n",
    );
    let sources = SourceMap::default();
    let package = |name: &str, text: String| {
        Package::of_text(name, text, Reading::Kustomize, &sources).expect("readable")
    };
    for schema in [Schema::embedded(), Schema::none()] {
        let (source, dest) = (package("source", source.clone()), package("dest", dest.clone()));
        let merged = merge2_packages(&source, &dest, &schema, &options()).expect("merged");
        assert_eq!(merged.stream(), want);
    }
}
