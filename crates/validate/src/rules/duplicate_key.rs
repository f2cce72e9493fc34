use super::prelude::*;
use smp_text::diagnostic::Code;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "duplicate-key",
        meaning: "Two entries of a list have the same key, or a set contains a value twice.",
        remedy: "",
    },
    shared_code: Some(Code::DuplicateKey),
    why: "The API server rejects duplicates in most of these lists. In the others, such as `env`, server-side apply rejects them, which is a warning here.",
    documentation: "https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy",
    example: container!(
        "volumeMounts:
    - {name: data, mountPath: /data}
  volumes:
  - {name: data, emptyDir: {}}
  - {name: data, emptyDir: {}}"
    ),
    fix: ("}\n  - {name: data, emptyDir: {}}\n", "}\n"),
    ..ValidationRule::DEFAULT
};
