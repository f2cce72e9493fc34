use super::prelude::*;
use crate::scalar::integer;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "port",
        meaning: "A port number is out of range.",
        remedy: "Use a number between 1 and 65535. For `nodePort` use the range of the cluster, by default 30000 to 32767.",
    },
    why: "One invalid port prevents the whole container, Service or NetworkPolicy from being created.",
    documentation: "https://kubernetes.io/docs/concepts/services-networking/service/#field-spec-ports",
    example: container!("ports: [{containerPort: 80800}]"),
    fix: ("80800", "8080"),
    checks: &[
    (
        "ContainerPort containerPort; GRPCAction port; HTTPGetAction port; NetworkPolicyPort port endPort;
        ServicePort port; ServiceReference port; TCPSocketAction port",
        Check::IntRange(1, 65535),
    ),
    (
        "ContainerPort hostPort; ServiceBackendPort number; ServicePort targetPort; ServiceSpec healthCheckNodePort",
        Check::IntRange(0, 65535),
    ),
    ("HTTPGetAction port; NetworkPolicyPort port; TCPSocketAction port", Check::AnyString((is_filled, "a port"))),
    ("EndpointSubset", Check::Type(endpoint_ports)),
    ("ServiceSpec", Check::Type(node_ports)),
    ],
    ..ValidationRule::DEFAULT
};

fn is_filled(text: &str) -> bool {
    !text.is_empty()
}

fn endpoint_ports(subject: Subject<'_>, violations: &mut RuleViolations) {
    for (i, port) in subject.list("ports").iter().enumerate() {
        let number = port.get("port").and_then(Node::resolve).and_then(integer);
        if number.is_some_and(|number| !(1..=65535).contains(&number)) {
            let path = [Field("ports"), Entry(i), Field("port")];
            violations.report_path(subject, &path, "must be a port between 1 and 65535");
        }
    }
}

fn node_ports(subject: Subject<'_>, violations: &mut RuleViolations) {
    for (i, port) in subject.list("ports").iter().enumerate() {
        let number =
            port.get("nodePort").and_then(Node::scalar_text).and_then(|text| text.parse::<i64>().ok());
        if number.is_some_and(|number| number != 0 && !(30000..=32767).contains(&number)) {
            let message = "is not in the default node port range 30000-32767";
            violations.report_path(subject, &[Field("ports"), Entry(i), Field("nodePort")], message);
        }
    }
}
