//! Test helpers: tables of merges that use a small schema with all merge directives.

use std::sync::OnceLock;

use crate::merge::{Merged, PatchRules, Rules, apply};
use crate::schema::{Cursor, Schema, TypeGraph, openapi};
use smp_text::diagnostic::Result;
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, ParseOptions, parse_one, to_json};

const SCHEMA: &str = r##"
definitions:
  Thing:
    type: object
    properties:
      name: {type: string}
      value: {type: string}
      number: {type: integer}
      labels: {type: object, additionalProperties: {type: string}}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true}
      child: {$ref: "#/definitions/Thing"}
      replaced: {$ref: "#/definitions/Thing", x-kubernetes-patch-strategy: replace}
      atomicMap: {$ref: "#/definitions/Thing", x-kubernetes-map-type: atomic}
      union: {$ref: "#/definitions/Thing", x-kubernetes-patch-strategy: retainKeys}
      list: {type: array, items: {$ref: "#/definitions/Thing"}}
      atomic:
        type: array
        items: {$ref: "#/definitions/Thing"}
        x-kubernetes-list-type: atomic
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: name
      byName:
        type: array
        items: {$ref: "#/definitions/Thing"}
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: name
      first:
        type: array
        items: {$ref: "#/definitions/Thing"}
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: name
      volumes:
        type: array
        items: {$ref: "#/definitions/Thing"}
        x-kubernetes-patch-strategy: merge,retainKeys
        x-kubernetes-patch-merge-key: name
      keyless: {type: array, items: {$ref: "#/definitions/Thing"}, x-kubernetes-patch-strategy: merge}
      ports:
        type: array
        items: {$ref: "#/definitions/Port"}
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [port, protocol]
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: port
      custom:
        type: array
        items: {$ref: "#/definitions/Port"}
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [port, protocol]
      both:
        type: array
        items: {$ref: "#/definitions/Pair"}
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: foo,bar
      recommended:
        type: array
        items: {$ref: "#/definitions/Pair"}
        x-kubernetes-patch-strategy: merge
        x-kubernetes-patch-merge-key: foo
        x-kubernetes-recommended-patch-merge-key: foo,bar,baz
      set: {type: array, items: {type: string}, x-kubernetes-list-type: set}
      strings: {type: array, items: {type: string}, x-kubernetes-patch-strategy: merge}
      numbers: {type: array, items: {type: integer}}
  Port:
    type: object
    properties:
      port: {type: integer}
      protocol: {type: string, default: TCP}
      name: {type: string}
  Pair:
    type: object
    properties: {foo: {type: string}, bar: {type: string}, baz: {type: string}, other: {}, another: {}}
"##;

/// Parses a single document.
pub(crate) fn node(text: &str) -> Node {
    let sources = SourceMap::default();
    let id = sources.add("t.yaml", text);
    parse_one(&sources, id, ParseOptions::default()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns the type `Thing`.
pub(crate) fn schema() -> Cursor<'static> {
    static GRAPH: OnceLock<TypeGraph> = OnceLock::new();
    let graph =
        GRAPH.get_or_init(|| openapi::read(&node(SCHEMA)).expect("readable").compile().expect("small"));
    graph.named("Thing").expect("defined")
}

pub(crate) fn json(node: &Node) -> String {
    to_json(node).expect("finite")
}

pub(crate) fn run(dest: &str, patch: &str, kind: Cursor<'_>, rules: impl Into<Rules>) -> Result<Merged> {
    apply(node(dest), &node(patch), kind, &Schema::empty(), rules)
}

/// Returns the merged object as JSON, `deleted`, or the error as `code: field: message`.
pub(crate) fn merged(dest: &str, patch: &str, rules: impl Into<Rules>) -> String {
    match run(dest, patch, schema(), rules) {
        Ok(merged) => merged.node.as_ref().map_or("deleted".to_string(), json),
        Err(error) => format!("{:?}: {error}", error.code()),
    }
}

/// Checks merges: dest, the patch, and the result of [`merged`].
pub(crate) fn check(rules: impl Into<Rules>, table: &[(&str, &str, &str)]) {
    let rules = rules.into();
    for (dest, patch, want) in table {
        let got = merged(dest, patch, rules);
        let want = if want.starts_with('{') { json(&node(want)) } else { (*want).to_string() };
        assert_eq!(got, want, "\n{rules:?}\n{dest}\n{patch}");
    }
}

pub(crate) const BOTH: [PatchRules; 2] = [PatchRules::Apiserver, PatchRules::Overlay];
