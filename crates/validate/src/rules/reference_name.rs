use super::prelude::*;
use crate::names::{is_dns_subdomain, is_path_segment};

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "reference-name",
        meaning: "A reference contains a name that no object of its kind can have.",
        remedy: "Correct the name. Most names consist of lowercase letters, digits, `-` and `.`.",
    },
    why: "No object can have this name, so the reference can never be resolved.",
    documentation: "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names",
    example: pod!("priorityClassName: Very_High"),
    fix: ("Very_High", "very-high"),
    checks: &[
    (
        "IngressTLS secretName; PersistentVolumeClaimSpec storageClassName; PersistentVolumeSpec storageClassName;
        PodSpec serviceAccountName nodeName priorityClassName",
        Check::OptionalString(SUBDOMAIN),
    ),
    (
        "CSIStorageCapacity storageClassName; ConfigMapEnvSource name; ConfigMapKeySelector name;
        CustomResourceDefinitionSpec group; Endpoint nodeName; ExactDeviceRequest deviceClassName;
        IngressSpec ingressClassName; PodSpec runtimeClassName; PriorityLevelConfigurationReference name;
        SecretEnvSource name; SecretKeySelector name; ServiceAccountSubject name;
        ValidatingAdmissionPolicyBindingSpec policyName",
        Check::RequiredString(SUBDOMAIN),
    ),
    (
        "CrossVersionObjectReference kind name; IngressClassParametersReference kind name;
        MetricIdentifier name; ParentReference name resource",
        Check::RequiredString(PATH_SEGMENT),
    ),
    ("ParentReference namespace", Check::OptionalString(PATH_SEGMENT)),
    ],
    ..ValidationRule::DEFAULT
};

const SUBDOMAIN: StringFormat = (
    is_dns_subdomain,
    "a lowercase RFC 1123 subdomain (lowercase letters, digits, `-` and `.`, a letter or digit at both ends of each part)",
);
const PATH_SEGMENT: StringFormat = (is_path_segment, "a name without `/` and `%`, other than `.` and `..`");
