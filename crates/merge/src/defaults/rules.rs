//! The defaults of built-in kinds that depend on other fields.

use serde_json::{Map, Value, json};

use super::table::is_zero;

/// A JSON map.
type Fields = Map<String, Value>;

/// A function that sets the defaults of a value of a type.
type Rule = fn(&mut Fields);

/// Applies the rules of a type whose results the static defaults must not replace.
pub(super) fn before(value: &mut Value, type_name: &str) {
    let rule: Rule = match type_name.strip_prefix("io.k8s.").unwrap_or_default().trim_start_matches("api.") {
        "apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinitionNames" => names,
        "core.v1.Container" | "core.v1.EphemeralContainer" => {
            |map| pull_policy(map, "image", "imagePullPolicy")
        }
        "core.v1.ImageVolumeSource" => |map| pull_policy(map, "reference", "pullPolicy"),
        "core.v1.Volume" => volume,
        "core.v1.ServiceSpec" => service,
        "core.v1.ServicePort" => service_port,
        "core.v1.Namespace" => namespace,
        "core.v1.ReplicationController" => replication_controller,
        "core.v1.PodSpec" => pod_spec,
        "apps.v1.StatefulSetSpec" => stateful_set,
        "core.v1.LimitRangeItem" => limit_range,
        "batch.v1.Job" => job,
        "networking.v1.NetworkPolicySpec" => network_policy,
        "rbac.v1.Subject" => subject,
        _ => return,
    };
    if let Value::Object(map) = value {
        rule(map);
    }
}

/// Applies the rules of a type that depend on the defaults of values below it.
pub(super) fn after(value: &mut Value, type_name: &str) {
    if let Value::Object(map) = value
        && type_name == "io.k8s.api.core.v1.Pod"
    {
        pod(map);
    }
}

/// Returns the fields whose static default does not apply to a value of a type.
pub(super) fn skipped(map: &Fields, type_name: &str) -> &'static [&'static str] {
    let is_other = |field: &str, default: &str| !lacks(map, field) && text(map, field) != default;
    let (skips, fields): (bool, &[&str]) = match type_name.strip_prefix("io.k8s.api.").unwrap_or_default() {
        "apps.v1.DeploymentStrategy" | "apps.v1.DaemonSetUpdateStrategy" => {
            (is_other("type", "RollingUpdate"), &["rollingUpdate"])
        }
        "apps.v1.StatefulSetUpdateStrategy" => (!lacks(map, "type"), &["rollingUpdate"]),
        "core.v1.ServiceSpec" => (text(map, "type") == "ExternalName", &["internalTrafficPolicy"]),
        "batch.v1.JobSpec" => (!lacks_value(map, "parallelism"), &["completions"]),
        name if name.starts_with("resource.") => (is_other("allocationMode", "ExactCount"), &["count"]),
        _ => (false, &[]),
    };
    if skips { fields } else { &[] }
}

fn text<'m>(map: &'m Fields, field: &str) -> &'m str {
    map.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Returns true if a field is absent or has the zero value of its type.
fn lacks(map: &Fields, field: &str) -> bool {
    map.get(field).is_none_or(is_zero)
}

fn is_empty(map: &Fields, field: &str) -> bool {
    match map.get(field) {
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(Value::Array(list)) => list.is_empty(),
        other => other.is_none_or(Value::is_null),
    }
}

/// Returns true if a field is absent or null.
fn lacks_value(map: &Fields, field: &str) -> bool {
    map.get(field).is_none_or(Value::is_null)
}

fn set_default(map: &mut Fields, field: &str, default: Value) {
    if lacks_value(map, field) {
        map.insert(field.into(), default);
    }
}

/// Sets the default pull policy: `Always` for an image with the tag `latest` or without tag and digest, else
/// `IfNotPresent`.
fn pull_policy(map: &mut Fields, image: &str, policy: &str) {
    if lacks(map, policy) {
        let is_latest = is_latest(text(map, image));
        map.insert(policy.into(), if is_latest { "Always" } else { "IfNotPresent" }.into());
    }
}

/// Returns true for an image reference with the tag `latest`, or with neither a tag nor a digest. Returns false for a
/// malformed reference.
fn is_latest(image: &str) -> bool {
    let name = image.rsplit('/').next().unwrap_or_default();
    if let Some((name, _)) = name.split_once('@') {
        return name.ends_with(":latest");
    }
    let is_repository = |path: &str| {
        let valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
        !path.is_empty() && path.chars().all(valid) && path.starts_with(|c: char| c.is_ascii_alphanumeric())
    };
    match name.split_once(':') {
        Some((name, tag)) => tag == "latest" && is_repository(name),
        None => is_repository(name),
    }
}

/// Sets the default source of a volume, `emptyDir`.
fn volume(map: &mut Fields) {
    if map.iter().all(|(name, value)| name == "name" || value.is_null()) {
        map.insert("emptyDir".into(), json!({}));
    }
}

fn service(map: &mut Fields) {
    if text(map, "sessionAffinity") == "ClientIP" {
        let timeout =
            map.get("sessionAffinityConfig").and_then(|config| config.pointer("/clientIP/timeoutSeconds"));
        if timeout.is_none_or(Value::is_null) {
            map.insert("sessionAffinityConfig".into(), json!({"clientIP": {"timeoutSeconds": 10_800}}));
        }
    } else if matches!(text(map, "sessionAffinity"), "" | "None") {
        map.remove("sessionAffinityConfig");
    }
    let kind = text(map, "type").to_string();
    let is_external = matches!(kind.as_str(), "LoadBalancer" | "NodePort")
        || (matches!(kind.as_str(), "" | "ClusterIP") && !is_empty(map, "externalIPs"));
    if is_external && lacks(map, "externalTrafficPolicy") {
        map.insert("externalTrafficPolicy".into(), "Cluster".into());
    }
    if kind == "LoadBalancer" {
        set_default(map, "allocateLoadBalancerNodePorts", true.into());
    }
}

/// Sets the default `targetPort` of a Service port to its `port`.
fn service_port(map: &mut Fields) {
    if lacks(map, "targetPort") {
        let port = map.get("port").cloned().unwrap_or_else(|| 0.into());
        map.insert("targetPort".into(), port);
    }
}

fn namespace(map: &mut Fields) {
    let Some(Value::Object(metadata)) = map.get_mut("metadata") else { return };
    let name = text(metadata, "name").to_string();
    if name.is_empty() {
        return;
    }
    if is_empty(metadata, "labels") {
        metadata.insert("labels".into(), json!({}));
    }
    if let Some(Value::Object(labels)) = metadata.get_mut("labels") {
        labels.insert("kubernetes.io/metadata.name".into(), name.into());
    }
}

/// Returns the labels of a template.
fn template_labels(map: &Fields) -> Option<Value> {
    let labels = map.get("spec")?.pointer("/template/metadata/labels")?;
    labels.is_object().then(|| labels.clone())
}

/// Copies the labels of the template to the object itself.
fn copy_labels(map: &mut Fields, labels: &Value) {
    let metadata = map.entry("metadata").or_insert_with(|| json!({}));
    if let Value::Object(metadata) = metadata
        && is_empty(metadata, "labels")
        && labels.as_object().is_some_and(|labels| !labels.is_empty())
    {
        metadata.insert("labels".into(), labels.clone());
    }
}

fn replication_controller(map: &mut Fields) {
    let Some(labels) = template_labels(map) else { return };
    copy_labels(map, &labels);
    if let Some(Value::Object(spec)) = map.get_mut("spec")
        && is_empty(spec, "selector")
        && labels.as_object().is_some_and(|labels| !labels.is_empty())
    {
        spec.insert("selector".into(), labels);
    }
}

fn job(map: &mut Fields) {
    if let Some(labels) = template_labels(map) {
        copy_labels(map, &labels);
    }
    let Some(Value::Object(spec)) = map.get_mut("spec") else { return };
    let limit = if lacks_value(spec, "backoffLimitPerIndex") { 6 } else { i32::MAX };
    let replacement = if lacks_value(spec, "podFailurePolicy") { "TerminatingOrFailed" } else { "Failed" };
    set_default(spec, "backoffLimit", limit.into());
    set_default(spec, "podReplacementPolicy", replacement.into());
}

fn pod_spec(map: &mut Fields) {
    // `serviceAccount` is the deprecated name of the field; servers set both.
    let of = |map: &Fields, field: &str| Some(text(map, field).to_string()).filter(|name| !name.is_empty());
    if let Some(name) = of(map, "serviceAccountName").or_else(|| of(map, "serviceAccount")) {
        map.insert("serviceAccountName".into(), name.clone().into());
        map.insert("serviceAccount".into(), name.into());
    }
}

/// Sets `apiVersion` and `kind` of each entry of `volumeClaimTemplates`.
fn stateful_set(map: &mut Fields) {
    let Some(Value::Array(templates)) = map.get_mut("volumeClaimTemplates") else { return };
    for template in templates.iter_mut().filter_map(Value::as_object_mut) {
        template.insert("apiVersion".into(), "v1".into());
        template.insert("kind".into(), "PersistentVolumeClaim".into());
    }
}

/// Sets the defaults of the containers of a Pod: resource requests from the limits, and `hostPort` if `hostNetwork` is
/// set.
fn pod(map: &mut Fields) {
    let Some(Value::Object(spec)) = map.get_mut("spec") else { return };
    let is_on_host = spec.get("hostNetwork") == Some(&Value::Bool(true));
    for field in ["containers", "initContainers"] {
        let Some(Value::Array(containers)) = spec.get_mut(field) else { continue };
        for container in containers.iter_mut().filter_map(Value::as_object_mut) {
            if let Some(Value::Object(resources)) = container.get_mut("resources") {
                add_missing(resources, "limits", "requests");
            }
            if let Some(Value::Array(ports)) = container.get_mut("ports").filter(|_| is_on_host) {
                ports.iter_mut().filter_map(Value::as_object_mut).for_each(host_port);
            }
        }
    }
}

fn host_port(port: &mut Fields) {
    if lacks(port, "hostPort")
        && let Some(number) = port.get("containerPort").cloned()
    {
        port.insert("hostPort".into(), number);
    }
}

/// Adds the entries of the map in field `from` to the map in field `to`. Existing entries are kept.
fn add_missing(map: &mut Fields, from: &str, to: &str) {
    let Some(Value::Object(source)) = map.get(from).cloned() else { return };
    if source.is_empty() {
        return;
    }
    if is_empty(map, to) {
        map.insert(to.into(), json!({}));
    }
    if let Some(Value::Object(target)) = map.get_mut(to) {
        for (name, value) in source {
            target.entry(name).or_insert(value);
        }
    }
}

fn limit_range(map: &mut Fields) {
    if text(map, "type") == "Container" {
        add_missing(map, "max", "default");
        add_missing(map, "default", "defaultRequest");
        add_missing(map, "min", "defaultRequest");
    }
}

fn network_policy(map: &mut Fields) {
    if is_empty(map, "policyTypes") {
        let types = if is_empty(map, "egress") { json!(["Ingress"]) } else { json!(["Ingress", "Egress"]) };
        map.insert("policyTypes".into(), types);
    }
}

/// Sets the default names of a CRD: `singular` is the kind in lower case, `listKind` the kind with the suffix `List`.
fn names(map: &mut Fields) {
    let kind = text(map, "kind").to_string();
    for (field, name) in [("singular", kind.to_lowercase()), ("listKind", format!("{kind}List"))] {
        if lacks(map, field) && !kind.is_empty() {
            map.insert(field.into(), name.into());
        }
    }
}

fn subject(map: &mut Fields) {
    if lacks(map, "apiGroup") && matches!(text(map, "kind"), "User" | "Group") {
        map.insert("apiGroup".into(), "rbac.authorization.k8s.io".into());
    }
}
