//! Widespread custom resources, with statuses as their controllers write them: none is ready too early, and every
//! one becomes ready.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::rig::{Rig, eventually};

/// A kind: its group, name and plural; the readiness annotation for kinds without a Ready condition; the status
/// that its controller writes in progress, and when done.
type Custom = (&'static str, &'static str, &'static str, &'static str, &'static str, &'static str);

const NOT_READY: &str =
    r#"{"conditions": [{"type": "Ready", "status": "False", "reason": "Pending", "message": "soon"}]}"#;
const READY: &str = r#"{"conditions": [{"type": "Ready", "status": "True", "reason": "Ready"}]}"#;
const SEEN_NOT_READY: &str = r#"{"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "Unknown", "reason": "Progressing", "observedGeneration": 1}]}"#;
const SEEN_READY: &str = r#"{"observedGeneration": 1, "conditions": [{"type": "Ready", "status": "True", "reason": "Succeeded", "observedGeneration": 1}]}"#;
const RECONCILING: &str = r#"{"observedGeneration": 1, "conditions": [{"type": "Reconciling", "status": "True", "reason": "Progressing"},
    {"type": "Ready", "status": "Unknown", "reason": "Progressing"}]}"#;
const NOT_SEEN: &str = r#"{"observedGeneration": -1}"#;
const PROGRAMMED_NOT: &str = r#"{"conditions": [{"type": "Accepted", "status": "True"}, {"type": "Programmed", "status": "False", "reason": "Pending"}]}"#;
const PROGRAMMED: &str =
    r#"{"conditions": [{"type": "Accepted", "status": "True"}, {"type": "Programmed", "status": "True"}]}"#;

const CUSTOM: [Custom; 30] = [
    (
        "cert-manager.io",
        "Certificate",
        "certificates",
        "",
        r#"{"conditions": [{"type": "Issuing", "status": "True"}, {"type": "Ready", "status": "False", "reason": "DoesNotExist", "observedGeneration": 1}]}"#,
        r#"{"notAfter": "2030-01-01T00:00:00Z", "conditions": [{"type": "Ready", "status": "True", "observedGeneration": 1}]}"#,
    ),
    ("cert-manager.io", "Issuer", "issuers", "", NOT_READY, READY),
    ("cert-manager.io", "ClusterIssuer", "clusterissuers", "", NOT_READY, READY),
    ("source.toolkit.fluxcd.io", "GitRepository", "gitrepositories", "", NOT_SEEN, SEEN_READY),
    ("source.toolkit.fluxcd.io", "OCIRepository", "ocirepositories", "", RECONCILING, SEEN_READY),
    ("source.toolkit.fluxcd.io", "HelmRepository", "helmrepositories", "", RECONCILING, SEEN_READY),
    ("kustomize.toolkit.fluxcd.io", "Kustomization", "kustomizations", "", RECONCILING, SEEN_READY),
    ("helm.toolkit.fluxcd.io", "HelmRelease", "helmreleases", "", RECONCILING, SEEN_READY),
    (
        "argoproj.io",
        "Application",
        "applications",
        "{.status.health.status}=Healthy",
        r#"{"health": {"status": "Progressing"}, "sync": {"status": "Synced"}}"#,
        r#"{"health": {"status": "Healthy"}, "sync": {"status": "Synced"}}"#,
    ),
    (
        "argoproj.io",
        "Rollout",
        "rollouts",
        "{.status.phase}=Healthy",
        r#"{"observedGeneration": "1", "phase": "Progressing"}"#,
        r#"{"observedGeneration": "1", "phase": "Healthy"}"#,
    ),
    (
        "argoproj.io",
        "Workflow",
        "workflows",
        "{.status.phase}=Succeeded",
        r#"{"phase": "Running"}"#,
        r#"{"phase": "Succeeded"}"#,
    ),
    (
        "postgresql.cnpg.io",
        "Cluster",
        "clusters",
        "",
        r#"{"phase": "Setting up primary", "conditions": [{"type": "Ready", "status": "False", "reason": "ClusterIsNotReady"}]}"#,
        r#"{"phase": "Cluster in healthy state", "conditions": [{"type": "Ready", "status": "True", "reason": "ClusterIsReady"}]}"#,
    ),
    ("gateway.networking.k8s.io", "Gateway", "gateways", "condition=Programmed", PROGRAMMED_NOT, PROGRAMMED),
    (
        "gateway.networking.k8s.io",
        "HTTPRoute",
        "httproutes",
        "{.status.parents[0].conditions[?(@.type==\"Accepted\")].status}=True",
        r#"{"parents": [{"conditions": [{"type": "Accepted", "status": "False"}]}]}"#,
        r#"{"parents": [{"conditions": [{"type": "Accepted", "status": "True"}]}]}"#,
    ),
    (
        "keda.sh",
        "ScaledObject",
        "scaledobjects",
        "",
        NOT_READY,
        r#"{"conditions": [{"type": "Ready", "status": "True"}, {"type": "Active", "status": "False"}]}"#,
    ),
    ("serving.knative.dev", "Service", "services", "", SEEN_NOT_READY, SEEN_READY),
    ("serving.knative.dev", "Revision", "revisions", "", SEEN_NOT_READY, SEEN_READY),
    ("eventing.knative.dev", "Broker", "brokers", "", SEEN_NOT_READY, SEEN_READY),
    (
        "external-secrets.io",
        "ExternalSecret",
        "externalsecrets",
        "",
        r#"{"conditions": [{"type": "Ready", "status": "False", "reason": "SecretSyncedError"}]}"#,
        READY,
    ),
    ("external-secrets.io", "SecretStore", "secretstores", "", NOT_READY, READY),
    (
        "monitoring.coreos.com",
        "Prometheus",
        "prometheuses",
        "condition=Available",
        r#"{"conditions": [{"type": "Available", "status": "False"}, {"type": "Reconciled", "status": "True"}]}"#,
        r#"{"conditions": [{"type": "Available", "status": "True"}]}"#,
    ),
    (
        "monitoring.coreos.com",
        "Alertmanager",
        "alertmanagers",
        "condition=Available",
        r#"{"conditions": [{"type": "Available", "status": "Degraded"}]}"#,
        r#"{"conditions": [{"type": "Available", "status": "True"}]}"#,
    ),
    ("kafka.strimzi.io", "Kafka", "kafkas", "", r#"{"observedGeneration": 0, "conditions": []}"#, SEEN_READY),
    ("kafka.strimzi.io", "KafkaTopic", "kafkatopics", "", NOT_READY, SEEN_READY),
    (
        "pkg.crossplane.io",
        "Provider",
        "providers",
        "condition=Healthy",
        r#"{"conditions": [{"type": "Installed", "status": "True"}, {"type": "Healthy", "status": "Unknown"}]}"#,
        r#"{"conditions": [{"type": "Installed", "status": "True"}, {"type": "Healthy", "status": "True"}]}"#,
    ),
    ("cluster.x-k8s.io", "Cluster", "clusters", "", SEEN_NOT_READY, SEEN_READY),
    ("cluster.x-k8s.io", "MachineDeployment", "machinedeployments", "", NOT_READY, SEEN_READY),
    (
        "kueue.x-k8s.io",
        "ClusterQueue",
        "clusterqueues",
        "condition=Active",
        r#"{"conditions": [{"type": "Active", "status": "False", "reason": "FlavorNotFound"}]}"#,
        r#"{"conditions": [{"type": "Active", "status": "True"}]}"#,
    ),
    ("serving.kserve.io", "InferenceService", "inferenceservices", "", SEEN_NOT_READY, SEEN_READY),
    (
        "rook.io",
        "CephCluster",
        "cephclusters",
        "{.status.phase}=Ready",
        r#"{"phase": "Progressing", "conditions": [{"type": "Progressing", "status": "True"}]}"#,
        r#"{"phase": "Ready", "conditions": [{"type": "Ready", "status": "True"}]}"#,
    ),
];

/// An API group that only this test uses.
fn group(rig: &Rig, group: &str) -> String {
    format!("{group}.{}.example.com", rig.name)
}

fn definition(rig: &Rig, (of, kind, plural, ..): &Custom) -> Value {
    let group = group(rig, of);
    let (names, open) = (
        json!({"kind": kind, "plural": plural}),
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
    );
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}});
    let version = json!({"name": "v1", "served": true, "storage": true, "subresources": {"status": {}}, "schema": schema});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}})
}

fn object(rig: &Rig, (of, kind, _, rule, ..): &Custom) -> Value {
    let mut metadata = json!({"name": "it", "namespace": rig.name});
    if !rule.is_empty() {
        metadata["annotations"] = json!({"smp.kubectl.dev/ready": rule});
    }
    json!({"apiVersion": format!("{}/v1", group(rig, of)), "kind": kind, "metadata": metadata, "spec": {"a": 1}})
}

fn documents(values: impl Iterator<Item = Value>) -> String {
    values.fold(String::new(), |mut text, value| {
        let _ = writeln!(text, "---\n{value}");
        text
    })
}

fn write_status(rig: &Rig, custom: &Custom, status: &str) {
    let resource = format!("{}.{}/it", custom.2, group(rig, custom.0));
    let patch = format!(r#"{{"status": {status}}}"#);
    eventually(&resource, || {
        rig.try_kubectl(&[
            "-n",
            &rig.name,
            "patch",
            &resource,
            "--subresource=status",
            "--type=merge",
            "-p",
            &patch,
        ])
        .status
            == 0
    });
}

#[test]
#[ignore = "needs an API server, see .ci/tools"]
fn popular_custom_resources_become_ready_with_their_status() {
    let rig = Rig::new();
    rig.create_namespace();
    rig.file("crds.yaml", &documents(CUSTOM.iter().map(|custom| definition(&rig, custom))));
    rig.file("all.yaml", &documents(CUSTOM.iter().map(|custom| object(&rig, custom))));
    rig.smp(&["apply", "-f", "crds.yaml", "--wait"]).ended(0);
    rig.smp(&["apply", "-f", "all.yaml"]).ended(0);

    let all_are_unready = |how: &str| {
        let ran = rig.smp(&["wait", "-f", "all.yaml", "--strict-wait", "--timeout=0"]).ended(1);
        let not_ready = ran.stderr.matches("is not ready: ").count();
        assert_eq!(not_ready, CUSTOM.len(), "{how}: {}", ran.stderr);
    };
    all_are_unready("without a status");
    for custom in &CUSTOM {
        write_status(&rig, custom, custom.4);
    }
    all_are_unready("on the way");
    let ran = rig.smp(&["wait", "-f", "all.yaml", "--timeout=0"]).ended(1);
    assert_eq!(ran.stderr.matches("is not ready: ").count(), CUSTOM.len(), "strict or not: {}", ran.stderr);
    for custom in &CUSTOM {
        write_status(&rig, custom, custom.5);
    }
    let ran = rig.smp(&["wait", "-f", "all.yaml", "--strict-wait", "--timeout=60s"]).ended(0);
    assert!(ran.stderr.contains("30 objects are ready"), "{}", ran.stderr);

    let ran = rig.smp(&["delete", "-f", "all.yaml", "-f", "crds.yaml", "--timeout=2m"]).ended(0);
    assert!(ran.stderr.contains("60 objects: 60 deleted"), "{}", ran.stderr);
}
