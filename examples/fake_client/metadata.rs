//! Metadata handling of an API server, and its errors for objects that it rejects.

use kubectl_smp::diagnostic::{Code, Diagnostic, ObjectName, ResourceName, Result};
use kubectl_smp::schema::{Gvk, ResourcePath, Schema};
use serde_json::{Map, Value, json};

/// The time of every request.
const NOW: &str = "2026-01-01T00:00:00Z";
/// Metadata fields that clients cannot change.
const SERVER_FIELDS: [&str; 5] =
    ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"];
/// Built-in kinds whose `generation` counts changes of the spec, as that of custom resources does.
const WITH_GENERATION: &str = " CronJob DaemonSet Deployment Ingress IngressClass Job NetworkPolicy Pod PodDisruptionBudget \
    PodTemplate PriorityClass ReplicaSet ReplicationController StatefulSet ";
/// Built-in kinds whose replacement requires a `resourceVersion`, as that of custom resources does.
const WITH_REQUIRED_VERSION: &str = " APIService CustomResourceDefinition Lease PodDisruptionBudget ";
/// Kinds for which the response to a deletion is the object.
const RETURNED_WHEN_DELETED: &str = " Job Namespace PersistentVolume PersistentVolumeClaim Pod PodTemplate \
    ReplicationController ResourceQuota Service ServiceAccount StorageClass ";

pub fn is_custom(at: &ResourcePath) -> bool {
    Schema::embedded().kind(&at.gvk).is_none()
}

fn is_among(at: &ResourcePath, kinds: &str) -> bool {
    kinds.contains(&format!(" {} ", at.gvk.kind))
}

pub fn text<'v>(object: &'v Value, field: &str) -> &'v str {
    object["metadata"][field].as_str().unwrap_or_default()
}

fn finalizers(object: &Value) -> &[Value] {
    object["metadata"]["finalizers"].as_array().map_or(&[], Vec::as_slice)
}

/// Returns an error about an object, which the server names by its kind or by its plural.
pub fn problem(at: &ResourcePath, code: Code, kind: &str, message: &str) -> Diagnostic {
    let (api_version, kind) = (at.gvk.api_version().to_string(), kind.to_string());
    let name = ObjectName { api_version, kind, namespace: at.namespace.clone(), name: at.name.clone() };
    Diagnostic::error(code, message).resource(ResourceName::from_object(at.gvk.to_string(), name))
}

pub fn bad_request(message: &str) -> Diagnostic {
    Diagnostic::error(Code::Usage, message)
}

/// Checks that an object has the kind of its path, or no kind, and sets it.
pub fn check_kind(at: &ResourcePath, object: &mut Value) -> Result<()> {
    let is_silent = object.is_object() && object["kind"].is_null() && object["apiVersion"].is_null();
    if !is_silent && Gvk::from_object(object).as_ref() != Some(&at.gvk) {
        return Err(bad_request(&format!("what was sent cannot be handled as a {}", at.gvk.kind)));
    }
    object["apiVersion"] = at.gvk.api_version().as_str().into();
    object["kind"] = at.gvk.kind.as_str().into();
    Ok(())
}

/// Checks that the name and namespace of an object are those of its path.
pub fn check_identity(at: &ResourcePath, object: &mut Value) -> Result<()> {
    match text(object, "name") {
        name if name == at.name => {}
        "" => {
            let message = format!("the name of the object ({} based on URL) was undeterminable", at.name);
            return Err(bad_request(&format!("{message}: name must be provided")));
        }
        name => {
            let message =
                format!("the name of the object ({name}) does not match the name on the URL ({})", at.name);
            return Err(bad_request(&message));
        }
    }
    object["apiVersion"] = at.gvk.api_version().as_str().into();
    object["kind"] = at.gvk.kind.as_str().into();
    match text(object, "namespace") {
        namespace if namespace == at.namespace => {}
        "" => object["metadata"]["namespace"] = at.namespace.as_str().into(),
        _ => {
            let what =
                "the namespace of the provided object does not match the namespace sent on the request";
            return Err(bad_request(what));
        }
    }
    Ok(())
}

/// Returns the name of a new object; for `generateName`, appends a suffix.
pub fn name(at: &ResourcePath, object: &Value, revision: u64) -> Result<String> {
    let message = "Required value: name or generateName is required";
    match (text(object, "name"), text(object, "generateName")) {
        ("", "") => Err(problem(at, Code::MissingField, &at.gvk.kind, message).field("metadata.name")),
        ("", prefix) => Ok(format!("{prefix}{revision:05}")),
        (name, _) => Ok(name.to_string()),
    }
}

/// Sets the metadata of a new object.
pub fn set_new_metadata(at: &ResourcePath, object: &mut Value, revision: u64) {
    let is_counted = is_custom(at) || is_among(at, WITH_GENERATION);
    let uid = format!("00000000-0000-0000-0000-{:012x}", revision + 1);
    let generation = if is_counted { json!(1) } else { object["metadata"]["generation"].take() };
    let own = json!({"uid": uid, "creationTimestamp": NOW, "generation": generation});
    keep(object, &json!({"metadata": own}));
}

fn keep(object: &mut Value, live: &Value) {
    for field in SERVER_FIELDS {
        object["metadata"][field] = live["metadata"][field].clone();
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|_, value| !value.is_null());
    }
}

/// Copies the server's metadata from the live object, and increments `generation` if the spec changed.
pub fn carry_over_metadata(object: &mut Value, live: &Value) {
    keep(object, live);
    object["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"].clone();
    let is_wanted = |name: &str| !["metadata", "status"].contains(&name);
    let wanted = |object: &Value| -> Map<String, Value> {
        let fields = object.as_object().cloned().unwrap_or_default();
        fields.into_iter().filter(|(name, _)| is_wanted(name)).collect()
    };
    if let Some(count) = live["metadata"]["generation"].as_u64().filter(|_| wanted(object) != wanted(live)) {
        object["metadata"]["generation"] = (count + 1).into();
    }
}

/// Marks an object as deleted, unless it already is.
pub fn mark_deleted(object: &mut Value) {
    if !is_deleted(object) {
        object["metadata"]["deletionTimestamp"] = NOW.into();
        object["metadata"]["deletionGracePeriodSeconds"] = 0.into();
        if let Some(count) = object["metadata"]["generation"].as_u64() {
            object["metadata"]["generation"] = (count + 1).into();
        }
    }
}

/// Returns true if the deletion of an object was requested.
pub fn is_deleted(object: &Value) -> bool {
    !text(object, "deletionTimestamp").is_empty()
}

/// Returns true if finalizers block the deletion of an object.
pub fn has_finalizers(object: &Value) -> bool {
    !finalizers(object).is_empty()
}

/// Returns the response to a deletion.
pub fn deletion_response(at: &ResourcePath, object: Value) -> Value {
    if is_among(at, RETURNED_WHEN_DELETED) {
        return object;
    }
    let mut details = json!({"name": at.name, "kind": at.plural, "uid": object["metadata"]["uid"]});
    if !at.gvk.group.is_empty() {
        details["group"] = at.gvk.group.as_str().into();
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}

pub fn method_not_allowed() -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 405,
        "message": "the server does not allow this method on the requested resource",
        "reason": "MethodNotAllowed", "details": {},
    })
}

/// Checks that a replacement names the live object and, for some kinds, its resource version.
pub fn check_replacement(at: &ResourcePath, object: &Value, live: &Value) -> Result<()> {
    if !["", text(live, "uid")].contains(&text(object, "uid")) {
        return Err(problem(at, Code::Conflict, &at.plural, "Precondition failed: UID in precondition"));
    }
    let is_unseen = ["", "0"].contains(&text(object, "resourceVersion"));
    if is_unseen && (is_custom(at) || is_among(at, WITH_REQUIRED_VERSION)) {
        let message = "Invalid value: 0: must be specified for an update";
        return Err(problem(at, Code::InvalidValue, &at.plural, message).field("metadata.resourceVersion"));
    }
    Ok(())
}

pub fn check_uid(at: &ResourcePath, object: &Value, live: &Value) -> Result<()> {
    if ["", text(live, "uid")].contains(&text(object, "uid")) {
        return Ok(());
    }
    let message = format!("Invalid value: {}: field is immutable", object["metadata"]["uid"]);
    Err(problem(at, Code::InvalidValue, &at.gvk.kind, &message).field("metadata.uid"))
}

/// Checks that a change is based on the live version, and adds no finalizers to a deleted object.
pub fn check_change(at: &ResourcePath, object: &Value, live: &Value) -> Result<()> {
    if !["", "0", text(live, "resourceVersion")].contains(&text(object, "resourceVersion")) {
        let message =
            "the object has been modified; please apply your changes to the latest version and try again";
        return Err(problem(at, Code::Conflict, &at.plural, message));
    }
    let is_new = |one: &&Value| !finalizers(live).contains(one);
    let new: Vec<String> = finalizers(object).iter().filter(is_new).map(Value::to_string).collect();
    if !is_deleted(live) || new.is_empty() {
        return Ok(());
    }
    let message =
        "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers";
    let message = format!("{message} []string{{{}}}", new.join(", "));
    Err(problem(at, Code::InvalidValue, &at.gvk.kind, &message).field("metadata.finalizers"))
}

/// Checks the preconditions of a deletion.
pub fn check_preconditions(at: &ResourcePath, preconditions: &Value, live: &Value) -> Result<()> {
    for (field, called) in [("uid", "UID"), ("resourceVersion", "ResourceVersion")] {
        let (wanted, is) = (preconditions[field].as_str().unwrap_or_default(), text(live, field));
        if !["", is].contains(&wanted) {
            let why = format!(
                "the {called} in the precondition ({wanted}) does not match the {called} in record ({is})"
            );
            return Err(problem(at, Code::Conflict, &at.gvk.kind, &why));
        }
    }
    Ok(())
}
