use super::prelude::*;
use crate::quantity::Quantity;
use crate::rule::quoted;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "env-source",
        meaning: "An environment variable has no source, several sources, or an unsupported source.",
        remedy: "Use either `value` or one entry under `valueFrom`.",
    },
    why: "A strategic merge patch that sets `value` keeps the `valueFrom` of the base, so the variable has two \
          sources. `fieldRef` supports only some fields of a Pod.",
    documentation: "https://kubernetes.io/docs/tasks/inject-data-application/environment-variable-expose-pod-information/",
    example: container!(
        "env:
    - {name: NODE, value: none, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}"
    ),
    fix: ("value: none, valueFrom:", "valueFrom:"),
    cause: ViolationCause::Removal,
    may_be_partial: true,
    checks: &[
        ("EnvVar", Check::Type(variable)),
        ("EnvVarSource", Check::Type(source)),
        ("EnvFromSource", Check::Type(source_of_all)),
        ("ResourceFieldSelector", Check::Type(divisor)),
    ],
    ..ValidationRule::DEFAULT
};

fn variable(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.get("valueFrom").is_some() && !subject.text_or_empty("value").is_empty() {
        violations.report_field(subject, "valueFrom", "may not be set if `value` is not empty");
    }
}

/// The fields that `fieldRef` supports besides labels and annotations.
const FIELDS: &str = "metadata.name metadata.namespace metadata.uid spec.nodeName spec.serviceAccountName status.hostIP \
                      status.hostIPs status.podIP status.podIPs";

fn source(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.count(&["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"]) != 1
    {
        violations.report_value(subject, "must specify exactly one source");
    }
    let path = subject.get("fieldRef").map_or("", |field| text_of(field, "fieldPath"));
    let is_entry = path.starts_with("metadata.annotations['") || path.starts_with("metadata.labels['");
    if !path.is_empty() && !is_entry && !FIELDS.split(' ').any(|known| known == path) {
        let known: Vec<&str> = FIELDS.split(' ').collect();
        let message = format!(
            "`{path}` is not a field of the downward API: use {}, `metadata.labels['KEY']` or `metadata.annotations['KEY']`",
            quoted(&known)
        );
        violations.report_path(subject, &[Field("fieldRef"), Field("fieldPath")], message);
    }
}

fn source_of_all(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.count(&["configMapRef", "secretRef"]) != 1 {
        violations.report_value(subject, "must specify exactly one of `configMapRef` and `secretRef`");
    }
}

fn divisor(subject: Subject<'_>, violations: &mut RuleViolations) {
    let Some(divisor) = subject.get("divisor").and_then(Node::scalar_text).filter(|text| *text != "0") else {
        return;
    };
    let possible = match subject.text_or_empty("resource") {
        "limits.cpu" | "requests.cpu" => "1m, 1",
        "limits.memory" | "requests.memory" | "limits.ephemeral-storage" | "requests.ephemeral-storage" => {
            "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"
        }
        _ => return,
    };
    let amount = Quantity::parse(divisor);
    if !possible.split(", ").any(|text| Quantity::parse(text) == amount) {
        violations.report_field(subject, "divisor", format!("must be one of {possible}"));
    }
}
