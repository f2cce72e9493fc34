use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "removed-api",
        meaning: "The API version was removed from Kubernetes.",
        remedy: "Migrate to the version in the help, and adapt the fields that changed with it.",
    },
    why: "A server of the release that removed the version, or of a later one, answers `no matches for kind`, and the \
          deployment fails. `--kubernetes-version` selects the release to check; the default is the newest known one.",
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
