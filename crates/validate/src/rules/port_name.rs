use rustc_hash::FxHashSet;

use super::prelude::*;
use crate::names::is_port_name;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "port-name",
        meaning: "The name of a port is invalid or not unique in its container or Service.",
        remedy: "Use at most 15 lowercase letters, digits and `-`, with at least one letter, and use each name once.",
    },
    why: "Services, probes and NetworkPolicies refer to ports by these names, which follow the rules of IANA \
          service names. The limit of 15 characters is easy to exceed.",
    documentation: "https://kubernetes.io/docs/concepts/services-networking/service/#field-spec-ports",
    example: container!("ports: [{name: Web_Port, containerPort: 80}]"),
    fix: ("Web_Port", "web-port"),
    checks: &[
        (
            "ContainerPort name; HTTPGetAction port; NetworkPolicyPort port; ServiceBackendPort name; TCPSocketAction port",
            Check::OptionalString((is_port_name, WANTED)),
        ),
        ("ServicePort targetPort", Check::OptionalString((|text| text == "0" || is_port_name(text), WANTED))),
        (
            "Container",
            Check::Type(|subject, violations| {
                names(subject, "duplicate port name in this container", violations);
            }),
        ),
        ("ServiceSpec", Check::Type(|subject, violations| names(subject, "duplicate port name", violations))),
    ],
    ..ValidationRule::DEFAULT
};

const WANTED: &str = "an IANA service name (at most 15 lowercase letters, digits and `-`)";

fn names(subject: Subject<'_>, message: &str, violations: &mut RuleViolations) {
    let mut seen = FxHashSet::default();
    for (i, port) in subject.list("ports").iter().enumerate() {
        let name = text_of(port, "name");
        if !name.is_empty() && !seen.insert(name) {
            violations.report_path(subject, &[Field("ports"), Entry(i), Field("name")], message);
        }
    }
}
