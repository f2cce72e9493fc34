//! Nulls and defaults of a custom resource. The API server removes nulls and sets defaults before it validates the
//! object.

use smp_merge::defaults::fill_value;
use smp_merge::schema::Cursor;
use smp_text::yaml::{Node, Value};

/// Returns the object as the API server validates it: without null fields that the schema does not allow, and with the
/// defaults of all existing maps. An added value gets the location of the surrounding map.
pub(super) fn filled(node: &Node, cursor: Cursor<'_>) -> Node {
    let mut with_defaults = node.to_json_value();
    fill_value(&mut with_defaults, cursor);
    let mut filled = node.clone();
    update(&mut filled, &with_defaults);
    filled
}

/// Updates a node to equal a JSON value by removing and adding fields.
fn update(node: &mut Node, filled: &serde_json::Value) {
    let span = node.meta.span;
    if node.is_null() && !filled.is_null() {
        *node = Node::from(filled).with_span(span);
    }
    match (&mut node.value, filled) {
        (Value::List(list), serde_json::Value::Array(entries)) => {
            list.iter_mut().zip(entries).for_each(|(entry, filled)| update(entry, filled));
        }
        (Value::Map(map), serde_json::Value::Object(fields)) => {
            map.entries_mut().retain(|entry| fields.contains_key(entry.key.text.as_str()));
            for (name, value) in map.iter_mut() {
                update(value, &fields[name]);
            }
            for (name, value) in fields {
                if !map.contains_key(name) {
                    map.push(name.as_str(), Node::from(value).with_span(span));
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use smp_merge::schema::{Gvk, Schema};

    #[test]
    fn defaults_are_filled_in_at_each_level() {
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "spec": {"group": "example.com", "names": {"kind": "Thing", "plural": "things"}, "scope": "Namespaced",
                "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "default": {}, "properties": {
                        "size": {"type": "integer", "default": 3},
                        "empty": {"type": "string", "default": ""},
                        "parts": {"type": "array", "default": [{"a": 1}], "items": {"type": "object", "properties": {
                            "a": {"type": "integer"}, "b": {"type": "string", "default": "x"}}}},
                        "maybe": {"type": "string", "nullable": true, "default": "w"},
                        "removed": {"type": "string"},
                        "map": {"type": "object", "additionalProperties": {"type": "string"}},
                        "list": {"type": "array", "items": {"type": "string"}},
                    }},
                }}}}]},
        });
        let schema = Schema::embedded().with_crds(&[crd]).expect("a definition");
        let cursor = schema.kind(&Gvk::from_manifest("example.com/v1", "Thing")).expect("defined");
        let table = [
            ("{}", "{spec: {empty: '', maybe: w, parts: [{a: 1, b: x}], size: 3}}"),
            (
                "{spec: {size: 1, parts: [{}], empty: a}}",
                "{spec: {size: 1, parts: [{b: x}], empty: a, maybe: w}}",
            ),
            (
                "{spec: {size: null, maybe: null, parts: []}}",
                "{spec: {maybe: null, parts: [], empty: '', size: 3}}",
            ),
            (
                "{spec: {size: 1, maybe: a, parts: [], empty: a, removed: null, map: {a: null}, list: [null]}}",
                "{spec: {size: 1, maybe: a, parts: [], empty: a, map: {}, list: [null]}}",
            ),
        ];
        for (before, after) in table {
            let node: Node = before.parse().expect("test text");
            assert_eq!(filled(&node, cursor), after.parse().expect("test text"), "{before}");
        }
    }
}
