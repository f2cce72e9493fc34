//! Secrets have their values in two fields, of which the server writes `stringData` over `data`, whoever set them.
//! What a patch says of a value in the one field is therefore said of the other, too: the later word counts, as when
//! both are applied server-side one after the other.

use smp_text::yaml::{Map, Node};

/// Takes out of a merged Secret what the patch has replaced or removed by the other field.
pub(super) fn settle(merged: &mut Map, patch: &Map) {
    let text = |field| merged.get(field).and_then(Node::as_str);
    if (text("apiVersion"), text("kind")) != (Some("v1"), Some("Secret")) {
        return;
    }
    let values = |field| patch.get(field).and_then(Node::as_map);
    let (data, strings) = (values("data"), values("stringData"));
    let has = |map: Option<&Map>, key: &str| map.and_then(|map| map.get(key)).is_some_and(|v| !v.is_null());
    for (key, _) in data.into_iter().flat_map(Map::iter) {
        if !has(strings, key) {
            remove(merged, "stringData", key);
        }
    }
    for (key, value) in strings.into_iter().flat_map(Map::iter) {
        if value.is_null() && !has(data, key) {
            remove(merged, "data", key);
        }
    }
}

/// Removes a value, and its field when it was the last.
fn remove(secret: &mut Map, field: &str, key: &str) {
    let Some(values) = secret.get_mut(field).and_then(Node::as_map_mut) else { return };
    if values.remove(key).is_some() && values.is_empty() {
        secret.remove(field);
    }
}
