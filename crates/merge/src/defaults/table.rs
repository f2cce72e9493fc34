//! The static defaults of built-in kinds, by the types of their fields.
//!
//! `kubernetes.json` contains the defaults that kube-apiserver's defaulting functions set in objects with empty
//! structs. `tests/live/defaults` generates it.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The defaults of each type.
pub(super) static TABLE: LazyLock<FxHashMap<String, FieldDefaults>> = LazyLock::new(read);

/// The defaults of the fields of a type.
#[derive(Debug, Default, Deserialize)]
pub(super) struct FieldDefaults {
    fields: FxHashMap<String, Value>,
    /// The fields whose zero value is treated as absent.
    #[serde(default)]
    zero: Vec<String>,
    /// The fields whose zero value is not written.
    #[serde(default)]
    omit: Vec<String>,
    /// Defaults that apply to the value of a field, by the field's name. The type of the value does not have them
    /// elsewhere.
    #[serde(skip)]
    pub(super) by_field: FxHashMap<String, FieldDefaults>,
}

/// Reads the table. An invalid table is read as an empty one, but fails a test.
fn read() -> FxHashMap<String, FieldDefaults> {
    let text = include_str!("kubernetes.json");
    let mut all: FxHashMap<String, FieldDefaults> = serde_json::from_str(text).unwrap_or_default();
    // Names of types end with a component in upper case; `Job.spec` is a field of a type.
    let is_field = |name: &str| {
        name.rsplit('.').next().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_lowercase()))
    };
    let paths: Vec<String> = all.keys().filter(|name| is_field(name)).cloned().collect();
    for path in paths {
        let Some((owner, field)) = path.rsplit_once('.') else { continue };
        if let Some(defaults) = all.remove(&path) {
            all.entry(owner.into()).or_default().by_field.insert(field.into(), defaults);
        }
    }
    all
}

impl FieldDefaults {
    /// Removes the fields of `omit` that have their zero value, as Go's encoder does.
    pub(super) fn omit(&self, map: &mut Map<String, Value>) {
        for name in &self.omit {
            if map.get(name).is_some_and(is_empty) {
                map.remove(name);
            }
        }
    }

    /// Returns the fields whose default is empty.
    pub(super) fn zero_values(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.fields.iter().filter(|(_, value)| is_empty(value)).map(|(name, value)| (name.as_str(), value))
    }

    /// Sets the defaults of fields that are absent or null, and of the fields in `zero` that have their zero value. An
    /// empty list becomes null if that is the default. The fields in `skipped` are not changed.
    pub(super) fn fill(&self, map: &mut Map<String, Value>, skipped: &[&str]) {
        for (name, default) in self.fields.iter().filter(|(name, _)| !skipped.contains(&name.as_str())) {
            let is_absent = match map.get(name) {
                None | Some(Value::Null) => true,
                // Servers do not store an empty list, so it is null when the object is read again.
                Some(Value::Array(list)) if default.is_null() => list.is_empty(),
                Some(value) => is_zero(value) && self.zero.contains(name),
            };
            if is_absent {
                map.insert(name.clone(), default.clone());
            }
        }
    }
}

/// Returns true for the zero values of Go, and for empty lists and maps.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => !flag,
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        value => is_zero(value),
    }
}

/// Returns true for the zero values of Go's strings and numbers.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        _ => false,
    }
}
