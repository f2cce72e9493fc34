//! Ingresses, network policies, endpoints.

use super::super::formats::is_cidr;
use super::super::names::{is_dns_subdomain, is_wildcard_subdomain};
use super::super::scalar::integer;
use super::super::violation::ViolationRule;
use super::subject::{Below, Faults, RuleOfType, Subject, count_of};
use smp_text::yaml::Node;

pub(super) const RULES: &[(&str, RuleOfType)] = &[
    ("IngressSpec", ingress),
    ("IngressRule", rule),
    ("HTTPIngressPath", path),
    ("IngressBackend", backend),
    ("ServiceBackendPort", backend_port),
    ("IngressTLS", tls),
    ("NetworkPolicyPeer", peer),
    ("NetworkPolicyPort", policy_port),
    ("IPBlock", block),
    ("EndpointSlice", slice),
    ("EndpointAddress", address),
    ("EndpointSubset", subset),
    ("ServiceCIDRSpec", networks),
];

fn ingress(of: Subject<'_>, faults: &mut Faults) {
    if of.list("rules").is_empty() && of.get("defaultBackend").is_none() {
        faults.below(
            ViolationRule::IngressBackend,
            &[],
            of.node.span(),
            "an ingress needs `rules` or a `defaultBackend`",
        );
    }
}

fn is_host(text: &str) -> bool {
    if text.starts_with('*') { is_wildcard_subdomain(text) } else { is_dns_subdomain(text) }
}

fn rule(of: Subject<'_>, faults: &mut Faults) {
    let Some(host) = of.text("host").filter(|host| !host.is_empty()) else { return };
    if host.parse::<std::net::IpAddr>().is_ok() || !is_host(host) {
        faults.field(ViolationRule::Host, of, "host", "this must be the name of a host, or `*.` and one");
    }
}

fn tls(of: Subject<'_>, faults: &mut Faults) {
    for (i, host) in of.list("hosts").iter().enumerate() {
        if host.as_str().is_some_and(|host| !is_host(host)) {
            let path = [Below::Field("hosts"), Below::Entry(i)];
            faults.below(
                ViolationRule::Host,
                &path,
                host.span(),
                "this must be the name of a host, or `*.` and one",
            );
        }
    }
}

fn path(of: Subject<'_>, faults: &mut Faults) {
    let kind = of.text_or_empty("pathType");
    let path = of.text_or_empty("path");
    if matches!(kind, "Exact" | "Prefix") {
        let message = if !path.starts_with('/') {
            "this path must begin with `/`"
        } else if ["//", "/./", "/../", "%2f", "%2F"].iter().any(|part| path.contains(part))
            || ["/..", "/."].iter().any(|end| path.ends_with(end))
        {
            "this path must not have `//`, `/./`, `/../` or `%2f`"
        } else {
            return;
        };
        faults.field(ViolationRule::IngressPath, of, "path", message);
    } else if kind == "ImplementationSpecific" && !path.is_empty() && !path.starts_with('/') {
        faults.field(ViolationRule::IngressPath, of, "path", "this path must begin with `/`");
    } else if kind.is_empty() && of.get("pathType").is_some() {
        faults.field(
            ViolationRule::IngressPath,
            of,
            "pathType",
            "this must be `Exact`, `Prefix` or `ImplementationSpecific`",
        );
    }
}

fn backend(of: Subject<'_>, faults: &mut Faults) {
    if of.map.contains_key("serviceName") {
        return;
    }
    if count_of(of, &["service", "resource"]) != 1 {
        faults.below(
            ViolationRule::IngressBackend,
            &[],
            of.node.span(),
            "a backend is a `service` or a `resource`",
        );
    }
    let service = of.get("service").filter(|service| service.get("port").is_none_or(Node::is_null));
    if let Some(service) = service {
        let path = [Below::Field("service"), Below::Field("port")];
        faults.below(
            ViolationRule::IngressBackend,
            &path,
            service.span(),
            "the port of the service is missing",
        );
    }
}

fn backend_port(of: Subject<'_>, faults: &mut Faults) {
    let name = !of.text_or_empty("name").is_empty();
    let number = of.int("number").unwrap_or(0) != 0;
    if name == number {
        faults.below(
            ViolationRule::IngressBackend,
            &[],
            of.node.span(),
            "the port of a service has a `name` or a `number`",
        );
    }
}

fn peer(of: Subject<'_>, faults: &mut Faults) {
    let selects = count_of(of, &["podSelector", "namespaceSelector"]) > 0;
    let is_block = of.get("ipBlock").is_some();
    if selects == is_block {
        let message = "a peer is an `ipBlock`, or has a `podSelector`, a `namespaceSelector` or both";
        faults.below(ViolationRule::NetworkPeer, &[], of.node.span(), message);
    }
}

fn policy_port(of: Subject<'_>, faults: &mut Faults) {
    let Some(end) = of.int("endPort") else { return };
    match of.int("port") {
        Some(port) if port <= end => {}
        _ => faults.field(
            ViolationRule::NetworkPeer,
            of,
            "endPort",
            "`endPort` needs a `port` that is a number and not larger",
        ),
    }
}

/// The address as a number and how many of its bits are the network's.
fn network(text: &str) -> Option<(bool, u128, u32)> {
    let (address, bits) = text.split_once('/').filter(|_| is_cidr(text))?;
    let bits: u32 = bits.parse().ok()?;
    match address.parse().ok()? {
        std::net::IpAddr::V4(ip) => Some((true, u128::from(ip.to_bits()) << 96, bits)),
        std::net::IpAddr::V6(ip) => Some((false, ip.to_bits(), bits)),
    }
}

fn block(of: Subject<'_>, faults: &mut Faults) {
    let Some((v4, whole, bits)) = network(of.text_or_empty("cidr")) else { return };
    for (i, except) in of.list("except").iter().enumerate() {
        let Some((own, part, own_bits)) = except.as_str().and_then(network) else { continue };
        let same = bits == 0 || (whole ^ part) >> (128 - bits) == 0;
        if own != v4 || own_bits <= bits || !same {
            let path = [Below::Field("except"), Below::Entry(i)];
            faults.below(
                ViolationRule::NetworkPeer,
                &path,
                except.span(),
                "this must be a part of the network of `cidr`",
            );
        }
    }
}

fn slice(of: Subject<'_>, faults: &mut Faults) {
    let kind = of.text_or_empty("addressType");
    for (i, endpoint) in of.list("endpoints").iter().enumerate() {
        let addresses = endpoint.get("addresses").and_then(Node::as_list);
        for (k, address) in addresses.into_iter().flatten().enumerate() {
            let text = address.as_str().unwrap_or_default();
            let fits = match kind {
                "IPv4" => text.parse::<std::net::Ipv4Addr>().is_ok(),
                "IPv6" => text.parse::<std::net::Ipv6Addr>().is_ok(),
                _ => is_dns_subdomain(text),
            };
            if !fits {
                let path =
                    [Below::Field("endpoints"), Below::Entry(i), Below::Field("addresses"), Below::Entry(k)];
                faults.below(
                    ViolationRule::Address,
                    &path,
                    address.span(),
                    "this is no address of `addressType`",
                );
            }
        }
    }
}

fn address(of: Subject<'_>, faults: &mut Faults) {
    if of.text("ip").is_some_and(|text| text.parse::<std::net::IpAddr>().is_err()) {
        faults.field(ViolationRule::Address, of, "ip", "this must be an IP address");
    }
}

fn subset(of: Subject<'_>, faults: &mut Faults) {
    if of.list("addresses").is_empty() && of.list("notReadyAddresses").is_empty() {
        faults.field(
            ViolationRule::Address,
            of,
            "addresses",
            "there must be `addresses` or `notReadyAddresses`",
        );
    }
    let ports = of.list("ports");
    for (i, port) in ports.iter().enumerate() {
        let number = port
            .get("port")
            .filter(|p| p.resolve().and_then(integer).is_some_and(|n| !(1..=65535).contains(&n)));
        if let Some(number) = number {
            let path = [Below::Field("ports"), Below::Entry(i), Below::Field("port")];
            faults.below(ViolationRule::Port, &path, number.span(), "this must be a port, from 1 to 65535");
        }
    }
    for (i, port) in ports.iter().enumerate().filter(|_| ports.len() > 1) {
        if port.get("name").and_then(Node::as_str).is_none_or(str::is_empty) {
            let path = [Below::Field("ports"), Below::Entry(i), Below::Field("name")];
            faults.below(
                ViolationRule::ServicePorts,
                &path,
                port.span(),
                "each of several ports needs a name",
            );
        }
    }
}

fn networks(of: Subject<'_>, faults: &mut Faults) {
    if !(1..=2).contains(&of.list("cidrs").len()) {
        faults.field(ViolationRule::Address, of, "cidrs", "there must be one network, or one of each family");
    }
}
