use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "policy-rule",
        meaning: "A rule of a Role or ClusterRole is incomplete or contradictory.",
        remedy: "Add `verbs`, and either `apiGroups` with `resources` or `nonResourceURLs`. The name of the core group is `\"\"`.",
    },
    why: "An incomplete rule would grant nothing, so requests fail with 403. Only a ClusterRole may contain \
          `nonResourceURLs`.",
    documentation: "https://kubernetes.io/docs/reference/access-authn-authz/rbac/",
    example: "\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web}
rules:
- {resources: [pods], verbs: [get]}
",
    fix: ("resources:", "apiGroups: [\"\"], resources:"),
    checks: &[
        ("PolicyRule", Check::Type(rule)),
        ("NonResourcePolicyRule; ResourcePolicyRule", Check::Type(stars)),
    ],
    ..ValidationRule::DEFAULT
};

fn rule(subject: Subject<'_>, violations: &mut RuleViolations) {
    if subject.list("verbs").is_empty() {
        violations.report_field(subject, "verbs", "`verbs` must contain at least one value");
    }
    let has = |field| !subject.list(field).is_empty();
    if has("nonResourceURLs") {
        if has("apiGroups") || has("resources") || has("resourceNames") {
            violations.report_field(
                subject,
                "nonResourceURLs",
                "rules cannot apply to both regular resources and non-resource URLs",
            );
        } else if subject.kind() == "Role" {
            violations.report_field(
                subject,
                "nonResourceURLs",
                "namespaced rules cannot apply to non-resource URLs",
            );
        }
        return;
    }
    for (field, message) in [
        ("apiGroups", "resource rules must supply at least one API group; `\"\"` is the core group"),
        ("resources", "resource rules must supply at least one resource"),
    ] {
        if !has(field) {
            violations.report_field(subject, field, message);
        }
    }
}

fn stars(subject: Subject<'_>, violations: &mut RuleViolations) {
    violations
        .check_wildcards(subject, &["verbs", "apiGroups", "resources", "namespaces", "nonResourceURLs"]);
}
