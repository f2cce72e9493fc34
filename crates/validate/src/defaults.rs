//! The defaults of a CRD, which a server sets before it validates a custom resource.

use smp_merge::schema::{Cursor, TypeKind};
use smp_text::yaml::{Node, Value};

/// Returns the object with the defaults of its schema at all existing levels.
pub(super) fn filled(node: &Node, cursor: Cursor<'_>) -> Node {
    let mut filled = node.clone();
    fill(&mut filled, cursor);
    filled
}

/// Returns true for the metadata of an object, which has the defaults of Kubernetes.
fn is_metadata(cursor: Cursor<'_>) -> bool {
    cursor.type_name().is_some()
}

fn fill(node: &mut Node, cursor: Cursor<'_>) {
    match &mut node.value {
        Value::List(list) if cursor.type_kind() == TypeKind::Array => {
            let element = cursor.element();
            list.iter_mut().filter(|_| element.is_known()).for_each(|entry| fill(entry, element));
        }
        Value::Scalar(_) | Value::List(_) => {}
        Value::Map(map) => {
            // Null is replaced by the default, unless the field is nullable.
            let stays = |name: &str, value: &Node| {
                !value.is_null()
                    || cursor
                        .declared(name)
                        .is_none_or(|field| !field.has_default() || field.constraints().nullable)
            };
            map.entries_mut().retain(|entry| stays(&entry.key.text, &entry.value));
            for (name, field) in cursor.fields().filter(|(_, field)| field.has_default()) {
                if !map.contains_key(name) {
                    let default = field.constraints().default.unwrap_or_default();
                    map.push(name, Node::from(&default).with_span(node.meta.span));
                }
            }
            for (name, value) in map.iter_mut() {
                let below = cursor.declared(name).unwrap_or_else(|| cursor.additional());
                if below.is_known() && !is_metadata(below) {
                    fill(value, below);
                }
            }
        }
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
        ];
        for (before, after) in table {
            let node: Node = before.parse().expect("test text");
            assert_eq!(filled(&node, cursor), after.parse().expect("test text"), "{before}");
        }
    }
}
