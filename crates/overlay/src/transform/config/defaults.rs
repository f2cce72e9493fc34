//! kustomize's built-in field specs, as of 5.8.3.

use crate::transform::field_spec::{FieldSpec, NameBackReference};

/// Group, version, kind, path, and `create`.
type Row = (&'static str, &'static str, &'static str, &'static str, bool);

fn specs(rows: &[Row]) -> Vec<FieldSpec> {
    let spec = |&(group, version, kind, path, create): &Row| FieldSpec {
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        path: path.into(),
        create,
    };
    rows.iter().map(spec).collect()
}

/// Returns field specs for `paths` below each of `parents` (kind and path).
fn below(parents: &[(&str, &str)], paths: &[&str]) -> Vec<FieldSpec> {
    let spec = |(kind, parent): &(&str, &str), path: &&str| FieldSpec {
        kind: (*kind).into(),
        path: format!("{parent}/{path}").into(),
        ..FieldSpec::default()
    };
    parents.iter().flat_map(|parent| paths.iter().map(move |path| spec(parent, path))).collect()
}

pub(super) fn names() -> Vec<FieldSpec> {
    specs(&[("", "", "", "metadata/name", false)])
}

pub(super) fn namespace() -> Vec<FieldSpec> {
    specs(&[
        ("", "", "Namespace", "metadata/name", true),
        ("apiregistration.k8s.io", "", "APIService", "spec/service/namespace", true),
        (
            "apiextensions.k8s.io",
            "",
            "CustomResourceDefinition",
            "spec/conversion/webhook/clientConfig/service/namespace",
            false,
        ),
    ])
}

pub(super) fn template_labels() -> Vec<FieldSpec> {
    let template = "spec/template/metadata/labels";
    specs(&[
        ("", "", "", "metadata/labels", true),
        ("", "v1", "ReplicationController", template, true),
        ("", "", "Deployment", template, true),
        ("", "", "ReplicaSet", template, true),
        ("", "", "DaemonSet", template, true),
        ("apps", "", "StatefulSet", template, true),
        ("batch", "", "Job", template, true),
        ("batch", "", "CronJob", "spec/jobTemplate/metadata/labels", true),
        ("batch", "", "CronJob", "spec/jobTemplate/spec/template/metadata/labels", true),
    ])
}

pub(super) fn volume_claim_template_labels() -> Vec<FieldSpec> {
    specs(&[("apps", "", "StatefulSet", "spec/volumeClaimTemplates[]/metadata/labels", true)])
}

pub(super) fn common_labels() -> Vec<FieldSpec> {
    let selector = "spec/selector/matchLabels";
    let policy = "networking.k8s.io";
    let mut all = specs(&[
        ("", "v1", "Service", "spec/selector", true),
        ("", "v1", "ReplicationController", "spec/selector", true),
        ("", "", "Deployment", selector, true),
        ("", "", "ReplicaSet", selector, true),
        ("", "", "DaemonSet", selector, true),
        ("apps", "", "StatefulSet", selector, true),
        ("batch", "", "Job", selector, false),
        ("batch", "", "CronJob", "spec/jobTemplate/spec/selector/matchLabels", false),
        ("policy", "", "PodDisruptionBudget", selector, false),
        (policy, "", "NetworkPolicy", "spec/podSelector/matchLabels", false),
        (policy, "", "NetworkPolicy", "spec/ingress/from/podSelector/matchLabels", false),
        (policy, "", "NetworkPolicy", "spec/egress/to/podSelector/matchLabels", false),
    ]);
    let mut in_pods = below(
        &[("Deployment", "spec/template/spec"), ("StatefulSet", "spec/template/spec")],
        &[
            "affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
            "affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
            "affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector/matchLabels",
            "affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector/matchLabels",
            "topologySpreadConstraints/labelSelector/matchLabels",
        ],
    );
    for spec in &mut in_pods {
        spec.group = "apps".into();
    }
    all.append(&mut in_pods);
    all.append(&mut template_labels());
    all.append(&mut volume_claim_template_labels());
    all
}

pub(super) fn common_annotations() -> Vec<FieldSpec> {
    let template = "spec/template/metadata/annotations";
    specs(&[
        ("", "", "", "metadata/annotations", true),
        ("", "v1", "ReplicationController", template, true),
        ("", "", "Deployment", template, true),
        ("", "", "ReplicaSet", template, true),
        ("", "", "DaemonSet", template, true),
        ("", "", "StatefulSet", template, true),
        ("batch", "", "Job", template, true),
        ("batch", "", "CronJob", "spec/jobTemplate/metadata/annotations", true),
        ("batch", "", "CronJob", "spec/jobTemplate/spec/template/metadata/annotations", true),
    ])
}

pub(super) fn images() -> Vec<FieldSpec> {
    let parents = ["spec", "spec/template/spec"];
    let fields = ["containers[]/image", "initContainers[]/image", "volumes[]/image/reference"];
    let paths = parents.iter().flat_map(|parent| fields.iter().map(move |field| format!("{parent}/{field}")));
    let cron_job_path = format!("{}/{}", CRON_JOB_POD.1, fields[2]);
    paths.chain([cron_job_path]).map(|path| FieldSpec::created_for_all_kinds(&path)).collect()
}

pub(super) fn replicas() -> Vec<FieldSpec> {
    let row = |kind| ("", "", kind, "spec/replicas", true);
    specs(&["Deployment", "ReplicationController", "ReplicaSet", "StatefulSet"].map(row))
}

const CRON_JOB_POD: (&str, &str) = ("CronJob", "spec/jobTemplate/spec/template/spec");

const fn template_pod(kind: &'static str) -> (&'static str, &'static str) {
    (kind, "spec/template/spec")
}

pub(super) fn var_reference() -> Vec<FieldSpec> {
    let pods = [
        CRON_JOB_POD,
        template_pod("DaemonSet"),
        template_pod("Deployment"),
        template_pod("Job"),
        ("Pod", "spec"),
        template_pod("ReplicaSet"),
        template_pod("StatefulSet"),
    ];
    let fields = ["args", "command", "env/value", "volumeMounts/mountPath"];
    let fields: Vec<String> = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| fields.iter().map(move |field| format!("{list}/{field}")))
        .collect();
    let mut all = below(&pods, &fields.iter().map(String::as_str).collect::<Vec<_>>());
    let nfs = "spec/template/spec/volumes/nfs/server";
    all.append(&mut specs(&[
        // `volumes` is not a field of `template`; kustomize has the same mistake.
        ("", "", "CronJob", "spec/jobTemplate/spec/template/volumes/nfs/server", false),
        ("", "", "DaemonSet", nfs, false),
        ("", "", "Deployment", nfs, false),
        ("", "", "Job", nfs, false),
        ("", "", "Pod", "spec/volumes/nfs/server", false),
        ("", "", "ReplicaSet", nfs, false),
        ("", "", "StatefulSet", "spec/volumeClaimTemplates/spec/nfs/server", false),
        ("", "", "PersistentVolume", "spec/nfs/server", false),
        ("", "", "Deployment", "spec/template/metadata/annotations", false),
        ("", "", "Ingress", "spec/rules/host", false),
        ("", "", "Ingress", "spec/tls/hosts", false),
        ("", "", "Ingress", "spec/tls/secretName", false),
        ("", "", "Service", "spec/ports/port", false),
        ("", "", "Service", "spec/ports/targetPort", false),
        ("", "", "", "metadata/labels", false),
        ("", "", "", "metadata/annotations", false),
    ]));
    all
}

/// The paths of pod specs whose ConfigMap and Secret references are updated.
const MOUNTING_PODS: [(&str, &str); 8] = [
    ("Pod", "spec"),
    ("PodTemplate", "template/spec"),
    template_pod("Deployment"),
    template_pod("ReplicaSet"),
    template_pod("DaemonSet"),
    template_pod("StatefulSet"),
    template_pod("Job"),
    CRON_JOB_POD,
];

/// The paths of pod specs whose other references are updated.
const PODS: [(&str, &str); 7] = [
    ("Pod", "spec"),
    template_pod("StatefulSet"),
    template_pod("Deployment"),
    template_pod("ReplicationController"),
    CRON_JOB_POD,
    template_pod("Job"),
    template_pod("DaemonSet"),
];

const RBAC: &str = "rbac.authorization.k8s.io";

#[allow(clippy::too_many_lines, reason = "this is a table")]
pub(super) fn name_reference() -> Vec<NameBackReference> {
    let target = |group: &str, version: &str, kind: &str, field_specs| NameBackReference {
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
        field_specs,
    };
    let scaled = |kind| {
        target("", "", kind, specs(&[("", "", "HorizontalPodAutoscaler", "spec/scaleTargetRef/name", false)]))
    };
    let storage = "storage.k8s.io";
    vec![
        scaled("Deployment"),
        scaled("ReplicationController"),
        scaled("ReplicaSet"),
        scaled("StatefulSet"),
        target("", "v1", "ConfigMap", to_config_maps()),
        target("", "v1", "Secret", to_secrets()),
        target("", "v1", "Service", to_services()),
        target(RBAC, "", "Role", specs(&[(RBAC, "", "RoleBinding", "roleRef/name", false)])),
        target(
            RBAC,
            "",
            "ClusterRole",
            specs(&[
                (RBAC, "", "RoleBinding", "roleRef/name", false),
                (RBAC, "", "ClusterRoleBinding", "roleRef/name", false),
            ]),
        ),
        target("", "v1", "ServiceAccount", to_service_accounts()),
        target("", "v1", "PersistentVolumeClaim", in_pods("volumes/persistentVolumeClaim/claimName")),
        target(
            "",
            "v1",
            "PersistentVolume",
            specs(&[
                ("", "", "PersistentVolumeClaim", "spec/volumeName", false),
                ("", "", "ClusterRole", "rules/resourceNames", false),
            ]),
        ),
        target(
            storage,
            "v1",
            "StorageClass",
            specs(&[
                ("", "", "PersistentVolume", "spec/storageClassName", false),
                ("", "", "PersistentVolumeClaim", "spec/storageClassName", false),
                ("", "", "StatefulSet", "spec/volumeClaimTemplates/spec/storageClassName", false),
            ]),
        ),
        target("scheduling.k8s.io", "v1", "PriorityClass", in_pods("priorityClassName")),
        // kustomize has a version in the group by mistake. No resource matches it, so these references are never
        // updated.
        target(
            "networking.k8s.io/v1",
            "v1",
            "IngressClass",
            specs(&[("", "", "Ingress", "spec/ingressClassName", false)]),
        ),
        target(
            "admissionregistration.k8s.io",
            "",
            "ValidatingAdmissionPolicy",
            specs(&[(
                "admissionregistration.k8s.io",
                "",
                "ValidatingAdmissionPolicyBinding",
                "spec/policyName",
                false,
            )]),
        ),
    ]
}

fn in_pods(path: &str) -> Vec<FieldSpec> {
    below(&PODS, &[path])
}

/// Returns field specs for mounts in pods. The ones for Pod have a version, as in kustomize.
fn mounted(paths: &[&str]) -> Vec<FieldSpec> {
    let mut all = below(&MOUNTING_PODS, paths);
    for spec in all.iter_mut().filter(|spec| spec.kind == "Pod") {
        spec.version = "v1".into();
    }
    all
}

fn to_config_maps() -> Vec<FieldSpec> {
    let mut all = mounted(&[
        "volumes/configMap/name",
        "containers/env/valueFrom/configMapKeyRef/name",
        "initContainers/env/valueFrom/configMapKeyRef/name",
        "containers/envFrom/configMapRef/name",
        "initContainers/envFrom/configMapRef/name",
        "volumes/projected/sources/configMap/name",
    ]);
    all.append(&mut specs(&[
        ("", "", "Node", "spec/configSource/configMap", false),
        ("", "", "Role", "rules/resourceNames", false),
        ("", "", "ClusterRole", "rules/resourceNames", false),
        (
            "",
            "",
            "Ingress",
            r"metadata/annotations/nginx.ingress.kubernetes.io\/fastcgi-params-configmap",
            false,
        ),
    ]));
    all
}

fn to_secrets() -> Vec<FieldSpec> {
    let mut all = mounted(&[
        "volumes/secret/secretName",
        "containers/env/valueFrom/secretKeyRef/name",
        "initContainers/env/valueFrom/secretKeyRef/name",
        "containers/envFrom/secretRef/name",
        "initContainers/envFrom/secretRef/name",
        "imagePullSecrets/name",
        "volumes/projected/sources/secret/name",
    ]);
    all.append(&mut specs(&[
        ("", "", "Ingress", "spec/tls/secretName", false),
        ("", "", "Ingress", r"metadata/annotations/ingress.kubernetes.io\/auth-secret", false),
        ("", "", "Ingress", r"metadata/annotations/nginx.ingress.kubernetes.io\/auth-secret", false),
        ("", "", "Ingress", r"metadata/annotations/nginx.ingress.kubernetes.io\/auth-tls-secret", false),
        // kustomize also has this entry twice, and this has an effect: after `a` was renamed to `b`, `b` is looked up
        // again.
        ("", "", "Ingress", "spec/tls/secretName", false),
        ("", "", "ServiceAccount", "imagePullSecrets/name", false),
        ("", "", "StorageClass", "parameters/secretName", false),
        ("", "", "StorageClass", "parameters/adminSecretName", false),
        ("", "", "StorageClass", "parameters/userSecretName", false),
        ("", "", "StorageClass", "parameters/secretRef", false),
        ("", "", "Role", "rules/resourceNames", false),
        ("", "", "ClusterRole", "rules/resourceNames", false),
        (
            "serving.knative.dev",
            "v1",
            "Service",
            "spec/template/spec/containers/env/valueFrom/secretKeyRef/name",
            false,
        ),
        ("", "", "PersistentVolume", "spec/azureFile/secretName", false),
    ]));
    all
}

fn to_services() -> Vec<FieldSpec> {
    let webhook = "webhooks/clientConfig/service";
    let admission = "admissionregistration.k8s.io";
    specs(&[
        ("apps", "", "StatefulSet", "spec/serviceName", false),
        ("", "", "Ingress", "spec/rules/http/paths/backend/serviceName", false),
        ("", "", "Ingress", "spec/backend/serviceName", false),
        ("", "", "Ingress", "spec/rules/http/paths/backend/service/name", false),
        ("", "", "Ingress", "spec/defaultBackend/service/name", false),
        ("apiregistration.k8s.io", "", "APIService", "spec/service/name", false),
        (admission, "", "ValidatingWebhookConfiguration", webhook, false),
        (admission, "", "MutatingWebhookConfiguration", webhook, false),
    ])
}

fn to_service_accounts() -> Vec<FieldSpec> {
    let mut all = specs(&[
        (RBAC, "", "RoleBinding", "subjects", false),
        (RBAC, "", "ClusterRoleBinding", "subjects", false),
    ]);
    all.append(&mut in_pods("serviceAccountName"));
    all
}
