//! Constraints on values besides their types: enums, formats, patterns, limits, CEL rules.
//!
//! Defines the keywords, and the compact JSON text that a compiled schema stores for them. Another crate checks values.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};
use smol_str::SmolStr;

use smp_text::yaml::{Map, Node};

/// Returns true if the keyword is part of [`Constraints`].
fn is_constraint(keyword: &str) -> bool {
    matches!(
        keyword,
        "default"
            | "format"
            | "nullable"
            | "enum"
            | "pattern"
            | "minLength"
            | "maxLength"
            | "minItems"
            | "maxItems"
            | "uniqueItems"
            | "minProperties"
            | "maxProperties"
            | "minimum"
            | "maximum"
            | "exclusiveMinimum"
            | "exclusiveMaximum"
            | "multipleOf"
            | "x-kubernetes-validations"
            | "allOf"
            | "anyOf"
            | "oneOf"
            | "not"
            | "additionalProperties"
    )
}

/// The constraints of a schema on a value, in addition to its type, its fields and its merge directives.
///
/// Schemas in `allOf`, `anyOf`, `oneOf` and `not` may also constrain fields and list entries.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a keyword of its own")]
pub struct Constraints {
    /// `format`, such as `int32` or `date-time`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<SmolStr>,
    /// `nullable`
    #[serde(skip_serializing_if = "is_false")]
    pub nullable: bool,
    /// `enum`: the allowed values; empty if any value is allowed.
    #[serde(rename = "enum", skip_serializing_if = "Vec::is_empty")]
    pub enumeration: Vec<Value>,
    /// `pattern`, a Go regular expression
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern: Option<SmolStr>,
    /// `minLength`, in characters
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u64>,
    /// `maxLength`, in characters
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    /// `minItems`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_items: Option<u64>,
    /// `maxItems`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_items: Option<u64>,
    /// `uniqueItems`
    #[serde(skip_serializing_if = "is_false")]
    pub unique_items: bool,
    /// `minProperties`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_properties: Option<u64>,
    /// `maxProperties`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_properties: Option<u64>,
    /// `minimum`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Number>,
    /// `maximum`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum: Option<Number>,
    /// `exclusiveMinimum`: the minimum itself is not allowed.
    #[serde(skip_serializing_if = "is_false")]
    pub exclusive_minimum: bool,
    /// `exclusiveMaximum`: the maximum itself is not allowed.
    #[serde(skip_serializing_if = "is_false")]
    pub exclusive_maximum: bool,
    /// `multipleOf`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiple_of: Option<Number>,
    /// `x-kubernetes-validations`
    #[serde(rename = "x-kubernetes-validations", skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<CelRule>,
    /// `allOf`
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub all_of: Vec<Constraints>,
    /// `anyOf`
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub any_of: Vec<Constraints>,
    /// `oneOf`
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub one_of: Vec<Constraints>,
    /// `not`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not: Option<Box<Constraints>>,
    /// `additionalProperties: true`: all fields are allowed.
    #[serde(skip_serializing_if = "is_false")]
    pub free_fields: bool,
    /// `spec.preserveUnknownFields` of a CRD, only at the root of an object: null fields are kept and validated.
    #[serde(skip_serializing_if = "is_false")]
    pub keeps_nulls: bool,
    /// `default`, a value of any type that the API server sets. Read from CRDs only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// `type`, only in `allOf`, `anyOf`, `oneOf` and `not`
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<SmolStr>,
    /// `required`, only in `allOf`, `anyOf`, `oneOf` and `not`
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub required: Vec<SmolStr>,
    /// `properties`, only in `allOf`, `anyOf`, `oneOf` and `not`
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<SmolStr, Constraints>,
    /// `items`, only in `allOf`, `anyOf`, `oneOf` and `not`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<Constraints>>,
}

/// A rule of `x-kubernetes-validations`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CelRule {
    /// The CEL expression, which must be true.
    pub rule: String,
    /// The error message if the expression is not true.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// A CEL expression that evaluates to the message.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message_expression: String,
    /// The field for which the error is reported, such as `.spec.size`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field_path: String,
    /// True if a rule that uses `oldSelf` is also evaluated when there is no old value.
    #[serde(skip_serializing_if = "is_false")]
    pub optional_old_self: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives references")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Constraints {
    /// Returns true if there are no constraints.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads the constraint keywords of a schema object. Returns `None` if there are none. Invalid keywords are
    /// ignored.
    pub(super) fn read(schema: &Map) -> Option<Box<Self>> {
        let mut found: Vec<(&str, &Node)> = Vec::new();
        for (name, value) in schema.iter() {
            if is_constraint(name) && !value.is_null() {
                found.push((name, value));
            }
        }
        if found.is_empty() {
            return None;
        }
        let free_fields = found.iter().any(|(name, value)| {
            *name == "additionalProperties" && value.scalar_text().is_some_and(|text| text == "true")
        });
        found.retain(|(name, _)| *name != "additionalProperties");
        let keywords: serde_json::Map<String, Value> =
            found.iter().map(|(name, value)| ((*name).to_string(), value.to_json_value())).collect();
        Some(Box::new(Self { free_fields, ..Self::from_keywords(keywords) })).filter(|read| !read.is_empty())
    }

    /// Reads the keywords one by one, for a schema object that is invalid as a whole. Compositions that contain a
    /// `$ref` are ignored.
    fn from_keywords(mut keywords: serde_json::Map<String, Value>) -> Self {
        for word in ["allOf", "anyOf", "oneOf", "not"] {
            if keywords.get(word).is_some_and(contains_ref) {
                keywords.remove(word);
            }
        }
        let read = |keywords: &serde_json::Map<String, Value>| Self::deserialize(keywords);
        if let Ok(constraints) = read(&keywords) {
            return constraints;
        }
        keywords.retain(|name, value| read(&[(name.clone(), value.clone())].into_iter().collect()).is_ok());
        read(&keywords).unwrap_or_default()
    }

    /// Returns the JSON text that a compiled schema stores.
    pub(super) fn to_text(&self) -> Option<String> {
        serde_json::to_string(self).ok()
    }

    /// Parses the stored JSON text. Returns no constraints for corrupt text.
    pub(super) fn from_text(text: &str) -> Self {
        serde_json::from_str(text).unwrap_or_default()
    }

    /// Adds the constraints that are missing here from `other`.
    pub(super) fn fill_missing(&mut self, other: Self) {
        let Self { format, enumeration, pattern, .. } = other;
        self.format = self.format.take().or(format);
        self.pattern = self.pattern.take().or(pattern);
        if self.enumeration.is_empty() {
            self.enumeration = enumeration;
        }
    }
}

/// Returns true if the schema contains a `$ref` at any level.
fn contains_ref(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.contains_key("$ref") || map.values().any(contains_ref),
        Value::Array(list) => list.iter().any(contains_ref),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Constraints {
        let node: Node = text.parse().expect("test text");
        Constraints::read(node.as_map().expect("a map")).map(|read| *read).unwrap_or_default()
    }

    #[test]
    fn constraints_round_trip_through_json() {
        let read = read(
            "{type: string, format: int32, nullable: true, enum: [a, 1], minLength: 1, minimum: 0.5, \
             x-kubernetes-validations: [{rule: self > 0, message: too small}], \
             anyOf: [{required: [a], properties: {a: {pattern: '^x$'}}}], description: long}",
        );
        assert_eq!(read.enumeration, [Value::from("a"), Value::from(1)]);
        assert_eq!(read.any_of[0].required, ["a"]);
        let text = read.to_text().expect("some");
        assert!(!text.contains("long") && !text.contains("null,"), "{text}");
        assert_eq!(Constraints::from_text(&text), read);
    }

    #[test]
    fn schemas_without_constraints_are_empty() {
        assert!(read("{type: object, properties: {a: {}}, description: x}").is_empty());
        assert!(read("{allOf: [{$ref: '#/components/schemas/A'}]}").is_empty());
    }

    #[test]
    fn invalid_keywords_do_not_hide_valid_ones() {
        let read = read("{exclusiveMinimum: 3, minLength: many, maxLength: 5}");
        assert_eq!(read, Constraints { max_length: Some(5), ..Constraints::default() });
    }

    #[test]
    fn additional_properties_true_allows_any_field() {
        assert!(read("{additionalProperties: true}").free_fields);
        assert!(!read("{additionalProperties: {type: string}}").free_fields);
    }
}
