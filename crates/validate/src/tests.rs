//! One mistake for each rule, in objects that have no other.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use smp_text::diagnostic::Severity;
use smp_text::source::SourceMap;
use smp_text::yaml::{ParseOptions, parse_one};

/// An object in short: the kind decides what stands around what is given.
fn manifest(kind: &str, fields: &str) -> String {
    let (api_version, name) = match kind {
        "Pod"
        | "Service"
        | "Secret"
        | "ConfigMap"
        | "PersistentVolumeClaim"
        | "PersistentVolume"
        | "LimitRange"
        | "ServiceAccount"
        | "Endpoints" => ("v1", "web"),
        "Deployment" | "StatefulSet" | "DaemonSet" => ("apps/v1", "web"),
        "Job" | "CronJob" => ("batch/v1", "web"),
        "Ingress" | "NetworkPolicy" => ("networking.k8s.io/v1", "web"),
        "HorizontalPodAutoscaler" => ("autoscaling/v2", "web"),
        "PodDisruptionBudget" => ("policy/v1", "web"),
        "CustomResourceDefinition" => ("apiextensions.k8s.io/v1", "things.example.com"),
        "ValidatingWebhookConfiguration" => ("admissionregistration.k8s.io/v1", "web"),
        "Thing" => ("example.com/v1", "web"),
        _ => ("rbac.authorization.k8s.io/v1", "web"),
    };
    let metadata =
        if fields.starts_with("metadata:") { String::new() } else { format!("metadata: {{name: {name}}}, ") };
    format!("{{apiVersion: {api_version}, kind: {kind}, {metadata}{fields}}}")
}

fn pod(fields: &str) -> String {
    manifest("Pod", &format!("spec: {{containers: [{{name: c, image: i}}], {fields}}}"))
}

fn container(fields: &str) -> String {
    manifest("Pod", &format!("spec: {{containers: [{{name: c, image: i, {fields}}}]}}"))
}

fn deployment(fields: &str) -> String {
    let template = "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}";
    let selector = if fields.contains("selector:") { "" } else { "selector: {matchLabels: {a: b}}, " };
    manifest("Deployment", &format!("spec: {{{selector}{fields}, {template}}}"))
}

/// The rule, the field, and an object that breaks it there.
fn mistakes() -> Vec<(&'static str, &'static str, String)> {
    let metadata = |fields: &str| manifest("ConfigMap", &format!("metadata: {{name: web, {fields}}}"));
    let service = |fields: &str| manifest("Service", &format!("spec: {{{fields}}}"));
    let ingress = |path: &str| manifest("Ingress", &format!("spec: {{rules: [{{{path}}}]}}"));
    let claim = |fields: &str| manifest("PersistentVolumeClaim", &format!("spec: {{{fields}}}"));
    let thing = |fields: &str| manifest("Thing", &format!("spec: {{{fields}}}"));
    let job = "template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}";
    let crd = |name: &str, stored: bool| {
        format!(
            "{{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {{name: {name}}}, spec: \
             {{group: example.com, scope: Cluster, names: {{kind: Thing, plural: things}}, versions: [{{name: v1, \
             served: true, storage: {stored}, schema: {{openAPIV3Schema: {{type: object}}}}}}]}}}}"
        )
    };
    vec![
        ("unknown-field", "spec.containers[name=c].imag", container("imag: x")),
        ("wrong-type", "spec.containers[name=c].args", container("args: -a")),
        (
            "wrong-type",
            "spec.containers[name=c].env[name=A].value",
            container("env: [{name: A, value: 8080}]"),
        ),
        (
            "missing-required",
            "spec.containers[name=c].ports[0].containerPort",
            container("ports: [{name: a}]"),
        ),
        ("enum", "spec.restartPolicy", pod("restartPolicy: Sometimes")),
        ("format", "data.a", manifest("Secret", "data: {a: no-base64}")),
        ("object-name", "metadata.namespace", metadata("namespace: Prod_1")),
        (
            "number",
            "spec.containers[name=c].livenessProbe.successThreshold",
            container("livenessProbe: {tcpSocket: {port: 80}, successThreshold: 2}"),
        ),
        (
            "number",
            "spec.containers[name=c].startupProbe.successThreshold",
            container("startupProbe: {tcpSocket: {port: 80}, successThreshold: 3}"),
        ),
        (
            "request-over-limit",
            "spec.containers[name=c].resources.requests[\"a.b/gpu\"]",
            container("resources: {requests: {a.b/gpu: 1}}"),
        ),
        (
            "request-over-limit",
            "spec.containers[name=c].resources.requests[\"a.b/gpu\"]",
            container("resources: {requests: {a.b/gpu: 1}, limits: {a.b/gpu: 2}}"),
        ),
        (
            "privilege",
            "spec.securityContext.seccompProfile.localhostProfile",
            pod("securityContext: {seccompProfile: {type: Localhost}}"),
        ),
        (
            "privilege",
            "spec.containers[name=c].securityContext.seccompProfile.localhostProfile",
            container("securityContext: {seccompProfile: {type: RuntimeDefault, localhostProfile: a.json}}"),
        ),
        (
            "secret-type",
            "stringData[\".dockerconfigjson\"]",
            manifest(
                "Secret",
                "type: kubernetes.io/dockerconfigjson, stringData: {.dockerconfigjson: nothing}",
            ),
        ),
        (
            "secret-type",
            "data[\".dockercfg\"]",
            manifest("Secret", "type: kubernetes.io/dockercfg, data: {.dockercfg: bm90aGluZw==}"),
        ),
        ("null-value", "spec.name", thing("name: null, size: 1")),
        (
            "duplicate-key",
            "spec.volumes[name=a]",
            pod("volumes: [{name: a, emptyDir: {}}, {name: a, emptyDir: {}}]"),
        ),
        ("pattern", "spec.name", thing("name: UPPER, size: 1")),
        ("bounds", "spec.size", thing("size: 11")),
        ("combination", "spec.either", thing("size: 1, either: {}")),
        ("unknown-kind", "kind", "{apiVersion: apps/v1, kind: Deploymnt, metadata: {name: a}}".into()),
        (
            "removed-api",
            "apiVersion",
            "{apiVersion: extensions/v1beta1, kind: Deployment, metadata: {name: a}}".into(),
        ),
        ("object-name", "metadata.name", manifest("ConfigMap", "metadata: {name: A_b}")),
        (
            "field-name",
            "spec.containers[name=A].name",
            manifest("Pod", "spec: {containers: [{name: A, image: i}]}"),
        ),
        ("reference-name", "spec.serviceAccountName", pod("serviceAccountName: A_b")),
        ("qualified-name", "metadata.labels[\"bad key\"]", metadata("labels: {bad key: x}")),
        ("label-value", "metadata.labels.a", metadata("labels: {a: b c}")),
        (
            "annotations",
            "metadata.annotations",
            metadata(&format!("annotations: {{a: {}}}", "x".repeat(300_000))),
        ),
        ("finalizer", "metadata.finalizers[0]", metadata("finalizers: [plain]")),
        (
            "owner",
            "metadata.ownerReferences",
            metadata(
                "ownerReferences: [{apiVersion: v1, kind: Pod, name: a, uid: a, controller: true}, \
                 {apiVersion: v1, kind: Pod, name: b, uid: b, controller: true}]",
            ),
        ),
        (
            "port",
            "spec.containers[name=c].ports[containerPort=70000,protocol=TCP].containerPort",
            container("ports: [{containerPort: 70000}]"),
        ),
        (
            "port-name",
            "spec.containers[name=c].ports[1].name",
            container("ports: [{containerPort: 1, name: a}, {containerPort: 2, name: a}]"),
        ),
        (
            "host-port",
            "spec.containers[0].ports[0].hostPort",
            manifest(
                "Pod",
                "spec: {hostNetwork: true, containers: [{name: c, image: i, ports: [{containerPort: 1, hostPort: 2}]}]}",
            ),
        ),
        ("number", "spec.replicas", deployment("replicas: -1")),
        (
            "quantity",
            "spec.containers[name=c].resources.requests.cpu",
            container("resources: {requests: {cpu: -1}}"),
        ),
        (
            "resource-name",
            "spec.containers[name=c].resources.limits.cpus",
            container("resources: {limits: {cpus: 1}}"),
        ),
        (
            "request-over-limit",
            "spec.containers[name=c].resources.requests.cpu",
            container("resources: {requests: {cpu: 2}, limits: {cpu: 1500m}}"),
        ),
        ("address", "spec.hostAliases[ip=1.2.3].ip", pod("hostAliases: [{ip: 1.2.3}]")),
        ("dns", "spec.dnsPolicy", pod("dnsPolicy: None")),
        ("env-name", "spec.containers[name=c].env[name=\"a=b\"].name", container("env: [{name: a=b}]")),
        (
            "env-source",
            "spec.containers[name=c].env[name=a].valueFrom",
            container("env: [{name: a, valueFrom: {}}]"),
        ),
        ("data-key", "data.a/b", manifest("ConfigMap", "data: {a/b: x}")),
        (
            "secret-type",
            "data[\"tls.key\"]",
            manifest("Secret", "type: kubernetes.io/tls, data: {tls.crt: ''}"),
        ),
        ("image", "spec.containers[0].image", manifest("Pod", "spec: {containers: [{name: c}]}")),
        ("container-name", "spec.containers[0].name", pod("initContainers: [{name: c, image: i}]")),
        ("handler", "spec.containers[name=c].livenessProbe", container("livenessProbe: {periodSeconds: 1}")),
        (
            "privilege",
            "spec.containers[name=c].securityContext.allowPrivilegeEscalation",
            container("securityContext: {privileged: true, allowPrivilegeEscalation: false}"),
        ),
        (
            "restart-policy",
            "spec.template.spec.restartPolicy",
            manifest("Job", "spec: {template: {spec: {containers: [{name: c, image: i}]}}}"),
        ),
        (
            "volume-source",
            "spec.volumes[name=a].secret",
            pod("volumes: [{name: a, emptyDir: {}, secret: {secretName: x}}]"),
        ),
        (
            "volume-mount",
            "spec.containers[0].volumeMounts[0].name",
            container("volumeMounts: [{name: a, mountPath: /a}]"),
        ),
        (
            "mount-path",
            "spec.containers[name=c].volumeMounts[0].subPath",
            manifest(
                "Pod",
                "spec: {volumes: [{name: a, emptyDir: {}}], containers: [{name: c, image: i, volumeMounts: [{name: a, mountPath: /a, subPath: ../b}]}]}",
            ),
        ),
        (
            "requirement",
            "spec.selector.matchExpressions[0].values",
            deployment("selector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}"),
        ),
        ("toleration", "spec.tolerations[0].operator", pod("tolerations: [{effect: NoSchedule}]")),
        (
            "spread",
            "spec.topologySpreadConstraints[topologyKey=a,whenUnsatisfiable=ScheduleAnyway].minDomains",
            pod(
                "topologySpreadConstraints: [{maxSkew: 1, topologyKey: a, whenUnsatisfiable: ScheduleAnyway, minDomains: 1}]",
            ),
        ),
        ("selector-mismatch", "spec.selector.matchLabels.a", deployment("selector: {matchLabels: {a: c}}")),
        (
            "strategy",
            "spec.strategy.rollingUpdate",
            deployment("strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}"),
        ),
        ("job", "spec.completions", manifest("Job", &format!("spec: {{completionMode: Indexed, {job}}}"))),
        (
            "schedule",
            "spec.schedule",
            manifest("CronJob", &format!("spec: {{schedule: hourly, jobTemplate: {{spec: {{{job}}}}}}}")),
        ),
        ("service-ports", "spec.ports[0].name", service("ports: [{port: 1}, {port: 2, name: b}]")),
        ("service-type", "spec.ports[0].nodePort", service("ports: [{port: 1, nodePort: 30000}]")),
        ("cluster-ip", "spec.clusterIP", service("clusterIP: x, ports: [{port: 1}]")),
        ("host", "spec.rules[0].host", ingress("host: A_b")),
        (
            "ingress-path",
            "spec.rules[0].http.paths[0].path",
            ingress(
                "http: {paths: [{path: a, pathType: Prefix, backend: {service: {name: a, port: {number: 1}}}}]}",
            ),
        ),
        (
            "ingress-backend",
            "spec.rules[0].http.paths[0].backend.service.port",
            ingress("http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: a, port: {}}}}]}"),
        ),
        (
            "network-peer",
            "spec.ingress[0].from[0]",
            manifest("NetworkPolicy", "spec: {podSelector: {}, ingress: [{from: [{}]}]}"),
        ),
        (
            "replicas",
            "spec.maxReplicas",
            manifest(
                "HorizontalPodAutoscaler",
                "spec: {minReplicas: 3, maxReplicas: 2, scaleTargetRef: {kind: a, name: b}}",
            ),
        ),
        (
            "metric",
            "spec.metrics[0]",
            manifest(
                "HorizontalPodAutoscaler",
                "spec: {maxReplicas: 2, scaleTargetRef: {kind: a, name: b}, metrics: [{type: Pods}]}",
            ),
        ),
        (
            "budget",
            "spec.maxUnavailable",
            manifest("PodDisruptionBudget", "spec: {minAvailable: 1, maxUnavailable: 1}"),
        ),
        ("policy-rule", "rules[0].resources", manifest("Role", "rules: [{apiGroups: [''], verbs: [get]}]")),
        (
            "role-ref",
            "roleRef.kind",
            manifest("RoleBinding", "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Rol, name: a}"),
        ),
        (
            "subject",
            "subjects[0].namespace",
            manifest(
                "ClusterRoleBinding",
                "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a}, subjects: [{kind: ServiceAccount, name: a}]",
            ),
        ),
        ("access-modes", "spec.accessModes", claim("resources: {requests: {storage: 1Gi}}")),
        ("storage-request", "spec.resources.requests.storage", claim("accessModes: [ReadWriteOnce]")),
        (
            "limit-order",
            "spec.limits[0].min.cpu",
            manifest("LimitRange", "spec: {limits: [{type: Container, min: {cpu: 2}, max: {cpu: 1}}]}"),
        ),
        (
            "webhook",
            "webhooks[name=a.b.c].clientConfig",
            manifest(
                "ValidatingWebhookConfiguration",
                "webhooks: [{name: a.b.c, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {}}]",
            ),
        ),
        ("definition-name", "metadata.name", crd("other.example.com", true)),
        (
            "definition-schema",
            "spec.versions[0].schema.openAPIV3Schema.type",
            crd("things.example.com", true).replace("type: object", "type: ''"),
        ),
        ("definition-versions", "spec.versions", crd("things.example.com", false)),
    ]
}

fn schema() -> Schema {
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {"group": "example.com", "names": {"kind": "Thing", "plural": "things"}, "scope": "Namespaced",
            "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "metadata": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}}},
                "spec": {"type": "object", "required": ["size"],
                    "x-kubernetes-validations": [{"rule": "self.size != 5", "message": "five is too odd"}],
                    "properties": {
                        "name": {"type": "string", "pattern": "^[a-z]*$"},
                        "large": {"type": "string", "pattern": r"^[\p{L}\p{N} ]{1,1000}$"},
                        "not_large": {"type": "string", "not": {"pattern": "(?!a)"}},
                        "size": {"type": "integer", "maximum": 10},
                        "either": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                            "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
                        "any": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                        "closed": {"type": "object"},
                    }},
            }}}}]},
    });
    Schema::embedded().with_crds(&[crd]).expect("a definition")
}

fn found(text: &str, options: &ValidateOptions) -> Vec<Violation> {
    let sources = SourceMap::default();
    let id = sources.add("manifest.yaml", text);
    let node = parse_one(&sources, id, ParseOptions::kubectl()).expect(text);
    validate(&node, &schema(), options)
}

#[test]
fn each_rule_finds_its_mistake_and_nothing_else_does() {
    let options = ValidateOptions::default();
    let mut wrong = Vec::new();
    for (code, path, text) in mistakes() {
        let found = found(&text, &options);
        let got: Vec<_> = found.iter().map(|v| (v.rule.code(), v.path.to_string())).collect();
        let is_placed = found.iter().all(|v| v.severity == Severity::Error && !v.at.is_none());
        if got != [(code, path.to_string())] || !is_placed {
            wrong.push(format!("{code} at {path}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_rule_has_a_mistake() {
    let tried: BTreeSet<&str> = mistakes().into_iter().map(|(code, ..)| code).collect();
    // These two have tests of their own.
    let untried = ViolationRule::ALL.iter().map(|rule| rule.code()).filter(|code| !tried.contains(code));
    assert_eq!(untried.collect::<Vec<_>>(), ["cel", "deprecated-api"]);
    let codes: BTreeSet<_> = ViolationRule::ALL.iter().map(|rule| rule.code()).collect();
    assert_eq!(codes.len(), ViolationRule::ALL.len());
    assert!(ViolationRule::ALL.iter().all(|rule| rule.doc().ends_with('.')));
}

#[test]
fn what_servers_take_is_no_mistake() {
    let options = ValidateOptions::default();
    let fine = [
        container("ports: [{containerPort: 1.0}]"),
        container("resources: {requests: {cpu: 1}, limits: {cpu: 1.5}}"),
        container("args: null, env: [{name: A, value: null}]"),
        container("livenessProbe: {httpGet: {port: http}}"),
        manifest(
            "Pod",
            "metadata: {generateName: a-, creationTimestamp: null}, spec: {containers: [{name: c, image: i}]}",
        ),
        manifest("Service", "spec: {ports: [{port: 1, targetPort: http}]}"),
        manifest("Thing", "spec: {size: 1, any: {a: [1]}}"),
        manifest("Secret", "data: {a: null}"),
        "{apiVersion: v1, kind: List, items: [{}]}".into(),
        "{apiVersion: other.example.com/v1, kind: Unknown, metadata: {name: a}, spec: {a: 1}}".into(),
    ];
    for text in fine {
        assert_eq!(found(&text, &options), [], "{text}");
    }
}

#[test]
fn versions_end_with_releases() {
    let text = "{apiVersion: autoscaling/v2beta2, kind: HorizontalPodAutoscaler, metadata: {name: a}, spec: \
        {maxReplicas: 1, scaleTargetRef: {kind: a, name: b}}}";
    let of = |minor| found(text, &ValidateOptions::for_kubernetes(1, minor)).into_iter().next();
    assert_eq!(of(22), None);
    let (deprecated, removed) = (of(25).expect("deprecated"), of(26).expect("removed"));
    assert_eq!((deprecated.rule, deprecated.severity), (ViolationRule::DeprecatedApi, Severity::Warning));
    assert_eq!((removed.rule, removed.severity), (ViolationRule::RemovedApi, Severity::Error));
    assert_eq!(removed.help.as_deref(), Some("use autoscaling/v2"));
}

#[test]
fn equal_keys_that_only_server_side_apply_refuses_are_warnings() {
    let found = found(&container("env: [{name: A}, {name: A}]"), &ValidateOptions::default());
    assert_eq!((found[0].rule, found[0].severity), (ViolationRule::DuplicateKey, Severity::Warning));
}

#[test]
fn definitions_say_more_of_custom_resources() {
    let options = ValidateOptions::default();
    let rules = |text: &str| found(text, &options).iter().map(|v| v.rule.code()).collect::<Vec<_>>();
    assert_eq!(rules(&manifest("Thing", "spec: {size: 1, closed: {a: 1}}")), ["unknown-field"]);
    assert_eq!(rules(&manifest("Thing", "metadata: {name: far-too-long}, spec: {size: 1}")), ["bounds"]);
    assert_eq!(rules(&manifest("Thing", "spec: {}"))[0], "missing-required");
    let five = found(&manifest("Thing", "spec: {size: 5}"), &options);
    assert_eq!(five.len(), 1, "{five:?}");
    if cfg!(feature = "cel") {
        assert_eq!((five[0].message.as_str(), five[0].severity), ("five is too odd", Severity::Error));
    } else {
        assert_eq!(five[0].severity, Severity::Note, "never passed in silence");
    }
}

#[test]
fn patterns_that_cannot_be_asked_are_noted() {
    for field in ["large: abc", "not_large: abc"] {
        let found =
            found(&manifest("Thing", &format!("spec: {{size: 1, {field}}}")), &ValidateOptions::default());
        let [note] = found.as_slice() else { panic!("{field}: {found:?}") };
        assert_eq!((note.rule, note.severity), (ViolationRule::Pattern, Severity::Note));
        assert!(note.message.contains("was not checked: ") && note.help.is_some() && !note.at.is_none());
        assert!(!note.message.contains("abc"), "it quotes no value");
    }
}

#[test]
fn help_names_what_was_meant_and_messages_quote_no_values() {
    let found = |text: &str| found(text, &ValidateOptions::default()).remove(0);
    assert_eq!(
        found(&container("imagePullPolcy: x")).help.as_deref(),
        Some("did you mean `imagePullPolicy`?")
    );
    assert_eq!(found(&pod("restartPolicy: Alwys")).help.as_deref(), Some("did you mean `Always`?"));
    let secret = found(&manifest("Secret", "stringData: {a: 1234567}"));
    assert!(!format!("{secret:?}").contains("1234567"));
    let diagnostic = secret.into_diagnostic();
    assert_eq!(diagnostic.field_path(), Some("stringData.a"));
}
