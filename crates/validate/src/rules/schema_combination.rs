use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "schema-combination",
        meaning: "A value of a custom resource does not satisfy `allOf`, `anyOf`, `oneOf` or `not` of its schema.",
        remedy: "Compare the value with the alternatives in the CustomResourceDefinition. Often exactly one of several fields must be set.",
    },
    why: "A CRD author uses these keywords for fields that exclude or require each other. With the \
          `oneOf` of the example, an overlay that sets `url` must remove the `file` of its base: `file: null`.",
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
