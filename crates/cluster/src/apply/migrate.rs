//! Moving from client-side apply: its fields become the applying manager's, so that what is left out of
//! a manifest goes from the object.
//!
//! As `kubectl apply --server-side` does it: client-side appliers are known by owning the annotation
//! with the configuration that was applied last. Their field sets are joined to the set of the manager
//! that applies, and the annotation, which nobody keeps up to date any more, goes with them. That is done when
//! applying has succeeded, and then it is applied again.

use serde_json::{Value, json};

use super::options::LastApplied;
use crate::field_set::{difference, union};
use crate::plan::KUBECTL;
use smp_merge::patch::LAST_APPLIED;
use smp_text::path::push_step;

/// The JSON patch that moves an object's fields from client-side appliers to `manager`; none when
/// there are no such appliers. It fails when the object has changed meanwhile.
pub(super) fn migration(object: &Value, manager: &str, last_applied: LastApplied) -> Option<Value> {
    let metadata = object.get("metadata")?;
    let moved = moved_all(object, manager)?;
    let mut operations = vec![
        json!({"op": "replace", "path": "/metadata/managedFields", "value": moved}),
        // Replaced, not tested: the server then tells a conflict, and not a bad request.
        json!({"op": "replace", "path": "/metadata/resourceVersion", "value": metadata.get("resourceVersion")?}),
    ];
    let has_annotation = metadata.get("annotations").is_some_and(|all| all.get(LAST_APPLIED).is_some());
    if has_annotation && manager != KUBECTL && last_applied == LastApplied::Dropped {
        let mut pointer = "/metadata/annotations".to_string();
        push_step(&mut pointer, LAST_APPLIED);
        operations.push(json!({"op": "remove", "path": pointer}));
    }
    Some(Value::Array(operations))
}

/// The fields that go with a migration: those that become `manager`'s, that it does not apply, and that nobody else
/// owns.
///
/// Takes the object as it is, and the field set of `manager` after applying. In the form of managed fields.
pub(crate) fn left_behind(object: &Value, manager: &str, applied: &Value) -> Option<Value> {
    let entries = moved_all(object, manager)?;
    let own = entries.iter().find(|entry| is_own(entry, manager))?;
    let mut fields = difference(&field_set(own), applied);
    for other in entries.iter().filter(|entry| !is_own(entry, manager)) {
        fields = difference(&fields, &field_set(other));
    }
    if manager == KUBECTL {
        fields = difference(&fields, &annotation());
    }
    (fields != json!({})).then_some(fields)
}

/// The field set that a manager applies, of an object.
pub(crate) fn applied_by<'v>(object: &'v Value, manager: &str) -> &'v Value {
    own_entry(object, manager).map_or(&Value::Null, |entry| &entry["fieldsV1"])
}

/// The entry of what a manager applies, of an object.
pub(crate) fn own_entry<'v>(object: &'v Value, manager: &str) -> Option<&'v Value> {
    entries_of(object)?.iter().find(|entry| is_own(entry, manager))
}

fn entries_of(object: &Value) -> Option<&Vec<Value>> {
    object.pointer("/metadata/managedFields")?.as_array()
}

/// The managed fields after a migration; none when there is nothing to move.
fn moved_all(object: &Value, manager: &str) -> Option<Vec<Value>> {
    let entries = entries_of(object)?;
    let appliers = client_side_appliers(object);
    let moved = appliers.iter().fold(entries.clone(), |entries, applier| moved(entries, applier, manager));
    (moved != *entries).then_some(moved)
}

fn is_own(entry: &Value, manager: &str) -> bool {
    name(entry) == manager && text(entry, "operation") == "Apply" && text(entry, "subresource").is_empty()
}

/// The managers that applied the object client-side, sorted.
pub(crate) fn client_side_appliers(object: &Value) -> Vec<&str> {
    let entries = entries_of(object).into_iter().flatten();
    let mut appliers: Vec<&str> = entries.filter(|entry| owns_annotation(entry)).map(name).collect();
    appliers.sort_unstable();
    appliers.dedup();
    appliers
}

fn text<'v>(entry: &'v Value, field: &str) -> &'v str {
    entry.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn name(entry: &Value) -> &str {
    text(entry, "manager")
}

fn is_update(entry: &Value) -> bool {
    text(entry, "operation") == "Update" && text(entry, "subresource").is_empty()
}

fn owns_annotation(entry: &Value) -> bool {
    let path = ["fieldsV1", "f:metadata", "f:annotations", &format!("f:{LAST_APPLIED}")];
    text(entry, "operation") == "Update" && path.iter().try_fold(entry, |value, key| value.get(key)).is_some()
}

/// Who owns the annotation where it stays: another one, so that it does not go when kubectl's own fields are applied.
pub(super) const KEEPER: &str = "kubectl-last-applied";

/// The object with nothing but the annotation, where it stays and has no such owner yet.
pub(super) fn kept_annotation(object: &Value, manager: &str) -> Option<Value> {
    let value = object.pointer("/metadata/annotations")?.get(LAST_APPLIED)?;
    let is_kept = entries_of(object)?.iter().any(|entry| is_own(entry, KEEPER));
    let (metadata, annotations) = (object.get("metadata")?, json!({LAST_APPLIED: value}));
    let mut kept = json!({"name": metadata.get("name")?, "annotations": annotations});
    if let Some(namespace) = metadata.get("namespace") {
        kept["namespace"] = namespace.clone();
    }
    let whole =
        json!({"apiVersion": object.get("apiVersion")?, "kind": object.get("kind")?, "metadata": kept});
    (manager == KUBECTL && !is_kept).then_some(whole)
}

/// The annotation, as a field set.
fn annotation() -> Value {
    json!({"f:metadata": {"f:annotations": {format!("f:{LAST_APPLIED}"): {}}}})
}

fn field_set(entry: &Value) -> Value {
    entry.get("fieldsV1").cloned().unwrap_or_else(|| json!({}))
}

/// The entries with those of one client-side applier made the applying manager's.
fn moved(mut entries: Vec<Value>, applier: &str, manager: &str) -> Vec<Value> {
    let is_old = |e: &Value| name(e) == applier && is_update(e);
    let target = entries.iter().position(|entry| is_own(entry, manager)).or_else(|| {
        // The newest comes first.
        let index = entries.iter().position(is_old)?;
        entries[index]["operation"] = json!("Apply");
        entries[index]["manager"] = json!(manager);
        Some(index)
    });
    let Some(target) = target else { return entries };
    // Field sets of other API versions may name other fields.
    let version = text(&entries[target], "apiVersion").to_string();
    let same_version = entries.iter().find(|entry| is_old(entry) && text(entry, "apiVersion") == version);
    if let Some(old) = same_version.map(field_set) {
        let joined = union(&field_set(&entries[target]), &old);
        entries[target]["fieldsV1"] = joined;
    }
    entries.retain(|entry| !is_old(entry));
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    const DROPPED: LastApplied = LastApplied::Dropped;

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsV1": fields})
    }

    fn annotated(mut fields: Value) -> Value {
        fields["f:metadata"] = json!({"f:annotations": {".": {}, format!("f:{LAST_APPLIED}"): {}}});
        fields
    }

    fn object(entries: &[Value]) -> Value {
        json!({"metadata": {"resourceVersion": "7", "annotations": {LAST_APPLIED: "{}"}, "managedFields": entries}})
    }

    #[test]
    fn client_side_appliers_become_the_one_that_applies() {
        let spec = json!({"f:spec": {"f:replicas": {}}});
        let old = entry("kubectl-client-side-apply", "Update", &annotated(spec));
        let other = entry("kube-controller-manager", "Update", &json!({"f:status": {}}));
        let patch =
            migration(&object(&[old.clone(), other.clone()]), "kubectl-smp", DROPPED).expect("needed");
        assert_eq!(patch[0]["value"][0]["manager"], "kubectl-smp");
        assert_eq!(patch[0]["value"][0]["operation"], "Apply");
        assert_eq!(patch[0]["value"][1], other);
        assert_eq!(patch[1]["value"], "7");
        let path = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";
        assert_eq!((patch[2]["op"].as_str(), patch[2]["path"].as_str()), (Some("remove"), Some(path)));
        let own = entry("kubectl-smp", "Apply", &json!({"f:spec": {"f:paused": {}}}));
        let patch = migration(&object(&[old.clone(), own]), "kubectl-smp", DROPPED).expect("needed");
        let both = &patch[0]["value"];
        assert_eq!(both.as_array().map(Vec::len), Some(1));
        assert_eq!(both[0]["fieldsV1"]["f:spec"], json!({"f:paused": {}, "f:replicas": {}}));
        let kept = migration(&object(std::slice::from_ref(&old)), "kubectl", DROPPED).expect("needed");
        assert_eq!(kept.as_array().map(Vec::len), Some(2), "kubectl goes on writing the annotation");
        let kept = migration(&object(&[old]), "kubectl-smp", LastApplied::Kept).expect("needed");
        assert_eq!(kept.as_array().map(Vec::len), Some(2), "it was applied with it");
    }

    #[test]
    fn others_stay_as_they_are() {
        let others = [
            entry("kubectl-smp", "Apply", &json!({"f:spec": {}})),
            entry("kubectl-edit", "Update", &json!({"f:spec": {}})),
        ];
        assert_eq!(migration(&object(&others), "kubectl-smp", DROPPED), None);
        assert_eq!(migration(&json!({}), "kubectl-smp", DROPPED), None);
        assert_eq!(left_behind(&object(&others), "kubectl-smp", &json!({})), None);
    }

    #[test]
    fn what_is_left_behind_is_nobodys() {
        let old = json!({"f:spec": {"f:replicas": {}, "f:paused": {}, "f:x": {".": {}, "f:y": {}}}});
        let old = entry("kubectl-client-side-apply", "Update", &annotated(old));
        let scaler = entry("scaler", "Update", &json!({"f:spec": {"f:replicas": {}}}));
        let applied = json!({"f:spec": {"f:x": {"f:z": {}}}});
        let left = left_behind(&object(&[old, scaler]), "kubectl-smp", &applied).expect("some");
        assert_eq!(left["f:spec"], json!({"f:paused": {}, "f:x": {".": {}, "f:y": {}}}));
    }
}
