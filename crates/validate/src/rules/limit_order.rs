use super::prelude::*;
use crate::quantity::Quantity;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "limit-order",
        meaning: "Amounts of a LimitRange are not in the order of minimum, default and maximum.",
        remedy: "Make `min` the lowest amount, then `defaultRequest`, `default` and `max`.",
    },
    why: "Containers that get such defaults would be rejected. Limits of type `Pod` have no defaults.",
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

/// Pairs of fields, the lower amount first.
const ORDER: [(&str, &str); 6] = [
    ("min", "max"),
    ("min", "defaultRequest"),
    ("min", "default"),
    ("defaultRequest", "default"),
    ("defaultRequest", "max"),
    ("default", "max"),
];

fn range(of: Subject<'_>, faults: &mut Faults) {
    for (less, more) in ORDER {
        for (name, amount) in of.map(less) {
            let larger = of.get(more).and_then(|map| map.get(name));
            if Quantity::of(amount).zip(larger.and_then(Quantity::of)).is_some_and(|(less, more)| less > more)
            {
                faults.at(of, &[Field(less), Field(name)], format!("this is more than in `{more}`"));
            }
        }
    }
    for field in ["default", "defaultRequest"] {
        if of.text("type") == Some("Pod") && of.get(field).is_some() {
            faults.field(of, field, "pods have no defaults, containers do");
        }
    }
}
