use super::prelude::*;
use crate::rule::is_relative_path;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "privilege",
        meaning: "Fields of a security context contradict each other.",
        remedy: "Remove one of the contradicting fields, or complete the seccomp profile.",
    },
    why: "A privileged container, or one with `CAP_SYS_ADMIN`, can always escalate its privileges. A seccomp profile of type `Localhost` needs the path of its file.",
    documentation: "https://kubernetes.io/docs/tasks/configure-pod-container/security-context/",
    example: container!("securityContext: {privileged: true, allowPrivilegeEscalation: false}"),
    fix: ("true", "false"),
    checks: &[("SecurityContext", Check::Type(escalation)), ("SeccompProfile", Check::Type(seccomp))],
    ..ValidationRule::DEFAULT
};

fn escalation(of: Subject<'_>, faults: &mut Faults) {
    let forbids = of.get("allowPrivilegeEscalation").is_some() && !of.is_true("allowPrivilegeEscalation");
    let added = of.get("capabilities").and_then(|c| c.get("add")).and_then(Node::as_list);
    let is_admin = added.into_iter().flatten().any(|entry| entry.as_str() == Some("CAP_SYS_ADMIN"));
    if forbids && (of.is_true("privileged") || is_admin) {
        let message = "a privileged container cannot have `allowPrivilegeEscalation: false`";
        faults.field(of, "allowPrivilegeEscalation", message);
    }
}

fn seccomp(of: Subject<'_>, faults: &mut Faults) {
    let path = of.text_or_empty("localhostProfile");
    let message = match of.text_or_empty("type") {
        "Localhost" if path.is_empty() => "a seccomp profile of type `Localhost` needs `localhostProfile`",
        "Localhost" if !is_relative_path(path) => "this must be a relative path without `..`",
        "Localhost" | "" => return,
        _ if !path.is_empty() => "`localhostProfile` needs the type `Localhost`",
        _ => return,
    };
    faults.field(of, "localhostProfile", message);
}
