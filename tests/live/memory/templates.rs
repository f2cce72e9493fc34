//! Objects of the commonest kinds, from which random requests are made.

use serde_json::{Value, json};

/// A resource and an object of it.
pub struct Template {
    pub api_version: &'static str,
    pub plural: &'static str,
    pub has_status: bool,
    pub object: Value,
}

impl Template {
    /// The path of the collection in a namespace. `NAME` stands for the namespace.
    pub fn path(&self) -> String {
        let root = if self.api_version.contains('/') { "apis" } else { "api" };
        format!("/{root}/{}/namespaces/NAME/{}", self.api_version, self.plural)
    }
}

fn pod_spec() -> Value {
    json!({"containers": [
        {"name": "web", "image": "web:1", "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": "b"}]},
        {"name": "log", "image": "log", "resources": {"requests": {"cpu": "0.1", "memory": "64Mi"}}},
    ]})
}

fn pod_template() -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": pod_spec()})
}

/// The definition of the custom resource.
pub fn definition() -> Value {
    let part = json!({"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string"}, "size": {"type": "integer", "default": 1},
    }});
    let spec = json!({"type": "object", "properties": {
        "size": {"type": "integer", "minimum": 0, "maximum": 10},
        "colour": {"type": "string", "enum": ["red", "green"], "default": "red"},
        "text": {"type": "string", "maxLength": 8, "pattern": "^[a-z]*$"},
        "parts": {"type": "array", "items": part, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    }});
    let status = json!({"type": "object", "properties": {"ready": {"type": "boolean"}}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.memory.example.com"},
        "spec": {"group": "memory.example.com", "scope": "Namespaced",
            "names": {"kind": "Gadget", "plural": "gadgets", "singular": "gadget", "listKind": "GadgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}}}]},
    })
}

/// All templates.
pub fn templates() -> Vec<Template> {
    let selector = json!({"matchLabels": {"app": "web"}});
    let rows = [
        ("v1", "configmaps", "ConfigMap", false, json!({"data": {"a": "1", "b": "2"}})),
        ("v1", "secrets", "Secret", false, json!({"stringData": {"a": "x"}, "data": {"b": "eQ=="}})),
        (
            "v1",
            "services",
            "Service",
            true,
            json!({"spec": {"selector": {"app": "web"}, "clusterIP": "None",
            "ports": [{"name": "web", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}]}}),
        ),
        ("v1", "serviceaccounts", "ServiceAccount", false, json!({"automountServiceAccountToken": false})),
        ("v1", "pods", "Pod", true, json!({"spec": pod_spec()})),
        (
            "v1",
            "persistentvolumeclaims",
            "PersistentVolumeClaim",
            true,
            json!({"spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}),
        ),
        (
            "v1",
            "limitranges",
            "LimitRange",
            false,
            json!({"spec": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}}),
        ),
        ("v1", "resourcequotas", "ResourceQuota", true, json!({"spec": {"hard": {"pods": "1000"}}})),
        (
            "v1",
            "endpoints",
            "Endpoints",
            false,
            json!({"subsets": [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80}]}]}),
        ),
        ("v1", "podtemplates", "PodTemplate", false, json!({"template": pod_template()})),
        (
            "v1",
            "replicationcontrollers",
            "ReplicationController",
            true,
            json!({"spec": {
            "replicas": 2, "selector": {"app": "web"}, "template": pod_template()}}),
        ),
        (
            "apps/v1",
            "deployments",
            "Deployment",
            true,
            json!({"spec": {"replicas": 2, "selector": selector, "template": pod_template()}}),
        ),
        (
            "apps/v1",
            "replicasets",
            "ReplicaSet",
            true,
            json!({"spec": {"selector": selector, "template": pod_template()}}),
        ),
        (
            "apps/v1",
            "daemonsets",
            "DaemonSet",
            true,
            json!({"spec": {"selector": selector, "template": pod_template()}}),
        ),
        (
            "apps/v1",
            "statefulsets",
            "StatefulSet",
            true,
            json!({"spec": {
            "serviceName": "web", "selector": selector, "template": pod_template()}}),
        ),
        (
            "batch/v1",
            "jobs",
            "Job",
            true,
            json!({"spec": {"template": {"spec": {"restartPolicy": "Never",
            "containers": [{"name": "job", "image": "job:1"}]}}}}),
        ),
        (
            "batch/v1",
            "cronjobs",
            "CronJob",
            true,
            json!({"spec": {"schedule": "0 * * * *", "jobTemplate": {"spec": {
            "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "job", "image": "job:1"}]}}}}}}),
        ),
        (
            "networking.k8s.io/v1",
            "ingresses",
            "Ingress",
            true,
            json!({"spec": {"rules": [{"host": "a.example.com", "http": {
            "paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}}]}}]}}),
        ),
        (
            "networking.k8s.io/v1",
            "networkpolicies",
            "NetworkPolicy",
            false,
            json!({"spec": {"podSelector": selector,
            "ingress": [{"ports": [{"port": 80}]}]}}),
        ),
        (
            "policy/v1",
            "poddisruptionbudgets",
            "PodDisruptionBudget",
            true,
            json!({"spec": {"minAvailable": 1, "selector": selector}}),
        ),
        (
            "autoscaling/v2",
            "horizontalpodautoscalers",
            "HorizontalPodAutoscaler",
            true,
            json!({"spec": {"maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}),
        ),
        (
            "rbac.authorization.k8s.io/v1",
            "roles",
            "Role",
            false,
            json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
        ),
        (
            "rbac.authorization.k8s.io/v1",
            "rolebindings",
            "RoleBinding",
            false,
            json!({
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
            "subjects": [{"kind": "ServiceAccount", "name": "s"}]}),
        ),
        (
            "coordination.k8s.io/v1",
            "leases",
            "Lease",
            false,
            json!({"spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}}),
        ),
        (
            "discovery.k8s.io/v1",
            "endpointslices",
            "EndpointSlice",
            false,
            json!({"addressType": "IPv4",
            "endpoints": [{"addresses": ["10.1.2.3"]}], "ports": [{"port": 80}]}),
        ),
        (
            "memory.example.com/v1",
            "gadgets",
            "Gadget",
            true,
            json!({"spec": {"size": 3, "text": "abc",
            "parts": [{"name": "a"}, {"name": "b", "size": 2}], "free": {"x": [1]}}}),
        ),
    ];
    rows.into_iter().map(template).collect()
}

fn template(row: (&'static str, &'static str, &'static str, bool, Value)) -> Template {
    let (api_version, plural, kind, has_status, mut object) = row;
    object["apiVersion"] = api_version.into();
    object["kind"] = kind.into();
    object["metadata"] = json!({"name": "a", "labels": {"app": "web"}});
    Template { api_version, plural, has_status, object }
}
