//! Table tests of created patches.

use super::create;
use crate::merge::PatchRules;
use crate::merge::testing::{BOTH, json, node, schema};
use crate::schema::Cursor;
use smp_text::diagnostic::Code;
use smp_text::yaml::Node;

/// Returns the patch as JSON, or the error as `code: field: message`.
fn created(original: &str, modified: &str, rules: PatchRules) -> String {
    match create(&node(original), &node(modified), schema(), rules) {
        Ok(patch) => json(&patch),
        Err(error) => format!("{:?}: {error}", error.code()),
    }
}

fn check_created(rules: PatchRules, table: &[(&str, &str, &str)]) {
    for (original, modified, want) in table {
        let want = if want.starts_with('{') { json(&node(want)) } else { (*want).to_string() };
        assert_eq!(created(original, modified, rules), want, "\n{rules:?}\n{original}\n{modified}");
    }
}

#[test]
fn patches_of_maps_contain_the_differences() {
    for rules in BOTH {
        check_created(
            rules,
            &[
                ("{name: a, value: b}", "{name: a, value: b}", "{}"),
                ("{name: a, value: b}", "{value: c, number: 1}", "{value: c, number: 1, name: null}"),
                ("{child: {name: a, value: b}}", "{child: {name: a}}", "{child: {value: null}}"),
                ("{child: {name: a}}", "{child: {}}", "{child: {name: null}}"),
                ("{child: {name: a}}", "{child: x}", "{child: x}"),
                ("{number: 1}", "{number: '1'}", "{number: '1'}"),
                ("{number: 1}", "{number: 0x1}", "{}"),
                ("{labels: {a: b}}", "{labels: {a: c}}", "{labels: {a: c}}"),
                ("{list: [{name: a}]}", "{list: [{name: b}]}", "{list: [{name: b}]}"),
                (
                    "{union: {name: a, value: b}}",
                    "{union: {value: c}}",
                    "{union: {$retainKeys: [value], value: c, name: null}}",
                ),
                ("{union: {name: a}}", "{union: {name: a}}", "{}"),
                ("{union: {name: a}}", "{union: {}}", "{union: {name: null}}"),
            ],
        );
    }
}

#[test]
fn replaced_maps_depend_on_the_rules() {
    // kubectl sends a map with strategy `replace` even if it has not changed.
    let table = [("{replaced: {name: a}}", "{replaced: {name: a}}", "{replaced: {name: a}}")];
    check_created(PatchRules::Apiserver, &table);
    check_created(
        PatchRules::Overlay,
        &[
            ("{replaced: {name: a}}", "{replaced: {name: a}}", "{}"),
            ("{atomicMap: {name: a, value: b}}", "{atomicMap: {name: a}}", "{atomicMap: {name: a}}"),
        ],
    );
}

#[test]
fn server_patches_have_order_and_deletions() {
    check_created(
        PatchRules::Apiserver,
        &[
            (
                "{byName: [{name: a, value: x}, {name: b}, {name: c}]}",
                "{byName: [{name: c}, {name: a, value: y}, {name: d}]}",
                "{$setElementOrder/byName: [{name: c}, {name: a}, {name: d}], \
                 byName: [{name: a, value: y}, {name: d}, {$patch: delete, name: b}]}",
            ),
            (
                "{byName: [{name: a}, {name: b}]}",
                "{byName: [{name: b}, {name: a}]}",
                "{$setElementOrder/byName: [{name: b}, {name: a}]}",
            ),
            ("{byName: [{name: a}]}", "{byName: []}", "{byName: [{$patch: delete, name: a}]}"),
            ("{byName: []}", "{byName: [{name: a}]}", "{byName: [{name: a}]}"),
            (
                "{volumes: [{name: a, value: x}]}",
                "{volumes: [{name: a, number: 1}]}",
                "{$setElementOrder/volumes: [{name: a}], \
                 volumes: [{$retainKeys: [name, number], name: a, number: 1, value: null}]}",
            ),
            (
                "{strings: [a, b]}",
                "{strings: [c, b]}",
                "{$setElementOrder/strings: [c, b], strings: [c], $deleteFromPrimitiveList/strings: [a]}",
            ),
            // The original is sorted before the comparison, so the patch may contain an unnecessary order or lack a
            // necessary one.
            ("{strings: [b, a]}", "{strings: [b, a]}", "{$setElementOrder/strings: [b, a]}"),
            ("{strings: [b, a]}", "{strings: [a, b]}", "{}"),
            // Several keys, separated by commas.
            (
                "{both: [{foo: a, bar: x}, {foo: a, bar: y}]}",
                "{both: [{foo: a, bar: x, other: 1}]}",
                "{$setElementOrder/both: [{foo: a, bar: x}], \
                 both: [{foo: a, bar: x, other: 1}, {$patch: delete, foo: a, bar: y}]}",
            ),
            // Entries with equal keys are paired, starting with the last ones.
            (
                "{ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]}",
                "{ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP, name: dns}]}",
                "{$setElementOrder/ports: [{port: 53}, {port: 53}], ports: [{port: 53, name: dns}]}",
            ),
            (
                "{byName: [{name: a}]}",
                "{byName: [{value: x}]}",
                "MissingMergeKey: byName[0]: this entry lacks its merge key `name`",
            ),
            (
                "{keyless: [{name: a}]}",
                "{keyless: [{name: b}]}",
                "MissingMergeKey: keyless: the schema has no merge key for this list, so no patch can be created for its entries",
            ),
            (
                "{unknown: {a: 1}}",
                "{unknown: {a: 2}}",
                "UnknownField: unknown: the schema has no field `unknown` here, so it cannot be merged",
            ),
            ("{unknown: {a: 1}}", "{unknown: {a: 1}}", "{}"),
        ],
    );
    let error = create(&node("{}"), &node("{}"), Cursor::unknown(), PatchRules::Apiserver);
    assert_eq!(error.expect_err("no schema").code(), Code::NoSchema);
}

#[test]
fn overlay_patches_are_minimal() {
    check_created(
        PatchRules::Overlay,
        &[
            (
                "{byName: [{name: a, value: x}, {name: b}, {name: c}]}",
                "{byName: [{name: a, value: y}, {name: c}, {name: d}]}",
                "{byName: [{name: a, value: y}, {name: d}, {$patch: delete, name: b}]}",
            ),
            (
                "{byName: [{name: a}, {name: b}]}",
                "{byName: [{name: b}, {name: a}]}",
                "{$setElementOrder/byName: [{name: b}, {name: a}]}",
            ),
            // If there are several list map keys, entries have `$patchMergeKey`.
            (
                "{ports: [{port: 53}, {port: 53, protocol: UDP}]}",
                "{ports: [{port: 53}, {port: 53, protocol: UDP, name: dns}]}",
                "{ports: [{$patchMergeKey: [port, protocol], port: 53, protocol: UDP, name: dns}]}",
            ),
            (
                "{}",
                "{child: {ports: [{port: 53}]}}",
                "{child: {ports: [{$patchMergeKey: [port, protocol], port: 53}]}}",
            ),
            (
                "{custom: [{port: 53, name: a}]}",
                "{custom: [{port: 53, name: b}]}",
                "{custom: [{$patchMergeKey: [port, protocol], port: 53, name: b}]}",
            ),
            // An entry that loses a key is deleted and added again, since other owners may have added entries to the
            // list.
            (
                "{custom: [{port: 53, protocol: TCP}, {port: 80}]}",
                "{custom: [{port: 53}, {port: 80}]}",
                "{$setElementOrder/custom: [{port: 53}, {port: 80}], custom: [
                  {$patchMergeKey: [port, protocol], $patch: delete, port: 53, protocol: TCP},
                  {$patchMergeKey: [port, protocol], port: 53}]}",
            ),
            // If keys are not unique, the list is replaced.
            (
                "{byName: [{name: a}]}",
                "{byName: [{name: a, value: x}, {name: a}]}",
                "{byName: [{$patch: replace}, {name: a, value: x}, {name: a}]}",
            ),
            (
                "{ports: [{port: 53}, {port: 53, protocol: TCP}]}",
                "{ports: [{port: 53}]}",
                "{ports: [{$patch: replace}, {$patchMergeKey: [port, protocol], port: 53}]}",
            ),
            ("{set: [a, b]}", "{set: [b, c]}", "{set: [c], $deleteFromPrimitiveList/set: [a]}"),
            ("{set: [a, b]}", "{set: [b, a]}", "{$setElementOrder/set: [b, a]}"),
            ("{set: [a]}", "{set: [b, b]}", "{set: [{$patch: replace}, b, b]}"),
            ("{numbers: [1]}", "{numbers: [2, 2]}", "{numbers: [2, 2]}"),
            ("{atomic: [{name: a}]}", "{atomic: [{name: b}]}", "{atomic: [{name: b}]}"),
        ],
    );
}

#[test]
fn created_patches_use_all_recommended_keys() {
    for rules in BOTH {
        let patch = created(
            "recommended: [{foo: a, bar: x}, {foo: a, other: 1}, {foo: b}]",
            "recommended: [{foo: a, bar: x, other: 2}, {foo: a, other: 1}, {foo: c}]",
            rules,
        );
        let named = "$patchMergeKey: [foo, bar, baz]";
        let entries = format!(
            "recommended: [{{{named}, foo: a, bar: x, other: 2}}, {{{named}, foo: c}}, \
             {{{named}, $patch: delete, foo: b}}]"
        );
        let order = "$setElementOrder/recommended: [{foo: a, bar: x}, {foo: a}, {foo: c}]";
        let want = match rules {
            PatchRules::Apiserver => format!("{{{order}, {entries}}}"),
            PatchRules::Overlay => format!("{{{entries}}}"),
        };
        assert_eq!(patch, json(&node(&want)), "{rules:?}");
    }
}

#[test]
fn long_lists_take_linear_time() {
    let entry = |i: usize| {
        Node::map([("name", Node::string(format!("n{i}"))), ("number", Node::int(1))].into_iter().collect())
    };
    let list = |range: std::ops::Range<usize>| {
        Node::map([("byName", Node::list(range.map(entry).collect()))].into_iter().collect())
    };
    let scalars = |range: std::ops::Range<i64>| {
        Node::map([("keyless", Node::list(range.map(Node::int).collect()))].into_iter().collect())
    };
    let start = std::time::Instant::now();
    for rules in BOTH {
        create(&list(0..100_000), &list(50_000..150_000), schema(), rules).expect("a patch");
        create(&scalars(0..100_000), &scalars(50_000..150_000), schema(), rules).expect("a patch");
    }
    // This takes seconds even without optimization; with a quadratic step it would take hours.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}
