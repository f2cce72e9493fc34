use super::prelude::*;
use smp_text::diagnostic::Code;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "duplicate-merge-key",
        meaning: "Two entries of a list have the same merge key, or a set contains a value twice.",
        remedy: "Remove one of the two entries, or change its merge key. In a patch, check that the merge keys are \
          those of the entry that it should change.",
    },
    shared_code: Some(Code::DuplicateMergeKey),
    why: "The API server rejects duplicates in most of these lists. It accepts them in others, such as `env`, where \
          the last entry is used and server-side apply fails; such duplicates are reported as warnings.",
    suppress: Some("The duplicate is in `env`, is intended, and the object is never applied server-side."),
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
