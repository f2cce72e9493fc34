//! Converts nodes to and from the value types of `serde_json` and `serde_yaml`.
//!
//! For programs that work with these types, such as fake API servers. Converting a node drops its styles, locations and
//! comments. A node that was created from such a value has none.

use serde_json::Value as Json;
use serde_yaml::Value as Yaml;
use smol_str::{SmolStr, ToSmolStr as _};

use super::meta::{Meta, Tag};
use super::node::{Map, Node, Value};
use super::scalar::{Resolved, timestamp};

/// Creates a scalar whose type is determined by its tag and not by its text.
fn typed(text: SmolStr, tag: Tag) -> Node {
    Node { value: Value::Scalar(text), meta: Meta { tag, ..Meta::default() } }
}

/// Creates a float, including the values that YAML spells as words (`.nan`, `.inf`).
fn float(value: f64) -> Node {
    let text = match value {
        v if v.is_nan() => SmolStr::new_static(".nan"),
        f64::INFINITY => SmolStr::new_static(".inf"),
        f64::NEG_INFINITY => SmolStr::new_static("-.inf"),
        v => serde_json::Number::from_f64(v).map_or_else(|| v.to_smolstr(), |n| n.to_smolstr()),
    };
    typed(text, Tag::Float)
}

impl From<&Json> for Node {
    /// Converts the data. The order of fields is kept.
    fn from(value: &Json) -> Self {
        match value {
            Json::Null => Self::null(),
            Json::Bool(value) => Self::from(*value),
            Json::Number(number) if number.is_f64() => float(number.as_f64().unwrap_or(f64::NAN)),
            Json::Number(number) => typed(number.to_smolstr(), Tag::Int),
            Json::String(text) => Self::string(text.as_str()),
            Json::Array(list) => Self::list(list.iter().map(Self::from).collect()),
            Json::Object(map) => {
                Self::map(map.iter().map(|(k, v)| (SmolStr::from(k.as_str()), Self::from(v))).collect())
            }
        }
    }
}

impl From<&Yaml> for Node {
    /// Converts the data without tags. Keys that are not strings are converted to their text.
    fn from(value: &Yaml) -> Self {
        match value {
            Yaml::Null => Self::null(),
            Yaml::Bool(value) => Self::from(*value),
            Yaml::Number(number) if number.is_f64() => float(number.as_f64().unwrap_or(f64::NAN)),
            Yaml::Number(number) => typed(number.to_smolstr(), Tag::Int),
            Yaml::String(text) => Self::string(text.as_str()),
            Yaml::Sequence(list) => Self::list(list.iter().map(Self::from).collect()),
            Yaml::Mapping(map) => {
                let mut out = Map::new();
                for (key, value) in map {
                    out.insert(key_text(key), Self::from(value));
                }
                Self::map(out)
            }
            Yaml::Tagged(tagged) => Self::from(&tagged.value),
        }
    }
}

fn key_text(key: &Yaml) -> SmolStr {
    match key {
        Yaml::String(text) => text.into(),
        Yaml::Tagged(tagged) => key_text(&tagged.value),
        Yaml::Sequence(_) | Yaml::Mapping(_) => {
            serde_json::to_string(key).map_or_else(|_| SmolStr::default(), SmolStr::from)
        }
        _ => Node::from(key).scalar_text().cloned().unwrap_or_default(),
    }
}

impl Node {
    /// Converts the node to a JSON value. Plain dates become RFC 3339 strings, as in Go. Infinity and NaN, which JSON
    /// cannot represent, become null.
    #[must_use]
    pub fn to_json_value(&self) -> Json {
        match &self.value {
            Value::Map(map) => Json::Object(map.iter().map(|(k, v)| (k.into(), v.to_json_value())).collect()),
            Value::List(list) => Json::Array(list.iter().map(Self::to_json_value).collect()),
            Value::Scalar(_) => match self.resolve().unwrap_or(Resolved::Null) {
                Resolved::Null => Json::Null,
                Resolved::Bool(value) => value.into(),
                Resolved::Int(value) => value.into(),
                Resolved::UInt(value) => value.into(),
                Resolved::Float(value) => value.into(),
                Resolved::Timestamp(text) => timestamp(text).unwrap_or_else(|| text.into()).into(),
                Resolved::Str(text) => text.into(),
            },
        }
    }

    /// Converts the node to a YAML value. Plain dates become RFC 3339 strings.
    #[must_use]
    pub fn to_yaml_value(&self) -> Yaml {
        match &self.value {
            Value::Map(map) => {
                Yaml::Mapping(map.iter().map(|(k, v)| (Yaml::String(k.into()), v.to_yaml_value())).collect())
            }
            Value::List(list) => Yaml::Sequence(list.iter().map(Self::to_yaml_value).collect()),
            Value::Scalar(_) => match self.resolve().unwrap_or(Resolved::Null) {
                Resolved::Null => Yaml::Null,
                Resolved::Bool(value) => value.into(),
                Resolved::Int(value) => value.into(),
                Resolved::UInt(value) => value.into(),
                Resolved::Float(value) => value.into(),
                Resolved::Timestamp(text) => timestamp(text).unwrap_or_else(|| text.into()).into(),
                Resolved::Str(text) => text.into(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_values_round_trip() {
        let value = json!({
            "null": null, "bool": true, "int": -7, "large": u64::MAX, "float": 1.5, "whole": 2.0, "tiny": 1e-300,
            "text": "x", "looks": ["1", "true", "null", "~", "", "2020-01-01", "0x10"],
            "nested": {"empty": {}, "none": []},
        });
        let node = Node::from(&value);
        assert_eq!(node.to_json_value(), value);
        assert_eq!(node.get("looks").and_then(Node::as_list).expect("list")[0].as_str(), Some("1"));
    }

    #[test]
    fn scalars_are_converted_by_type() {
        let table = [
            (Node::plain("0x10"), json!(16)),
            (Node::plain("1e3"), json!(1000.0)),
            (Node::plain("2020-01-01"), json!("2020-01-01T00:00:00Z")),
            (Node::plain("yes"), json!("yes")),
            (Node::plain(".inf"), json!(null)),
            (Node::plain(""), json!(null)),
            (Node::string("0x10"), json!("0x10")),
        ];
        for (node, want) in table {
            assert_eq!(node.to_json_value(), want, "{node:?}");
        }
    }

    #[test]
    fn yaml_values_round_trip() {
        let text = "a: 1\nb: [x, '1', 1.5, .inf, -.inf, true, null]\nc: {d: {}}\n";
        let value: Yaml = serde_yaml::from_str(text).expect("valid");
        assert_eq!(Node::from(&value).to_yaml_value(), value);
        let nan: Yaml = serde_yaml::from_str(".nan").expect("valid");
        assert!(matches!(Node::from(&nan).resolve(), Some(Resolved::Float(f)) if f.is_nan()));
    }

    #[test]
    fn non_string_yaml_keys_become_text() {
        let value: Yaml =
            serde_yaml::from_str("1: a\ntrue: b\n[x, 1]: c\n!t y: d\n!u z: !v {}\n").expect("valid");
        let node = Node::from(&value);
        let keys: Vec<_> = node.as_map().expect("map").iter().map(|(k, _)| k.to_string()).collect();
        assert_eq!(keys, ["1", "true", r#"["x",1]"#, "y", "z"]);
    }
}
