use super::prelude::*;
use smp_text::diagnostic::Code;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText { name: "wrong-type", meaning: "A value has another type than the field.", remedy: "" },
    shared_code: Some(Code::WrongType),
    why: "YAML reads unquoted numbers, booleans and dates as such, and a server does not convert them: `retries: 3` is no string.",
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
