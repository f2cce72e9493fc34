//! Columns of roles, certificates, admission and API services.

use serde_json::Value;

use super::age;
use super::column::{
    AGE, Cell, Column, Kinds, NAME, NONE, UNSET, condition, entries, integer, joined, string, text_column,
};
use crate::state::text;

pub(super) const KINDS: Kinds = &[
    ("APIService", SERVICE),
    ("CertificateSigningRequest", CERTIFICATE),
    ("ClusterRoleBinding", BINDING),
    ("MutatingAdmissionPolicy", MUTATING_POLICY),
    ("MutatingAdmissionPolicyBinding", POLICY_BINDING),
    ("MutatingWebhookConfiguration", WEBHOOKS),
    ("RoleBinding", BINDING),
    ("ValidatingAdmissionPolicy", VALIDATING_POLICY),
    ("ValidatingAdmissionPolicyBinding", POLICY_BINDING),
    ("ValidatingWebhookConfiguration", WEBHOOKS),
];

const BINDING: &[Column] = &[
    NAME,
    text_column(
        "Role",
        Cell::Show(|binding| {
            format!("{}/{}", text(binding, "/roleRef/kind"), text(binding, "/roleRef/name"))
        }),
    ),
    AGE,
    text_column("Users", Cell::Show(|binding| subjects(binding, "User"))).wide(),
    text_column("Groups", Cell::Show(|binding| subjects(binding, "Group"))).wide(),
    text_column("ServiceAccounts", Cell::Show(|binding| subjects(binding, "ServiceAccount"))).wide(),
];

const CERTIFICATE: &[Column] = &[
    NAME,
    AGE,
    text_column("SignerName", Cell::Text("/spec/signerName", NONE)),
    text_column("Requestor", Cell::Text("/spec/username", "")),
    text_column(
        "RequestedDuration",
        Cell::Show(|request| {
            request["spec"]["expirationSeconds"].as_i64().map_or_else(|| NONE.into(), age::duration)
        }),
    ),
    text_column("Condition", Cell::Show(certificate_state)),
];

const WEBHOOKS: &[Column] = &[NAME, integer("Webhooks", Cell::Size("/webhooks")), AGE];

const VALIDATING_POLICY: &[Column] = &[
    NAME,
    integer("Validations", Cell::Size("/spec/validations")),
    text_column("ParamKind", Cell::Show(parameter_kind)),
    AGE,
];

const MUTATING_POLICY: &[Column] = &[
    NAME,
    integer("Mutations", Cell::Size("/spec/mutations")),
    text_column("ParamKind", Cell::Show(parameter_kind)),
    AGE,
];

const POLICY_BINDING: &[Column] = &[
    NAME,
    text_column("PolicyName", Cell::Text("/spec/policyName", "")),
    text_column("ParamRef", Cell::Show(parameters)),
    AGE,
];

const SERVICE: &[Column] = &[
    NAME,
    text_column("Service", Cell::Show(service)),
    text_column("Available", Cell::Show(availability)),
    AGE,
];

fn subjects(binding: &Value, kind: &str) -> String {
    let name = |subject: &Value| match kind {
        "ServiceAccount" => format!("{}/{}", string(subject, "namespace"), string(subject, "name")),
        _ => string(subject, "name").to_string(),
    };
    joined(entries(binding, "/subjects").filter(|subject| subject["kind"] == kind).map(name), ", ")
}

fn certificate_state(request: &Value) -> String {
    let has = |kind: &str| condition(request, kind).is_some();
    let mut state = String::from(if has("Denied") {
        "Denied"
    } else if has("Approved") {
        "Approved"
    } else {
        "Pending"
    });
    if has("Failed") {
        state.push_str(",Failed");
    }
    if !text(request, "/status/certificate").is_empty() {
        state.push_str(",Issued");
    }
    state
}

fn parameter_kind(policy: &Value) -> String {
    let kind = &policy["spec"]["paramKind"];
    if kind.is_null() {
        UNSET.into()
    } else {
        format!("{}/{}", string(kind, "apiVersion"), string(kind, "kind"))
    }
}

fn parameters(binding: &Value) -> String {
    let reference = &binding["spec"]["paramRef"];
    match (string(reference, "name"), string(reference, "namespace")) {
        ("", _) if reference["selector"].is_object() => go_selector(&reference["selector"]),
        ("", _) => UNSET.into(),
        (name, "") => format!("*/{name}"),
        (name, namespace) => format!("{namespace}/{name}"),
    }
}

/// Returns a selector in the format in which Go prints the struct.
fn go_selector(selector: &Value) -> String {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let labels = labels.map(|(key, value)| format!("{key}: {},", value.as_str().unwrap_or_default()));
    let expression = |one: &Value| {
        let values = joined(entries(one, "/values").filter_map(Value::as_str), " ");
        let (key, operator) = (string(one, "key"), string(one, "operator"));
        format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},")
    };
    let expressions = joined(entries(selector, "/matchExpressions").map(expression), "");
    let labels = joined(labels, "");
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
}

fn service(service: &Value) -> String {
    let backend = &service["spec"]["service"];
    if backend.is_null() {
        "Local".into()
    } else {
        format!("{}/{}", string(backend, "namespace"), string(backend, "name"))
    }
}

fn availability(service: &Value) -> String {
    let Some(available) = condition(service, "Available") else { return "Unknown".into() };
    let (status, reason) = (string(available, "status"), string(available, "reason"));
    if status == "True" || reason.is_empty() { status.into() } else { format!("{status} ({reason})") }
}
