//! Random objects that the server accepts.

use kubectl_smp_testing::dice::Dice;
use serde_json::{Map, Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    ConfigMap,
    Service,
    Deployment,
    /// A custom resource with lists and maps of all types.
    Gadget,
}

impl Kind {
    pub fn has_status(self) -> bool {
        matches!(self, Self::Deployment | Self::Gadget)
    }

    pub fn api_version(self, group: &str) -> String {
        match self {
            Self::ConfigMap | Self::Service => "v1".into(),
            Self::Deployment => "apps/v1".into(),
            Self::Gadget => format!("{group}.example.com/v1"),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Service => "Service",
            Self::Deployment => "Deployment",
            Self::Gadget => "Gadget",
        }
    }

    pub fn plural(self) -> String {
        format!("{}s", self.name().to_lowercase())
    }
}

/// The CRD of the custom kind.
pub fn definition(group: &str) -> Value {
    let group = format!("{group}.example.com");
    let port = json!({"type": "object", "required": ["port"], "properties": {
        "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"},
        "name": {"type": "string"}, "words": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
    }});
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let mut atomic = texts.clone();
    atomic["x-kubernetes-map-type"] = json!("atomic");
    let list =
        |kind: &str, items: Value| json!({"type": "array", "x-kubernetes-list-type": kind, "items": items});
    let mut ports = list("map", port);
    ports["x-kubernetes-list-map-keys"] = json!(["port", "protocol"]);
    let spec = json!({"type": "object", "properties": {
        "size": {"type": "integer", "default": 1}, "mode": {"type": "string"}, "on": {"type": "boolean"},
        "set": list("set", json!({"type": "string"})), "list": list("atomic", json!({"type": "string"})),
        "ports": ports, "texts": texts, "atomic": atomic,
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    }});
    let status =
        json!({"type": "object", "properties": {"ready": {"type": "boolean"}, "count": {"type": "integer"}}});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    let scale = json!({"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.count"});
    let subresources = json!({"status": {}, "scale": scale});
    let version = json!({"name": "v1", "served": true, "storage": true, "subresources": subresources,
        "schema": {"openAPIV3Schema": schema}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("gadgets.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "versions": [version],
            "names": {"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"}},
    })
}

/// Random values.
pub struct Values<'d> {
    pub dice: &'d mut Dice,
}

impl Values<'_> {
    /// Adds a field in some of the cases.
    fn maybe(&mut self, map: &mut Map<String, Value>, name: &str, value: impl FnOnce(&mut Self) -> Value) {
        if self.dice.one_in(2) {
            let value = value(self);
            map.insert(name.into(), value);
        }
    }

    fn number(&mut self) -> Value {
        self.dice.below(3).into()
    }

    fn text(&mut self) -> Value {
        self.dice.pick(&["", "x", "y", "<z>"]).into()
    }

    fn texts(&mut self) -> Value {
        let mut map = Map::new();
        for name in ["a", "b", "c.d/e"] {
            self.maybe(&mut map, name, Self::text);
        }
        Value::Object(map)
    }

    fn words(&mut self) -> Value {
        let mut words: Vec<&str> = ["p", "q", "r"].into_iter().filter(|_| self.dice.one_in(2)).collect();
        self.dice.shuffle(&mut words);
        json!(words)
    }

    pub fn metadata(&mut self) -> Value {
        let mut map = Map::new();
        self.maybe(&mut map, "annotations", Self::texts);
        Value::Object(map)
    }

    pub fn content(&mut self, kind: Kind) -> Map<String, Value> {
        let mut map = Map::new();
        match kind {
            Kind::ConfigMap => self.maybe(&mut map, "data", Self::texts),
            Kind::Service => drop(map.insert("spec".into(), self.service())),
            Kind::Deployment => drop(map.insert("spec".into(), self.deployment())),
            Kind::Gadget => self.maybe(&mut map, "spec", Self::gadget),
        }
        map
    }

    fn service(&mut self) -> Value {
        let mut spec = Map::new();
        // Headless, so that no address is allocated.
        spec.insert("clusterIP".into(), "None".into());
        self.maybe(&mut spec, "selector", Self::texts_without_slash);
        self.maybe(&mut spec, "sessionAffinity", |own| own.dice.pick(&["None", "ClientIP"]).into());
        self.maybe(&mut spec, "publishNotReadyAddresses", |own| own.dice.one_in(2).into());
        let mut ports = Vec::new();
        for number in [80, 443, 53] {
            if number == 80 || self.dice.one_in(2) {
                let mut port = json!({"port": number, "name": format!("p{number}")});
                if self.dice.one_in(3) {
                    port["protocol"] = self.dice.pick(&["TCP", "UDP"]).into();
                }
                if self.dice.one_in(3) {
                    port["targetPort"] = if self.dice.one_in(2) { json!(8080) } else { json!("http") };
                }
                ports.push(port);
            }
        }
        spec.insert("ports".into(), ports.into());
        Value::Object(spec)
    }

    fn texts_without_slash(&mut self) -> Value {
        let mut map = Map::new();
        for name in ["a", "b"] {
            self.maybe(&mut map, name, |own| own.dice.pick(&["x", "y"]).into());
        }
        Value::Object(map)
    }

    fn deployment(&mut self) -> Value {
        let mut spec = Map::new();
        self.maybe(&mut spec, "replicas", Self::number);
        self.maybe(&mut spec, "paused", |own| own.dice.one_in(2).into());
        self.maybe(&mut spec, "minReadySeconds", Self::number);
        let mut containers = vec![self.container("a")];
        if self.dice.one_in(2) {
            containers.push(self.container("b"));
        }
        let mut pod = json!({"containers": containers});
        if self.dice.one_in(3) {
            pod["tolerations"] = json!([{"key": "k", "operator": "Exists"}]);
        }
        if self.dice.one_in(3) {
            pod["volumes"] = json!([{"name": "v", "configMap": {"name": "c"}}, {"name": "e"}]);
        }
        spec.insert("selector".into(), json!({"matchLabels": {"app": "x"}}));
        spec.insert("template".into(), json!({"metadata": {"labels": {"app": "x"}}, "spec": pod}));
        Value::Object(spec)
    }

    fn container(&mut self, name: &str) -> Value {
        let mut container = json!({"name": name, "image": self.dice.pick(&["web", "web:1", "web:latest"])});
        if self.dice.one_in(2) {
            container["env"] = json!([{"name": "A", "value": self.text()}, {"name": "B", "value": "b"}]);
        }
        if self.dice.one_in(2) {
            container["ports"] = json!([{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}]);
        }
        if self.dice.one_in(3) {
            container["resources"] = json!({"limits": {"cpu": "100m"}});
        }
        if self.dice.one_in(3) {
            container["livenessProbe"] = json!({"httpGet": {"port": 80}, "periodSeconds": 5});
        }
        if self.dice.one_in(3) {
            container["args"] = self.words();
        }
        container
    }

    fn gadget(&mut self) -> Value {
        let mut spec = Map::new();
        self.maybe(&mut spec, "size", Self::number);
        self.maybe(&mut spec, "mode", Self::text);
        self.maybe(&mut spec, "on", |own| own.dice.one_in(2).into());
        self.maybe(&mut spec, "set", Self::words);
        self.maybe(&mut spec, "list", Self::words);
        self.maybe(&mut spec, "texts", Self::texts);
        self.maybe(&mut spec, "atomic", Self::texts);
        self.maybe(
            &mut spec,
            "free",
            |own| json!({"list": own.words(), "map": own.texts(), "number": own.number()}),
        );
        self.maybe(&mut spec, "ports", |own| {
            let mut ports: Vec<Value> = Vec::new();
            for (number, protocol) in [(80, None), (53, Some("TCP")), (53, Some("UDP"))] {
                if own.dice.one_in(2) {
                    let mut port = json!({"port": number});
                    if let Some(protocol) = protocol {
                        port["protocol"] = protocol.into();
                    }
                    if own.dice.one_in(2) {
                        port["name"] = own.text();
                    }
                    if own.dice.one_in(3) {
                        port["words"] = own.words();
                    }
                    ports.push(port);
                }
            }
            own.dice.shuffle(&mut ports);
            ports.into()
        });
        Value::Object(spec)
    }

    pub fn status(&mut self, kind: Kind) -> Value {
        match kind {
            Kind::Deployment => {
                json!({"observedGeneration": self.dice.below(3), "replicas": self.dice.below(3)})
            }
            _ => json!({"ready": self.dice.one_in(2), "count": self.dice.below(3)}),
        }
    }
}
