//! Limits of namespaces.

use super::super::names::is_qualified_name;
use super::super::quantity::Quantity;
use super::super::violation::ViolationRule;
use super::forms::quantity;
use super::subject::{Below, Faults, RuleOfType, Subject};
use smp_text::yaml::{Map, Node};

pub(super) const RULES: &[(&str, RuleOfType)] = &[("LimitRangeItem", range), ("ResourceQuotaSpec", quota)];

/// Pairs of fields of which the first must not be larger for any resource.
const ORDER: [(&str, &str); 6] = [
    ("min", "max"),
    ("min", "defaultRequest"),
    ("min", "default"),
    ("defaultRequest", "default"),
    ("defaultRequest", "max"),
    ("default", "max"),
];

fn range(of: Subject<'_>, faults: &mut Faults) {
    let amounts = |field: &str| of.get(field).and_then(Node::as_map);
    for (less, more) in ORDER {
        for (name, amount) in amounts(less).into_iter().flat_map(Map::iter) {
            let larger = amounts(more).and_then(|map| map.get(name));
            if quantity(amount).zip(larger.and_then(quantity)).is_some_and(|(less, more)| less > more) {
                let path = [Below::Field(less), Below::Field(name)];
                faults.below(
                    ViolationRule::LimitOrder,
                    &path,
                    amount.span(),
                    format!("this is more than in `{more}`"),
                );
            }
        }
    }
    if of.text("type") == Some("Pod") {
        for field in ["default", "defaultRequest"].into_iter().filter(|field| of.get(field).is_some()) {
            faults.field(ViolationRule::LimitOrder, of, field, "pods have no defaults, containers do");
        }
    }
    if matches!(of.text("type"), Some("Pod" | "Container")) {
        for field in LIMITS {
            limited(of, field, faults);
        }
    }
}

/// Fields with amounts of resources.
const LIMITS: [&str; 5] = ["default", "defaultRequest", "max", "maxLimitRequestRatio", "min"];

/// What containers have is limited, and no other resource.
fn limited(of: Subject<'_>, field: &str, faults: &mut Faults) {
    let amounts = of.get(field).and_then(Node::as_map);
    for (name, amount) in amounts.into_iter().flat_map(Map::iter) {
        let is_known = matches!(name, "cpu" | "memory" | "ephemeral-storage")
            || name.starts_with("hugepages-")
            || name.contains('/');
        if !is_known {
            let path = [Below::Field(field), Below::Field(name)];
            let message = "containers have `cpu`, `memory`, `ephemeral-storage`, and what is called as \
                           `example.com/device`";
            faults.below(ViolationRule::ResourceName, &path, amount.span(), message);
        }
    }
}

/// What a quota counts or adds up, beside huge pages and what has a `/` in its name.
const COUNTED: [&str; 19] = [
    "configmaps",
    "cpu",
    "ephemeral-storage",
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "memory",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
    "requests.storage",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
];

/// Whether a quota can be of a resource of this name.
fn is_counted(name: &str) -> bool {
    let pages = name.strip_prefix("requests.").unwrap_or(name);
    let is_listed = COUNTED.contains(&name) || pages.starts_with("hugepages-") || name.contains('/');
    is_listed && is_qualified_name(name)
}

fn quota(of: Subject<'_>, faults: &mut Faults) {
    for (name, amount) in of.get("hard").and_then(Node::as_map).into_iter().flat_map(Map::iter) {
        let path = [Below::Field("hard"), Below::Field(name)];
        if !is_counted(name) {
            let message = "there is no quota of this: it is one such as `pods`, `requests.cpu` or \
                           `count/deployments.apps`";
            faults.below(ViolationRule::ResourceName, &path, amount.span(), message);
        }
        let is_count = name.starts_with("count/")
            || matches!(
                name,
                "pods" | "services" | "secrets" | "configmaps" | "replicationcontrollers" | "resourcequotas"
            )
            || matches!(name, "persistentvolumeclaims" | "services.loadbalancers" | "services.nodeports");
        if is_count && !quantity(amount).is_none_or(Quantity::is_countable) {
            faults.below(ViolationRule::Quantity, &path, amount.span(), "this must be a whole number");
        }
    }
}
