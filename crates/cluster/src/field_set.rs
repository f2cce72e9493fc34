//! Sets of fields in the form of managed fields: maps whose keys are `f:` and a name, `k:` and the keys of a list's
//! entry, `v:` and the entry itself, or `i:` and its index; `.` stands for the place itself.

use serde_json::{Map, Value, json};

use smp_text::yaml::Node;

/// All paths of two field sets.
pub(super) fn union(a: &Value, b: &Value) -> Value {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return a.clone() };
    let mut all = a.clone();
    for (key, below) in b {
        let joined = all.get(key).map_or_else(|| below.clone(), |own| union(own, below));
        all.insert(key.clone(), joined);
    }
    Value::Object(all)
}

/// The paths of one field set that another does not have. What is named with fields below it is a path
/// of its own only with the mark `.`.
pub(super) fn difference(a: &Value, b: &Value) -> Value {
    let (Some(a), Some(b)) = (a.as_object(), b.as_object()) else { return a.clone() };
    let mut rest = Map::new();
    for (key, below) in a {
        match b.get(key) {
            None => {
                rest.insert(key.clone(), below.clone());
            }
            // What one of them has as a whole is above or below what the other has.
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

/// Removes the fields of a set from an object, and what is empty then and is in the set itself.
pub(super) fn remove(node: &mut Node, fields: &Value) {
    let Some(fields) = fields.as_object() else { return };
    for (key, below) in fields {
        let Some((kind, what)) = key.split_once(':') else { continue };
        match kind {
            "f" => remove_field(node, what, below),
            "k" | "v" | "i" => remove_entry(node, kind, what, below),
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

fn remove_entry(node: &mut Node, kind: &str, what: &str, below: &Value) {
    let Some(list) = node.as_list_mut() else { return };
    let Ok(wanted) = serde_json::from_str::<Value>(what) else { return };
    let is_meant = |(index, entry): (usize, &Node)| match (kind, wanted.as_object()) {
        ("k", Some(keys)) => {
            keys.iter().all(|(key, value)| entry.get(key).is_some_and(|own| own.to_json_value() == *value))
        }
        ("v", _) => entry.to_json_value() == wanted,
        _ => wanted.as_u64() == u64::try_from(index).ok(),
    };
    let Some(index) = list.iter().enumerate().position(is_meant) else { return };
    // An entry that is in the set goes whole: nobody else has a part in it, or its keys would not be there.
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
    fn fields_of_a_set_go() {
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
    fn sets_are_joined_and_parted() {
        let a = json!({"f:a": {".": {}, "f:b": {}}, "f:c": {}});
        let b = json!({"f:a": {"f:d": {}}, "f:c": {}});
        assert_eq!(union(&a, &b), json!({"f:a": {".": {}, "f:b": {}, "f:d": {}}, "f:c": {}}));
        assert_eq!(difference(&a, &b), json!({"f:a": {".": {}, "f:b": {}}}));
        assert_eq!(difference(&a, &a), json!({}));
    }
}
