use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "service-ports",
        meaning: "A Service has no ports, a port twice, or several ports without names.",
        remedy: "Add the missing port or name. Only headless Services and Services of type `ExternalName` may omit ports.",
    },
    why: "EndpointSlices and Ingresses distinguish the ports of a Service by name. A patch that appends a second \
          port to an unnamed first one causes this.",
    documentation: "https://kubernetes.io/docs/concepts/services-networking/service/#multi-port-services",
    example: "\
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  ports:
  - {port: 80}
  - {name: metrics, port: 9090}
",
    fix: ("port:", "name: http, port:"),
    cause: ViolationCause::Removal,
    may_be_partial: true,
    checks: &[("ServiceSpec", Check::Type(ports)), ("EndpointSubset; ServiceSpec", Check::Type(names))],
    ..ValidationRule::DEFAULT
};

fn ports(subject: Subject<'_>, violations: &mut RuleViolations) {
    let ports = subject.list("ports");
    let is_headless = subject.text("clusterIP") == Some("None");
    if ports.is_empty() && !is_headless && subject.text("type") != Some("ExternalName") {
        violations.report_field(subject, "ports", "at least one port is required");
    }
    let mut numbers = FxHashSet::default();
    for (i, port) in ports.iter().enumerate() {
        let text = |field| port.get(field).and_then(Node::scalar_text).map(SmolStr::as_str);
        let key = (text("port"), text("protocol").unwrap_or("TCP"));
        if key.0.is_some() && !numbers.insert(key) {
            violations.report_path(
                subject,
                &[Field("ports"), Entry(i), Field("port")],
                "duplicate port and protocol",
            );
        }
    }
}

fn names(subject: Subject<'_>, violations: &mut RuleViolations) {
    let ports = subject.list("ports");
    for (i, port) in ports.iter().enumerate().filter(|_| ports.len() > 1) {
        if port.get("name").and_then(Node::scalar_text).is_none_or(SmolStr::is_empty) {
            violations.report_path(
                subject,
                &[Field("ports"), Entry(i), Field("name")],
                "a name is required if there are several ports",
            );
        }
    }
}
