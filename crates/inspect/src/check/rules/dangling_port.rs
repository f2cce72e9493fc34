//! Rule: a port name or number does not exist in the container, Pods or Service.

use crate::check::objects::{FoundObject, namespace_of};
use crate::check::reference::{ObjectReference, PodContainer, entries, pod_containers, pod_template, shown};
use crate::check::rule::{Finder, Rule, RuleDefault, RuleGroup, RuleScope};
use crate::check::target::CheckedTarget;
use crate::check::workloads::{WorkloadLabels, Workloads};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::yaml::{Map, Node, nearest_name};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "dangling-port",
        meaning: "A probe, Service or Ingress refers to a port that its container, Pods or Service do not have.",
        remedy: "Correct the port, or add it to the `ports` of the container or Service.",
    }),
    title: "Reference to a missing port",
    group: RuleGroup::DanglingReference,
    severity: Severity::Warning,
    default: RuleDefault::Enabled,
    scope: RuleScope::BuildableOverlays,
    why: "A probe with an unknown port name fails, so the container is restarted or never becomes ready. A Service \
          whose named `targetPort` matches no container port has no endpoints, and an Ingress with an unknown Service \
          port returns errors. Probes and lifecycle handlers are checked against their own container, `targetPort` \
          against the selected Pods, and Ingress backends against their Service. A Service is reported only if none \
          of the selected workloads has the port. Only Pods and built-in workload kinds are checked. A workload \
          with an annotation or label about injection, such as `sidecar.istio.io/inject`, is not.",
    suppress: Some("A container that is injected in the cluster, such as a sidecar, has the port."),
    documentation: "https://kubernetes.io/docs/concepts/services-networking/service/",
    bad: &[("kustomization.yaml", "resources: [pod.yaml]\n"), ("pod.yaml", BAD)],
    good: &[("kustomization.yaml", "resources: [pod.yaml]\n"), ("pod.yaml", GOOD)],
    finder: Finder::Target(find),
};

const BAD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    image: nginx\n    \
                   ports: [{name: http, containerPort: 80}]\n    readinessProbe: {httpGet: {path: /, port: htpp}}\n";
const GOOD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    image: nginx\n    \
                    ports: [{name: http, containerPort: 80}]\n    readinessProbe: {httpGet: {path: /, port: http}}\n";

/// The kinds whose Pods have exactly the containers of the template. For other kinds, an operator may add containers.
const KINDS: [&str; 8] = [
    "CronJob",
    "DaemonSet",
    "Deployment",
    "Job",
    "Pod",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
];

/// Names of ports that service meshes add to all Pods of a namespace.
const INJECTED: [&str; 3] = ["http-envoy-prom", "linkerd-admin", "linkerd-proxy"];

/// The port name in an Ingress for AWS load balancers that refers to an action in an annotation.
const BY_ANNOTATION: &str = "use-annotation";

fn find(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let workloads = Workloads::new(target.resources());
    let mut found = Vec::new();
    for resource in target.resources() {
        if is_known(resource) {
            found.extend(pod_containers(resource).iter().flat_map(|one| handlers(one, resource)));
        }
        found.extend(targets(resource, &workloads));
    }
    found.extend(target.names().references.iter().filter_map(|reference| backend(reference, target)));
    found
}

/// Returns true if the Pods of a workload have no containers besides those in its template.
fn is_known(resource: &Resource) -> bool {
    let group = resource.id().gvk.group.as_str();
    KINDS.contains(&resource.id().gvk.kind.as_str()) && matches!(group, "" | "apps" | "batch" | "extensions")
}

/// Returns true if an annotation or label may inject containers into the Pods of a workload.
fn is_injected((labels, workload): WorkloadLabels<'_>) -> bool {
    let annotations = pod_template(workload).and_then(|template| template.annotations);
    let maps = [labels, annotations].into_iter().flatten().filter_map(Node::as_map);
    maps.flat_map(Map::iter).any(|(key, _)| key.contains("inject"))
}

/// Returns the name of a port, or `None` for a number.
fn port_name(port: &Node) -> Option<&str> {
    port.as_str().filter(|name| is_finished(name) && name.bytes().any(|byte| byte.is_ascii_alphabetic()))
}

/// Returns true if a port or name contains no placeholder such as `${PORT}`.
fn is_finished(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Returns the port names of containers.
fn names<'n>(containers: &[PodContainer<'n>]) -> Vec<&'n str> {
    let ports = containers.iter().flat_map(|container| entries(container.node.get("ports")));
    ports.filter_map(|(_, port)| port.get("name")?.as_str()).collect()
}

/// Returns true if a port is known, or a known placeholder may be replaced by it.
fn is_there(expected: &str, known: &[&str]) -> bool {
    known.iter().any(|name| *name == expected || !is_finished(name))
}

/// Checks the ports of the probes and lifecycle handlers of a container.
fn handlers(container: &PodContainer<'_>, resource: &Resource) -> Vec<Diagnostic> {
    const HANDLERS: [&[&str]; 5] = [
        &["livenessProbe"],
        &["readinessProbe"],
        &["startupProbe"],
        &["lifecycle", "postStart"],
        &["lifecycle", "preStop"],
    ];
    let paths = HANDLERS
        .iter()
        .flat_map(|handler| ["httpGet", "tcpSocket"].map(|action| [handler, &[action, "port"][..]].concat()));
    let findings = paths.filter_map(|path| {
        let port = container.node.get_path(&path)?;
        let (expected, known) = (port_name(port)?, names(std::slice::from_ref(container)));
        let name = container.node.get("name").and_then(Node::as_str).unwrap_or_default();
        let message = format!("container `{name}` has no port `{expected}`");
        let field = format!("{}.{}", container.field, path.join("."));
        (!is_there(expected, &known))
            .then(|| finding(message, port, &known).resource(resource.id()).field(field))
    });
    findings.collect()
}

/// Checks the target ports of a Service against the Pods that it selects.
fn targets(service: &Resource, workloads: &Workloads<'_>) -> Vec<Diagnostic> {
    if !is_service(service) {
        return Vec::new();
    }
    let selector = service.node().get_path(&["spec", "selector"]).and_then(Node::as_map);
    let expected: Vec<_> = selector.into_iter().flat_map(Map::iter).collect();
    let selected = workloads.select(namespace_of(service.id()), &expected);
    let Some((_, first)) = selected.first() else { return Vec::new() };
    if selected.iter().any(|one| !is_known(one.1) || is_injected(*one)) {
        return Vec::new();
    }
    let known: Vec<&str> =
        selected.iter().flat_map(|(_, workload)| names(&pod_containers(workload))).collect();
    let findings = entries(service.node().get_path(&["spec", "ports"])).filter_map(|(i, port)| {
        let target = port.get("targetPort")?;
        let expected =
            port_name(target).filter(|name| !is_there(name, &known) && !INJECTED.contains(name))?;
        let message = format!("no container of the selected Pods has a port `{expected}`");
        let found = finding(message, target, &known).resource(service.id());
        let found = found.field(format!("spec.ports[{}].targetPort", shown(i, port)));
        Some(found.label(first.node().span().at_start(), format!("{} has the selected Pods", first.id())))
    });
    findings.collect()
}

fn is_service(resource: &Resource) -> bool {
    resource.id().gvk.kind == "Service" && resource.id().gvk.group.is_empty()
}

/// Checks the port of an Ingress backend against its Service.
fn backend(reference: &ObjectReference<'_>, target: &CheckedTarget<'_>) -> Option<Diagnostic> {
    let (port, field) = reference.port.as_ref()?;
    let objects = &target.names().objects;
    let found = objects.find(&reference.kind, &reference.namespace, reference.text());
    let FoundObject::Built(service) = found else { return None };
    // The ports of an ExternalName Service are those of another host.
    let kind = service.node().get_path(&["spec", "type"]).and_then(Node::as_str);
    let is_elsewhere = !is_service(service) || kind == Some("ExternalName");
    let ports: Vec<&Node> =
        entries(service.node().get_path(&["spec", "ports"])).map(|(_, port)| port).collect();
    let expected =
        port.scalar_text().filter(|expected| *expected != BY_ANNOTATION && is_finished(expected))?;
    // Controllers also accept the port of the Pods, although the API does not document this.
    let has = |one: &&Node| {
        let mut own = ["name", "port", "targetPort"].into_iter().filter_map(|field| one.get(field));
        own.any(|own| own.scalar_text().is_some_and(|own| is_there(expected, &[own])))
    };
    if is_elsewhere || ports.is_empty() || ports.iter().any(has) {
        return None;
    }
    let known: Vec<&str> = ports.iter().filter_map(|port| port.get("name")?.as_str()).collect();
    let message = format!("Service `{}` has no port `{expected}`", reference.text());
    let found = finding(message, port, &known).resource(reference.from.id()).field(field);
    Some(found.label(service.node().span().at_start(), "defined here"))
}

/// Creates a finding for a port. It suggests a known name that is similar.
fn finding(message: String, port: &Node, known: &[&str]) -> Diagnostic {
    let found = Diagnostic::warning(RULE.code, message).at(port.span());
    match port_name(port).and_then(|expected| nearest_name(expected, known)) {
        Some(near) => found.help(format!("did you mean `{near}`?")),
        None => found,
    }
}
