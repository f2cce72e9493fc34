//! Prunes custom resources according to their structural schema.

use serde_json::{Map, Value};
use smp_merge::schema::{Cursor, TypeKind};

use super::decoder::{Decoder, Step};
use super::structs;

/// Fields of an object that are not pruned.
const OBJECT_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Prunes a custom resource. Its metadata is decoded like that of built-in kinds.
pub(super) fn prune_root(
    decoder: &mut Decoder,
    object: &mut Value,
    cursor: Cursor<'_>,
) -> Result<(), String> {
    let Value::Object(fields) = object else {
        return Err("expected a map".into());
    };
    decoder.prune(fields, cursor, true);
    if let Some(metadata) = fields.get_mut("metadata") {
        decoder.steps.push(Step::Field("metadata".into()));
        structs::decode_field(decoder, metadata, cursor.field("metadata"), "")?;
        decoder.steps.pop();
    }
    Ok(())
}

impl Decoder {
    fn prune(&mut self, fields: &mut Map<String, Value>, cursor: Cursor<'_>, is_object: bool) {
        let keeps_unknown = cursor.preserves_unknown_fields() || !cursor.is_known();
        for (name, mut value) in std::mem::take(fields) {
            if is_object && OBJECT_FIELDS.contains(&name.as_str()) {
                fields.insert(name, value);
                continue;
            }
            // Null is treated as absent, unless the field is nullable.
            let is_dropped = |field: Cursor<'_>| {
                field.type_kind() != TypeKind::Any
                    && !field.preserves_unknown_fields()
                    && !field.constraints().nullable
            };
            if value.is_null() && cursor.declared(&name).is_some_and(is_dropped) {
                continue;
            }
            let below = cursor.declared(&name).unwrap_or_else(|| cursor.additional());
            if !below.is_known() && !keeps_unknown {
                self.report_unknown(&name);
                continue;
            }
            self.steps.push(Step::Field(name.as_str().into()));
            self.prune_value(&mut value, below);
            self.steps.pop();
            fields.insert(name, value);
        }
    }

    fn prune_value(&mut self, value: &mut Value, cursor: Cursor<'_>) {
        if !cursor.is_known() {
            return;
        }
        match value {
            Value::Object(fields) if cursor.type_kind() == TypeKind::Object => {
                let is_open = cursor.fields().next().is_none() && !cursor.additional().is_known();
                if !is_open || !cursor.preserves_unknown_fields() {
                    self.prune(fields, cursor, cursor.is_embedded_resource());
                }
            }
            Value::Array(list) => {
                let element = cursor.element();
                for (index, value) in list.iter_mut().enumerate() {
                    self.steps.push(Step::Index(index));
                    self.prune_value(value, element);
                    self.steps.pop();
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::decode;
    use smp_merge::schema::{Gvk, Schema};

    #[test]
    fn fields_without_a_schema_are_pruned() {
        let free = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let spec = json!({"type": "object", "properties": {
            "size": {"type": "integer"}, "free": free,
            "parts": {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        }});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "spec": {"group": "example.com", "names": {"kind": "Gadget", "plural": "gadgets"}, "scope": "Namespaced",
                "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}]},
        });
        let schema = Schema::embedded().with_crds(&[definition]).expect("a definition");
        let cursor = schema.kind(&Gvk::from_manifest("example.com/v1", "Gadget")).expect("defined");
        let gadget = json!({
            "apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a", "labels": {}}, "extra": 1,
            "spec": {"size": 1, "colour": "red", "free": {"a": [1]}, "parts": [{"id": "a", "b": 2}], "labels": {"x": "y"}},
        });
        let decoded = decode(gadget, cursor, true).expect("decodes");
        assert_eq!(
            decoded.object,
            json!({
                "apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a"},
                "spec": {"size": 1, "free": {"a": [1]}, "parts": [{"id": "a"}], "labels": {"x": "y"}},
            })
        );
        let unknown =
            ["extra", "spec.colour", "spec.parts[0].b"].map(|path| format!("unknown field {path:?}"));
        assert_eq!(decoded.unknown, unknown);
    }
}
