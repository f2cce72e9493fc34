//! Merge keys that a patch entry selects with `$patchMergeKey`.

use smp_merge::merge::{Exceptions, MergeRules, PatchRules, Rules, apply};
use smp_merge::schema::{Gvk, Schema};

use super::{BOTH, SCHEMA, check, node, read};

const KUSTOMIZE: Rules = Rules::Merge(MergeRules::Kustomize { exceptions: Exceptions::Documented });

/// "the default merge key must be present in the patch, i.e. the first key in the recommended merge keys must be
/// used." — "This directive contains a list of strings which are the merge keys used in this patch."
#[test]
fn the_directive_names_the_default_key_and_merge_keys_alone() {
    let live = "recommended: [{foo: a, bar: x}]";
    check(
        &BOTH,
        &[
            (
                live,
                "recommended: [{$patchMergeKey: [bar], foo: a, bar: x}]",
                "!must name the default merge key `foo`",
            ),
            (live, "recommended: [{$patchMergeKey: [foo, bar], bar: x}]", "!lacks its merge key `foo`"),
            (live, "recommended: [{$patchMergeKey: [foo], foo: null}]", "!lacks its merge key `foo`"),
            (live, "recommended: [{$patchMergeKey: foo, foo: a}]", "!must be a list of field names"),
            (live, "recommended: [{$patchMergeKey: [foo, 1], foo: a}]", "!must be a list of field names"),
            (
                live,
                "recommended: [{$patchMergeKey: [foo, other, another], foo: a}]",
                "!`other`, `another` are not merge keys",
            ),
            (
                "both: [{foo: a, bar: x}]",
                "both: [{$patchMergeKey: [other], foo: a}]",
                "!must name the default merge keys `foo`, `bar`",
            ),
            (
                "both: [{foo: a, bar: x}]",
                "both: [{$patchMergeKey: [foo, bar]}]",
                "!lacks its merge keys `foo`, `bar`",
            ),
        ],
    );
}

/// "the first key in the recommended merge keys must be used", whether the list exists or not. A key is listed
/// once and is a field of the entries, whether keys are recommended or not.
#[test]
fn named_keys_are_checked_without_a_live_list_and_without_recommended_keys() {
    let bar = "recommended: [{$patchMergeKey: [bar], foo: a, bar: x}]";
    let default = "!must name the default merge key `foo`";
    let twice = "!names `foo` twice";
    let unknown = "!`bogus` in `$patchMergeKey` is not a field";
    check(
        &BOTH,
        &[
            ("{}", bar, default),
            ("recommended: null", bar, default),
            ("recommended: []", bar, default),
            ("recommended: [{foo: a}]", "recommended: [{$patchMergeKey: [foo, foo], foo: a}]", twice),
            ("plain: [{foo: a}]", "plain: [{$patchMergeKey: [foo, foo], foo: a}]", twice),
            ("plain: [{foo: a}]", "plain: [{$patchMergeKey: [foo, bogus], foo: a}]", unknown),
            ("{}", "plain: [{$patchMergeKey: [foo, bogus], foo: a}]", unknown),
            (
                "plain: [{foo: a}, {foo: a, bar: x}]",
                "plain: [{$patchMergeKey: [foo, bar], foo: a, bar: x, other: 1}]",
                "plain: [{foo: a}, {foo: a, bar: x, other: 1}]",
            ),
        ],
    );
    let schema = Schema::embedded();
    let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
    for keys in ["[name, bogus]", "[name, name]"] {
        for rules in [PatchRules::Apiserver.into(), PatchRules::Overlay.into(), KUSTOMIZE] {
            let live = node("{apiVersion: v1, kind: Pod, spec: {containers: [{name: a}]}}");
            let patch = node(&format!("spec: {{containers: [{{$patchMergeKey: {keys}, name: a}}]}}"));
            assert!(apply(live, &patch, pod, &schema, rules).is_err(), "{rules:?} {keys}");
        }
    }
}

/// "This directive should present in each entry in the list when using." Anywhere else it is an error.
#[test]
fn directive_outside_list_entries_is_rejected() {
    let outside = "!`$patchMergeKey` has no effect outside an entry of a list";
    check(
        &BOTH,
        &[
            ("{}", "$patchMergeKey: [foo]", outside),
            ("nested: {set: [a]}", "nested: {$patchMergeKey: [foo], set: [b]}", outside),
            ("{}", "nested: {$patchMergeKey: [foo], set: [b]}", outside),
            ("plain: [{foo: a}]", "plain: [{foo: a, other: {$patchMergeKey: [foo], x: 1}}]", outside),
        ],
    );
    // Kustomization builds remove it and print a warning.
    let (schema, kustomize) = (Schema::empty(), KUSTOMIZE);
    let graph = read(SCHEMA).expect("readable");
    let kind = graph.named("Thing").expect("defined");
    for (live, patch, want) in [
        ("x: 1", "$patchMergeKey: [foo]", "x: 1"),
        ("nested: {set: [a]}", "nested: {$patchMergeKey: [foo], set: null}", "nested: {}"),
        ("x: 1", "{nested: {$patchMergeKey: [foo], y: 1}, x: 1}", "{x: 1, nested: {y: 1}}"),
        (
            "plain: [{foo: a}]",
            "plain: [{foo: a, other: {$patchMergeKey: [foo], x: 1}}]",
            "plain: [{foo: a, other: {x: 1}}]",
        ),
    ] {
        let merged = apply(node(live), &node(patch), kind, &schema, kustomize).expect("merged");
        assert_eq!(merged.node, Some(node(want)), "{patch}");
        let said: Vec<_> = merged.warnings.iter().map(ToString::to_string).collect();
        assert!(said.len() == 1 && said[0].contains(&outside[1..]), "{patch}: {said:?}");
    }
}

/// "This directive should present in each entry in the list when using." — "Otherwise, we will use the merge keys
/// provided by the directive." It applies to its own entry only, and never reaches the output.
#[test]
fn directive_applies_to_its_own_entry() {
    check(
        &BOTH,
        &[(
            "two: [{foo: a}, {foo: a, bar: x}, {foo: b}]",
            "two: [{$patchMergeKey: [foo, bar], foo: a, bar: x, other: val}, {foo: b, other: 2}]",
            "two: [{foo: a}, {foo: a, bar: x, other: val}, {foo: b, other: 2}]",
        )],
    );
}

/// "*Note*: Deletion operations will take effect on all matching items in the list."
#[test]
fn deletion_removes_all_matching_items() {
    let live = "two: [{foo: a, bar: x}, {foo: b}, {foo: a, bar: y}]";
    check(
        &BOTH,
        &[
            (live, "two: [{$patch: delete, foo: a}]", "two: [{foo: b}]"),
            (live, "two: [{$patchMergeKey: [foo], $patch: delete, foo: a}]", "two: [{foo: b}]"),
            (
                live,
                "two: [{$patchMergeKey: [foo, bar], $patch: delete, foo: a, bar: y}]",
                "two: [{foo: a, bar: x}, {foo: b}]",
            ),
        ],
    );
}

/// "when merging, this key is required to be not present to match an item in the list."
#[test]
fn a_named_key_that_is_not_in_the_patch_must_be_absent() {
    let live = "two: [{foo: a}, {foo: a, bar: x}]";
    check(
        &BOTH,
        &[
            (
                live,
                "two: [{$patchMergeKey: [foo, bar], foo: a, other: val}]",
                "two: [{foo: a, other: val}, {foo: a, bar: x}]",
            ),
            (
                live,
                "two: [{$patchMergeKey: [foo, bar], foo: a, bar: x, other: val}]",
                "two: [{foo: a}, {foo: a, bar: x, other: val}]",
            ),
        ],
    );
    check(
        &[PatchRules::Overlay],
        &[(
            "two: [{foo: a, bar: x}]",
            "two: [{$patchMergeKey: [foo, bar], foo: a, other: val}]",
            "two: [{foo: a, bar: x}, {foo: a, other: val}]",
        )],
    );
}

/// "When there is no `$patchMergeKey` list in the patch, the server will use the default merge key when merging."
#[test]
fn without_the_directive_the_default_key_is_used() {
    check(
        &BOTH,
        &[
            (
                "two: [{foo: a, bar: y}]",
                "two: [{foo: a, bar: x, other: val}]",
                "two: [{foo: a, bar: x, other: val}]",
            ),
            (
                "two: [{foo: a, bar: y}, {foo: a, bar: z}]",
                "two: [{foo: a, bar: x, other: val}]",
                "two: [{foo: a, bar: x, other: val}, {foo: a, bar: z}]",
            ),
        ],
    );
}

/// "the server will try to use the existing part of merge keys to uniquely identify an entry in the list. The server
/// will reject the patch if the existing part of merge keys actually matches more than one entry in the live list."
/// — "When `$patchMergeKey` has all of the merge keys, it should uniquely identify an item in the list."
#[test]
fn several_matches_of_named_keys_are_rejected() {
    let live = "two: [{foo: a, other: 0}, {foo: b, bar: x, other: 1}, {foo: b, bar: x, other: 2}]";
    check(
        &BOTH,
        &[
            (
                live,
                "two: [{$patchMergeKey: [foo], foo: a, other: 3}]",
                "two: [{foo: a, other: 3}, {foo: b, bar: x, other: 1}, {foo: b, bar: x, other: 2}]",
            ),
            (
                live,
                "two: [{$patchMergeKey: [foo], foo: b, other: 3}]",
                "!this entry of the patch matches 2 entries",
            ),
            (
                live,
                "two: [{$patchMergeKey: [foo, bar], foo: b, bar: x}]",
                "!this entry of the patch matches 2 entries",
            ),
        ],
    );
}

/// "When the user adds or deletes a field which is a merge key, the patch will use the the original values of the
/// merge keys to identify the items."
#[test]
fn keys_can_be_added_and_removed() {
    let live = "recommended: [{foo: a, bar: x}, {foo: a, bar: y}]";
    check(
        &BOTH,
        &[
            (
                live,
                "recommended: [{$patchMergeKey: [foo, bar], foo: a, bar: x, baz: m}]",
                "recommended: [{foo: a, bar: x, baz: m}, {foo: a, bar: y}]",
            ),
            (
                live,
                "recommended: [{$patchMergeKey: [foo, bar], foo: a, bar: null}]",
                "recommended: [{foo: a}, {foo: a, bar: y}]",
            ),
        ],
    );
}
