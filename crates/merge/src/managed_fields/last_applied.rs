//! The last-applied annotation of kubectl's client-side apply, and the move from it to server-side apply.

use serde_json::{Map, Value};

use super::comparison::Comparison;
use super::field_set::FieldSet;
use super::json_value::write_json;
use super::owned::owned_fields;
use super::types::Type;
use super::validation::{Duplicates, mismatches};
use crate::patch::LAST_APPLIED;
use crate::schema::Gvk;

/// The manager of `kubectl apply --server-side`. Servers treat the annotation only for it.
pub(super) const KUBECTL: &str = "kubectl";

/// The maximum size of all annotations in bytes, their names included.
const MAX_ANNOTATIONS_SIZE: usize = 256 * 1024;

/// Returns the annotations of an object. A null counts as an empty string, and a map with other values as absent.
fn annotations(object: &Value) -> Option<&Map<String, Value>> {
    let annotations = object.get("metadata")?.get("annotations")?.as_object()?;
    annotations.values().all(|value| value.is_string() || value.is_null()).then_some(annotations)
}

fn last_applied(object: &Value) -> Option<&str> {
    annotations(object)?.get(LAST_APPLIED)?.as_str().filter(|text| !text.is_empty())
}

/// Returns the annotations of an object to change them. Nulls become empty strings.
fn annotations_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    annotations(object)?;
    let annotations = object.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()?;
    annotations.values_mut().filter(|value| value.is_null()).for_each(|value| *value = "".into());
    Some(annotations)
}

/// Returns the fields whose values are still those of the annotation. An apply by kubectl may change them, whoever owns
/// them. Returns `None` without a valid annotation of the same version.
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

/// Updates the annotation of an object to what was applied, if it has one.
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
