//! Existing objects that a run adds to an ApplySet: the record of an adoption, which keeps the set from pruning them.
//!
//! The record is an annotation with a field manager of its own, so that later applies do not remove it.

use rustc_hash::FxHashSet;
use serde_json::{Value, json};

use super::request::{APPLY, patch_request};
use crate::plan::{Object, ObjectTarget};
use crate::request::ApiRequest;
use smp_merge::managed_fields::ManagedFields;

/// The key of an adopted object's annotation that contains the ID of the set that adopted it.
const ADOPTED_BY: &str = "smp.kubectl.dev/adopted-by";

/// The field manager of the annotation.
const ADOPTION_MANAGER: &str = "kubectl-smp-adoption";

/// The objects that a run adopts.
#[derive(Debug, Default)]
pub(crate) struct Adoption {
    /// The ID of the set.
    pub(crate) set: String,
    pub(crate) objects: FxHashSet<Object>,
}

impl Adoption {
    /// Returns the ID of the set if the run adopts the object.
    pub(super) fn set_of(&self, object: &Object) -> Option<&str> {
        self.objects.contains(object).then_some(self.set.as_str())
    }
}

/// Returns the request that records an adoption. It contains the UID, so that it cannot recreate an object that was
/// just deleted.
pub(super) fn record_request(target: &ObjectTarget<'_>, path: &str, uid: &str, set: &str) -> ApiRequest {
    let gvk = &target.object.gvk;
    let mut metadata = json!({"name": target.object.name, "uid": uid, "annotations": {ADOPTED_BY: set}});
    if !target.object.namespace.is_empty() {
        metadata["namespace"] = target.object.namespace.as_str().into();
    }
    let record = json!({"apiVersion": gvk.api_version().as_str(), "kind": gvk.kind, "metadata": metadata});
    patch_request(path, ADOPTION_MANAGER, &record, APPLY)
}

/// Returns true if a set adopted the object with this metadata.
pub(crate) fn is_adopted_by(metadata: &Value, set: &str) -> bool {
    let record = metadata.get("annotations").and_then(|annotations| annotations.get(ADOPTED_BY));
    record.and_then(Value::as_str) == Some(set)
}

/// Returns true if one of the managers, or `kubectl apply` client-side, applied the object.
pub(crate) fn was_applied_by(object: &Value, managers: &[&str]) -> bool {
    let managed = ManagedFields::from_object(object).unwrap_or_default();
    managers.iter().any(|manager| managed.applied(manager).is_some())
        || !managed.client_side_appliers().is_empty()
}
