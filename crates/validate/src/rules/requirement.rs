use super::prelude::*;
use crate::rule::quoted;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "selector-requirement",
        meaning: "A selector requirement has an unknown operator, or values that do not match the operator.",
        remedy: "Use one or more values with `In` and `NotIn`, one value with `Gt` and `Lt`, and none with `Exists` and `DoesNotExist`.",
    },
    why: "An operator without its values cannot be evaluated, so Pods could be neither selected nor scheduled by \
          it.",
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
            Check::Type(|subject, violations| {
                operator(subject, &["In", "NotIn", "Exists", "DoesNotExist"], violations);
            }),
        ),
        (
            "NodeSelectorRequirement",
            Check::Type(|subject, violations| {
                operator(subject, &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"], violations);
            }),
        ),
    ],
    ..ValidationRule::DEFAULT
};

fn operator(subject: Subject<'_>, known: &[&str], violations: &mut RuleViolations) {
    let Some(operator) = subject.text("operator") else { return };
    let count = subject.list("values").len();
    let message = match operator {
        _ if !known.contains(&operator) => {
            let message = format!("the operator must be one of {}", quoted(known));
            return violations.report_field(subject, "operator", message);
        }
        "In" | "NotIn" if count == 0 => "must be set if `operator` is `In` or `NotIn`",
        "Exists" | "DoesNotExist" if count > 0 => {
            "may not be set if `operator` is `Exists` or `DoesNotExist`"
        }
        "Gt" | "Lt" if count != 1 => "must have a single value if `operator` is `Gt` or `Lt`",
        _ => return,
    };
    violations.report_field(subject, "values", message);
}
