//! What the server has of an object before it is applied, so that it can be said what applying changed.

use serde_json::Value;

use super::events::ApplyChange;
use super::migrate::{applied_by, client_side_appliers, own_entry};
use super::options::DryRun;
use super::report::Unapplied;
use crate::applyset::id::PART_OF;
use crate::client::Cluster;
use crate::exchange::Ask;
use crate::failure::not_understood;
use crate::json;
use crate::listing::ListedObject;
use crate::mapping::encode;

/// An object as it was.
#[derive(Debug, Clone)]
pub(super) enum Before {
    Absent,
    /// Its metadata; for a dry run all of it.
    Present(Value),
    /// Whoever applies may not read.
    Unknown,
}

impl Before {
    /// Whether somebody applied it client-side, whose fields are not moved yet.
    pub(super) fn has_client_side_appliers(&self) -> bool {
        matches!(self, Self::Present(object) if !client_side_appliers(object).is_empty())
    }

    /// From what a list had of it.
    pub(super) fn listed(object: ListedObject<Value>) -> Self {
        match object {
            ListedObject::Absent => Self::Absent,
            ListedObject::Present(metadata) => Self::Present(metadata),
        }
    }

    /// Asks for one object. What the server cannot tell, such as whoever may not read, stays unknown: applying will
    /// show what is wrong.
    pub(super) async fn ask(
        cluster: &Cluster,
        path: &str,
        dry_run: DryRun,
    ) -> std::result::Result<Self, Unapplied> {
        let ask = match dry_run {
            DryRun::Server => Ask::object(path),
            DryRun::None => Ask::metadata(path),
        };
        match cluster.ask(&ask).await.map_err(Unapplied::Unanswered)?.accepted() {
            Ok(answer) => {
                let object: Value = cluster.read_with(json::decode, &answer).map_err(Unapplied::Problem)?;
                let name = object.pointer("/metadata/name").and_then(Value::as_str);
                let is_asked_for = name.is_some_and(|name| path.ends_with(&format!("/{}", encode(name))));
                if is_asked_for {
                    return Ok(Self::Present(object));
                }
                let problem = not_understood(&cluster.endpoint, path, &"it is another object");
                Err(Unapplied::Problem(problem))
            }
            Err(refusal) if refusal.is_not_found() => Ok(Self::Absent),
            Err(_) => Ok(Self::Unknown),
        }
    }

    /// What applying as `manager` made of the object, which is `after` now.
    pub(super) fn change(&self, after: &Value, manager: &str, dry_run: DryRun) -> ApplyChange {
        let same = |before: &Value| match dry_run {
            DryRun::Server => {
                let part =
                    if applied_by(after, manager).get("f:status").is_none() { &["status"][..] } else { &[] };
                without_bookkeeping(before, part) == without_bookkeeping(after, part)
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
            Self::Present(before) if same(before) => ApplyChange::Unchanged,
            Self::Present(_) => ApplyChange::Configured,
        }
    }

    /// The id of the ApplySet that the object was in, when it is not in it any more.
    pub(super) fn left_set(&self, after: &Value) -> Option<&str> {
        let Self::Present(before) = self else { return None };
        set_of(before).filter(|set| set_of(after) != Some(*set))
    }
}

fn set_of(object: &Value) -> Option<&str> {
    object.pointer("/metadata/labels")?.get(PART_OF)?.as_str()
}

/// Whether an object is another one now by what others wrote meanwhile, such as a controller its status. An apply that
/// changes anything gives its manager's entry its own time, which no older one has then. Times are whole seconds: of
/// what was written within one of them it is not certain.
fn only_others_wrote(before: &Value, after: &Value, manager: &str) -> bool {
    let own = own_entry(after, manager);
    let is_same = own.is_some() && own == own_entry(before, manager);
    let time = |entry: &Value| entry.get("time").and_then(Value::as_str).map(str::to_string);
    let entries = after.pointer("/metadata/managedFields").and_then(Value::as_array);
    let others = entries.into_iter().flatten().filter(|entry| Some(*entry) != own);
    let newest = others.filter_map(time).max();
    is_same && own.and_then(time).zip(newest).is_some_and(|(own, newest)| own < newest)
}

/// The object without what says who wrote it when: a dry run counts nothing up. And without some parts.
fn without_bookkeeping(object: &Value, parts: &[&str]) -> Value {
    let mut object = object.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|name, _| !parts.contains(&name.as_str()));
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
    fn the_version_says_whether_something_changed() {
        let at = |version: &str| json!({"metadata": {"resourceVersion": version}});
        let change = |before: &Before, after: &Value| before.change(after, "m", DryRun::None);
        assert_eq!(change(&Before::Absent, &at("1")), ApplyChange::Created);
        assert_eq!(change(&Before::Unknown, &at("1")), ApplyChange::Applied);
        assert_eq!(change(&Before::Present(at("1")), &at("1")), ApplyChange::Unchanged);
        assert_eq!(change(&Before::Present(at("1")), &at("2")), ApplyChange::Configured);
        assert_eq!(
            change(&Before::Present(json!({})), &json!({})),
            ApplyChange::Configured,
            "that says nothing"
        );
    }

    #[test]
    fn who_leaves_a_set_is_seen() {
        let of = |set: Option<&str>| json!({"metadata": {"labels": {PART_OF: set}}});
        let left = |before: Option<&str>, after: Option<&str>| {
            Before::Present(of(before)).left_set(&of(after)).map(str::to_string)
        };
        assert_eq!(left(Some("x"), None).as_deref(), Some("x"));
        assert_eq!(left(Some("x"), Some("y")).as_deref(), Some("x"));
        assert_eq!((left(Some("x"), Some("x")), left(None, Some("x")), left(None, None)), (None, None, None));
        assert_eq!((Before::Absent.left_set(&of(None)), Before::Unknown.left_set(&of(None))), (None, None));
    }

    #[test]
    fn a_dry_run_is_compared_as_a_whole() {
        let object = |version: &str, value: &str| {
            let metadata = json!({"resourceVersion": version, "managedFields": [version], "name": "a"});
            json!({"metadata": metadata, "data": {"a": value}})
        };
        let before = Before::Present(object("1", "x"));
        assert_eq!(before.change(&object("2", "x"), "m", DryRun::Server), ApplyChange::Unchanged);
        assert_eq!(before.change(&object("1", "y"), "m", DryRun::Server), ApplyChange::Configured);
    }

    /// An object of a version that `m` applied at a second, and a controller wrote the status of at another.
    fn written(version: &str, applied: &str, status: &str) -> Value {
        let entry = |manager: &str, operation: &str, second: &str, fields: Value| {
            let time = format!("2026-01-01T00:00:{second}Z");
            json!({"manager": manager, "operation": operation, "time": time, "fieldsV1": fields})
        };
        let own = entry("m", "Apply", applied, json!({"f:spec": {}}));
        let mut controller = entry("c", "Update", status, json!({"f:status": {}}));
        controller["subresource"] = json!("status");
        let metadata = json!({"resourceVersion": version, "managedFields": [own, controller]});
        json!({"metadata": metadata, "status": {"at": status}})
    }

    #[test]
    fn what_others_wrote_meanwhile_is_not_ours() {
        let change =
            |after: &Value, dry_run| Before::Present(written("1", "10", "20")).change(after, "m", dry_run);
        assert_eq!(change(&written("2", "10", "30"), DryRun::None), ApplyChange::Unchanged);
        assert_eq!(change(&written("2", "30", "20"), DryRun::None), ApplyChange::Configured);
        assert_eq!(change(&written("2", "30", "30"), DryRun::None), ApplyChange::Configured);
        assert_eq!(
            change(&written("2", "10", "10"), DryRun::None),
            ApplyChange::Configured,
            "nobody can tell"
        );
        assert_eq!(change(&written("2", "10", "30"), DryRun::Server), ApplyChange::Unchanged);
        let mut owned = written("2", "10", "30");
        owned["metadata"]["managedFields"][0]["fieldsV1"] = json!({"f:status": {}});
        assert_eq!(change(&owned, DryRun::Server), ApplyChange::Configured);
        assert_eq!(change(&owned, DryRun::None), ApplyChange::Configured);
    }
}
