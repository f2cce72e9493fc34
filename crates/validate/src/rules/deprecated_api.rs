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
        meaning: "The API version is deprecated, and a later Kubernetes release may remove it.",
        remedy: "Migrate to the version that the message names before you upgrade the cluster.",
    },
    why: "The server still accepts the version and returns a warning. After an upgrade to a release that no \
          longer serves it, deployments fail. `v1` Endpoints are deprecated, but will not be removed.",
    suppress: Some(
        "The cluster is so old that it does not serve the replacement yet. Prefer `--kubernetes-version` with the \
               release of that cluster.",
    ),
    documentation: "https://kubernetes.io/docs/reference/using-api/deprecation-policy/",
    example: DEPRECATED,
    fix: (DEPRECATED, CURRENT),
    severity: Severity::Warning,
    ..ValidationRule::DEFAULT
};
