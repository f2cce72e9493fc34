//! Schemas that only add constraints to the surrounding schema, in `allOf`, `anyOf`, `oneOf` and `not`.

use super::super::prelude::*;
use super::{Outside, SchemaOfDefinition, fields, is_set};

/// Keywords whose schemas only add constraints to the surrounding schema.
const ALTERNATIVES: [&str; 4] = ["allOf", "anyOf", "oneOf", "not"];

/// Keywords that are not allowed in the schemas of `ALTERNATIVES`.
const OUTSIDE_ALONE: [&str; 13] = [
    "type",
    "title",
    "description",
    "default",
    "additionalProperties",
    "nullable",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

/// Returns true if a keyword is present that an alternative may not have. Of a default, every value counts.
fn is_forbidden(schema: &Node, keyword: &str) -> bool {
    match keyword {
        "default" | "additionalProperties" => schema.get(keyword).is_some_and(|value| !value.is_null()),
        _ => is_set(schema, keyword),
    }
}

impl<'n> SchemaOfDefinition<'n, '_> {
    /// Checks the alternatives of a schema, which a value must match besides the schema itself.
    pub(super) fn alternatives(&mut self, schema: &'n Node, outside: Outside<'n>) {
        for keyword in ALTERNATIVES {
            let Some(value) = schema.get(keyword) else { continue };
            match value.as_list() {
                Some(list) => {
                    for (index, inner) in list.iter().enumerate() {
                        let steps = [Field(keyword), Entry(index)];
                        self.within(&steps, |walk| walk.alternative(inner, outside));
                    }
                }
                None => self.within(&[Field(keyword)], |walk| walk.alternative(value, outside)),
            }
        }
    }

    fn alternative(&mut self, schema: &'n Node, outside: Outside<'n>) {
        let forbidden = OUTSIDE_ALONE.into_iter().filter(|keyword| is_forbidden(schema, keyword));
        for keyword in forbidden.filter(|keyword| !outside.is_number_or_text || *keyword != "type") {
            self.keyword(
                schema,
                keyword,
                format!("`{keyword}` is not allowed in an alternative: move it to the surrounding schema"),
            );
        }
        self.pattern(schema);
        for (name, field) in fields(schema) {
            let steps = [Field("properties"), Field(name)];
            if name == "metadata" {
                self.within(&steps, |walk| {
                    walk.report(&[], field.span(), "an alternative may not constrain `metadata`");
                });
            }
            self.constrained(&steps, field, outside);
        }
        if let Some(items) = schema.get("items").filter(|items| !items.is_null()) {
            self.constrained(&[Field("items")], items, outside);
        }
        self.alternatives(schema, outside);
    }

    /// Checks the schema of a field or of entries in an alternative, which the surrounding schema must declare.
    fn constrained(&mut self, steps: &[PathStep<'n>], schema: &'n Node, outside: Outside<'n>) {
        let below = |around: &'n Node| {
            steps.iter().try_fold(around, |node, step| match step {
                Field(name) => node.get(name),
                Entry(index) => node.as_list()?.get(*index),
            })
        };
        let declared = outside.declared.and_then(below);
        self.within(steps, |walk| {
            if outside.declared.is_some() && declared.is_none() {
                let message = "must also be declared in the surrounding schema, outside of the alternative";
                walk.report(&[], schema.span(), message);
            }
            walk.alternative(schema, Outside { is_number_or_text: false, declared });
        });
    }
}
