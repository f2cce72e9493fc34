use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "policy-rule",
        meaning: "A rule of a Role is incomplete.",
        remedy: "Give the rule `verbs`, and `apiGroups` with `resources`, or `nonResourceURLs`. `\"\"` is the core group.",
    },
    why: "An incomplete rule grants nothing. Only ClusterRoles have rules about URLs, and `*` stands alone.",
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

fn rule(of: Subject<'_>, faults: &mut Faults) {
    if of.list("verbs").is_empty() {
        faults.field(of, "verbs", "a rule needs verbs");
    }
    let has = |field| !of.list(field).is_empty();
    if has("nonResourceURLs") {
        if has("apiGroups") || has("resources") || has("resourceNames") {
            faults.field(of, "nonResourceURLs", "a rule is about resources or about URLs");
        } else if of.kind() == "Role" {
            faults.field(of, "nonResourceURLs", "only a ClusterRole has rules about URLs");
        }
        return;
    }
    for (field, message) in [
        ("apiGroups", "a rule needs `apiGroups`; `\"\"` is the core group"),
        ("resources", "a rule needs resources"),
    ] {
        if !has(field) {
            faults.field(of, field, message);
        }
    }
}

fn stars(of: Subject<'_>, faults: &mut Faults) {
    faults.stars(of, &["verbs", "apiGroups", "resources", "namespaces", "nonResourceURLs"]);
}
