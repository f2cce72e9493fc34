use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "missing-required",
        meaning: "A required field is missing or empty.",
        remedy: "Add the field in the base or in each overlay.",
    },
    why: "The API server has no default for these fields and rejects the object. A base that lacks a field \
          is not reported if all of its overlays set the field.",
    documentation: "https://kubernetes.io/docs/concepts/overview/working-with-objects/#required-fields",
    example: container!("ports: [{name: http}]"),
    fix: ("http", "http, containerPort: 80"),
    cause: ViolationCause::Removal,
    may_be_partial: true,
    checks: &[
        (
            "
        AWSElasticBlockStoreVolumeSource volumeID; AzureDiskVolumeSource diskName diskURI;
        AzureFilePersistentVolumeSource secretName shareName; AzureFileVolumeSource secretName shareName;
        CSINodeDriver name nodeID; CSIPersistentVolumeSource driver volumeHandle; CSIVolumeSource driver;
        CertificateSigningRequestSpec signerName; CinderPersistentVolumeSource volumeID;
        CinderVolumeSource volumeID; ConfigMapProjection name; ConfigMapVolumeSource name; Container image;
        ContainerResizePolicy resourceName; ContainerResourceMetricSource name container;
        CronJobSpec timeZone; CustomResourceColumnDefinition name jsonPath;
        CustomResourceDefinitionNames kind; CustomResourceDefinitionVersion deprecationWarning;
        CustomResourceSubresourceScale specReplicasPath statusReplicasPath;
        FlexPersistentVolumeSource driver; FlexVolumeSource driver; GCEPersistentDiskVolumeSource pdName;
        GlusterfsPersistentVolumeSource endpoints path; GlusterfsVolumeSource endpoints path;
        GroupSubject name; HostPathVolumeSource path; ISCSIPersistentVolumeSource iqn targetPortal;
        ISCSIVolumeSource iqn targetPortal; IngressClassSpec controller; JobSpec managedBy;
        KeyToPath key path; LocalVolumeSource path; NFSVolumeSource server path;
        ObjectFieldSelector fieldPath; OwnerReference apiVersion kind name uid;
        PersistentVolumeClaimVolumeSource claimName; PodDNSConfigOption name;
        PodSecurityContext seLinuxChangePolicy; PodSpec hostnameOverride; PortworxVolumeSource volumeID;
        RBDPersistentVolumeSource image; RBDVolumeSource image; ResourceFieldSelector resource;
        ResourceMetricSource name; SecretProjection name; SecretVolumeSource secretName;
        ServiceAccountSubject namespace; ServiceAccountTokenProjection path;
        ServiceReference name namespace; ServiceSpec trafficDistribution; Sysctl name;
        TypedLocalObjectReference kind name; UserSubject name; VolumeAttachmentSpec attacher nodeName;
        VolumeAttributesClass driverName; VolumeDevice name devicePath; VolumeMount name mountPath;
        VsphereVirtualDiskVolumeSource volumePath
    ",
            Check::NonEmptyString,
        ),
        (
            "
        AggregationRule clusterRoleSelectors; CephFSPersistentVolumeSource monitors;
        CephFSVolumeSource monitors; CustomResourceDefinitionSpec versions; Endpoint addresses;
        HPAScalingRules policies; HTTPIngressRuleValue paths; NodeSelector nodeSelectorTerms;
        NonResourcePolicyRule nonResourceURLs verbs; PodFailurePolicyOnExitCodesRequirement values;
        PodSpec containers; PolicyRulesWithSubjects subjects; RBDPersistentVolumeSource monitors;
        RBDVolumeSource monitors; ResourcePolicyRule apiGroups resources verbs; SuccessPolicy rules;
        TopologySelectorLabelRequirement values; ValidatingAdmissionPolicyBindingSpec validationActions;
        VolumeAttributesClass parameters; WebhookConversion conversionReviewVersions
    ",
            Check::NonEmpty,
        ),
        (
            "
        AggregationRule clusterRoleSelectors; ConfigMapEnvSource name; ConfigMapKeySelector name;
        ConfigMapProjection name; ConfigMapVolumeSource name; IngressClassSpec controller;
        JobTemplateSpec spec; ParamKind apiVersion kind; PodTemplateSpec spec; ReplicaSetSpec template;
        ReplicationControllerSpec template; SecretEnvSource name; SecretKeySelector name;
        SecretProjection name; SecretVolumeSource secretName; VolumeNodeAffinity required;
        ValidatingAdmissionPolicySpec matchConstraints
    ",
            Check::Required,
        ),
        ("PodTemplate", Check::Type(pod_template)),
        ("ValidatingAdmissionPolicySpec", Check::Type(validations)),
        ("MutatingAdmissionPolicySpec; ValidatingAdmissionPolicySpec", Check::Type(resource_rules)),
    ],
    ..ValidationRule::DEFAULT
};

/// Kinds that the API server rejects without a `spec`, although their schema does not require it.
const WITH_SPEC: [&str; 14] = [
    "CronJob",
    "DaemonSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "Ingress",
    "IngressClass",
    "Job",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "ReplicaSet",
    "ReplicationController",
    "Service",
    "StatefulSet",
];

/// Checks that an object of a built-in kind has a required `spec`.
pub(super) fn spec(object: &Node, violations: &mut RuleViolations) {
    let kind = text_of(object, "kind");
    if WITH_SPEC.contains(&kind) && object.get("spec").is_none_or(Node::is_null) {
        violations.report_at(&[Field("spec")], object.span(), "missing required field `spec`");
    }
}

fn pod_template(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.is_object && subject.get("template").is_none() {
        violations.report_field(subject, "template", "missing required field `template`");
    }
}

fn validations(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.list("validations").is_empty() && subject.list("auditAnnotations").is_empty() {
        violations.report_field(
            subject,
            "validations",
            "`validations` or `auditAnnotations` must be specified",
        );
    }
}

fn resource_rules(subject: Subject<'_>, violations: &mut RuleViolations) {
    let Some(constraints) = subject.get("matchConstraints") else { return };
    if constraints.get("resourceRules").and_then(Node::as_list).is_none_or(Vec::is_empty) {
        let path = [Field("matchConstraints"), Field("resourceRules")];
        violations.report_at(&path, constraints.span(), "`resourceRules` is required");
    }
}
