use super::prelude::*;

pub(crate) static RULE: ValidationRule = ValidationRule {
    text: RuleText {
        name: "handler",
        meaning: "A probe or lifecycle hook has no handler, several handlers, or stands where none is allowed.",
        remedy: "Use one of `exec`, `httpGet`, `tcpSocket` and `grpc`. Init containers have probes only with `restartPolicy: Always`.",
    },
    why: "The kubelet runs exactly one action per probe or hook.",
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

fn handler(of: Subject<'_>, faults: &mut Faults) {
    match of.count(&["exec", "httpGet", "tcpSocket", "grpc", "sleep"]) {
        1 => {}
        0 => faults.value(of, "this needs a handler: `exec`, `httpGet` or `tcpSocket`"),
        _ => faults.value(of, "there may be only one handler here"),
    }
    let exec = of.get("exec");
    if exec.is_some_and(|exec| exec.get("command").and_then(Node::as_list).is_none_or(Vec::is_empty)) {
        faults.field(of, "exec", "`exec` needs a command");
    }
}

fn header(of: Subject<'_>, faults: &mut Faults) {
    let is_token =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if of.text("name").is_some_and(|name| !is_token(name)) {
        faults.field(of, "name", "the name of a header has letters, digits and `-`");
    }
}

fn init_containers(of: Subject<'_>, faults: &mut Faults) {
    for (i, container) in of.list("initContainers").iter().enumerate() {
        if text_of(container, "restartPolicy") == "Always" {
            continue;
        }
        for field in ["livenessProbe", "readinessProbe", "startupProbe", "lifecycle"] {
            if container.get(field).is_some_and(|value| !value.is_null()) {
                let message = "an init container has no probes and no lifecycle, unless it restarts always";
                faults.at(of, &[Field("initContainers"), Entry(i), Field(field)], message);
            }
        }
    }
}
