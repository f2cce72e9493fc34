//! The two proposals for merge keys of several fields, and the description of how a fake client should merge, taken
//! at their word: each of their sentences about behaviour is quoted at the test that holds it.
//!
//! "Multi-fields Merge Key" in its first form (`x-kubernetes-patch-merge-key: foo,bar`) and in its second one
//! (`x-kubernetes-recommended-patch-merge-key` and `$patchMergeKey`), and "Strategic Merge Patch with OpenAPI Schema
//! Metadata". The lists and patches are theirs.

use std::path::Path;

use kubectl_smp::merge::{Exceptions, Rules, apply};
use kubectl_smp::patch::json::PatchType;
use kubectl_smp::patch::{CreateOptions, PatchSides, create, create_verified};
use kubectl_smp::schema::{Gvk, Schema, TypeGraph, read_schema, split_keys};
use kubectl_smp::source::SourceMap;
use kubectl_smp::yaml::{Node, ParseOptions, parse_one};

const SCHEMA: &str = r##"
definitions:
  Thing:
    type: object
    properties:
      recommended:
        type: array
        items: {$ref: "#/definitions/Entry"}
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: foo
        x-kubernetes-recommended-patch-merge-key: foo,bar,baz
      two:
        type: array
        items: {$ref: "#/definitions/Entry"}
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: foo
        x-kubernetes-recommended-patch-merge-key: foo,bar
      same:
        type: array
        items: {$ref: "#/definitions/Entry"}
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: foo
        x-kubernetes-recommended-patch-merge-key: foo
      plain:
        type: array
        items: {$ref: "#/definitions/Entry"}
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: foo
      both:
        type: array
        items: {$ref: "#/definitions/Entry"}
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: foo,bar
      typed:
        type: array
        items: {$ref: "#/definitions/Entry"}
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [foo, bar]
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: foo,bar
      overruled:
        type: array
        items: {$ref: "#/definitions/Entry"}
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [foo]
        x-kubernetes-patch-strategy: replace
      set: {type: array, items: {type: string}, x-kubernetes-list-type: set}
      atomic: {type: array, items: {$ref: "#/definitions/Entry"}, x-kubernetes-list-type: atomic}
      map:
        type: array
        items: {$ref: "#/definitions/Entry"}
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [foo]
      outer:
        type: array
        items: {$ref: "#/definitions/Outer"}
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: foo
      silent: {type: array, items: {$ref: "#/definitions/Entry"}}
      nested: {type: object, properties: {set: {type: array, items: {type: string}, x-kubernetes-list-type: set}}}
      replaced: {$ref: "#/definitions/Entry", x-kubernetes-patch-strategy: replace}
      merged: {$ref: "#/definitions/Entry", x-kubernetes-patch-strategy: merge}
      retained: {$ref: "#/definitions/Entry", x-kubernetes-patch-strategy: "merge,retainKeys"}
  Outer:
    type: object
    properties:
      foo: {type: string}
      both:
        type: array
        items: {$ref: "#/definitions/Entry"}
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: foo,bar
  Entry:
    type: object
    properties: {foo: {type: string}, bar: {type: string}, baz: {type: string}, other: {}, another: {}}
"##;

fn node(text: &str) -> Node {
    let sources = SourceMap::default();
    let id = sources.add("test.yaml", text);
    parse_one(&sources, id, ParseOptions::default()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn read(schema: &str) -> Result<TypeGraph, String> {
    let read = read_schema(Path::new("schema.yaml"), schema.into(), &SourceMap::default());
    read.map_err(|error| error.to_string())
}

/// Rules of both that know several keys.
const BOTH: [Rules; 2] = [Rules::Apiserver, Rules::Overlay];

/// What a patch makes of an object, or why it is refused. Nothing that the proposals show is warned of.
fn patched(live: &str, patch: &str, rules: Rules) -> Result<Node, String> {
    let graph = read(SCHEMA).expect("readable");
    let kind = graph.named("Thing").expect("defined");
    let merged = apply(node(live), &node(patch), kind, &Schema::none(), rules);
    let merged = merged.map_err(|error| error.to_string())?;
    assert_eq!(
        merged.warnings,
        [],
        "\
{rules:?}
{live}
{patch}"
    );
    Ok(merged.node.expect("not deleted"))
}

/// Live, patch, and what comes out, or with `!` what is said of it.
fn check(rules: &[Rules], table: &[(&str, &str, &str)]) {
    for (live, patch, want) in table {
        for rules in rules {
            match (patched(live, patch, *rules), want.strip_prefix('!')) {
                (Ok(got), None) => assert_eq!(
                    got,
                    node(want),
                    "\
{rules:?}
{live}
{patch}"
                ),
                (Err(error), Some(want)) => assert!(error.contains(want), "{rules:?} {patch}: {error}"),
                (got, _) => panic!(
                    "\
{rules:?}
{live}
{patch}: {got:?}"
                ),
            }
        }
    }
}

fn created(original: &str, modified: &str, rules: Rules) -> Node {
    let graph = read(SCHEMA).expect("readable");
    let kind = graph.named("Thing").expect("defined");
    create(&node(original), &node(modified), kind, rules).expect("a patch")
}

/// "It must always be present and unique to perform the merge on the list of non-primitive types, and will be
/// preserved."
#[test]
fn the_merge_key_must_always_be_present_and_unique() {
    check(
        &BOTH,
        &[
            ("plain: [{foo: a, other: 1}]", "plain: [{foo: a, other: 2}]", "plain: [{foo: a, other: 2}]"),
            ("plain: [{foo: a}]", "plain: [{other: 2}]", "!lacks its merge key `foo`"),
            // Of several live ones the first counts, as at the server.
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

/// "If a merge key only has one field, it will be the same as before". A null is a value there, as at the server.
#[test]
fn a_merge_key_of_one_field_is_as_before() {
    let live = "plain: [{foo: null, other: 1}, {foo: a}]";
    check(&[Rules::Apiserver], &[(live, "plain: [{$patch: delete, foo: null}]", "plain: [{foo: a}]")]);
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
    // A list that is null is absent, and new entries are like those of a list that is there.
    check(
        &BOTH,
        &[
            ("both: null", "both: [{foo: a}]", "!lacks its merge key `bar`"),
            ("{}", "both: [{foo: a}]", "!lacks its merge key `bar`"),
            ("both: null", "both: [{foo: a, bar: x}]", "both: [{foo: a, bar: x}]"),
            ("outer: [{foo: b}]", "outer: [{foo: a, both: [{bar: x}]}]", "!lacks its merge key `foo`"),
        ],
    );
    let kustomize = Rules::Kustomize { exceptions: Exceptions::Listed };
    // To these a map or list is as good as null, since it has no text.
    check(&[kustomize, Rules::Kyaml], &table[..4]);
    check(
        &[kustomize, Rules::Kyaml],
        &[
            (live, "both: [{foo: a, bar: {}}]", "!lacks its merge key `bar`"),
            (live, "both: [{$patch: delete, foo: a, bar: null}]", "!lacks its merge key `bar`"),
            (live, "both: [{foo: a, bar: x, other: 1}]", "both: [{foo: a, bar: x, other: 1}]"),
        ],
    );
}

/// Whatever keys server-side apply identifies entries by.
#[test]
fn all_fields_of_a_merge_key_are_required_beside_other_map_keys() {
    let kustomize = Rules::Kustomize { exceptions: Exceptions::Listed };
    check(
        &[Rules::Apiserver, Rules::Overlay, kustomize, Rules::Kyaml],
        &[
            ("typed: [{foo: a, bar: x}]", "typed: [{foo: a}]", "!lacks its merge key `bar`"),
            ("typed: [{foo: a, bar: x}]", "typed: [{foo: a, bar: null}]", "!lacks its merge key `bar`"),
            ("{}", "typed: [{foo: a, bar: null}]", "!lacks its merge key `bar`"),
            ("typed: [{foo: a, bar: x}]", "typed: [{bar: x}]", "!lacks its merge key `foo`"),
        ],
    );
}

#[test]
fn a_patch_for_an_entry_without_its_merge_key_is_not_created() {
    let graph = read(SCHEMA).expect("readable");
    let kind = graph.named("Thing").expect("defined");
    let live = node("both: [{foo: a, bar: x}]");
    let error = create(&live, &node("both: [{foo: a, bar: null, other: 1}]"), kind, Rules::Apiserver);
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
        ("bar", "is not among"),
        ("bar,foo", "must be the first"),
        ("foo,foo", "twice"),
        ("", "empty"),
        ("foo,,bar", "a comma without a name"),
        ("foo,", "a comma without a name"),
    ] {
        assert!(with(keys).expect_err(keys).contains(why), "{keys}");
    }
    let none = "definitions: {A: {type: array, x-kubernetes-recommended-patch-merge-key: a}}";
    insta::assert_snapshot!(read(none).expect_err("no default"), @"x-kubernetes-recommended-patch-merge-key: the recommended merge keys `a` need a default merge key, and there is none");
    // CRDs and server documents have the same reader.
    let crd = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec: {group: a.b, names: {kind: A}, versions: [{name: v1, schema: {openAPIV3Schema: {type: object, properties: {l: {type: array, x-kubernetes-patch-merge-key: a, x-kubernetes-recommended-patch-merge-key: 'b,a'}}}}}]}
";
    insta::assert_snapshot!(read(crd).expect_err("a CRD"), @"x-kubernetes-recommended-patch-merge-key: the default merge key `a` must be the first of the recommended ones, `b`, `a`");
    let v3 = "{\"openapi\": \"3.0.0\", \"components\": {\"schemas\": {\"A\": {\"type\": \"array\", \
              \"x-kubernetes-patch-merge-key\": \"a\", \"x-kubernetes-recommended-patch-merge-key\": \"b\"}}}}";
    insta::assert_snapshot!(read(v3).expect_err("a document"), @"x-kubernetes-recommended-patch-merge-key: the default merge key `a` is not among the recommended ones, `b`");
}

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
                "!`other`, `another` are no merge keys",
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

/// "the first key in the recommended merge keys must be used", whether the list is there or not. A key is named once,
/// and is a field of the entries, whether keys are recommended or not.
#[test]
fn named_keys_are_checked_without_a_live_list_and_without_recommended_keys() {
    let bar = "recommended: [{$patchMergeKey: [bar], foo: a, bar: x}]";
    let default = "!must name the default merge key `foo`";
    let twice = "!names `foo` twice";
    let unknown = "!`bogus`, named by `$patchMergeKey`, is not a field";
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
        for rules in [Rules::Apiserver, Rules::Overlay, Rules::Kustomize { exceptions: Exceptions::Listed }] {
            let live = node("{apiVersion: v1, kind: Pod, spec: {containers: [{name: a}]}}");
            let patch = node(&format!("spec: {{containers: [{{$patchMergeKey: {keys}, name: a}}]}}"));
            assert!(apply(live, &patch, pod, &schema, rules).is_err(), "{rules:?} {keys}");
        }
    }
}

/// "This directive should present in each entry in the list when using." Elsewhere it is a mistake.
#[test]
fn the_directive_stands_in_entries_of_lists() {
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
    // Builds of kustomizations leave it out, and warn.
    let (schema, kustomize) = (Schema::none(), Rules::Kustomize { exceptions: Exceptions::Listed });
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
/// provided by the directive." Each entry says it for itself, and it never reaches the output.
#[test]
fn the_directive_counts_for_its_entry() {
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
fn deletions_take_all_matching_items() {
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
        &[Rules::Overlay],
        &[(
            "two: [{foo: a, bar: x}]",
            "two: [{$patchMergeKey: [foo, bar], foo: a, other: val}]",
            "two: [{foo: a, bar: x}, {foo: a, other: val}]",
        )],
    );
}

/// "When there is no `$patchMergeKey` list in the patch, the server will use the default merge key when merging."
#[test]
fn without_the_directive_the_default_key_counts() {
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
fn more_than_one_match_of_named_keys_is_refused() {
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
                "!2 entries match this one of the patch",
            ),
            (
                live,
                "two: [{$patchMergeKey: [foo, bar], foo: b, bar: x}]",
                "!2 entries match this one of the patch",
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

/// "the patch will use the the original values of the merge keys to identify the items": so does one that is created, and
/// what others changed in the entry stays.
#[test]
fn created_patches_name_entries_by_the_keys_they_had() {
    let table = [
        (
            "recommended: [{foo: a, bar: x}, {foo: b}]",
            "recommended: [{foo: a, bar: x, baz: m}, {foo: b}]",
            "{$patchMergeKey: [foo, bar], foo: a, bar: x, baz: m}",
            "recommended: [{foo: a, bar: x, other: 1}, {foo: b}]",
            "recommended: [{foo: a, bar: x, other: 1, baz: m}, {foo: b}]",
        ),
        (
            "recommended: [{foo: a, bar: x}, {foo: b}]",
            "recommended: [{foo: a}, {foo: b}]",
            "{$patchMergeKey: [foo, bar, baz], foo: a, bar: null}",
            "recommended: [{foo: a, bar: x, other: 1}, {foo: b}]",
            "recommended: [{foo: a, other: 1}, {foo: b}]",
        ),
    ];
    for (original, modified, entry, live, want) in table {
        for rules in BOTH {
            let patch = created(original, modified, rules);
            let entries = patch.get("recommended").and_then(Node::as_list).cloned().expect("entries");
            assert_eq!(entries, [node(entry)], "{rules:?}");
            let graph = read(SCHEMA).expect("readable");
            let kind = graph.named("Thing").expect("defined");
            for (from, to) in [(original, modified), (modified, modified), (live, want)] {
                let got = apply(node(from), &patch, kind, &Schema::none(), rules).expect("merged").node;
                assert_eq!(got, Some(node(to)), "{rules:?} {from}");
            }
            // With three versions, too.
            let (original, modified, live) = (node(original), node(modified), node(live));
            let sides = PatchSides { original: &original, modified: &modified, current: Some(&live) };
            let mut options = CreateOptions::default().rules(rules);
            options.three_way = options.three_way.overwrite(rules == Rules::Apiserver).same_identity(false);
            let patch = create_verified(&sides, PatchType::Strategic, kind, &options).expect("a patch").value;
            let got = apply(live.clone(), &patch, kind, &Schema::none(), rules).expect("merged").node;
            assert_eq!(got, Some(node(want)), "{rules:?}");
        }
    }
}

#[test]
fn created_patches_replace_entries_that_their_former_keys_do_not_identify() {
    let patch = created(
        "recommended: [{foo: a, bar: x}, {foo: a, bar: y}]",
        "recommended: [{foo: a}, {foo: a, bar: y}]",
        Rules::Overlay,
    );
    assert_eq!(
        patch.get("recommended"),
        Some(&node(
            "[{$patchMergeKey: [foo, bar, baz], $patch: delete, foo: a, bar: x}, {$patchMergeKey: [foo, bar, baz], foo: a}]"
        ))
    );
}

/// "There are no patch format changes": nothing new stands in patches of lists whose merge key has commas.
#[test]
fn created_patches_of_a_key_with_commas_have_no_directive() {
    for list in ["both", "typed"] {
        for rules in BOTH {
            let patch = created(
                &format!("{list}: [{{foo: a, bar: x}}, {{foo: a, bar: y}}]"),
                &format!("{list}: [{{foo: a, bar: x, other: 1}}]"),
                rules,
            );
            let want = node("[{foo: a, bar: x, other: 1}, {$patch: delete, foo: a, bar: y}]");
            assert_eq!(patch.get(list), Some(&want), "{list} {rules:?}");
        }
    }
}

/// "the update operation will be break into a delete operation and a create operation. The server will apply the
/// deletion and then the create operation." — "When the user changes a field which is a merge key and it is NOT in
/// the $patchMergeKey list, the update operation will be just considered as a regular update as non-mergeKey fields."
#[test]
fn a_changed_key_is_a_deletion_and_a_new_entry() {
    let live = "two: [{foo: a, bar: x, other: val}]";
    let old = "{$patchMergeKey: [foo, bar], $patch: delete, foo: a, bar: x}";
    let new = "{$patchMergeKey: [foo, bar], foo: a, bar: y}";
    check(
        &BOTH,
        &[
            (live, &format!("two: [{old}, {new}]"), "two: [{foo: a, bar: y}]"),
            // Wherever the deletion stands.
            (live, &format!("two: [{new}, {old}]"), "two: [{foo: a, bar: y}]"),
            (live, "two: [{$patchMergeKey: [foo], foo: a, bar: y}]", "two: [{foo: a, bar: y, other: val}]"),
        ],
    );
    let patch = created("two: [{foo: a, bar: x}]", "two: [{foo: a, bar: y}]", Rules::Overlay);
    assert_eq!(patch, node(&format!("two: [{new}, {old}]")));
}

/// "When calculating the patch, we should always use all of the recommended merge keys. It means we will include all
/// the merge keys in the $patchMergeKey list, even though there may be only part of them present in the patch".
#[test]
fn created_patches_name_all_recommended_keys() {
    for rules in BOTH {
        let patch = created("recommended: [{foo: a}]", "recommended: [{foo: a, other: 1}]", rules);
        let entry =
            patch.get("recommended").and_then(|list| list.as_list()?.first().cloned()).expect("an entry");
        assert_eq!(entry, node("{$patchMergeKey: [foo, bar, baz], foo: a, other: 1}"), "{rules:?}");
        let patch = created("same: [{foo: a}]", "same: [{foo: a, other: 1}]", rules);
        let entry = patch.get("same").and_then(|list| list.as_list()?.first().cloned()).expect("an entry");
        assert_eq!(entry, node("{$patchMergeKey: [foo], foo: a, other: 1}"), "{rules:?}");
    }
}

/// "An old server will drop the field it doesn't recognise. And the new patch is the superset of the old patch and the
/// difference is the directve. Thus, the behavior of the old server will not be affected." — "An old client sending a
/// old patch without `$patchMergeKey` is backward compatible".
#[test]
fn new_patches_are_old_ones_and_the_directive() {
    let versions = [("{L: [{foo: a, bar: x}, {foo: b}]}", "{L: [{foo: a, bar: x, other: 1}, {foo: c}]}")];
    for (original, modified) in versions {
        let of = |list: &str| {
            created(&original.replace('L', list), &modified.replace('L', list), Rules::Apiserver)
        };
        let (old, new) = (of("plain"), of("two"));
        let entries = |patch: &Node, list: &str| {
            let mut entries = patch.get(list).and_then(Node::as_list).cloned().expect("entries");
            let mut named = 0;
            for map in entries.iter_mut().filter_map(Node::as_map_mut) {
                named += usize::from(map.remove("$patchMergeKey").is_some());
            }
            (entries, named)
        };
        let ((old, none), (new, named)) = (entries(&old, "plain"), entries(&new, "two"));
        assert_eq!((none, named), (0, new.len()));
        for (old, new) in old.iter().zip(&new) {
            for (name, value) in old.as_map().expect("a map").iter() {
                assert_eq!(new.get(name), Some(value), "the new entry has all of the old one");
            }
        }
        // Without the directive it does the same to a list that the default key tells apart.
        let stripped = Node::map([("plain", Node::list(new))].into_iter().collect());
        let graph = read(SCHEMA).expect("readable");
        let kind = graph.named("Thing").expect("defined");
        let live = node(&original.replace('L', "plain"));
        let got = apply(live, &stripped, kind, &Schema::none(), Rules::Overlay).expect("merged").node;
        assert_eq!(got, Some(node(&modified.replace('L', "plain"))));
    }
}

/// "An example is the service.spec.ports, which is identified by both `protocol` and `port`."
#[test]
fn ports_are_identified_by_port_and_protocol() {
    let schema = Schema::embedded();
    for (kind, field) in [("Service", vec!["spec", "ports"]), ("Pod", vec!["spec", "containers", "ports"])] {
        let mut cursor = schema.kind(&Gvk::from_manifest("v1", kind)).expect("built in");
        for name in field {
            cursor = cursor.field(name);
            if name == "containers" {
                cursor = cursor.element();
            }
        }
        let keys: Vec<&str> = cursor.list_map_keys().collect();
        assert_eq!(keys, [cursor.patch_merge_key().expect("a key"), "protocol"], "{kind}");
    }
    let service = schema.kind(&Gvk::from_manifest("v1", "Service")).expect("built in");
    let live = node("spec: {ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]}");
    let patch = node("spec: {ports: [{port: 53, protocol: UDP, name: dns}]}");
    let merged = apply(live, &patch, service, &schema, Rules::Overlay).expect("merged");
    assert_eq!(
        merged.node,
        Some(node("spec: {ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP, name: dns}]}"))
    );
}

/// Created patches for the server name the keys of ports only where that is asked for: released servers know one.
#[test]
fn created_patches_name_the_keys_of_ports_where_asked() {
    let schema = Schema::embedded();
    let service = schema.kind(&Gvk::from_manifest("v1", "Service")).expect("built in");
    let original = node("spec: {ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]}");
    let modified = node("spec: {ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP, name: dns}]}");
    let sides = PatchSides { original: &original, modified: &modified, current: None };
    let created = |options: CreateOptions| {
        let created = create_verified(&sides, PatchType::Strategic, service, &options);
        created.map(|patch| patch.value.get_path(&["spec", "ports"]).cloned())
    };
    let want = node("[{$patchMergeKey: [port, protocol], port: 53, protocol: UDP, name: dns}]");
    assert_eq!(
        created(CreateOptions::default().recommended_keys(true)).expect("a patch"),
        Some(want.clone())
    );
    assert_eq!(created(CreateOptions::default().rules(Rules::Overlay)).expect("a patch"), Some(want));
    let default = created(CreateOptions::default());
    assert!(default.is_err(), "the default key matches the first one: {default:?}");
}

/// "x-kubernetes-list-type: 'atomic' - Replace the entire array".
#[test]
fn an_atomic_list_is_replaced() {
    check(&[Rules::Overlay], &[("atomic: [{foo: a}]", "atomic: [{foo: b}]", "atomic: [{foo: b}]")]);
    let schema = Schema::embedded();
    let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
    for rules in BOTH {
        let (live, patch) =
            (node("spec: {tolerations: [{key: a}]}"), node("spec: {tolerations: [{key: b}]}"));
        let merged = apply(live, &patch, pod, &schema, rules).expect("merged");
        assert_eq!(merged.node, Some(patch), "{rules:?}");
    }
}

/// "x-kubernetes-list-type: 'set' - Treat as a set (no duplicates) - Merge by performing union - Order is preserved from
/// original + new elements".
#[test]
fn a_set_is_the_union_and_has_no_doubles() {
    check(
        &[Rules::Overlay],
        &[
            ("set: [b, a]", "set: [c, a]", "set: [b, a, c]"),
            ("set: [b, a, b]", "set: [c]", "set: [b, a, c]"),
            ("set: [b, a, b]", "set: []", "set: [b, a]"),
            ("set: [a]", "set: [c, c]", "set: [a, c]"),
            ("{}", "set: [c, c]", "set: [c]"),
        ],
    );
}

/// "x-kubernetes-list-type: 'map' - Merge based on the key field(s) - If element with same key exists: update it - If
/// element with new key: append it - Preserves order of existing elements".
#[test]
fn a_list_of_type_map_merges_by_its_keys() {
    check(
        &[Rules::Overlay],
        &[(
            "map: [{foo: b, other: 1}, {foo: a, other: {x: 1}}]",
            "map: [{foo: c}, {foo: a, other: {y: 2}}]",
            "map: [{foo: b, other: 1}, {foo: a, other: {x: 1, y: 2}}, {foo: c}]",
        )],
    );
}

/// "x-kubernetes-patch-strategy: 'replace' - Always replace the field entirely" — "'merge' - For objects: deep merge"
/// — "'merge,retainKeys' - Like merge, but only retain keys that appear in the patch".
#[test]
fn patch_strategies_replace_merge_and_retain() {
    check(
        &[Rules::Overlay],
        &[
            ("replaced: {foo: a, bar: b}", "replaced: {foo: c}", "replaced: {foo: c}"),
            (
                "merged: {foo: a, other: {x: 1}}",
                "merged: {other: {y: 2}}",
                "merged: {foo: a, other: {x: 1, y: 2}}",
            ),
            ("retained: {foo: a, bar: b}", "retained: {foo: c}", "retained: {foo: c}"),
            (
                "overruled: [{foo: a}, {foo: b}]",
                "overruled: [{foo: a, bar: x}]",
                "overruled: [{foo: a, bar: x}]",
            ),
        ],
    );
    check(
        &[Rules::Apiserver],
        &[
            ("replaced: {foo: a, bar: b}", "replaced: {foo: c}", "replaced: {foo: c}"),
            // There the patch says what is retained, as kubectl's patches do.
            ("retained: {foo: a, bar: b}", "retained: {$retainKeys: [foo], foo: c}", "retained: {foo: c}"),
        ],
    );
}

/// "When patching containers, merge by the `name` field. If a container with the same name exists, update it; otherwise
/// append it." — with the pod, the patch and the two outcomes of that document.
#[test]
fn a_patched_container_leaves_its_sidecar() {
    let schema = Schema::embedded();
    let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
    let live = node(
        "spec: {containers: [{name: nginx, image: 'nginx:1.14'}, {name: sidecar, image: 'sidecar:v1'}]}",
    );
    let patch = node("spec: {containers: [{name: nginx, image: 'nginx:1.21'}]}");
    let want = node(
        "spec: {containers: [{name: nginx, image: 'nginx:1.21'}, {name: sidecar, image: 'sidecar:v1'}]}",
    );
    for rules in BOTH {
        let merged = apply(live.clone(), &patch, pod, &schema, rules).expect("merged");
        assert_eq!(merged.node.as_ref(), Some(&want), "{rules:?}");
    }
}

/// "Custom resources can define their own merge strategies that will be respected".
#[test]
fn custom_resources_merge_by_their_definitions() {
    let crd = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
spec: {group: a.b, names: {kind: A}, versions: [{name: v1, schema: {openAPIV3Schema: {type: object, properties: {l: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id], items: {type: object, properties: {id: {type: string}}}}}}}}]}
";
    let graph = read(crd).expect("readable");
    let kind = graph.kind(&Gvk::from_manifest("a.b/v1", "A")).expect("defined");
    let (live, patch) = (node("l: [{id: a, x: 1}, {id: b}]"), node("l: [{id: b, x: 2}]"));
    let merged = apply(live, &patch, kind, &Schema::none(), Rules::Overlay).expect("merged");
    assert_eq!(merged.node, Some(node("l: [{id: a, x: 1}, {id: b, x: 2}]")));
}

/// "returning a list of fields instead of one single field when looking up merge key." — "Open API will not be affected,
/// since multi-fields merge key is still in one single string as an extension in Open API spec."
#[test]
fn looked_up_merge_keys_are_a_list_of_fields() {
    let graph = read(SCHEMA).expect("readable");
    let thing = graph.named("Thing").expect("defined");
    for (list, written, keys) in [("both", "foo,bar", &["foo", "bar"][..]), ("plain", "foo", &["foo"])] {
        let cursor = thing.field(list);
        assert_eq!(cursor.patch_merge_key(), Some(written), "as it stands in the document");
        assert_eq!(split_keys(written), keys);
    }
    // Also after it was compiled and opened again.
    let again = TypeGraph::from_bytes(graph.to_bytes()).expect("opened");
    assert_eq!(again.named("Thing").expect("defined").field("both").patch_merge_key(), Some("foo,bar"));
}

/// "The recommended merge keys should have its corresponding OpenAPI extension as `patchMergeKey` does." — "E.g. add an
/// additional extension similar to".
#[test]
fn recommended_keys_have_an_extension_of_their_own() {
    let list = r#"{"type": "array", "x-kubernetes-patch-merge-key": "foo",
        "x-kubernetes-recommended-patch-merge-key": "foo,bar"}"#;
    let thing = format!(r#"{{"Thing": {{"type": "object", "properties": {{"list": {list}}}}}}}"#);
    let documents = [
        format!(r#"{{"swagger": "2.0", "definitions": {thing}}}"#),
        format!(r#"{{"openapi": "3.0.0", "components": {{"schemas": {thing}}}}}"#),
        format!(r#"{{"$defs": {thing}}}"#),
    ];
    for document in documents {
        let graph = read(&document).unwrap_or_else(|error| panic!("{error}: {document}"));
        let list = graph.named("Thing").expect("defined").field("list");
        assert_eq!(list.patch_merge_key(), Some("foo"), "{document}");
        assert_eq!(list.recommended_merge_key(), Some("foo,bar"), "{document}");
        let again = TypeGraph::from_bytes(graph.to_bytes()).expect("opened");
        let list = again.named("Thing").expect("defined").field("list");
        assert_eq!(list.recommended_merge_key(), Some("foo,bar"), "{document}");
    }
}

/// "Server will reject patch 2, since `foo: b` cannot uniquely identify an entry in the list." — "The item in the
/// `$patchMergeKey` list but not in the patch will be considered as". Neither takes an entry by chance.
#[test]
fn named_keys_never_take_one_entry_of_several() {
    let live = "two: [{foo: a}, {foo: a, bar: x}, {foo: a}]";
    check(
        &BOTH,
        &[
            (live, "two: [{$patchMergeKey: [foo, bar], foo: a, other: 1}]", "!2 entries match"),
            (live, "two: [{$patchMergeKey: [foo], foo: a, other: 1}]", "!3 entries match"),
            (
                live,
                "two: [{$patchMergeKey: [foo, bar], foo: a, bar: x, other: 1}]",
                "two: [{foo: a}, {foo: a, bar: x, other: 1}, {foo: a}]",
            ),
            // Without the directive the first counts.
            (live, "two: [{foo: a, other: 1}]", "two: [{foo: a, other: 1}, {foo: a, bar: x}, {foo: a}]"),
        ],
    );
}

/// "Document what the developer should consider when adding an API with `mergeKey`." — "Document that the developer
/// should make sure the merge key can uniquely identify an entry in all cases."
#[test]
fn there_is_a_guide_for_developers() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("book/merge-keys.md");
    let guide = std::fs::read_to_string(path).expect("the guide").replace('\n', " ");
    for said in [
        "It is always there.",
        "takes `null` for a value and adds an entry",
        "It is unique in every list",
        "in all cases",
        "does not change",
        "x-kubernetes-recommended-patch-merge-key: port,protocol",
        "the default key, is the first",
        "$patchMergeKey: [port, protocol]",
        "schema lint",
    ] {
        assert!(guide.contains(said), "{said}");
    }
}

/// "x-kubernetes-map-type (43 occurrences) - 'granular' or 'atomic'".
#[test]
fn maps_are_granular_or_atomic() {
    let schema = Schema::embedded();
    let service = schema.kind(&Gvk::from_manifest("v1", "Service")).expect("built in");
    let live = node("metadata: {labels: {a: '1'}}\nspec: {selector: {a: '1'}}");
    let patch = node("metadata: {labels: {b: '2'}}\nspec: {selector: {b: '2'}}");
    let of =
        |rules| apply(live.clone(), &patch, service, &schema, rules).expect("merged").node.expect("there");
    let want = node("metadata: {labels: {a: '1', b: '2'}}\nspec: {selector: {b: '2'}}");
    assert_eq!(of(Rules::Overlay), want, "a selector is one value");
    // The server's strategic merge patches know nothing of it.
    let want = node("metadata: {labels: {a: '1', b: '2'}}\nspec: {selector: {a: '1', b: '2'}}");
    assert_eq!(of(Rules::Apiserver), want);
}

/// "Merge volumes by name, but with `retainKeys` strategy" — "Removes keys not mentioned in patch (for specific
/// fields)".
#[test]
fn volumes_merge_by_name_and_keep_the_keys_of_the_patch() {
    let schema = Schema::embedded();
    let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
    let live = node("spec: {volumes: [{name: a, emptyDir: {}}, {name: b, emptyDir: {}}]}");
    let want = node("spec: {volumes: [{name: a, configMap: {name: m}}, {name: b, emptyDir: {}}]}");
    let table = [
        (Rules::Overlay, "spec: {volumes: [{name: a, configMap: {name: m}}]}"),
        (
            Rules::Apiserver,
            "spec: {volumes: [{name: a, $retainKeys: [name, configMap], configMap: {name: m}}]}",
        ),
    ];
    for (rules, patch) in table {
        let merged = apply(live.clone(), &node(patch), pod, &schema, rules).expect("merged");
        assert_eq!(merged.node.as_ref(), Some(&want), "{rules:?}");
    }
}

/// "For arrays: use list-type semantics" — "None => Default to atomic".
#[test]
fn lists_without_a_word_are_replaced() {
    check(
        &[Rules::Overlay],
        &[
            ("silent: [{foo: a}]", "silent: [{foo: b}]", "silent: [{foo: b}]"),
            ("nested: {set: [a]}", "nested: {set: [b, a, b]}", "nested: {set: [a, b]}"),
            ("{}", "nested: {set: [b, a, b]}", "nested: {set: [b, a]}"),
        ],
    );
}

/// "Controllers tested with fake client will behave like production" — "Use strategic merge when
/// `PatchType::StrategicMergePatch` is detected".
#[test]
fn one_line_makes_a_fake_client_true() {
    let containers =
        |image: &str| serde_json::json!([{"name": "nginx", "image": image}, {"name": "sidecar"}]);
    let pod = |containers| serde_json::json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": containers}});
    let mut existing = pod(containers("nginx:1.14"));
    let patch = serde_json::json!({"spec": {"containers": [{"name": "nginx", "image": "nginx:1.21"}]}});
    let detected = PatchType::from_content_type("application/strategic-merge-patch+json").expect("detected");
    kubectl_smp::patch::json::apply(&mut existing, &patch, detected, &Schema::embedded()).expect("applied");
    assert_eq!(existing, pod(containers("nginx:1.21")));
}
