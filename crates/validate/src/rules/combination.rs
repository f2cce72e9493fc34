use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "combination",
        meaning: "A value of a custom resource does not satisfy `allOf`, `anyOf`, `oneOf` or `not` of its schema.",
        remedy: "Look at the alternatives in the CustomResourceDefinition. Often exactly one of several fields must be set.",
    },
    why: "The CustomResourceDefinition combines several schemas, and the value satisfies too few or too many of them.",
    documentation: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema",
    example: "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
spec: {file: a, url: b}
",
    fix: ("a, url: b", "a"),
    custom_schema: "{type: object, properties: {file: {type: string}, url: {type: string}}, oneOf: [{required: [file]}, {required: [url]}]}",
    ..ValidationRule::DEFAULT
};
