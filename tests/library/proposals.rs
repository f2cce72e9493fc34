//! The two enhancement proposals for merge keys of several fields, and the description of how a fake client should
//! merge. Each test quotes the sentence about behaviour that it checks.
//!
//! The proposals are "Multi-fields Merge Key" in its first form (`x-kubernetes-patch-merge-key: foo,bar`) and in
//! its second form (`x-kubernetes-recommended-patch-merge-key` and `$patchMergeKey`), and "Strategic Merge Patch
//! with OpenAPI Schema Metadata". The lists and patches are taken from them.

mod created_patches;
mod lists;
mod merge_keys;
mod named_keys;

use std::path::Path;

use smp_merge::merge::{PatchRules, Rules, apply};
use smp_merge::patch::create;
use smp_merge::schema::{Schema, TypeGraph, read_schema};
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, ParseOptions, parse_one};

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

/// Patch rules of both schemas that support several merge keys.
const BOTH: [PatchRules; 2] = [PatchRules::Apiserver, PatchRules::Overlay];

/// The patched object, or the reason for the rejection. The examples of the proposals cause no warning.
fn patched(live: &str, patch: &str, rules: impl Into<Rules>) -> Result<Node, String> {
    let rules = rules.into();
    let graph = read(SCHEMA).expect("readable");
    let kind = graph.named("Thing").expect("defined");
    let merged = apply(node(live), &node(patch), kind, &Schema::empty(), rules);
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

/// Checks rows of live object, patch and result. A result with `!` is an expected error.
fn check(rules: &[impl Into<Rules> + Copy], table: &[(&str, &str, &str)]) {
    for (live, patch, want) in table {
        for rules in rules.iter().map(|rules| (*rules).into()) {
            match (patched(live, patch, rules), want.strip_prefix('!')) {
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

fn created(original: &str, modified: &str, rules: PatchRules) -> Node {
    let graph = read(SCHEMA).expect("readable");
    let kind = graph.named("Thing").expect("defined");
    create(&node(original), &node(modified), kind, rules).expect("a patch")
}
