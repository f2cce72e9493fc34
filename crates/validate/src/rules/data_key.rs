use super::prelude::*;
use crate::names::is_data_key;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "data-key",
        meaning: "A key of a ConfigMap or Secret is invalid, or is in both `data` and `binaryData`.",
        remedy: "Use letters, digits, `-`, `_` and `.`, and each key once.",
    },
    why: "Keys become names of files when the object is mounted.",
    documentation: "https://kubernetes.io/docs/concepts/configuration/configmap/#configmap-object",
    example: "\
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {conf/mode: \"yes\"}
",
    fix: ("conf/mode:", "conf.mode:"),
    checks: &[
        (
            "ConfigMapKeySelector key; SecretKeySelector key",
            Check::FilledText((is_data_key, "a key of letters, digits, `-`, `_` and `.`")),
        ),
        ("ConfigMap data binaryData; Secret data stringData", Check::Field(keys)),
        ("ConfigMap", Check::Type(duplicates)),
    ],
    ..ValidationRule::DEFAULT
};

fn keys(of: Subject<'_>, field: &str, faults: &mut Faults) {
    for key in of.entries(field).iter().map(|entry| &entry.key).filter(|key| !is_data_key(&key.text)) {
        let message = "a key has letters, digits, `-`, `_` and `.`";
        faults.below(&[Field(field), Field(&key.text)], key.meta.span, message);
    }
}

fn duplicates(of: Subject<'_>, faults: &mut Faults) {
    let texts = of.get("data").and_then(Node::as_map);
    for key in of.entries("binaryData").iter().map(|entry| &entry.key) {
        if texts.is_some_and(|texts| texts.contains_key(&key.text)) {
            let path = [Field("binaryData"), Field(&key.text)];
            faults.below(&path, key.meta.span, "this key is in `data`, too");
        }
    }
}
