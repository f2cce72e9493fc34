use super::prelude::*;
use crate::quantity::Quantity;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "limit-range-order",
        meaning: "The values of a LimitRange are not in ascending order.",
        remedy: "Use values in the order `min` <= `defaultRequest` <= `default` <= `max`.",
    },
    why: "If `min` is above `max`, no container can satisfy the LimitRange. If a default is above `max`, containers \
          without explicit resources are rejected. `default` and `defaultRequest` are not allowed for the type `Pod`.",
    documentation: "https://kubernetes.io/docs/concepts/policy/limit-range/",
    example: "\
apiVersion: v1
kind: LimitRange
metadata: {name: web}
spec:
  limits:
  - {type: Container, min: {cpu: 1}, max: {cpu: 500m}}
",
    fix: ("cpu: 1", "cpu: 100m"),
    checks: &[("LimitRangeItem", Check::Type(range))],
    ..ValidationRule::DEFAULT
};

/// Pairs of fields. The value of the first one must not be greater than that of the second one.
const ORDER: [(&str, &str); 6] = [
    ("min", "max"),
    ("min", "defaultRequest"),
    ("min", "default"),
    ("defaultRequest", "default"),
    ("defaultRequest", "max"),
    ("default", "max"),
];

fn range(subject: Subject<'_>, violations: &mut RuleViolations) {
    for (less, more) in ORDER {
        for (name, amount) in subject.map(less) {
            let larger = subject.get(more).and_then(|map| map.get(name));
            if Quantity::from_node(amount)
                .zip(larger.and_then(Quantity::from_node))
                .is_some_and(|(less, more)| less > more)
            {
                violations.report_path(
                    subject,
                    &[Field(less), Field(name)],
                    format!("must be less than or equal to the value in `{more}`"),
                );
            }
        }
    }
    for field in ["default", "defaultRequest"] {
        if subject.text("type") == Some("Pod") && subject.get(field).is_some() {
            violations.report_field(subject, field, "may not be specified if `type` is `Pod`");
        }
    }
}
