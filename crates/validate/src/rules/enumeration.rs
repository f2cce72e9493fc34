use super::prelude::*;
use crate::names::is_qualified_name;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "enum",
        meaning: "A value is not one of those that the field allows.",
        remedy: "Use one of the values that the message lists. They are case-sensitive.",
    },
    why: "Fields such as `imagePullPolicy` and `pathType` accept a fixed set of values. Usually only the case \
          differs.",
    suppress: "A newer Kubernetes release accepts the value, and the schema of the build is older.",
    documentation: "https://kubernetes.io/docs/reference/using-api/api-concepts/",
    example: container!("imagePullPolicy: always"),
    fix: ("always", "Always"),
    checks: &[
        ("PodOS name", Check::Words(&["linux", "windows"])),
        ("Container restartPolicy", Check::Words(&["Always", "Never", "OnFailure"])),
        ("ContainerResizePolicy restartPolicy", Check::Words(&["NotRequired", "RestartContainer"])),
        ("VolumeMount recursiveReadOnly", Check::Words(&["Disabled", "Enabled", "IfPossible"])),
        ("IngressClassParametersReference scope", Check::Words(&["Cluster", "Namespace"])),
        ("HPAScalingPolicy type", Check::Words(&["Percent", "Pods"])),
        ("HPAScalingRules selectPolicy", Check::Words(&["Disabled", "Max", "Min"])),
        ("CSIDriverSpec fsGroupPolicy", Check::Words(&["File", "None", "ReadWriteOnceWithFSType"])),
        ("CSIDriverSpec volumeLifecycleModes", Check::Texts(LIFECYCLE_MODE)),
        ("LimitRangeItem type", Check::FilledText(LIMIT_TYPE)),
        ("PriorityLevelConfigurationSpec type", Check::Words(&["Exempt", "Limited"])),
        ("LimitResponse type", Check::Words(&["Queue", "Reject"])),
        ("FlowDistinguisherMethod type", Check::Words(&["ByNamespace", "ByUser"])),
        ("CustomResourceDefinitionSpec scope", Check::Words(&["Cluster", "Namespaced"])),
        ("CustomResourceConversion strategy", Check::Words(&["None", "Webhook"])),
        (
            "CustomResourceColumnDefinition type",
            Check::Words(&["boolean", "date", "integer", "number", "string"]),
        ),
    ],
    ..ValidationRule::DEFAULT
};

const LIFECYCLE_MODE: TextForm =
    (|text| matches!(text, "Persistent" | "Ephemeral"), "`Persistent` or `Ephemeral`");

const LIMIT_TYPE: TextForm = (
    |text| {
        matches!(text, "Pod" | "Container" | "PersistentVolumeClaim")
            || (text.contains('/') && is_qualified_name(text))
    },
    "`Pod`, `Container`, `PersistentVolumeClaim`or a qualified name such as `example.com/Image`",
);
