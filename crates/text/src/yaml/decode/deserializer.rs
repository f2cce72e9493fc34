//! A serde deserializer for nodes.

use std::borrow::Cow;

use serde::de::value::{BorrowedStrDeserializer, CowStrDeserializer};
use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};
use serde_yaml::Value as Leaf;

use super::error::{DecodeError, DecodePath, DecodeStep};
use super::options::{DecodeOptions, ScalarTyping, UnknownFields};
use crate::diagnostic::{Code, Diagnostic, Problems};
use crate::yaml::meta::Style;
use crate::yaml::node::{Entry, Key, Node, Value};
use crate::yaml::replacement::replacement_text;
use crate::yaml::scalar::{Resolved, resolve, resolve_plain, timestamp};
use crate::yaml::spanned;
use crate::yaml::suggest::{did_you_mean, list_expected, nearest_name};
use crate::yaml::yaml_1_1::{resolve_1_1, scalar_to_string};

/// Deserializes one node.
#[derive(Clone, Copy)]
pub(super) struct NodeDeserializer<'de, 'p> {
    pub node: &'de Node,
    pub path: Option<&'p DecodePath<'p>>,
    pub options: DecodeOptions,
}

impl<'de> NodeDeserializer<'de, '_> {
    /// Returns the typed value of the scalar, or `None` for maps and lists.
    fn scalar(&self) -> Option<Resolved<'de>> {
        let (style, tag) = (self.node.meta.style, self.node.meta.tag);
        self.node.scalar_text().map(|text| match self.options.scalars {
            ScalarTyping::Yaml11 => resolve_1_1(text, style, tag),
            ScalarTyping::Resource => resolve(text, style, tag),
        })
    }

    fn is_null(&self) -> bool {
        matches!(self.scalar(), Some(Resolved::Null))
    }

    /// Adds location and field path to an error that has no location yet.
    fn with_location<T>(&self, result: Result<T, DecodeError>) -> Result<T, DecodeError> {
        result.map_err(|DecodeError(error)| {
            let error = if error.labels().is_empty() { error.at(self.node.span()) } else { error };
            DecodeError(match self.path {
                Some(path) => error.field(path),
                None => error,
            })
        })
    }

    /// Returns the error for a value of the wrong type.
    fn type_error(&self, what: &str) -> DecodeError {
        let found = self.scalar().map_or_else(|| self.node.type_name(), |scalar| scalar.type_name());
        let mut error = Diagnostic::error(Code::WrongType, format!("expected {what}, found {found}"));
        match (what, self.scalar()) {
            ("a string", Some(_)) => error = error.help("put quotes around it"),
            ("a list", Some(_)) => error = error.help("begin each entry with `- `"),
            ("a list", None) => error = error.help("put `- ` before the first field of each entry"),
            ("a number" | "an integer" | "a boolean", Some(Resolved::Str(_)))
                if self.node.meta.style != Style::Plain =>
            {
                error = error.help("remove the quotes");
            }
            _ => {}
        }
        let error = error.at(self.node.span());
        DecodeError(match self.path {
            Some(path) => error.field(path),
            None => error,
        })
    }

    /// Returns the number as a value that serde_yaml visits, so that serde_yaml checks its range. `expected` describes
    /// the type of the field.
    fn number(&self, expected: &str) -> Result<Leaf, DecodeError> {
        match self.scalar() {
            Some(Resolved::Null) => Ok(Leaf::from(0)),
            Some(Resolved::Int(i)) => Ok(Leaf::from(i)),
            Some(Resolved::UInt(u)) => Ok(Leaf::from(u)),
            // A conversion to JSON turns a float without a fraction into an integer.
            #[allow(clippy::cast_possible_truncation)] // Smaller than 2^63.
            Some(Resolved::Float(f)) if f.fract() == 0.0 && f.abs() < 9.2e18 => Ok(Leaf::from(f as i64)),
            Some(Resolved::Float(f)) if f.is_finite() => Ok(Leaf::from(f)),
            _ => Err(self.type_error(expected)),
        }
    }

    fn visit_text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let result = match self.scalar() {
            Some(Resolved::Null) => visitor.visit_borrowed_str(""),
            Some(Resolved::Str(text)) => visitor.visit_borrowed_str(text),
            Some(Resolved::Timestamp(text)) => visitor.visit_string(timestamp(text).unwrap_or_default()),
            Some(Resolved::Float(float)) if !float.is_finite() => return Err(self.type_error("a string")),
            Some(scalar) if self.options.scalars_as_strings => {
                visitor.visit_string(scalar_to_string(scalar).unwrap_or_default())
            }
            _ => return Err(self.type_error("a string")),
        };
        self.with_location(result)
    }

    fn visit_list<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let list: &[Node] = match &self.node.value {
            Value::List(list) => list,
            Value::Scalar(_) if self.is_null() => &[],
            _ => return Err(self.type_error("a list")),
        };
        self.with_location(
            visitor.visit_seq(ListEntries { deserializer: self, list: list.iter().enumerate() }),
        )
    }

    fn fields(&self) -> Result<&'de [Entry], DecodeError> {
        match &self.node.value {
            Value::Map(map) => Ok(map.entries()),
            Value::Scalar(_) if self.is_null() => Ok(&[]),
            _ => Err(self.type_error("a map")),
        }
    }

    fn visit_fields<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let entries = self.fields()?.iter();
        self.with_location(visitor.visit_map(MapFields { deserializer: self, entries, value: None }))
    }

    /// Returns the typed key of a map with arbitrary keys.
    fn key<'k>(&self, key: &'k Key) -> Resolved<'k> {
        match self.options.scalars {
            ScalarTyping::Yaml11 => resolve_1_1(&key.text, key.meta.style, key.meta.tag),
            ScalarTyping::Resource => Resolved::Str(&key.text),
        }
    }

    /// Rejects keys of labels, annotations and similar maps that are not strings. kustomize converts such a key to a
    /// string, and fails if the string has another type in the resource. Of the other types, only integers in decimal
    /// notation are accepted.
    fn check_string_keys(&self) -> Result<(), DecodeError> {
        let mut problems = Problems::default();
        for Entry { key, .. } in self.fields()? {
            let resolved = self.key(key);
            let is_integer = |text: String| matches!(resolve_plain(&text), Resolved::Int(_));
            let is_accepted = match resolved {
                // Null keys have a separate message.
                Resolved::Null | Resolved::Str(_) => true,
                other => scalar_to_string(other).is_some_and(is_integer),
            };
            if !is_accepted {
                problems.add(self.non_string_key(key, resolved));
            }
        }
        problems.into_result(()).map_err(DecodeError)
    }

    fn non_string_key(&self, key: &Key, resolved: Resolved<'_>) -> Diagnostic {
        let (name, is) = (&key.text, resolved.type_name());
        let message = match resolved {
            Resolved::Bool(bool) => format!("the key `{name}` is {is} (`{bool}`) in YAML 1.1, not a string"),
            _ => format!("the key `{name}` is {is}, not a string"),
        };
        let quoted = format!("\"{name}\"");
        let step = DecodePath { parent: self.path, step: DecodeStep::Field(name) };
        Diagnostic::error(Code::WrongType, message)
            .at(key.meta.span)
            .field(step)
            .help(format!("put quotes around it: `{quoted}`"))
            .fix(key.meta.span, quoted)
    }

    fn visit_struct<V: Visitor<'de>>(
        self,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let mut known: Vec<(&'static str, &'de Entry)> = Vec::new();
        let mut unknown = Problems::default();
        for entry in self.fields()? {
            let key = entry.key.text.as_str();
            let exact = names.iter().find(|name| **name == key);
            let Some(name) = exact.or_else(|| names.iter().find(|name| name.eq_ignore_ascii_case(key)))
            else {
                if self.options.unknown_fields == UnknownFields::Deny {
                    unknown.add(self.unknown_field(&entry.key, names));
                }
                continue;
            };
            // These are two spellings of one field. kustomize reads fields in sorted order, so the last spelling is
            // used.
            match known.iter_mut().find(|(seen, _)| seen == name) {
                Some((_, earlier)) if earlier.key.text.as_str() < key => *earlier = entry,
                Some(_) => {}
                None => known.push((name, entry)),
            }
        }
        unknown.into_result(()).map_err(DecodeError)?;
        known.retain(|(_, entry)| !entry.value.is_null());
        self.with_location(visitor.visit_map(StructFields {
            deserializer: self,
            entries: known.into_iter(),
            value: None,
        }))
    }

    fn unknown_field(&self, key: &Key, names: &[&str]) -> Diagnostic {
        let error = Diagnostic::error(Code::UnknownField, format!("unknown field `{}`", key.text));
        let help =
            did_you_mean(&key.text, names).or_else(|| (names.len() <= 8).then(|| list_expected(names)));
        let error = match help {
            Some(help) => error.help(help),
            None => error,
        };
        let error = match nearest_name(&key.text, names) {
            Some(meant) => error.fix(key.meta.span, replacement_text(key.meta.style, meant)),
            None => error,
        };
        let step = DecodePath { parent: self.path, step: DecodeStep::Field(&key.text) };
        error.at(key.meta.span).field(step)
    }
}

/// Passes a scalar that was checked to be a number to serde_yaml.
macro_rules! numbers {
    ($expected:literal: $($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            let number = self.number($expected)?;
            self.with_location(number.$method(visitor).map_err(de::Error::custom))
        }
    )*};
}

impl<'de> Deserializer<'de> for NodeDeserializer<'de, '_> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let leaf = match self.scalar() {
            None if self.node.as_list().is_some() => return self.visit_list(visitor),
            None => return self.visit_fields(visitor),
            Some(Resolved::Null) => Leaf::Null,
            Some(Resolved::Bool(b)) => Leaf::Bool(b),
            Some(Resolved::Str(text) | Resolved::Timestamp(text)) => {
                return self.with_location(visitor.visit_borrowed_str(text));
            }
            Some(_) => self.number("a number")?,
        };
        self.with_location(leaf.deserialize_any(visitor).map_err(de::Error::custom))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let value = match self.scalar() {
            Some(Resolved::Bool(value)) => value,
            Some(Resolved::Null) => false,
            _ => return Err(self.type_error("a boolean")),
        };
        self.with_location(Leaf::Bool(value).deserialize_bool(visitor).map_err(de::Error::custom))
    }

    numbers! {
        "an integer":
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64
    }

    numbers! { "a number": deserialize_f32 deserialize_f64 }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_text(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_text(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_text(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_text(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.with_location(visitor.visit_newtype_struct(self))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_list(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, DecodeError> {
        self.visit_list(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _len: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.visit_list(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.check_string_keys()?;
        self.visit_fields(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        if name == spanned::STRUCT_NAME {
            return self
                .with_location(visitor.visit_map(spanned::SpannedFields::new(self.node.span(), self)));
        }
        self.visit_struct(fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let Some(Resolved::Str(text)) = self.scalar() else { return Err(self.type_error("a string")) };
        self.with_location(visitor.visit_enum(text.into_deserializer()))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! { bytes byte_buf unit unit_struct }
}

/// Iterates over the entries of a list.
struct ListEntries<'de, 'p> {
    deserializer: NodeDeserializer<'de, 'p>,
    list: std::iter::Enumerate<std::slice::Iter<'de, Node>>,
}

impl<'de> de::SeqAccess<'de> for ListEntries<'de, '_> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let Some((i, node)) = self.list.next() else { return Ok(None) };
        let path = DecodePath { parent: self.deserializer.path, step: DecodeStep::Index(i) };
        seed.deserialize(NodeDeserializer { node, path: Some(&path), ..self.deserializer }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.list.len())
    }
}

/// Iterates over the fields of a map with arbitrary keys.
struct MapFields<'de, 'p> {
    deserializer: NodeDeserializer<'de, 'p>,
    entries: std::slice::Iter<'de, Entry>,
    value: Option<&'de Entry>,
}

impl<'de> de::MapAccess<'de> for MapFields<'de, '_> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        self.value = self.entries.next();
        let Some(Entry { key, .. }) = self.value else { return Ok(None) };
        let text = match self.deserializer.key(key) {
            Resolved::Str(text) => Cow::Borrowed(text),
            other => scalar_to_string(other).map(Cow::Owned).ok_or_else(|| {
                let error = Diagnostic::error(Code::WrongType, "a key cannot be null").at(key.meta.span);
                DecodeError(error.help("put quotes around it"))
            })?,
        };
        self.deserializer.with_location(seed.deserialize(CowStrDeserializer::new(text))).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, DecodeError> {
        let Some(Entry { key, value }) = self.value else { return Err(de::Error::custom("no value")) };
        let path = DecodePath { parent: self.deserializer.path, step: DecodeStep::Field(&key.text) };
        seed.deserialize(NodeDeserializer { node: value, path: Some(&path), ..self.deserializer })
    }
}

/// Iterates over the fields of a struct, by their declared names.
struct StructFields<'de, 'p> {
    deserializer: NodeDeserializer<'de, 'p>,
    entries: std::vec::IntoIter<(&'static str, &'de Entry)>,
    value: Option<(&'static str, &'de Node)>,
}

impl<'de> de::MapAccess<'de> for StructFields<'de, '_> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        let Some((name, entry)) = self.entries.next() else { return Ok(None) };
        self.value = Some((name, &entry.value));
        seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, DecodeError> {
        let Some((name, node)) = self.value else { return Err(de::Error::custom("no value")) };
        let path = DecodePath { parent: self.deserializer.path, step: DecodeStep::Field(name) };
        seed.deserialize(NodeDeserializer { node, path: Some(&path), ..self.deserializer })
    }
}
