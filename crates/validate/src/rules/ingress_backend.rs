use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "ingress-backend",
        meaning: "An Ingress has no backend, or a backend is incomplete.",
        remedy: "Give each path a `service` with a port, or a `resource`.",
    },
    why: "The Ingress controller needs a Service and one port of it, by name or number.",
    documentation: "https://kubernetes.io/docs/concepts/services-networking/ingress/#the-ingress-resource",
    example: "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  ingressClassName: external
",
    fix: ("external\n", "external\n  defaultBackend: {resource: {kind: Widget, name: web}}\n"),
    may_be_partial: true,
    checks: &[
        ("IngressSpec", Check::Type(ingress)),
        ("IngressBackend", Check::Type(backend)),
        ("ServiceBackendPort", Check::Type(port)),
    ],
    ..ValidationRule::DEFAULT
};

fn ingress(of: Subject<'_>, faults: &mut Faults) {
    if of.list("rules").is_empty() && of.get("defaultBackend").is_none() {
        faults.value(of, "an ingress needs `rules` or a `defaultBackend`");
    }
}

fn backend(of: Subject<'_>, faults: &mut Faults) {
    // That of an older version.
    if of.map.contains_key("serviceName") {
        return;
    }
    if of.count(&["service", "resource"]) != 1 {
        faults.value(of, "a backend is a `service` or a `resource`");
    }
    let service = of.get("service").filter(|service| service.get("port").is_none_or(Node::is_null));
    if let Some(service) = service {
        faults.below(
            &[Field("service"), Field("port")],
            service.span(),
            "the port of the service is missing",
        );
    }
}

fn port(of: Subject<'_>, faults: &mut Faults) {
    let has_name = !of.text_or_empty("name").is_empty();
    if has_name == (of.int("number").unwrap_or(0) != 0) {
        faults.value(of, "the port of a service has a `name` or a `number`");
    }
}
