use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "secret-type",
        meaning: "A Secret has no value for a key that its type requires, or the value has the wrong format.",
        remedy: "Add the key, or change the type to `Opaque`.",
    },
    why: "Ingress controllers, the kubelet and other consumers look up fixed keys: `tls.crt` and `tls.key`, \
          `.dockerconfigjson`, `username`. Registry credentials must be JSON.",
    documentation: "https://kubernetes.io/docs/concepts/configuration/secret/#secret-types",
    example: "\
apiVersion: v1
kind: Secret
metadata: {name: web}
type: kubernetes.io/basic-auth
stringData: {user: jo}
",
    fix: ("user:", "username:"),
    cause: ViolationCause::Removal,
    may_be_partial: true,
    checks: &[("Secret", Check::Type(keys)), ("Secret", Check::Type(logins))],
    ..ValidationRule::DEFAULT
};

/// The annotation with the name of a token's service account.
const ACCOUNT: &str = "kubernetes.io/service-account.name";

fn keys(subject: Subject<'_>, violations: &mut RuleViolations) {
    let has = |key: &str| subject.map("data").chain(subject.map("stringData")).any(|(own, _)| own == key);
    let needed: &[&str] = match subject.text_or_empty("type") {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            let message = "key `username` or `password` is required for this type of Secret";
            return violations.report_field(subject, "type", message);
        }
        "kubernetes.io/service-account-token" => return account(subject, violations),
        _ => return,
    };
    for key in needed.iter().filter(|key| !has(key)) {
        let message = format!("key `{key}` is required for this type of Secret");
        violations.report_at(&[Field("data"), Field(key)], subject.location("type"), message);
    }
}

fn account(subject: Subject<'_>, violations: &mut RuleViolations) {
    let account = subject.node.get_path(&["metadata", "annotations", ACCOUNT]);
    if account.is_none_or(|account| account.is_null() || account.as_str() == Some("")) {
        let path = [Field("metadata"), Field("annotations"), Field(ACCOUNT)];
        let message = format!("annotation `{ACCOUNT}` is required for this type of Secret");
        violations.report_at(&path, subject.location("type"), message);
    }
}

/// Checks that registry credentials are a JSON object.
fn logins(subject: Subject<'_>, violations: &mut RuleViolations) {
    let key = match subject.text_or_empty("type") {
        "kubernetes.io/dockerconfigjson" => ".dockerconfigjson",
        "kubernetes.io/dockercfg" => ".dockercfg",
        _ => return,
    };
    // Go decodes null as an empty object.
    let is_object = |text: &[u8]| serde_json::from_slice::<Option<serde_json::Map<_, _>>>(text).is_ok();
    let value = |field: &str| subject.get(field)?.get(key);
    // `stringData` overrides `data`.
    let (field, is_valid) = if let Some(value) = value("stringData") {
        ("stringData", value.as_str().is_none_or(|text| is_object(text.as_bytes())))
    } else {
        // Invalid base64 is reported by `format`.
        let decoded = value("data").and_then(Node::as_str).and_then(decoded);
        ("data", decoded.is_none_or(|text| is_object(&text)))
    };
    if !is_valid {
        violations.report_path(
            subject,
            &[Field(field), Field(key)],
            format!("`{key}` must be a JSON object"),
        );
    }
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let text: String = text.chars().filter(|c| !matches!(c, '\n' | '\r')).collect();
    STANDARD.decode(text).ok()
}
