use std::net::IpAddr;

use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "cluster-ip",
        meaning: "`clusterIP` is no IP address, or does not fit the type of the Service.",
        remedy: "Use an IP address, or `None` for a headless Service; usually the field is left out.",
    },
    why: "Services of type `ExternalName` have no address, and headless Services have the type `ClusterIP`. `None` is written with a capital letter.",
    documentation: "https://kubernetes.io/docs/concepts/services-networking/service/#headless-services",
    example: "\
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  clusterIP: none
  ports: [{port: 80}]
",
    fix: ("none", "None"),
    checks: &[
        ("ServiceSpec clusterIP", Check::Text((is_address, "an IP address or `None`"))),
        ("ServiceSpec", Check::Type(address)),
    ],
    ..ValidationRule::DEFAULT
};

fn is_address(text: &str) -> bool {
    text == "None" || text.parse::<IpAddr>().is_ok()
}

fn address(of: Subject<'_>, faults: &mut Faults) {
    let own = of.text_or_empty("clusterIP");
    match of.text_or_empty("type") {
        "ExternalName" if !own.is_empty() => {
            faults.field(of, "clusterIP", "a service of type `ExternalName` has no address");
        }
        "NodePort" | "LoadBalancer" if own == "None" => {
            faults.field(of, "clusterIP", "a service without an address is of type `ClusterIP`");
        }
        _ => {}
    }
    let first = of.list("clusterIPs").first().and_then(Node::as_str);
    if first.is_some_and(|first| !own.is_empty() && first != own) {
        faults.field(of, "clusterIPs", "the first of them must be `clusterIP`");
    }
}
