//! Columns of Services, endpoints, Ingresses, network policies and address ranges.

use std::collections::BTreeSet;

use serde_json::Value;

use super::column::{
    AGE, Cell, Column, HIDDEN_AGE, Kinds, NAME, NONE, UNSET, entries, first, joined, number, or, or_none,
    scalar, string, text_column, texts,
};
use crate::metadata::meta;
use crate::state::text;

pub(super) const KINDS: Kinds = &[
    ("EndpointSlice", SLICE),
    ("Endpoints", ENDPOINTS),
    ("IPAddress", ADDRESS),
    ("Ingress", INGRESS),
    ("IngressClass", CLASS),
    ("NetworkPolicy", POLICY),
    ("Service", SERVICE),
    ("ServiceCIDR", RANGE),
];

const SERVICE: &[Column] = &[
    NAME,
    text_column("Type", Cell::Text("/spec/type", "")),
    text_column("Cluster-IP", Cell::Text("/spec/clusterIPs/0", NONE)),
    text_column("External-IP", Cell::Show(external)),
    text_column("Port(s)", Cell::Show(ports)),
    AGE,
    text_column("Selector", Cell::Labels("/spec/selector")).wide(),
];

const ENDPOINTS: &[Column] = &[NAME, text_column("Endpoints", Cell::Show(addresses)), AGE];

const SLICE: &[Column] = &[
    NAME,
    text_column("AddressType", Cell::Text("/addressType", "")),
    text_column("Ports", Cell::Show(slice_ports)),
    text_column("Endpoints", Cell::Show(slice_addresses)),
    AGE,
];

const INGRESS: &[Column] = &[
    NAME,
    text_column("Class", Cell::Text("/spec/ingressClassName", NONE)),
    text_column("Hosts", Cell::Show(hosts)),
    text_column("Address", Cell::Show(balancers)),
    text_column(
        "Ports",
        Cell::Show(|ingress| {
            if entries(ingress, "/spec/tls").next().is_some() { "80, 443" } else { "80" }.into()
        }),
    ),
    AGE,
];

const CLASS: &[Column] = &[
    text_column("Name", Cell::Show(class_name)).naming(),
    text_column("Controller", Cell::Text("/spec/controller", "")),
    text_column("Parameters", Cell::Show(parameters)),
    AGE,
];

const POLICY: &[Column] = &[NAME, text_column("Pod-Selector", Cell::Labels("/spec/podSelector")), AGE];

const RANGE: &[Column] =
    &[NAME, text_column("CIDRs", Cell::Show(|range| joined(texts(range, "/spec/cidrs"), ","))), AGE];

const ADDRESS: &[Column] = &[NAME, text_column("ParentRef", Cell::Show(parent)), HIDDEN_AGE];

/// Returns the addresses or names of load balancers.
fn balancers(object: &Value) -> String {
    let address = |one: &'_ Value| or(string(one, "ip").into(), string(one, "hostname"));
    let all: BTreeSet<String> = entries(object, "/status/loadBalancer/ingress").map(address).collect();
    joined(all.iter().filter(|address| !address.is_empty()), ",")
}

fn external(service: &Value) -> String {
    let own = joined(texts(service, "/spec/externalIPs"), ",");
    match text(service, "/spec/type") {
        "ClusterIP" | "NodePort" => or_none(own),
        "LoadBalancer" => {
            let all = [balancers(service), own];
            or(joined(all.iter().filter(|part| !part.is_empty()), ","), "<pending>")
        }
        "ExternalName" => text(service, "/spec/externalName").into(),
        _ => "<unknown>".into(),
    }
}

fn ports(service: &Value) -> String {
    let port = |port: &Value| {
        let node = number(port, "/nodePort");
        let node = if node > 0 { format!(":{node}") } else { String::new() };
        format!("{}{node}/{}", number(port, "/port"), string(port, "protocol"))
    };
    or_none(joined(entries(service, "/spec/ports").map(port), ","))
}

/// Returns the first addresses of endpoints with their ports.
fn addresses(endpoints: &Value) -> String {
    let mut all = Vec::new();
    for subset in entries(endpoints, "/subsets") {
        let of_subset = || entries(subset, "/addresses").map(|address| string(address, "ip"));
        let ports: Vec<i64> = entries(subset, "/ports").map(|port| number(port, "/port")).collect();
        if ports.is_empty() {
            all.extend(of_subset().map(String::from));
        }
        for port in ports {
            let with_port = |address: &str| {
                if address.contains(':') {
                    format!("[{address}]:{port}")
                } else {
                    format!("{address}:{port}")
                }
            };
            all.extend(of_subset().map(with_port));
        }
    }
    if entries(endpoints, "/subsets").next().is_none() { NONE.into() } else { first(&all, 3, ",") }
}

fn slice_ports(slice: &Value) -> String {
    let shown = |port: &Value| match port.get("port") {
        Some(number) => scalar(number, ""),
        None => port["name"].as_str().unwrap_or("*").into(),
    };
    let all: Vec<String> = entries(slice, "/ports").map(shown).collect();
    or(first(&all, 3, ","), UNSET)
}

fn slice_addresses(slice: &Value) -> String {
    let all = entries(slice, "/endpoints").flat_map(|endpoint| texts(endpoint, "/addresses"));
    let all: Vec<String> = all.map(String::from).collect();
    or(first(&all, 3, ","), UNSET)
}

/// Returns the first hosts of an Ingress. Rules without a host are skipped.
fn hosts(ingress: &Value) -> String {
    let rules = entries(ingress, "/spec/rules").count();
    let (mut shown, mut has_more) = (Vec::new(), false);
    for rule in entries(ingress, "/spec/rules") {
        has_more |= shown.len() == 3;
        let host = string(rule, "host");
        if !has_more && !host.is_empty() {
            shown.push(host);
        }
    }
    let hosts = or(joined(shown, ","), "*");
    if has_more { format!("{hosts} + {} more...", rules - 3) } else { hosts }
}

fn class_name(class: &Value) -> String {
    let name = meta(class, "name");
    let annotations = &class["metadata"]["annotations"];
    let is_default = annotations["ingressclass.kubernetes.io/is-default-class"] == "true";
    if is_default { format!("{name} (default)") } else { name.into() }
}

fn parameters(class: &Value) -> String {
    let parameters = &class["spec"]["parameters"];
    if parameters.is_null() {
        return NONE.into();
    }
    let group = parameters["apiGroup"].as_str().map_or_else(String::new, |group| format!(".{group}"));
    format!("{}{group}/{}", string(parameters, "kind"), string(parameters, "name"))
}

/// Returns the owner of an address, such as `services/default/web`.
fn parent(address: &Value) -> String {
    let parent = &address["spec"]["parentRef"];
    if parent.is_null() {
        return NONE.into();
    }
    let part = |field: &str| string(parent, field);
    let group = if part("group").is_empty() { String::new() } else { format!(".{}", part("group")) };
    let kind = format!("{}{group}", part("resource")).to_lowercase();
    joined([&*kind, part("namespace"), part("name")].into_iter().filter(|part| !part.is_empty()), "/")
}
