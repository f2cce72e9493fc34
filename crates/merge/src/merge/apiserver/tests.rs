//! The API server's treatment of patches, including its quirks.

use crate::merge::testing::{BOTH, check, merged, run, schema};
use crate::merge::{PatchRules, apply};
use crate::schema::{Cursor, Schema};
use smp_text::diagnostic::Code;
use smp_text::yaml::Node;

fn check_server(table: &[(&str, &str, &str)]) {
    check(PatchRules::Apiserver, table);
}

#[test]
fn fields_are_set_added_and_removed() {
    check_server(&[
        ("{name: a, value: b}", "{value: c, number: 1}", "{name: a, value: c, number: 1}"),
        ("{name: a, value: b}", "{value: null, number: null}", "{name: a}"),
        ("{name: a, value: null}", "{}", "{name: a, value: null}"),
        ("{}", "{child: {name: null, labels: {a: null, b: c}}}", "{child: {labels: {b: c}}}"),
        ("{child: {name: a}}", "{child: {value: b}}", "{child: {name: a, value: b}}"),
        ("{child: 5}", "{child: {value: b, name: null}}", "{child: {value: b}}"),
        ("{child: {name: a}}", "{child: b}", "{child: b}"),
        ("{labels: {a: b}}", "{labels: {c: d}}", "{labels: {a: b, c: d}}"),
        ("{replaced: {name: a}}", "{replaced: {value: b, name: null}}", "{replaced: {value: b, name: null}}"),
        ("{numbers: [1, 2]}", "{numbers: [3]}", "{numbers: [3]}"),
        ("{list: [{name: a}]}", "{list: [{name: b, value: null}]}", "{list: [{name: b, value: null}]}"),
    ]);
}

#[test]
fn patch_directives_in_maps_delete_and_replace() {
    check_server(&[
        ("{child: {name: a}}", "{child: {$patch: delete}}", "{child: {}}"),
        ("{}", "{child: {$patch: delete, name: a}}", "{}"),
        ("{child: {name: a}}", "{child: {$patch: replace, value: b}}", "{child: {value: b}}"),
        ("{}", "{child: {$patch: replace, value: b}}", "{}"),
        (
            "{child: {name: a}}",
            "{child: {$patch: merge, value: b}}",
            "Directive: child: `$patch: merge` is not allowed in a map",
        ),
        (
            "{child: {name: a}}",
            "{child: {$patch: remove}}",
            "Directive: child: `remove` is not a value of `$patch`",
        ),
        ("{name: a}", "{$patch: delete}", "deleted"),
        ("{name: a}", "{$patch: replace}", "{}"),
        ("{child: {}}", "{child: null}", "{}"),
        ("{name: a}", "{$patch: replace, value: b}", "{value: b}"),
    ]);
}

#[test]
fn retain_keys_removes_other_fields() {
    check_server(&[
        (
            "{union: {name: a, value: b, number: 1}}",
            "{union: {$retainKeys: [value, number], value: c}}",
            "{union: {value: c, number: 1}}",
        ),
        (
            "{union: {name: a}}",
            "{union: {$retainKeys: [value], value: c, name: null}}",
            "{union: {value: c}}",
        ),
        // Without the directive nothing is cleared.
        ("{union: {name: a}}", "{union: {value: c}}", "{union: {name: a, value: c}}"),
        (
            "{union: {name: a}}",
            "{union: {$retainKeys: [name], value: c}}",
            "Directive: union: the patch sets `value`, which is missing from its `$retainKeys`",
        ),
        ("{child: {name: a}}", "{child: {$retainKeys: []}}", "{child: {}}"),
        (
            "{child: {}}",
            "{child: {$retainKeys: name}}",
            "Directive: child: `$retainKeys` must be a list of field names",
        ),
        ("{child: {}}", "{child: {$retainKeys: [{}]}}", "Directive: child: `$retainKeys` cannot name a map"),
        (
            "{volumes: [{name: a, value: b}]}",
            "{volumes: [{$retainKeys: [name, number], name: a, number: 1}]}",
            "{volumes: [{name: a, number: 1}]}",
        ),
        // The server would leave these directives in the object; they are dropped when it decodes the object.
        ("{}", "{union: {$retainKeys: [value], value: c}}", "{union: {value: c}}"),
    ]);
}

#[test]
fn entries_merge_by_their_key() {
    check_server(&[
        (
            "{byName: [{name: a, value: x}, {name: b}]}",
            "{byName: [{name: a, number: 1}]}",
            "{byName: [{name: a, value: x, number: 1}, {name: b}]}",
        ),
        // Entries that the patch contains are sorted as in the patch.
        (
            "{byName: [{name: a}, {name: b}, {name: c}]}",
            "{byName: [{name: c, value: x}, {name: new}, {name: a}]}",
            "{byName: [{name: b}, {name: c, value: x}, {name: new}, {name: a}]}",
        ),
        (
            "{byName: [{name: a}, {name: b}]}",
            "{byName: [{$patch: delete, name: a}]}",
            "{byName: [{name: b}]}",
        ),
        ("{byName: [{name: a}]}", "{byName: [{$patch: delete, name: a}]}", "{byName: []}"),
        ("{byName: [{name: a}]}", "{byName: [{$patch: delete, name: x}]}", "{byName: [{name: a}]}"),
        (
            "{byName: [{name: a, value: x}]}",
            "{byName: [{$patch: delete, name: a}, {name: a, number: 1}]}",
            "{byName: [{name: a, number: 1}]}",
        ),
        (
            "{byName: [{name: a}, {name: b}]}",
            "{byName: [{$patch: replace}, {name: c}, {$patch: delete, name: x}]}",
            "{byName: [{name: c}]}",
        ),
        ("{byName: [{name: a}]}", "{byName: []}", "{byName: [{name: a}]}"),
        ("{byName: [{name: a}]}", "{byName: null}", "{}"),
        ("{}", "{byName: [{name: a, value: null}, {name: b, $patch: delete}]}", "{byName: [{name: a}]}"),
        // A new entry is added unchanged.
        (
            "{byName: [{name: a}]}",
            "{byName: [{name: b, value: null, byName: [{name: c, $patch: delete}]}]}",
            "{byName: [{name: b, value: null, byName: [{name: c}]}, {name: a}]}",
        ),
        // If several entries have the same key, only the first one is merged, and all of them get the same position.
        (
            "{ports: [{port: 53, protocol: TCP}, {port: 80}, {port: 53, protocol: UDP}]}",
            "{ports: [{port: 53, name: dns}]}",
            "{ports: [{port: 53, protocol: TCP, name: dns}, {port: 53, protocol: UDP}, {port: 80}]}",
        ),
        (
            "{ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]}",
            "{ports: [{$patch: delete, port: 53}]}",
            "{ports: []}",
        ),
        // The list type is ignored.
        ("{atomic: [{name: a}]}", "{atomic: [{name: b}]}", "{atomic: [{name: b}, {name: a}]}"),
        ("{set: [a]}", "{set: [b]}", "{set: [b]}"),
    ]);
}

#[test]
fn entries_without_a_key_are_rejected() {
    check_server(&[
        (
            "{byName: [{name: a}]}",
            "{byName: [{value: x}]}",
            "MissingMergeKey: byName[0]: this entry lacks its merge key `name`",
        ),
        (
            "{byName: [{name: a}, {value: b}]}",
            "{byName: [{name: a}]}",
            "MissingMergeKey: byName[1]: this entry lacks its merge key `name`",
        ),
        (
            "{byName: [{name: a}]}",
            "{byName: [{$patch: delete}]}",
            "MissingMergeKey: byName[0]: this entry lacks its merge key `name`",
        ),
        (
            "{byName: [{name: a}]}",
            "{byName: [{$patch: replace}, {value: x}]}",
            "MissingMergeKey: byName[1]: this entry lacks its merge key `name`",
        ),
        (
            "{byName: [{name: a}]}",
            "{byName: [{$patch: merge, name: a}]}",
            "Directive: byName[0]: `$patch: merge` is not allowed in an entry of a list",
        ),
        (
            "{byName: [{name: [a]}]}",
            "{byName: [{name: [a]}]}",
            "MissingMergeKey: byName[0]: the merge key `name` of this entry must be a string, number or boolean",
        ),
        // Null is a key like any other until the merge removes it.
        (
            "{byName: [{name: null}, {name: a}]}",
            "{byName: [{name: null, $patch: delete}]}",
            "{byName: [{name: a}]}",
        ),
        (
            "{byName: [{name: null}]}",
            "{byName: [{name: null, value: x}]}",
            "MissingMergeKey: byName[0]: this entry lacks its merge key `name`",
        ),
        (
            "{keyless: [{name: a}]}",
            "{keyless: [{name: b}]}",
            "MissingMergeKey: keyless: the schema has no merge key for this list, so maps in it cannot be merged",
        ),
    ]);
    let error = run("{byName: [{name: a}]}", "{byName: [{value: x}]}", schema(), PatchRules::Apiserver);
    let error = error.expect_err("no key");
    assert_eq!(error.labels().len(), 1, "the span of the entry");
    assert!(error.help_text().is_some_and(|help| help.contains("`name`")), "{error:?}");
}

#[test]
fn lists_of_mixed_types_are_rejected() {
    check_server(&[
        (
            "{strings: [a]}",
            "{strings: [1]}",
            "WrongType: strings: the entries of a list that is merged must be of one type, and this is an integer",
        ),
        (
            "{strings: [a]}",
            "{strings: [null]}",
            "WrongType: strings: null cannot be an entry of a list that is merged",
        ),
        ("{strings: [[a]]}", "{strings: []}", "WrongType: strings: lists of lists cannot be merged"),
        (
            "{byName: [{name: a}]}",
            "{byName: [x]}",
            "WrongType: byName: the entries of a list that is merged must be of one type, and this is a string",
        ),
        (
            "{byName: [a]}",
            "{byName: [b]}",
            "WrongType: byName: an entry of this list must be a map and is a string",
        ),
        // All whole numbers have the same type, however they are written.
        ("{keyless: [1]}", "{keyless: [2.0, 0x1]}", "{keyless: [2.0, 1]}"),
    ]);
}

#[test]
fn scalars_form_a_union() {
    check_server(&[
        ("{strings: [a, b]}", "{strings: [c, a]}", "{strings: [c, a, b]}"),
        ("{strings: [a, b, c]}", "{strings: [c]}", "{strings: [a, b, c]}"),
        ("{strings: [a]}", "{strings: [b, b]}", "{strings: [b, a]}"),
        ("{strings: [a, b, a]}", "{$deleteFromPrimitiveList/strings: [a]}", "{strings: [b]}"),
        ("{numbers: [1, 2]}", "{$deleteFromPrimitiveList/numbers: [2, 3]}", "{numbers: [1]}"),
        ("{}", "{$deleteFromPrimitiveList/strings: [a]}", "{}"),
        ("{strings: x}", "{$deleteFromPrimitiveList/strings: [x]}", "{strings: x}"),
        ("{strings: [a]}", "{$deleteFromPrimitiveList/strings: null}", "{}"),
        ("{strings: [a]}", "{$deleteFromPrimitiveList/strings: [b], strings: [b]}", "{strings: [b, a]}"),
        (
            "{strings: [a]}",
            "{$deleteFromPrimitiveList: [a]}",
            "Directive: `$deleteFromPrimitiveList` does not name a field",
        ),
    ]);
}

#[test]
fn set_element_order_orders_the_list() {
    check_server(&[
        (
            "{byName: [{name: a}, {name: b}, {name: c}, {name: d}]}",
            "{$setElementOrder/byName: [{name: d}, {name: a}]}",
            "{byName: [{name: b}, {name: c}, {name: d}, {name: a}]}",
        ),
        (
            "{byName: [{name: a}, {name: b}]}",
            "{$setElementOrder/byName: [{name: b}, {name: n}, {name: a}], byName: [{name: n, value: x}]}",
            "{byName: [{name: b}, {name: n, value: x}, {name: a}]}",
        ),
        (
            "{strings: [a, b, c]}",
            "{$setElementOrder/strings: [c, x, a], strings: [x], $deleteFromPrimitiveList/strings: [b]}",
            "{strings: [c, x, a]}",
        ),
        ("{}", "{$setElementOrder/strings: [b, a], strings: [b, a]}", "{strings: [b, a]}"),
        ("{}", "{$setElementOrder/strings: [b, a]}", "{}"),
        (
            "{byName: [{name: a}, {name: b}]}",
            "{$setElementOrder/byName: [{name: a}], byName: [{$patch: delete, name: b}]}",
            "{byName: [{name: a}]}",
        ),
        (
            "{byName: [{name: a}]}",
            "{$setElementOrder/byName: [{name: a}, {name: b}], byName: [{name: b}, {name: a}]}",
            "Directive: byName[name=a]: this entry is missing from `$setElementOrder/byName` or has another position there",
        ),
        (
            "{byName: []}",
            "{$setElementOrder/byName: [{name: a}]}",
            "Directive: byName: `$setElementOrder/byName` orders a list without entries",
        ),
        (
            "{byName: [{name: a}]}",
            "{$setElementOrder/byName: {}}",
            "WrongType: byName: a field with `$setElementOrder` must be a list and is a map",
        ),
        (
            "{byName: [{name: a}]}",
            "{$setElementOrder/byName: [{name: a}], byName: null}",
            "WrongType: byName: a field with `$setElementOrder` must be a list and is null",
        ),
        (
            "{byName: [{name: a}]}",
            "{$setElementOrder/byName: [{value: a}]}",
            "MissingMergeKey: $setElementOrder/byName[0]: this entry lacks its merge key `name`",
        ),
        (
            "{list: [{name: a}]}",
            "{$setElementOrder/list: [{name: a}]}",
            "MissingMergeKey: list[0]: maps cannot be ordered without a merge key in the schema",
        ),
        ("{}", "{$setElementOrder: []}", "Directive: `$setElementOrder` does not name a field"),
        (
            "{}",
            "{$setElementOrder/nothing: []}",
            "UnknownField: nothing: the schema has no field `nothing` here, so it cannot be merged",
        ),
    ]);
}

#[test]
fn unknown_fields_can_be_set_but_not_merged() {
    check_server(&[
        ("{}", "{unknown: {a: 1}}", "{unknown: {a: 1}}"),
        ("{unknown: 1}", "{unknown: 2}", "{unknown: 2}"),
        (
            "{unknown: {a: 1}}",
            "{unknown: {b: 2}}",
            "UnknownField: unknown: the schema has no field `unknown` here, so it cannot be merged",
        ),
        (
            "{labels: {a: []}}",
            "{labels: {a: []}}",
            "UnknownField: labels.a: the schema has no field `a` here, so it cannot be merged",
        ),
        ("{child: [{name: a}]}", "{child: [{name: b}]}", "{child: [{name: b}]}"),
        ("{labels: [a]}", "{labels: [b]}", "WrongType: labels: the schema declares object here, not a list"),
        ("{name: [a]}", "{name: [b]}", "WrongType: name: the schema declares string here, not a list"),
        // Free-form fields: the maps that contain them merge.
        ("{free: {a: {b: [1], c: 1}}}", "{free: {a: {b: [2]}}}", "{free: {a: {b: [2], c: 1}}}"),
    ]);
    for patch in ["{}", "{$patch: delete}"] {
        let error = run("{}", patch, Cursor::unknown(), PatchRules::Apiserver).expect_err("no schema");
        assert_eq!(error.code(), Code::NoSchema);
    }
}

#[test]
fn only_maps_are_patched() {
    for rules in BOTH {
        assert_eq!(
            merged("[]", "{}", rules),
            "WrongType: the target of a strategic merge patch must be a map and is a list"
        );
        assert_eq!(
            merged("{}", "5", rules),
            "WrongType: a strategic merge patch must be a map and is an integer"
        );
    }
}

#[test]
fn long_lists_are_linear() {
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
        for (dest, patch, name) in [
            (list(0..100_000), list(50_000..150_000), "byName"),
            (scalars(0..100_000), scalars(50_000..150_000), "keyless"),
        ] {
            let merged = apply(dest, &patch, schema(), &Schema::empty(), rules).expect("merged");
            let merged = merged.node.expect("not deleted");
            assert_eq!(merged.get(name).and_then(Node::as_list).map(Vec::len), Some(150_000));
        }
    }
    // The limit allows for builds without optimization; a quadratic step would take hours.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn errors_for_entries_that_are_not_maps_name_the_merge_keys() {
    check_server(&[(
        "{byName: [{name: a}]}",
        "{$setElementOrder/byName: [5], byName: [{name: a}]}",
        "MissingMergeKey: $setElementOrder/byName[0]: this entry must be a map with its merge key `name`, and is an integer",
    )]);
}
