//! Pods and their templates.

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::super::violation::ViolationRule;
use super::subject::{Below, Faults, RuleOfType, Subject};
use smp_text::yaml::Node;

pub(super) const RULES: &[(&str, RuleOfType)] = &[
    ("PodSpec", containers),
    ("PodSpec", mounts),
    ("PodSpec", host_network),
    ("PodSpec", policies),
    ("PodSpec", images),
    ("PodSpec", dns),
    ("PodDNSConfig", dns_config),
];

const LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Each container with the list that it is in and its position there.
fn each(of: Subject<'_>) -> impl Iterator<Item = (&'static str, usize, &Node)> {
    LISTS.into_iter().flat_map(move |list| of.list(list).iter().enumerate().map(move |(i, c)| (list, i, c)))
}

fn text<'n>(node: &'n Node, field: &str) -> &'n str {
    node.get(field).and_then(Node::as_str).unwrap_or_default()
}

/// Equal names in one list are found by the schema.
fn containers(of: Subject<'_>, faults: &mut Faults) {
    let init: FxHashSet<&str> = of.list("initContainers").iter().map(|c| text(c, "name")).collect();
    for (i, container) in of.list("containers").iter().enumerate() {
        let name = text(container, "name");
        if !name.is_empty() && init.contains(name) {
            let path = [Below::Field("containers"), Below::Entry(i), Below::Field("name")];
            let at = container.get("name").map_or(container.span(), Node::span);
            faults.below(ViolationRule::ContainerName, &path, at, "an init container has the same name");
        }
    }
    for (list, i, container) in each(of) {
        let is_sidecar = text(container, "restartPolicy") == "Always";
        let probes = ["livenessProbe", "readinessProbe", "startupProbe", "lifecycle"];
        if list == "initContainers" && !is_sidecar {
            for field in probes.into_iter().filter(|field| container.get(field).is_some_and(|v| !v.is_null()))
            {
                let path = [Below::Field(list), Below::Entry(i), Below::Field(field)];
                let at = container.get(field).map_or(container.span(), Node::span);
                faults.below(
                    ViolationRule::Handler,
                    &path,
                    at,
                    "an init container has no probes and no lifecycle, unless it restarts always",
                );
            }
        }
    }
}

/// Whatever is mounted is a volume; the claims of a StatefulSet are volumes, too.
fn mounts(of: Subject<'_>, faults: &mut Faults) {
    let mut volumes: FxHashSet<&str> = of.list("volumes").iter().map(|volume| text(volume, "name")).collect();
    let claims = of.object.get_path(&["spec", "volumeClaimTemplates"]).and_then(Node::as_list);
    let name = |claim| Node::get_path(claim, &["metadata", "name"]).and_then(Node::as_str);
    volumes.extend(claims.into_iter().flatten().filter_map(name));
    for (list, i, container) in each(of) {
        for field in ["volumeMounts", "volumeDevices"] {
            let mounts = container.get(field).and_then(Node::as_list);
            for (k, mount) in mounts.into_iter().flatten().enumerate() {
                let name = text(mount, "name");
                if name.is_empty() || volumes.contains(name) {
                    continue;
                }
                let path = [
                    Below::Field(list),
                    Below::Entry(i),
                    Below::Field(field),
                    Below::Entry(k),
                    Below::Field("name"),
                ];
                let at = mount.get("name").map_or(mount.span(), Node::span);
                faults.below(ViolationRule::VolumeMount, &path, at, "the pod has no volume of this name");
            }
        }
    }
}

fn host_network(of: Subject<'_>, faults: &mut Faults) {
    let is_host = of.is_true("hostNetwork");
    let mut used = FxHashSet::default();
    for (i, container) in of.list("containers").iter().enumerate() {
        let ports = container.get("ports").and_then(Node::as_list);
        for (k, port) in ports.into_iter().flatten().enumerate() {
            let number = |field| port.get(field).and_then(Node::scalar_text).map(SmolStr::as_str);
            let Some(host) = number("hostPort").filter(|number| *number != "0") else { continue };
            let path = [
                Below::Field("containers"),
                Below::Entry(i),
                Below::Field("ports"),
                Below::Entry(k),
                Below::Field("hostPort"),
            ];
            let at = port.get("hostPort").map_or(port.span(), Node::span);
            if is_host && number("containerPort").is_some_and(|own| own != host) {
                let message = "with `hostNetwork` the port of the host is that of the container";
                faults.below(ViolationRule::HostPort, &path, at, message);
            }
            let protocol = port.get("protocol").and_then(Node::as_str).unwrap_or("TCP");
            if !used.insert((host, protocol, text(port, "hostIP"))) {
                faults.below(
                    ViolationRule::HostPort,
                    &path,
                    at,
                    "another port has the same port of the host",
                );
            }
        }
    }
}

/// Where pods are made by something that restarts them, or must not.
fn policies(of: Subject<'_>, faults: &mut Faults) {
    let policy = of.text_or_empty("restartPolicy");
    let message = match of.kind() {
        "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet" | "ReplicationController" => {
            if matches!(policy, "" | "Always") {
                return;
            }
            "the pods of this kind restart `Always`"
        }
        "Job" | "CronJob" if matches!(policy, "OnFailure" | "Never") => return,
        "Job" | "CronJob" => "the pods of a job restart `OnFailure` or `Never`",
        _ => return,
    };
    faults.field(ViolationRule::RestartPolicy, of, "restartPolicy", message);
}

fn images(of: Subject<'_>, faults: &mut Faults) {
    for (list, i, container) in each(of) {
        if container.as_map().is_some() && container.get("image").is_none_or(Node::is_null) {
            let path = [Below::Field(list), Below::Entry(i), Below::Field("image")];
            faults.below(ViolationRule::Image, &path, container.span(), "this container has no image");
        }
    }
}

fn dns(of: Subject<'_>, faults: &mut Faults) {
    let servers = of.get("dnsConfig").and_then(|config| config.get("nameservers")).and_then(Node::as_list);
    if of.text("dnsPolicy") == Some("None") && servers.is_none_or(Vec::is_empty) {
        faults.field(
            ViolationRule::Dns,
            of,
            "dnsPolicy",
            "`dnsPolicy: None` needs `nameservers` in `dnsConfig`",
        );
    }
}

fn dns_config(of: Subject<'_>, faults: &mut Faults) {
    for (field, most) in [("nameservers", 3), ("searches", 32)] {
        if of.list(field).len() > most {
            faults.field(ViolationRule::Dns, of, field, format!("there may be {most} of these at most"));
        }
    }
}
