use super::prelude::*;
use smp_text::diagnostic::Severity;

const DEPRECATED: &str = "\
apiVersion: v1
kind: Endpoints
metadata: {name: web}
subsets:
- addresses: [{ip: 10.0.0.1}]
  ports: [{port: 80}]
";
const CURRENT: &str = "\
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1]}]
ports: [{port: 80}]
";

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "deprecated-api",
        meaning: "A coming Kubernetes release will not serve the API version.",
        remedy: "Use the version that the help names, before the cluster is upgraded.",
    },
    why: "The server still accepts the version, and returns a warning.",
    documentation: "https://kubernetes.io/docs/reference/using-api/deprecation-policy/",
    example: DEPRECATED,
    fix: (DEPRECATED, CURRENT),
    severity: Severity::Warning,
    ..ValidationRule::DEFAULT
};
