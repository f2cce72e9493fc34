//! The last-applied annotation of client-side `kubectl apply`, and the migration to server-side apply.

use serde_json::{Map, Value};

use super::comparison::Comparison;
use super::field_set::FieldSet;
use super::json_value::write_json;
use super::managers::{ManagedFields, Manager, Operation};
use super::owned::owned_fields;
use super::path_element::Path;
use super::types::Type;
use super::validation::{Duplicates, mismatches};
use crate::patch::LAST_APPLIED;
use crate::schema::Gvk;

/// The manager of `kubectl apply --server-side`. API servers handle the last-applied annotation only for this manager.
pub(super) const KUBECTL: &str = "kubectl";

/// The maximum size of all annotations in bytes, including their names.
const MAX_ANNOTATIONS_SIZE: usize = 256 * 1024;

/// Returns the path of the annotation.
fn annotation() -> Path {
    Path::fields(["metadata", "annotations", LAST_APPLIED])
}

impl ManagedFields {
    /// Returns the sorted names of the managers that applied the object client-side. These managers own the
    /// last-applied annotation through an `Update` operation.
    #[must_use]
    pub fn client_side_appliers(&self) -> Vec<&str> {
        let annotation = annotation();
        let owns =
            |(manager, fields): &(&Manager, &FieldSet)| is_update(manager) && fields.contains(&annotation);
        let mut names: Vec<&str> =
            self.iter().filter(owns).map(|(manager, _)| manager.name.as_str()).collect();
        names.dedup();
        names
    }

    /// Moves the fields of client-side appliers to a manager that applies server-side, as `kubectl apply --server-side`
    /// does. The next apply of that manager then removes the fields that it does not contain. Returns false if there
    /// are no client-side appliers.
    ///
    /// ```
    /// use strategic_merge_patch::managed_fields::{ManagedFields, Options, update};
    /// use strategic_merge_patch::schema::Schema;
    /// use serde_json::json;
    ///
    /// let annotations = json!({"kubectl.kubernetes.io/last-applied-configuration": "{}"});
    /// let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "annotations": annotations}});
    /// let live = update(None, &object, "kubectl-client-side-apply", &Options::new(&Schema::embedded()))?;
    /// let mut managed = ManagedFields::from_object(&live)?;
    /// assert_eq!(managed.client_side_appliers(), ["kubectl-client-side-apply"]);
    /// assert!(managed.migrate_to("kubectl"));
    /// assert!(managed.applied("kubectl").is_some());
    /// # Ok::<(), strategic_merge_patch::diagnostic::Diagnostic>(())
    /// ```
    pub fn migrate_to(&mut self, name: &str) -> bool {
        let appliers: Vec<String> = self.client_side_appliers().into_iter().map(str::to_string).collect();
        for applier in &appliers {
            self.move_updates(applier, name);
        }
        !appliers.is_empty()
    }

    /// Moves the updated fields of one manager. Field sets of other API versions are dropped, since their paths may
    /// differ.
    fn move_updates(&mut self, applier: &str, name: &str) {
        let target = Manager::applier(name);
        let old = self
            .sorted()
            .into_iter()
            .filter(|owner| is_update(owner.manager) && owner.manager.name == applier);
        let old: Vec<(Manager, String, FieldSet)> = old
            .map(|owner| (owner.manager.clone(), owner.api_version.into(), owner.fields.clone()))
            .collect();
        let own = self.applied(name).map(|owner| (owner.api_version.to_string(), owner.fields.clone()));
        let Some((version, fields)) = own.or_else(|| {
            let (manager, version, _) = old.first()?;
            if let Some(time) = self.times.get(manager).copied() {
                self.times.insert(target.clone(), time);
            }
            Some((version.clone(), FieldSet::new()))
        }) else {
            return;
        };
        let moved = old.iter().find(|(_, other, _)| *other == version).map(|(.., fields)| fields);
        let fields = moved.map_or_else(|| fields.clone(), |moved| fields.union(moved));
        self.insert(target, &version, fields);
        for (manager, ..) in &old {
            self.remove(manager);
        }
    }
}

fn is_update(manager: &Manager) -> bool {
    manager.operation == Operation::Update && manager.subresource.is_empty()
}

/// Returns the annotations of an object. Null values are allowed, because servers read them as empty strings. Returns
/// `None` if there are no annotations, or if the map contains other values.
fn annotations(object: &Value) -> Option<&Map<String, Value>> {
    let annotations = object.get("metadata")?.get("annotations")?.as_object()?;
    annotations.values().all(|value| value.is_string() || value.is_null()).then_some(annotations)
}

fn last_applied(object: &Value) -> Option<&str> {
    annotations(object)?.get(LAST_APPLIED)?.as_str().filter(|text| !text.is_empty())
}

/// Returns a mutable reference to the annotations of an object. Null annotations become empty strings.
fn annotations_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    annotations(object)?;
    let annotations = object.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()?;
    annotations.values_mut().filter(|value| value.is_null()).for_each(|value| *value = "".into());
    Some(annotations)
}

/// Returns the fields whose values still equal those of the last-applied annotation. An apply by kubectl may change
/// them, whichever manager owns them. Returns `None` if there is no valid annotation of the same API version and kind,
/// or if the live object does not match its type.
pub(super) fn allowed_conflicts(live: &Value, gvk: &Gvk, ty: Type<'_>) -> Option<FieldSet> {
    let before: Value = serde_json::from_str(last_applied(live)?).ok()?;
    let is_of_version = Gvk::from_object(&before)
        .is_some_and(|own| own.api_version() == gvk.api_version() && own.kind == gvk.kind);
    if !is_of_version
        || [live, &before].iter().any(|object| !mismatches(object, ty, Duplicates::Rejected).is_empty())
    {
        return None;
    }
    let comparison = Comparison::new(&before, live, ty);
    let fields = owned_fields(&before, ty).difference(&comparison.modified);
    Some(fields.difference(&comparison.added).difference(&comparison.removed))
}

/// Sets the last-applied annotation of an object to the applied object, if the object has this annotation. Removes it
/// if the annotations would exceed the size limit.
pub(super) fn update_annotation(object: &mut Value, applied: &Value) {
    if last_applied(object).is_none() {
        return;
    }
    let mut applied = applied.clone();
    if let Some(annotations) = annotations_mut(&mut applied) {
        annotations.remove(LAST_APPLIED);
    } else if let Some(metadata) = applied.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("annotations");
    }
    let mut text = String::new();
    write_json(&applied, &mut text);
    text.push('\n');
    let Some(annotations) = annotations_mut(object) else { return };
    annotations.insert(LAST_APPLIED.into(), text.into());
    let size: usize =
        annotations.iter().map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum();
    if size > MAX_ANNOTATIONS_SIZE {
        annotations.remove(LAST_APPLIED);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn entry(manager: &str, operation: &str, fields: &Value) -> Value {
        json!({"manager": manager, "operation": operation, "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "fieldsV1": fields})
    }

    fn annotated(spec: &Value) -> Value {
        json!({"f:spec": spec, "f:metadata": {"f:annotations": {".": {}, format!("f:{LAST_APPLIED}"): {}}}})
    }

    #[test]
    fn updates_of_client_side_appliers_move_to_the_applying_manager() {
        let old = entry("kubectl-client-side-apply", "Update", &annotated(&json!({"f:replicas": {}})));
        let mut newer = old.clone();
        newer["apiVersion"] = json!("apps/v1beta1");
        newer["time"] = json!("2026-01-01T00:00:00Z");
        let other = entry("kube-controller-manager", "Update", &json!({"f:status": {}}));
        let own = entry("smp", "Apply", &json!({"f:spec": {"f:paused": {}}}));
        let read = |entries: Value| ManagedFields::from_value(&entries).expect("valid");
        let mut managed = read(json!([old, newer, other]));
        assert_eq!(managed.client_side_appliers(), ["kubectl-client-side-apply"]);
        assert!(managed.migrate_to("smp"));
        assert_eq!(managed.iter().count(), 2);
        let applied = managed.applied("smp").expect("moved");
        assert_eq!(applied.api_version, "apps/v1");
        assert!(applied.fields.contains(&Path::fields(["spec", "replicas"])));
        let mut managed = read(json!([own, old]));
        assert!(managed.migrate_to("smp"));
        let fields = managed.applied("smp").expect("there").fields.with_prefix(&"spec".into());
        assert_eq!(fields.to_string(), ".paused\n.replicas");
        let mut managed = read(json!([own, other]));
        assert!(!managed.migrate_to("smp"));
        assert_eq!(managed, read(json!([own, other])));
    }
}
