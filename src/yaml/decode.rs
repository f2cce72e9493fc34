//! Nodes to typed configuration, by the rules with which kustomize reads its own files.
//!
//! Owns what sigs.k8s.io/yaml and Go's `encoding/json` do on the way from a kustomization file to
//! a struct: YAML 1.1 booleans (`yes`, `on`, `y`), field names in any case, null as "not given".
//! Knows no particular configuration; the structs describe themselves through serde.

use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, CowStrDeserializer};
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};
use serde_yaml::Value as Leaf;

use super::meta::Style;
use super::node::{Entry, Key, Node, Value};
use super::scalar::Resolved;
use super::spanned;
use super::suggest::{one_of, suggestion};
use super::yaml_1_1::{as_text, resolve_1_1};
use crate::diagnostic::{Code, Diagnostic, Result};

/// What to do about fields that a struct does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnknownFields {
    /// They are errors, with the name that was probably meant.
    #[default]
    Deny,
    /// They are passed over.
    Ignore,
}

/// How to decode. The default is how kustomization files are read.
#[derive(Debug, Clone, Copy, Default)]
pub struct DecodeOptions {
    /// What to do about fields that a struct does not have.
    pub unknown_fields: UnknownFields,
    /// Whether numbers and booleans may stand where strings are wanted.
    pub scalars_as_strings: bool,
}

impl DecodeOptions {
    /// How kustomize reads the configuration of generators and transformers in files of their own.
    #[must_use]
    pub fn plugin() -> Self {
        Self { unknown_fields: UnknownFields::Ignore, scalars_as_strings: true }
    }

    /// How kustomize reads the files that `configurations` names.
    #[must_use]
    pub fn transformer_config() -> Self {
        Self { unknown_fields: UnknownFields::Deny, scalars_as_strings: true }
    }
}

/// A typed value from a tree, as kustomize reads a kustomization file.
///
/// Structs should have `#[serde(default, rename_all = "camelCase")]`; `flatten` is not supported,
/// since it hides the names of the fields. [`Spanned`](super::Spanned) keeps the place of a value.
///
/// # Errors
/// Unknown fields and values of wrong types, with their place and field path.
pub fn from_node<T: DeserializeOwned>(node: &Node) -> Result<T> {
    from_node_with(node, DecodeOptions::default())
}

/// A typed value from a tree.
///
/// # Errors
/// As [`from_node`].
pub fn from_node_with<T: DeserializeOwned>(node: &Node, options: DecodeOptions) -> Result<T> {
    T::deserialize(Reader { node, path: None, options }).map_err(|failure| failure.0)
}

/// What went wrong, on its way through serde.
#[derive(Debug)]
struct Failure(Diagnostic);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Failure {}

impl de::Error for Failure {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(Diagnostic::error(Code::InvalidValue, message.to_string()))
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let diagnostic = Diagnostic::error(Code::InvalidValue, format!("`{variant}` is not possible here"));
        Self(diagnostic.help(suggestion(variant, expected).unwrap_or_else(|| one_of(expected))))
    }

    fn missing_field(field: &'static str) -> Self {
        Self(Diagnostic::error(Code::MissingField, format!("`{field}` is missing")))
    }
}

/// Where a value stands, from the inside out.
#[derive(Clone, Copy)]
struct Path<'p> {
    parent: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Field(&'p str),
    Index(usize),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Index(i) => write!(f, "[{i}]"),
            Step::Field(name) if name.contains(['.', '/', '[']) => write!(f, "[{name}]"),
            Step::Field(name) if self.parent.is_some() => write!(f, ".{name}"),
            Step::Field(name) => f.write_str(name),
        }
    }
}

/// Reads one node.
#[derive(Clone, Copy)]
struct Reader<'de, 'p> {
    node: &'de Node,
    path: Option<&'p Path<'p>>,
    options: DecodeOptions,
}

impl<'de> Reader<'de, '_> {
    /// The type of the scalar; none for maps and lists.
    fn scalar(&self) -> Option<Resolved<'de>> {
        self.node.scalar_text().map(|text| resolve_1_1(text, self.node.meta.style, self.node.meta.tag))
    }

    fn is_null(&self) -> bool {
        matches!(self.scalar(), Some(Resolved::Null))
    }

    /// Adds the place to an error that has none yet.
    fn placed<T>(&self, result: std::result::Result<T, Failure>) -> std::result::Result<T, Failure> {
        result.map_err(|Failure(error)| {
            let error = if error.labels().is_empty() { error.at(self.node.span()) } else { error };
            Failure(match self.path {
                Some(path) => error.field(path),
                None => error,
            })
        })
    }

    /// The error that something else was wanted here.
    fn wanted(&self, what: &str) -> Failure {
        let found = self.scalar().map_or_else(|| self.node.type_name(), |scalar| scalar.type_name());
        let mut error = Diagnostic::error(Code::WrongType, format!("expected {what}, found {found}"));
        let text = self.node.scalar_text().map_or("", |text| text.as_str());
        match (what, self.scalar()) {
            ("a string", Some(_)) => error = error.help(format!("quote it: \"{text}\"")),
            ("a list", Some(_)) => error = error.help("begin each entry with `- `"),
            ("a list", None) => error = error.help("put `- ` before the first field of each entry"),
            ("a number" | "a boolean", Some(Resolved::Str(_))) if self.node.meta.style != Style::Plain => {
                error = error.help("remove the quotes");
            }
            _ => {}
        }
        let error = error.at(self.node.span());
        Failure(match self.path {
            Some(path) => error.field(path),
            None => error,
        })
    }

    /// The scalar as a value that serde_yaml visits, with its checks of ranges.
    fn number(&self) -> std::result::Result<Leaf, Failure> {
        match self.scalar() {
            Some(Resolved::Null) => Ok(Leaf::from(0)),
            Some(Resolved::Int(i)) => Ok(Leaf::from(i)),
            Some(Resolved::UInt(u)) => Ok(Leaf::from(u)),
            // Through JSON a float without a fraction is an integer.
            #[allow(clippy::cast_possible_truncation)] // Smaller than 2^63.
            Some(Resolved::Float(f)) if f.fract() == 0.0 && f.abs() < 9.2e18 => Ok(Leaf::from(f as i64)),
            Some(Resolved::Float(f)) if f.is_finite() => Ok(Leaf::from(f)),
            _ => Err(self.wanted("a number")),
        }
    }

    fn visit_text<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Failure> {
        let result = match self.scalar() {
            Some(Resolved::Null) => visitor.visit_borrowed_str(""),
            Some(Resolved::Str(text)) => visitor.visit_borrowed_str(text),
            Some(scalar) if self.options.scalars_as_strings => {
                visitor.visit_string(as_text(scalar).unwrap_or_default())
            }
            _ => return Err(self.wanted("a string")),
        };
        self.placed(result)
    }

    fn visit_list<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Failure> {
        let list: &[Node] = match &self.node.value {
            Value::List(list) => list,
            Value::Scalar(_) if self.is_null() => &[],
            _ => return Err(self.wanted("a list")),
        };
        self.placed(visitor.visit_seq(Elements { of: self, list: list.iter().enumerate() }))
    }

    fn fields(&self) -> std::result::Result<&'de [Entry], Failure> {
        match &self.node.value {
            Value::Map(map) => Ok(map.entries()),
            Value::Scalar(_) if self.is_null() => Ok(&[]),
            _ => Err(self.wanted("a map")),
        }
    }

    fn visit_fields<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Failure> {
        let entries = self.fields()?.iter();
        self.placed(visitor.visit_map(Fields { of: self, entries, value: None }))
    }

    fn visit_struct<V: Visitor<'de>>(
        self,
        names: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, Failure> {
        let mut known: Vec<(&'static str, &'de Entry)> = Vec::new();
        for entry in self.fields()? {
            let key = entry.key.text.as_str();
            let exact = names.iter().find(|name| **name == key);
            let Some(name) = exact.or_else(|| names.iter().find(|name| name.eq_ignore_ascii_case(key)))
            else {
                if self.options.unknown_fields == UnknownFields::Deny {
                    return Err(self.unknown(&entry.key, names));
                }
                continue;
            };
            // Two spellings of one field: the peer reads fields in sorted order, so the last of these counts.
            match known.iter_mut().find(|(seen, _)| seen == name) {
                Some((_, earlier)) if earlier.key.text.as_str() < key => *earlier = entry,
                Some(_) => {}
                None => known.push((name, entry)),
            }
        }
        known.retain(|(_, entry)| !entry.value.is_null());
        self.placed(visitor.visit_map(Known { of: self, entries: known.into_iter(), value: None }))
    }

    fn unknown(&self, key: &Key, names: &[&str]) -> Failure {
        let error = Diagnostic::error(Code::UnknownField, format!("there is no field `{}` here", key.text));
        let help = suggestion(&key.text, names).or_else(|| (names.len() <= 8).then(|| one_of(names)));
        let error = match help {
            Some(help) => error.help(help),
            None => error,
        };
        let step = Path { parent: self.path, step: Step::Field(&key.text) };
        Failure(error.at(key.meta.span).field(step))
    }
}

/// Hands a scalar that was checked to be a number to serde_yaml.
macro_rules! numbers {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Failure> {
            let number = self.number()?;
            self.placed(number.$method(visitor).map_err(de::Error::custom))
        }
    )*};
}

impl<'de> Deserializer<'de> for Reader<'de, '_> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Failure> {
        let leaf = match self.scalar() {
            None if self.node.as_list().is_some() => return self.visit_list(visitor),
            None => return self.visit_fields(visitor),
            Some(Resolved::Null) => Leaf::Null,
            Some(Resolved::Bool(b)) => Leaf::Bool(b),
            Some(Resolved::Str(text) | Resolved::Timestamp(text)) => {
                return self.placed(visitor.visit_borrowed_str(text));
            }
            Some(_) => self.number()?,
        };
        self.placed(leaf.deserialize_any(visitor).map_err(de::Error::custom))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Failure> {
        let value = match self.scalar() {
            Some(Resolved::Bool(value)) => value,
            Some(Resolved::Null) => false,
            _ => return Err(self.wanted("a boolean")),
        };
        self.placed(Leaf::Bool(value).deserialize_bool(visitor).map_err(de::Error::custom))
    }

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8 deserialize_u16
        deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Failure> {
        self.visit_text(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Failure> {
        self.visit_text(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Failure> {
        self.visit_text(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Failure> {
        self.visit_text(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Failure> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> std::result::Result<V::Value, Failure> {
        self.placed(visitor.visit_newtype_struct(self))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Failure> {
        self.visit_list(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _len: usize,
        visitor: V,
    ) -> std::result::Result<V::Value, Failure> {
        self.visit_list(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _len: usize,
        visitor: V,
    ) -> std::result::Result<V::Value, Failure> {
        self.visit_list(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Failure> {
        self.visit_fields(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, Failure> {
        if name == spanned::NAME {
            return self.placed(visitor.visit_map(spanned::Access::new(self.node.span(), self)));
        }
        self.visit_struct(fields, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> std::result::Result<V::Value, Failure> {
        let Some(Resolved::Str(text)) = self.scalar() else { return Err(self.wanted("a string")) };
        self.placed(visitor.visit_enum(text.into_deserializer()))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> std::result::Result<V::Value, Failure> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! { bytes byte_buf unit unit_struct }
}

/// The entries of a list.
struct Elements<'de, 'p> {
    of: Reader<'de, 'p>,
    list: std::iter::Enumerate<std::slice::Iter<'de, Node>>,
}

impl<'de> de::SeqAccess<'de> for Elements<'de, '_> {
    type Error = Failure;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> std::result::Result<Option<T::Value>, Failure> {
        let Some((i, node)) = self.list.next() else { return Ok(None) };
        let path = Path { parent: self.of.path, step: Step::Index(i) };
        seed.deserialize(Reader { node, path: Some(&path), ..self.of }).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.list.len())
    }
}

/// The fields of a map with keys of any name.
struct Fields<'de, 'p> {
    of: Reader<'de, 'p>,
    entries: std::slice::Iter<'de, Entry>,
    value: Option<&'de Entry>,
}

impl<'de> de::MapAccess<'de> for Fields<'de, '_> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> std::result::Result<Option<K::Value>, Failure> {
        self.value = self.entries.next();
        let Some(Entry { key, .. }) = self.value else { return Ok(None) };
        let text = match resolve_1_1(&key.text, key.meta.style, key.meta.tag) {
            Resolved::Str(text) => std::borrow::Cow::Borrowed(text),
            other => as_text(other).map(std::borrow::Cow::Owned).ok_or_else(|| {
                let error = Diagnostic::error(Code::WrongType, "a key cannot be null").at(key.meta.span);
                Failure(error.help(format!("quote it: \"{}\"", key.text)))
            })?,
        };
        self.of.placed(seed.deserialize(CowStrDeserializer::new(text))).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> std::result::Result<T::Value, Failure> {
        let Some(Entry { key, value }) = self.value else { return Err(de::Error::custom("no value")) };
        let path = Path { parent: self.of.path, step: Step::Field(&key.text) };
        seed.deserialize(Reader { node: value, path: Some(&path), ..self.of })
    }
}

/// The fields of a struct, by its own names for them.
struct Known<'de, 'p> {
    of: Reader<'de, 'p>,
    entries: std::vec::IntoIter<(&'static str, &'de Entry)>,
    value: Option<(&'static str, &'de Node)>,
}

impl<'de> de::MapAccess<'de> for Known<'de, '_> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> std::result::Result<Option<K::Value>, Failure> {
        let Some((name, entry)) = self.entries.next() else { return Ok(None) };
        self.value = Some((name, &entry.value));
        seed.deserialize(BorrowedStrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> std::result::Result<T::Value, Failure> {
        let Some((name, node)) = self.value else { return Err(de::Error::custom("no value")) };
        let path = Path { parent: self.of.path, step: Step::Field(name) };
        seed.deserialize(Reader { node, path: Some(&path), ..self.of })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;
    use crate::source::SourceMap;
    use crate::yaml::{DuplicateKeys, ParseOptions, Spanned, parse_one};

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Config {
        name_prefix: String,
        resources: Vec<Spanned<String>>,
        labels: BTreeMap<String, String>,
        count: i64,
        small: u8,
        on: bool,
        inner: Option<Inner>,
        values: serde_yaml::Value,
    }

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Inner {
        kind: String,
        list: Vec<Inner>,
    }

    fn read(text: &str, options: DecodeOptions) -> (SourceMap, Result<Config>) {
        let sources = SourceMap::default();
        let id = sources.add("k.yaml", text);
        let parse = ParseOptions { duplicate_keys: DuplicateKeys::LastWins, ..ParseOptions::default() };
        let node = parse_one(&sources, id, parse).expect("valid YAML");
        let config = from_node_with(&node, options);
        (sources, config)
    }

    fn config(text: &str) -> Config {
        read(text, DecodeOptions::default()).1.unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    /// Place, message and help of the error.
    fn error(text: &str) -> String {
        let (sources, result) = read(text, DecodeOptions::default());
        let error = result.expect_err(text);
        let place = error.labels().first().and_then(|l| sources.describe(l.span)).unwrap_or_default();
        format!("{place} {error} [{}]", error.help_text().unwrap_or_default())
    }

    #[test]
    fn values_are_typed_as_go_does() {
        assert_eq!(config(""), Config::default());
        assert_eq!(config("namePrefix: a").name_prefix, "a");
        assert_eq!(config("NAMEPREFIX: a").name_prefix, "a");
        assert_eq!(config("namePrefix: 2020-01-01").name_prefix, "2020-01-01");
        assert_eq!(config("namePrefix: null\ninner: ~\nlabels:\nresources:\n"), Config::default());
        assert_eq!(
            config("resources: [a, null]").resources,
            [Spanned::from("a".to_string()), Spanned::default()]
        );
        for (text, want) in [("1", 1), ("1e3", 1000), ("0x10", 16), ("010", 8), ("-4.0", -4), ("1_000", 1000)]
        {
            assert_eq!(config(&format!("count: {text}")).count, want, "{text}");
        }
        for (text, want) in [("yes", true), ("on", true), ("Y", true), ("off", false), ("true", true)] {
            assert_eq!(config(&format!("\"on\": {text}")).on, want, "{text}");
        }
        let inner = config("inner: {kind: x, list: [{kind: z}, null]}").inner.expect("given");
        assert_eq!(inner.list, [Inner { kind: "z".into(), ..Inner::default() }, Inner::default()]);
        assert_eq!(config("values: {a: [1, yes, x, 1.5]}").values["a"][1], serde_yaml::Value::Bool(true));
    }

    #[test]
    fn two_spellings_of_a_field() {
        for text in ["namePrefix: a\nnameprefix: b", "nameprefix: b\nnamePrefix: a"] {
            assert_eq!(config(text).name_prefix, "b", "the last in sorted order: {text}");
        }
        assert_eq!(config("namePrefix: a\nnamePrefix: b").name_prefix, "b");
    }

    #[test]
    fn keys_of_maps_become_strings() {
        let table = [
            ("1", "1"),
            ("0x10", "16"),
            ("yes", "true"),
            ("\"yes\"", "yes"),
            ("1.50", "1.5"),
            ("1e6", "1e+06"),
            ("123456.0", "123456"),
            ("0.0000123", "1.23e-05"),
            (".inf", ".inf"),
            ("2020-01-01", "2020-01-01"),
        ];
        for (key, want) in table {
            let labels = config(&format!("labels: {{{key}: null}}")).labels;
            assert_eq!(labels, BTreeMap::from([(want.to_string(), String::new())]), "{key}");
        }
    }

    #[test]
    fn errors_have_a_place_and_a_way_out() {
        let table = [
            (
                "a: 1\nnamePrefx: x",
                "k.yaml:1:1 a: there is no field `a` here [possible here: `namePrefix`, `resources`, `labels`, `count`, `small`, `on`, `inner`, `values`]",
            ),
            (
                "namePrefx: x",
                "k.yaml:1:1 namePrefx: there is no field `namePrefx` here [did you mean `namePrefix`?]",
            ),
            (
                "inner:\n  list:\n  - kind: a\n  - knid: b",
                "k.yaml:4:5 inner.list[1].knid: there is no field `knid` here [did you mean `kind`?]",
            ),
            (
                "namePrefix: 1",
                "k.yaml:1:13 namePrefix: expected a string, found an integer [quote it: \"1\"]",
            ),
            (
                "resources:\n- a\n- on",
                "k.yaml:3:3 resources[1]: expected a string, found a boolean [quote it: \"on\"]",
            ),
            (
                "resources: a",
                "k.yaml:1:12 resources: expected a list, found a string [begin each entry with `- `]",
            ),
            (
                "labels:\n  a/b: 1",
                "k.yaml:2:8 labels[a/b]: expected a string, found an integer [quote it: \"1\"]",
            ),
            ("count: \"1\"", "k.yaml:1:8 count: expected a number, found a string [remove the quotes]"),
            ("\"on\": \"true\"", "k.yaml:1:7 on: expected a boolean, found a string [remove the quotes]"),
            ("inner: [a]", "k.yaml:1:8 inner: expected a map, found a list []"),
            ("labels: {~: a}", "k.yaml:1:10 labels: a key cannot be null [quote it: \"~\"]"),
        ];
        for (text, want) in table {
            assert_eq!(error(text), want, "{text}");
        }
        assert!(error("small: 300").starts_with("k.yaml:1:8 small: "), "{}", error("small: 300"));
        assert!(error("count: 1.5").starts_with("k.yaml:1:8 count: "), "{}", error("count: 1.5"));
    }

    #[test]
    fn plugins_are_read_leniently() {
        let text = "namePrefix: 1.0\nlabels: {a: yes}\nresources: [5]\nunknown: 1";
        let config = read(text, DecodeOptions::plugin()).1.expect("lenient");
        assert_eq!(config.name_prefix, "1");
        assert_eq!(config.labels["a"], "true");
        assert_eq!(config.resources[0].value, "5");
        assert!(read(text, DecodeOptions::transformer_config()).1.is_err());
    }

    #[test]
    fn places_are_kept() {
        let (sources, config) = read("resources:\n- a\n- \"b\"\n", DecodeOptions::default());
        let places: Vec<_> = config
            .expect("valid")
            .resources
            .iter()
            .map(|r| sources.describe(r.span).expect("a place"))
            .collect();
        assert_eq!(places, ["k.yaml:2:3", "k.yaml:3:3"]);
    }
}
