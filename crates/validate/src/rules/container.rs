//! Containers: ports, variables, probes, mounts, resources.

use rustc_hash::FxHashSet;

use super::super::quantity::Quantity;
use super::super::violation::ViolationRule;
use super::forms::quantity;
use super::subject::{Below, Faults, RuleOfType, Subject, count_of};
use smp_text::yaml::{Map, Node, Resolved};

pub(super) const RULES: &[(&str, RuleOfType)] = &[
    ("Container", ports),
    ("Container", mounts),
    ("Container", pull_policy),
    ("EphemeralContainer", mounts),
    ("EnvVar", env_var),
    ("EnvVarSource", env_source),
    ("EnvFromSource", env_from),
    ("ResourceFieldSelector", divisor),
    ("Probe", probe),
    ("LifecycleHandler", handler),
    ("HTTPHeader", header),
    ("ResourceRequirements", resources),
    ("SecurityContext", privileges),
    ("SeccompProfile", seccomp),
    ("Container", successes),
];

fn ports(of: Subject<'_>, faults: &mut Faults) {
    let mut names = FxHashSet::default();
    for (i, port) in of.list("ports").iter().enumerate() {
        let name = port.get("name").and_then(Node::as_str).filter(|name| !name.is_empty());
        if name.is_some_and(|name| !names.insert(name)) {
            let path = [Below::Field("ports"), Below::Entry(i), Below::Field("name")];
            let at = port.get("name").map_or(port.span(), Node::span);
            faults.below(
                ViolationRule::PortName,
                &path,
                at,
                "another port of this container has the same name",
            );
        }
    }
}

fn mounts(of: Subject<'_>, faults: &mut Faults) {
    for (i, mount) in of.list("volumeMounts").iter().enumerate() {
        let text = |field| mount.get(field).and_then(Node::as_str);
        for field in ["subPath", "subPathExpr"] {
            if text(field)
                .is_some_and(|path| path.starts_with('/') || path.split('/').any(|part| part == ".."))
            {
                let path = [Below::Field("volumeMounts"), Below::Entry(i), Below::Field(field)];
                let at = mount.get(field).map_or(mount.span(), Node::span);
                faults.below(
                    ViolationRule::MountPath,
                    &path,
                    at,
                    "this must be a relative path without `..`",
                );
            }
        }
    }
}

fn pull_policy(of: Subject<'_>, faults: &mut Faults) {
    let is_blank = |text: &str| !text.is_empty() && text.trim() != text;
    if of.text("image").is_some_and(is_blank) {
        faults.field(ViolationRule::Image, of, "image", "the name of an image has no blanks around it");
    }
}

fn env_var(of: Subject<'_>, faults: &mut Faults) {
    if of.get("valueFrom").is_some() && !of.text_or_empty("value").is_empty() {
        faults.field(
            ViolationRule::EnvSource,
            of,
            "valueFrom",
            "a variable has a value or `valueFrom`, not both",
        );
    }
}

const ENV_SOURCES: [&str; 5] =
    ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];

fn env_source(of: Subject<'_>, faults: &mut Faults) {
    if count_of(of, &ENV_SOURCES) != 1 {
        faults.below(ViolationRule::EnvSource, &[], of.node.span(), "`valueFrom` must have one source");
    }
    let Some(field) =
        of.get("fieldRef").and_then(|field| field.get("fieldPath")).filter(|f| f.as_str().is_some())
    else {
        return;
    };
    let path = field.as_str().unwrap_or_default();
    let plain = [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    ];
    let is_entry =
        ["metadata.annotations['", "metadata.labels['"].iter().any(|start| path.starts_with(start));
    if !path.is_empty() && !plain.contains(&path) && !is_entry {
        let below = [Below::Field("fieldRef"), Below::Field("fieldPath")];
        faults.below(
            ViolationRule::EnvSource,
            &below,
            field.span(),
            "a variable cannot have the value of this field",
        );
    }
}

fn divisor(of: Subject<'_>, faults: &mut Faults) {
    let Some(divisor) = of.get("divisor").and_then(Node::scalar_text).filter(|text| *text != "0") else {
        return;
    };
    let sizes = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"];
    let possible: &[&str] = match of.text_or_empty("resource") {
        "limits.cpu" | "requests.cpu" => &["1m", "1"],
        "limits.memory" | "requests.memory" | "limits.ephemeral-storage" | "requests.ephemeral-storage" => {
            &sizes
        }
        _ => return,
    };
    let amount = Quantity::parse(divisor);
    if !possible.iter().any(|text| Quantity::parse(text) == amount) {
        faults.field(
            ViolationRule::EnvSource,
            of,
            "divisor",
            format!("this must be one of {}", possible.join(", ")),
        );
    }
}

fn env_from(of: Subject<'_>, faults: &mut Faults) {
    if count_of(of, &["configMapRef", "secretRef"]) != 1 {
        faults.below(
            ViolationRule::EnvSource,
            &[],
            of.node.span(),
            "this must have one source: `configMapRef` or `secretRef`",
        );
    }
}

const HANDLERS: [&str; 5] = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

fn handler(of: Subject<'_>, faults: &mut Faults) {
    match count_of(of, &HANDLERS) {
        1 => {}
        0 => faults.below(
            ViolationRule::Handler,
            &[],
            of.node.span(),
            "this needs a handler: `exec`, `httpGet` or `tcpSocket`",
        ),
        _ => faults.below(ViolationRule::Handler, &[], of.node.span(), "there may be only one handler here"),
    }
    let exec =
        of.get("exec").filter(|exec| exec.get("command").and_then(Node::as_list).is_none_or(Vec::is_empty));
    if let Some(exec) = exec {
        faults.below(ViolationRule::Handler, &[Below::Field("exec")], exec.span(), "`exec` needs a command");
    }
}

fn probe(of: Subject<'_>, faults: &mut Faults) {
    handler(of, faults);
}

/// Only a readiness probe may have to succeed more than once.
fn successes(of: Subject<'_>, faults: &mut Faults) {
    for field in ["livenessProbe", "startupProbe"] {
        let threshold = of.get(field).and_then(|probe| probe.get("successThreshold"));
        let Some(threshold) = threshold.filter(|node| node.resolve().is_some_and(|value| !is_one(value)))
        else {
            continue;
        };
        let path = [Below::Field(field), Below::Field("successThreshold")];
        let message = "this must be 1: only a readiness probe may have another";
        faults.below(ViolationRule::Number, &path, threshold.span(), message);
    }
}

/// Whether a number is 1; 0 stands for it, and what is no number is told elsewhere.
fn is_one(value: Resolved<'_>) -> bool {
    !matches!(value, Resolved::Int(count) if count > 1)
}

fn seccomp(of: Subject<'_>, faults: &mut Faults) {
    let (kind, path) = (of.text_or_empty("type"), of.text_or_empty("localhostProfile"));
    let message = match kind {
        "Localhost" if path.is_empty() => "a seccomp profile of type `Localhost` needs `localhostProfile`",
        "Localhost" if path.starts_with('/') || path.split('/').any(|part| part == "..") => {
            "this must be a relative path without `..`"
        }
        "Localhost" | "" => return,
        _ if !path.is_empty() => "`localhostProfile` needs the type `Localhost`",
        _ => return,
    };
    faults.field(ViolationRule::Privilege, of, "localhostProfile", message);
}

fn header(of: Subject<'_>, faults: &mut Faults) {
    let is_token =
        |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    if of.text("name").is_some_and(|name| !is_token(name)) {
        faults.field(ViolationRule::Handler, of, "name", "the name of a header has letters, digits and `-`");
    }
}

fn resources(of: Subject<'_>, faults: &mut Faults) {
    let limits = of.get("limits").and_then(Node::as_map);
    for (name, request) in of.get("requests").and_then(Node::as_map).into_iter().flat_map(Map::iter) {
        let path = [Below::Field("requests"), Below::Field(name)];
        let amount = quantity(request);
        let limit = limits.and_then(|limits| limits.get(name)).and_then(quantity);
        if amount.zip(limit).is_some_and(|(request, limit)| request > limit) && !is_claim(of) {
            let message = format!("more of `{name}` is requested than the limit");
            faults.below(ViolationRule::RequestOverLimit, &path, request.span(), message);
        }
    }
    for field in ["limits", "requests"] {
        names_of_resources(of, field, faults);
    }
    if !is_claim(of) {
        not_shared(of, limits, faults);
    }
}

/// What cannot be had by several, such as devices and huge pages, is requested as much as it is limited.
fn not_shared(of: Subject<'_>, limits: Option<&Map>, faults: &mut Faults) {
    let is_shared = |name: &str| {
        let is_native = !name.contains('/') || name.contains("kubernetes.io/");
        is_native && !name.starts_with("hugepages-")
    };
    let requests = of.get("requests").and_then(Node::as_map).into_iter().flat_map(Map::iter);
    for (name, request) in requests.filter(|(name, _)| !is_shared(name)) {
        let path = [Below::Field("requests"), Below::Field(name)];
        let message = match limits.and_then(|limits| limits.get(name)) {
            None => format!("`{name}` needs a limit of the same amount"),
            // More than the limit is told anyway.
            Some(limit) if quantity(request).zip(quantity(limit)).is_some_and(|(own, most)| own < most) => {
                format!("of `{name}` as much must be requested as the limit is")
            }
            Some(_) => continue,
        };
        faults.below(ViolationRule::RequestOverLimit, &path, request.span(), message);
    }
}

fn is_claim(of: Subject<'_>) -> bool {
    of.get("limits").and_then(|limits| limits.get("storage")).is_some()
}

fn names_of_resources(of: Subject<'_>, field: &str, faults: &mut Faults) {
    for (name, amount) in of.get(field).and_then(Node::as_map).into_iter().flat_map(Map::iter) {
        let path = [Below::Field(field), Below::Field(name)];
        let is_known = matches!(name, "cpu" | "memory" | "ephemeral-storage" | "storage")
            || name.starts_with("hugepages-")
            || name.contains('/');
        if !is_known {
            let message =
                "a resource is `cpu`, `memory`, `ephemeral-storage`, or one such as `example.com/device`";
            faults.below(ViolationRule::ResourceName, &path, amount.span(), message);
        }
        if name.contains('/') && !quantity(amount).is_none_or(Quantity::is_whole) {
            faults.below(ViolationRule::Quantity, &path, amount.span(), "this must be a whole number");
        }
    }
}

fn privileges(of: Subject<'_>, faults: &mut Faults) {
    let forbids = of.get("allowPrivilegeEscalation").is_some() && !of.is_true("allowPrivilegeEscalation");
    let added = of.get("capabilities").and_then(|c| c.get("add")).and_then(Node::as_list);
    let is_admin = added.into_iter().flatten().any(|entry| entry.as_str() == Some("CAP_SYS_ADMIN"));
    if forbids && (of.is_true("privileged") || is_admin) {
        let message = "a privileged container cannot have `allowPrivilegeEscalation: false`";
        faults.field(ViolationRule::Privilege, of, "allowPrivilegeEscalation", message);
    }
}
