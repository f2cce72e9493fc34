use super::prelude::*;
use crate::names::is_dns_subdomain;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "service-type",
        meaning: "A Service has fields that its type does not allow.",
        remedy: "Change `type`, or remove the field.",
    },
    why: "`nodePort` requires type `NodePort` or `LoadBalancer`, and `externalName` type `ExternalName`. A patch \
          that changes only `type` leaves the fields of the old type behind.",
    documentation: "https://kubernetes.io/docs/concepts/services-networking/service/#publishing-services-service-types",
    example: "\
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  type: ClusterIP
  ports: [{port: 80, nodePort: 30080}]
",
    fix: ("ClusterIP", "NodePort"),
    checks: &[("ServiceSpec", Check::Type(node_ports)), ("ServiceSpec", Check::Type(fields))],
    ..ValidationRule::DEFAULT
};

/// Returns true if Services of a type have no node ports.
fn is_plain(name: &str) -> bool {
    matches!(name, "" | "ClusterIP" | "ExternalName")
}

fn node_ports(subject: Subject<'_>, violations: &mut RuleViolations) {
    for (i, port) in
        subject.list("ports").iter().enumerate().filter(|_| is_plain(subject.text_or_empty("type")))
    {
        if port.get("nodePort").and_then(Node::scalar_text).is_some_and(|port| port != "0") {
            let message = "may only be used if `type` is `NodePort` or `LoadBalancer`";
            violations.report_path(subject, &[Field("ports"), Entry(i), Field("nodePort")], message);
        }
    }
}

fn fields(subject: Subject<'_>, violations: &mut RuleViolations) {
    let name = subject.text_or_empty("type");
    let target = subject.text_or_empty("externalName");
    if name == "ExternalName" && !is_dns_subdomain(target.trim_end_matches('.')) {
        let message = "is required if `type` is `ExternalName`, and must be a DNS name";
        violations.report_field(subject, "externalName", message);
    }
    let balanced = ["loadBalancerClass", "loadBalancerSourceRanges"];
    for field in balanced.into_iter().filter(|field| name != "LoadBalancer" && has_content(subject, field)) {
        violations.report_field(subject, field, "may only be used if `type` is `LoadBalancer`".to_string());
    }
    let is_external = has_content(subject, "externalTrafficPolicy") && subject.list("externalIPs").is_empty();
    if is_plain(name) && is_external {
        let message =
            "may only be set if `type` is `NodePort` or `LoadBalancer`, or if there are `externalIPs`";
        violations.report_field(subject, "externalTrafficPolicy", message);
    }
}

fn has_content(subject: Subject<'_>, field: &str) -> bool {
    subject.get(field).is_some_and(|value| {
        value.as_str() != Some("") && value.as_list().is_none_or(|list| !list.is_empty())
    })
}
