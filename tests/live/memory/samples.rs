//! Objects of all built-in kinds, of which the servers make tables.

use kubectl_smp_testing::dice::Dice;
use serde_json::{Value, json};

use super::templates::templates;

/// A certificate signing request for the name `test`.
const REQUEST: &str = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISk1IRUNBUUF3RHpFTk1Bc0dBMVVFQXd3RWRHVnpkREJaTUJNR0J5cUdTTTQ5QWdFR0NDcUdTTTQ5QXdFSApBMElBQk5sT2hsNXEwZ3JrdzVPNXZzMnUxNE1qaWUvV0F6Y1c1azdzRW5GTEJjNTU2U1hNYkQrb2JBRHZPRzJaCktBQXIxK2tYbndPYmpnZTRRSzJ4eWhaSXJCaWdBREFLQmdncWhrak9QUVFEQWdOSUFEQkZBaUJaVmVKWkQwSEIKN09QMUN5YW9ETFBTS0R6TXFFM1RLaXpLZnRDeFU2aTV6UUloQVAwMXlsQkJoUytKaDFoRE15TjhFSG5xUSsxSgpJUWxOSDVPUjlaMkR5NFJQCi0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo=";

const ADMISSION: &str = "admissionregistration.k8s.io/v1";

/// An object to create.
pub struct Sample {
    pub plural: &'static str,
    pub namespace: Option<String>,
    pub object: Value,
}

impl Sample {
    pub fn collection(&self) -> String {
        let api_version = self.object["apiVersion"].as_str().unwrap_or_default();
        let root = if api_version.contains('/') { "apis" } else { "api" };
        let namespace =
            self.namespace.as_ref().map_or_else(String::new, |name| format!("/namespaces/{name}"));
        format!("/{root}/{api_version}{namespace}/{}", self.plural)
    }

    pub fn path(&self) -> String {
        format!("{}/{}", self.collection(), self.object["metadata"]["name"].as_str().unwrap_or_default())
    }
}

/// Returns an object of each kind, with random parts.
pub fn samples(name: &str, seed: u64) -> Vec<Sample> {
    let mut dice = Dice::new(seed);
    let named = format!("{name}-{seed}");
    let mut all = Vec::new();
    for template in templates() {
        let mut object = template.object.clone();
        object["metadata"]["name"] = json!(format!("a{seed}"));
        vary(&mut dice, &mut object);
        all.push(Sample { plural: template.plural, namespace: Some(name.into()), object });
    }
    let is_namespaced = [true, false];
    for (is_namespaced, rows) in
        is_namespaced.into_iter().zip([namespaced(&mut dice), cluster_wide(&mut dice, &named)])
    {
        for (api_version, plural, kind, mut object) in rows {
            object["apiVersion"] = api_version.into();
            object["kind"] = kind.into();
            if object["metadata"]["name"].is_null() {
                object["metadata"]["name"] = named.as_str().into();
            }
            if is_namespaced && kind == "Event" {
                let field = if api_version == "v1" { "involvedObject" } else { "regarding" };
                object[field]["namespace"] = name.into();
            }
            vary(&mut dice, &mut object);
            all.push(Sample { plural, namespace: is_namespaced.then(|| name.into()), object });
        }
    }
    all
}

type Row = (&'static str, &'static str, &'static str, Value);

fn namespaced(dice: &mut Dice) -> Vec<Row> {
    let claim =
        json!({"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "a.example.com"}}]}});
    let owner = json!([{"apiVersion": dice.pick(&["apps/v1", "v1"]), "kind": "StatefulSet", "name": "web", "uid": "u", "controller": dice.one_in(2)}]);
    let regarding = json!({"kind": dice.pick(&["Pod", "Node"]), "name": dice.pick(&["web", ""]), "fieldPath": dice.pick(&["", "spec.x"])});
    let reference = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    vec![
        (
            "apps/v1",
            "controllerrevisions",
            "ControllerRevision",
            json!({"revision": dice.below(5), "data": {}, "metadata": {"ownerReferences": owner}}),
        ),
        ("resource.k8s.io/v1", "resourceclaims", "ResourceClaim", json!({"spec": claim})),
        (
            "resource.k8s.io/v1",
            "resourceclaimtemplates",
            "ResourceClaimTemplate",
            json!({"spec": {"spec": claim}}),
        ),
        (
            "storage.k8s.io/v1",
            "csistoragecapacities",
            "CSIStorageCapacity",
            json!({"storageClassName": "a", "capacity": "1Gi"}),
        ),
        (
            "autoscaling/v1",
            "horizontalpodautoscalers",
            "HorizontalPodAutoscaler",
            json!({"spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 10 + dice.below(90), "scaleTargetRef": reference}}),
        ),
        ("v1", "events", "Event", core_event(dice, &regarding)),
        (
            "events.k8s.io/v1",
            "events",
            "Event",
            json!({"metadata": {"name": format!("e{}", dice.below(1_000_000))}, "regarding": regarding, "note": " text ", "reason": "Started", "action": "Start",
            "type": dice.pick(&["Normal", "Warning"]), "eventTime": "2020-01-02T03:04:05.000000Z", "reportingController": "example.com/c", "reportingInstance": "i"}),
        ),
    ]
}

fn core_event(dice: &mut Dice, regarding: &Value) -> Value {
    let time = |dice: &mut Dice| {
        dice.pick(&["2019-01-01T00:00:00Z", "2021-05-05T05:05:05Z", "2026-01-01T00:00:00Z"])
    };
    let mut event =
        json!({"involvedObject": regarding, "message": " a text\n", "reason": "Killing", "type": "Normal"});
    for field in ["firstTimestamp", "lastTimestamp"] {
        if !dice.one_in(3) {
            event[field] = time(dice).into();
        }
    }
    if dice.one_in(2) {
        event["source"] = json!({"component": "kubelet", "host": dice.pick(&["", "node-1"])});
    }
    if dice.one_in(2) {
        event["count"] = dice.below(9).into();
    }
    if dice.one_in(3) {
        event["series"] = json!({"count": 4, "lastObservedTime": "2022-01-02T03:04:05.000000Z"});
    }
    event
}

fn cluster_wide(dice: &mut Dice, name: &str) -> Vec<Row> {
    let mut rows = access(dice);
    rows.extend(storage(dice, name));
    let labels = json!({"node-role.kubernetes.io/worker": "", dice.pick(&["kubernetes.io/role", "other"]): dice.pick(&["infra", "worker"])});
    let parent = json!({"group": dice.pick(&["", "apps"]), "resource": "services", "namespace": dice.pick(&["", "default"]), "name": "web"});
    let address = format!("10.9.{}.{}", 1 + dice.below(200), 1 + dice.below(200));
    let annotation = |value: &str| json!({"ingressclass.kubernetes.io/is-default-class": value});
    let parameters =
        json!({"apiGroup": "example.com", "kind": "Parameters", "name": "p", "scope": "Cluster"});
    rows.extend([
        ("v1", "namespaces", "Namespace", json!({})),
        ("v1", "nodes", "Node", json!({"metadata": {"labels": labels}, "spec": {"unschedulable": dice.one_in(2)}})),
        ("flowcontrol.apiserver.k8s.io/v1", "flowschemas", "FlowSchema", json!({"spec": {"priorityLevelConfiguration": {"name": "catch-all"}, "matchingPrecedence": 9000, "distinguisherMethod": {"type": dice.pick(&["ByUser", "ByNamespace"])}}})),
        ("flowcontrol.apiserver.k8s.io/v1", "prioritylevelconfigurations", "PriorityLevelConfiguration", level(dice)),
        ("networking.k8s.io/v1", "ingressclasses", "IngressClass", json!({"metadata": {"annotations": annotation(dice.pick(&["true", "false"]))}, "spec": {"controller": "example.com/c", "parameters": if dice.one_in(2) { parameters } else { Value::Null }}})),
        ("networking.k8s.io/v1", "ipaddresses", "IPAddress", json!({"metadata": {"name": address}, "spec": {"parentRef": parent}})),
        ("networking.k8s.io/v1", "servicecidrs", "ServiceCIDR", json!({"spec": {"cidrs": ["10.0.77.0/24"]}})),
        ("node.k8s.io/v1", "runtimeclasses", "RuntimeClass", json!({"handler": "runc"})),
        ("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", json!({"value": dice.below(100), "preemptionPolicy": dice.pick(&["Never", "PreemptLowerPriority"])})),
        ("resource.k8s.io/v1", "deviceclasses", "DeviceClass", json!({"spec": {}})),
        ("resource.k8s.io/v1", "resourceslices", "ResourceSlice", json!({"spec": {"driver": "a.example.com", "nodeName": "node-1", "pool": {"name": "pool", "generation": 1, "resourceSliceCount": 1}, "devices": []}})),
    ]);
    rows
}

fn level(dice: &mut Dice) -> Value {
    let queuing = json!({"queues": 64, "handSize": 6, "queueLengthLimit": 50});
    let response =
        if dice.one_in(2) { json!({"type": "Queue", "queuing": queuing}) } else { json!({"type": "Reject"}) };
    json!({"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 20, "limitResponse": response}}})
}

fn access(dice: &mut Dice) -> Vec<Row> {
    let subject = |kind: &str, name: &str| match kind {
        "ServiceAccount" => json!({"kind": kind, "name": name, "namespace": "default"}),
        _ => json!({"kind": kind, "name": name, "apiGroup": "rbac.authorization.k8s.io"}),
    };
    let kinds = ["User", "Group", "ServiceAccount"];
    let subjects: Vec<Value> = ["a", "b", "c", "d"].map(|name| subject(dice.pick(&kinds), name)).into();
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"});
    let webhook = |name: &str| json!({"name": format!("{name}.example.com"), "admissionReviewVersions": ["v1"], "sideEffects": "None", "clientConfig": {"url": "https://127.0.0.1:1/"}});
    let webhooks: Vec<Value> = (0..dice.below(3)).map(|index| webhook(&format!("w{index}"))).collect();
    let rules = json!({"resourceRules": [{"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["nothings"]}]});
    let parameters =
        if dice.one_in(2) { json!({"apiVersion": "v1", "kind": "ConfigMap"}) } else { Value::Null };
    let mutation =
        json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}});
    let binding = |dice: &mut Dice, spec: Value| {
        let mut spec = spec;
        spec["policyName"] = "none.example.com".into();
        let selector = json!({"matchLabels": {"b": "c", "a": "x"}, "matchExpressions": [{"key": "k", "operator": "In", "values": ["y", "x"]}]});
        let references = [
            json!({"name": "n"}),
            json!({"name": "n", "namespace": "default"}),
            json!({"selector": selector}),
            Value::Null,
        ];
        let mut reference = references[dice.below(4)].clone();
        if reference.is_object() {
            reference["parameterNotFoundAction"] = "Allow".into();
        }
        spec["paramRef"] = reference;
        json!({"spec": spec})
    };
    vec![
        (
            "rbac.authorization.k8s.io/v1",
            "clusterroles",
            "ClusterRole",
            json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
        ),
        (
            "rbac.authorization.k8s.io/v1",
            "clusterrolebindings",
            "ClusterRoleBinding",
            json!({"roleRef": role, "subjects": subjects}),
        ),
        (
            ADMISSION,
            "validatingwebhookconfigurations",
            "ValidatingWebhookConfiguration",
            json!({"webhooks": webhooks}),
        ),
        (
            ADMISSION,
            "mutatingwebhookconfigurations",
            "MutatingWebhookConfiguration",
            json!({"webhooks": webhooks}),
        ),
        (
            ADMISSION,
            "validatingadmissionpolicies",
            "ValidatingAdmissionPolicy",
            json!({"spec": {"paramKind": parameters, "matchConstraints": rules, "validations": [{"expression": "true"}]}}),
        ),
        (
            ADMISSION,
            "mutatingadmissionpolicies",
            "MutatingAdmissionPolicy",
            json!({"spec": {"paramKind": parameters, "reinvocationPolicy": "Never", "matchConstraints": rules, "mutations": [mutation]}}),
        ),
        (
            ADMISSION,
            "validatingadmissionpolicybindings",
            "ValidatingAdmissionPolicyBinding",
            binding(dice, json!({"validationActions": ["Deny"]})),
        ),
        (
            ADMISSION,
            "mutatingadmissionpolicybindings",
            "MutatingAdmissionPolicyBinding",
            binding(dice, json!({})),
        ),
        (
            "certificates.k8s.io/v1",
            "certificatesigningrequests",
            "CertificateSigningRequest",
            json!({"spec": {"request": REQUEST, "signerName": "example.com/signer", "usages": ["digital signature"], "expirationSeconds": if dice.one_in(2) { json!(7200) } else { Value::Null }}}),
        ),
    ]
}

fn storage(dice: &mut Dice, name: &str) -> Vec<Row> {
    let mode = dice.pick(&["ReadWriteMany", "ReadOnlyMany"]);
    let volume = json!({"capacity": {"storage": "1024Mi"}, "accessModes": [mode, "ReadWriteOnce"], "hostPath": {"path": "/x"}, "storageClassName": dice.pick(&["", "fast"]),
        "claimRef": if dice.one_in(2) { json!({"namespace": "default", "name": "c"}) } else { Value::Null }});
    let annotation = |value: &str| json!({"storageclass.kubernetes.io/is-default-class": value});
    let driver = json!({"attachRequired": dice.one_in(2), "volumeLifecycleModes": ["Persistent", "Ephemeral"], "tokenRequests": if dice.one_in(2) { json!([{"audience": "a"}, {"audience": "b"}]) } else { Value::Null }});
    vec![
        ("v1", "persistentvolumes", "PersistentVolume", json!({"spec": volume})),
        (
            "storage.k8s.io/v1",
            "storageclasses",
            "StorageClass",
            json!({"metadata": {"annotations": annotation(dice.pick(&["true", "false"]))}, "provisioner": "a.example.com", "allowVolumeExpansion": dice.one_in(2)}),
        ),
        (
            "storage.k8s.io/v1",
            "volumeattributesclasses",
            "VolumeAttributesClass",
            json!({"driverName": "a.example.com", "parameters": {"a": "b"}}),
        ),
        (
            "storage.k8s.io/v1",
            "volumeattachments",
            "VolumeAttachment",
            json!({"spec": {"attacher": "a.example.com", "nodeName": "node-1", "source": {"persistentVolumeName": name}}}),
        ),
        (
            "storage.k8s.io/v1",
            "csinodes",
            "CSINode",
            json!({"spec": {"drivers": [{"name": "a.example.com", "nodeID": "n", "topologyKeys": []}]}}),
        ),
        ("storage.k8s.io/v1", "csidrivers", "CSIDriver", json!({"spec": driver})),
    ]
}

/// Changes an object in ways that columns show.
fn vary(dice: &mut Dice, object: &mut Value) {
    let kind = object["kind"].as_str().unwrap_or_default().to_string();
    let finalized =
        ["Pod", "PersistentVolume", "PersistentVolumeClaim", "ResourceClaim", "Job", "Deployment"];
    if finalized.contains(&&*kind) && dice.one_in(4) {
        object["metadata"]["finalizers"] = json!(["example.com/f"]);
    }
    let is_new = object["apiVersion"] == "autoscaling/v2";
    let spec = &mut object["spec"];
    match &*kind {
        "Pod" => vary_pod(dice, spec),
        "Service" => vary_service(dice, spec),
        "Ingress" => {
            let host = spec["rules"][0].clone();
            spec["rules"] = vec![host; 1 + dice.below(5)].into();
            if dice.one_in(2) {
                spec["ingressClassName"] = "nginx".into();
                spec["tls"] = json!([{"hosts": ["a.example.com"]}]);
            }
        }
        "Deployment" | "ReplicaSet" | "DaemonSet" if dice.one_in(2) => {
            spec["selector"]["matchExpressions"] = json!([{"key": "app", "operator": "In", "values": ["web", "a"]}, {"key": "a", "operator": "DoesNotExist"}]);
        }
        "PodDisruptionBudget" if dice.one_in(2) => *spec = json!({"maxUnavailable": "10%", "selector": {}}),
        "NetworkPolicy" if dice.one_in(2) => spec["podSelector"] = json!({}),
        "CronJob" => {
            spec["timeZone"] = if dice.one_in(2) { "Etc/UTC".into() } else { Value::Null };
            spec["suspend"] = dice.one_in(2).into();
        }
        "Job" => {
            spec["parallelism"] = dice.below(4).into();
            spec["completions"] = if dice.one_in(2) { json!(3) } else { Value::Null };
        }
        "PersistentVolumeClaim" => {
            spec["volumeName"] = if dice.one_in(2) { "v".into() } else { Value::Null };
            spec["storageClassName"] = if dice.one_in(2) { "fast".into() } else { Value::Null };
        }
        "HorizontalPodAutoscaler" if is_new => spec["metrics"] = metrics(dice),
        "Endpoints" => object["subsets"] = subsets(dice),
        "EndpointSlice" => {
            let addresses: Vec<Value> = (0..dice.below(6))
                .map(|index| json!({"addresses": [format!("10.1.2.{}", index + 1)]}))
                .collect();
            object["endpoints"] = addresses.into();
            let several = json!([{"port": 80}, {"name": "b", "port": 81}, {"name": "c", "port": 82}, {"name": "d", "port": 83}]);
            object["ports"] = [json!([]), json!([{"name": "a"}]), several][dice.below(3)].clone();
        }
        "ConfigMap" => object["binaryData"] = json!({"z": "eQ=="}),
        _ => {}
    }
}

fn vary_pod(dice: &mut Dice, spec: &mut Value) {
    let restart = dice.pick(&["", "Always"]);
    let restart = if restart.is_empty() { Value::Null } else { restart.into() };
    spec["initContainers"] =
        json!([{"name": "one", "image": "i", "restartPolicy": restart}, {"name": "two", "image": "i"}]);
    if dice.one_in(2) {
        spec["nodeName"] = "node-1".into();
    }
    if dice.one_in(2) {
        spec["readinessGates"] =
            json!([{"conditionType": "example.com/a"}, {"conditionType": "example.com/b"}]);
    }
    if dice.one_in(3) {
        spec["initContainers"] = Value::Null;
    }
}

fn vary_service(dice: &mut Dice, spec: &mut Value) {
    let kind = dice.pick(&["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]);
    spec["type"] = kind.into();
    spec["clusterIP"] = if kind == "ClusterIP" && dice.one_in(2) { "None".into() } else { Value::Null };
    if kind == "ExternalName" {
        spec["externalName"] = "www.example.com".into();
    } else if dice.one_in(2) {
        spec["externalIPs"] = json!(["192.168.1.2", "192.168.1.3"]);
    }
}

fn subsets(dice: &mut Dice) -> Value {
    let addresses: Vec<Value> =
        (0..=dice.below(4)).map(|index| json!({"ip": format!("10.1.2.{}", index + 1)})).collect();
    let ports =
        [json!([]), json!([{"port": 80}]), json!([{"name": "a", "port": 80}, {"name": "b", "port": 443}])];
    let subset = json!({"addresses": addresses, "ports": ports[dice.below(3)]});
    if dice.one_in(4) { json!([]) } else { vec![subset; 1 + dice.below(2)].into() }
}

fn metrics(dice: &mut Dice) -> Value {
    let target = |kind: &str| match kind {
        "Utilization" => json!({"type": kind, "averageUtilization": 80}),
        "Value" => json!({"type": kind, "value": "2500m"}),
        _ => json!({"type": kind, "averageValue": "100Mi"}),
    };
    let object = json!({"kind": "Service", "name": "web", "apiVersion": "v1"});
    let all = [
        json!({"type": "Resource", "resource": {"name": "cpu", "target": target(dice.pick(&["Utilization", "AverageValue"]))}}),
        json!({"type": "ContainerResource", "containerResource": {"name": "memory", "container": "web", "target": target(dice.pick(&["Utilization", "AverageValue"]))}}),
        json!({"type": "Pods", "pods": {"metric": {"name": "m"}, "target": target("AverageValue")}}),
        json!({"type": "Object", "object": {"metric": {"name": "m"}, "describedObject": object, "target": target(dice.pick(&["Value", "AverageValue"]))}}),
        json!({"type": "External", "external": {"metric": {"name": "m"}, "target": target(dice.pick(&["Value", "AverageValue"]))}}),
    ];
    (0..=dice.below(3)).map(|_| all[dice.below(all.len())].clone()).collect()
}
