use std::net::IpAddr;

use super::prelude::*;
use crate::names::{is_dns_subdomain, is_wildcard_subdomain};

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "host",
        meaning: "A host of an Ingress is not a DNS name.",
        remedy: "Use a lowercase host name such as `shop.example.com` or `*.example.com`, without scheme and port.",
    },
    why: "The host is compared with the `Host` header of requests. IP addresses are not allowed.",
    documentation: "https://kubernetes.io/docs/concepts/services-networking/ingress/#hostname-wildcards",
    example: "\
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web}
spec:
  rules:
  - host: Shop.example.com
    http:
      paths:
      - {path: /, pathType: Prefix, backend: {resource: {kind: Widget, name: web}}}
",
    fix: ("Shop.example.com", "shop.example.com"),
    checks: &[
        ("IngressRule host", Check::Text((|host| host.parse::<IpAddr>().is_err() && is_host(host), WANTED))),
        ("IngressTLS hosts", Check::Texts((is_host, WANTED))),
    ],
    ..ValidationRule::DEFAULT
};

const WANTED: &str = "the name of a host, or `*.` and one";

fn is_host(text: &str) -> bool {
    if text.starts_with('*') { is_wildcard_subdomain(text) } else { is_dns_subdomain(text) }
}
