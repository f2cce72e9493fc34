use super::prelude::*;
use smp_text::diagnostic::Code;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "wrong-type",
        meaning: "A value does not have the type of its field.",
        remedy: "Quote numbers and booleans that are meant as strings. Remove the quotes from values that are meant as numbers or booleans.",
    },
    shared_code: Some(Code::WrongType),
    why: "YAML parses unquoted numbers and booleans as such, and the API server does not convert them. For example, \
          `retries: 3` in a ConfigMap is not a string.",
    documentation: "https://kubernetes.io/docs/concepts/configuration/configmap/#configmap-object",
    example: "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {retries: 3}
",
    fix: ("3", "\"3\""),
    ..ValidationRule::DEFAULT
};
