//! Tables of three-way merges.

use super::*;
use crate::merge::kyaml::testing::{commented, expected, node, outcome};
use crate::merge::options::{InferKeys, ListOrder};
use crate::merge::{Exceptions, MergeRules};

fn merged(original: &str, updated: &str, dest: &str, options: &MergeOptions) -> (String, Vec<Conflict>) {
    let read = |text: &str| (!text.is_empty()).then(|| node(text));
    let (original, updated) = (read(original), read(updated));
    let schema = Schema::kustomize();
    let got = merge3(original.as_ref(), updated.as_ref(), read(dest), &schema, options);
    let conflicts = got.as_ref().map_or(Vec::new(), |merged| merged.conflicts.clone());
    (outcome(got), conflicts)
}

fn check(table: &[(&str, &str, &str, &str)], options: &MergeOptions) {
    for (original, updated, dest, want) in table {
        let (got, _) = merged(original, updated, dest, options);
        assert_eq!(got, expected(want), "from {original} to {updated} in {dest}");
    }
}

fn kyaml() -> MergeOptions {
    MergeOptions::kyaml(ListOrder::Append, InferKeys::Off)
}

#[test]
fn scalars_take_what_changed() {
    let table = [
        ("{a: 1}", "{a: 2}", "{a: 1, b: 3}", "{a: 2, b: 3}"),
        ("{a: 1}", "{a: 1}", "{a: 9}", "{a: 9}"),
        ("{a: 1}", "{a: 2}", "{a: 9}", "{a: 2}"),
        ("{a: 1}", "{}", "{a: 9}", "{}"),
        ("{}", "{a: 1}", "{a: 9}", "{a: 1}"),
        ("{a: 1}", "{a: 1}", "{}", "{}"),
        ("{a: 1}", "{a: 2}", "{}", "{a: 2}"),
        ("{}", "{c: 1, b: 2}", "{d: 3}", "{d: 3, b: 2, c: 1}"),
        ("{a: 1}", "{a: \"1\"}", "{a: 1}", "{a: 1}"),
        ("{a: 1}", "{a: 2}", "{a: \"1\"}", "{a: \"2\"}"),
        ("{a: 1}", "{a: null}", "{a: 1}", "{}"),
        ("{a: 1}", "{a: 2}", "{a: null}", "{}"),
        ("{}", "{}", "{a: null, b: {c: }}", "{b: {}}"),
        ("{a: null}", "{a: 1}", "{}", "{a: 1}"),
    ];
    check(&table, &kyaml());
}

#[test]
fn maps_lose_fields_but_are_not_removed() {
    let table = [
        ("{m: {a: 1}}", "{}", "{m: {a: 1}}", "{m: {}}"),
        ("{m: {a: 1}}", "{}", "{m: {a: 1, b: 2}}", "{m: {b: 2}}"),
        ("{m: {a: 1}}", "{m: {a: 1}}", "{}", "{m: {}}"),
        ("{m: {a: 1}}", "{m: {a: 1, b: 2}}", "{}", "{m: {b: 2}}"),
        ("{m: {a: 1}}", "{m: null}", "{m: {a: 1, b: 2}}", "{}"),
        ("{m: {a: 1}}", "{m: {a: 2}}", "{m: null}", "{}"),
        ("{m: {a: 1}}", "{m: x}", "{m: {a: 1}}", "WrongType"),
        ("{m: {a: 1}}", "{m: {a: 1}}", "{m: [x]}", "WrongType"),
    ];
    check(&table, &kyaml());
}

#[test]
fn lists_without_keys_are_atomic() {
    let table = [
        ("{l: [1]}", "{l: [1, 2]}", "{l: [9]}", "{l: [1, 2]}"),
        ("{l: [1]}", "{l: [1]}", "{l: [9]}", "{l: [9]}"),
        ("{l: [1]}", "{}", "{l: [9]}", "{}"),
        ("{l: [1]}", "{l: [1]}", "{}", "{}"),
        // Changed quotes are a change within a list, but not for a scalar.
        ("{l: [1]}", "{l: ['1']}", "{l: [9]}", "{l: ['1']}"),
    ];
    check(&table, &kyaml());
}

#[test]
fn entries_merge_by_their_keys() {
    let pod = |list: &str| format!("{{apiVersion: v1, kind: Pod, spec: {{containers: {list}}}}}");
    let table = [
        (
            "[{name: a, image: x}]",
            "[{name: a, image: y}, {name: b}]",
            "[{name: c}, {name: a, image: x, args: []}]",
            "[{name: c}, {name: a, image: y, args: []}, {name: b}]",
        ),
        (
            "[{name: a, image: x}, {name: b}]",
            "[{name: b}]",
            "[{name: a, image: x}, {name: b}]",
            "[{name: b}]",
        ),
        // Fields that dest added to a removed entry stay. The key is added after them.
        ("[{name: a, image: x}]", "[]", "[{name: a, image: x, args: [1]}]", "[{args: [1], name: a}]"),
        // An entry that was removed in dest is restored with its changed fields.
        (
            "[{name: a, image: x, args: [1]}]",
            "[{name: a, image: y, args: [1]}]",
            "[]",
            "[{image: y, name: a}]",
        ),
        ("[{name: a}]", "[{name: a}]", "[]", "[]"),
        ("[{name: 1, image: x}]", "[{name: 1, image: y}]", "[]", "[{image: y, name: \"1\"}]"),
        ("[]", "[{name: a, image: x, args: []}]", "[]", "[{args: [], image: x, name: a}]"),
    ];
    for (original, updated, dest, want) in table {
        let (got, _) = merged(&pod(original), &pod(updated), &pod(dest), &kyaml());
        assert_eq!(got, expected(&pod(want)), "from {original} to {updated} in {dest}");
    }
    let (got, _) = merged(&pod("[{name: a}]"), "{apiVersion: v1, kind: Pod}", &pod("[{name: b}]"), &kyaml());
    assert_eq!(got, "{apiVersion: v1, kind: Pod, spec: {}}", "a removed list takes the additions with it");
}

#[test]
fn keys_can_be_inferred() {
    let name = MergeOptions::kyaml(ListOrder::Append, InferKeys::name());
    let usual = MergeOptions::kyaml(ListOrder::Append, InferKeys::common());
    let by_name = ("{l: [{name: a}]}", "{l: [{name: a, x: 1}]}", "{l: [{name: b}, {name: a}]}");
    check(&[(by_name.0, by_name.1, by_name.2, "{l: [{name: b}, {name: a, x: 1}]}")], &name);
    check(&[(by_name.0, by_name.1, by_name.2, "{l: [{name: a, x: 1}]}")], &kyaml());
    let by_path =
        ("{l: [{mountPath: a}]}", "{l: [{mountPath: a, x: 1}]}", "{l: [{mountPath: b}, {mountPath: a}]}");
    check(&[(by_path.0, by_path.1, by_path.2, "{l: [{mountPath: b}, {mountPath: a, x: 1}]}")], &usual);
    check(&[(by_path.0, by_path.1, by_path.2, "{l: [{mountPath: a, x: 1}]}")], &name);
}

#[test]
fn ports_are_merged_by_port_and_protocol_without_losses() {
    let service = |list: &str| format!("{{apiVersion: v1, kind: Service, spec: {{ports: {list}}}}}");
    let original = service("[{port: 53}, {port: 53, protocol: UDP}]");
    let updated = service("[{port: 53, name: t}, {port: 53, protocol: UDP}]");
    let options =
        MergeOptions { rules: MergeRules::Kustomize { exceptions: Exceptions::Documented }, ..kyaml() };
    let (original, updated, dest) = (node(&original), node(&updated), node(&original));
    let got = merge3(Some(&original), Some(&updated), Some(dest), &Schema::embedded(), &options);
    assert_eq!(outcome(got), service("[{port: 53, name: t}, {port: 53, protocol: UDP}]"));
}

#[test]
fn objects_are_added_and_removed() {
    let table = [
        ("{a: 1}", "", "{a: 1}", "{}"),
        ("", "{a: 1}", "", "{a: 1}"),
        ("{a: 1}", "{a: 1}", "", "{}"),
        ("{a: 1}", "", "", "none"),
        ("", "", "{a: 1}", "{a: 1}"),
    ];
    check(&table, &kyaml());
}

#[test]
fn conflicts_are_reported_and_resolved() {
    let (original, updated) = ("{a: 1, b: {c: 1}, l: [1], n: 1}", "{a: 2, b: {c: 2}, l: [2], d: 1}");
    let dest = "{a: 3, b: {c: 2}, l: [3], n: 2, d: 2}";
    let (got, conflicts) = merged(original, updated, dest, &kyaml());
    assert_eq!(got, "{a: 2, b: {c: 2}, l: [2], d: 1}");
    let paths: Vec<_> = conflicts.iter().map(|conflict| conflict.path.to_string()).collect();
    assert_eq!(paths, ["a", "l", "n", "d"], "b.c became the same on both sides");
    assert!(conflicts[0].original.as_ref().is_some_and(|value| !value.span().is_none()));
    assert_eq!((&conflicts[2].updated, &conflicts[3].original), (&None, &None));

    let options = MergeOptions { conflicts: ConflictPolicy::Dest, ..kyaml() };
    let (got, conflicts) = merged(original, updated, dest, &options);
    assert_eq!(got, "{a: 3, b: {c: 2}, l: [3], n: 2, d: 2}");
    assert_eq!(conflicts.len(), 4);
    let (got, conflicts) = merged("{a: 1, b: 1}", "{a: 2, b: 1}", "{b: 2}", &options);
    assert_eq!((got.as_str(), conflicts.len()), ("{b: 2}", 1), "removed here, changed there");
}

#[test]
fn conflicts_in_entries_have_their_path() {
    let pod = |image: &str| {
        format!("{{apiVersion: v1, kind: Pod, spec: {{containers: [{{name: a, image: {image}}}]}}}}")
    };
    let (_, conflicts) = merged(&pod("x"), &pod("y"), &pod("z"), &kyaml());
    assert_eq!(conflicts[0].path.to_string(), "spec.containers[name=a].image");
    let gone = "{apiVersion: v1, kind: Pod, spec: {}}";
    let (got, conflicts) = merged(&pod("x"), gone, &pod("z"), &kyaml());
    assert_eq!((got.as_str(), conflicts[0].path.to_string().as_str()), (gone, "spec.containers"));
    let options = MergeOptions { conflicts: ConflictPolicy::Dest, ..kyaml() };
    assert_eq!(merged(&pod("x"), gone, &pod("z"), &options).0, pod("z"));
}

#[test]
fn comments_merge_as_values_do() {
    let merged = |original: &str, updated: &str, dest: &str| {
        let read = |text: &str| commented(text);
        let (original, updated) = (read(original), read(updated));
        let got = merge3(Some(&original), Some(&updated), Some(read(dest)), &Schema::empty(), &kyaml());
        let map = got.expect("merged").node.expect("something");
        let entry = map.as_map().expect("a map").entries()[0].clone();
        let key = entry.key.meta.comments.unwrap_or_default().head.join("\n");
        (key, entry.value.meta.comments.unwrap_or_default().line.unwrap_or_default().to_string())
    };
    let pair = |key: &str, value: &str| (key.to_string(), value.to_string());
    assert_eq!(merged("# k\na: 1 # v\n", "# K\na: 1 # V\n", "# k\na: 1 # v\n"), pair("# K", "# V"));
    assert_eq!(
        merged("# k\na: 1 # v\n", "# K\na: 1 # V\n", "# mine\na: 1 # mine\n"),
        pair("# mine", "# mine")
    );
    assert_eq!(merged("a: 1\n", "# k\na: 2 # v\n", "a: 1\n"), pair("# k", "# v"));
}

#[test]
fn new_entries_can_be_prepended() {
    let frame = |list: &str| format!("{{apiVersion: v1, kind: Pod, spec: {{containers: {list}}}}}");
    let table = [
        ("[]", "[{name: z}, {name: x}]", "[{name: c}]", "[{name: z}, {name: x}, {name: c}]"),
        ("[{name: a}]", "[{name: z}]", "[{name: c}]", "[{name: z}, {name: c}]"),
        (
            "[{name: a}, {name: b}]",
            "[{name: a}, {name: z}, {name: b}]",
            "[{name: c}, {name: b}, {name: a, image: x}]",
            "[{name: z}, {name: c}, {name: b}, {name: a, image: x}]",
        ),
        (
            "[{name: a}, {name: b}]",
            "[{name: z}, {name: b}]",
            "[{name: b}, {name: a}]",
            "[{name: z}, {name: b}]",
        ),
    ];
    let prepend = MergeOptions::kyaml(ListOrder::Prepend, InferKeys::Off);
    for (original, updated, dest, want) in table {
        let [original, updated, dest, want] = [original, updated, dest, want].map(frame);
        check(&[(&original, &updated, &dest, &want)], &prepend);
    }
}
