use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "null-value",
        meaning: "An entry of a list in a custom resource is null, and the schema does not allow null.",
        remedy: "Remove the entry, or set a value. If null is meant, add `nullable: true` to the schema.",
    },
    why: "If a field is null and its schema does not allow null, the API server drops the field or sets its \
          default. It does not drop list entries: it rejects the object if an entry is null and has no \
          default. In a kind with `preserveUnknownFields: true`, null fields are rejected, too. An empty dash \
          in a list (`- `) is null.",
    documentation: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting-and-nullable",
    example: "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
spec: {sizes: [1, null]}
",
    fix: ("null", "3"),
    custom_schema: "{type: object, properties: {sizes: {type: array, items: {type: integer}}}}",
    ..ValidationRule::DEFAULT
};
