//! Metadata: sets the fields that the server sets, and checks the others.

use serde_json::{Value, json};

use crate::request::{Target, WriteOptions};
use crate::state::{State, text};
use crate::status::{Cause, Failure, Result};

/// Fields of metadata that only the server sets. They are removed on creation.
const WIPED: [&str; 5] =
    ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];

/// Returns a field of the metadata; an empty text if it is absent.
pub(crate) fn meta<'v>(object: &'v Value, field: &str) -> &'v str {
    object
        .get("metadata")
        .and_then(|metadata| metadata.get(field))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

pub(crate) fn remove(object: &mut Value, field: &str) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove(field);
    }
}

/// Sets a field of the metadata. Null removes it.
pub(crate) fn set(object: &mut Value, field: &str, value: Value) {
    if value.is_null() {
        remove(object, field);
    } else {
        object["metadata"][field] = value;
    }
}

pub(crate) fn finalizers(object: &Value) -> &[Value] {
    object["metadata"]["finalizers"].as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn is_deleted(object: &Value) -> bool {
    !meta(object, "deletionTimestamp").is_empty()
}

pub(crate) fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap_or_default()
}

/// Checks that the namespace of an object is that of the request, and sets it.
pub(crate) fn check_namespace(object: &mut Value, target: &Target) -> Result<()> {
    let own = meta(object, "namespace");
    let wanted = if target.resource.is_namespaced { target.namespace.as_str() } else { "" };
    if own.is_empty() {
        if !wanted.is_empty() {
            object["metadata"]["namespace"] = wanted.into();
        }
        return Ok(());
    }
    if own != wanted && !(wanted.is_empty() && !target.resource.is_namespaced && own.is_empty()) {
        let message = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Failure::bad_request(message));
    }
    Ok(())
}

/// Checks that the name of an object is that of the path.
pub(crate) fn check_name(object: &Value, target: &Target) -> Result<()> {
    let (own, wanted) = (meta(object, "name"), target.name.as_str());
    if own.is_empty() {
        let message = format!(
            "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
        );
        return Err(Failure::bad_request(message));
    }
    if own != wanted {
        let message = format!("the name of the object ({own}) does not match the name on the URL ({wanted})");
        return Err(Failure::bad_request(message));
    }
    let (own, wanted) = (meta(object, "namespace"), target.namespace.as_str());
    if !wanted.is_empty() && !own.is_empty() && own != wanted {
        let message = format!(
            "the namespace of the object ({own}) does not match the namespace on the request ({wanted})"
        );
        return Err(Failure::bad_request(message));
    }
    Ok(())
}

impl State {
    /// Sets the metadata of a new object, except its generation.
    pub(crate) fn set_system_fields(&mut self, object: &mut Value) {
        if !object["metadata"].is_object() {
            object["metadata"] = json!({});
        }
        let uid = self.next_uid();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.retain(|field, _| !WIPED.contains(&field.as_str()));
            metadata.insert("creationTimestamp".into(), self.settings.clock.now().into());
            metadata.insert("uid".into(), uid.into());
        }
        let prefix = meta(object, "generateName");
        if meta(object, "name").is_empty() && !prefix.is_empty() {
            const MAX_PREFIX: usize = 58;
            let prefix: String = prefix.chars().take(MAX_PREFIX).collect();
            object["metadata"]["name"] = format!("{prefix}{}", self.next_suffix()).into();
        }
    }
}

/// Removes duplicate owner references with a warning, as servers do.
pub(crate) fn dedup_owners(object: &mut Value, options: &mut WriteOptions) {
    let Some(owners) = object["metadata"].get_mut("ownerReferences").and_then(Value::as_array_mut) else {
        return;
    };
    let before = owners.len();
    let mut seen: Vec<Value> = Vec::new();
    owners.retain(|owner| {
        let is_new = !seen.contains(owner);
        if is_new {
            seen.push(owner.clone());
        }
        is_new
    });
    if owners.len() < before {
        let message = "metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests";
        options.warnings.push(message.into());
    }
}

/// Copies the immutable metadata of the old object. Returns the causes for changes of it.
pub(crate) fn carry_over(object: &mut Value, old: &Value) -> Vec<Cause> {
    if meta(object, "uid").is_empty() {
        set(object, "uid", old["metadata"]["uid"].clone());
    }
    set(object, "creationTimestamp", old["metadata"]["creationTimestamp"].clone());
    remove(object, "selfLink");
    let mut causes = immutable(object, old, &["name", "namespace", "uid"]);
    // Servers perform this check twice.
    for _ in 0..2 {
        causes.extend(changed_deletion(object, old));
    }
    for field in DELETION {
        set(object, field, old["metadata"][field].clone());
    }
    causes.extend(new_finalizers(object, old));
    causes
}

/// Fields that only a deletion sets.
const DELETION: [&str; 2] = ["deletionTimestamp", "deletionGracePeriodSeconds"];

/// Returns the causes for an update that changes `deletionTimestamp` or `deletionGracePeriodSeconds`.
fn changed_deletion<'o>(object: &'o Value, old: &'o Value) -> impl Iterator<Item = Cause> + 'o {
    let metadata = |object: &'o Value, field: &str| object["metadata"].get(field).unwrap_or(&Value::Null);
    DELETION.into_iter().filter_map(move |field| {
        let (new, old) = (metadata(object, field), metadata(old, field));
        let is_changed = !new.is_null() && new != old;
        is_changed.then(|| Cause::invalid(&format!("metadata.{field}"), new, "field is immutable"))
    })
}

fn immutable(object: &Value, old: &Value, fields: &[&str]) -> Vec<Cause> {
    let changed = fields.iter().copied().filter(|field| meta(object, field) != meta(old, field));
    let cause = |field: &str| {
        let value = object["metadata"].get(field).cloned().unwrap_or_default();
        Cause::invalid(&format!("metadata.{field}"), &value, "field is immutable")
    };
    changed.map(cause).collect()
}

/// Returns the cause if a deleted object gets new finalizers.
fn new_finalizers(object: &Value, old: &Value) -> Option<Cause> {
    if !is_deleted(old) {
        return None;
    }
    let known = finalizers(old);
    let new: Vec<String> =
        finalizers(object).iter().filter(|one| !known.contains(one)).map(Value::to_string).collect();
    let found = format!("[]string{{{}}}", new.join(", "));
    let why = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers {found}"
    );
    (!new.is_empty()).then(|| Cause::forbidden("metadata.finalizers", &why))
}

/// Increments the generation.
pub(crate) fn bump_generation(object: &mut Value) {
    let next = generation(object) + 1;
    object["metadata"]["generation"] = next.into();
}

/// Checks the preconditions of a deletion.
pub(crate) fn check_preconditions(target: &Target, options: &Value, object: &Value) -> Result<()> {
    let named = crate::status::Named { what: &target.resource.gvk.kind, ..target.named() };
    let check = |field: &str, called: &str, hint: &str| {
        let (wanted, own) = (text(options, &format!("/preconditions/{field}")), meta(object, field));
        if wanted.is_empty() || wanted == own {
            return Ok(());
        }
        let why = format!(
            "the {called} in the precondition ({wanted}) does not match the {called} in record ({own}). The object might have been {hint}"
        );
        Err(Failure::conflict(named, &why))
    };
    check("uid", "UID", "deleted and then recreated")?;
    check("resourceVersion", "ResourceVersion", "modified")
}
