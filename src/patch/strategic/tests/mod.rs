//! Tables of cases over a small schema that has every merge directive.

mod create;
mod laws;
mod merge_keys;
mod overlay;
mod server;

use std::sync::OnceLock;

use super::{ApplyOptions, CreateOptions, Dialect, Outcome, apply};
use crate::diagnostic::{Diagnostic, Result};
use crate::schema::{Cursor, TypeGraph, openapi};
use crate::source::SourceMap;
use crate::yaml::{Node, ParseOptions, parse_one, to_json};

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

fn node(text: &str) -> Node {
    let sources = SourceMap::default();
    let id = sources.add("t.yaml", text);
    parse_one(&sources, id, ParseOptions::default()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn schema() -> Cursor<'static> {
    static GRAPH: OnceLock<TypeGraph> = OnceLock::new();
    let graph =
        GRAPH.get_or_init(|| openapi::read(&node(SCHEMA)).expect("readable").compile().expect("small"));
    graph.named("Thing").expect("defined")
}

fn json(node: &Node) -> String {
    to_json(node).expect("finite")
}

fn run(
    dest: &str,
    patch: &str,
    cursor: Cursor<'_>,
    dialect: Dialect,
) -> (Result<Outcome>, Node, Vec<Diagnostic>) {
    let (mut dest, mut notes) = (node(dest), Vec::new());
    let outcome = apply(&mut dest, &node(patch), cursor, &ApplyOptions { dialect }, &mut notes);
    (outcome, dest, notes)
}

/// The merged object as JSON, or the error as `code: field: message`.
fn merged(dest: &str, patch: &str, dialect: Dialect) -> String {
    let (outcome, dest, _) = run(dest, patch, schema(), dialect);
    match outcome {
        Ok(_) => json(&dest),
        Err(error) => format!("{:?}: {error}", error.code()),
    }
}

fn check(dialect: Dialect, table: &[(&str, &str, &str)]) {
    for (dest, patch, want) in table {
        let got = merged(dest, patch, dialect);
        let want = if want.starts_with('{') { json(&node(want)) } else { (*want).to_string() };
        assert_eq!(got, want, "\n{dialect:?}\n{dest}\n{patch}");
    }
}

/// The patch as JSON, or the error as `code: field: message`.
fn created(original: &str, modified: &str, dialect: Dialect) -> String {
    match super::create(&node(original), &node(modified), schema(), &CreateOptions { dialect }) {
        Ok(patch) => json(&patch),
        Err(error) => format!("{:?}: {error}", error.code()),
    }
}

const BOTH: [Dialect; 2] = [Dialect::Apiserver, Dialect::Overlay];
