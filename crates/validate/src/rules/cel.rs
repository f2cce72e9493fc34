use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "cel",
        meaning: "A CEL validation rule of a CustomResourceDefinition or admission policy failed.",
        remedy: "Change the values that the expression refers to. If the expression does not compile, fix it.",
    },
    why: "Expressions in `x-kubernetes-validations`, and in each ValidatingAdmissionPolicy of the build, are \
          evaluated as if the object were created. The finding has the message of the CEL rule. An \
          expression that depends on the cluster is reported as a warning.",
    suppress: Some("The build contains the policy, but the target cluster has no binding for it."),
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
        Check::RequiredString(EXPRESSION),
    ),
    ("Validation messageExpression; ValidationRule messageExpression", Check::OptionalString(EXPRESSION)),
    ],
    ..ValidationRule::DEFAULT
};

const EXPRESSION: StringFormat = (is_expression, "a valid CEL expression");

#[cfg(feature = "cel")]
use crate::cel::may_be_expression as is_expression;

#[cfg(feature = "cel")]
pub(in crate::rules) use crate::cel_fields::undeclared_field;

/// Returns `None`, since expressions cannot be checked without CEL.
#[cfg(not(feature = "cel"))]
pub(in crate::rules) fn undeclared_field(_: &str, _: &Node, _: bool) -> Option<String> {
    None
}

/// Accepts every text, since expressions cannot be checked without CEL.
#[cfg(not(feature = "cel"))]
fn is_expression(_: &str) -> bool {
    true
}
