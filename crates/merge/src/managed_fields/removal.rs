//! Removes the fields of a set from an object, or extracts only these fields.

use serde_json::{Map, Value};

use super::field_set::{Entry, FieldSet};
use super::path_element::PathElement;
use super::types::{Fields, List, Part, Type};

/// Returns the value without the fields of a set. Maps and lists that become empty become null.
pub(super) fn without_fields(value: &Value, set: &FieldSet, ty: Type<'_>) -> Value {
    match ty.part(value) {
        Part::Map(fields) => match value {
            Value::Object(map) if !fields.is_atomic => map_without(map, set, &fields),
            _ => Value::Null,
        },
        Part::List(list) => match value {
            Value::Array(entries) if !list.is_atomic() => list_without(entries, set, &list),
            _ => Value::Null,
        },
        Part::Scalar(_) => value.clone(),
        Part::None => Value::Null,
    }
}

fn below(entry: Option<&Entry>) -> Option<&FieldSet> {
    entry.map(|entry| &entry.children).filter(|children| !children.is_empty())
}

fn map_without(map: &Map<String, Value>, set: &FieldSet, fields: &Fields<'_>) -> Value {
    let mut rest = Map::new();
    for (name, value) in map {
        let entry = set.entry(&PathElement::from(name.as_str()));
        if entry.is_some_and(|entry| entry.is_member) {
            continue;
        }
        let value = match below(entry) {
            Some(children) => without_fields(value, children, fields.field(name)),
            None => value.clone(),
        };
        rest.insert(name.clone(), value);
    }
    if rest.is_empty() { Value::Null } else { Value::Object(rest) }
}

fn list_without(entries: &[Value], set: &FieldSet, list: &List<'_>) -> Value {
    let mut rest = Vec::with_capacity(entries.len());
    for value in entries {
        let entry = set.entry(&list.any_element_of(value));
        if entry.is_some_and(|entry| entry.is_member) {
            continue;
        }
        rest.push(match below(entry) {
            Some(children) => without_fields(value, children, list.element),
            None => value.clone(),
        });
    }
    if rest.is_empty() { Value::Null } else { Value::Array(rest) }
}

/// The extracted value of a map or list that is in the set without any of its fields, because an owner applied it
/// empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WithoutFields {
    /// The same as in structured-merge-diff: null, or fields that occur elsewhere in the set.
    AsServer,
    /// An empty map or list. Applying it changes nothing.
    Empty,
}

/// Returns only the fields of a set.
pub(super) fn extracted(value: &Value, set: &FieldSet, ty: Type<'_>, rule: WithoutFields) -> Value {
    match (ty.part(value), value) {
        (Part::Map(fields), Value::Object(map)) if !fields.is_atomic && !map.is_empty() => {
            extracted_map(map, set, &fields, rule)
        }
        (Part::List(list), Value::Array(entries)) if !list.is_atomic() && !entries.is_empty() => {
            extracted_list(entries, set, &list, rule)
        }
        (Part::Map(_), Value::Object(_)) | (Part::List(_), Value::Array(_)) | (Part::Scalar(_), _) => {
            value.clone()
        }
        _ => Value::Null,
    }
}

fn extracted_map(
    map: &Map<String, Value>,
    set: &FieldSet,
    fields: &Fields<'_>,
    rule: WithoutFields,
) -> Value {
    let mut found = Map::new();
    for (name, value) in map {
        let entry = set.entry(&PathElement::from(name.as_str()));
        let ty = fields.field(name);
        let value = if entry.is_some_and(|entry| entry.is_member) {
            // structured-merge-diff passes the whole set here. This only matters for a map that is in the set without
            // its fields.
            let whole = if rule == WithoutFields::Empty { &FieldSet::new() } else { set };
            match extracted(value, whole, ty, rule) {
                Value::Null if rule == WithoutFields::Empty => emptied(value),
                found => found,
            }
        } else if let Some(children) = below(entry) {
            extracted(value, children, ty, rule)
        } else {
            continue;
        };
        found.insert(name.clone(), value);
    }
    if found.is_empty() { Value::Null } else { Value::Object(found) }
}

/// Returns an empty map or list for a map or list, and null for a scalar.
fn emptied(value: &Value) -> Value {
    match value {
        Value::Object(_) => Value::Object(Map::new()),
        Value::Array(_) => Value::Array(Vec::new()),
        _ => Value::Null,
    }
}

fn extracted_list(entries: &[Value], set: &FieldSet, list: &List<'_>, rule: WithoutFields) -> Value {
    let mut found = Vec::new();
    for value in entries {
        let Some(entry) = set.entry(&list.any_element_of(value)) else {
            continue;
        };
        found.push(match below(Some(entry)) {
            Some(children) => extracted(value, children, list.element, rule),
            None => value.clone(),
        });
    }
    if found.is_empty() { Value::Null } else { Value::Array(found) }
}
