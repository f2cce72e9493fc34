//! Tables of two-way merges of lists.

use crate::merge::kyaml::testing::{expected, node, outcome};
use crate::merge::options::{InferKeys, ListOrder, MergeOptions};
use crate::merge::{Exceptions, merge2};
use crate::schema::Schema;

/// Manifests with a list at `LIST`. The lists are merged by `name`, by `port` and `protocol`, by the entries' own text,
/// and without a schema.
const CONTAINERS: &str = "{apiVersion: v1, kind: Pod, spec: {containers: LIST}}";
const PORTS: &str = "{apiVersion: v1, kind: Service, spec: {ports: LIST}}";
const FINALIZERS: &str = "{apiVersion: v1, kind: Pod, metadata: {finalizers: LIST}}";
const UNKNOWN: &str = "{list: LIST}";

fn merged(frame: &str, dest: &str, patch: &str, options: &MergeOptions) -> String {
    let object = |list: &str| node(&frame.replace("LIST", list));
    outcome(merge2(Some(object(dest)), &object(patch), &Schema::kustomize(), options))
}

fn check(frame: &str, table: &[(&str, &str, &str)], options: &MergeOptions) {
    for (dest, patch, want) in table {
        let want = if want.starts_with('[') { frame.replace("LIST", want) } else { (*want).to_string() };
        assert_eq!(merged(frame, dest, patch, options), expected(&want), "{patch} onto {dest}");
    }
}

#[test]
fn changed_and_new_entries_go_first() {
    let table = [
        ("[{name: a}, {name: b}]", "[{name: b, image: x}]", "[{name: b, image: x}, {name: a}]"),
        ("[{name: a}]", "[{name: c}, {name: b}]", "[{name: c}, {name: b}, {name: a}]"),
        ("[{name: a}]", "[]", "[{name: a}]"),
        ("[{name: '1'}]", "[{name: 1, image: x}]", "[{name: '1', image: x}]"),
        ("[{name: a}, {name: b}]", "[{name: a, $patch: delete}]", "[{name: b}]"),
        ("[{name: a}]", "[{name: a, $patch: delete}]", "[]"),
        ("[{name: a}]", "[{name: b, $patch: delete}]", "[{name: a}]"),
        ("[{name: a}]", "[{$patch: replace}, {name: b}]", "[{name: b}]"),
        (
            "[{name: a}, {name: b}]",
            "[{name: b, args: [1]}, {$patch: merge}]",
            "[{name: b, args: [1]}, {name: a}]",
        ),
        ("[{name: a}]", "[{name: b, image: x}, {name: b, image: y}]", "[{name: b, image: x}, {name: a}]"),
    ];
    check(CONTAINERS, &table, &MergeOptions::kustomize(Exceptions::None));
}

#[test]
fn appended_entries_go_last() {
    let table = [
        (
            "[{name: a}, {name: b}]",
            "[{name: c}, {name: a, image: x}]",
            "[{name: a, image: x}, {name: b}, {name: c}]",
        ),
        (
            "[{name: a, image: x}, {name: b}]",
            "[{name: a, $patch: replace, args: []}]",
            "[{name: a, args: []}, {name: b}]",
        ),
        (
            "[{name: a, image: x}, {name: a, image: y}]",
            "[{name: b}]",
            "[{name: a, image: x}, {name: a, image: x}, {name: b}]",
        ),
    ];
    check(CONTAINERS, &table, &MergeOptions::kyaml(ListOrder::Append, InferKeys::Off));
}

#[test]
fn entries_lost_by_kustomize_are_lost() {
    let table = [
        // An entry without the key clears the list. An entry of dest without the key removes all others.
        ("[{name: a}, {name: b}]", "[{image: x}]", "[]"),
        ("[{name: a}, {image: x}, {name: b}]", "[{name: c}]", "[{image: x}]"),
        ("[{name: a, image: x}, {name: b}, {name: a}]", "[{name: b}]", "[{name: b}, {name: a}]"),
        ("[{name: a, image: x}]", "[{name: a, $patch: replace, args: []}]", "[{name: a, image: x}]"),
        ("[{name: a}, null, {}]", "[{name: b}, null]", "[{name: b}]"),
        ("[x]", "[{name: a}]", "WrongType"),
        ("[{name: a}]", "[x]", "[]"),
    ];
    check(CONTAINERS, &table, &MergeOptions::kustomize(Exceptions::None));
    let ports = [
        // First a single key that no entry has. Then two keys: changed entries keep their index.
        (
            "[{port: 1}, {port: 2}]",
            "[{port: 2, name: x}, {port: 3}]",
            "[{port: 2, name: x}, {port: 3}, {port: 1}]",
        ),
        (
            "[{port: 1, protocol: TCP}, {port: 1, protocol: UDP}]",
            "[{port: 1, protocol: UDP, name: x}, {port: 3, protocol: TCP}]",
            "[{port: 3, protocol: TCP}, {port: 1, protocol: TCP}, {port: 1, protocol: UDP, name: x}]",
        ),
        // If dest or the patch lacks the protocol, another entry than the intended one matches.
        ("[{port: 1}]", "[{port: 1, protocol: UDP, name: x}]", "[{port: 1}]"),
        ("[{port: 1, protocol: UDP}]", "[{port: 1, name: x}]", "[{port: 1, protocol: UDP}]"),
    ];
    check(PORTS, &ports, &MergeOptions::kustomize(Exceptions::None));
}

#[test]
fn lists_of_scalars_are_joined() {
    let table = [
        ("[a, b]", "[c, b]", "[c, b, a]"),
        ("[a, a]", "[]", "[a]"),
        ("[a]", "[{$patch: replace}, b]", "[b]"),
        ("[a]", "[null]", "[a]"),
        ("[a]", "[{x: 1}]", "WrongType"),
    ];
    check(FINALIZERS, &table, &MergeOptions::kustomize(Exceptions::None));
}

#[test]
fn lists_of_unknown_type_are_replaced_or_their_key_is_inferred() {
    check(
        UNKNOWN,
        &[("[{name: a}]", "[{name: b}]", "[{name: b}]")],
        &MergeOptions::kustomize(Exceptions::None),
    );
    let name = MergeOptions::kyaml(ListOrder::Append, InferKeys::name());
    let table = [
        ("[{name: a}]", "[{name: b}]", "[{name: a}, {name: b}]"),
        ("[{ip: a}]", "[{ip: b}]", "[{ip: b}]"),
        ("[{name: a}]", "[{ip: b}]", "Ambiguous"),
        ("[]", "[x]", "MissingMergeKey"),
    ];
    check(UNKNOWN, &table, &name);
    let usual = MergeOptions::kyaml(ListOrder::Append, InferKeys::common());
    let table = [
        ("[{ip: a, name: x}]", "[{name: y, ip: a}]", "[{ip: a, name: y}]"),
        ("[{topologyKey: a}]", "[{topologyKey: b}]", "[{topologyKey: a}, {topologyKey: b}]"),
    ];
    check(UNKNOWN, &table, &usual);
}

#[test]
fn new_lists_are_merged_with_themselves() {
    let frame = "{apiVersion: v1, kind: Pod, spec: SPEC}";
    let table = [
        (
            "{}",
            "{containers: [{name: a, image: null}, {name: a, args: [x]}]}",
            "{containers: [{name: a, args: [x]}]}",
        ),
        ("{}", "{containers: [{name: a, $patch: delete}, {name: b}]}", "{containers: [{name: b}]}"),
        ("{}", "{containers: [{$patch: replace}, {name: b}]}", "{containers: [{$patch: replace}]}"),
        ("{containers: null}", "{containers: [{name: b}]}", "{containers: [{name: b}]}"),
    ];
    for (dest, patch, want) in table {
        let object = |spec: &str| node(&frame.replace("SPEC", spec));
        let got = merge2(
            Some(object(dest)),
            &object(patch),
            &Schema::kustomize(),
            &MergeOptions::kustomize(Exceptions::None),
        );
        assert_eq!(outcome(got), expected(&frame.replace("SPEC", want)), "{patch} onto {dest}");
    }
}

#[test]
fn schema_comment_defines_how_a_list_merges() {
    let comment = "# {\"type\":\"array\",\"x-kubernetes-patch-strategy\":\"merge\",\"x-kubernetes-patch-merge-key\":\"id\"}";
    let dest = crate::merge::kyaml::testing::commented(&format!("list: {comment}\n- id: 1\n  a: 1\n"));
    let patch = node("{list: [{id: 1, b: 2}]}");
    let got = merge2(Some(dest), &patch, &Schema::empty(), &MergeOptions::kustomize(Exceptions::None));
    assert_eq!(outcome(got), "{list: [{id: 1, a: 1, b: 2}]}");
}

#[test]
fn long_lists_merge_like_short_ones() {
    let list = |range: std::ops::Range<usize>, field: &str| {
        let entries: Vec<_> = range.map(|i| format!("{{name: n{i}, {field}: 1}}")).collect();
        format!("[{}]", entries.join(", "))
    };
    let got = merged(
        CONTAINERS,
        &list(0..3000, "a"),
        &list(1000..4000, "b"),
        &MergeOptions::kustomize(Exceptions::None),
    );
    let both = list(1000..3000, "a: 1, b");
    let want = [both, list(3000..4000, "b"), list(0..1000, "a")].join(", ").replace("], [", ", ");
    assert_eq!(got, expected(&CONTAINERS.replace("LIST", &want)));
}
