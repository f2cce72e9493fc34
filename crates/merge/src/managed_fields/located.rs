//! Field sets applied to values of unknown types. List entries are identified by the paths alone.

use rustc_hash::FxHashMap;
use serde_json::Value;

use super::field_set::{Entry, FieldSet};
use super::json_value::{equal, normalized};
use super::path_element::PathElement;
use smp_text::path as text_path;
use smp_text::yaml::Node;

impl PathElement {
    /// Returns the element as in the paths of messages. Returns `None` if a key is not a scalar or an index is
    /// negative.
    ///
    /// ```
    /// use strategic_merge_patch::managed_fields::PathElement;
    /// use serde_json::json;
    ///
    /// let port = PathElement::key([("port", json!(80)), ("name", json!("web"))]);
    /// assert_eq!(port.to_path_element().expect("scalars").to_string(), "[name=web,port=80]");
    /// ```
    #[must_use]
    pub fn to_path_element(&self) -> Option<text_path::PathElement> {
        let scalar = |value: &Value| text_path::PathValue::from_node(&Node::from(value));
        Some(match self {
            Self::Field(name) => text_path::PathElement::Field(name.clone()),
            Self::Key(fields) => {
                let fields = fields.iter().map(|(name, value)| Some((name.clone(), scalar(value)?)));
                text_path::PathElement::Key(fields.collect::<Option<_>>()?)
            }
            Self::Value(value) => text_path::PathElement::Value(scalar(value)?),
            Self::Index(index) => text_path::PathElement::Index(usize::try_from(*index).ok()?),
        })
    }

    /// Returns the value that the element selects. For a list entry, this is the first entry with all its keys.
    ///
    /// ```
    /// use strategic_merge_patch::managed_fields::PathElement;
    /// use serde_json::json;
    ///
    /// let ports = json!([{"port": 80}, {"port": 443, "name": "https"}]);
    /// let found = PathElement::key([("port", json!(443))]).find(&ports).expect("a port");
    /// assert_eq!(found["name"], "https");
    /// ```
    #[must_use]
    pub fn find<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        match (self, value) {
            (Self::Field(name), Value::Object(map)) => map.get(name.as_str()),
            (Self::Index(index), Value::Array(list)) => list.get(usize::try_from(*index).ok()?),
            (_, Value::Array(list)) => list.iter().find(|entry| self.selects(entry)),
            _ => None,
        }
    }

    fn selects(&self, entry: &Value) -> bool {
        match self {
            Self::Key(fields) => fields
                .iter()
                .all(|(name, value)| entry.get(name.as_str()).is_some_and(|own| equal(own, value))),
            Self::Value(value) => equal(value, entry),
            Self::Field(_) | Self::Index(_) => false,
        }
    }
}

impl FieldSet {
    /// Returns each element at the first level, with true if its own path is in the set, and the paths below it.
    pub fn iter(&self) -> impl Iterator<Item = (&PathElement, bool, &FieldSet)> {
        self.entries().iter().map(|entry| (&entry.element, entry.is_member, &entry.children))
    }

    /// Removes the fields of the set from an object of any type. A field without paths below it is removed as a whole.
    /// So is a list entry that has no paths below it or is in the set itself; otherwise its keys would remain. A map or
    /// list that becomes empty is removed if it is in the set itself.
    ///
    /// ```
    /// use strategic_merge_patch::managed_fields::FieldSet;
    /// use serde_json::json;
    ///
    /// let mut object = json!({"spec": {"paused": true, "list": [{"name": "a", "tty": true}, {"name": "b"}]}});
    /// let set = json!({"f:spec": {"f:paused": {}, "f:list": {"k:{\"name\":\"a\"}": {"f:tty": {}}}}});
    /// FieldSet::from_fields_v1(&set)?.remove_from(&mut object);
    /// assert_eq!(object, json!({"spec": {"list": [{"name": "a"}, {"name": "b"}]}}));
    /// # Ok::<(), strategic_merge_patch::diagnostic::Diagnostic>(())
    /// ```
    pub fn remove_from(&self, value: &mut Value) {
        match value {
            Value::Object(map) => {
                for entry in self.entries() {
                    let PathElement::Field(name) = &entry.element else { continue };
                    let Some(own) = map.get_mut(name.as_str()) else { continue };
                    entry.children.remove_from(own);
                    if entry.children.is_empty() || (entry.is_member && is_empty(own)) {
                        map.remove(name.as_str());
                    }
                }
            }
            Value::Array(list) => self.remove_entries(list),
            _ => {}
        }
    }

    fn remove_entries(&self, list: &mut Vec<Value>) {
        let mut removed = vec![false; list.len()];
        let index = EntryIndex::new(self.entries(), list);
        let found: Vec<(usize, &Entry)> = self
            .entries()
            .iter()
            .filter_map(|entry| Some((index.position(&entry.element)?, entry)))
            .collect();
        for (i, entry) in found {
            let Some(own) = list.get_mut(i) else { continue };
            if entry.is_member || entry.children.is_empty() {
                removed[i] = true;
            } else {
                entry.children.remove_from(own);
            }
        }
        let mut position = 0;
        list.retain(|_| {
            position += 1;
            !removed[position - 1]
        });
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    }
}

/// The indices of list entries, by the keys that occur in a set. Speeds up the lookup of entries.
struct EntryIndex {
    /// By the text of the path element.
    positions: FxHashMap<String, usize>,
    length: usize,
}

impl EntryIndex {
    fn new(entries: &[Entry], list: &[Value]) -> Self {
        let keys = entries.iter().find_map(|entry| match &entry.element {
            PathElement::Key(fields) => Some(fields.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>()),
            _ => None,
        });
        let mut positions = FxHashMap::default();
        for (i, entry) in list.iter().enumerate() {
            let element = match &keys {
                Some(names) => {
                    let field = |name: &smol_str::SmolStr| {
                        Some((name.clone(), entry.get(name.as_str()).map(normalized)?))
                    };
                    names.iter().map(field).collect::<Option<Vec<_>>>().map(PathElement::key)
                }
                None => Some(PathElement::value(entry)),
            };
            if let Some(element) = element {
                positions.entry(element.to_fields_v1()).or_insert(i);
            }
        }
        Self { positions, length: list.len() }
    }

    fn position(&self, element: &PathElement) -> Option<usize> {
        match element {
            PathElement::Index(index) => usize::try_from(*index).ok().filter(|index| *index < self.length),
            element => self.positions.get(&element.to_fields_v1()).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn without(value: Value, fields: &Value) -> Value {
        let mut value = value;
        FieldSet::from_fields_v1(fields).expect("valid").remove_from(&mut value);
        value
    }

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
        let want = json!({
            "spec": {"replicas": 2, "selector": {"a": "b"}, "containers": [{"name": "a", "image": "i"}],
                "finalizers": ["y"]},
            "metadata": {"annotations": {"y": "2"}},
        });
        assert_eq!(without(value, &fields), want);
        assert_eq!(without(json!([1, 2, 3]), &json!({"i:1": {}, "i:9": {}, "i:-1": {}})), json!([1, 3]));
        assert_eq!(without(json!([{"n": 1.0}, {"m": 1}]), &json!({"k:{\"n\":1}": {}})), json!([{"m": 1}]));
        assert_eq!(without(json!("x"), &json!({"f:a": {}})), json!("x"));
    }

    #[test]
    fn elements_select_values_and_have_paths() {
        let list = json!([{"port": 53, "protocol": "UDP"}, {"port": 53}, 7]);
        let udp = PathElement::key([("port", json!(53)), ("protocol", json!("UDP"))]);
        assert_eq!(udp.find(&list), list.get(0));
        assert_eq!(PathElement::value(&json!(7.0)).find(&list), list.get(2));
        assert_eq!(PathElement::Index(1).find(&list), list.get(1));
        assert_eq!((PathElement::Index(-1).find(&list), PathElement::from("a").find(&list)), (None, None));
        let table = [
            (PathElement::from("a.b"), Some("[\"a.b\"]")),
            (udp, Some("[port=53,protocol=UDP]")),
            (PathElement::value(&json!("x")), Some("[=x]")),
            (PathElement::Index(3), Some("[3]")),
            (PathElement::Index(-3), None),
            (PathElement::key([("a", json!([]))]), None),
        ];
        for (element, text) in table {
            assert_eq!(element.to_path_element().map(|element| element.to_string()).as_deref(), text);
        }
    }
}
