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
    suppress: Some("A newer Kubernetes release accepts the value, and the schema of the build is older."),
    documentation: "https://kubernetes.io/docs/concepts/containers/images/#image-pull-policy",
    example: container!("imagePullPolicy: always"),
    fix: ("always", "Always"),
    checks: &[
        ("PodOS name", Check::OneOf(&["linux", "windows"])),
        ("Container restartPolicy", Check::OneOf(&["Always", "Never", "OnFailure"])),
        ("ContainerResizePolicy restartPolicy", Check::OneOf(&["NotRequired", "RestartContainer"])),
        ("VolumeMount recursiveReadOnly", Check::OneOf(&["Disabled", "Enabled", "IfPossible"])),
        ("IngressClassParametersReference scope", Check::OneOf(&["Cluster", "Namespace"])),
        ("HPAScalingPolicy type", Check::OneOf(&["Percent", "Pods"])),
        ("HPAScalingRules selectPolicy", Check::OneOf(&["Disabled", "Max", "Min"])),
        ("CSIDriverSpec fsGroupPolicy", Check::OneOf(&["File", "None", "ReadWriteOnceWithFSType"])),
        ("CSIDriverSpec volumeLifecycleModes", Check::StringList(LIFECYCLE_MODE)),
        ("LimitRangeItem type", Check::RequiredString(LIMIT_TYPE)),
        ("PriorityLevelConfigurationSpec type", Check::OneOf(&["Exempt", "Limited"])),
        ("LimitResponse type", Check::OneOf(&["Queue", "Reject"])),
        ("FlowDistinguisherMethod type", Check::OneOf(&["ByNamespace", "ByUser"])),
        ("CustomResourceDefinitionSpec scope", Check::OneOf(&["Cluster", "Namespaced"])),
        ("CustomResourceConversion strategy", Check::OneOf(&["None", "Webhook"])),
        (
            "CustomResourceColumnDefinition type",
            Check::OneOf(&["boolean", "date", "integer", "number", "string"]),
        ),
        ("CustomResourceColumnDefinition format", Check::OptionalString(COLUMN_FORMAT)),
    ],
    ..ValidationRule::DEFAULT
};

const LIFECYCLE_MODE: StringFormat =
    (|text| matches!(text, "Persistent" | "Ephemeral"), "`Persistent` or `Ephemeral`");

const COLUMN_FORMAT: StringFormat = (
    |text| {
        matches!(text, "byte" | "date" | "date-time" | "double" | "float" | "int32" | "int64" | "password")
    },
    "`byte`, `date`, `date-time`, `double`, `float`, `int32`, `int64` or `password`",
);

const LIMIT_TYPE: StringFormat = (
    |text| {
        matches!(text, "Pod" | "Container" | "PersistentVolumeClaim")
            || (text.contains('/') && is_qualified_name(text))
    },
    "`Pod`, `Container`, `PersistentVolumeClaim` or a qualified name such as `example.com/Image`",
);
