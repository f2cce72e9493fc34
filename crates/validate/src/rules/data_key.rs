use super::prelude::*;
use crate::names::is_data_key;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "data-key",
        meaning: "A key of a ConfigMap or Secret is invalid, or is in both `data` and `binaryData`.",
        remedy: "Use at most 253 letters, digits, `-`, `_` and `.`, but not `.` or a key that begins with `..`. Use each key in one of the two fields only.",
    },
    why: "Keys become file names when the object is mounted.",
    documentation: "https://kubernetes.io/docs/concepts/configuration/configmap/#configmap-object",
    example: "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {conf/mode: \"yes\"}
",
    fix: ("conf/mode:", "conf.mode:"),
    checks: &[
        ("ConfigMapKeySelector key; SecretKeySelector key", Check::RequiredString((is_data_key, KEY))),
        ("ConfigMap data binaryData; Secret data stringData", Check::Field(keys)),
        ("ConfigMap", Check::Type(duplicates)),
    ],
    ..ValidationRule::DEFAULT
};

/// The required format of keys.
const KEY: &str =
    "a name of at most 253 letters, digits, `-`, `_` and `.`, other than `.`, that does not begin with `..`";

fn keys(subject: Subject<'_>, field: &str, violations: &mut RuleViolations) {
    for key in subject.entries(field).iter().map(|entry| &entry.key).filter(|key| !is_data_key(&key.text)) {
        let path = [Field(field), Field(&key.text)];
        violations.report_at(&path, key.meta.span, format!("the key must be {KEY}"));
    }
}

fn duplicates(subject: Subject<'_>, violations: &mut RuleViolations) {
    let texts = subject.get("data").and_then(Node::as_map);
    for key in subject.entries("binaryData").iter().map(|entry| &entry.key) {
        if texts.is_some_and(|texts| texts.contains_key(&key.text)) {
            let path = [Field("binaryData"), Field(&key.text)];
            violations.report_at(&path, key.meta.span, "duplicate of a key in `data`");
        }
    }
}
