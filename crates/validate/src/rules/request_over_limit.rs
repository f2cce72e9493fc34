use std::cmp::Ordering;

use super::prelude::*;
use crate::quantity::Quantity;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "request-over-limit",
        meaning: "A request is above its limit, or differs from the limit of an extended resource or huge pages.",
        remedy: "Lower the request or raise the limit. For extended resources and huge pages use equal values.",
    },
    why: "Overlays that lower the limit often forget the request of the base. Extended resources and huge pages cannot be \
          overcommitted, so both values must be equal.",
    documentation: "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#requests-and-limits",
    example: container!("resources: {requests: {cpu: 1}, limits: {cpu: 500m}}"),
    fix: ("cpu: 1", "cpu: 250m"),
    checks: &[("ResourceRequirements", Check::Type(requests))],
    ..ValidationRule::DEFAULT
};

fn requests(subject: Subject<'_>, violations: &mut RuleViolations) {
    let limits = subject.get("limits").and_then(Node::as_map);
    // Limits with `storage` belong to a PersistentVolumeClaim, to which this rule does not apply.
    if limits.is_some_and(|limits| limits.contains_key("storage")) {
        return;
    }
    for (name, request) in subject.map("requests") {
        let limit = limits.and_then(|limits| limits.get(name));
        let order = Quantity::from_node(request)
            .zip(limit.and_then(Quantity::from_node))
            .map(|(own, most)| own.cmp(&most));
        let message = match order {
            Some(Ordering::Greater) => format!("must be less than or equal to the `{name}` limit"),
            _ if is_overcommitted(name) => continue,
            _ if limit.is_none() => format!("requires an equal `{name}` limit"),
            Some(Ordering::Less) => format!("must be equal to the `{name}` limit"),
            _ => continue,
        };
        violations.report_path(subject, &[Field("requests"), Field(name)], message);
    }
}

/// Returns true if requests may be lower than the limit, unlike those of extended resources and huge pages.
fn is_overcommitted(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    is_native && !name.starts_with("hugepages-")
}
