//! What the schema at the root may contain.

use super::super::prelude::*;
use super::{SchemaOfDefinition, TYPES, fields, is_set, word};

/// The keywords at the root of a schema with the subresource `status`.
const WITH_STATUS: [&str; 22] = [
    "description",
    "example",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "externalDocs",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "multipleOf",
    "pattern",
    "properties",
    "required",
    "title",
    "type",
    "uniqueItems",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

impl<'n> SchemaOfDefinition<'n, '_> {
    /// Checks what is only forbidden at the root.
    pub(super) fn root(&mut self, root: &'n Node, has_status: bool) {
        if word(root, "type").is_some_and(|name| TYPES.contains(&name) && name != "object") {
            self.report(&["type"], root.span(), "must be `object` at the root");
        }
        if is_true(root.get("nullable")) {
            self.keyword(root, "nullable", "must not be true at the root");
        }
        if root.get("additionalProperties").is_some_and(|all| !all.is_null()) {
            self.keyword(root, "additionalProperties", "must not be set at the root");
        }
        let keywords = root.as_map().into_iter().flat_map(Map::iter).map(|(keyword, _)| keyword);
        let is_allowed = |keyword: &&str| {
            WITH_STATUS.contains(keyword) || ["nullable", "additionalProperties"].contains(keyword)
        };
        if has_status
            && let Some(keyword) = keywords.filter(|word| !is_allowed(word)).find(|word| is_set(root, word))
        {
            self.keyword(root, keyword, "must not be set at the root if the subresource `status` is enabled");
        }
        for (name, field) in fields(root) {
            self.within(&[Field("properties"), Field(name)], |walk| match name {
                "metadata" => walk.object_meta(field),
                "apiVersion" | "kind" => walk.type_meta(field),
                _ => {}
            });
        }
    }

    fn type_meta(&mut self, schema: &'n Node) {
        if word(schema, "type").is_some_and(|name| TYPES.contains(&name) && name != "string") {
            self.keyword(schema, "type", "must be `string`");
        }
        self.no_default(schema);
    }

    /// Checks the schema of the metadata, which may only constrain the names.
    fn object_meta(&mut self, schema: &'n Node) {
        if word(schema, "type").is_some_and(|name| TYPES.contains(&name) && name != "object") {
            self.keyword(schema, "type", "must be `object`");
        }
        let keywords = schema.as_map().into_iter().flat_map(Map::iter).map(|(keyword, _)| keyword);
        let is_allowed = |word: &&str| ["type", "properties", "default"].contains(word);
        let keywords = keywords.filter(|word| !is_allowed(word)).filter(|word| is_set(schema, word));
        for keyword in keywords {
            self.keyword(
                schema,
                keyword,
                "must not be set: a schema may only constrain the names in `metadata`",
            );
        }
        self.no_default(schema);
        for (name, field) in fields(schema) {
            self.within(&[Field("properties"), Field(name)], |walk| {
                if !["name", "generateName"].contains(&name) {
                    let message = "may not be declared: Kubernetes defines the other fields of `metadata`";
                    walk.report(&[], field.span(), message);
                }
                walk.no_default(field);
            });
        }
    }

    fn no_default(&mut self, schema: &'n Node) {
        if schema.get("default").is_some_and(|default| !default.is_null()) {
            self.keyword(schema, "default", "must not be set in the metadata of an object");
        }
    }
}
