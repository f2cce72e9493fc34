use super::prelude::*;
use crate::rule::is_relative_path;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "security-context",
        meaning: "Fields of a security context contradict each other, or one that they require is missing.",
        remedy: "Remove one of the contradicting fields. Add `localhostProfile` to a seccomp profile of type `Localhost`.",
    },
    why: "A privileged container, or one with `CAP_SYS_ADMIN`, can always gain more privileges, so \
          `allowPrivilegeEscalation: false` would be ineffective. Hardening patches on top of a privileged base \
          cause this.",
    documentation: "https://kubernetes.io/docs/tasks/configure-pod-container/security-context/",
    example: container!("securityContext: {privileged: true, allowPrivilegeEscalation: false}"),
    fix: ("true", "false"),
    checks: &[("SecurityContext", Check::Type(escalation)), ("SeccompProfile", Check::Type(seccomp))],
    ..ValidationRule::DEFAULT
};

fn escalation(subject: Subject<'_>, violations: &mut RuleViolations) {
    let forbids =
        subject.get("allowPrivilegeEscalation").is_some() && !subject.is_true("allowPrivilegeEscalation");
    let added = subject.get("capabilities").and_then(|c| c.get("add")).and_then(Node::as_list);
    let is_admin = added.into_iter().flatten().any(|entry| entry.as_str() == Some("CAP_SYS_ADMIN"));
    if forbids && (subject.is_true("privileged") || is_admin) {
        let message = "cannot be false if the container is privileged or has `CAP_SYS_ADMIN`";
        violations.report_field(subject, "allowPrivilegeEscalation", message);
    }
}

fn seccomp(subject: Subject<'_>, violations: &mut RuleViolations) {
    let path = subject.text_or_empty("localhostProfile");
    let message = match subject.text_or_empty("type") {
        "Localhost" if path.is_empty() => "must be set if the seccomp type is `Localhost`",
        "Localhost" if !is_relative_path(path) => "must be a relative path without `..`",
        "Localhost" | "" => return,
        _ if !path.is_empty() => "can only be set if the seccomp type is `Localhost`",
        _ => return,
    };
    violations.report_field(subject, "localhostProfile", message);
}
