use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "null-value",
        meaning: "A field of a custom resource is null, and its schema does not allow null.",
        remedy: "Remove the field, or give it a value.",
    },
    why: "Fields of built-in kinds are absent when they are null. In custom resources null is a value, which the schema must allow with `nullable: true`.",
    documentation: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting-and-nullable",
    example: "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
spec: {size: null}
",
    fix: ("null", "3"),
    custom_schema: "{type: object, properties: {size: {type: integer}}}",
    ..ValidationRule::DEFAULT
};
