use super::prelude::*;
use crate::names::{is_dns_subdomain, is_path_segment};

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "reference-name",
        meaning: "A reference has a name that the other object cannot have.",
        remedy: "Correct the name; most names have lowercase letters, digits, `-` and `.`.",
    },
    why: "No object of the referenced kind can have such a name, so the reference cannot be resolved.",
    documentation: "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names",
    example: pod!("priorityClassName: Very_High"),
    fix: ("Very_High", "very-high"),
    checks: &[
    (
        "IngressTLS secretName; PersistentVolumeClaimSpec storageClassName; PersistentVolumeSpec storageClassName;
        PodSpec serviceAccountName nodeName priorityClassName",
        Check::Text(SUBDOMAIN),
    ),
    (
        "CSIStorageCapacity storageClassName; ConfigMapEnvSource name; ConfigMapKeySelector name;
        CustomResourceDefinitionSpec group; Endpoint nodeName; ExactDeviceRequest deviceClassName;
        IngressSpec ingressClassName; PodSpec runtimeClassName; PriorityLevelConfigurationReference name;
        SecretEnvSource name; SecretKeySelector name; ServiceAccountSubject name;
        ValidatingAdmissionPolicyBindingSpec policyName",
        Check::FilledText(SUBDOMAIN),
    ),
    (
        "CrossVersionObjectReference kind name; IngressClassParametersReference kind name;
        MetricIdentifier name; ParentReference name resource",
        Check::FilledText(PATH_SEGMENT),
    ),
    ("ParentReference namespace", Check::Text(PATH_SEGMENT)),
    ],
    ..ValidationRule::DEFAULT
};

const SUBDOMAIN: TextForm = (is_dns_subdomain, "a name of small letters, digits, `-` and `.`");
const PATH_SEGMENT: TextForm = (is_path_segment, "a name without `/` and `%`");
