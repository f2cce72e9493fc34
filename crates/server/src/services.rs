//! Services: allocates addresses and node ports.

use serde_json::{Value, json};

use crate::metadata::meta;
use crate::request::Target;
use crate::state::{State, text};
use crate::status::{Cause, Failure, Result};

/// The first two parts of the range of addresses, 10.96.0.0/16, and the range of node ports.
const RANGE: &str = "10.96";
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;

impl State {
    /// Allocates the addresses and node ports of a Service.
    pub(crate) fn allocate(&self, target: &Target, service: &mut Value) -> Result<()> {
        if service["spec"]["type"] == "ExternalName" {
            return Ok(());
        }
        let given = &service["spec"]["clusterIPs"];
        if given.is_array() && service["spec"].get("clusterIP").is_none() {
            let why = "must be empty when `clusterIP` is not specified";
            let cause = Cause::invalid("spec.clusterIPs", given, why);
            return Err(Failure::invalid(&target.resource.gvk, meta(service, "name"), &[cause]));
        }
        let address = match text(service, "/spec/clusterIP") {
            "" => self.free_address(),
            given => given.to_string(),
        };
        if address != "None"
            && self
                .services()
                .any(|(_, other)| text(other, "/spec/clusterIP") == address && !is_same(other, service))
        {
            let cause = Cause::invalid(
                "spec.clusterIPs",
                &json!([address]),
                &format!("failed to allocate IP {address}: provided IP is already allocated"),
            );
            return Err(Failure::invalid(&target.resource.gvk, meta(service, "name"), &[cause]));
        }
        set_address(service, &address);
        self.allocate_ports(target, service)
    }

    fn services(&self) -> impl Iterator<Item = (&smol_str::SmolStr, &std::sync::Arc<Value>)> {
        self.store.list("services", "", "")
    }

    fn free_address(&self) -> String {
        let used: rustc_hash::FxHashSet<&str> =
            self.services().map(|(_, one)| text(one, "/spec/clusterIP")).collect();
        let all = (0..=255u16)
            .flat_map(|third| (1..=254u16).map(move |fourth| format!("{RANGE}.{third}.{fourth}")));
        all.into_iter().find(|address| !used.contains(address.as_str())).unwrap_or_default()
    }

    fn allocate_ports(&self, target: &Target, service: &mut Value) -> Result<()> {
        let is_balanced = service["spec"]["type"] == "LoadBalancer"
            && service["spec"]["allocateLoadBalancerNodePorts"] != false;
        let is_wanted = service["spec"]["type"] == "NodePort" || is_balanced;
        let own = service.clone();
        let others = self.services().filter(|(_, other)| !is_same(other, &own));
        let mut used: rustc_hash::FxHashSet<i64> =
            others.flat_map(|(_, one)| node_ports(one).into_iter().chain(health_port(one))).collect();
        for (index, port) in ports_of(service).enumerate() {
            match port["nodePort"].as_i64() {
                Some(given) if used.contains(&given) => {
                    let field = format!("spec.ports[{index}].nodePort");
                    let cause = Cause::invalid(&field, &given.into(), "provided port is already allocated");
                    return Err(Failure::invalid(&target.resource.gvk, meta(&own, "name"), &[cause]));
                }
                None if is_wanted => {
                    let free = NODE_PORTS
                        .clone()
                        .find(|number| !used.contains(number) && !node_ports(&own).contains(number));
                    if let Some(free) = free {
                        port["nodePort"] = free.into();
                        used.insert(free);
                    }
                }
                _ => {}
            }
        }
        if needs_health_port(service) && service["spec"]["healthCheckNodePort"].is_null() {
            let free = NODE_PORTS.clone().find(|number| !used.contains(number));
            service["spec"]["healthCheckNodePort"] = free.into();
        }
        Ok(())
    }
}

/// Sets the address of a Service, and the fields that depend on it.
fn set_address(service: &mut Value, address: &str) {
    let is_open = address == "None" && service["spec"].get("selector").is_none();
    let family = if address.contains(':') { "IPv6" } else { "IPv4" };
    // Headless Services without a selector may have endpoints of both address families.
    let (families, policy) = if is_open {
        (json!(["IPv4", "IPv6"]), "RequireDualStack")
    } else {
        (json!([family]), "SingleStack")
    };
    service["spec"]["clusterIP"] = address.into();
    let fields =
        [("clusterIPs", json!([address])), ("ipFamilies", families), ("ipFamilyPolicy", policy.into())];
    for (field, value) in fields {
        if service["spec"].get(field).is_none() {
            service["spec"][field] = value;
        }
    }
}

/// Returns true if load balancers check the health of a Service on each node.
fn needs_health_port(service: &Value) -> bool {
    service["spec"]["type"] == "LoadBalancer" && service["spec"]["externalTrafficPolicy"] == "Local"
}

fn is_same(one: &Value, other: &Value) -> bool {
    one["metadata"]["uid"] == other["metadata"]["uid"]
}

/// Returns true if a change gives another address to a Service that has one.
pub(crate) fn is_changed_address(service: &Value, old: &Value) -> bool {
    let (new, before) = (&service["spec"]["clusterIP"], &old["spec"]["clusterIP"]);
    let is_external = service["spec"]["type"] == "ExternalName" || old["spec"]["type"] == "ExternalName";
    !is_external && !new.is_null() && !before.is_null() && new != before
}

/// Keeps the addresses and node ports of a Service if an update does not contain them, and drops those that its new
/// type does not have.
pub(crate) fn keep_addresses(service: &mut Value, old: &Value) {
    drop_by_type(service, old);
    let health_port = &service["spec"]["healthCheckNodePort"];
    let is_unneeded = needs_health_port(old) && !needs_health_port(service);
    if is_unneeded && *health_port == old["spec"]["healthCheckNodePort"] {
        service["spec"].as_object_mut().map(|fields| fields.remove("healthCheckNodePort"));
    }
    keep_ports(service, old);
    if service["spec"]["type"] == "ExternalName" || old["spec"]["type"] == "ExternalName" {
        return;
    }
    let is_same_list = service["spec"]["clusterIPs"] == old["spec"]["clusterIPs"];
    if is_changed_address(service, old) && is_same_list {
        service["spec"]["clusterIPs"] = json!([service["spec"]["clusterIP"]]);
    }
    let has_health_port = needs_health_port(service);
    for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"] {
        if service["spec"].get(field).is_none()
            && (field != "healthCheckNodePort" || has_health_port)
            && let Some(value) = old["spec"].get(field)
        {
            service["spec"][field] = value.clone();
        }
    }
}

/// The fields that depend on the type of a Service, and the types that have them.
const BY_TYPE: [(&str, &[&str]); 6] = [
    ("ipFamilies", &["ClusterIP", "NodePort", "LoadBalancer"]),
    ("ipFamilyPolicy", &["ClusterIP", "NodePort", "LoadBalancer"]),
    ("internalTrafficPolicy", &["ClusterIP", "NodePort", "LoadBalancer"]),
    ("externalTrafficPolicy", &["NodePort", "LoadBalancer"]),
    ("allocateLoadBalancerNodePorts", &["LoadBalancer"]),
    ("loadBalancerClass", &["LoadBalancer"]),
];

/// Drops unchanged values of fields that the new type of a Service does not have.
fn drop_by_type(service: &mut Value, old: &Value) {
    let (new_type, old_type) = (text(service, "/spec/type").to_string(), text(old, "/spec/type"));
    if new_type == old_type {
        return;
    }
    let is_same = |service: &Value, field: &str| service["spec"][field] == old["spec"][field];
    let mut dropped: Vec<&str> = BY_TYPE
        .iter()
        .filter(|(field, types)| {
            types.contains(&old_type) && !types.contains(&&*new_type) && is_same(service, field)
        })
        .map(|(field, _)| *field)
        .collect();
    let is_address_kept = is_same(service, "clusterIP") && is_same(service, "clusterIPs");
    if new_type == "ExternalName" && is_address_kept {
        dropped.extend(["clusterIP", "clusterIPs"]);
    }
    if let Some(spec) = service["spec"].as_object_mut() {
        spec.retain(|field, _| !dropped.contains(&field.as_str()));
    }
    let has_ports = |kind: &str| matches!(kind, "NodePort" | "LoadBalancer");
    let (before, after) = (node_ports(old), node_ports(service));
    if has_ports(old_type) && !has_ports(&new_type) && after.iter().all(|port| before.contains(port)) {
        for port in ports_of(service) {
            port.as_object_mut().map(|fields| fields.remove("nodePort"));
        }
    }
    if new_type != "LoadBalancer" {
        service["status"]["loadBalancer"] = json!({});
    }
}

/// Copies the node ports of old ports to new ports with the same name that have none.
fn keep_ports(service: &mut Value, old: &Value) {
    let has_ports = |one: &Value| matches!(text(one, "/spec/type"), "NodePort" | "LoadBalancer");
    if !has_ports(service) || !has_ports(old) {
        return;
    }
    let used = node_ports(service);
    let known = old["spec"]["ports"].as_array().cloned().unwrap_or_default();
    for port in ports_of(service) {
        let same = known.iter().rev().find(|one| one["name"] == port["name"]);
        let number = same.and_then(|one| one["nodePort"].as_i64()).filter(|number| !used.contains(number));
        if port["nodePort"].is_null()
            && let Some(number) = number
        {
            port["nodePort"] = number.into();
        }
    }
}

fn ports_of(service: &mut Value) -> impl Iterator<Item = &mut Value> {
    service["spec"].get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten()
}

fn health_port(service: &Value) -> Option<i64> {
    service["spec"]["healthCheckNodePort"].as_i64()
}

fn node_ports(service: &Value) -> Vec<i64> {
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    ports.filter_map(|port| port["nodePort"].as_i64()).collect()
}
