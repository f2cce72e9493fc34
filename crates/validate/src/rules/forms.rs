//! Forms of single fields: which name, number or amount may stand where.

use smol_str::SmolStr;

use super::super::formats::{is_cidr, is_time};
use super::super::names::{
    is_data_key, is_dns_1035_label, is_dns_label, is_dns_subdomain, is_env_name, is_label_value,
    is_path_segment, is_port_name, is_qualified_name,
};
use super::super::quantity::Quantity;
use super::super::scalar::integer;
use super::super::violation::ViolationRule;
use super::subject::{Below, Faults};
use smp_text::yaml::{Map, Node, Value};

/// What a field takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ValueForm {
    /// Any text but the empty one.
    Filled,
    /// A text of this form; the empty one counts as absent.
    Text(TextForm),
    /// A text of this form, and not the empty one.
    FilledText(TextForm),
    /// An integer within bounds.
    Int(i64, i64),
    /// A port: a number from 1, or a name.
    PortOrName,
    /// The same, where 0 and the empty text are none.
    TargetPort,
    /// A number from 0, or a percentage.
    IntOrPercent,
    /// Labels: keys and values.
    Labels,
    /// Annotations: keys.
    Annotations,
    /// The keys of data.
    DataKeys,
    /// An amount that is not negative, or amounts.
    Amount,
    /// A list or a map with an entry at least.
    Entries,
    /// A list of texts of this form, none of them empty.
    Texts(TextForm),
    /// One of these words.
    Word(&'static [&'static str]),
}

/// A form of texts, what it is called, and the rule that it is part of.
pub(crate) type TextForm = (fn(&str) -> bool, &'static str, ViolationRule);

const LABEL: TextForm = (
    is_dns_label,
    "a name of small letters, digits and `-`, of at most 63 characters",
    ViolationRule::FieldName,
);
const LABEL_1035: TextForm = (
    is_dns_1035_label,
    "a name of small letters, digits and `-` that begins with a letter",
    ViolationRule::FieldName,
);
const SUBDOMAIN: TextForm =
    (is_dns_subdomain, "a name of small letters, digits, `-` and `.`", ViolationRule::ReferenceName);
const PATH_SEGMENT: TextForm = (is_path_segment, "a name without `/` and `%`", ViolationRule::ReferenceName);
const QUALIFIED: TextForm =
    (is_qualified_name, "a name such as `app` or `example.com/app`", ViolationRule::QualifiedName);
/// A server makes the letters small before it looks.
const QUALIFIED_IN_SMALL: TextForm = (
    |text| is_qualified_name(&text.to_lowercase()),
    "a name such as `app` or `example.com/app`",
    ViolationRule::QualifiedName,
);
const PORT_NAME: TextForm = (
    is_port_name,
    "a name of small letters, digits and `-`, of at most 15 characters",
    ViolationRule::PortName,
);
const ENV_NAME: TextForm =
    (is_env_name, "a name of printable characters without `=`", ViolationRule::EnvName);
const DATA_KEY: TextForm =
    (is_data_key, "a key of letters, digits, `-`, `_` and `.`", ViolationRule::DataKey);
const ADDRESS: TextForm = (is_address, "an IP address", ViolationRule::Address);
const CIDR: TextForm = (is_cidr, "a network such as `10.0.0.0/8`", ViolationRule::Address);
const IDENTIFIER: TextForm =
    (is_identifier, "a name of letters, digits and `_` that begins with no digit", ViolationRule::FieldName);
const TIME: TextForm = (is_time, "a time such as `2024-05-01T10:20:30Z`", ViolationRule::Format);
const ACCESS_MODE: TextForm = (
    is_access_mode,
    "`ReadWriteOnce`, `ReadOnlyMany`, `ReadWriteMany` or `ReadWriteOncePod`",
    ViolationRule::AccessModes,
);

const LIMIT_TYPE: TextForm = (
    |text| {
        matches!(text, "Pod" | "Container" | "PersistentVolumeClaim")
            || (text.contains('/') && is_qualified_name(text))
    },
    "`Pod`, `Container`, `PersistentVolumeClaim`, or a name such as `example.com/Image`",
    ViolationRule::Enum,
);
const LIFECYCLE_MODE: TextForm =
    (|text| matches!(text, "Persistent" | "Ephemeral"), "`Persistent` or `Ephemeral`", ViolationRule::Enum);

const EXPRESSION: TextForm = (is_expression, "an expression of CEL", ViolationRule::Cel);

#[cfg(feature = "cel")]
use super::super::cel::may_be_expression as is_expression;

/// Without CEL nothing is known of them.
#[cfg(not(feature = "cel"))]
fn is_expression(_: &str) -> bool {
    true
}

fn is_identifier(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

fn is_access_mode(text: &str) -> bool {
    matches!(text, "ReadWriteOnce" | "ReadOnlyMany" | "ReadWriteMany" | "ReadWriteOncePod")
}

fn is_address(text: &str) -> bool {
    text.parse::<std::net::IpAddr>().is_ok()
}

const PORT: ValueForm = ValueForm::Int(1, 65535);
/// A port where 0 is none.
const PORT_OR_NONE: ValueForm = ValueForm::Int(0, 65535);
const COUNT: ValueForm = ValueForm::Int(0, i64::MAX);
const POSITIVE: ValueForm = ValueForm::Int(1, i64::MAX);

use ValueForm::{
    Amount, Annotations, DataKeys, Entries, Filled, FilledText, Int, IntOrPercent, Labels, PortOrName, Text,
    Texts, Word,
};

/// The last part of the name of a type, its field, and what that takes.
pub(super) const FORMS: &[(&str, &str, ValueForm)] = &[
    ("ObjectMeta", "labels", Labels),
    ("ObjectMeta", "annotations", Annotations),
    ("OwnerReference", "apiVersion", Filled),
    ("OwnerReference", "kind", Filled),
    ("OwnerReference", "name", Filled),
    ("OwnerReference", "uid", Filled),
    ("LabelSelector", "matchLabels", Labels),
    ("PodSpec", "containers", Entries),
    ("PodSpec", "nodeSelector", Labels),
    ("PodSpec", "serviceAccountName", Text(SUBDOMAIN)),
    ("PodSpec", "nodeName", Text(SUBDOMAIN)),
    ("PodSpec", "hostname", Text(LABEL)),
    ("PodSpec", "subdomain", Text(LABEL)),
    ("PodSpec", "priorityClassName", Text(SUBDOMAIN)),
    ("PodSpec", "runtimeClassName", FilledText(SUBDOMAIN)),
    ("PodSpec", "hostnameOverride", Filled),
    ("PodSpec", "terminationGracePeriodSeconds", COUNT),
    ("PodSpec", "activeDeadlineSeconds", Int(1, 2_147_483_647)),
    ("PodReadinessGate", "conditionType", FilledText(QUALIFIED)),
    ("PodSchedulingGate", "name", FilledText(QUALIFIED)),
    ("PodResourceClaim", "name", FilledText(LABEL)),
    ("PodDNSConfigOption", "name", Filled),
    ("PodOS", "name", Word(&["linux", "windows"])),
    ("Container", "name", FilledText(LABEL)),
    ("Container", "image", Filled),
    ("Container", "restartPolicy", Word(&["Always", "Never", "OnFailure"])),
    ("ContainerResizePolicy", "resourceName", Filled),
    ("ContainerResizePolicy", "restartPolicy", Word(&["NotRequired", "RestartContainer"])),
    ("EphemeralContainer", "name", FilledText(LABEL)),
    ("ContainerPort", "name", Text(PORT_NAME)),
    ("ContainerPort", "containerPort", PORT),
    ("ContainerPort", "hostPort", PORT_OR_NONE),
    ("ContainerPort", "hostIP", Text(ADDRESS)),
    ("EnvVar", "name", FilledText(ENV_NAME)),
    ("ConfigMapKeySelector", "key", FilledText(DATA_KEY)),
    ("ConfigMapKeySelector", "name", FilledText(SUBDOMAIN)),
    ("SecretKeySelector", "key", FilledText(DATA_KEY)),
    ("SecretKeySelector", "name", FilledText(SUBDOMAIN)),
    ("ConfigMapEnvSource", "name", FilledText(SUBDOMAIN)),
    ("SecretEnvSource", "name", FilledText(SUBDOMAIN)),
    ("VolumeMount", "name", Filled),
    ("VolumeMount", "mountPath", Filled),
    ("VolumeMount", "recursiveReadOnly", Word(&["Disabled", "Enabled", "IfPossible"])),
    ("VolumeDevice", "name", Filled),
    ("VolumeDevice", "devicePath", Filled),
    ("Volume", "name", FilledText(LABEL)),
    ("Probe", "initialDelaySeconds", COUNT),
    ("Probe", "periodSeconds", COUNT),
    ("Probe", "timeoutSeconds", COUNT),
    ("Probe", "successThreshold", COUNT),
    ("Probe", "failureThreshold", COUNT),
    ("Probe", "terminationGracePeriodSeconds", POSITIVE),
    ("HTTPGetAction", "port", PortOrName),
    ("TCPSocketAction", "port", PortOrName),
    ("GRPCAction", "port", PORT),
    ("HostAlias", "ip", FilledText(ADDRESS)),
    ("Toleration", "key", Text(QUALIFIED)),
    ("Taint", "key", FilledText(QUALIFIED)),
    ("TopologySpreadConstraint", "maxSkew", POSITIVE),
    ("TopologySpreadConstraint", "minDomains", POSITIVE),
    ("TopologySpreadConstraint", "topologyKey", FilledText(QUALIFIED)),
    ("PreferredSchedulingTerm", "weight", Int(1, 100)),
    ("WeightedPodAffinityTerm", "weight", Int(1, 100)),
    ("PodAffinityTerm", "topologyKey", FilledText(QUALIFIED)),
    ("NodeSelector", "nodeSelectorTerms", Entries),
    ("ResourceFieldSelector", "resource", Filled),
    ("ObjectFieldSelector", "fieldPath", Filled),
    ("ConfigMapVolumeSource", "name", Filled),
    ("ConfigMapProjection", "name", Filled),
    ("SecretProjection", "name", Filled),
    ("SecretVolumeSource", "secretName", Filled),
    ("SecretVolumeSource", "defaultMode", Int(0, 0o777)),
    ("ConfigMapVolumeSource", "defaultMode", Int(0, 0o777)),
    ("ProjectedVolumeSource", "defaultMode", Int(0, 0o777)),
    ("DownwardAPIVolumeSource", "defaultMode", Int(0, 0o777)),
    ("DownwardAPIVolumeFile", "mode", Int(0, 0o777)),
    ("KeyToPath", "key", Filled),
    ("KeyToPath", "path", Filled),
    ("KeyToPath", "mode", Int(0, 0o777)),
    ("ServiceAccountTokenProjection", "path", Filled),
    ("ServiceAccountTokenProjection", "expirationSeconds", Int(600, 1 << 32)),
    ("PersistentVolumeClaimVolumeSource", "claimName", Filled),
    ("NFSVolumeSource", "server", Filled),
    ("NFSVolumeSource", "path", Filled),
    ("AWSElasticBlockStoreVolumeSource", "volumeID", Filled),
    ("AzureDiskVolumeSource", "diskName", Filled),
    ("AzureDiskVolumeSource", "diskURI", Filled),
    ("AzureFileVolumeSource", "secretName", Filled),
    ("AzureFileVolumeSource", "shareName", Filled),
    ("AzureFilePersistentVolumeSource", "secretName", Filled),
    ("AzureFilePersistentVolumeSource", "shareName", Filled),
    ("CephFSVolumeSource", "monitors", Entries),
    ("CephFSPersistentVolumeSource", "monitors", Entries),
    ("CinderVolumeSource", "volumeID", Filled),
    ("CinderPersistentVolumeSource", "volumeID", Filled),
    ("FlexVolumeSource", "driver", Filled),
    ("FlexPersistentVolumeSource", "driver", Filled),
    ("GCEPersistentDiskVolumeSource", "pdName", Filled),
    ("GlusterfsVolumeSource", "endpoints", Filled),
    ("GlusterfsVolumeSource", "path", Filled),
    ("GlusterfsPersistentVolumeSource", "endpoints", Filled),
    ("GlusterfsPersistentVolumeSource", "path", Filled),
    ("ISCSIVolumeSource", "iqn", Filled),
    ("ISCSIVolumeSource", "targetPortal", Filled),
    ("ISCSIPersistentVolumeSource", "iqn", Filled),
    ("ISCSIPersistentVolumeSource", "targetPortal", Filled),
    ("LocalVolumeSource", "path", Filled),
    ("PortworxVolumeSource", "volumeID", Filled),
    ("RBDVolumeSource", "image", Filled),
    ("RBDVolumeSource", "monitors", Entries),
    ("RBDPersistentVolumeSource", "image", Filled),
    ("RBDPersistentVolumeSource", "monitors", Entries),
    ("VsphereVirtualDiskVolumeSource", "volumePath", Filled),
    ("HostPathVolumeSource", "path", Filled),
    ("EmptyDirVolumeSource", "sizeLimit", Amount),
    ("CSIVolumeSource", "driver", Filled),
    ("CSIPersistentVolumeSource", "driver", Filled),
    ("CSIPersistentVolumeSource", "volumeHandle", Filled),
    ("Sysctl", "name", Filled),
    ("PodSecurityContext", "runAsUser", Int(0, 2_147_483_647)),
    ("PodSecurityContext", "runAsGroup", Int(0, 2_147_483_647)),
    ("PodSecurityContext", "fsGroup", Int(0, 2_147_483_647)),
    ("PodSecurityContext", "seLinuxChangePolicy", Filled),
    ("SecurityContext", "runAsUser", Int(0, 2_147_483_647)),
    ("SecurityContext", "runAsGroup", Int(0, 2_147_483_647)),
    ("DeploymentSpec", "replicas", COUNT),
    ("DeploymentSpec", "minReadySeconds", COUNT),
    ("DeploymentSpec", "revisionHistoryLimit", COUNT),
    ("DeploymentSpec", "progressDeadlineSeconds", COUNT),
    ("RollingUpdateDeployment", "maxSurge", IntOrPercent),
    ("RollingUpdateDeployment", "maxUnavailable", IntOrPercent),
    ("RollingUpdateDaemonSet", "maxSurge", IntOrPercent),
    ("RollingUpdateDaemonSet", "maxUnavailable", IntOrPercent),
    ("RollingUpdateStatefulSetStrategy", "partition", COUNT),
    ("StatefulSetSpec", "replicas", COUNT),
    ("StatefulSetSpec", "minReadySeconds", COUNT),
    ("StatefulSetSpec", "serviceName", Text(LABEL)),
    ("StatefulSetOrdinals", "start", COUNT),
    ("DaemonSetSpec", "minReadySeconds", COUNT),
    ("ReplicaSetSpec", "replicas", COUNT),
    ("ReplicaSetSpec", "minReadySeconds", COUNT),
    ("ReplicationControllerSpec", "replicas", COUNT),
    ("ReplicationControllerSpec", "selector", Labels),
    ("ControllerRevision", "revision", COUNT),
    ("JobSpec", "parallelism", COUNT),
    ("JobSpec", "completions", COUNT),
    ("JobSpec", "activeDeadlineSeconds", COUNT),
    ("JobSpec", "backoffLimit", COUNT),
    ("JobSpec", "backoffLimitPerIndex", COUNT),
    ("JobSpec", "maxFailedIndexes", COUNT),
    ("JobSpec", "ttlSecondsAfterFinished", COUNT),
    ("JobSpec", "managedBy", Filled),
    ("PodFailurePolicyOnExitCodesRequirement", "values", Entries),
    ("SuccessPolicy", "rules", Entries),
    ("CronJobSpec", "startingDeadlineSeconds", COUNT),
    ("CronJobSpec", "timeZone", Filled),
    ("CronJobSpec", "successfulJobsHistoryLimit", COUNT),
    ("CronJobSpec", "failedJobsHistoryLimit", COUNT),
    ("ServiceSpec", "selector", Labels),
    ("ServiceSpec", "externalIPs", Texts(ADDRESS)),
    ("ServiceSpec", "healthCheckNodePort", PORT_OR_NONE),
    ("ServiceSpec", "loadBalancerClass", FilledText(QUALIFIED)),
    ("ServiceSpec", "trafficDistribution", Filled),
    ("ServicePort", "name", Text(LABEL)),
    ("ServicePort", "port", PORT),
    ("ServicePort", "targetPort", ValueForm::TargetPort),
    ("ServicePort", "appProtocol", FilledText(QUALIFIED)),
    ("ClientIPConfig", "timeoutSeconds", Int(1, 86_400)),
    ("EndpointAddress", "hostname", Text(LABEL)),
    ("Endpoint", "addresses", Entries),
    ("Endpoint", "hostname", FilledText(LABEL)),
    ("Endpoint", "nodeName", FilledText(SUBDOMAIN)),
    ("IngressSpec", "ingressClassName", FilledText(SUBDOMAIN)),
    ("HTTPIngressRuleValue", "paths", Entries),
    ("IngressServiceBackend", "name", FilledText(LABEL)),
    ("ServiceBackendPort", "name", Text(PORT_NAME)),
    ("ServiceBackendPort", "number", PORT_OR_NONE),
    ("IngressTLS", "secretName", Text(SUBDOMAIN)),
    ("IngressClassSpec", "controller", Filled),
    ("IngressClassParametersReference", "kind", FilledText(PATH_SEGMENT)),
    ("IngressClassParametersReference", "name", FilledText(PATH_SEGMENT)),
    ("IngressClassParametersReference", "namespace", FilledText(LABEL)),
    ("IngressClassParametersReference", "scope", Word(&["Cluster", "Namespace"])),
    ("TypedLocalObjectReference", "kind", Filled),
    ("TypedLocalObjectReference", "name", Filled),
    ("NetworkPolicyPort", "port", PortOrName),
    ("NetworkPolicyPort", "endPort", PORT),
    ("IPBlock", "cidr", FilledText(CIDR)),
    ("IPBlock", "except", Texts(CIDR)),
    ("ServiceCIDRSpec", "cidrs", Texts(CIDR)),
    ("ParentReference", "name", FilledText(PATH_SEGMENT)),
    ("ParentReference", "namespace", Text(PATH_SEGMENT)),
    ("ParentReference", "resource", FilledText(PATH_SEGMENT)),
    ("HorizontalPodAutoscalerSpec", "minReplicas", POSITIVE),
    ("HorizontalPodAutoscalerSpec", "maxReplicas", POSITIVE),
    ("HorizontalPodAutoscalerSpec", "targetCPUUtilizationPercentage", POSITIVE),
    ("CrossVersionObjectReference", "kind", FilledText(PATH_SEGMENT)),
    ("CrossVersionObjectReference", "name", FilledText(PATH_SEGMENT)),
    ("MetricIdentifier", "name", FilledText(PATH_SEGMENT)),
    ("ResourceMetricSource", "name", Filled),
    ("ContainerResourceMetricSource", "name", Filled),
    ("ContainerResourceMetricSource", "container", Filled),
    ("MetricTarget", "averageUtilization", POSITIVE),
    ("HPAScalingPolicy", "value", POSITIVE),
    ("HPAScalingPolicy", "type", Word(&["Percent", "Pods"])),
    ("HPAScalingPolicy", "periodSeconds", Int(1, 1800)),
    ("HPAScalingRules", "stabilizationWindowSeconds", Int(0, 3600)),
    ("HPAScalingRules", "policies", Entries),
    ("HPAScalingRules", "selectPolicy", Word(&["Disabled", "Max", "Min"])),
    ("PodDisruptionBudgetSpec", "minAvailable", IntOrPercent),
    ("PodDisruptionBudgetSpec", "maxUnavailable", IntOrPercent),
    ("ResourceRequirements", "limits", Amount),
    ("ResourceRequirements", "requests", Amount),
    ("Overhead", "podFixed", Amount),
    ("Scheduling", "nodeSelector", Labels),
    ("RuntimeClass", "handler", FilledText(LABEL)),
    ("PersistentVolumeSpec", "accessModes", Texts(ACCESS_MODE)),
    ("PersistentVolumeSpec", "storageClassName", Text(SUBDOMAIN)),
    ("PersistentVolumeClaimSpec", "accessModes", Texts(ACCESS_MODE)),
    ("PersistentVolumeClaimSpec", "storageClassName", Text(SUBDOMAIN)),
    ("StorageClass", "provisioner", FilledText(QUALIFIED_IN_SMALL)),
    ("TopologySelectorLabelRequirement", "key", FilledText(QUALIFIED)),
    ("TopologySelectorLabelRequirement", "values", Entries),
    ("CSIStorageCapacity", "storageClassName", FilledText(SUBDOMAIN)),
    ("CSIStorageCapacity", "capacity", Amount),
    ("VolumeAttributesClass", "driverName", Filled),
    ("VolumeAttributesClass", "parameters", Entries),
    ("CSIDriverSpec", "fsGroupPolicy", Word(&["File", "None", "ReadWriteOnceWithFSType"])),
    ("CSIDriverSpec", "volumeLifecycleModes", Texts(LIFECYCLE_MODE)),
    ("VolumeAttachmentSpec", "attacher", Filled),
    ("VolumeAttachmentSpec", "nodeName", Filled),
    ("CSINodeDriver", "name", Filled),
    ("CSINodeDriver", "nodeID", Filled),
    ("VolumeNodeResources", "count", COUNT),
    ("ConfigMap", "data", DataKeys),
    ("ConfigMap", "binaryData", DataKeys),
    ("Secret", "data", DataKeys),
    ("Secret", "stringData", DataKeys),
    ("LeaseSpec", "leaseDurationSeconds", POSITIVE),
    ("LeaseSpec", "leaseTransitions", COUNT),
    ("LimitRangeItem", "type", FilledText(LIMIT_TYPE)),
    ("ResourceQuotaSpec", "hard", Amount),
    ("PriorityClass", "value", Int(-2_147_483_648, 1_000_000_000)),
    ("FlowSchemaSpec", "matchingPrecedence", Int(1, 10_000)),
    ("PriorityLevelConfigurationReference", "name", FilledText(SUBDOMAIN)),
    ("PriorityLevelConfigurationSpec", "type", Word(&["Exempt", "Limited"])),
    ("LimitResponse", "type", Word(&["Queue", "Reject"])),
    ("FlowDistinguisherMethod", "type", Word(&["ByNamespace", "ByUser"])),
    ("PolicyRulesWithSubjects", "subjects", Entries),
    ("ResourcePolicyRule", "apiGroups", Entries),
    ("ResourcePolicyRule", "resources", Entries),
    ("ResourcePolicyRule", "verbs", Entries),
    ("NonResourcePolicyRule", "nonResourceURLs", Entries),
    ("NonResourcePolicyRule", "verbs", Entries),
    ("GroupSubject", "name", Filled),
    ("UserSubject", "name", Filled),
    ("ServiceAccountSubject", "name", FilledText(SUBDOMAIN)),
    ("ServiceAccountSubject", "namespace", Filled),
    ("ServiceReference", "name", Filled),
    ("ServiceReference", "namespace", Filled),
    ("ServiceReference", "port", PORT),
    ("APIServiceSpec", "groupPriorityMinimum", Int(1, 20_000)),
    ("APIServiceSpec", "versionPriority", Int(1, 1000)),
    ("APIServiceSpec", "version", FilledText(LABEL_1035)),
    ("CustomResourceDefinitionVersion", "name", FilledText(LABEL_1035)),
    ("CustomResourceDefinitionSpec", "group", FilledText(SUBDOMAIN)),
    ("CustomResourceDefinitionSpec", "scope", Word(&["Cluster", "Namespaced"])),
    ("CustomResourceDefinitionSpec", "versions", Entries),
    ("CustomResourceConversion", "strategy", Word(&["None", "Webhook"])),
    ("WebhookConversion", "conversionReviewVersions", Entries),
    ("CustomResourceDefinitionNames", "shortNames", Texts(LABEL_1035)),
    ("CustomResourceDefinitionNames", "categories", Texts(LABEL_1035)),
    ("CustomResourceDefinitionNames", "plural", FilledText(LABEL_1035)),
    ("CustomResourceDefinitionNames", "kind", Filled),
    ("CustomResourceColumnDefinition", "name", Filled),
    ("CustomResourceColumnDefinition", "jsonPath", Filled),
    ("CustomResourceColumnDefinition", "type", Word(&["boolean", "date", "integer", "number", "string"])),
    ("CustomResourceDefinitionVersion", "deprecationWarning", Filled),
    ("CustomResourceSubresourceScale", "specReplicasPath", Filled),
    ("CustomResourceSubresourceScale", "statusReplicasPath", Filled),
    ("ValidatingWebhook", "timeoutSeconds", Int(1, 30)),
    ("MutatingWebhook", "timeoutSeconds", Int(1, 30)),
    ("Validation", "expression", FilledText(EXPRESSION)),
    ("Validation", "messageExpression", Text(EXPRESSION)),
    ("ValidationRule", "rule", FilledText(EXPRESSION)),
    ("ValidationRule", "messageExpression", Text(EXPRESSION)),
    ("MatchCondition", "name", FilledText(QUALIFIED)),
    ("MatchCondition", "expression", FilledText(EXPRESSION)),
    ("Variable", "name", FilledText(IDENTIFIER)),
    ("Variable", "expression", FilledText(EXPRESSION)),
    ("AuditAnnotation", "valueExpression", FilledText(EXPRESSION)),
    ("AggregationRule", "clusterRoleSelectors", Entries),
    ("ValidatingAdmissionPolicyBindingSpec", "policyName", FilledText(SUBDOMAIN)),
    ("ValidatingAdmissionPolicyBindingSpec", "validationActions", Entries),
    ("CertificateSigningRequestSpec", "signerName", Filled),
    ("CertificateSigningRequestSpec", "expirationSeconds", Int(600, i64::MAX)),
    ("DeviceRequest", "name", FilledText(LABEL)),
    ("ExactDeviceRequest", "deviceClassName", FilledText(SUBDOMAIN)),
    ("ObjectMeta", "creationTimestamp", Text(TIME)),
];

/// Types and fields that a server demands and no schema does.
pub(super) const NEEDED: [(&str, &str); 18] = [
    ("AggregationRule", "clusterRoleSelectors"),
    ("ConfigMapEnvSource", "name"),
    ("ConfigMapKeySelector", "name"),
    ("ConfigMapProjection", "name"),
    ("ConfigMapVolumeSource", "name"),
    ("IngressClassSpec", "controller"),
    ("JobTemplateSpec", "spec"),
    ("ParamKind", "apiVersion"),
    ("ParamKind", "kind"),
    ("PodTemplateSpec", "spec"),
    ("ReplicaSetSpec", "template"),
    ("ReplicationControllerSpec", "template"),
    ("SecretEnvSource", "name"),
    ("SecretKeySelector", "name"),
    ("SecretProjection", "name"),
    ("SecretVolumeSource", "secretName"),
    ("ValidatingAdmissionPolicySpec", "matchConstraints"),
    ("VolumeNodeAffinity", "required"),
];

impl ValueForm {
    /// Tells what is wrong with a value.
    pub(super) fn check(self, value: &Node, field: &str, faults: &mut Faults) {
        let here = [Below::Field(field)];
        match self {
            Filled if value.as_str() == Some("") => {
                faults.below(ViolationRule::MissingRequired, &here, value.span(), "this must not be empty");
            }
            Entries
                if value.as_list().is_some_and(Vec::is_empty)
                    || value.as_map().is_some_and(Map::is_empty) =>
            {
                faults.below(
                    ViolationRule::MissingRequired,
                    &here,
                    value.span(),
                    "this needs an entry at least",
                );
            }
            Filled | Entries => {}
            Text(form) => text(value, form, &here, faults),
            FilledText(form) => {
                Filled.check(value, field, faults);
                text(value, form, &here, faults);
            }
            Texts(form) => {
                for (i, entry) in value.as_list().into_iter().flatten().enumerate() {
                    let path = [Below::Field(field), Below::Entry(i)];
                    text_or_empty(entry, form, &path, faults);
                }
            }
            Word(words) => word(value, words, &here, faults),
            Int(least, most) => int(value, (least, most), &here, faults),
            ValueForm::TargetPort if matches!(value.scalar_text().map(SmolStr::as_str), Some("" | "0")) => {}
            PortOrName | ValueForm::TargetPort => port_or_name(value, &here, faults),
            IntOrPercent => int_or_percent(value, &here, faults),
            Labels => labels(value, field, faults),
            Annotations => annotations(value, field, faults),
            DataKeys => data_keys(value, field, faults),
            Amount => amounts(value, field, faults),
        }
    }
}

fn text(value: &Node, form: TextForm, here: &[Below<'_>], faults: &mut Faults) {
    if value.as_str() != Some("") {
        text_or_empty(value, form, here, faults);
    }
}

fn text_or_empty(value: &Node, (form, wanted, rule): TextForm, here: &[Below<'_>], faults: &mut Faults) {
    if value.as_str().is_some_and(|text| !form(text)) {
        faults.below(rule, here, value.span(), format!("this must be {wanted}"));
    }
}

fn word(value: &Node, words: &[&str], here: &[Below<'_>], faults: &mut Faults) {
    if value.as_str().is_some_and(|text| !words.contains(&text)) {
        let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        let message = format!("this must be one of {}", words.join(", "));
        faults.below(ViolationRule::Enum, here, value.span(), message);
    }
}

fn int(value: &Node, (least, most): (i64, i64), here: &[Below<'_>], faults: &mut Faults) {
    let Some(number) = value.resolve().and_then(integer) else { return };
    if (i128::from(least)..=i128::from(most)).contains(&number) {
        return;
    }
    let (rule, message) = match (least, most) {
        (0 | 1, 65535) => (ViolationRule::Port, "this must be a port, from 1 to 65535".to_string()),
        (least, i64::MAX) => (ViolationRule::Number, format!("this must be at least {least}")),
        (least, most) => (ViolationRule::Number, format!("this must be from {least} to {most}")),
    };
    faults.below(rule, here, value.span(), message);
}

fn port_or_name(value: &Node, here: &[Below<'_>], faults: &mut Faults) {
    match value.as_str() {
        Some("") => faults.below(ViolationRule::Port, here, value.span(), "this must be a port"),
        Some(_) => text(value, PORT_NAME, here, faults),
        None => int(value, (1, 65535), here, faults),
    }
}

fn int_or_percent(value: &Node, here: &[Below<'_>], faults: &mut Faults) {
    let Some(text) = value.as_str() else { return int(value, (0, i64::MAX), here, faults) };
    let digits = text.strip_suffix('%').unwrap_or_default();
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        faults.below(
            ViolationRule::Number,
            here,
            value.span(),
            "this must be a number or a percentage such as `25%`",
        );
    }
}

fn labels(value: &Node, field: &str, faults: &mut Faults) {
    let Value::Map(map) = &value.value else { return };
    keys(map, field, is_qualified_name, faults);
    for (key, value) in map.iter() {
        if value.as_str().is_some_and(|text| !is_label_value(text)) {
            let message = "the value of a label has letters, digits, `-`, `_` and `.`, 63 at most";
            let path = [Below::Field(field), Below::Field(key)];
            faults.below(ViolationRule::LabelValue, &path, value.span(), message);
        }
    }
}

/// Keys are looked at in small letters.
fn annotations(value: &Node, field: &str, faults: &mut Faults) {
    let Value::Map(map) = &value.value else { return };
    keys(map, field, |key| is_qualified_name(&key.to_ascii_lowercase()), faults);
    let size: usize = map.iter().map(|(key, value)| key.len() + value.as_str().map_or(0, str::len)).sum();
    if size > 256 * 1024 {
        let message = "annotations have at most 262144 bytes together";
        faults.below(ViolationRule::Annotations, &[Below::Field(field)], value.span(), message);
    }
}

fn keys(map: &Map, field: &str, form: impl Fn(&str) -> bool, faults: &mut Faults) {
    for entry in map.entries().iter().filter(|entry| !form(&entry.key.text)) {
        let path = [Below::Field(field), Below::Field(&entry.key.text)];
        let message = "this key must be a name such as `app` or `example.com/app`";
        faults.below(ViolationRule::QualifiedName, &path, entry.key.meta.span, message);
    }
}

fn data_keys(value: &Node, field: &str, faults: &mut Faults) {
    for entry in value.as_map().map(Map::entries).unwrap_or_default() {
        if !is_data_key(&entry.key.text) {
            let path = [Below::Field(field), Below::Field(&entry.key.text)];
            let message = "a key has letters, digits, `-`, `_` and `.`";
            faults.below(ViolationRule::DataKey, &path, entry.key.meta.span, message);
        }
    }
}

/// The amount that a scalar says.
pub(super) fn quantity(value: &Node) -> Option<Quantity> {
    match value.as_str() {
        Some(text) => Quantity::parse(text),
        None => Quantity::parse(value.scalar_text()?),
    }
}

fn amounts(value: &Node, field: &str, faults: &mut Faults) {
    let message = "an amount must not be negative";
    let is_negative = |value: &Node| quantity(value).is_some_and(Quantity::is_negative);
    for (key, amount) in value.as_map().into_iter().flat_map(Map::iter) {
        if is_negative(amount) {
            let path = [Below::Field(field), Below::Field(key)];
            faults.below(ViolationRule::Quantity, &path, amount.span(), message);
        }
    }
    if is_negative(value) {
        faults.below(ViolationRule::Quantity, &[Below::Field(field)], value.span(), message);
    }
}
