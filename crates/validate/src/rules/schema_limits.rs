use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "schema-limits",
        meaning: "A value of a custom resource is outside of the limits of its schema.",
        remedy: "Change the value so that it is within the limit in the message.",
    },
    why: "The CustomResourceDefinition limits numbers, lengths of strings and counts of entries with keywords such \
          as `maximum` and `maxLength`. The operator relies on these limits.",
    documentation: "https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation",
    example: "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
spec: {size: 30}
",
    fix: ("30", "3"),
    custom_schema: "{type: object, properties: {size: {type: integer, maximum: 10}}}",
    ..ValidationRule::DEFAULT
};
