//! The cluster of a scenario: two namespaces, and the objects in them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::controllers;
use crate::CRD;
use crate::rig::{Rig, eventually};
use crate::sets::shelf;

/// An object, as `Kind/namespace/name`.
pub(super) type Key = String;

/// The kinds of objects that operators apply.
pub(super) const KINDS: [&str; 4] = ["ConfigMap", "Secret", "Deployment", "Gadget"];

pub(super) struct World {
    pub(super) rig: Rig,
    /// The parent of ApplySets with objects in both namespaces.
    pub(super) shelf: String,
}

/// An object in the cluster.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LiveObject {
    pub(super) uid: String,
    /// The number in its content; none if it has another content.
    pub(super) number: Option<u64>,
    /// The fields of the manifest and of others, without metadata that the server and ApplySets set.
    pub(super) content: Value,
    pub(super) label: Option<String>,
}

impl World {
    pub(super) fn new() -> Self {
        let rig = Rig::new();
        rig.create_namespace();
        rig.kubectl(&["create", "namespace", &format!("{}-b", rig.name)]);
        let shelf = shelf(&rig);
        rig.file("gadgets.yaml", CRD);
        rig.kubectl(&["apply", "-f", "gadgets.yaml"]);
        let gadgets = format!("gadgets.{}.example.com", rig.name);
        eventually("gadgets are served", || rig.try_kubectl(&["get", &gadgets]).status == 0);
        Self { rig, shelf }
    }

    pub(super) fn namespaces(&self) -> [String; 2] {
        [self.rig.name.clone(), format!("{}-b", self.rig.name)]
    }

    /// The objects of operators: their names begin with `x-`.
    pub(super) fn objects(&self) -> BTreeMap<Key, LiveObject> {
        let kinds = format!("configmaps,secrets,deployments,gadgets.{}.example.com", self.rig.name);
        let list = |namespace: &String| self.rig.kubectl(&["-n", namespace, "get", &kinds, "-o", "json"]);
        let lists = self.namespaces().map(|namespace| list(&namespace));
        let items = lists.iter().flat_map(|text| {
            let list: Value = serde_json::from_str(text).expect("JSON");
            list["items"].as_array().expect("items").clone()
        });
        let all = items.map(|item| (key(&item), LiveObject::new(item)));
        all.filter(|(key, _)| key.contains("/x-")).collect()
    }

    /// Every Pod belongs to an object that exists.
    pub(super) fn assert_no_pods_left(&self) {
        eventually("Pods of deleted objects are deleted", || {
            self.namespaces().iter().all(|namespace| {
                self.rig.kubectl(&["-n", namespace, "get", "pods,replicasets", "-o", "name"]).is_empty()
            })
        });
    }

    /// Deletes both namespaces with the program, which waits until they are gone.
    pub(super) fn delete_namespaces(&self) {
        let text = self
            .namespaces()
            .map(|name| format!("---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}}}\n"));
        self.rig.file("namespaces.yaml", &text.concat());
        self.rig.smp(&["delete", "-f", "namespaces.yaml", "--timeout=60s"]).ended(0);
        for name in self.namespaces() {
            assert_ne!(self.rig.try_kubectl(&["get", "namespace", &name]).status, 0, "{name} is gone");
        }
    }

    /// A webhook for ConfigMaps of both namespaces whose server does not exist. Returns its name.
    pub(super) fn create_webhook(&self) -> String {
        let name = format!("{}.example.com", self.rig.name);
        let webhook = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [{
                "name": name, "failurePolicy": "Fail", "sideEffects": "None", "timeoutSeconds": 2,
                "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://127.0.0.1:9/none"},
                "rules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"],
                }],
                "namespaceSelector": {"matchExpressions": [{
                    "key": "kubernetes.io/metadata.name", "operator": "In", "values": self.namespaces(),
                }]},
            }],
        });
        self.rig.file("webhook.yaml", &webhook.to_string());
        self.rig.kubectl(&["create", "-f", "webhook.yaml"]);
        name
    }

    /// The list of API groups, with another one.
    pub(super) fn groups_with(&self, group: &str) -> String {
        let mut list: Value =
            serde_json::from_str(&self.rig.kubectl(&["get", "--raw", "/apis"])).expect("JSON");
        let version = json!({"groupVersion": format!("{group}/v1"), "version": "v1"});
        let group = json!({"name": group, "versions": [version], "preferredVersion": version});
        list["groups"].as_array_mut().expect("groups").push(group);
        list.to_string()
    }
}

/// The key of an object.
pub(super) fn key(object: &Value) -> Key {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}/{}", text("/kind"), text("/metadata/namespace"), text("/metadata/name"))
}

/// The manifest of an object whose content is a number.
pub(super) fn manifest(key: &str, number: u64, group: &str) -> Value {
    let [kind, namespace, name] = parts(key);
    let (version, content) = match kind {
        "ConfigMap" => ("v1", json!({"data": {"number": number.to_string()}})),
        "Secret" => ("v1", json!({"stringData": {"number": number.to_string()}})),
        "Gadget" => {
            return json!({
                "apiVersion": format!("{group}.example.com/v1"), "kind": kind,
                "metadata": {"name": name, "namespace": namespace}, "spec": {"size": number},
            });
        }
        _ => (
            "apps/v1",
            json!({"spec": {
                "replicas": number % 3,
                "selector": {"matchLabels": {"app": name}},
                "template": {
                    "metadata": {"labels": {"app": name}, "annotations": {"number": number.to_string()}},
                    "spec": {"containers": [{"name": "a", "image": "example.com/a"}]},
                },
            }}),
        ),
    };
    let mut object = content;
    if kind == "Deployment" && controllers::are_real() {
        // No scheduler runs.
        object["spec"]["template"]["spec"]["nodeName"] = "kwok".into();
    }
    object["apiVersion"] = version.into();
    object["kind"] = kind.into();
    object["metadata"] = json!({"name": name, "namespace": namespace});
    object
}

/// Kind, namespace and name of a key.
pub(super) fn parts(key: &str) -> [&str; 3] {
    let mut parts = key.splitn(3, '/');
    [(); 3].map(|()| parts.next().expect("a part"))
}

impl LiveObject {
    fn new(mut object: Value) -> Self {
        let uid = object["metadata"]["uid"].as_str().expect("a uid").to_string();
        let label = object["metadata"]["labels"]["team"].as_str().map(String::from);
        let number = Self::number(&object);
        for field in ["metadata", "status"] {
            object.as_object_mut().expect("an object").remove(field);
        }
        Self { uid, number, content: object, label }
    }

    fn number(object: &Value) -> Option<u64> {
        let text = |value: &Value| value.as_str()?.parse().ok();
        match object["kind"].as_str()? {
            "ConfigMap" => text(&object["data"]["number"]),
            "Secret" => {
                let bytes = base64::Engine::decode(
                    &base64::engine::general_purpose::STANDARD,
                    object["data"]["number"].as_str()?,
                );
                String::from_utf8(bytes.ok()?).ok()?.parse().ok()
            }
            "Gadget" => object["spec"]["size"].as_u64(),
            _ => text(&object["spec"]["template"]["metadata"]["annotations"]["number"]),
        }
    }
}
