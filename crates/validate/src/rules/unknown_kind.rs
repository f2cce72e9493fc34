use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "unknown-kind",
        meaning: "A built-in API group does not have the kind or the version.",
        remedy: "Correct `apiVersion` or `kind`. The help names what exists.",
    },
    why: "Groups of Kubernetes itself have a fixed set of kinds. A kind of another group comes from a CustomResourceDefinition and is not checked.",
    documentation: "https://kubernetes.io/docs/reference/using-api/#api-groups",
    example: "\
apiVersion: v1
kind: ConfigMapp
metadata: {name: web}
data: {mode: prod}
",
    fix: ("ConfigMapp", "ConfigMap"),
    ..ValidationRule::DEFAULT
};
