use std::net::IpAddr;

use super::prelude::*;
use crate::names::{is_dns_subdomain, is_wildcard_subdomain};

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "ingress-host",
        meaning: "A host of an Ingress is not a DNS name.",
        remedy: "Use a lowercase host name such as `shop.example.com` or `*.example.com`, without scheme and port.",
    },
    why: "The API server rejects IP addresses, ports and capital letters in the host of a rule. The Ingress \
          controller compares the host with the `Host` header of requests.",
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
      - {path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {ports: [{port: 80}]}
",
    fix: ("Shop.example.com", "shop.example.com"),
    checks: &[
        (
            "IngressRule host",
            Check::OptionalString((|host| host.parse::<IpAddr>().is_err() && is_host(host), WANTED)),
        ),
        ("IngressTLS hosts", Check::StringList((is_host, WANTED))),
    ],
    ..ValidationRule::DEFAULT
};

const WANTED: &str = "a DNS name, or a wildcard DNS name such as `*.example.com`";

fn is_host(text: &str) -> bool {
    if text.starts_with('*') { is_wildcard_subdomain(text) } else { is_dns_subdomain(text) }
}
