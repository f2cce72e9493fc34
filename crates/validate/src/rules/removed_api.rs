use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "removed-api",
        meaning: "The Kubernetes release no longer serves the API version.",
        remedy: "Use the version that the help names, and adapt the fields that changed with it.",
    },
    why: "A server of that release answers that it does not know the kind. `--kubernetes` selects the release; without it the newest known one counts.",
    documentation: "https://kubernetes.io/docs/reference/using-api/deprecation-guide/",
    example: "\
apiVersion: policy/v1beta1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1}
",
    fix: ("policy/v1beta1", "policy/v1"),
    ..ValidationRule::DEFAULT
};
