use super::prelude::*;
use crate::formats::is_time;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "value-format",
        meaning: "A string does not have the required format: a time, a duration, base64 or an IP address.",
        remedy: "Use the format that the message names.",
    },
    why: "The API server cannot decode such a value and rejects the whole object. A frequent mistake is plain text \
          under `data` of a Secret, which must be base64; plain text belongs under `stringData`.",
    suppress: Some("The value is encrypted, for example with SOPS, and is decrypted before it is applied."),
    documentation: "https://kubernetes.io/docs/concepts/configuration/secret/#restriction-names-data",
    example: "\
apiVersion: v1
kind: Secret
metadata: {name: web}
data: {password: \"secret!\"}
",
    fix: ("\"secret!\"", "c2VjcmV0"),
    checks: &[(
        "ObjectMeta creationTimestamp",
        Check::OptionalString((is_time, "a time such as `2024-05-01T10:20:30Z`")),
    )],
    ..ValidationRule::DEFAULT
};
