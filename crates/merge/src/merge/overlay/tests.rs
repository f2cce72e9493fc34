//! Overlay merges: list types, map types, defaults of keys, order.

use crate::merge::testing::{check, node, run, schema};
use crate::merge::{PatchRules, apply};
use crate::schema::{Cursor, Schema};
use smp_text::diagnostic::{Code, Severity};
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, ParseOptions, parse_one};

fn check_overlay(table: &[(&str, &str, &str)]) {
    check(PatchRules::Overlay, table);
}

#[test]
fn fields_are_set_added_and_removed() {
    check_overlay(&[
        ("{name: a, value: b}", "{value: c, number: 1}", "{name: a, value: c, number: 1}"),
        ("{name: a, value: b}", "{value: null, number: null}", "{name: a}"),
        ("{name: a, value: null}", "{}", "{name: a, value: null}"),
        ("{labels: {a: b}}", "{labels: {c: d, a: null}}", "{labels: {c: d}}"),
        ("{child: null}", "{child: {value: b}}", "{child: {value: b}}"),
        ("{}", "{child: {}}", "{child: {}}"),
        // A patch that only removes values adds nothing.
        ("{}", "{child: {name: null, child: {$patch: delete}}}", "{}"),
        ("{}", "{byName: [{$patch: delete, name: a}]}", "{}"),
        ("{}", "{child: {name: null, value: a}}", "{child: {value: a}}"),
    ]);
}

#[test]
fn values_keep_their_position_and_comments() {
    let sources = SourceMap::default();
    let id = sources.add("t.yaml", "name: a # why\nvalue: b\nnumber: 1\n");
    let options = ParseOptions { keep_comments: true, ..ParseOptions::default() };
    let dest = parse_one(&sources, id, options).expect("valid");
    let patch = node("{child: {}, value: c, name: d}");
    let merged = apply(dest, &patch, schema(), &Schema::empty(), PatchRules::Overlay).expect("merged");
    let dest = merged.node.expect("not deleted");
    let map = dest.as_map().expect("a map");
    assert_eq!(map.iter().map(|(k, _)| k).collect::<Vec<_>>(), ["name", "value", "number", "child"]);
    let comments = map.get("name").and_then(|n| n.meta.comments.as_ref()).expect("kept");
    assert_eq!(comments.line.as_deref(), Some("# why"));
    assert_eq!(map.get("name").map(Node::span), patch.get("name").map(Node::span), "the patch set it");
}

#[test]
fn patch_directives_in_maps_delete_and_replace() {
    check_overlay(&[
        ("{child: {name: a}, name: x}", "{child: {$patch: delete}}", "{name: x}"),
        ("{child: {name: a}}", "{child: {$patch: replace, value: b}}", "{child: {value: b}}"),
        ("{}", "{child: {$patch: replace, value: b}}", "{child: {value: b}}"),
        ("{child: {name: a}}", "{child: {$patch: merge, value: b}}", "{child: {name: a, value: b}}"),
        (
            "{child: {name: a}}",
            "{child: {$patch: remove}}",
            "Directive: child: `remove` is not a value of `$patch`",
        ),
        ("{name: a}", "{$patch: delete}", "deleted"),
        ("{name: a}", "{$patch: replace}", "{}"),
        ("{name: a}", "{$patch: merge, name: null}", "{}"),
        ("{name: a}", "{$patch: replace, byName: [{name: a, $patch: delete}], value: b}", "{value: b}"),
    ]);
}

#[test]
fn atomic_maps_are_replaced() {
    check_overlay(&[
        ("{atomicMap: {name: a, value: b}}", "{atomicMap: {name: c}}", "{atomicMap: {name: c}}"),
        ("{atomicMap: {name: a}}", "{atomicMap: {name: null}}", "{atomicMap: {}}"),
        ("{atomicMap: {name: a}}", "{atomicMap: {$patch: delete}}", "{}"),
        ("{replaced: {name: a, value: b}}", "{replaced: {name: c}}", "{replaced: {name: c}}"),
    ]);
}

#[test]
fn retain_keys_removes_fields_that_the_patch_lacks() {
    check_overlay(&[
        ("{union: {name: a, value: b}}", "{union: {value: c}}", "{union: {value: c}}"),
        (
            "{union: {name: a, child: {name: x, value: y}}}",
            "{union: {child: {value: z}}}",
            "{union: {child: {name: x, value: z}}}",
        ),
        (
            "{union: {name: a, value: b}}",
            "{union: {$retainKeys: [name, value], value: c}}",
            "{union: {name: a, value: c}}",
        ),
        ("{union: {name: a, value: b}}", "{union: {name: null}}", "{union: {value: b}}"),
        ("{union: {name: a, value: b}}", "{union: {}}", "{union: {name: a, value: b}}"),
        (
            "{volumes: [{name: a, value: x, number: 1}, {name: b, value: y}]}",
            "{volumes: [{name: a, number: 2}]}",
            "{volumes: [{name: a, number: 2}, {name: b, value: y}]}",
        ),
    ]);
}

#[test]
fn merged_entries_keep_their_position() {
    check_overlay(&[
        (
            "{byName: [{name: a}, {name: b, value: x}, {name: c}]}",
            "{byName: [{name: new}, {name: c, number: 1}, {name: b, number: 2}]}",
            "{byName: [{name: a}, {name: b, value: x, number: 2}, {name: c, number: 1}, {name: new}]}",
        ),
        (
            "{byName: [{name: a}, {name: b}]}",
            "{byName: [{$patch: delete, name: a}]}",
            "{byName: [{name: b}]}",
        ),
        (
            "{byName: [{name: a}]}",
            "{byName: [{$patch: merge, name: a, value: x}]}",
            "{byName: [{name: a, value: x}]}",
        ),
        (
            "{byName: [{name: a}]}",
            "{byName: [{$patch: replace}, {name: c, value: null}, {$patch: delete, name: x}]}",
            "{byName: [{name: c}]}",
        ),
        ("{byName: [{name: a}]}", "{byName: []}", "{byName: [{name: a}]}"),
        // New entries are merged into empty ones, so their directives are applied.
        (
            "{byName: [{name: a}]}",
            "{byName: [{name: b, value: null, byName: [{name: c, $patch: delete}, {name: d}]}]}",
            "{byName: [{name: a}, {name: b, byName: [{name: d}]}]}",
        ),
        // An existing entry without a key stays.
        (
            "{byName: [{value: x}, {name: a}]}",
            "{byName: [{name: a, number: 1}]}",
            "{byName: [{value: x}, {name: a, number: 1}]}",
        ),
        // Without a list type, only the first of several entries with the same key is merged.
        (
            "{first: [{name: a}, {name: a}]}",
            "{first: [{name: a, value: x}]}",
            "{first: [{name: a, value: x}, {name: a}]}",
        ),
    ]);
}

#[test]
fn ports_match_with_the_default_protocol() {
    check_overlay(&[
        (
            "{ports: [{port: 53}, {port: 80}]}",
            "{ports: [{port: 53, protocol: UDP}, {port: 80, protocol: TCP, name: web}]}",
            "{ports: [{port: 53}, {port: 80, protocol: TCP, name: web}, {port: 53, protocol: UDP}]}",
        ),
        (
            "{ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]}",
            "{ports: [{port: 53, name: dns}]}",
            "{ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP, name: dns}]}",
        ),
        ("{ports: [{port: 53}]}", "{ports: [{$patch: delete, port: 53, protocol: TCP}]}", "{ports: []}"),
        (
            "{ports: [{port: 53}]}",
            "{ports: [{protocol: UDP}]}",
            "MissingMergeKey: ports[0]: this entry lacks its merge key `port`",
        ),
    ]);
}

#[test]
fn list_type_decides_how_lists_merge() {
    check_overlay(&[
        ("{atomic: [{name: a}]}", "{atomic: [{name: b}]}", "{atomic: [{name: b}]}"),
        ("{list: [{name: a}]}", "{list: [{name: b, value: null}]}", "{list: [{name: b}]}"),
        ("{numbers: [1, 2]}", "{numbers: []}", "{numbers: []}"),
        ("{set: [a, b]}", "{set: [c, b, c]}", "{set: [a, b, c]}"),
        ("{strings: [a, b]}", "{strings: [c, b]}", "{strings: [a, b, c]}"),
        ("{set: [a, b]}", "{set: [{$patch: replace}, c]}", "{set: [c]}"),
        ("{keyless: [{name: a}]}", "{keyless: [{name: b}, {name: a}]}", "{keyless: [{name: a}, {name: b}]}"),
        ("{set: [a, b, a]}", "{$deleteFromPrimitiveList/set: [a]}", "{set: [b]}"),
        (
            "{set: [a]}",
            "{$deleteFromPrimitiveList/set: a}",
            "Directive: set: `$deleteFromPrimitiveList/set` must be a list and is a string",
        ),
        (
            "{atomic: [{name: a}]}",
            "{atomic: [{$patch: delete, name: a}]}",
            "Directive: atomic[0]: `$patch` is not allowed in an entry of this list, because the list has no merge key",
        ),
    ]);
}

#[test]
fn set_element_order_orders_the_list() {
    check_overlay(&[
        (
            "{byName: [{name: a}, {name: b}, {name: c}]}",
            "{$setElementOrder/byName: [{name: new}, {name: c}, {name: a}], byName: [{name: new}]}",
            "{byName: [{name: b}, {name: new}, {name: c}, {name: a}]}",
        ),
        (
            "{ports: [{port: 53}, {port: 53, protocol: UDP}]}",
            "{$setElementOrder/ports: [{port: 53, protocol: UDP}, {port: 53}]}",
            "{ports: [{port: 53, protocol: UDP}, {port: 53}]}",
        ),
        ("{set: [a, b, c]}", "{$setElementOrder/set: [c, a]}", "{set: [b, c, a]}"),
        ("{}", "{$setElementOrder/set: [c, a]}", "{}"),
        (
            "{}",
            "{$setElementOrder/set: a}",
            "Directive: set: `$setElementOrder/set` must be a list and is a string",
        ),
        ("{}", "{$setElementOrder: [a]}", "Directive: `$setElementOrder` does not name a field"),
    ]);
}

#[test]
fn duplicate_and_ambiguous_entries_are_rejected() {
    check_overlay(&[
        (
            "{}",
            "{byName: [{name: a}, {name: b}, {name: a}]}",
            "DuplicateMergeKey: byName: entries 0 and 2 of this list have the same `name`",
        ),
        (
            "{ports: [{port: 1}]}",
            "{ports: [{port: 1}, {port: 1, protocol: TCP}]}",
            "DuplicateMergeKey: ports: entries 0 and 1 of this list have the same `port` and `protocol`",
        ),
        (
            "{recommended: [{foo: a}]}",
            "{recommended: [{foo: a}, {$patchMergeKey: [foo], foo: a}]}",
            "DuplicateMergeKey: recommended: entries 0 and 1 of this list match the same entry",
        ),
        (
            "{byName: [{name: a}, {name: b}, {name: a}]}",
            "{byName: [{name: a, value: x}]}",
            "Ambiguous: byName[0]: this entry of the patch matches 2 entries: [0], [2]",
        ),
        // Entries that the patch does not touch are not checked.
        (
            "{byName: [{name: a}, {name: b}, {name: a}]}",
            "{byName: [{name: b}]}",
            "{byName: [{name: a}, {name: b}, {name: a}]}",
        ),
        // A deletion removes all matches.
        (
            "{byName: [{name: a}, {name: b}, {name: a}]}",
            "{byName: [{$patch: delete, name: a}]}",
            "{byName: [{name: b}]}",
        ),
        (
            "{byName: [{name: a}]}",
            "{byName: [{value: x}]}",
            "MissingMergeKey: byName[0]: this entry lacks its merge key `name`",
        ),
        (
            "{byName: [{name: a}]}",
            "{byName: [x]}",
            "WrongType: byName[0]: an entry of this list must be a map and is a string",
        ),
    ]);
}

#[test]
fn maps_and_lists_are_not_replaced_by_other_types() {
    check_overlay(&[
        (
            "{child: {name: a}}",
            "{child: [a]}",
            "WrongType: child: the field is a map in the base and a list in the patch",
        ),
        (
            "{list: []}",
            "{list: {a: b}}",
            "WrongType: list: the field is a list in the base and a map in the patch",
        ),
        (
            "{byName: [{name: a, child: {}}]}",
            "{byName: [{name: a, child: 5}]}",
            "WrongType: byName[name=a].child: the field is a map in the base and an integer in the patch",
        ),
        // Values without a type, values that already had a wrong type, and new values.
        ("{name: a}", "{name: {}}", "{name: {}}"),
        ("{name: {a: b}}", "{name: x}", "{name: x}"),
        ("{child: placeholder}", "{child: {name: a}}", "{child: {name: a}}"),
        ("{}", "{labels: placeholder}", "{labels: placeholder}"),
        ("{free: {a: 1}}", "{free: [x]}", "{free: [x]}"),
        ("{unknown: {a: 1}}", "{unknown: [x]}", "{unknown: [x]}"),
    ]);
}

#[test]
fn without_a_schema_maps_merge_and_lists_are_replaced() {
    let merged = run(
        "{a: {b: 1}, list: [{name: x}], same: [1], empty: []}",
        "{a: {c: 2}, list: [{name: y}], same: [1], empty: [1], new: [1]}",
        Cursor::unknown(),
        PatchRules::Overlay,
    );
    let merged = merged.expect("merged");
    let want = node("{a: {b: 1, c: 2}, list: [{name: y}], same: [1], empty: [1], new: [1]}");
    assert_eq!(merged.node, Some(want));
    let [note] = merged.warnings.as_slice() else {
        panic!("one list had entries that went: {:?}", merged.warnings)
    };
    assert_eq!(
        (note.severity(), note.code(), note.field_path()),
        (Severity::Warning, Code::NoSchema, Some("list"))
    );
    assert_eq!(note.labels().len(), 1);
    let known = run("{list: [1]}", "{list: [2]}", schema(), PatchRules::Overlay).expect("merged");
    assert_eq!(known.warnings, [], "known to be replaced");
}

#[test]
fn later_change_of_secret_data_or_string_data_wins() {
    let secret = |values: &str| format!("{{apiVersion: v1, kind: Secret, {values}}}");
    let table = [
        ("stringData: {a: x, b: q}", "data: {a: eQ==}", "stringData: {b: q}, data: {a: eQ==}"),
        ("stringData: {a: x}", "data: {a: eQ==}", "data: {a: eQ==}"),
        ("data: {a: eQ==}", "stringData: {a: x}", "data: {a: eQ==}, stringData: {a: x}"),
        ("stringData: {a: x}, type: t", "data: {a: null}", "type: t"),
        ("data: {a: eQ==, b: eQ==}", "stringData: {a: null}", "data: {b: eQ==}"),
        ("stringData: {a: x}", "data: {a: eQ==}, stringData: {a: z}", "stringData: {a: z}, data: {a: eQ==}"),
    ];
    let table = table.map(|(dest, patch, want)| (secret(dest), secret(patch), secret(want)));
    check_overlay(
        &table.each_ref().map(|(dest, patch, want)| (dest.as_str(), patch.as_str(), want.as_str())),
    );
    check_overlay(&[(
        "{kind: Secret, stringData: {a: x}}",
        "{data: {a: y}}",
        "{kind: Secret, stringData: {a: x}, data: {a: y}}",
    )]);
}
