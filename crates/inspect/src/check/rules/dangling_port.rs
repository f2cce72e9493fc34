//! A port that what is meant does not have.

use crate::check::objects::{FoundObject, namespace_of};
use crate::check::reference::{ObjectReference, PodContainer, entries, pod_containers, pod_template, shown};
use crate::check::rule::{Finder, Rule, RuleGroup, RuleReach, RuleStanding};
use crate::check::target::CheckedTarget;
use crate::check::workloads::{WorkloadLabels, Workloads};
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::yaml::{Map, Node, nearest};

pub(in crate::check) static RULE: Rule = Rule {
    code: Code::Rule(&RuleText {
        name: "dangling-port",
        meaning: "A port that the container, the Pods or the Service which are meant do not have.",
        remedy: "Correct the port, or add it where it is missing.",
    }),
    name: "Port that is not there",
    group: RuleGroup::PointsNowhere,
    severity: Severity::Warning,
    standing: RuleStanding::On,
    reach: RuleReach::BuiltUsers,
    why: "Names of ports are looked up in `ports`: those of probes and lifecycle handlers in their own container, `targetPort` \
          of a Service in the containers of the Pods that it selects, `port` of an Ingress in the Service. A probe whose port \
          is not there fails, a Service has no endpoints for it, and an Ingress leads nowhere. Looked at is what is in the \
          build: Pods and workloads of Kubernetes' own kinds, into which nothing injects containers. Of a Service one \
          workload that has the port is enough.",
    bad: &[("kustomization.yaml", "resources: [pod.yaml]\n"), ("pod.yaml", BAD)],
    good: &[("kustomization.yaml", "resources: [pod.yaml]\n"), ("pod.yaml", GOOD)],
    finder: Finder::Target(find),
};

const BAD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    image: nginx\n    \
                   ports: [{name: http, containerPort: 80}]\n    readinessProbe: {httpGet: {path: /, port: htpp}}\n";
const GOOD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: web\n    image: nginx\n    \
                    ports: [{name: http, containerPort: 80}]\n    readinessProbe: {httpGet: {path: /, port: http}}\n";

/// The kinds whose Pods have the containers that are written there, and no others of somebody's operator.
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

/// What an Ingress says for the load balancers of AWS where an annotation has what happens.
const BY_ANNOTATION: &str = "use-annotation";

fn find(target: &CheckedTarget<'_>) -> Vec<Diagnostic> {
    let workloads = Workloads::of(target.resources());
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

/// Whether the Pods of a workload have no other containers than those that it says.
fn is_known(resource: &Resource) -> bool {
    let group = resource.id().gvk.group.as_str();
    KINDS.contains(&resource.id().gvk.kind.as_str()) && matches!(group, "" | "apps" | "batch" | "extensions")
}

/// Whether something may put containers into the Pods of a workload.
fn is_injected((labels, workload): WorkloadLabels<'_>) -> bool {
    let annotations = pod_template(workload).and_then(|template| template.annotations);
    let maps = [labels, annotations].into_iter().flatten().filter_map(Node::as_map);
    maps.flat_map(Map::iter).any(|(key, _)| key.contains("inject"))
}

/// A name of a port, which no number is.
fn port_name(port: &Node) -> Option<&str> {
    port.as_str().filter(|name| is_finished(name) && name.bytes().any(|byte| byte.is_ascii_alphabetic()))
}

/// Whether nobody has yet to put something else into a port or its name, as into `${PORT}`.
fn is_finished(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// The names of the ports of containers.
fn names<'n>(containers: &[PodContainer<'n>]) -> Vec<&'n str> {
    let ports = containers.iter().flat_map(|container| entries(container.node.get("ports")));
    ports.filter_map(|(_, port)| port.get("name")?.as_str()).collect()
}

/// Whether a port is, or may become, one of those that are there.
fn is_there(wanted: &str, known: &[&str]) -> bool {
    known.iter().any(|name| *name == wanted || !is_finished(name))
}

/// What probes and lifecycle handlers of a container ask for.
fn handlers(container: &PodContainer<'_>, resource: &Resource) -> Vec<Diagnostic> {
    const HANDLERS: [&[&str]; 5] = [
        &["livenessProbe"],
        &["readinessProbe"],
        &["startupProbe"],
        &["lifecycle", "postStart"],
        &["lifecycle", "preStop"],
    ];
    let ways = HANDLERS
        .iter()
        .flat_map(|way| ["httpGet", "tcpSocket"].map(|action| [way, &[action, "port"][..]].concat()));
    let told = ways.filter_map(|way| {
        let port = container.node.get_path(&way)?;
        let (wanted, known) = (port_name(port)?, names(std::slice::from_ref(container)));
        let name = container.node.get("name").and_then(Node::as_str).unwrap_or_default();
        let message = format!("the container `{name}` has no port `{wanted}`");
        let field = format!("{}.{}", container.field, way.join("."));
        (!is_there(wanted, &known)).then(|| told(message, port, &known).resource(resource.id()).field(field))
    });
    told.collect()
}

/// What a Service leads to in the Pods that it selects.
fn targets(service: &Resource, workloads: &Workloads<'_>) -> Vec<Diagnostic> {
    if !is_service(service) {
        return Vec::new();
    }
    let selector = service.node().get_path(&["spec", "selector"]).and_then(Node::as_map);
    let wanted: Vec<_> = selector.into_iter().flat_map(Map::iter).collect();
    let selected = workloads.selected(namespace_of(service.id()), &wanted);
    let Some((_, first)) = selected.first() else { return Vec::new() };
    if selected.iter().any(|one| !is_known(one.1) || is_injected(*one)) {
        return Vec::new();
    }
    let known: Vec<&str> =
        selected.iter().flat_map(|(_, workload)| names(&pod_containers(workload))).collect();
    let told = entries(service.node().get_path(&["spec", "ports"])).filter_map(|(i, port)| {
        let target = port.get("targetPort")?;
        let wanted = port_name(target).filter(|name| !is_there(name, &known) && !INJECTED.contains(name))?;
        let message = format!("no container of the Pods that this selects has a port `{wanted}`");
        let told = told(message, target, &known).resource(service.id());
        let told = told.field(format!("spec.ports[{}].targetPort", shown(i, port)));
        Some(told.label(first.node().span().at_start(), format!("{} has these Pods", first.id())))
    });
    told.collect()
}

fn is_service(resource: &Resource) -> bool {
    resource.id().gvk.kind == "Service" && resource.id().gvk.group.is_empty()
}

/// What an Ingress leads to in a Service.
fn backend(reference: &ObjectReference<'_>, target: &CheckedTarget<'_>) -> Option<Diagnostic> {
    let (port, field) = reference.port.as_ref()?;
    let objects = &target.names().objects;
    let found = objects.find(&reference.kind, &reference.namespace, reference.text());
    let FoundObject::Built(service) = found else { return None };
    // One of another host has the ports that this has.
    let kind = service.node().get_path(&["spec", "type"]).and_then(Node::as_str);
    let is_elsewhere = !is_service(service) || kind == Some("ExternalName");
    let ports: Vec<&Node> =
        entries(service.node().get_path(&["spec", "ports"])).map(|(_, port)| port).collect();
    let wanted = port.scalar_text().filter(|wanted| *wanted != BY_ANNOTATION && is_finished(wanted))?;
    // Controllers take the port of the Pods as well, though the API does not say so.
    let has = |one: &&Node| {
        let mut own = ["name", "port", "targetPort"].into_iter().filter_map(|field| one.get(field));
        own.any(|own| own.scalar_text().is_some_and(|own| is_there(wanted, &[own])))
    };
    if is_elsewhere || ports.is_empty() || ports.iter().any(has) {
        return None;
    }
    let known: Vec<&str> = ports.iter().filter_map(|port| port.get("name")?.as_str()).collect();
    let message = format!("the Service `{}` has no port `{wanted}`", reference.text());
    let told = told(message, port, &known).resource(reference.from.id()).field(field);
    Some(told.label(service.node().span().at_start(), "it is here"))
}

/// A finding on a port, with the name of one that is there and nearly called so.
fn told(message: String, port: &Node, known: &[&str]) -> Diagnostic {
    let told = Diagnostic::warning(RULE.code, message).at(port.span());
    match port_name(port).and_then(|wanted| nearest(wanted, known)) {
        Some(near) => told.help(format!("did you mean `{near}`?")),
        None => told,
    }
}
