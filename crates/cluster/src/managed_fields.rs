//! Entries of `metadata.managedFields`: who applied an object.

use serde_json::Value;

use smp_merge::patch::LAST_APPLIED;

/// Returns the field set that a manager applied.
pub(super) fn applied_fields<'v>(object: &'v Value, manager: &str) -> &'v Value {
    own_entry(object, manager).map_or(&Value::Null, |entry| &entry["fieldsV1"])
}

/// Returns the managed fields entry of what a manager applied.
pub(super) fn own_entry<'v>(object: &'v Value, manager: &str) -> Option<&'v Value> {
    entries_of(object)?.iter().find(|entry| is_own(entry, manager))
}

/// Returns the managed fields of an object.
pub(super) fn entries_of(object: &Value) -> Option<&Vec<Value>> {
    object.pointer("/metadata/managedFields")?.as_array()
}

/// Returns true for the entry of what a manager applied.
pub(super) fn is_own(entry: &Value, manager: &str) -> bool {
    name(entry) == manager && text(entry, "operation") == "Apply" && text(entry, "subresource").is_empty()
}

/// Returns the managers that applied the object client-side, sorted.
pub(super) fn client_side_appliers(object: &Value) -> Vec<&str> {
    let entries = entries_of(object).into_iter().flatten();
    let mut appliers: Vec<&str> = entries.filter(|entry| owns_annotation(entry)).map(name).collect();
    appliers.sort_unstable();
    appliers.dedup();
    appliers
}

/// Returns a text of an entry; empty if it is absent.
pub(super) fn text<'v>(entry: &'v Value, field: &str) -> &'v str {
    entry.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the manager of an entry.
pub(super) fn name(entry: &Value) -> &str {
    text(entry, "manager")
}

/// Returns true for the entry of an update of the object itself rather than of a subresource.
pub(super) fn is_update(entry: &Value) -> bool {
    text(entry, "operation") == "Update" && text(entry, "subresource").is_empty()
}

fn owns_annotation(entry: &Value) -> bool {
    let path = ["fieldsV1", "f:metadata", "f:annotations", &format!("f:{LAST_APPLIED}")];
    text(entry, "operation") == "Update" && path.iter().try_fold(entry, |value, key| value.get(key)).is_some()
}
