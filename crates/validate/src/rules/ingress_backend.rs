use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "ingress-backend",
        meaning: "An Ingress has no backend, or a backend is incomplete.",
        remedy: "Add `rules` or a `defaultBackend`. Each backend needs either a `service` with the name or number \
          of a port, or a `resource`.",
    },
    why: "An Ingress needs a `defaultBackend` or at least one rule, even if a controller such as cert-manager or \
          external-dns is its only reader.",
    documentation: "https://kubernetes.io/docs/concepts/services-networking/ingress/#the-ingress-resource",
    example: "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  ingressClassName: external
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
",
    fix: ("external\n", "external\n  defaultBackend: {service: {name: web, port: {number: 80}}}\n"),
    may_be_partial: true,
    checks: &[
        ("IngressSpec", Check::Type(ingress)),
        ("IngressBackend", Check::Type(backend)),
        ("ServiceBackendPort", Check::Type(port)),
    ],
    ..ValidationRule::DEFAULT
};

fn ingress(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.list("rules").is_empty() && subject.get("defaultBackend").is_none() {
        violations.report_value(subject, "must have `defaultBackend` or `rules`");
    }
}

fn backend(subject: Subject<'_>, violations: &mut RuleViolations) {
    // The backend has the format of an older API version.
    if subject.map.contains_key("serviceName") {
        return;
    }
    if subject.count(&["service", "resource"]) != 1 {
        violations.report_value(subject, "must specify exactly one of `service` and `resource`");
    }
    let service = subject.get("service").filter(|service| service.get("port").is_none_or(Node::is_null));
    if let Some(service) = service {
        violations.report_at(
            &[Field("service"), Field("port")],
            service.span(),
            "`service.port` is required",
        );
    }
}

fn port(subject: Subject<'_>, violations: &mut RuleViolations) {
    let has_name = !subject.text_or_empty("name").is_empty();
    if has_name == (subject.int("number").unwrap_or(0) != 0) {
        violations.report_value(subject, "must specify exactly one of `name` and `number`");
    }
}
