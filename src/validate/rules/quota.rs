//! Limits of namespaces.

use super::super::quantity::Quantity;
use super::super::violation::ViolationRule;
use super::forms::quantity;
use super::subject::{Below, Faults, RuleOfType, Subject};
use crate::yaml::{Map, Node};

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
}

fn quota(of: Subject<'_>, faults: &mut Faults) {
    for (name, amount) in of.get("hard").and_then(Node::as_map).into_iter().flat_map(Map::iter) {
        let is_count = name.starts_with("count/")
            || matches!(
                name,
                "pods" | "services" | "secrets" | "configmaps" | "replicationcontrollers" | "resourcequotas"
            )
            || matches!(name, "persistentvolumeclaims" | "services.loadbalancers" | "services.nodeports");
        if is_count && !quantity(amount).is_none_or(Quantity::is_countable) {
            let path = [Below::Field("hard"), Below::Field(name)];
            faults.below(ViolationRule::Quantity, &path, amount.span(), "this must be a whole number");
        }
    }
}
