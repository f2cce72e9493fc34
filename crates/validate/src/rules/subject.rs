use super::prelude::*;
use crate::names::is_dns_subdomain;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "subject",
        meaning: "A subject of a binding is invalid or incomplete.",
        remedy: "Set `kind` and `name`. Add `namespace` to a ServiceAccount in a ClusterRoleBinding.",
    },
    why: "Without a complete subject, nobody gets the permissions. A ClusterRoleBinding has no namespace, so a \
          ServiceAccount in it must name its own.",
    suppress: Some("An overlay that is not part of this build sets `namespace`, which adds it."),
    documentation: "https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-subjects",
    example: "\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects:
- {kind: ServiceAccount, name: default}
",
    fix: ("default", "default, namespace: shop"),
    may_be_partial: true,
    checks: &[("ClusterRoleBinding; RoleBinding", Check::Type(subjects))],
    ..ValidationRule::DEFAULT
};

fn subjects(binding: Subject<'_>, violations: &mut RuleViolations) {
    for (i, subject) in binding.list("subjects").iter().enumerate() {
        let text = |field| text_of(subject, field);
        let mut report = |field, message| {
            violations.report_path(binding, &[Field("subjects"), Entry(i), Field(field)], message);
        };
        let is_account = text("kind") == "ServiceAccount";
        if !is_account && !matches!(text("kind"), "User" | "Group") {
            report("kind", "must be `ServiceAccount`, `User` or `Group`");
            continue;
        }
        if text("name").is_empty() {
            report("name", "`name` is required");
        } else if is_account && !is_dns_subdomain(text("name")) {
            report("name", "a ServiceAccount name must be a lowercase RFC 1123 subdomain");
        }
        let group = if is_account { "" } else { "rbac.authorization.k8s.io" };
        if !text("apiGroup").is_empty() && text("apiGroup") != group {
            report("apiGroup", "unsupported API group for this kind of subject");
        }
        if is_account && binding.kind() == "ClusterRoleBinding" && text("namespace").is_empty() {
            report("namespace", "`namespace` is required for a ServiceAccount");
        }
    }
}
