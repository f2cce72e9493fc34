use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "host-port",
        meaning: "A host port is used twice, or differs from the container port under `hostNetwork`.",
        remedy: "Remove `hostPort`, or make it unique. With `hostNetwork`, it must equal `containerPort`.",
    },
    why: "Two containers of a Pod cannot listen on the same port of the node. With `hostNetwork: true` containers \
          listen on the node directly, so both fields must agree.",
    documentation: "https://kubernetes.io/docs/concepts/workloads/pods/#pod-networking",
    example: container!(
        "ports: [{containerPort: 80, hostPort: 8080}]
  hostNetwork: true"
    ),
    fix: ("8080", "80"),
    checks: &[("PodSpec", Check::Type(host_ports))],
    ..ValidationRule::DEFAULT
};

fn host_ports(subject: Subject<'_>, violations: &mut RuleViolations) {
    let is_host = subject.is_true("hostNetwork");
    let mut used = FxHashSet::default();
    for (i, container) in subject.list("containers").iter().enumerate() {
        let ports = container.get("ports").and_then(Node::as_list);
        for (k, port) in ports.into_iter().flatten().enumerate() {
            let number = |field| port.get(field).and_then(Node::scalar_text).map(SmolStr::as_str);
            let Some(host) = number("hostPort").filter(|number| *number != "0") else { continue };
            let path = [Field("containers"), Entry(i), Field("ports"), Entry(k), Field("hostPort")];
            if is_host && number("containerPort").is_some_and(|own| own != host) {
                violations.report_path(subject, &path, "must match `containerPort` if `hostNetwork` is true");
            }
            let protocol = port.get("protocol").and_then(Node::as_str).unwrap_or("TCP");
            if !used.insert((host, protocol, text_of(port, "hostIP"))) {
                violations.report_path(subject, &path, "duplicate host port");
            }
        }
    }
}
