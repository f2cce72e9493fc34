//! The endpoints of Services: an `Endpoints` and an `EndpointSlice` with the addresses of the selected Pods.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use smp_validate::LabelSelector;

use super::replicas::is_ready;
use super::{PODS, reference, selects};
use crate::metadata::{self, meta};
use crate::state::{State, text};
use crate::store::key;
use crate::subresources::selector_text;

const ENDPOINTS: &str = "endpoints";
const SLICES: &str = "endpointslices.discovery.k8s.io";

impl State {
    /// Writes the endpoints of a Service that has a selector.
    pub(super) fn publish_endpoints(&mut self, service: &Value) {
        let selector = selector_text(&service["spec"]["selector"]);
        if selector.is_empty() || metadata::is_deleted(service) {
            return;
        }
        let selector = LabelSelector::parse(&selector).ok();
        let all = self.store.list(PODS, meta(service, "namespace"), "").map(|(_, pod)| pod);
        let is_running = |pod: &Value| {
            !text(pod, "/status/podIP").is_empty()
                && !matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
                && !metadata::is_deleted(pod)
        };
        let pods: Vec<Arc<Value>> =
            all.filter(|pod| selects(selector.as_ref(), pod) && is_running(pod)).cloned().collect();
        self.write_endpoints(service, &pods);
        self.write_slice(service, &pods);
    }

    fn write_endpoints(&mut self, service: &Value, pods: &[Arc<Value>]) {
        let takes_all = service["spec"]["publishNotReadyAddresses"] == true;
        let (ready, waiting): (Vec<_>, Vec<_>) = pods.iter().partition(|pod| takes_all || is_ready(pod));
        let mut subset = Map::new();
        for (field, pods) in [("addresses", ready), ("notReadyAddresses", waiting)] {
            if !pods.is_empty() {
                subset.insert(field.into(), pods.into_iter().map(|pod| address(pod)).collect());
            }
        }
        let ports = ports(service, pods.first().map(|pod| &**pod));
        if !subset.is_empty() && !ports.is_empty() {
            subset.insert("ports".into(), ports.into());
        }
        let mut wanted = self.generated(ENDPOINTS, service, meta(service, "name")).unwrap_or_else(|| {
            let mut labels = labels_of(service);
            labels["endpoints.kubernetes.io/managed-by"] = "endpoint-controller".into();
            json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {
                "name": meta(service, "name"), "namespace": meta(service, "namespace"), "labels": labels,
            }})
        });
        if subset.is_empty() {
            wanted.as_object_mut().map(|fields| fields.remove("subsets"));
        } else {
            wanted["subsets"] = json!([subset]);
        }
        self.store_generated(ENDPOINTS, wanted);
    }

    fn write_slice(&mut self, service: &Value, pods: &[Arc<Value>]) {
        let takes_all = service["spec"]["publishNotReadyAddresses"] == true;
        let name = format!("{}-{}", meta(service, "name"), super::hash_name(&service["metadata"]["uid"], 0));
        let endpoint = |pod: &Value| {
            let is_ready = takes_all || is_ready(pod);
            json!({
                "addresses": [pod["status"]["podIP"]], "nodeName": pod["spec"]["nodeName"], "targetRef": target(pod),
                "conditions": {"ready": is_ready, "serving": is_ready, "terminating": false},
            })
        };
        let family = service["spec"]["ipFamilies"][0].as_str().unwrap_or("IPv4");
        let mut wanted = self.generated(SLICES, service, &name).unwrap_or_else(|| {
            let mut labels = labels_of(service);
            labels["endpointslice.kubernetes.io/managed-by"] = "endpointslice-controller.k8s.io".into();
            labels["kubernetes.io/service-name"] = meta(service, "name").into();
            json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": family, "metadata": {
                "name": name, "namespace": meta(service, "namespace"), "labels": labels,
                "ownerReferences": [reference(service)],
            }})
        });
        wanted["endpoints"] = pods.iter().map(|pod| endpoint(pod)).collect();
        let ports = ports(service, pods.first().map(|pod| &**pod));
        wanted["ports"] = ports.into();
        self.store_generated(SLICES, wanted);
    }

    /// Returns the object that an earlier run wrote for a Service.
    fn generated(&self, collection: &str, service: &Value, name: &str) -> Option<Value> {
        self.store.get(collection, &key(meta(service, "namespace"), name)).map(|found| Value::clone(found))
    }

    fn store_generated(&mut self, collection: &str, object: Value) {
        if meta(&object, "resourceVersion").is_empty() {
            self.create_as(collection, object);
        } else {
            self.update_as(collection, object, "");
        }
    }

    /// Deletes the endpoints of a deleted Service.
    pub(super) fn withdraw_endpoints(&mut self, service: &str) {
        let Some(resource) = self.resources.stored(ENDPOINTS).cloned() else { return };
        if let Some(endpoints) = self.store.get(ENDPOINTS, service).cloned() {
            self.delete_now(&resource, &endpoints);
        }
        let (namespace, name) = service.split_once('/').unwrap_or(("", service));
        let slices = self.store.list(SLICES, namespace, "").map(|(_, slice)| slice);
        let of_service = |slice: &Value| slice["metadata"]["labels"]["kubernetes.io/service-name"] == *name;
        let slices: Vec<Arc<Value>> = slices.filter(|slice| of_service(slice)).cloned().collect();
        let Some(resource) = self.resources.stored(SLICES).cloned() else { return };
        for slice in slices {
            self.delete_now(&resource, &slice);
        }
    }
}

fn labels_of(service: &Value) -> Value {
    let mut labels = service["metadata"]["labels"].clone();
    if !labels.is_object() {
        labels = json!({});
    }
    if service["spec"]["clusterIP"] == "None" {
        labels["service.kubernetes.io/headless"] = "".into();
    }
    labels
}

fn address(pod: &Value) -> Value {
    json!({"ip": pod["status"]["podIP"], "nodeName": pod["spec"]["nodeName"], "targetRef": target(pod)})
}

fn target(pod: &Value) -> Value {
    let metadata = &pod["metadata"];
    json!({"kind": "Pod", "namespace": metadata["namespace"], "name": metadata["name"], "uid": metadata["uid"]})
}

/// Returns the ports of a Service, with the numbers of the Pod's ports.
fn ports(service: &Value, pod: Option<&Value>) -> Vec<Value> {
    let all = service["spec"]["ports"].as_array().into_iter().flatten();
    all.filter_map(|port| {
        let number = match &port["targetPort"] {
            Value::String(name) => named_port(pod?, name)?,
            Value::Number(number) if number.as_i64() != Some(0) => number.as_i64()?,
            _ => port["port"].as_i64()?,
        };
        let mut found = json!({"port": number, "protocol": port["protocol"]});
        found["name"] = port["name"].as_str().unwrap_or_default().into();
        if !port["appProtocol"].is_null() {
            found["appProtocol"] = port["appProtocol"].clone();
        }
        Some(found)
    })
    .collect()
}

fn named_port(pod: &Value, name: &str) -> Option<i64> {
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let ports = containers.flat_map(|one| one["ports"].as_array().into_iter().flatten());
    ports.into_iter().find(|port| port["name"] == *name)?["containerPort"].as_i64()
}
