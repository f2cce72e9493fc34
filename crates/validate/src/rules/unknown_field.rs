use super::prelude::*;
use smp_text::diagnostic::Code;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "unknown-field",
        meaning: "The object has a field that its kind does not define.",
        remedy: "Correct the spelling of the field, or move it under the right parent field.",
    },
    shared_code: Some(Code::UnknownField),
    why: "With strict field validation, the default of kubectl, the API server rejects the object. Without it, the \
          server drops the field and the setting has no effect. Usually the name is misspelled or the field is \
          indented wrongly.",
    suppress: Some(
        "The cluster runs a newer Kubernetes release, or a newer CRD, than the schema of the build. Prefer to \
               update the schema.",
    ),
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
