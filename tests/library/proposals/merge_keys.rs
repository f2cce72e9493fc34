//! Merge keys of one field and of several fields.

use smp_merge::merge::{Exceptions, MergeRules, PatchRules, Rules};
use smp_merge::patch::create;

use super::{BOTH, SCHEMA, check, node, read};

/// "It must always be present and unique to perform the merge on the list of non-primitive types, and will be
/// preserved."
#[test]
fn the_merge_key_must_always_be_present_and_unique() {
    check(
        &BOTH,
        &[
            ("plain: [{foo: a, other: 1}]", "plain: [{foo: a, other: 2}]", "plain: [{foo: a, other: 2}]"),
            ("plain: [{foo: a}]", "plain: [{other: 2}]", "!lacks its merge key `foo`"),
            // If several live entries match, the first one is patched, as on the server.
            (
                "plain: [{foo: a, other: 1}, {foo: a, other: 2}]",
                "plain: [{foo: a, other: 3}]",
                "plain: [{foo: a, other: 3}, {foo: a, other: 2}]",
            ),
        ],
    );
}

/// "If a merge key has multiple fields, it will be a string of merge key fields seperated by ','" — and — "There are
/// no patch format changes." — and — "merging list respecting a list of fields as merge key".
#[test]
fn a_merge_key_with_commas_has_several_fields() {
    let live = "both: [{foo: a, bar: x, other: 1}, {foo: a, bar: y, other: 2}, {foo: b, bar: x, other: 3}]";
    check(
        &BOTH,
        &[
            (
                live,
                "both: [{foo: a, bar: x, other: 4, another: val}]",
                "both: [{foo: a, bar: x, other: 4, another: val}, {foo: a, bar: y, other: 2}, {foo: b, bar: x, other: 3}]",
            ),
            (
                live,
                "both: [{$patch: delete, foo: a, bar: x}]",
                "both: [{foo: a, bar: y, other: 2}, {foo: b, bar: x, other: 3}]",
            ),
        ],
    );
}

/// "If a merge key only has one field, it will be the same as before". Null is a key value there, as on the
/// server.
#[test]
fn a_merge_key_of_one_field_is_as_before() {
    let live = "plain: [{foo: null, other: 1}, {foo: a}]";
    check(&[PatchRules::Apiserver], &[(live, "plain: [{$patch: delete, foo: null}]", "plain: [{foo: a}]")]);
}

/// "Patches for fields that have multiple fields in the merge key must include all of the fields of the merge key in
/// the patch." — "all the fields of the merge key are required to present. Otherwise, the server will reject the
/// patch." The errors name exactly those that are missing.
#[test]
fn all_fields_of_a_merge_key_are_required() {
    let live = "both: [{foo: a, bar: x}]";
    let table = [
        (live, "both: [{foo: a}]", "!lacks its merge key `bar`"),
        (live, "both: [{foo: a, bar: null}]", "!lacks its merge key `bar`"),
        (live, "both: [{foo: null, bar: x}]", "!lacks its merge key `foo`"),
        (live, "both: [{other: 1}]", "!lacks its merge keys `foo`, `bar`"),
        (live, "both: [{foo: a, bar: {}}]", "!the merge key `bar` of this entry must be a string"),
        (live, "both: [{$patch: delete, foo: a, bar: null}]", "!lacks its merge key `bar`"),
    ];
    check(&BOTH, &table);
    // A null list is treated as absent, and its new entries need the same fields as those of an existing list.
    check(
        &BOTH,
        &[
            ("both: null", "both: [{foo: a}]", "!lacks its merge key `bar`"),
            ("{}", "both: [{foo: a}]", "!lacks its merge key `bar`"),
            ("both: null", "both: [{foo: a, bar: x}]", "both: [{foo: a, bar: x}]"),
            ("outer: [{foo: b}]", "outer: [{foo: a, both: [{bar: x}]}]", "!lacks its merge key `foo`"),
        ],
    );
    let kustomize = MergeRules::Kustomize { exceptions: Exceptions::Documented };
    // These rules treat a map or list as a missing key, since it has no scalar text.
    check(&[kustomize, MergeRules::Kyaml], &table[..4]);
    check(
        &[kustomize, MergeRules::Kyaml],
        &[
            (live, "both: [{foo: a, bar: {}}]", "!lacks its merge key `bar`"),
            (live, "both: [{$patch: delete, foo: a, bar: null}]", "!lacks its merge key `bar`"),
            (live, "both: [{foo: a, bar: x, other: 1}]", "both: [{foo: a, bar: x, other: 1}]"),
        ],
    );
}

/// All fields are required, no matter which map keys server-side apply uses.
#[test]
fn all_fields_of_a_merge_key_are_required_beside_other_map_keys() {
    let kustomize = MergeRules::Kustomize { exceptions: Exceptions::Documented };
    check(
        &[
            PatchRules::Apiserver.into(),
            PatchRules::Overlay.into(),
            Rules::from(kustomize),
            MergeRules::Kyaml.into(),
        ],
        &[
            ("typed: [{foo: a, bar: x}]", "typed: [{foo: a}]", "!lacks its merge key `bar`"),
            ("typed: [{foo: a, bar: x}]", "typed: [{foo: a, bar: null}]", "!lacks its merge key `bar`"),
            ("{}", "typed: [{foo: a, bar: null}]", "!lacks its merge key `bar`"),
            ("typed: [{foo: a, bar: x}]", "typed: [{bar: x}]", "!lacks its merge key `foo`"),
        ],
    );
}

#[test]
fn patch_for_an_entry_without_merge_key_is_not_created() {
    let graph = read(SCHEMA).expect("readable");
    let kind = graph.named("Thing").expect("defined");
    let live = node("both: [{foo: a, bar: x}]");
    let error = create(&live, &node("both: [{foo: a, bar: null, other: 1}]"), kind, PatchRules::Apiserver);
    let error = error.expect_err("no key").to_string();
    insta::assert_snapshot!(error, @"both[0]: this entry lacks its merge key `bar`");
}

/// "the recommended merge keys must have the default merge key" — "the default merge key must be the first one in the
/// recommended merge keys" — "For the others, the recommended merge keys will be the same as the default merge key."
#[test]
fn recommended_keys_begin_with_the_default_key() {
    let with = |keys: &str| {
        read(&format!(
            "definitions: {{A: {{properties: {{l: {{type: array, x-kubernetes-patch-merge-key: foo, \
             x-kubernetes-recommended-patch-merge-key: '{keys}'}}}}}}}}"
        ))
    };
    for keys in ["foo", "foo,bar", "foo, bar, baz"] {
        assert!(with(keys).is_ok(), "{keys}");
    }
    for (keys, why) in [
        ("bar", "is missing from"),
        ("bar,foo", "must come first"),
        ("foo,foo", "duplicate recommended merge key `foo`"),
        ("", "empty"),
        ("foo,,bar", "contain an empty name"),
        ("foo,", "contain an empty name"),
    ] {
        assert!(with(keys).expect_err(keys).contains(why), "{keys}");
    }
    let none = "definitions: {A: {type: array, x-kubernetes-recommended-patch-merge-key: a}}";
    insta::assert_snapshot!(read(none).expect_err("no default"), @"x-kubernetes-recommended-patch-merge-key: the recommended merge keys `a` require a default merge key, but there is none");
    // CRDs and server documents use the same parser.
    let crd = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec: {group: a.b, names: {kind: A}, versions: [{name: v1, schema: {openAPIV3Schema: {type: object, properties: {l: {type: array, x-kubernetes-patch-merge-key: a, x-kubernetes-recommended-patch-merge-key: 'b,a'}}}}}]}
";
    insta::assert_snapshot!(read(crd).expect_err("a CRD"), @"x-kubernetes-recommended-patch-merge-key: the default merge key `a` must come first in the recommended merge keys `b`, `a`");
    let v3 = "{\"openapi\": \"3.0.0\", \"components\": {\"schemas\": {\"A\": {\"type\": \"array\", \
              \"x-kubernetes-patch-merge-key\": \"a\", \"x-kubernetes-recommended-patch-merge-key\": \"b\"}}}}";
    insta::assert_snapshot!(read(v3).expect_err("a document"), @"x-kubernetes-recommended-patch-merge-key: the default merge key `a` is missing from the recommended merge keys `b`");
}
