//! Field sets in the format of managed fields (`FieldsV1`): maps with keys `f:<name>`, `k:<keys of a list entry>`,
//! `v:<set value>` or `i:<index>`. The key `.` is the value itself.

use serde_json::{Map, Value, json};

use smp_text::yaml::Node;

/// Returns the union of two field sets.
pub(super) fn union(a: &Value, b: &Value) -> Value {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return a.clone() };
    let mut all = a.clone();
    for (key, below) in b {
        let joined = all.get(key).map_or_else(|| below.clone(), |own| union(own, below));
        all.insert(key.clone(), joined);
    }
    Value::Object(all)
}

/// Returns the fields of `a` that are not in `b`. A field with nested fields belongs to a set itself only if it
/// has the key `.`.
pub(super) fn difference(a: &Value, b: &Value) -> Value {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return a.clone() };
    let mut rest = Map::new();
    for (key, below) in a {
        match b.get(key) {
            None => {
                rest.insert(key.clone(), below.clone());
            }
            // If either set has the field without nested fields, nothing remains.
            Some(other) if is_leaf(below) || is_leaf(other) => {}
            Some(other) => {
                let left = difference(below, other);
                if left != json!({}) {
                    rest.insert(key.clone(), left);
                }
            }
        }
    }
    Value::Object(rest)
}

fn is_leaf(fields: &Value) -> bool {
    fields.as_object().is_none_or(Map::is_empty)
}

/// Removes the fields of a set from an object. Maps and lists that become empty are removed if they are in the set
/// themselves.
pub(super) fn remove(node: &mut Node, fields: &Value) {
    let Some(fields) = fields.as_object() else { return };
    for (key, below) in fields {
        let Some((kind, key)) = key.split_once(':') else { continue };
        match kind {
            "f" => remove_field(node, key, below),
            "k" | "v" | "i" => remove_entry(node, kind, key, below),
            _ => {}
        }
    }
}

fn remove_field(node: &mut Node, name: &str, below: &Value) {
    let Some(map) = node.as_map_mut() else { return };
    let Some(value) = map.get_mut(name) else { return };
    if !is_leaf(below) {
        remove(value, below);
    }
    if is_leaf(below) || (below.get(".").is_some() && is_empty(value)) {
        map.remove(name);
    }
}

fn remove_entry(node: &mut Node, kind: &str, key: &str, below: &Value) {
    let Some(list) = node.as_list_mut() else { return };
    let Ok(key) = serde_json::from_str::<Value>(key) else { return };
    let is_meant = |(index, entry): (usize, &Node)| match (kind, key.as_object()) {
        ("k", Some(keys)) => {
            keys.iter().all(|(key, value)| entry.get(key).is_some_and(|own| own.to_json_value() == *value))
        }
        ("v", _) => entry.to_json_value() == key,
        _ => key.as_u64() == u64::try_from(index).ok(),
    };
    let Some(index) = list.iter().enumerate().position(is_meant) else { return };
    // An entry that is in the set itself is removed as a whole: with other owners its key fields would remain in
    // their sets.
    if is_leaf(below) || below.get(".").is_some() {
        list.remove(index);
    } else {
        remove(&mut list[index], below);
    }
}

fn is_empty(node: &Node) -> bool {
    node.as_map().is_some_and(smp_text::yaml::Map::is_empty) || node.as_list().is_some_and(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_a_set_are_removed() {
        let value = json!({
            "spec": {"replicas": 2, "paused": true, "selector": {"a": "b"},
                "containers": [{"name": "a", "image": "i", "tty": true}, {"name": "b"}], "finalizers": ["x", "y"]},
            "metadata": {"labels": {"x": "1"}, "annotations": {"x": "1", "y": "2"}},
        });
        let fields = json!({
            "f:spec": {"f:paused": {}, "f:missing": {}, "f:finalizers": {"v:\"x\"": {}},
                "f:containers": {"k:{\"name\":\"a\"}": {"f:tty": {}}, "k:{\"name\":\"b\"}": {".": {}, "f:name": {}}}},
            "f:metadata": {"f:labels": {".": {}, "f:x": {}}, "f:annotations": {"f:x": {}}},
        });
        let mut node = Node::from(&value);
        remove(&mut node, &fields);
        let want = json!({
            "spec": {"replicas": 2, "selector": {"a": "b"}, "containers": [{"name": "a", "image": "i"}],
                "finalizers": ["y"]},
            "metadata": {"annotations": {"y": "2"}},
        });
        assert_eq!(node.to_json_value(), want);
    }

    #[test]
    fn sets_have_union_and_difference() {
        let a = json!({"f:a": {".": {}, "f:b": {}}, "f:c": {}});
        let b = json!({"f:a": {"f:d": {}}, "f:c": {}});
        assert_eq!(union(&a, &b), json!({"f:a": {".": {}, "f:b": {}, "f:d": {}}, "f:c": {}}));
        assert_eq!(difference(&a, &b), json!({"f:a": {".": {}, "f:b": {}}}));
        assert_eq!(difference(&a, &a), json!({}));
    }
}
