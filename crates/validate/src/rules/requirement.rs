use super::prelude::*;
use crate::rule::quoted;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "requirement",
        meaning: "A selector requirement has an unknown operator, or values that do not fit its operator.",
        remedy: "Give `In` and `NotIn` values, `Gt` and `Lt` one value, `Exists` and `DoesNotExist` none.",
    },
    why: "The operator decides how many values are compared.",
    documentation: "https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#set-based-requirement",
    example: pod!(
        "affinity:
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
        - matchExpressions: [{key: gpu, operator: In}]"
    ),
    fix: ("In", "Exists"),
    checks: &[
        (
            "LabelSelectorRequirement; ScopedResourceSelectorRequirement",
            Check::Type(|of, faults| operator(of, &["In", "NotIn", "Exists", "DoesNotExist"], faults)),
        ),
        (
            "NodeSelectorRequirement",
            Check::Type(|of, faults| {
                operator(of, &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"], faults);
            }),
        ),
    ],
    ..ValidationRule::DEFAULT
};

fn operator(of: Subject<'_>, known: &[&str], faults: &mut Faults) {
    let Some(operator) = of.text("operator") else { return };
    let count = of.list("values").len();
    let message = match operator {
        _ if !known.contains(&operator) => {
            let message = format!("the operator must be one of {}", quoted(known));
            return faults.field(of, "operator", message);
        }
        "In" | "NotIn" if count == 0 => "`In` and `NotIn` need values",
        "Exists" | "DoesNotExist" if count > 0 => "`Exists` and `DoesNotExist` have no values",
        "Gt" | "Lt" if count != 1 => "`Gt` and `Lt` have one value",
        _ => return,
    };
    faults.field(of, "values", message);
}
