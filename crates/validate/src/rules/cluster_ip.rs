use std::net::IpAddr;

use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "cluster-ip",
        meaning: "`clusterIP` is not an IP address, or does not match the type of the Service.",
        remedy: "Remove the field, or use an IP address. Use `None` for a headless Service.",
    },
    why: "Services of type `ExternalName` have no cluster IP, and only Services of type `ClusterIP` can be \
          headless. The value `None` is case-sensitive.",
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
        ("ServiceSpec clusterIP", Check::OptionalString((is_address, "an IP address or `None`"))),
        ("ServiceSpec", Check::Type(address)),
    ],
    ..ValidationRule::DEFAULT
};

fn is_address(text: &str) -> bool {
    text == "None" || text.parse::<IpAddr>().is_ok()
}

fn address(subject: Subject<'_>, violations: &mut RuleViolations) {
    let own = subject.text_or_empty("clusterIP");
    match subject.text_or_empty("type") {
        "ExternalName" if !own.is_empty() => {
            violations.report_field(
                subject,
                "clusterIP",
                "may not be set for Services of type `ExternalName`",
            );
        }
        "NodePort" | "LoadBalancer" if own == "None" => {
            violations.report_field(
                subject,
                "clusterIP",
                "may be `None` only for Services of type `ClusterIP`",
            );
        }
        _ => {}
    }
    let first = subject.list("clusterIPs").first().and_then(Node::as_str);
    if first.is_some_and(|first| !own.is_empty() && first != own) {
        violations.report_field(subject, "clusterIPs", "the first entry must equal `clusterIP`");
    }
}
