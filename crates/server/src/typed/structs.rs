//! Decodes values into Go structs and writes them again: removes unknown fields and zero values, and adds values that
//! are always written.

use serde_json::{Map, Value, json};
use smp_merge::defaults::{canonicalize_quantity, zero_entry};
use smp_merge::managed_fields::Timestamp;
use smp_merge::schema::{Cursor, TypeKind};

use super::decoder::{Decoder, Step};
use super::go_types::{self, FieldFacts, TypeFacts};

type Decoded<T> = Result<T, String>;

/// A struct, for messages about its fields.
#[derive(Clone, Copy)]
struct Owner<'s> {
    definition: &'s str,
    /// The number of steps that are fields of structs. The last one is the field.
    depth: usize,
}

/// Decodes an object of a built-in kind.
pub(super) fn decode_root(decoder: &mut Decoder, object: &mut Value, cursor: Cursor<'_>) -> Decoded<()> {
    let Value::Object(fields) = object else {
        let name = cursor.type_name().unwrap_or_default();
        let mut parts = name.rsplit('.');
        let (kind, version) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        return Err(format!(
            "json: cannot unmarshal {} into Go value of type {version}.{kind}",
            described(object)
        ));
    };
    decoder.fields(fields, cursor)
}

/// Decodes the value of a field whose type is a struct, such as the metadata of a custom resource.
pub(super) fn decode_field(
    decoder: &mut Decoder,
    value: &mut Value,
    cursor: Cursor<'_>,
    root: &str,
) -> Decoded<()> {
    let owner = Owner { definition: root, depth: 1 };
    decoder.value(value, cursor, FieldFacts::default(), owner)
}

impl Decoder {
    /// Decodes the fields of a struct.
    fn fields(&mut self, fields: &mut Map<String, Value>, cursor: Cursor<'_>) -> Decoded<()> {
        let definition = cursor.type_name().unwrap_or_default();
        let known = go_types::find(definition);
        let owner = Owner { definition, depth: self.steps.len() + 1 };
        let mut result = Ok(());
        fields.retain(|name, value| {
            // Defaults have no zero values that are not written, so scalars are already complete.
            if result.is_err() || (self.is_completing && is_scalar(value)) {
                return true;
            }
            // The server's types lack fields of older and newer versions that the schema has.
            let is_known = known.is_none_or(|known| known.order.contains(&name.as_str()));
            let Some(field) = cursor.declared(name).filter(|_| is_known) else {
                return self.keeps_undeclared(name, cursor);
            };
            let own = known.and_then(|known| known.facts.get(name.as_str())).copied().unwrap_or_default();
            result = self.field(name, value, (field, own), owner);
            let is_null_object = own.is_always_object && value.is_null();
            let is_always_written = own.is_always_written && self.is_completing;
            !is_null_object && (is_always_written || is_written(value, field, own))
        });
        result?;
        known.map_or(Ok(()), |known| self.complete(fields, cursor, &known.facts))
    }

    fn field(
        &mut self,
        name: &str,
        value: &mut Value,
        (cursor, own): (Cursor<'_>, FieldFacts),
        owner: Owner<'_>,
    ) -> Decoded<()> {
        self.steps.push(Step::Field(name.into()));
        self.value(value, cursor, own, owner)?;
        self.steps.pop();
        Ok(())
    }

    /// Returns true for a field in a type that accepts all fields. Reports the others as unknown.
    fn keeps_undeclared(&mut self, name: &str, cursor: Cursor<'_>) -> bool {
        let is_free = cursor.preserves_unknown_fields() || cursor.additional().is_known();
        let is_kept = is_free || cursor.fields().next().is_none();
        if !is_kept {
            self.report_unknown(name);
        }
        is_kept
    }

    /// Adds the fields that are always written.
    fn complete(
        &mut self,
        fields: &mut Map<String, Value>,
        cursor: Cursor<'_>,
        facts: &TypeFacts,
    ) -> Decoded<()> {
        for (name, own) in facts {
            let is_added = own.is_always_object || (own.is_always_written && self.is_completing);
            if !is_added || fields.contains_key(*name) {
                continue;
            }
            let Some(field) = cursor.declared(name) else { continue };
            let mut value = if own.is_always_object { json!({}) } else { zero(field, *own) };
            if let Value::Object(inner) = &mut value {
                self.fields(inner, field)?;
            }
            fields.insert((*name).to_string(), value);
        }
        Ok(())
    }

    fn value(
        &mut self,
        value: &mut Value,
        cursor: Cursor<'_>,
        own: FieldFacts,
        owner: Owner<'_>,
    ) -> Decoded<()> {
        if !cursor.is_known() {
            return Ok(());
        }
        if value.is_null() {
            if own.is_always_written && self.is_completing {
                *value = zero(cursor, own);
            }
            return Ok(());
        }
        if cursor.type_name().is_some_and(|name| name.ends_with(".api.resource.Quantity")) {
            return decode_quantity(value);
        }
        match (cursor.type_kind(), &mut *value) {
            (TypeKind::Any, _)
            | (TypeKind::IntOrString, Value::String(_) | Value::Number(_))
            | (TypeKind::Boolean, Value::Bool(_))
            | (TypeKind::Number, Value::Number(_)) => Ok(()),
            (TypeKind::String, Value::String(text)) => {
                check_time(text, cursor)?;
                check_bytes(text, cursor)
            }
            (TypeKind::Integer, Value::Number(number)) if number.is_i64() => Ok(()),
            (TypeKind::Array, Value::Array(list)) => self.list(list, cursor.element(), owner),
            (TypeKind::Object, Value::Object(fields)) => self.object(fields, cursor, owner),
            _ => Err(self.mismatch(value, cursor, own, owner)),
        }
    }

    fn object(
        &mut self,
        fields: &mut Map<String, Value>,
        cursor: Cursor<'_>,
        owner: Owner<'_>,
    ) -> Decoded<()> {
        if cursor.fields().next().is_some() {
            return self.fields(fields, cursor);
        }
        let (values, is_completing) = (cursor.additional(), self.is_completing);
        let is_complete = |value: &Value| is_completing && is_scalar(value);
        for (key, value) in fields.iter_mut().filter(|(_, value)| !is_complete(value)) {
            if value.is_null() {
                *value = zero_entry(values);
            }
            self.field(key, value, (values, FieldFacts::default()), owner)?;
        }
        Ok(())
    }

    fn list(&mut self, list: &mut [Value], element: Cursor<'_>, owner: Owner<'_>) -> Decoded<()> {
        for (index, value) in list.iter_mut().enumerate() {
            if value.is_null() {
                *value = zero_entry(element);
            }
            self.steps.push(Step::Index(index));
            self.value(value, element, FieldFacts::default(), owner)?;
            self.steps.pop();
        }
        Ok(())
    }

    fn mismatch(&self, value: &Value, cursor: Cursor<'_>, own: FieldFacts, owner: Owner<'_>) -> String {
        let what = described(value);
        let wanted = go_types::shown_type(cursor, own);
        let fields = self.steps.get(..owner.depth).unwrap_or_default();
        let names: Vec<&str> = fields
            .iter()
            .filter_map(|step| match step {
                Step::Field(name) => Some(name.as_str()),
                Step::Index(_) => None,
            })
            .collect();
        let name = go_types::struct_name(owner.definition);
        format!(
            "json: cannot unmarshal {what} into Go struct field {name}.{} of type {wanted}",
            names.join(".")
        )
    }
}

/// Checks that the text of a time is in RFC 3339.
fn check_time(text: &str, cursor: Cursor<'_>) -> Decoded<()> {
    let format = match cursor.type_name().and_then(|name| name.rsplit('.').next()) {
        Some("Time") => "2006-01-02T15:04:05Z07:00",
        Some("MicroTime") => "2006-01-02T15:04:05.000000Z07:00",
        _ => return Ok(()),
    };
    if Timestamp::parse(text).is_ok() {
        return Ok(());
    }
    Err(format!("parsing time {text:?} as {format:?}: cannot parse {text:?} as \"2006\""))
}

/// Checks the base64 of a field of bytes.
fn check_bytes(text: &str, cursor: Cursor<'_>) -> Decoded<()> {
    use base64::Engine as _;
    if !cursor.constraints_text().is_some_and(|text| text.contains(r#""format":"byte""#)) {
        return Ok(());
    }
    let at = match base64::engine::general_purpose::STANDARD.decode(text) {
        Ok(_) => return Ok(()),
        Err(
            base64::DecodeError::InvalidByte(at, _)
            | base64::DecodeError::InvalidLastSymbol { offset: at, .. },
        ) => after_padding(text, at),
        Err(_) => text.len() / 4 * 4,
    };
    Err(format!("illegal base64 data at input byte {at}"))
}

/// Returns the position after valid padding, which is where Go reports the error.
fn after_padding(text: &str, at: usize) -> usize {
    let end = at + text[at..].bytes().take_while(|byte| *byte == b'=').count();
    if end > at && end.is_multiple_of(4) && end < text.len() { end } else { at }
}

fn decode_quantity(value: &mut Value) -> Decoded<()> {
    if canonicalize_quantity(value) {
        return Ok(());
    }
    Err("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'".into())
}

/// Returns the name of a value in Go's messages.
fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) => "bool".into(),
        Value::Number(number) if number.is_i64() => "number".into(),
        Value::Number(number) => format!("number {number}"),
        Value::String(_) => "string".into(),
        Value::Array(_) => "array".into(),
        Value::Object(_) => "object".into(),
    }
}

fn is_scalar(value: &Value) -> bool {
    !(value.is_object() || value.is_array() || value.is_null())
}

fn is_written(value: &Value, cursor: Cursor<'_>, own: FieldFacts) -> bool {
    if own.is_always_object {
        return true;
    }
    match value {
        Value::Null => false,
        Value::Bool(value) => *value || own.is_pointer,
        Value::Number(number) => number.as_f64() != Some(0.0) || own.is_pointer,
        Value::String(text) => !text.is_empty() || own.is_pointer,
        Value::Array(list) => !list.is_empty(),
        // Empty maps are not written, but empty structs are. Here they are pointers, some to structs without fields.
        Value::Object(fields) => !fields.is_empty() || !cursor.additional().is_known(),
    }
}

/// Returns the zero value of a type as Go writes it.
fn zero(cursor: Cursor<'_>, own: FieldFacts) -> Value {
    if own.is_pointer || cursor.type_name().is_some_and(|name| name.ends_with("Time")) {
        return Value::Null;
    }
    match cursor.type_kind() {
        TypeKind::String => "".into(),
        TypeKind::Integer | TypeKind::Number | TypeKind::IntOrString => 0.into(),
        TypeKind::Boolean => false.into(),
        TypeKind::Array | TypeKind::Object | TypeKind::Any => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{complete, decode};
    use super::*;
    use smp_merge::defaults;
    use smp_merge::schema::{Gvk, Schema, named_kinds};

    fn decoded(api_version: &str, kind: &str, object: Value) -> Result<(Value, Vec<String>), String> {
        let schema = Schema::embedded();
        let cursor = schema.kind(&Gvk::from_manifest(api_version, kind)).expect("built in");
        decode(object, cursor, false).map(|decoded| {
            let mut object = decoded.object;
            complete(&mut object, cursor);
            (object, decoded.unknown)
        })
    }

    #[test]
    fn objects_are_written_as_by_go() {
        let map =
            json!({"metadata": {"name": "a", "labels": {}}, "data": {}, "immutable": false, "datum": 1});
        let (map, unknown) = decoded("v1", "ConfigMap", map).expect("decodes");
        assert_eq!(map, json!({"metadata": {"name": "a"}, "immutable": false}));
        assert_eq!(unknown, [r#"unknown field "datum""#]);

        let web = json!({"spec": {"replicas": 0, "paused": false, "template": {"spec": {"containers": [{"name": "a", "x": 1}]}}}});
        let (web, unknown) = decoded("apps/v1", "Deployment", web).expect("decodes");
        let template = json!({"metadata": {}, "spec": {"containers": [{"name": "a", "resources": {}}]}});
        let spec = json!({"replicas": 0, "selector": null, "template": template, "strategy": {}});
        assert_eq!(web, json!({"metadata": {}, "spec": spec, "status": {}}));
        assert_eq!(unknown, [r#"unknown field "spec.template.spec.containers[0].x""#]);

        let (service, _) =
            decoded("v1", "Service", json!({"spec": {"ports": [{"port": 80}]}})).expect("decodes");
        assert_eq!(service["status"], json!({"loadBalancer": {}}));
        assert_eq!(service["spec"]["ports"][0], json!({"port": 80, "targetPort": 0}));
    }

    /// Returns the structs of an object.
    fn structs(object: &Value) -> Value {
        let fields = object.as_object().into_iter().flatten().filter(|(_, value)| value.is_object());
        fields.map(|(name, value)| (name.clone(), structs(value))).collect::<Map<_, _>>().into()
    }

    #[test]
    fn empty_objects_of_the_library_have_the_structs_of_go() {
        let schema = Schema::embedded();
        let (mut count, mut wrong) = (0, Vec::new());
        for kind in schema.graphs().flat_map(|(_, graph)| named_kinds(graph)) {
            let cursor = schema.kind(&kind.gvk).expect("named");
            let empty = defaults::empty(&kind.gvk, &schema);
            // Objects of other types are not stored, or there are no facts about them.
            if empty.get("metadata").is_none() || cursor.type_name().and_then(go_types::find).is_none() {
                continue;
            }
            count += 1;
            let object = json!({"apiVersion": kind.gvk.api_version(), "kind": kind.gvk.kind});
            let mut object = decode(object, cursor, false).expect("decodes").object;
            complete(&mut object, cursor);
            if structs(&empty) != structs(&object) {
                wrong.push(format!("{}: {empty} instead of {object}", kind.gvk));
            }
        }
        assert!(wrong.is_empty() && count > 40, "{count} kinds\n{}", wrong.join("\n"));
    }

    #[test]
    fn messages_about_types_are_those_of_go() {
        let table = [
            (
                "apps/v1",
                "Deployment",
                json!({"spec": {"replicas": "3"}}),
                "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32",
            ),
            (
                "v1",
                "ConfigMap",
                json!({"data": {"a": 1}}),
                "json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
            ),
            (
                "v1",
                "Pod",
                json!({"spec": {"containers": [{"name": 1}]}}),
                "json: cannot unmarshal number into Go struct field Container.spec.containers.name of type string",
            ),
            (
                "v1",
                "Pod",
                json!({"spec": {"restartPolicy": true}}),
                "json: cannot unmarshal bool into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy",
            ),
            ("v1", "ConfigMap", json!([]), "json: cannot unmarshal array into Go value of type v1.ConfigMap"),
        ];
        for (api_version, kind, object, message) in table {
            assert_eq!(decoded(api_version, kind, object).expect_err("rejected"), message);
        }
    }
}
