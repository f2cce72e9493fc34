//! Parses JSON responses directly into nodes.

use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use smol_str::{SmolStr, format_smolstr};

use smp_text::yaml::{Map, Node};

/// Parses one JSON value.
///
/// # Errors
/// The text is not JSON, or is nested deeper than 128 levels.
pub(super) fn parse(bytes: &[u8]) -> serde_json::Result<Node> {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let node = NodeSeed.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(node)
}

/// Parses a JSON object.
///
/// # Errors
/// The errors of [`parse`], or the value is not an object.
pub(super) fn parse_object(bytes: &[u8]) -> serde_json::Result<Node> {
    check_object(bytes)?;
    parse(bytes)
}

/// Deserializes a JSON object. Unlike this function, serde also accepts lists for structs.
///
/// # Errors
/// The text is not a JSON object, or does not match the type.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    check_object(bytes)?;
    serde_json::from_slice(bytes)
}

fn check_object(bytes: &[u8]) -> serde_json::Result<()> {
    if bytes.trim_ascii_start().starts_with(b"{") {
        return Ok(());
    }
    Err(serde::de::Error::custom("not a JSON object"))
}

/// Deserializes a field that may be null, because Go encodes a nil slice as `null`.
pub(super) fn or_default<'de, D: Deserializer<'de>, T>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

struct NodeSeed;

impl<'de> DeserializeSeed<'de> for NodeSeed {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::null())
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::from(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::plain(format_smolstr!("{value}")))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        // `{:?}` keeps the point or the exponent, so that the text is parsed as a float again.
        Ok(Node::plain(format_smolstr!("{value:?}")))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::string(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(node) = access.next_element_seed(NodeSeed)? {
            list.push(node);
        }
        Ok(Node::list(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            map.push(SmolStr::from(key), access.next_value_seed(NodeSeed)?);
        }
        Ok(Node::map(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smp_text::yaml::to_json;

    #[test]
    fn values_keep_their_types() {
        let text = r#"{"a":"1","b":[1,-2,2.5,18446744073709551615,1e30],"c":null,"d":true,"e":{"é":"x\ny"}}"#;
        let node = parse(text.as_bytes()).expect("JSON");
        let want = text.replace("1e30", "1e+30");
        assert_eq!(to_json(&node).expect("finite"), want);
        assert!(parse(b"{} x").is_err());
        for text in ["null", "[]", "[{}]", "\"a\"", "", "<html>"] {
            assert!(parse_object(text.as_bytes()).is_err(), "{text}");
        }
        assert!(parse_object(b"{}").is_ok());
    }
}
