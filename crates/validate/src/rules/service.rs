//! Services.

use rustc_hash::FxHashSet;
use smol_str::SmolStr;

use super::super::names::is_dns_subdomain;
use super::super::violation::ViolationRule;
use super::subject::{Below, Faults, RuleOfType, Subject};
use smp_text::yaml::Node;

pub(super) const RULES: &[(&str, RuleOfType)] = &[
    ("ServiceSpec", ports),
    ("ServiceSpec", kind),
    ("ServiceSpec", no_address),
    ("ServiceSpec", addresses),
    ("ServiceSpec", sources),
];

fn ports(of: Subject<'_>, faults: &mut Faults) {
    let ports = of.list("ports");
    let is_headless = of.text("clusterIP") == Some("None");
    if ports.is_empty() && !is_headless && of.text("type") != Some("ExternalName") {
        faults.field(ViolationRule::ServicePorts, of, "ports", "the service has no ports");
    }
    let (mut names, mut numbers) = (FxHashSet::default(), FxHashSet::default());
    for (i, port) in ports.iter().enumerate() {
        let text = |field| port.get(field).and_then(Node::scalar_text).map(SmolStr::as_str);
        let name = text("name").unwrap_or_default();
        let at = |field| port.get(field).map_or(port.span(), Node::span);
        let path = |field| [Below::Field("ports"), Below::Entry(i), Below::Field(field)];
        if name.is_empty() && ports.len() > 1 {
            let message = "each of several ports needs a name";
            faults.below(ViolationRule::ServicePorts, &path("name"), at("name"), message);
        } else if !name.is_empty() && !names.insert(name) {
            faults.below(
                ViolationRule::PortName,
                &path("name"),
                at("name"),
                "another port has the same name",
            );
        }
        let key = (text("port"), text("protocol").unwrap_or("TCP"));
        if key.0.is_some() && !numbers.insert(key) {
            faults.below(ViolationRule::ServicePorts, &path("port"), at("port"), "this port is there twice");
        }
        let node_port = text("nodePort").filter(|port| *port != "0");
        if node_port.is_some() && matches!(of.text_or_empty("type"), "" | "ClusterIP" | "ExternalName") {
            let message = "a port of the nodes needs the type `NodePort` or `LoadBalancer`";
            faults.below(ViolationRule::ServiceType, &path("nodePort"), at("nodePort"), message);
        }
        let range = node_port.and_then(|port| port.parse::<i64>().ok());
        if range.is_some_and(|port| !(30000..=32767).contains(&port)) {
            let message = "ports of the nodes are from 30000 to 32767, unless the server has another range";
            faults.below(ViolationRule::Port, &path("nodePort"), at("nodePort"), message);
        }
    }
}

fn kind(of: Subject<'_>, faults: &mut Faults) {
    let name = of.text_or_empty("type");
    let is_external = name == "ExternalName";
    let is_balanced = name == "LoadBalancer";
    let target = of.text_or_empty("externalName");
    if is_external && (target.is_empty() || !is_dns_subdomain(target.trim_end_matches('.'))) {
        faults.field(
            ViolationRule::ServiceType,
            of,
            "externalName",
            "a service of type `ExternalName` needs the name of a host",
        );
    }
    let balanced = ["loadBalancerClass", "loadBalancerSourceRanges"];
    for field in balanced.into_iter().filter(|field| !is_balanced && has_content(of, field)) {
        faults.field(
            ViolationRule::ServiceType,
            of,
            field,
            format!("`{field}` needs the type `LoadBalancer`"),
        );
    }
    let is_plain = matches!(name, "" | "ClusterIP" | "ExternalName");
    if is_plain && has_content(of, "externalTrafficPolicy") && of.list("externalIPs").is_empty() {
        let message = "`externalTrafficPolicy` needs the type `NodePort` or `LoadBalancer`";
        faults.field(ViolationRule::ServiceType, of, "externalTrafficPolicy", message);
    }
}

fn no_address(of: Subject<'_>, faults: &mut Faults) {
    let own = of.text_or_empty("clusterIP");
    match of.text_or_empty("type") {
        "ExternalName" if !own.is_empty() => {
            faults.field(
                ViolationRule::ClusterIp,
                of,
                "clusterIP",
                "a service of type `ExternalName` has no address",
            );
        }
        "NodePort" | "LoadBalancer" if own == "None" => {
            faults.field(
                ViolationRule::ClusterIp,
                of,
                "clusterIP",
                "a service without an address is of type `ClusterIP`",
            );
        }
        _ => {}
    }
}

fn has_content(of: Subject<'_>, field: &str) -> bool {
    of.get(field).is_some_and(|value| {
        value.as_str() != Some("") && value.as_list().is_none_or(|list| !list.is_empty())
    })
}

fn addresses(of: Subject<'_>, faults: &mut Faults) {
    let is_address = |text: &str| matches!(text, "" | "None") || text.parse::<std::net::IpAddr>().is_ok();
    if of.text("clusterIP").is_some_and(|text| !is_address(text)) {
        faults.field(ViolationRule::ClusterIp, of, "clusterIP", "this must be an IP address or `None`");
    }
    let first = of.list("clusterIPs").first().and_then(Node::as_str);
    let own = of.text("clusterIP").filter(|own| !own.is_empty());
    if first.zip(own).is_some_and(|(first, own)| first != own) {
        faults.field(ViolationRule::ClusterIp, of, "clusterIPs", "the first of them must be `clusterIP`");
    }
}

fn sources(of: Subject<'_>, faults: &mut Faults) {
    for (i, entry) in of.list("loadBalancerSourceRanges").iter().enumerate() {
        if entry.as_str().is_some_and(|text| !super::super::formats::is_cidr(text.trim())) {
            let path = [Below::Field("loadBalancerSourceRanges"), Below::Entry(i)];
            faults.below(
                ViolationRule::Address,
                &path,
                entry.span(),
                "this must be a network such as `10.0.0.0/8`",
            );
        }
    }
}
