//! Services: allocation of addresses and node ports.

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
        let family = if address.contains(':') { "IPv6" } else { "IPv4" };
        service["spec"]["clusterIP"] = address.as_str().into();
        let fields = [
            ("clusterIPs", json!([address])),
            ("ipFamilies", json!([family])),
            ("ipFamilyPolicy", "SingleStack".into()),
        ];
        for (field, value) in fields {
            if service["spec"].get(field).is_none() {
                service["spec"][field] = value;
            }
        }
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
        let ports = |service: &Value| -> Vec<i64> {
            let ports = service["spec"]["ports"].as_array().into_iter().flatten();
            ports.filter_map(|port| port["nodePort"].as_i64()).collect()
        };
        let own = service.clone();
        let others = self.services().filter(|(_, other)| !is_same(other, &own));
        let mut used: rustc_hash::FxHashSet<i64> = others.flat_map(|(_, one)| ports(one)).collect();
        for (index, port) in
            service["spec"].get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten().enumerate()
        {
            match port["nodePort"].as_i64() {
                Some(given) if used.contains(&given) => {
                    let field = format!("spec.ports[{index}].nodePort");
                    let cause = Cause::invalid(&field, &given.into(), "provided port is already allocated");
                    return Err(Failure::invalid(&target.resource.gvk, meta(&own, "name"), &[cause]));
                }
                None if is_wanted => {
                    let free = NODE_PORTS
                        .clone()
                        .find(|number| !used.contains(number) && !ports(&own).contains(number));
                    if let Some(free) = free {
                        port["nodePort"] = free.into();
                        used.insert(free);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn is_same(one: &Value, other: &Value) -> bool {
    one["metadata"]["uid"] == other["metadata"]["uid"]
}

/// Keeps the addresses of a Service in an update that lacks them.
pub(crate) fn keep_addresses(service: &mut Value, old: &Value) {
    if service["spec"]["type"] == "ExternalName" || old["spec"]["type"] == "ExternalName" {
        return;
    }
    for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort"] {
        if service["spec"].get(field).is_none()
            && let Some(value) = old["spec"].get(field)
        {
            service["spec"][field] = value.clone();
        }
    }
}
