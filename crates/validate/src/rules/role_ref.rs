use super::prelude::*;
use crate::names::is_path_segment;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "role-ref",
        meaning: "`roleRef` of a binding is invalid.",
        remedy: "Set `kind` to `Role` or `ClusterRole`, `name`, and `apiGroup: rbac.authorization.k8s.io`.",
    },
    why: "A binding with an invalid reference grants nothing. A ClusterRoleBinding can only bind a ClusterRole, and \
          `apiGroup` must not contain a version.",
    documentation: "https://kubernetes.io/docs/reference/access-authn-authz/rbac/#rolebinding-and-clusterrolebinding",
    example: "\
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web}
roleRef: {apiGroup: rbac.authorization.k8s.io/v1, kind: Role, name: reader}
subjects:
- {kind: User, name: jo}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules:
- {apiGroups: [\"\"], resources: [pods], verbs: [get]}
",
    fix: ("apiGroup: rbac.authorization.k8s.io/v1", "apiGroup: rbac.authorization.k8s.io"),
    may_be_partial: true,
    checks: &[("ClusterRoleBinding; RoleBinding", Check::Type(binding))],
    ..ValidationRule::DEFAULT
};

fn binding(subject: Subject<'_>, violations: &mut RuleViolations) {
    let Some(role) = subject.get("roleRef") else { return };
    if !matches!(text_of(role, "apiGroup"), "" | "rbac.authorization.k8s.io") {
        let path = [Field("roleRef"), Field("apiGroup")];
        violations.report_path(subject, &path, "must be `rbac.authorization.k8s.io`");
    }
    let is_cluster = subject.kind() == "ClusterRoleBinding";
    if !matches!((text_of(role, "kind"), is_cluster), ("ClusterRole", _) | ("Role", false)) {
        let message = if is_cluster { "must be `ClusterRole`" } else { "must be `Role` or `ClusterRole`" };
        violations.report_path(subject, &[Field("roleRef"), Field("kind")], message);
    }
    if !is_path_segment(text_of(role, "name")) {
        let path = [Field("roleRef"), Field("name")];
        violations.report_path(subject, &path, "a role name is required and must not contain `/` or `%`");
    }
}
