use std::cmp::Ordering;

use super::prelude::*;
use crate::quantity::Quantity;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "request-over-limit",
        meaning: "A container requests more than its limit, or less than the limit of a device or huge pages.",
        remedy: "Lower the request, or raise the limit; for devices and huge pages use the same amount.",
    },
    why: "A request above the limit can never be used. Devices and huge pages cannot be overcommitted.",
    documentation: "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/#requests-and-limits",
    example: container!("resources: {requests: {cpu: 1}, limits: {cpu: 500m}}"),
    fix: ("cpu: 1", "cpu: 250m"),
    checks: &[("ResourceRequirements", Check::Type(requests))],
    ..ValidationRule::DEFAULT
};

fn requests(of: Subject<'_>, faults: &mut Faults) {
    let limits = of.get("limits").and_then(Node::as_map);
    // Those of a claim.
    if limits.is_some_and(|limits| limits.contains_key("storage")) {
        return;
    }
    for (name, request) in of.map("requests") {
        let limit = limits.and_then(|limits| limits.get(name));
        let order = Quantity::of(request).zip(limit.and_then(Quantity::of)).map(|(own, most)| own.cmp(&most));
        let message = match order {
            Some(Ordering::Greater) => format!("more of `{name}` is requested than the limit"),
            _ if is_overcommitted(name) => continue,
            _ if limit.is_none() => format!("`{name}` needs a limit of the same amount"),
            Some(Ordering::Less) => format!("of `{name}` as much must be requested as the limit is"),
            _ => continue,
        };
        faults.at(of, &[Field("requests"), Field(name)], message);
    }
}

/// Returns whether requests may be lower than the limit, unlike those of devices and huge pages.
fn is_overcommitted(name: &str) -> bool {
    let is_native = !name.contains('/') || name.contains("kubernetes.io/");
    is_native && !name.starts_with("hugepages-")
}
