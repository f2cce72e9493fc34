use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "probe-handler",
        meaning: "A probe or lifecycle hook has no handler or several handlers, or is not allowed in its container.",
        remedy: "Use exactly one of `exec`, `httpGet`, `tcpSocket` and `grpc`. Remove probes from init containers without `restartPolicy: Always`.",
    },
    why: "The kubelet runs exactly one action for each probe or hook. A patch that replaces `httpGet` by `exec` \
          must set `httpGet` to null, because a strategic merge keeps both.",
    documentation: "https://kubernetes.io/docs/tasks/configure-pod-container/configure-liveness-readiness-startup-probes/",
    example: container!("livenessProbe: {periodSeconds: 5}"),
    fix: ("5", "5, tcpSocket: {port: 80}"),
    cause: ViolationCause::Removal,
    checks: &[
        ("LifecycleHandler; Probe", Check::Type(handler)),
        ("HTTPHeader", Check::Type(header)),
        ("PodSpec", Check::Type(init_containers)),
    ],
    ..ValidationRule::DEFAULT
};

fn handler(subject: Subject<'_>, violations: &mut RuleViolations) {
    match subject.count(&["exec", "httpGet", "tcpSocket", "grpc", "sleep"]) {
        1 => {}
        0 => violations
            .report_value(subject, "must specify a handler: `exec`, `httpGet`, `tcpSocket` or `grpc`"),
        _ => violations.report_value(subject, "may not specify more than one handler"),
    }
    let exec = subject.get("exec");
    if exec.is_some_and(|exec| exec.get("command").and_then(Node::as_list).is_none_or(Vec::is_empty)) {
        violations.report_field(subject, "exec", "`exec.command` is required");
    }
}

fn header(subject: Subject<'_>, violations: &mut RuleViolations) {
    let is_token =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if subject.text("name").is_some_and(|name| !is_token(name)) {
        violations.report_field(
            subject,
            "name",
            "a valid HTTP header name must consist of alphanumeric characters or `-`",
        );
    }
}

fn init_containers(subject: Subject<'_>, violations: &mut RuleViolations) {
    for (i, container) in subject.list("initContainers").iter().enumerate() {
        if text_of(container, "restartPolicy") == "Always" {
            continue;
        }
        for field in ["livenessProbe", "readinessProbe", "startupProbe", "lifecycle"] {
            if container.get(field).is_some_and(|value| !value.is_null()) {
                let message = "may not be set for init containers without `restartPolicy: Always`";
                violations.report_path(subject, &[Field("initContainers"), Entry(i), Field(field)], message);
            }
        }
    }
}
