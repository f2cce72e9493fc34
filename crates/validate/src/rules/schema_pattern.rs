use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "schema-pattern",
        meaning: "A string of a custom resource does not match the pattern of its schema.",
        remedy: "Change the value so that it matches the regular expression in the message.",
    },
    why: "The operator depends on the form that the `pattern` of the CustomResourceDefinition describes. The \
          pattern is a regular expression in Go syntax and may match anywhere in the value unless it is anchored.",
    documentation: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation",
    example: "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
spec: {color: Red}
",
    fix: ("Red", "red"),
    custom_schema: "{type: object, properties: {color: {type: string, pattern: '^[a-z]+$'}}}",
    ..ValidationRule::DEFAULT
};
