use super::prelude::*;
use crate::names::is_qualified_name;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "resource-name",
        meaning: "A resource in requests, limits or a quota is unknown.",
        remedy: "Use `cpu`, `memory`, `ephemeral-storage`, huge pages such as `hugepages-2Mi`, or the full name of an extended resource such as `nvidia.com/gpu`.",
    },
    why: "Names without a domain are reserved for Kubernetes, so a misspelled `memroy` or a bare `gpu` is not an \
          extended resource.",
    documentation: "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/",
    example: container!("resources: {limits: {gpu: 1}}"),
    fix: ("gpu:", "nvidia.com/gpu:"),
    checks: &[
        ("ResourceRequirements", Check::Type(requirements)),
        ("LimitRangeItem", Check::Type(limits)),
        ("ResourceQuotaSpec", Check::Type(quota)),
    ],
    ..ValidationRule::DEFAULT
};

/// Returns true if a name is a standard or extended resource that containers may request.
fn is_of_containers(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage")
        || name.starts_with("hugepages-")
        || name.contains('/')
}

fn requirements(subject: Subject<'_>, violations: &mut RuleViolations) {
    let message = "must be `cpu`, `memory`, `ephemeral-storage`, huge pages such as `hugepages-2Mi`, or an extended resource such as \
         `example.com/device`";
    for field in ["limits", "requests"] {
        for (name, _) in subject.map(field).filter(|(name, _)| *name != "storage" && !is_of_containers(name))
        {
            violations.report_path(subject, &[Field(field), Field(name)], message);
        }
    }
}

fn limits(subject: Subject<'_>, violations: &mut RuleViolations) {
    if !matches!(subject.text("type"), Some("Pod" | "Container")) {
        return;
    }
    let message =
        "must be a standard resource for containers, or an extended resource such as `example.com/device`";
    for field in ["default", "defaultRequest", "max", "maxLimitRequestRatio", "min"] {
        for (name, _) in subject.map(field).filter(|(name, _)| !is_of_containers(name)) {
            violations.report_path(subject, &[Field(field), Field(name)], message);
        }
    }
}

/// The standard resources of quotas, besides huge pages and names with a `/`.
const IN_QUOTAS: &str = "configmaps cpu ephemeral-storage limits.cpu limits.ephemeral-storage limits.memory memory \
                         persistentvolumeclaims pods replicationcontrollers requests.cpu requests.ephemeral-storage \
                         requests.memory requests.storage resourcequotas secrets services services.loadbalancers \
                         services.nodeports";

fn is_in_quotas(name: &str) -> bool {
    let pages = name.strip_prefix("requests.").unwrap_or(name);
    let is_listed = IN_QUOTAS.split(' ').any(|known| known == name);
    (is_listed || pages.starts_with("hugepages-") || name.contains('/')) && is_qualified_name(name)
}

fn quota(subject: Subject<'_>, violations: &mut RuleViolations) {
    let message =
        "must be a standard resource for quotas, such as `pods`, `requests.cpu` or `count/deployments.apps`";
    for (name, _) in subject.map("hard").filter(|(name, _)| !is_in_quotas(name)) {
        violations.report_path(subject, &[Field("hard"), Field(name)], message);
    }
}
