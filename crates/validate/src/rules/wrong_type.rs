use super::prelude::*;
use smp_text::diagnostic::Code;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "wrong-type",
        meaning: "A value does not have the type of its field.",
        remedy: "",
    },
    shared_code: Some(Code::WrongType),
    why: "YAML parses unquoted numbers, booleans and dates as such, and the API server does not convert them. For \
          example, `retries: 3` in a ConfigMap is not a string.",
    suppress: "A value is replaced by a tool before it reaches the API server.",
    documentation: "https://kubernetes.io/docs/concepts/overview/working-with-objects/",
    example: "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {retries: 3}
",
    fix: ("3", "\"3\""),
    ..ValidationRule::DEFAULT
};
