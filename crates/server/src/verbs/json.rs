//! Reads JSON as servers do: the last value of a repeated field counts, and the field is reported.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Parses JSON. Returns the value, and the paths of repeated fields, such as `spec.ports[0].name`.
pub(crate) fn parse(text: &[u8]) -> serde_json::Result<(Value, Vec<String>)> {
    let mut reader = Reader::default();
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = Part(&mut reader).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok((value, reader.repeated))
}

#[derive(Debug, Default)]
struct Reader {
    /// The path of the current value.
    path: String,
    repeated: Vec<String>,
}

impl Reader {
    /// Reads a value whose path is that of the current one and one more step.
    fn below<R>(&mut self, step: &str, read: impl FnOnce(&mut Self) -> R) -> R {
        let length = self.path.len();
        self.path.push_str(step);
        let result = read(self);
        self.path.truncate(length);
        result
    }
}

/// A value that is read.
struct Part<'r>(&'r mut Reader);

impl<'de> DeserializeSeed<'de> for Part<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let step = format!("[{}]", list.len());
            match self.0.below(&step, |reader| items.next_element_seed(Part(reader)))? {
                Some(item) => list.push(item),
                None => return Ok(list.into()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let dot = if self.0.path.is_empty() { "" } else { "." };
            let value = self.0.below(&format!("{dot}{name}"), |reader| {
                if fields.contains_key(&name) {
                    reader.repeated.push(reader.path.clone());
                }
                entries.next_value_seed(Part(reader))
            })?;
            fields.insert(name, value);
        }
        Ok(fields.into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_value_of_a_repeated_field_counts() {
        let text = br#"{"a": {"b": 1, "b": [2.5, {"c": "d", "c": null}]}, "a": true, "n": -1}"#;
        let (value, repeated) = parse(text).expect("JSON");
        assert_eq!(value, json!({"a": true, "n": -1}));
        assert_eq!(repeated, ["a.b", "a.b[1].c", "a"]);
        assert!(parse(b"{} {}").is_err());
        assert!(parse(b"{").is_err());
    }
}
