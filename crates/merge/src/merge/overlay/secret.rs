//! Precedence of `data` and `stringData` in patched Secrets.
//!
//! The API server overwrites values of `data` with those of `stringData`, whatever their owner. A change of one field
//! must therefore also apply to the other one: the later patch takes precedence, as with two consecutive server-side
//! applies.

use smp_text::yaml::{Map, Node};

/// Removes the values of a merged Secret that the patch replaces or removes in the other field.
pub(super) fn remove_overridden(merged: &mut Map, patch: &Map) {
    let text = |field| merged.get(field).and_then(Node::as_str);
    if (text("apiVersion"), text("kind")) != (Some("v1"), Some("Secret")) {
        return;
    }
    let values = |field| patch.get(field).and_then(Node::as_map);
    let (data, strings) = (values("data"), values("stringData"));
    let has = |map: Option<&Map>, key: &str| map.and_then(|map| map.get(key)).is_some_and(|v| !v.is_null());
    for (key, _) in data.into_iter().flat_map(Map::iter) {
        if !has(strings, key) {
            remove_value(merged, "stringData", key);
        }
    }
    for (key, value) in strings.into_iter().flat_map(Map::iter) {
        if value.is_null() && !has(data, key) {
            remove_value(merged, "data", key);
        }
    }
}

/// Removes a value, and also the field that contained it if it becomes empty.
fn remove_value(secret: &mut Map, field: &str, key: &str) {
    let Some(values) = secret.get_mut(field).and_then(Node::as_map_mut) else { return };
    if values.remove(key).is_some() && values.is_empty() {
        secret.remove(field);
    }
}
