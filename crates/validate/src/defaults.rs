//! Nulls and defaults of a custom resource, which a server removes and sets before it validates the object.

use smp_merge::schema::{Cursor, TypeKind};
use smp_text::source::Span;
use smp_text::yaml::{Node, Value};

/// Returns the object as the server validates it: without null fields that the schema does not allow, and with the
/// defaults at all existing levels.
pub(super) fn filled(node: &Node, cursor: Cursor<'_>) -> Node {
    let mut filled = node.clone();
    let removes_nulls = !cursor.constraints().keeps_nulls;
    fill(&mut filled, cursor, removes_nulls);
    filled
}

/// Returns true for the metadata of an object, which has the defaults of Kubernetes.
fn is_metadata(cursor: Cursor<'_>) -> bool {
    cursor.type_name().is_some()
}

/// Returns the default as a node at the location of the value or map that lacks it.
fn default_node(cursor: Cursor<'_>, at: Span) -> Node {
    Node::from(&cursor.constraints().default.unwrap_or_default()).with_span(at)
}

/// Replaces null by the default, unless the schema allows null.
fn replace_null(value: &mut Node, cursor: Cursor<'_>) {
    if value.is_null() && cursor.is_known() && cursor.has_default() && !cursor.constraints().nullable {
        *value = default_node(cursor, value.meta.span);
    }
}

fn fill(node: &mut Node, cursor: Cursor<'_>, removes_nulls: bool) {
    let at = node.meta.span;
    match &mut node.value {
        Value::List(list) if cursor.type_kind() == TypeKind::Array && cursor.element().is_known() => {
            let element = cursor.element();
            for entry in list {
                replace_null(entry, element);
                fill(entry, element, removes_nulls);
            }
        }
        Value::Scalar(_) | Value::List(_) => {}
        Value::Map(map) => {
            let field = |name: &str| cursor.declared(name).unwrap_or_else(|| cursor.additional());
            if removes_nulls {
                map.entries_mut().retain(|entry| !is_removed(&entry.value, field(&entry.key.text)));
            }
            for (name, field) in cursor.fields().filter(|(_, field)| field.has_default()) {
                if !map.contains_key(name) {
                    map.push(name, default_node(field, at));
                }
            }
            for (name, value) in map.iter_mut() {
                let field = field(name);
                if field.is_known() && !is_metadata(field) {
                    replace_null(value, field);
                    fill(value, field, removes_nulls);
                }
            }
        }
    }
}

/// Returns true if the server removes the value of a field: null where the schema allows no null and has no default.
fn is_removed(value: &Node, field: Cursor<'_>) -> bool {
    value.is_null()
        && field.is_known()
        && !is_metadata(field)
        && !field.has_default()
        && !field.constraints().nullable
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
