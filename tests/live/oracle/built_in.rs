//! Random objects of built-in kinds, which the server accepts, and layers over them.
//!
//! Values that the server derives when it creates an object stay when a layer changes their inputs. Layers change
//! no such inputs: images have tags, strategies keep their type.

use serde_json::{Value, json};

use super::{Dice, KeyedLists, Pair, Resource};

/// Group, kind, plural, and the function that creates an object.
type Kind = (&'static str, &'static str, &'static str, fn(&mut Maker) -> Value);

const KINDS: [Kind; 14] = [
    ("apps/v1", "Deployment", "deployments", |m| m.workload(Maker::rolling)),
    ("apps/v1", "DaemonSet", "daemonsets", |m| m.workload(|_| json!({}))),
    ("apps/v1", "ReplicaSet", "replicasets", |m| m.workload(|m| json!({"replicas": m.dice.below(4)}))),
    ("apps/v1", "StatefulSet", "statefulsets", |m| m.workload(Maker::stateful)),
    ("batch/v1", "CronJob", "cronjobs", Maker::cron_job),
    ("v1", "ConfigMap", "configmaps", Maker::config_map),
    ("v1", "Secret", "secrets", Maker::secret),
    ("v1", "Service", "services", Maker::service),
    ("v1", "LimitRange", "limitranges", Maker::limit_range),
    ("networking.k8s.io/v1", "Ingress", "ingresses", Maker::ingress),
    ("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", Maker::network_policy),
    ("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", Maker::role),
    ("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", Maker::budget),
    ("autoscaling/v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", Maker::autoscaler),
];

const KEYED: KeyedLists<'_> = KeyedLists::Names(&[
    "containers",
    "env",
    "hostAliases",
    "imagePullSecrets",
    "initContainers",
    "ports",
    "topologySpreadConstraints",
    "volumeMounts",
    "volumes",
]);

pub(super) fn pair(seed: u64, mut dice: Dice) -> Pair<'static> {
    let (api_version, kind, plural, make) = KINDS[dice.below(KINDS.len())];
    let mut maker = Maker { dice, layer: Layer::Base };
    let base = maker.labelled(make);
    maker.layer = Layer::Over;
    let over = maker.labelled(make);
    let (api_version, kind, plural) = (api_version.into(), kind.to_string(), plural.into());
    let namespaced = kind != "ClusterRole";
    Pair { seed, resource: Resource { api_version, kind, plural, namespaced }, keyed: KEYED, base, over }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layer {
    /// Has all required fields.
    Base,
    /// Has some of them.
    Over,
}

struct Maker {
    dice: Dice,
    layer: Layer,
}

impl Maker {
    fn labelled(&mut self, make: fn(&mut Self) -> Value) -> Value {
        let mut object = make(self);
        object["metadata"] = json!({});
        let metadata = &mut object["metadata"];
        self.maybe_set(metadata, "labels", |m| m.words(&["app", "tier", "example.com/part"]));
        self.maybe_set(metadata, "annotations", |m| m.words(&["note", "example.com/on", "1"]));
        object
    }

    /// Sets a field at random.
    fn maybe_set(&mut self, object: &mut Value, field: &str, make: impl FnOnce(&mut Self) -> Value) {
        if self.dice.one_in(2) {
            object[field] = make(self);
        }
    }

    /// Sets a required field. A layer may omit it.
    fn set_required(&mut self, object: &mut Value, field: &str, make: impl FnOnce(&mut Self) -> Value) {
        if self.layer == Layer::Base || self.dice.one_in(2) {
            object[field] = make(self);
        }
    }

    fn words(&mut self, keys: &[&str]) -> Value {
        let mut map = json!({});
        for key in keys {
            self.maybe_set(&mut map, key, Self::word);
        }
        map
    }

    fn word(&mut self) -> Value {
        json!(self.dice.pick(&["a", "b", "on", "1", "0x1", "1e3"]))
    }

    /// Some entries of a list, each with its own key.
    fn entries(&mut self, keys: &[&str], mut make: impl FnMut(&mut Self, &str) -> Value) -> Value {
        let mut keys = keys.to_vec();
        self.dice.shuffle(&mut keys);
        keys.truncate(self.dice.below(keys.len() + 1));
        keys.into_iter().map(|key| make(self, key)).collect()
    }

    fn workload(&mut self, spec: impl FnOnce(&mut Self) -> Value) -> Value {
        let mut spec = spec(self);
        self.set_required(&mut spec, "selector", |_| json!({"matchLabels": {"of": "web"}}));
        let pod = self.pod();
        let mut metadata = json!({});
        self.set_required(&mut metadata, "labels", |_| json!({"of": "web"}));
        self.maybe_set(&mut metadata, "annotations", |m| m.words(&["x", "y"]));
        spec["template"] = json!({"metadata": metadata, "spec": pod});
        json!({"spec": spec})
    }

    fn rolling(&mut self) -> Value {
        let mut spec = json!({});
        self.maybe_set(&mut spec, "replicas", |m| json!(m.dice.below(4)));
        self.maybe_set(&mut spec, "paused", |m| json!(m.dice.one_in(2)));
        self.maybe_set(&mut spec, "strategy", |m| {
            let mut rolling = json!({});
            m.maybe_set(&mut rolling, "maxSurge", |m| m.dice_of(&[json!(1), json!("50%")]));
            m.maybe_set(&mut rolling, "maxUnavailable", |m| m.dice_of(&[json!(1), json!("10%")]));
            json!({"type": "RollingUpdate", "rollingUpdate": rolling})
        });
        spec
    }

    fn stateful(&mut self) -> Value {
        let mut spec = json!({"serviceName": "web"});
        self.maybe_set(&mut spec, "replicas", |m| json!(m.dice.below(4)));
        self.maybe_set(
            &mut spec,
            "updateStrategy",
            |m| json!({"type": "RollingUpdate", "rollingUpdate": {"partition": m.dice.below(3)}}),
        );
        spec
    }

    fn dice_of(&mut self, values: &[Value]) -> Value {
        values[self.dice.below(values.len())].clone()
    }

    fn pod(&mut self) -> Value {
        let others = self.entries(&["b", "c"], |m, name| m.container(name, Layer::Base));
        let mut containers = vec![self.container("a", self.layer)];
        containers.extend(others.as_array().into_iter().flatten().cloned());
        let mut pod = json!({"containers": containers});
        self.maybe_set(&mut pod, "initContainers", |m| {
            m.entries(&["i", "j"], |m, n| m.container(n, Layer::Base))
        });
        self.set_required(&mut pod, "volumes", |m| {
            let volumes = ["v", "w"].map(|name| json!({"name": name, "configMap": {"name": m.word()}}));
            json!(volumes)
        });
        self.maybe_set(&mut pod, "nodeSelector", |m| m.words(&["disk", "zone"]));
        self.maybe_set(&mut pod, "tolerations", |m| {
            m.entries(&["t", "u"], |_, key| json!({"key": key, "operator": "Exists"}))
        });
        self.maybe_set(&mut pod, "hostAliases", |m| {
            m.entries(
                &["10.0.0.1", "10.0.0.2"],
                |m, ip| json!({"ip": ip, "hostnames": [m.dice.pick(&["h", "i"])]}),
            )
        });
        self.maybe_set(&mut pod, "imagePullSecrets", |m| {
            m.entries(&["s", "t"], |_, name| json!({"name": name}))
        });
        self.maybe_set(&mut pod, "topologySpreadConstraints", |m| {
            m.entries(&["DoNotSchedule", "ScheduleAnyway"], |m, when| {
                json!({"maxSkew": 1 + m.dice.below(3), "topologyKey": "zone", "whenUnsatisfiable": when,
                    "labelSelector": {"matchLabels": {"of": "web"}}})
            })
        });
        self.maybe_set(&mut pod, "securityContext", |m| {
            let mut context = json!({});
            m.maybe_set(&mut context, "runAsUser", |m| json!(1 + m.dice.below(3)));
            m.maybe_set(&mut context, "supplementalGroups", |m| json!([1 + m.dice.below(3)]));
            m.maybe_set(&mut context, "sysctls", |_| json!([{"name": "net.core.somaxconn", "value": "1"}]));
            context
        });
        self.maybe_set(&mut pod, "terminationGracePeriodSeconds", |m| json!(m.dice.below(60)));
        pod
    }

    fn container(&mut self, name: &str, layer: Layer) -> Value {
        let mut one = json!({"name": name});
        if layer == Layer::Base || self.dice.one_in(2) {
            one["image"] = json!(self.dice.pick(&["example.com/a:1", "example.com/a:2"]));
        }
        self.maybe_set(&mut one, "command", |m| m.entries(&["sh", "-c", "x"], |_, word| json!(word)));
        self.maybe_set(&mut one, "env", |m| {
            m.entries(&["A", "B", "REF"], |m, name| match name {
                "REF" => {
                    let key = json!({"name": m.word(), "key": m.word()});
                    json!({"name": name, "valueFrom": {"configMapKeyRef": key}})
                }
                _ => json!({"name": name, "value": m.word()}),
            })
        });
        self.maybe_set(&mut one, "ports", Self::container_ports);
        self.maybe_set(&mut one, "volumeMounts", |m| {
            m.entries(&["/v", "/w"], |m, path| json!({"name": m.dice.pick(&["v", "w"]), "mountPath": path}))
        });
        self.maybe_set(&mut one, "envFrom", |m| json!([{"configMapRef": {"name": m.word()}}]));
        self.maybe_set(&mut one, "resources", |m| {
            let mut resources = json!({"requests": {"cpu": "100m"}});
            m.maybe_set(
                &mut resources,
                "limits",
                |m| json!({"cpu": m.dice.pick(&["1", "2000m"]), "memory": "1Gi"}),
            );
            resources
        });
        self.maybe_set(
            &mut one,
            "securityContext",
            |m| json!({"capabilities": {"drop": m.entries(&["ALL", "NET_RAW"], |_, word| json!(word))}}),
        );
        one
    }

    fn container_ports(&mut self) -> Value {
        self.entries(&["53/TCP", "53/UDP", "80", "443"], |m, key| {
            let (port, protocol) = key.split_once('/').unwrap_or((key, ""));
            let mut one = json!({"containerPort": port.parse::<u16>().expect("a number")});
            match protocol {
                "" | "TCP" if m.dice.one_in(2) => {}
                "" => one["protocol"] = json!("TCP"),
                protocol => one["protocol"] = json!(protocol),
            }
            m.maybe_set(&mut one, "name", |m| {
                json!(format!("p{}{}", m.dice.below(9), key.replace('/', "").to_lowercase()))
            });
            one
        })
    }

    fn cron_job(&mut self) -> Value {
        let mut pod = self.pod();
        pod["restartPolicy"] = json!("Never");
        let mut spec = json!({"jobTemplate": {"spec": {"template": {"spec": pod}}}});
        self.set_required(&mut spec, "schedule", |m| json!(m.dice.pick(&["0 1 * * *", "@daily"])));
        self.maybe_set(&mut spec, "suspend", |m| json!(m.dice.one_in(2)));
        self.maybe_set(&mut spec["jobTemplate"]["spec"], "backoffLimit", |m| json!(m.dice.below(4)));
        json!({"spec": spec})
    }

    fn config_map(&mut self) -> Value {
        let mut map = json!({});
        self.maybe_set(&mut map, "data", |m| m.words(&["a", "b", "on", "1"]));
        self.maybe_set(&mut map, "binaryData", |m| m.encoded(&["x", "y"]));
        map
    }

    fn encoded(&mut self, keys: &[&str]) -> Value {
        self.entries(keys, |m, key| json!([key, m.dice.pick(&["YQ==", "Yg=="])]))
            .as_array()
            .into_iter()
            .flatten()
            .map(|pair| (pair[0].as_str().expect("a key").to_string(), pair[1].clone()))
            .collect()
    }

    /// Some keys are in both `data` and `stringData`.
    fn secret(&mut self) -> Value {
        let mut secret = json!({});
        self.maybe_set(&mut secret, "data", |m| m.encoded(&["a", "b", "c"]));
        self.maybe_set(&mut secret, "stringData", |m| m.words(&["a", "b", "d"]));
        secret
    }

    fn service(&mut self) -> Value {
        let mut ports = json!([]);
        for (name, port) in [("dns", 53), ("dns-udp", 53), ("web", 80), ("more", 81)] {
            let is_base = self.layer == Layer::Base && name == "dns";
            if is_base || self.dice.one_in(2) {
                let mut one = json!({"port": port, "name": name});
                match name {
                    "dns-udp" => one["protocol"] = json!("UDP"),
                    _ => self.maybe_set(&mut one, "protocol", |_| json!("TCP")),
                }
                self.maybe_set(&mut one, "targetPort", |m| m.dice_of(&[json!(8080), json!("http")]));
                ports.as_array_mut().expect("a list").push(one);
            }
        }
        let mut spec = json!({"ports": ports});
        self.maybe_set(&mut spec, "selector", |m| m.words(&["app", "of"]));
        self.maybe_set(&mut spec, "externalIPs", |m| {
            m.entries(&["192.0.2.7", "192.0.2.8"], |_, ip| json!(ip))
        });
        self.maybe_set(&mut spec, "sessionAffinity", |_| json!("ClientIP"));
        json!({"spec": spec})
    }

    fn limit_range(&mut self) -> Value {
        let limits = json!([{"type": "Container", "max": {"cpu": self.dice.pick(&["1", "2"])}}]);
        json!({"spec": {"limits": limits}})
    }

    fn ingress(&mut self) -> Value {
        let service =
            |m: &mut Self| json!({"service": {"name": m.dice.pick(&["x", "y"]), "port": {"number": 80}}});
        let mut spec = json!({"defaultBackend": service(self)});
        self.maybe_set(&mut spec, "rules", |m| {
            m.entries(&["a.example", "b.example"], |m, host| {
                let path = json!({"path": "/", "pathType": "Prefix", "backend": service(m)});
                json!({"host": host, "http": {"paths": [path]}})
            })
        });
        self.maybe_set(&mut spec, "tls", |m| m.entries(&["s", "t"], |_, name| json!({"secretName": name})));
        self.maybe_set(&mut spec, "ingressClassName", |m| json!(m.dice.pick(&["nginx", "other"])));
        json!({"spec": spec})
    }

    fn network_policy(&mut self) -> Value {
        let mut spec = json!({});
        self.set_required(&mut spec, "podSelector", |m| json!({"matchLabels": m.words(&["app", "of"])}));
        self.maybe_set(&mut spec, "policyTypes", |m| {
            m.entries(&["Ingress", "Egress"], |_, word| json!(word))
        });
        self.maybe_set(&mut spec, "ingress", |m| {
            let ports =
                m.entries(&["80", "81"], |_, port| json!({"port": port.parse::<u16>().expect("a number")}));
            json!([{"ports": ports, "from": [{"podSelector": {"matchLabels": {"of": "web"}}}]}])
        });
        json!({"spec": spec})
    }

    fn role(&mut self) -> Value {
        let mut role = json!({});
        self.maybe_set(&mut role, "rules", |m| {
            m.entries(&["pods", "services"], |m, resource| {
                let verbs = json!([m.dice.pick(&["get", "list"])]);
                json!({"apiGroups": [""], "resources": [resource], "verbs": verbs})
            })
        });
        role
    }

    fn budget(&mut self) -> Value {
        let mut spec = json!({"minAvailable": self.dice_of(&[json!(1), json!("50%")])});
        self.maybe_set(&mut spec, "selector", |m| json!({"matchLabels": m.words(&["app", "of"])}));
        self.maybe_set(&mut spec, "unhealthyPodEvictionPolicy", |_| json!("AlwaysAllow"));
        json!({"spec": spec})
    }

    fn autoscaler(&mut self) -> Value {
        let target =
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": self.dice.pick(&["x", "y"])});
        let mut spec = json!({"scaleTargetRef": target, "maxReplicas": 5 + self.dice.below(5)});
        self.maybe_set(&mut spec, "minReplicas", |m| json!(1 + m.dice.below(4)));
        self.maybe_set(&mut spec, "metrics", |m| {
            m.entries(&["cpu", "memory"], |m, name| {
                let target = json!({"type": "Utilization", "averageUtilization": 50 + m.dice.below(40)});
                json!({"type": "Resource", "resource": {"name": name, "target": target}})
            })
        });
        self.maybe_set(
            &mut spec,
            "behavior",
            |m| json!({"scaleDown": {"stabilizationWindowSeconds": m.dice.below(300)}}),
        );
        json!({"spec": spec})
    }
}
