//! Parses JSON as servers do: uses the last value of a repeated field, and reports the field.

use std::fmt::{self, Write as _};

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

/// The number of repeated fields that servers report.
const REPORTED: usize = 100;

#[derive(Debug, Default)]
struct Reader {
    /// The path of the current value.
    path: String,
    repeated: Vec<String>,
}

impl Reader {
    /// Parses a value below the current one, at one more step of the path.
    fn below<R>(&mut self, step: impl FnOnce(&mut String), parse: impl FnOnce(&mut Self) -> R) -> R {
        let length = self.path.len();
        step(&mut self.path);
        let result = parse(self);
        self.path.truncate(length);
        result
    }

    /// Records that the current field is repeated, once for each path.
    fn record_repeated(&mut self) {
        if self.repeated.len() < REPORTED && !self.repeated.contains(&self.path) {
            self.repeated.push(self.path.clone());
        }
    }
}

/// A value that is being parsed.
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
            let position = list.len();
            // Writing to a string does not fail.
            let step = |path: &mut String| {
                let _ = write!(path, "[{position}]");
            };
            match self.0.below(step, |reader| items.next_element_seed(Part(reader)))? {
                Some(item) => list.push(item),
                None => return Ok(list.into()),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = entries.next_key::<String>()? {
            let step = |path: &mut String| {
                path.push_str(if path.is_empty() { "" } else { "." });
                path.push_str(&name);
            };
            let value = self.0.below(step, |reader| {
                if fields.contains_key(&name) {
                    reader.record_repeated();
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
    fn last_value_of_a_repeated_field_is_used() {
        let text = br#"{"a": {"b": 1, "b": [2.5, {"c": "d", "c": null}]}, "a": true, "n": -1}"#;
        let (value, repeated) = parse(text).expect("JSON");
        assert_eq!(value, json!({"a": true, "n": -1}));
        assert_eq!(repeated, ["a.b", "a.b[1].c", "a"]);
        let many: Vec<String> = (0..500).map(|i| format!(r#""f{i}": 1, "f{i}": 1, "f{i}": 2"#)).collect();
        let (_, repeated) = parse(format!("{{{}}}", many.join(", ")).as_bytes()).expect("JSON");
        assert_eq!((repeated.len(), repeated[99].as_str()), (REPORTED, "f99"), "each once, and not all");
        assert!(parse(b"{} {}").is_err());
        assert!(parse(b"{").is_err());
    }
}
