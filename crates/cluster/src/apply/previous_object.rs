//! The live object before an apply, to report what the apply changed.

use serde_json::Value;

use super::events::ApplyChange;
use super::options::DryRun;
use super::report::ApplyError;
use crate::applyset::id::PART_OF;
use crate::client::Cluster;
use crate::errors::invalid_response;
use crate::json;
use crate::listing::ListedObject;
use crate::mapping::encode_segment;
use crate::request::ApiRequest;
use crate::unchanged::KnownObject;
use smp_merge::managed_fields::ManagedFields;

/// The live object before an apply.
#[derive(Debug, Clone)]
pub(crate) enum PreviousObject {
    Absent,
    /// The metadata of the object. In a dry run, or if the object was listed, this is the whole object.
    Present(Value),
    /// The object cannot be read, for example without permission.
    Unknown,
}

impl PreviousObject {
    /// Returns true if a client-side applier still owns fields that have not been migrated.
    pub(super) fn has_client_side_appliers(&self) -> bool {
        let Self::Present(object) = self else { return false };
        ManagedFields::from_object(object).is_ok_and(|managed| !managed.client_side_appliers().is_empty())
    }

    /// Returns the resource version of the object, if it exists.
    pub(super) fn resource_version(&self) -> Option<&str> {
        let Self::Present(object) = self else { return None };
        object.pointer("/metadata/resourceVersion")?.as_str()
    }

    /// Converts an object of a list response.
    pub(super) fn from_listed(object: &ListedObject<KnownObject>) -> Self {
        match object {
            ListedObject::Absent => Self::Absent,
            ListedObject::Present(object) => json::decode(&object.json).map_or(Self::Unknown, Self::Present),
        }
    }

    /// Reads one object. If the server rejects the request, for example because permission is missing, the state is
    /// unknown. The apply itself then reports the error.
    pub(crate) async fn read(
        cluster: &Cluster,
        path: &str,
        dry_run: DryRun,
    ) -> std::result::Result<Self, ApplyError> {
        let request = match dry_run {
            DryRun::Server => ApiRequest::object(path),
            DryRun::None => ApiRequest::metadata(path),
        };
        match cluster.send(&request).await.map_err(ApplyError::NoResponse)?.into_result() {
            Ok(response) => {
                let object: Value =
                    cluster.parse_response(json::decode, &response).map_err(ApplyError::Problem)?;
                let name = object.pointer("/metadata/name").and_then(Value::as_str);
                let is_requested =
                    name.is_some_and(|name| path.ends_with(&format!("/{}", encode_segment(name))));
                if is_requested {
                    return Ok(Self::Present(object));
                }
                let problem =
                    invalid_response(&cluster.endpoint, path, &"the response contains another object");
                Err(ApplyError::Problem(problem))
            }
            Err(api_error) if api_error.is_not_found() => Ok(Self::Absent),
            Err(_) => Ok(Self::Unknown),
        }
    }

    /// Returns the change that an apply by `manager` made. `after` is the object after the apply.
    pub(super) fn change(&self, after: &Value, manager: &str, dry_run: DryRun) -> ApplyChange {
        let is_unchanged = |before: &Value| match dry_run {
            DryRun::Server => {
                let ignored: &[&str] = if owns_status(after, manager) { &[] } else { &["status"] };
                without_server_fields(before, ignored) == without_server_fields(after, ignored)
            }
            DryRun::None => {
                let version = |object: &Value| object.pointer("/metadata/resourceVersion").cloned();
                (version(before).is_some() && version(before) == version(after))
                    || only_others_wrote(before, after, manager)
            }
        };
        match self {
            Self::Absent => ApplyChange::Created,
            Self::Unknown => ApplyChange::Applied,
            Self::Present(before) if is_unchanged(before) => ApplyChange::Unchanged,
            Self::Present(_) => ApplyChange::Configured,
        }
    }

    /// Returns the change that a dry run reports if the server cannot validate the object.
    pub(super) fn dry_run_change(&self) -> ApplyChange {
        match self {
            Self::Absent => ApplyChange::Created,
            Self::Present(_) => ApplyChange::Configured,
            Self::Unknown => ApplyChange::Applied,
        }
    }

    /// Returns the ID of the ApplySet to which the object belonged before, if it no longer belongs to it.
    pub(super) fn former_applyset(&self, after: &Value) -> Option<&str> {
        let Self::Present(before) = self else { return None };
        applyset_id(before).filter(|set| applyset_id(after) != Some(*set))
    }
}

fn applyset_id(object: &Value) -> Option<&str> {
    object.pointer("/metadata/labels")?.get(PART_OF)?.as_str()
}

/// Returns true if only other managers changed the object in the meantime, for example a controller that updates the
/// status.
///
/// An apply that makes a change sets the time of the manager's managed fields entry to the current time, so no other
/// entry is newer. Times are whole seconds: if both managers wrote within the same second, this function returns false.
fn only_others_wrote(before: &Value, after: &Value, manager: &str) -> bool {
    let [before, after] =
        [before, after].map(|object| ManagedFields::from_object(object).unwrap_or_default());
    let Some(own) = after.applied(manager).filter(|own| before.applied(manager).as_ref() == Some(own)) else {
        return false;
    };
    let others = after.sorted().into_iter().filter(|owner| *owner != own);
    let newest = others.filter_map(|owner| owner.time).max();
    own.time.zip(newest).is_some_and(|(own, newest)| own < newest)
}

fn owns_status(object: &Value, manager: &str) -> bool {
    let managed = ManagedFields::from_object(object).unwrap_or_default();
    managed
        .applied(manager)
        .is_some_and(|own| own.fields.iter().any(|(element, ..)| *element == "status".into()))
}

/// Returns the object without managed fields, resource version, generation and the ignored fields, since a dry run does
/// not increment versions.
fn without_server_fields(object: &Value, ignored: &[&str]) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, _| !ignored.contains(&name.as_str()));
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["managedFields", "resourceVersion", "generation"] {
            metadata.remove(field);
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn resource_version_shows_whether_the_object_changed() {
        let at = |version: &str| json!({"metadata": {"resourceVersion": version}});
        let change = |before: &PreviousObject, after: &Value| before.change(after, "m", DryRun::None);
        assert_eq!(change(&PreviousObject::Absent, &at("1")), ApplyChange::Created);
        assert_eq!(change(&PreviousObject::Unknown, &at("1")), ApplyChange::Applied);
        assert_eq!(change(&PreviousObject::Present(at("1")), &at("1")), ApplyChange::Unchanged);
        assert_eq!(change(&PreviousObject::Present(at("1")), &at("2")), ApplyChange::Configured);
        assert_eq!(
            change(&PreviousObject::Present(json!({})), &json!({})),
            ApplyChange::Configured,
            "without versions"
        );
    }

    #[test]
    fn leaving_an_applyset_is_detected() {
        let labelled = |set: Option<&str>| json!({"metadata": {"labels": {PART_OF: set}}});
        let left = |before: Option<&str>, after: Option<&str>| {
            PreviousObject::Present(labelled(before)).former_applyset(&labelled(after)).map(str::to_string)
        };
        assert_eq!(left(Some("x"), None).as_deref(), Some("x"));
        assert_eq!(left(Some("x"), Some("y")).as_deref(), Some("x"));
        assert_eq!((left(Some("x"), Some("x")), left(None, Some("x")), left(None, None)), (None, None, None));
        assert_eq!(
            (
                PreviousObject::Absent.former_applyset(&labelled(None)),
                PreviousObject::Unknown.former_applyset(&labelled(None))
            ),
            (None, None)
        );
    }

    #[test]
    fn dry_run_compares_whole_objects() {
        let object = |version: &str, value: &str| {
            let metadata = json!({"resourceVersion": version, "managedFields": [version], "name": "a"});
            json!({"metadata": metadata, "data": {"a": value}})
        };
        let before = PreviousObject::Present(object("1", "x"));
        assert_eq!(before.change(&object("2", "x"), "m", DryRun::Server), ApplyChange::Unchanged);
        assert_eq!(before.change(&object("1", "y"), "m", DryRun::Server), ApplyChange::Configured);
    }

    /// Returns an object that manager `m` applied at the given second, and whose status a controller wrote at the given
    /// second.
    fn applied_object(version: &str, applied: &str, status: &str) -> Value {
        let entry = |manager: &str, operation: &str, second: &str, fields: Value| {
            let time = format!("2026-01-01T00:00:{second}Z");
            json!({"manager": manager, "operation": operation, "apiVersion": "v1", "time": time,
                "fieldsType": "FieldsV1", "fieldsV1": fields})
        };
        let own = entry("m", "Apply", applied, json!({"f:spec": {}}));
        let mut controller = entry("c", "Update", status, json!({"f:status": {}}));
        controller["subresource"] = json!("status");
        let metadata = json!({"resourceVersion": version, "managedFields": [own, controller]});
        json!({"metadata": metadata, "status": {"at": status}})
    }

    #[test]
    fn changes_by_other_managers_count_as_unchanged() {
        let change = |after: &Value, dry_run| {
            PreviousObject::Present(applied_object("1", "10", "20")).change(after, "m", dry_run)
        };
        assert_eq!(change(&applied_object("2", "10", "30"), DryRun::None), ApplyChange::Unchanged);
        assert_eq!(change(&applied_object("2", "30", "20"), DryRun::None), ApplyChange::Configured);
        assert_eq!(change(&applied_object("2", "30", "30"), DryRun::None), ApplyChange::Configured);
        assert_eq!(
            change(&applied_object("2", "10", "10"), DryRun::None),
            ApplyChange::Configured,
            "same second"
        );
        assert_eq!(change(&applied_object("2", "10", "30"), DryRun::Server), ApplyChange::Unchanged);
        let mut owned = applied_object("2", "10", "30");
        owned["metadata"]["managedFields"][0]["fieldsV1"] = json!({"f:status": {}});
        assert_eq!(change(&owned, DryRun::Server), ApplyChange::Configured);
        assert_eq!(change(&owned, DryRun::None), ApplyChange::Configured);
    }
}
