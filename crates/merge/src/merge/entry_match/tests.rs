//! Lists with several merge keys, and `$patchMergeKey`.

use crate::merge::PatchRules;
use crate::merge::testing::{BOTH, check, merged, node, run, schema};

fn check_both(table: &[(&str, &str, &str)]) {
    for rules in BOTH {
        check(rules, table);
    }
}

#[test]
fn comma_separated_merge_keys_must_all_match() {
    let live = "both: [{foo: a, bar: x, other: 1}, {foo: a, bar: y, other: 2}, {foo: b, bar: x, other: 3}]";
    check_both(&[
        (
            live,
            "both: [{foo: a, bar: x, other: 4, another: val}]",
            "{both: [{foo: a, bar: x, other: 4, another: val}, {foo: a, bar: y, other: 2}, \
             {foo: b, bar: x, other: 3}]}",
        ),
        (
            live,
            "both: [{$patch: delete, foo: a, bar: x}]",
            "{both: [{foo: a, bar: y, other: 2}, {foo: b, bar: x, other: 3}]}",
        ),
        (live, "both: [{foo: a}]", "MissingMergeKey: both[0]: this entry lacks its merge key `bar`"),
        (
            live,
            "both: [{other: 1}]",
            "MissingMergeKey: both[0]: this entry lacks its merge keys `foo`, `bar`",
        ),
        (
            live,
            "both: [{$patch: delete, bar: x}]",
            "MissingMergeKey: both[0]: this entry lacks its merge key `foo`",
        ),
    ]);
    check(
        PatchRules::Apiserver,
        &[
            (
                live,
                "both: [{foo: b, bar: y}]",
                "{both: [{foo: b, bar: y}, {foo: a, bar: x, other: 1}, \
              {foo: a, bar: y, other: 2}, {foo: b, bar: x, other: 3}]}",
            ),
            (
                "both: [{foo: a}]",
                "both: [{foo: b, bar: y}]",
                "MissingMergeKey: both[0]: this entry lacks its merge key `bar`",
            ),
            (
                live,
                "{$setElementOrder/both: [{foo: b, bar: x}, {foo: a, bar: y}, {foo: a, bar: x}], \
                 both: [{foo: a, bar: y, other: 5}]}",
                "{both: [{foo: b, bar: x, other: 3}, {foo: a, bar: y, other: 5}, {foo: a, bar: x, other: 1}]}",
            ),
        ],
    );
    check(
        PatchRules::Overlay,
        &[(
            live,
            "both: [{foo: b, bar: y}]",
            "{both: [{foo: a, bar: x, other: 1}, \
            {foo: a, bar: y, other: 2}, {foo: b, bar: x, other: 3}, {foo: b, bar: y}]}",
        )],
    );
}

#[test]
fn a_named_key_that_the_entry_lacks_must_be_absent() {
    let live = "recommended: [{foo: a}, {foo: a, bar: x}]";
    check_both(&[
        (
            live,
            "recommended: [{$patchMergeKey: [foo, bar], foo: a, other: val}]",
            "{recommended: [{foo: a, other: val}, {foo: a, bar: x}]}",
        ),
        (
            live,
            "recommended: [{$patchMergeKey: [foo, bar], foo: a, bar: x, other: val}]",
            "{recommended: [{foo: a}, {foo: a, bar: x, other: val}]}",
        ),
        (
            "recommended: [{foo: a, bar: null}, {foo: a, bar: x}]",
            "recommended: [{$patchMergeKey: [foo, bar], foo: a, other: val}]",
            "{recommended: [{foo: a, bar: null, other: val}, {foo: a, bar: x}]}",
        ),
    ]);
}

#[test]
fn without_patch_merge_key_the_default_key_is_used() {
    check_both(&[(
        "recommended: [{foo: a, bar: y}]",
        "recommended: [{foo: a, bar: x, other: val}]",
        "{recommended: [{foo: a, bar: x, other: val}]}",
    )]);
    // Several matches: the first one is merged.
    check(
        PatchRules::Overlay,
        &[(
            "recommended: [{foo: b}, {foo: a, bar: x}, {foo: a, bar: y}]",
            "recommended: [{foo: a, other: val}]",
            "{recommended: [{foo: b}, {foo: a, bar: x, other: val}, {foo: a, bar: y}]}",
        )],
    );
    // The API server treats both as one entry and gives them the same position.
    check(
        PatchRules::Apiserver,
        &[(
            "recommended: [{foo: a, bar: x}, {foo: b}, {foo: a, bar: y}]",
            "recommended: [{foo: b, other: val}]",
            "{recommended: [{foo: a, bar: x}, {foo: a, bar: y}, {foo: b, other: val}]}",
        )],
    );
}

#[test]
fn a_subset_of_the_keys_must_match_one_entry() {
    let live = "recommended: [{foo: a, other: 0}, {foo: b, bar: x, other: 1}, {foo: b, bar: x, other: 2}]";
    check_both(&[
        (
            live,
            "recommended: [{$patchMergeKey: [foo], foo: a, other: 3}]",
            "{recommended: [{foo: a, other: 3}, {foo: b, bar: x, other: 1}, {foo: b, bar: x, other: 2}]}",
        ),
        (
            live,
            "recommended: [{$patchMergeKey: [foo], foo: b, other: 3}]",
            "Ambiguous: recommended[0]: this entry of the patch matches 2 entries: [1], [2]",
        ),
        (
            live,
            "recommended: [{$patchMergeKey: [foo, bar], foo: b, bar: x, other: 3}]",
            "Ambiguous: recommended[0]: this entry of the patch matches 2 entries: [1], [2]",
        ),
        // Deletions remove all matches.
        (
            live,
            "recommended: [{$patchMergeKey: [foo], $patch: delete, foo: b}]",
            "{recommended: [{foo: a, other: 0}]}",
        ),
    ]);
    let error = run(live, "recommended: [{$patchMergeKey: [foo], foo: b}]", schema(), PatchRules::Overlay);
    assert_eq!(error.expect_err("ambiguous").labels().len(), 3, "the entry and both matches");
}

#[test]
fn fields_that_are_keys_can_be_added_removed_and_changed() {
    let live = "recommended: [{foo: a, bar: x}, {foo: a, bar: y}]";
    check_both(&[
        (
            live,
            "recommended: [{$patchMergeKey: [foo, bar], foo: a, bar: x, baz: m}]",
            "{recommended: [{foo: a, bar: x, baz: m}, {foo: a, bar: y}]}",
        ),
        // A null key matches the first entry that has the key.
        (
            live,
            "recommended: [{$patchMergeKey: [foo, bar], foo: a, bar: null}]",
            "{recommended: [{foo: a}, {foo: a, bar: y}]}",
        ),
        // If no entry has the key, the entry without it matches.
        (
            "recommended: [{foo: b, bar: x}, {foo: a}]",
            "recommended: [{$patchMergeKey: [foo, bar], foo: a, bar: null, other: 1}]",
            "{recommended: [{foo: b, bar: x}, {foo: a, other: 1}]}",
        ),
        // A changed key results in a deletion and a new entry.
        (
            "recommended: [{foo: a, bar: x, other: val}]",
            "recommended: [{$patchMergeKey: [foo, bar], $patch: delete, foo: a, bar: x}, \
             {$patchMergeKey: [foo, bar], foo: a, bar: y}]",
            "{recommended: [{foo: a, bar: y}]}",
        ),
        // A key that is not in `$patchMergeKey` is an ordinary field.
        (
            "recommended: [{foo: a, bar: x, other: val}]",
            "recommended: [{$patchMergeKey: [foo], foo: a, bar: y}]",
            "{recommended: [{foo: a, bar: y, other: val}]}",
        ),
        // All entries with the key are deleted.
        (
            "recommended: [{foo: a, bar: x}, {foo: a}, {foo: a, bar: y}]",
            "recommended: [{$patchMergeKey: [foo, bar], $patch: delete, foo: a, bar: null}]",
            "{recommended: [{foo: a}]}",
        ),
    ]);
}

#[test]
fn entries_of_one_list_may_differ_in_their_directive() {
    check_both(&[(
        "recommended: [{foo: a}, {foo: a, bar: x}, {foo: b, bar: x}]",
        "recommended: [{$patchMergeKey: [foo, bar], foo: a, bar: x, other: 1}, {foo: b, other: 2}, \
         {$patchMergeKey: [foo], $patch: delete, foo: c}]",
        "{recommended: [{foo: a}, {foo: a, bar: x, other: 1}, {foo: b, bar: x, other: 2}]}",
    )]);
}

#[test]
fn the_directive_never_reaches_the_output() {
    let entry = "{$patchMergeKey: [foo, bar], foo: a, bar: x}";
    for (dest, patch) in [
        ("{}", format!("recommended: [{entry}]")),
        ("recommended: []", format!("recommended: [{entry}]")),
        ("recommended: [{foo: b}]", format!("recommended: [{entry}]")),
        ("recommended: 5", format!("recommended: [{entry}]")),
        ("recommended: [{foo: b}]", format!("recommended: [{{$patch: replace}}, {entry}]")),
        ("byName: [{name: b}]", format!("byName: [{{name: a, recommended: [{entry}]}}]")),
        ("list: [{name: b}]", format!("list: [{{name: a, recommended: [{entry}]}}]")),
        ("replaced: {name: b}", format!("replaced: {{recommended: [{entry}]}}")),
    ] {
        for rules in BOTH {
            let got = merged(dest, &patch, rules);
            assert!(got.contains(r#"{"bar":"x","foo":"a"}"#) && !got.contains('$'), "{dest} {patch} {got}");
        }
    }
}

#[test]
fn malformed_directives_are_rejected() {
    let live = "{recommended: [{foo: a}], both: [{foo: a, bar: x}]}";
    check_both(&[
        (
            live,
            "recommended: [{$patchMergeKey: foo, foo: a}]",
            "Directive: recommended[0]: `$patchMergeKey` must be a list of field names",
        ),
        (
            live,
            "recommended: [{$patchMergeKey: [], foo: a}]",
            "Directive: recommended[0]: `$patchMergeKey` must be a list of field names",
        ),
        (
            live,
            "recommended: [{$patchMergeKey: [foo, 1], foo: a}]",
            "Directive: recommended[0]: `$patchMergeKey` must be a list of field names",
        ),
        (
            live,
            "recommended: [{$patchMergeKey: [bar], foo: a, bar: x}]",
            "Directive: recommended[0]: `$patchMergeKey` must name the default merge key `foo`",
        ),
        (
            live,
            "both: [{$patchMergeKey: [foo], foo: a}]",
            "Directive: both[0]: `$patchMergeKey` must name the default merge key `bar`",
        ),
        (
            live,
            "recommended: [{$patchMergeKey: [foo, other], foo: a}]",
            "Directive: recommended[0]: `other` is not a merge key of this list",
        ),
        (
            live,
            "recommended: [{$patchMergeKey: [foo, bar], bar: x}]",
            "MissingMergeKey: recommended[0]: this entry lacks its merge key `foo`",
        ),
        (
            live,
            "recommended: [{$patchMergeKey: [foo, bar], foo: a, bar: {}}]",
            "Directive: recommended[0]: the key `bar` in `$patchMergeKey` is not a scalar",
        ),
    ]);
}

#[test]
fn overlay_rules_use_schema_defaults_for_named_keys() {
    let patch = "ports: [{$patchMergeKey: [port, protocol], port: 53, protocol: TCP, name: dns}]";
    check(
        PatchRules::Overlay,
        &[
            ("ports: [{port: 53}]", patch, "{ports: [{port: 53, protocol: TCP, name: dns}]}"),
            // An exact match takes precedence.
            (
                "ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]",
                patch,
                "{ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP, name: dns}]}",
            ),
        ],
    );
    check(
        PatchRules::Apiserver,
        &[("ports: [{port: 53}]", patch, "{ports: [{port: 53, protocol: TCP, name: dns}, {port: 53}]}")],
    );
}

#[test]
fn patch_merge_key_merges_lists_without_a_schema() {
    let patch = "free: {items: [{$patchMergeKey: [id], id: 2, x: new}, {$patchMergeKey: [id], id: 3}]}";
    let merged_list =
        run("free: {items: [{id: 1}, {id: 2, x: old, y: 1}]}", patch, schema(), PatchRules::Overlay)
            .expect("merged");
    let want = node("free: {items: [{id: 1}, {id: 2, x: new, y: 1}, {id: 3}]}");
    assert_eq!((merged_list.node, merged_list.warnings), (Some(want), Vec::new()));
    let mixed = "free: {items: [{$patchMergeKey: [id], id: 2}, {id: 3}]}";
    assert_eq!(
        merged("free: {items: [{id: 1}]}", mixed, PatchRules::Overlay),
        "MissingMergeKey: free.items[1]: no merge key is known for this list, and this entry does not name one"
    );
}
