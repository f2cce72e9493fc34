use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "unknown-kind",
        meaning: "A built-in API group has no such kind or version.",
        remedy: "Correct `apiVersion` or `kind`.",
    },
    why: "The deployment fails with `no matches for kind`. Only the groups of Kubernetes itself are checked. Kinds \
          of other groups come from CustomResourceDefinitions.",
    suppress: Some("The kind is new in a Kubernetes release that is not supported here yet."),
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
