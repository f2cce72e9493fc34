use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "null-value",
        meaning: "A field of a custom resource is null, and its schema does not allow null.",
        remedy: "Remove the field, or set a value. If null is meant, add `nullable: true` to the schema.",
    },
    why: "For built-in kinds null means that a field is absent. In a custom resource null is a value, and the API \
          server rejects it unless the schema allows it. Helm charts and patches often leave such nulls behind.",
    suppress: "The CRD in the cluster is more permissive than the one in the build.",
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
