//! Fields that are immutable in existing objects.

use std::cmp::Ordering;

use serde_json::Value;
use smp_text::yaml::Node;
use smp_validate::compare_quantities;

use crate::request::Target;
use crate::services::is_changed_address;
use crate::status::Cause;

const FIELD: &str = "field is immutable";

/// The immutable fields of each kind, as dotted paths, and the server's message.
const IMMUTABLE: &[(&str, &[&str], &str)] = &[
    ("Deployment", &["spec.selector"], FIELD),
    ("ReplicaSet", &["spec.selector"], FIELD),
    ("DaemonSet", &["spec.selector"], FIELD),
    ("Job", &["spec.selector", "spec.template", "spec.completionMode"], FIELD),
    ("PriorityClass", &["value", "preemptionPolicy"], FIELD),
    ("IngressClass", &["spec.controller"], FIELD),
    ("Secret", &["type"], FIELD),
    ("RuntimeClass", &["handler"], FIELD),
    ("RoleBinding", &["roleRef"], "cannot change roleRef"),
    ("ClusterRoleBinding", &["roleRef"], "cannot change roleRef"),
    ("EndpointSlice", &["addressType"], FIELD),
    (
        "CustomResourceDefinition",
        &["spec.scope", "spec.names.kind", "spec.group", "spec.names.plural"],
        FIELD,
    ),
    ("CSIDriver", &["spec.attachRequired", "spec.fsGroupPolicy"], FIELD),
];

/// Fields of a StorageClass whose changes are rejected, each with its own message.
const FORBIDDEN: &[(&str, &str, &str)] = &[
    ("StorageClass", "parameters", "updates to parameters are forbidden."),
    ("StorageClass", "provisioner", "updates to provisioner are forbidden."),
    ("StorageClass", "reclaimPolicy", "updates to reclaimPolicy are forbidden."),
];

/// The mutable fields of a StatefulSet's spec.
const STATEFUL_SET: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

/// Returns the causes for changes of immutable fields.
pub(crate) fn changes(target: &Target, object: &Value, old: &Value) -> Vec<Cause> {
    let kind = target.resource.gvk.kind.as_str();
    if target.resource.is_custom || target.subresource.is_some() {
        return Vec::new();
    }
    let at = |object: &Value, path: &str| {
        object.pointer(&format!("/{}", path.replace('.', "/"))).cloned().unwrap_or_default()
    };
    let is_changed = |path: &str| at(object, path) != at(old, path);
    let mut causes = Vec::new();
    for (_, paths, why) in IMMUTABLE.iter().filter(|(known, _, _)| *known == kind) {
        let changed = paths.iter().filter(|path| is_changed(path));
        let shown = |path: &str| if path == "roleRef" { role(&object["roleRef"]) } else { at(object, path) };
        causes.extend(changed.map(|path| Cause::invalid(path, &shown(path), why)));
    }
    let forbidden = FORBIDDEN.iter().filter(|(known, path, _)| *known == kind && is_changed(path));
    causes.extend(forbidden.map(|(_, path, why)| Cause::forbidden(path, why)));
    causes.extend(frozen(kind, object, old));
    causes.extend(address(kind, object, old));
    if kind == "Pod" && count(object, "containers") != count(old, "containers") {
        causes.push(Cause::forbidden("spec.containers", "pod updates may not add or remove containers"));
    } else {
        causes.extend(forbidden_spec(kind, object, old));
        causes.extend(shrunk(kind, object, old));
    }
    causes
}

/// Returns the cause if the address of a Service is changed to another valid one.
fn address(kind: &str, service: &Value, old: &Value) -> Option<Cause> {
    let address = service["spec"]["clusterIP"].as_str().unwrap_or_default();
    let is_valid = address == "None" || address.parse::<std::net::IpAddr>().is_ok();
    let is_changed = kind == "Service" && is_valid && is_changed_address(service, old);
    let addresses = &service["spec"]["clusterIPs"];
    is_changed.then(|| Cause::invalid("spec.clusterIPs[0]", addresses, "may not change once set"))
}

fn count(pod: &Value, list: &str) -> usize {
    pod["spec"][list].as_array().map_or(0, Vec::len)
}

/// Returns the reference to a role in the format in which Go prints its internal type.
fn role(reference: &Value) -> Value {
    let part = |field: &str| reference[field].as_str().unwrap_or_default().to_string();
    serde_json::json!({"APIGroup": part("apiGroup"), "Kind": part("kind"), "Name": part("name")})
}

/// Returns the causes for changes of an immutable ConfigMap or Secret.
fn frozen(kind: &str, object: &Value, old: &Value) -> Vec<Cause> {
    if !matches!(kind, "ConfigMap" | "Secret") || old["immutable"] != true {
        return Vec::new();
    }
    let changed =
        ["immutable", "data", "binaryData"].into_iter().filter(|field| object[*field] != old[*field]);
    changed.map(|field| Cause::forbidden(field, "field is immutable when `immutable` is set")).collect()
}

/// Returns the cause for a change of a spec outside of the mutable fields.
fn forbidden_spec(kind: &str, object: &Value, old: &Value) -> Option<Cause> {
    let (is_changed, why) = match kind {
        "StatefulSet" => (
            is_changed_beyond(object, old, &STATEFUL_SET),
            "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
             'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ),
        "Pod" => (
            is_changed_beyond(&without_images(object), &without_images(old), &POD),
            "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,\
             `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
             `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
        ),
        "PersistentVolumeClaim" => (
            is_changed_beyond(object, old, &changeable(old)),
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
        ),
        _ => return None,
    };
    is_changed.then(|| Cause::forbidden("spec", why))
}

/// Returns the mutable fields of a claim's spec.
fn changeable(old: &Value) -> Vec<&'static str> {
    let is_bound = old["status"]["phase"] == "Bound";
    let mut fields = if is_bound { vec!["resources", "volumeAttributesClassName"] } else { Vec::new() };
    if old["spec"]["volumeName"].is_null() {
        fields.push("volumeName");
    }
    fields
}

/// Returns the cause if a claim requests less than before, and not more than its current capacity.
fn shrunk(kind: &str, claim: &Value, old: &Value) -> Option<Cause> {
    const WANTED: &str = "/spec/resources/requests/storage";
    if kind != "PersistentVolumeClaim" {
        return None;
    }
    let size = |claim: &Value, at: &str| Node::from(claim.pointer(at).unwrap_or(&Value::from("0")));
    let (new, before) = (size(claim, WANTED), size(old, WANTED));
    let own = size(old, "/status/capacity/storage");
    let is_less = compare_quantities(&new, &before).is_some_and(Ordering::is_lt)
        && compare_quantities(&new, &own).is_some_and(Ordering::is_le);
    is_less.then(|| {
        Cause::forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    })
}

/// The mutable fields of a Pod's spec.
const POD: [&str; 3] = ["activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"];

/// Returns a Pod without the images of its containers, which are mutable.
fn without_images(pod: &Value) -> Value {
    let mut pod = pod.clone();
    for list in ["containers", "initContainers"] {
        for container in pod["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(fields) = container.as_object_mut() {
                fields.remove("image");
            }
        }
    }
    pod
}

/// Returns true if a field of the spec that is not in `allowed` changed.
fn is_changed_beyond(object: &Value, old: &Value, allowed: &[&str]) -> bool {
    let rest = |object: &Value| {
        let mut spec = object["spec"].clone();
        spec.as_object_mut()
            .into_iter()
            .for_each(|fields| fields.retain(|name, _| !allowed.contains(&name.as_str())));
        spec
    };
    rest(object) != rest(old)
}
