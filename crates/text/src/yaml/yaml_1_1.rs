//! The types of scalars and keys in YAML 1.1, as in go-yaml v2 and sigs.k8s.io/yaml.
//!
//! kubectl parses all texts by these rules, and kustomize its own files and JSON patches. The differences from `scalar`
//! are: `yes`, `on`, `y` and their opposites are booleans, dates are strings, and keys of any type become strings.

use smol_str::SmolStr;

use super::meta::{Meta, Style, Tag};
use super::node::{Entry, Key, Map, Node, Value};
use super::scalar::{Resolved, resolve, timestamp};
use crate::gocompat::strconv::format_float_32;

/// Returns the typed value of a scalar from its text, style and tag.
pub(super) fn resolve_1_1(text: &str, style: Style, tag: Tag) -> Resolved<'_> {
    if (tag == Tag::Bool || tag == Tag::None && style == Style::Plain)
        && let Some(bool) = parse_yaml_1_1_bool(text)
    {
        return Resolved::Bool(bool);
    }
    match resolve(text, style, tag) {
        Resolved::Timestamp(text) => Resolved::Str(text),
        other => other,
    }
}

/// Parses the words that are booleans only in YAML 1.1.
pub fn parse_yaml_1_1_bool(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Returns a text and tag with which the scalar has its YAML 1.1 value under the rules of `scalar`. Most scalars keep
/// their text and tag.
pub(super) fn to_core_schema(text: SmolStr, style: Style, tag: Tag) -> (SmolStr, Tag) {
    if !matches!((tag, style), (Tag::None, Style::Plain) | (Tag::Bool | Tag::Timestamp, _)) {
        return (text, tag);
    }
    if let Some(bool) = parse_yaml_1_1_bool(&text) {
        return (SmolStr::new_static(if bool { "true" } else { "false" }), Tag::Bool);
    }
    let tag = if timestamp(&text).is_some() { Tag::Str } else { tag };
    (text, tag)
}

/// Returns the text of a key, or `None` for null and for integers that need all 64 bits, which kubectl rejects.
pub(super) fn key_text(text: &SmolStr, style: Style, tag: Tag) -> Option<SmolStr> {
    match resolve_1_1(text, style, tag) {
        Resolved::Str(_) => Some(text.clone()),
        Resolved::UInt(_) => None,
        other => scalar_to_string(other).map(SmolStr::from),
    }
}

/// Formats a scalar like sigs.k8s.io/yaml where a string is expected: as a key, or as the value of a string field if
/// other types are allowed.
pub(super) fn scalar_to_string(scalar: Resolved<'_>) -> Option<String> {
    match scalar {
        Resolved::Null => None,
        Resolved::Bool(b) => Some(b.to_string()),
        Resolved::Int(i) => Some(i.to_string()),
        Resolved::UInt(u) => Some(u.to_string()),
        #[allow(clippy::cast_possible_truncation)] // sigs.k8s.io/yaml prints single precision.
        Resolved::Float(f) => Some(match f as f32 {
            f if f.is_nan() => ".nan".into(),
            f if f.is_infinite() => (if f > 0.0 { ".inf" } else { "-.inf" }).into(),
            f => format_float_32(f),
        }),
        Resolved::Str(text) | Resolved::Timestamp(text) => Some(text.to_string()),
    }
}

/// Returns the tree as go-yaml v2 and sigs.k8s.io/yaml parse it, whatever rules are applied later: words such as `yes`
/// are booleans, dates are strings, and so are all keys.
pub fn to_yaml_1_1(node: &Node) -> Node {
    let value = match &node.value {
        Value::List(list) => Value::List(list.iter().map(to_yaml_1_1).collect()),
        Value::Map(map) => {
            let mut fields = Map::new();
            for Entry { key, value } in map.entries() {
                let text = scalar_to_string(resolve_1_1(&key.text, key.meta.style, key.meta.tag))
                    .map_or_else(|| key.text.clone(), Into::into);
                fields.insert(Key { text, meta: key.meta.clone() }, to_yaml_1_1(value));
            }
            Value::Map(fields)
        }
        Value::Scalar(text) => {
            let meta = node.meta.clone();
            return match resolve_1_1(text, meta.style, meta.tag) {
                Resolved::Bool(bool) => Node { meta: Meta { tag: Tag::Bool, ..meta }, ..Node::from(bool) },
                Resolved::Str(_) => {
                    Node { value: Value::Scalar(text.clone()), meta: Meta { tag: Tag::Str, ..meta } }
                }
                _ => node.clone(),
            };
        }
    };
    Node { value, meta: node.meta.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceMap;
    use crate::yaml::{DuplicateKeys, ParseOptions, parse_one, to_json};

    #[test]
    fn trees_are_converted_to_yaml_1_1() {
        let sources = SourceMap::default();
        let text = "{on: yes, 'y': 'on', n: [off, 2020-01-01, 1.50], 0x10: null}";
        let id = sources.add("p.yaml", text);
        let parse = ParseOptions { duplicate_keys: DuplicateKeys::LastWins, ..ParseOptions::default() };
        let node = to_yaml_1_1(&parse_one(&sources, id, parse).expect("valid YAML"));
        let json = to_json(&node).expect("JSON");
        assert_eq!(json, r#"{"16":null,"false":[false,"2020-01-01",1.5],"true":true,"y":"on"}"#);
        assert!(!node.get("true").expect("renamed").span().is_none(), "locations are kept");
    }
}
