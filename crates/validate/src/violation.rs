//! What validation finds, as data.

use smp_text::diagnostic::{Code, Diagnostic, RuleText, Severity};
use smp_text::path::FieldPath;
use smp_text::source::Span;

/// Declares the rules once: the enum, their codes and their documentation cannot differ.
macro_rules! rules {
    ($($variant:ident $code:literal $doc:literal)*) => {
        /// Which rule an object breaks.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum ViolationRule {
            $(#[doc = $doc] $variant,)*
        }

        impl ViolationRule {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Its name for programs and comments, such as `unknown-field`.
            #[must_use]
            pub fn code(self) -> &'static str {
                match self { $(Self::$variant => $code),* }
            }

            /// What it says, in a sentence.
            #[must_use]
            pub const fn doc(self) -> &'static str {
                match self { $(Self::$variant => $doc),* }
            }

            /// The same as the text of a rule.
            const fn text(self) -> &'static RuleText {
                match self {
                    $(Self::$variant => &RuleText { name: $code, meaning: $doc, remedy: REMEDY },)*
                }
            }
        }
    };
}

rules! {
    UnknownField "unknown-field" "A field that the kind does not have."
    WrongType "wrong-type" "A value of another type than the server reads there."
    MissingRequired "missing-required" "A field is missing that the server demands."
    Enum "enum" "A value that is none of those that are possible."
    Format "format" "A text that has not the form that is demanded: a date, a duration, base64, an address."
    NullValue "null-value" "Null, where a custom resource must have a value."
    DuplicateKey "duplicate-key" "Two entries of a list with the same key, or twice the same entry in a set."
    Pattern "pattern" "A text that does not match the pattern of its definition."
    Bounds "bounds" "Too long, too short, too many, too few, too large or too small."
    Combination "combination" "A value that `allOf`, `anyOf`, `oneOf` or `not` of its definition refuses."
    Cel "cel" "A rule of the definition (`x-kubernetes-validations`) or of an admission policy is not kept."
    UnknownKind "unknown-kind" "A kind that its group, which is part of Kubernetes, does not have."
    RemovedApi "removed-api" "An API version that this release of Kubernetes no longer serves."
    DeprecatedApi "deprecated-api" "An API version that a coming release of Kubernetes will not serve."
    ObjectName "object-name" "The name of an object has the form that its kind demands, and so has that of its namespace."
    FieldName "field-name" "A name within an object (a container, a volume, a port) is a label of DNS."
    ReferenceName "reference-name" "A name of another object can be the name of one."
    QualifiedName "qualified-name" "The keys of labels, annotations, taints and topologies are qualified names."
    LabelValue "label-value" "The values of labels are short and plain."
    Annotations "annotations" "Annotations have at most 256 KiB together."
    Finalizer "finalizer" "Finalizers are qualified names."
    Owner "owner" "One owner at most is the controller."
    Port "port" "Ports are from 1 to 65535."
    PortName "port-name" "Names of ports are IANA service names, and differ within a container or service."
    HostPort "host-port" "Ports of the host are used once, and are those of the container with `hostNetwork`."
    Number "number" "Counts and seconds are within their bounds."
    Quantity "quantity" "Amounts are not negative, and whole where things are counted."
    ResourceName "resource-name" "Resources are those that containers have, or qualified names."
    RequestOverLimit "request-over-limit" "Not more is requested than the limit, and of devices and huge pages not less."
    Address "address" "IP addresses and networks are well-formed."
    Dns "dns" "DNS settings of a pod are complete, and not too many."
    EnvName "env-name" "Names of variables of the environment are printable, without `=`."
    EnvSource "env-source" "A variable has one source, and one that there is."
    DataKey "data-key" "Keys of ConfigMaps and Secrets are names of files, and not there twice."
    SecretType "secret-type" "A Secret has the keys that its type demands, of the form that it demands."
    Image "image" "Containers have an image, and its name has no blanks around it."
    ContainerName "container-name" "Containers and init containers have different names."
    Handler "handler" "A probe or a hook has just one handler, where there may be one."
    Privilege "privilege" "Security contexts have the fields that go together."
    RestartPolicy "restart-policy" "Pods restart as their kind demands."
    VolumeSource "volume-source" "A volume has just one source."
    VolumeMount "volume-mount" "What is mounted is a volume of the pod."
    MountPath "mount-path" "Paths within volumes are relative, and none leads out of its volume."
    Requirement "requirement" "Requirements of selectors have an operator and the values that it takes."
    Toleration "toleration" "Tolerations have the fields that go together."
    Spread "spread" "Spread constraints have the fields that go together."
    SelectorMismatch "selector-mismatch" "The selector of a workload selects the pods of its template."
    Strategy "strategy" "Update strategies have the fields that go together, and can make progress."
    Job "job" "Jobs have the fields that go together."
    Schedule "schedule" "The schedule of a CronJob can be read."
    ServicePorts "service-ports" "Services have ports, with names where there are several."
    ServiceType "service-type" "Services have the fields that their type takes."
    ClusterIp "cluster-ip" "The address of a service is one, and goes with its type."
    Host "host" "Hosts of an Ingress are names of hosts."
    IngressPath "ingress-path" "Paths of an Ingress are absolute."
    IngressBackend "ingress-backend" "Backends of an Ingress are there, and complete."
    NetworkPeer "network-peer" "Peers and ports of network policies have the fields that go together."
    Replicas "replicas" "The most replicas are not fewer than the least."
    Metric "metric" "Metrics have the source and the target that their type demands."
    Budget "budget" "A disruption budget has one bound."
    PolicyRule "policy-rule" "Rules of roles name verbs, and resources or URLs."
    RoleRef "role-ref" "Bindings name a role."
    Subject "subject" "Subjects of bindings are complete."
    AccessModes "access-modes" "Volumes and claims have access modes that go together."
    StorageRequest "storage-request" "Claims request storage, and volumes have some."
    LimitOrder "limit-order" "Least, default and most amounts are in order."
    Webhook "webhook" "Webhooks are complete."
    DefinitionName "definition-name" "Definitions and API services are called after what they define."
    DefinitionSchema "definition-schema" "The schema of a definition is structural: it says the type of each field, and what a server can check."
    DefinitionVersions "definition-versions" "One version of a definition is stored."
}

/// What can be done about all of them.
const REMEDY: &str = "Correct the value as the message says. An API server refuses the object as it is, or the next release will.";

impl ViolationRule {
    /// What its findings are called in messages. Some are called as elsewhere.
    #[must_use]
    pub const fn diagnostic_code(self) -> Code {
        match self {
            Self::UnknownField => Code::UnknownField,
            Self::WrongType => Code::WrongType,
            Self::DuplicateKey => Code::DuplicateKey,
            rule => Code::Rule(rule.text()),
        }
    }
}

/// One reason for which a server would refuse an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: ViolationRule,
    /// The field.
    pub path: FieldPath,
    /// The place of the value; of the key for an unknown field, of the map around it for a missing one.
    pub at: Span,
    /// What is wrong, in a sentence without a capital or a full stop, and without the value.
    pub message: String,
    /// What can be done.
    pub help: Option<String>,
    /// Error: refused. Warning: taken, and still a problem. Note: not checked.
    pub severity: Severity,
}

impl Violation {
    /// What a server refuses.
    pub(super) fn error(rule: ViolationRule, path: FieldPath, at: Span, message: impl Into<String>) -> Self {
        Self { rule, path, at, message: message.into(), help: None, severity: Severity::Error }
    }

    pub(super) fn help(mut self, help: Option<String>) -> Self {
        self.help = help;
        self
    }

    pub(super) fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// The same as a diagnostic.
    #[must_use]
    pub fn into_diagnostic(self) -> Diagnostic {
        let code = self.rule.diagnostic_code();
        let diagnostic = match self.severity {
            Severity::Error => Diagnostic::error(code, self.message),
            Severity::Warning => Diagnostic::warning(code, self.message),
            Severity::Note => Diagnostic::info(code, self.message),
        };
        let diagnostic = diagnostic.at(self.at).field(&self.path);
        self.help.into_iter().fold(diagnostic, Diagnostic::help)
    }
}
