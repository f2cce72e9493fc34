//! Migration from client-side apply: the applying manager takes ownership of the fields, so that fields that the
//! manifest lacks are removed from the object.
//!
//! Works like `kubectl apply --server-side`. Client-side appliers are the managers that own the last-applied
//! annotation. Their field sets are merged into that of the applying manager. The annotation is removed, since it would
//! become outdated. The migration runs after a successful apply; then the object is applied again.

use serde_json::{Value, json};

use super::options::{FIELD_MANAGER, LastApplied};
use crate::plan::KUBECTL;
use smp_merge::managed_fields::{FieldSet, ManagedFields, Manager, Path};
use smp_merge::patch::LAST_APPLIED;
use smp_text::path::push_step;

/// Returns the JSON patch that moves fields from client-side appliers to `manager`, or `None` if there are no such
/// appliers. The patch fails if the object has changed in the meantime.
pub(super) fn migration(object: &Value, manager: &str, last_applied: LastApplied) -> Option<Value> {
    let metadata = object.get("metadata")?;
    let moved = migrated(object, manager)?;
    let mut operations = vec![
        json!({"op": "replace", "path": "/metadata/managedFields", "value": moved.to_value()}),
        // `replace` and not `test`, so that the server reports a conflict and not a bad request.
        json!({"op": "replace", "path": "/metadata/resourceVersion", "value": metadata.get("resourceVersion")?}),
    ];
    let has_annotation = metadata.get("annotations").is_some_and(|all| all.get(LAST_APPLIED).is_some());
    if has_annotation && manager != KUBECTL && last_applied == LastApplied::Remove {
        let mut pointer = "/metadata/annotations".to_string();
        push_step(&mut pointer, LAST_APPLIED);
        operations.push(json!({"op": "remove", "path": pointer}));
    }
    Some(Value::Array(operations))
}

/// Returns the fields that a migration removes: those that `manager` takes over but does not apply, and that no other
/// manager owns.
///
/// `object` is the live object, and `applied` the object after the apply.
pub(crate) fn fields_removed_by_migration(
    object: &Value,
    manager: &str,
    applied: &Value,
) -> Option<FieldSet> {
    let moved = migrated(object, manager)?;
    let applied = ManagedFields::from_object(applied).unwrap_or_default();
    let applied = applied.applied(manager).map(|owner| owner.fields.clone()).unwrap_or_default();
    let own = Manager::applier(manager);
    let others = moved.iter().filter(|(other, _)| **other != own);
    let kept = others.fold(applied, |all, (_, fields)| all.union(fields));
    let mut removed = moved.owner(&own)?.fields.difference_below_leaves(&kept).difference(&kept.parents());
    if manager == KUBECTL {
        removed = removed.difference(&[annotation()].into_iter().collect());
    }
    (!removed.is_empty()).then_some(removed)
}

/// Returns true if a manager takes the fields of client-side appliers without a conflict. Only the default manager
/// does, like that of `kubectl apply --server-side`. A manager that the user chose may be one of several.
pub(crate) fn takes_client_side_fields(manager: &str) -> bool {
    matches!(manager, FIELD_MANAGER | KUBECTL)
}

/// Returns the managed fields after a migration, or `None` if no fields move.
fn migrated(object: &Value, manager: &str) -> Option<ManagedFields> {
    let mut managed = ManagedFields::from_object(object).ok()?;
    managed.migrate_to(manager).then_some(managed)
}

/// The field manager of the last-applied annotation of objects that keep it. It is not kubectl's manager, because an
/// apply by kubectl's manager would remove the annotation.
pub(crate) const ANNOTATION_MANAGER: &str = "kubectl-last-applied";

/// Returns the object with only the annotation, if `manager` is kubectl's and [`ANNOTATION_MANAGER`] does not own the
/// annotation yet.
pub(crate) fn annotation_to_keep(object: &Value, manager: &str) -> Option<Value> {
    let value = object.pointer("/metadata/annotations")?.get(LAST_APPLIED)?;
    let has_owner = ManagedFields::from_object(object).ok()?.applied(ANNOTATION_MANAGER).is_some();
    let (metadata, annotations) = (object.get("metadata")?, json!({LAST_APPLIED: value}));
    let mut kept = json!({"name": metadata.get("name")?, "annotations": annotations});
    if let Some(namespace) = metadata.get("namespace") {
        kept["namespace"] = namespace.clone();
    }
    let whole =
        json!({"apiVersion": object.get("apiVersion")?, "kind": object.get("kind")?, "metadata": kept});
    (manager == KUBECTL && !has_owner).then_some(whole)
}

/// Returns the path of the annotation.
fn annotation() -> Path {
    Path::fields(["metadata", "annotations", LAST_APPLIED])
}

#[cfg(test)]
mod tests {
    use super::*;

    const DROPPED: LastApplied = LastApplied::Remove;

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "fieldsV1": fields})
    }

    fn annotated(mut fields: Value) -> Value {
        fields["f:metadata"] = json!({"f:annotations": {".": {}, format!("f:{LAST_APPLIED}"): {}}});
        fields
    }

    fn object(entries: &[Value]) -> Value {
        json!({"metadata": {"resourceVersion": "7", "annotations": {LAST_APPLIED: "{}"}, "managedFields": entries}})
    }

    #[test]
    fn fields_of_client_side_appliers_move_to_the_applying_manager() {
        let spec = json!({"f:spec": {"f:replicas": {}}});
        let old = entry("kubectl-client-side-apply", "Update", &annotated(spec));
        let other = entry("kube-controller-manager", "Update", &json!({"f:status": {}}));
        let patch =
            migration(&object(&[old.clone(), other.clone()]), "kubectl-smp", DROPPED).expect("a migration");
        assert_eq!(patch[0]["value"][0]["manager"], "kubectl-smp");
        assert_eq!(patch[0]["value"][0]["operation"], "Apply");
        assert_eq!(patch[0]["value"][1], other);
        assert_eq!(patch[1]["value"], "7");
        let path = "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration";
        assert_eq!((patch[2]["op"].as_str(), patch[2]["path"].as_str()), (Some("remove"), Some(path)));
        let own = entry("kubectl-smp", "Apply", &json!({"f:spec": {"f:paused": {}}}));
        let patch = migration(&object(&[old.clone(), own]), "kubectl-smp", DROPPED).expect("a migration");
        let both = &patch[0]["value"];
        assert_eq!(both.as_array().map(Vec::len), Some(1));
        assert_eq!(both[0]["fieldsV1"]["f:spec"], json!({"f:paused": {}, "f:replicas": {}}));
        let kept = migration(&object(std::slice::from_ref(&old)), "kubectl", DROPPED).expect("a migration");
        assert_eq!(kept.as_array().map(Vec::len), Some(2), "kubectl keeps writing the annotation");
        let kept = migration(&object(&[old]), "kubectl-smp", LastApplied::Update).expect("a migration");
        assert_eq!(kept.as_array().map(Vec::len), Some(2), "the annotation was applied");
    }

    #[test]
    fn entries_of_other_managers_are_kept() {
        let others = [
            entry("kubectl-smp", "Apply", &json!({"f:spec": {}})),
            entry("kubectl-edit", "Update", &json!({"f:spec": {}})),
        ];
        assert_eq!(migration(&object(&others), "kubectl-smp", DROPPED), None);
        assert_eq!(migration(&json!({}), "kubectl-smp", DROPPED), None);
        assert_eq!(fields_removed_by_migration(&object(&others), "kubectl-smp", &object(&[])), None);
    }

    #[test]
    fn migration_removes_only_fields_without_other_owner() {
        let old = json!({"f:spec": {"f:replicas": {}, "f:paused": {}, "f:x": {".": {}, "f:y": {}}}});
        let old = entry("kubectl-client-side-apply", "Update", &annotated(old));
        let scaler = entry("scaler", "Update", &json!({"f:spec": {"f:replicas": {}}}));
        let applied = entry("kubectl-smp", "Apply", &json!({"f:spec": {"f:x": {"f:z": {}}}}));
        let live = object(&[old, scaler]);
        let left = fields_removed_by_migration(&live, "kubectl-smp", &object(&[applied])).expect("some");
        assert_eq!(left.with_prefix(&"spec".into()).to_string(), ".paused\n.x.y");
    }
}
