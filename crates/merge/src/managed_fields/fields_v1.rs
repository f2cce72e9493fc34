//! The JSON encoding of field sets, `fieldsV1`, in the order in which Go writes it.

use serde_json::{Map, Value};

use super::field_set::{Entry, FieldSet};
use super::json_value::{Escape, write_json_string};
use super::path_element::PathElement;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// The key of a path that is in the set together with paths below it.
const SELF: &str = ".";

impl FieldSet {
    /// Reads a `fieldsV1` value of managed fields. Like servers, it ignores elements of unknown types.
    ///
    /// ```
    /// use strategic_merge_patch::managed_fields::FieldSet;
    /// use serde_json::json;
    ///
    /// let set = FieldSet::from_fields_v1(&json!({"f:spec": {"f:ports": {".": {}, "k:{\"port\":80}": {"f:port": {}}}}}))?;
    /// assert_eq!(set.to_string(), ".spec.ports\n.spec.ports[port=80].port");
    /// assert!(FieldSet::from_fields_v1(&json!({"spec": {}})).is_err());
    /// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
    /// ```
    ///
    /// # Errors
    /// A value is neither a map nor null, or a path element is malformed.
    pub fn from_fields_v1(value: &Value) -> Result<Self> {
        Ok(read(value)?.0)
    }

    /// Parses the text of a `fieldsV1` value.
    ///
    /// # Errors
    /// The errors of [`FieldSet::from_fields_v1`], and invalid JSON.
    pub fn from_json(text: &str) -> Result<Self> {
        let value = serde_json::from_str(text).map_err(|error| {
            Diagnostic::error(Code::Syntax, format!("invalid JSON in managed fields: {error}"))
        })?;
        Self::from_fields_v1(&value)
    }

    /// Returns the `fieldsV1` value.
    #[must_use]
    pub fn to_fields_v1(&self) -> Value {
        let entries = self.entries().iter();
        Value::Object(entries.map(|entry| (entry.element.to_fields_v1(), value_of(entry))).collect())
    }

    /// Returns the `fieldsV1` text. Its keys have the order in which API servers write them: fields by name, then list
    /// entries by their keys, with numbers in numeric order.
    ///
    /// ```
    /// use strategic_merge_patch::managed_fields::FieldSet;
    /// use serde_json::json;
    ///
    /// let set = FieldSet::from_fields_v1(&json!({"k:{\"port\":443}": {}, "k:{\"port\":80}": {}, "f:b": {}}))?;
    /// assert_eq!(set.to_json(), r#"{"f:b":{},"k:{\"port\":80}":{},"k:{\"port\":443}":{}}"#);
    /// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        write(self, false, &mut out);
        out
    }
}

/// Returns the set of the paths below a value, and whether the path of the value itself is in the set.
fn read(value: &Value) -> Result<(FieldSet, bool)> {
    let empty = Map::new();
    let map = match value {
        Value::Object(map) => map,
        Value::Null => &empty,
        _ => return Err(Diagnostic::error(Code::WrongType, "managed fields must be maps")),
    };
    let mut paths = FieldSet::new();
    let mut is_member = false;
    for (key, value) in map {
        if key == SELF {
            is_member = true;
        } else if let Some(element) = PathElement::from_fields_v1(key)? {
            let (children, is_member) = read(value)?;
            paths.add(Entry::new(element, is_member, children));
        }
    }
    let is_member = is_member || paths.is_empty();
    Ok((paths, is_member))
}

fn value_of(entry: &Entry) -> Value {
    let mut value = entry.children.to_fields_v1();
    if let Value::Object(map) = &mut value
        && entry.is_member
        && !map.is_empty()
    {
        map.insert(SELF.into(), Value::Object(Map::new()));
    }
    value
}

fn write(set: &FieldSet, is_member: bool, out: &mut String) {
    out.push('{');
    if is_member && !set.is_empty() {
        out.push_str("\".\":{}");
    }
    for (i, entry) in set.entries().iter().enumerate() {
        out.push_str(if i == 0 && !is_member { "" } else { "," });
        write_json_string(&entry.element.to_fields_v1(), Escape::Required, out);
        out.push(':');
        write(&entry.children, entry.is_member, out);
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;
    use smp_random_cases::fixed_cases;

    use super::super::path_element::Path;
    use super::*;

    #[test]
    fn fields_v1_text_has_the_order_of_the_server() {
        let text = r#"{"f:a":{".":{},"f:b":{},"k:{\"n\":9}":{".":{},"f:n":{}},"k:{\"n\":10}":{}},"f:b":{"v:\"x\"":{},"i:2":{},"i:10":{}}}"#;
        let set = FieldSet::from_json(text).expect("valid");
        assert_eq!(set.to_json(), text);
        assert_eq!(set.to_fields_v1(), serde_json::from_str::<Value>(text).expect("JSON"));
        assert_eq!(FieldSet::new().to_json(), "{}");
    }

    #[test]
    fn text_is_read_as_the_server_reads_it() {
        let table = [
            (json!(null), "{}"),
            (json!({".": {}}), "{}"),
            (json!({"f:a": null}), r#"{"f:a":{}}"#),
            (json!({"f:a": {".": {}}}), r#"{"f:a":{}}"#),
            (json!({"f:a": {"x:unknown": 1}, "y:unknown": {}}), r#"{"f:a":{}}"#),
            (json!({"k:{\"b\":1,\"a\":2.0} ": {}}), r#"{"k:{\"a\":2,\"b\":1}":{}}"#),
        ];
        for (value, want) in table {
            assert_eq!(FieldSet::from_fields_v1(&value).expect("valid").to_json(), want, "{value}");
        }
        for value in [
            json!(1),
            json!([]),
            json!({"f:a": 1}),
            json!({"f": {}}),
            json!({"f:a": {"b": {}}}),
            json!({"v:": {}}),
        ] {
            assert!(FieldSet::from_fields_v1(&value).is_err(), "{value}");
        }
        assert!(FieldSet::from_json("{").is_err());
    }

    fn path() -> impl Strategy<Value = Path> {
        let element = prop_oneof![
            "[a-c]".prop_map(|name| PathElement::from(name.as_str())),
            (0..3).prop_map(|port| PathElement::key([("port", json!(port))])),
            "[xy]".prop_map(|value| PathElement::value(&json!(value))),
            (0..3_i64).prop_map(PathElement::Index),
        ];
        proptest::collection::vec(element, 1..4).prop_map(Path)
    }

    fn paths() -> impl Strategy<Value = Vec<Path>> {
        proptest::collection::vec(path(), 0..8)
    }

    proptest! {
        #![proptest_config(fixed_cases())]

        #[test]
        fn sets_are_equal_to_sets_of_paths(a in paths(), b in paths()) {
            let [x, y]: [FieldSet; 2] = [a.iter().cloned().collect(), b.iter().cloned().collect()];
            let has = |paths: &[Path], path: &Path| paths.contains(path);
            let below = |paths: &[Path], path: &Path| paths.iter().any(|parent| path.0.starts_with(&parent.0));
            for path in a.iter().chain(&b) {
                prop_assert_eq!(x.contains(path), has(&a, path));
                prop_assert_eq!(x.union(&y).contains(path), has(&a, path) || has(&b, path));
                prop_assert_eq!(x.intersection(&y).contains(path), has(&a, path) && has(&b, path));
                prop_assert_eq!(x.difference(&y).contains(path), has(&a, path) && !has(&b, path));
                prop_assert_eq!(x.recursive_difference(&y).contains(path), has(&a, path) && !below(&b, path));
                let is_leaf = has(&a, path) && !a.iter().any(|other| other != path && other.0.starts_with(&path.0));
                prop_assert_eq!(x.leaves().contains(path), is_leaf);
            }
            prop_assert_eq!(x.union(&y).len(), x.len() + y.len() - x.intersection(&y).len());
            prop_assert_eq!(x.is_subset(&y), a.iter().all(|path| has(&b, path)));
            prop_assert!(x.is_subset(&x.union(&y)) && x.intersection(&y).is_subset(&y));
            prop_assert_eq!(x.paths().into_iter().collect::<FieldSet>(), x);
        }

        #[test]
        fn fields_v1_text_is_read_again(paths in paths()) {
            let set: FieldSet = paths.into_iter().collect();
            prop_assert_eq!(&FieldSet::from_json(&set.to_json()).expect("valid"), &set);
            prop_assert_eq!(&FieldSet::from_fields_v1(&set.to_fields_v1()).expect("valid"), &set);
        }
    }
}
