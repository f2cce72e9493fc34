use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "cel",
        meaning: "A CEL validation rule failed, of a CustomResourceDefinition or of an admission policy.",
        remedy: "The message is that of the rule. Change the values that its expression names, or fix the expression if it does not compile.",
    },
    why: "Expressions in `x-kubernetes-validations` and in a ValidatingAdmissionPolicy of the build are evaluated as on a server. One that cannot be decided without a cluster is a warning.",
    documentation: "https://kubernetes.io/docs/reference/using-api/cel/",
    example: "\
apiVersion: example.com/v1
kind: Widget
metadata: {name: web}
spec: {least: 3, most: 2}
",
    fix: ("3, most: 2", "2, most: 3"),
    custom_schema: "{type: object, properties: {least: {type: integer}, most: {type: integer}}, x-kubernetes-validations: [{rule: self.least <= self.most}]}",
    checks: &[
    (
        "AuditAnnotation valueExpression; MatchCondition expression; Validation expression; ValidationRule rule;
        Variable expression",
        Check::FilledText(EXPRESSION),
    ),
    ("Validation messageExpression; ValidationRule messageExpression", Check::Text(EXPRESSION)),
    ],
    ..ValidationRule::DEFAULT
};

const EXPRESSION: TextForm = (is_expression, "an expression of CEL");

#[cfg(feature = "cel")]
use crate::cel::may_be_expression as is_expression;

/// Accepts all expressions: without CEL none can be checked.
#[cfg(not(feature = "cel"))]
fn is_expression(_: &str) -> bool {
    true
}
