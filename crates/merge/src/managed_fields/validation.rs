//! Validates values against their types, with the messages of API servers.

use std::collections::BTreeSet;

use serde_json::Value;

use super::json_value::write_quoted;
use super::path_element::PathElement;
use super::types::{Fields, List, Part, Scalar, Type};

/// The policy for entries of associative lists with equal keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Duplicates {
    /// As in live objects, since older servers accepted them.
    Allowed,
    /// As in applied objects.
    Rejected,
}

/// A value that does not match its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub(super) path: String,
    pub(super) message: String,
}

impl Mismatch {
    fn new(message: String) -> Self {
        Self { path: String::new(), message }
    }
}

/// Formats mismatches as API servers do.
pub(super) fn describe(mismatches: &[Mismatch]) -> String {
    let line = |mismatch: &Mismatch| match mismatch.path.as_str() {
        "" => mismatch.message.clone(),
        path => format!("{path}: {}", mismatch.message),
    };
    match mismatches {
        [one] => line(one),
        several => {
            let lines: Vec<String> =
                several.iter().map(|mismatch| format!("\n  {}", line(mismatch))).collect();
            format!("errors:{}", lines.concat())
        }
    }
}

/// Returns the values that do not match the type. Only the first undeclared field of a map is reported.
pub(super) fn mismatches(value: &Value, ty: Type<'_>, duplicates: Duplicates) -> Vec<Mismatch> {
    match ty.part(value) {
        Part::Map(fields) => map_mismatches(value, &fields, duplicates),
        Part::Scalar(scalar) => scalar_mismatch(value, scalar).map(Mismatch::new).into_iter().collect(),
        Part::List(list) => list_mismatches(value, &list, duplicates),
        Part::None => vec![Mismatch::new("schema error: invalid atom: inlined".into())],
    }
}

fn below(element: &PathElement, mut found: Vec<Mismatch>) -> Vec<Mismatch> {
    for mismatch in &mut found {
        mismatch.path.insert_str(0, &element.to_string());
    }
    found
}

fn map_mismatches(value: &Value, fields: &Fields<'_>, duplicates: Duplicates) -> Vec<Mismatch> {
    let map = match value {
        Value::Object(map) => map,
        Value::Null => return Vec::new(),
        _ => return vec![Mismatch::new(format!("expected map, got &{{{}}}", shown(value)))],
    };
    let mut found = Vec::new();
    for (name, value) in map {
        let ty = fields.field(name);
        if matches!(ty, Type::Undeclared) {
            let undeclared = Mismatch::new("field not declared in schema".into());
            found.extend(below(&PathElement::from(name.as_str()), vec![undeclared]));
            break;
        }
        let mismatches = mismatches(value, ty, duplicates);
        if !mismatches.is_empty() {
            found.extend(below(&PathElement::from(name.as_str()), mismatches));
        }
    }
    found
}

fn list_mismatches(value: &Value, list: &List<'_>, duplicates: Duplicates) -> Vec<Mismatch> {
    let entries = match value {
        Value::Array(entries) => entries,
        Value::Null => return Vec::new(),
        _ => return vec![Mismatch::new(format!("expected list, got &{{{}}}", shown(value)))],
    };
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (i, entry) in entries.iter().enumerate() {
        let element = if list.is_atomic() {
            PathElement::Index(i64::try_from(i).unwrap_or(i64::MAX))
        } else {
            match list.element_of(entry) {
                Ok(element) => element,
                Err(why) => {
                    found.push(Mismatch::new(format!("element {i}: {why}")));
                    return found;
                }
            }
        };
        if !list.is_atomic() && duplicates == Duplicates::Rejected && seen.contains(&element) {
            found.push(Mismatch::new(format!("duplicate entries for key {element}")));
        }
        found.extend(below(&element, mismatches(entry, list.element, duplicates)));
        seen.insert(element);
    }
    found
}

/// Returns the entries of associative lists that cannot be identified. A merged object has such an entry if all fields
/// of the entry were removed.
pub(super) fn unidentified_entries(value: &Value, ty: Type<'_>) -> Vec<Mismatch> {
    let mut found = Vec::new();
    match (ty.part(value), value) {
        (Part::Map(fields), Value::Object(map)) if !fields.is_atomic => {
            for (name, value) in map {
                let mismatches = unidentified_entries(value, fields.field(name));
                found.extend(below(&PathElement::from(name.as_str()), mismatches));
            }
        }
        (Part::List(list), Value::Array(entries)) if !list.is_atomic() => {
            for (i, entry) in entries.iter().enumerate() {
                match list.element_of(entry) {
                    Ok(element) => found.extend(below(&element, unidentified_entries(entry, list.element))),
                    Err(why) => found.push(Mismatch::new(format!("element {i}: {why}"))),
                }
            }
        }
        _ => {}
    }
    found
}

fn scalar_mismatch(value: &Value, scalar: Scalar) -> Option<String> {
    let is_valid = match scalar {
        Scalar::Numeric => value.is_number(),
        Scalar::String => value.is_string(),
        Scalar::Boolean => value.is_boolean(),
        Scalar::Any => !value.is_array() && !value.is_object(),
    };
    (!is_valid && !value.is_null()).then(|| match scalar {
        Scalar::Numeric => format!("expected numeric (int or float), got {}", type_name(value)),
        Scalar::String => {
            format!("expected string, got &value.valueUnstructured{{Value:{}}}", literal(value))
        }
        Scalar::Boolean => format!("expected boolean, got &{{{}}}", shown(value)),
        Scalar::Any => format!("expected any scalar, got &{{{}}}", shown(value)),
    })
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn number(value: &serde_json::Number) -> String {
    match (value.as_i64(), value.as_f64()) {
        (Some(int), _) => int.to_string(),
        (None, Some(float)) => smp_text::gocompat::strconv::format_float(float),
        (None, None) => value.to_string(),
    }
}

/// Returns a value as Go's `%v` formats it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(value) => number(value),
        Value::String(text) => text.clone(),
        Value::Array(list) => format!("[{}]", list.iter().map(shown).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_unstable_by_key(|(name, _)| *name);
            let entries = entries.into_iter().map(|(name, value)| format!("{name}:{}", shown(value)));
            format!("map[{}]", entries.collect::<Vec<_>>().join(" "))
        }
    }
}

/// Returns a value as Go's `%#v` formats it.
fn literal(value: &Value) -> String {
    let quoted = |text: &str| {
        let mut out = String::new();
        write_quoted(text, &mut out);
        out
    };
    match value {
        Value::Null => "interface {}(nil)".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(value) => number(value),
        Value::String(text) => quoted(text),
        Value::Array(list) => {
            format!("[]interface {{}}{{{}}}", list.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_unstable_by_key(|(name, _)| *name);
            let entries =
                entries.into_iter().map(|(name, value)| format!("{}:{}", quoted(name), literal(value)));
            format!("map[string]interface {{}}{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}
