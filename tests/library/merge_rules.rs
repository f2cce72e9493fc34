//! The documented rules of two-way and three-way merges, sentence by sentence: the lossless rules, which
//! `--dialect auto` selects, and kyaml's.

mod nulls_and_conflicts;

use smp_merge::merge::{ConflictSide, InferKeys, ListOrder, MergeOptions, NullPolicy, merge2, merge3};
use smp_merge::schema::Schema;
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, ParseOptions, parse_one, to_json};

fn node(text: &str) -> Node {
    let sources = SourceMap::default();
    parse_one(&sources, sources.add("rule", text), ParseOptions::default()).expect(text)
}

fn kyaml() -> MergeOptions {
    MergeOptions::kyaml(ListOrder::Append, InferKeys::common())
}

/// A map whose field `f` has the given value, or lacks it if the value is empty.
fn holder(value: &str) -> Node {
    node(&if value.is_empty() { "{other: 1}".to_string() } else { format!("{{other: 1, f: {value}}}") })
}

fn shown(node: Option<&Node>) -> String {
    node.and_then(|node| node.get("f")).map_or_else(String::new, |value| to_json(value).expect("JSON"))
}

/// Sorts the fields of maps: another test checks their order.
fn sorted(json: &str) -> String {
    serde_json::from_str::<serde_json::Value>(json).map_or_else(|_| json.into(), |value| value.to_string())
}

/// Sentences, each with some sources, dests and expected results.
type TwoWay = (&'static str, &'static [(&'static str, &'static str, &'static str)]);

const TWO_WAY: &[TwoWay] = &[
    ("scalars: if present only in the dest, it keeps its value", &[("", "3", "3")]),
    (
        "scalars: if present in the src and is non-null, take the src value -- if null, clear it",
        &[("5", "3", "5"), ("5", "", "5"), ("null", "3", ""), ("null", "", "")],
    ),
    (
        "non-associative lists: if present only in the dest, it keeps its value",
        &[("", "[a, b, c]", "[a, b, c]")],
    ),
    (
        "non-associative lists: if present in the src and is non-null, take the src value -- if null, clear it",
        &[
            ("[1, 2, 3]", "[a, b, c]", "[1, 2, 3]"),
            ("[1, 2, 3]", "", "[1, 2, 3]"),
            ("null", "[a, b, c]", ""),
            ("[{x: 1}]", "[{x: 2}]", "[{x: 1}]"),
        ],
    ),
    (
        "map keys and fields: if present only in the dest, it keeps its value",
        &[("", "{key: 1}", "{key: 1}"), ("{a: 1}", "{a: 1, b: {c: 1}}", "{a: 1, b: {c: 1}}")],
    ),
    (
        "map keys and fields: if present only in the src, it is added to the dest",
        &[
            ("{key: 1}", "", "{key: 1}"),
            (
                "{key1: value1, key2: value2}",
                "{key2: value0, key3: value3}",
                "{key1: value1, key2: value2, key3: value3}",
            ),
        ],
    ),
    (
        "map keys and fields: if the field is present in both the src and dest, and the src value is null, the field \
         is removed from the dest",
        &[
            ("{key1: null}", "{key1: 1, key2: 2}", "{key2: 2}"),
            ("{key1: null, a: 1}", "{key1: {b: 1}}", "{a: 1}"),
        ],
    ),
    (
        "map keys and fields: if the field is present in both the src and dest, the value is recursively merged",
        &[("{deep: {a: 1}}", "{deep: {b: 2}}", "{deep: {b: 2, a: 1}}")],
    ),
    (
        "associative list elements: if present only in the dest, it keeps its value in the list",
        &[
            ("[{name: a}]", "[{name: a}, {name: x, v: 1}]", "[{name: a}, {name: x, v: 1}]"),
            ("", "[{name: x}]", "[{name: x}]"),
        ],
    ),
    (
        "associative list elements: if present only in the src, it is added to the dest list",
        &[("[{name: y}]", "[{name: x}]", "[{name: x}, {name: y}]")],
    ),
    (
        "associative list elements: if the field is present in both the src and dest, the value is recursively merged",
        &[("[{name: x, d: {v: 1}}]", "[{name: x, d: {w: 2}}]", "[{name: x, d: {w: 2, v: 1}}]")],
    ),
    (
        "The following fields are recognized as associative keys: \
         [mountPath, devicePath, ip, type, topologyKey, name, containerPort]",
        &[
            ("[{mountPath: x, v: 1}]", "[{mountPath: x, w: 2}]", "[{mountPath: x, w: 2, v: 1}]"),
            ("[{devicePath: x, v: 1}]", "[{devicePath: x, w: 2}]", "[{devicePath: x, w: 2, v: 1}]"),
            ("[{ip: x, v: 1}]", "[{ip: x, w: 2}]", "[{ip: x, w: 2, v: 1}]"),
            ("[{type: x, v: 1}]", "[{type: x, w: 2}]", "[{type: x, w: 2, v: 1}]"),
            ("[{topologyKey: x, v: 1}]", "[{topologyKey: x, w: 2}]", "[{topologyKey: x, w: 2, v: 1}]"),
            ("[{name: x, v: 1}]", "[{name: x, w: 2}]", "[{name: x, w: 2, v: 1}]"),
            ("[{containerPort: 1, v: 1}]", "[{containerPort: 1, w: 2}]", "[{containerPort: 1, w: 2, v: 1}]"),
            ("[{id: x, v: 1}]", "[{id: x, w: 2}]", "[{id: x, v: 1}]"),
            // The first key that identifies all entries: here `ip`.
            ("[{ip: a, name: x}]", "[{ip: a, name: y}]", "[{ip: a, name: x}]"),
        ],
    ),
    (
        "Any lists where all of the elements contain associative keys will be merged as associative lists.",
        &[("[{name: y}, {v: 1}]", "[{name: x}, {v: 1}]", "[{name: y}, {v: 1}]")],
    ),
];

#[test]
fn two_way_merges() {
    for (sentence, table) in TWO_WAY {
        for (source, dest, want) in *table {
            for options in [MergeOptions::lossless(), kyaml()] {
                let merged = merge2(Some(holder(dest)), &holder(source), &Schema::empty(), &options);
                let got = shown(merged.expect("merged").node.as_ref());
                let want = shown(Some(&holder(want)));
                assert_eq!(sorted(&got), sorted(&want), "{sentence}: {source:?} over {dest:?}, {options:?}");
            }
        }
    }
}

#[test]
fn lossless_two_way_merges_cover_undocumented_cases() {
    // Results by these rules and by kyaml's.
    let table = [
        // Values that are equal on both sides stay, including null.
        ("null", "null", "null", ""),
        (
            "[{name: a, v: 1}, {name: a, v: 2}]",
            "[{name: a, v: 1}, {name: a, v: 2}]",
            "[{name: a, v: 1}, {name: a, v: 2}]",
            "[{name: a, v: 1}, {name: a, v: 1}]",
        ),
        // A merge key must identify every entry. Otherwise the next key is tried, or the list is one value.
        (
            "[{type: p, name: a}, {type: p, name: b}]",
            "[{type: p, name: c}]",
            "[{type: p, name: c}, {type: p, name: a}, {type: p, name: b}]",
            "[{type: p, name: a}]",
        ),
        (
            "[{type: p, v: 1}, {type: p, v: 2}]",
            "[{type: p, v: 0}]",
            "[{type: p, v: 1}, {type: p, v: 2}]",
            "[{type: p, v: 1}]",
        ),
    ];
    for (source, dest, want, by_kyaml) in table {
        for (options, want) in [(MergeOptions::lossless(), want), (kyaml(), by_kyaml)] {
            let merged =
                merge2(Some(holder(dest)), &holder(source), &Schema::empty(), &options).expect("merged");
            let (got, want) = (shown(merged.node.as_ref()), shown(Some(&holder(want))));
            assert_eq!(sorted(&got), sorted(&want), "{source:?} over {dest:?}, {options:?}");
        }
    }
}

/// Sentences, each with some originals, updated versions, dests and expected results.
type ThreeWay = (&'static str, &'static [(&'static str, &'static str, &'static str, &'static str)]);

const THREE_WAY: &[ThreeWay] = &[
    (
        "scalars: if present in either dest or updated and null, clear the value",
        &[("1", "null", "2", ""), ("1", "2", "null", ""), ("", "null", "2", "")],
    ),
    (
        "scalars: if unchanged between original and updated, keep dest value",
        &[("1", "1", "2", "2"), ("", "", "2", "2"), ("1", "1", "", "")],
    ),
    (
        "scalars: if changed between original and updated (added, deleted, changed), take the updated value",
        &[
            ("", "3", "", "3"),
            ("", "3", "2", "3"),
            ("1", "", "1", ""),
            ("1", "", "2", ""),
            ("1", "3", "1", "3"),
            ("1", "3", "2", "3"),
            ("1", "3", "", "3"),
        ],
    ),
    (
        "non-associative lists: if present in either dest or updated and null, clear the value",
        &[("[1]", "null", "[2]", ""), ("[1]", "[2]", "null", "")],
    ),
    (
        "non-associative lists: if unchanged between original and updated, keep dest value",
        &[("[1]", "[1]", "[2]", "[2]"), ("[1]", "[1]", "", "")],
    ),
    (
        "non-associative lists: if changed between original and updated (added, deleted, changed), take the updated value",
        &[
            ("", "[3]", "", "[3]"),
            ("[1]", "", "[2]", ""),
            ("[1]", "[3]", "[2]", "[3]"),
            ("[1]", "[3]", "[1]", "[3]"),
        ],
    ),
    (
        "map keys and fields: if present in either dest or updated and null, clear the value",
        &[("{a: 1}", "null", "{a: 2}", ""), ("{a: 1}", "{a: 2}", "null", "")],
    ),
    (
        "map keys and fields: if present only in the dest, it keeps its value",
        &[("", "", "{a: 1}", "{a: 1}"), ("{b: 1}", "{b: 2}", "{a: 1, b: 1}", "{a: 1, b: 2}")],
    ),
    (
        "map keys and fields: if not-present in the dest, add the delta between original-updated as a field",
        &[("", "{a: 1}", "", "{a: 1}"), ("{a: 1, b: 1}", "{a: 2, b: 1, c: 1}", "", "{a: 2, c: 1}")],
    ),
    (
        "map keys and fields: otherwise recursively merge the value between original, updated, dest",
        &[(
            "{a: 1, b: 1, c: 1, d: {e: 1}}",
            "{a: 2, c: 1, d: {e: 1, f: 1}}",
            "{a: 1, b: 1, c: 3, d: {e: 2}}",
            "{a: 2, c: 3, d: {e: 2, f: 1}}",
        )],
    ),
    (
        "associative list elements: if present only in the dest, it keeps its value",
        &[
            ("[]", "[]", "[{name: x}]", "[{name: x}]"),
            ("[{name: a}]", "[{name: b}]", "[{name: a}, {name: x}]", "[{name: x}, {name: b}]"),
        ],
    ),
    (
        "associative list elements: if not-present in the dest, add the delta between original-updated as a field",
        &[
            ("[{name: a}]", "[{name: a}, {name: b, v: 1}]", "[{name: a}]", "[{name: a}, {name: b, v: 1}]"),
            (
                "[{name: a, v: 1, w: 1}, {name: b}]",
                "[{name: a, v: 2, w: 1}, {name: b}]",
                "[{name: b}]",
                "[{name: b}, {name: a, v: 2}]",
            ),
        ],
    ),
    (
        "associative list elements: otherwise recursively merge the value between original, updated, dest",
        &[
            ("[{name: a}]", "[{name: a}, {name: b}]", "[{name: a, v: 1}]", "[{name: a, v: 1}, {name: b}]"),
            (
                "[{name: a, v: 1}, {name: b}]",
                "[{name: a, v: 2}]",
                "[{name: a, v: 1, w: 1}, {name: b}, {name: c}]",
                "[{name: a, v: 2, w: 1}, {name: c}]",
            ),
        ],
    ),
    (
        "Associative keys are used to identify \"same\" elements within 2 different lists, and merge them.",
        &[
            (
                "[{mountPath: x, v: 1}]",
                "[{mountPath: x, v: 2}]",
                "[{mountPath: x, v: 1, w: 1}]",
                "[{mountPath: x, v: 2, w: 1}]",
            ),
            (
                "[{devicePath: x, v: 1}]",
                "[{devicePath: x, v: 2}]",
                "[{devicePath: x, v: 1, w: 1}]",
                "[{devicePath: x, v: 2, w: 1}]",
            ),
            ("[{ip: x, v: 1}]", "[{ip: x, v: 2}]", "[{ip: x, v: 1, w: 1}]", "[{ip: x, v: 2, w: 1}]"),
            ("[{type: x, v: 1}]", "[{type: x, v: 2}]", "[{type: x, v: 1, w: 1}]", "[{type: x, v: 2, w: 1}]"),
            (
                "[{topologyKey: x, v: 1}]",
                "[{topologyKey: x, v: 2}]",
                "[{topologyKey: x, v: 1, w: 1}]",
                "[{topologyKey: x, v: 2, w: 1}]",
            ),
            ("[{name: x, v: 1}]", "[{name: x, v: 2}]", "[{name: x, v: 1, w: 1}]", "[{name: x, v: 2, w: 1}]"),
            (
                "[{containerPort: 1, v: 1}]",
                "[{containerPort: 1, v: 2}]",
                "[{containerPort: 1, v: 1, w: 1}]",
                "[{containerPort: 1, v: 2, w: 1}]",
            ),
        ],
    ),
];

/// Sorts the entries of lists by name: another test checks the position of new entries.
fn by_name(json: &str) -> String {
    let mut value: serde_json::Value = serde_json::from_str(json).unwrap_or_default();
    if let Some(list) = value.as_array_mut().filter(|list| list.iter().all(serde_json::Value::is_object)) {
        list.sort_by_key(ToString::to_string);
    }
    value.to_string()
}

fn three_way([original, updated, dest]: [&str; 3], options: &MergeOptions) -> (String, Vec<ConflictSide>) {
    let [original, updated, dest] = [original, updated, dest].map(holder);
    let merged =
        merge3(Some(&original), Some(&updated), Some(dest), &Schema::empty(), options).expect("merged");
    (by_name(&shown(merged.node.as_ref())), merged.conflicts.iter().map(|conflict| conflict.winner).collect())
}

#[test]
fn three_way_merges() {
    for (sentence, table) in THREE_WAY {
        for &(original, updated, dest, want) in *table {
            let versions = [original, updated, dest];
            for options in [MergeOptions::lossless(), kyaml()] {
                let (got, _) = three_way(versions, &options);
                let want = by_name(&shown(Some(&holder(want))));
                assert_eq!(got, want, "{sentence}: {versions:?}, {options:?}");
            }
        }
    }
}

#[test]
fn lossless_three_way_merges_refine_the_documented_rules() {
    // Original, updated, dest, result by these rules, result by kyaml's.
    let table = [
        // Equal versions change nothing: null clears only where they differ.
        ("1", "null", "1", "null", ""),
        ("1", "1", "null", "null", ""),
        ("[1]", "null", "[1]", "null", ""),
        ("{a: 1}", "{a: 1}", "null", "null", ""),
        ("", "", "null", "null", ""),
        ("1", "2", "2", "2", "2"),
        // A value deleted upstream and unchanged in dest is removed. No empty map is left.
        ("{a: 1}", "", "{a: 1}", "", "{}"),
        ("{a: {b: 1}, c: 1}", "{c: 1}", "{a: {b: 1}, c: 2}", "{c: 2}", "{a: {}, c: 2}"),
        (
            "[{name: a}, {name: b}]",
            "[{name: a}]",
            "[{name: a, v: 1}, {name: b}]",
            "[{name: a, v: 1}]",
            "[{name: a, v: 1}]",
        ),
        (
            "[{name: a, v: {w: 1}}]",
            "[]",
            "[{name: a, v: {w: 1}}, {name: b}]",
            "[{name: b}]",
            "[{name: a, v: {}}, {name: b}]",
        ),
        // A merge key must identify every entry.
        (
            "[{type: p, v: 1}, {type: p, v: 2}]",
            "[{type: p, v: 1}, {type: p, v: 2}]",
            "[{type: p, v: 1}, {type: p, v: 3}]",
            "[{type: p, v: 1}, {type: p, v: 3}]",
            "[{type: p, v: 1}, {type: p, v: 1}]",
        ),
    ];
    for (original, updated, dest, want, by_kyaml) in table {
        for (options, want) in [(MergeOptions::lossless(), want), (kyaml(), by_kyaml)] {
            let (got, _) = three_way([original, updated, dest], &options);
            let want = by_name(&shown(Some(&holder(want))));
            assert_eq!(got, want, "{original:?} -> {updated:?}, {dest:?}, {options:?}");
        }
    }
}

/// The merge result of three values, or an empty text.
fn merged(versions: [&str; 3], nulls: NullPolicy) -> String {
    let [original, updated, dest] = versions.map(holder);
    let options = MergeOptions::lossless().nulls(nulls);
    let merged = merge3(Some(&original), Some(&updated), Some(dest), &Schema::empty(), &options);
    shown(merged.expect("merged").node.as_ref())
}
