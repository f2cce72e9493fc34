use super::prelude::*;
use smp_text::diagnostic::Code;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "unknown-field",
        meaning: "The object has a field that its kind does not define.",
        remedy: "",
    },
    shared_code: Some(Code::UnknownField),
    why: "Under strict field validation the API server rejects the object; otherwise it drops the field without an error, so the setting has no effect.",
    documentation: "https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation",
    example: "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  lables: {app: web}
data: {mode: prod}
",
    fix: ("lables", "labels"),
    ..ValidationRule::DEFAULT
};
