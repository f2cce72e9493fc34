//! Label selectors, node selectors, tolerations, and how pods are spread.

use super::super::names::{is_label_value, is_qualified_name};
use super::super::violation::ViolationRule;
use super::subject::{Below, Faults, RuleOfType, Subject};

pub(super) const RULES: &[(&str, RuleOfType)] = &[
    ("LabelSelectorRequirement", label_requirement),
    ("NodeSelectorRequirement", node_requirement),
    ("ScopedResourceSelectorRequirement", scope_requirement),
    ("Toleration", toleration),
    ("TopologySpreadConstraint", spread),
];

fn label_requirement(of: Subject<'_>, faults: &mut Faults) {
    key(of, faults);
    for (i, value) in of.list("values").iter().enumerate() {
        if value.as_str().is_some_and(|text| !is_label_value(text)) {
            let message = "the value of a label has letters, digits, `-`, `_` and `.`, 63 at most";
            let path = [Below::Field("values"), Below::Entry(i)];
            faults.below(ViolationRule::LabelValue, &path, value.span(), message);
        }
    }
    operator(of, &["In", "NotIn", "Exists", "DoesNotExist"], faults);
}

fn node_requirement(of: Subject<'_>, faults: &mut Faults) {
    key(of, faults);
    operator(of, &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"], faults);
}

fn scope_requirement(of: Subject<'_>, faults: &mut Faults) {
    operator(of, &["In", "NotIn", "Exists", "DoesNotExist"], faults);
}

fn key(of: Subject<'_>, faults: &mut Faults) {
    if of.text("key").is_some_and(|key| !is_qualified_name(key)) {
        faults.field(
            ViolationRule::QualifiedName,
            of,
            "key",
            "this must be a name such as `app` or `example.com/app`",
        );
    }
}

fn operator(of: Subject<'_>, known: &[&str], faults: &mut Faults) {
    let Some(operator) = of.text("operator") else { return };
    let count = of.list("values").len();
    let message = match operator {
        _ if !known.contains(&operator) => {
            let known: Vec<String> = known.iter().map(|word| format!("`{word}`")).collect();
            let message = format!("the operator must be one of {}", known.join(", "));
            return faults.field(ViolationRule::Requirement, of, "operator", message);
        }
        "In" | "NotIn" if count == 0 => "`In` and `NotIn` need values",
        "Exists" | "DoesNotExist" if count > 0 => "`Exists` and `DoesNotExist` have no values",
        "Gt" | "Lt" if count != 1 => "`Gt` and `Lt` have one value",
        _ => return,
    };
    faults.field(ViolationRule::Requirement, of, "values", message);
}

fn toleration(of: Subject<'_>, faults: &mut Faults) {
    let operator = of.text_or_empty("operator");
    if of.text_or_empty("key").is_empty() && operator != "Exists" {
        faults.field(
            ViolationRule::Toleration,
            of,
            "operator",
            "a toleration without a key needs the operator `Exists`",
        );
    }
    if operator == "Exists" && !of.text_or_empty("value").is_empty() {
        faults.field(ViolationRule::Toleration, of, "value", "a toleration with `Exists` has no value");
    }
    if of.get("tolerationSeconds").is_some() && of.text("effect") != Some("NoExecute") {
        faults.field(
            ViolationRule::Toleration,
            of,
            "effect",
            "`tolerationSeconds` needs the effect `NoExecute`",
        );
    }
}

fn spread(of: Subject<'_>, faults: &mut Faults) {
    if of.get("minDomains").is_some() && of.text("whenUnsatisfiable") != Some("DoNotSchedule") {
        faults.field(
            ViolationRule::Spread,
            of,
            "minDomains",
            "`minDomains` needs `whenUnsatisfiable: DoNotSchedule`",
        );
    }
}
