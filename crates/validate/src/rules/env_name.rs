use super::prelude::*;
use crate::names::is_env_name;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "env-name",
        meaning: "The name of an environment variable is empty, or contains `=` or a character that is not printable.",
        remedy: "Use printable ASCII characters without `=`.",
    },
    why: "The container runtime passes variables as `NAME=value`, so a name with `=` cannot be passed. The \
          API server rejects `=` and all characters that are not printable ASCII. Before Kubernetes 1.32 it also \
          rejects all but letters, digits, `-`, `_` and `.`, and names that begin with a digit.",
    documentation: "https://kubernetes.io/docs/tasks/inject-data-application/define-environment-variable-container/",
    example: container!("env: [{name: \"MODE=A\", value: prod}]"),
    fix: ("\"MODE=A\"", "MODE_A"),
    checks: &[(
        "EnvVar name",
        Check::RequiredString((is_env_name, "a name of printable ASCII characters without `=`")),
    )],
    ..ValidationRule::DEFAULT
};
