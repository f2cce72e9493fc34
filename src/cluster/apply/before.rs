//! What the server has of an object before it is applied, so that it can be said what applying changed.

use rustc_hash::FxHashMap;
use serde_json::Value;
use smol_str::SmolStr;

use super::events::ApplyChange;
use super::options::DryRun;
use super::unapplied::Unapplied;
use crate::cluster::client::Cluster;
use crate::cluster::exchange::Ask;
use crate::cluster::failure::not_understood;
use crate::cluster::json;
use crate::cluster::mapping::{Mapping, encode};
use crate::cluster::plan::PlannedObject;
use crate::diagnostic::Result;

/// An object as it was.
#[derive(Debug, Clone)]
pub(super) enum Before {
    Absent,
    /// Its metadata; for a dry run all of it.
    Present(Value),
    /// Whoever applies may not read.
    Unknown,
}

/// Metadata alone: objects may be large.
pub(in crate::cluster) const METADATA: &str =
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
pub(in crate::cluster) const METADATA_LIST: &str =
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/// From so many objects of one kind and namespace on, one list spares asking for each.
const MANY: usize = 8;

/// How many objects come with one answer.
pub(in crate::cluster) const PAGE: usize = 500;

/// What lists told of objects, by kind, namespace and name.
#[derive(Debug, Default)]
pub(super) struct Listed(FxHashMap<(String, SmolStr), Before>);

impl Listed {
    /// Lists what is there of kinds that many of the objects are of. What has far more objects than are applied,
    /// or may not be listed, is left to be asked for one by one.
    pub(super) async fn of(cluster: &Cluster, targets: &[&PlannedObject<'_>]) -> Result<Self> {
        let mut groups: FxHashMap<String, Vec<&SmolStr>> = FxHashMap::default();
        for target in targets.iter().filter(|target| target.served) {
            if let Some(mapping) = &target.mapping {
                groups.entry(collection(mapping, target)).or_default().push(&target.object.name);
            }
        }
        let mut listed = Self::default();
        for (path, names) in groups.into_iter().filter(|(_, names)| names.len() >= MANY) {
            let Some(mut found) = list(cluster, &path, names.len()).await? else { continue };
            for name in names {
                let before = found.remove(name).map_or(Before::Absent, Before::Present);
                listed.0.insert((path.clone(), name.clone()), before);
            }
        }
        Ok(listed)
    }

    pub(super) fn take(&mut self, target: &PlannedObject<'_>) -> Option<Before> {
        let path = collection(target.mapping.as_ref()?, target);
        self.0.remove(&(path, target.object.name.clone()))
    }
}

fn collection(mapping: &Mapping, target: &PlannedObject<'_>) -> String {
    mapping.collection(&target.object.namespace)
}

/// All objects of a collection by name; none when there are too many, or it may not be listed.
async fn list(cluster: &Cluster, path: &str, wanted: usize) -> Result<Option<FxHashMap<SmolStr, Value>>> {
    let mut found = FxHashMap::default();
    let mut next = String::new();
    loop {
        let address = format!("{path}?limit={PAGE}{next}");
        let answer = cluster.ask(&Ask { accept: METADATA_LIST, ..Ask::get(address.as_str()) }).await?;
        let Ok(answer) = answer.accepted() else { return Ok(None) };
        let mut page: Value = json::decode(&answer.body)
            .map_err(|error| not_understood(&cluster.endpoint, &address, &error))?;
        let Some(items) = page.get_mut("items").filter(|items| items.is_array() || items.is_null()) else {
            return Err(not_understood(&cluster.endpoint, &address, &"it is no list"));
        };
        for item in items.as_array_mut().into_iter().flatten() {
            if let Some(name) = item.pointer("/metadata/name").and_then(Value::as_str) {
                found.insert(SmolStr::from(name), item.take());
            }
        }
        match page.pointer("/metadata/continue").and_then(Value::as_str).filter(|token| !token.is_empty()) {
            None => return Ok(Some(found)),
            Some(_) if found.len() >= 4 * wanted.max(PAGE) => return Ok(None),
            Some(token) => next = format!("&continue={}", encode(token)),
        }
    }
}

impl Before {
    /// Asks for one object. What the server cannot tell, such as whoever may not read, stays unknown: applying will
    /// show what is wrong.
    pub(super) async fn ask(
        cluster: &Cluster,
        path: &str,
        dry_run: DryRun,
    ) -> std::result::Result<Self, Unapplied> {
        let ask = match dry_run {
            DryRun::Server => Ask::object(path),
            DryRun::None => Ask { accept: METADATA, ..Ask::object(path) },
        };
        match cluster.ask(&ask).await.map_err(Unapplied::Unanswered)?.accepted() {
            Ok(answer) => {
                let strange = |error: &dyn std::fmt::Display| {
                    Unapplied::Problem(not_understood(&cluster.endpoint, path, error))
                };
                let object: Value = json::decode(&answer.body).map_err(|error| strange(&error))?;
                let name = object.pointer("/metadata/name").and_then(Value::as_str);
                let is_asked_for = name.is_some_and(|name| path.ends_with(&format!("/{}", encode(name))));
                if is_asked_for { Ok(Self::Present(object)) } else { Err(strange(&"it is another object")) }
            }
            Err(refusal) if refusal.is_not_found() => Ok(Self::Absent),
            Err(_) => Ok(Self::Unknown),
        }
    }

    /// What became of the object, which is another one now.
    pub(super) fn change(&self, after: &Value, dry_run: DryRun) -> ApplyChange {
        let same = |before: &Value| match dry_run {
            DryRun::Server => without_bookkeeping(before) == without_bookkeeping(after),
            DryRun::None => {
                let version = |object: &Value| object.pointer("/metadata/resourceVersion").cloned();
                version(before).is_some() && version(before) == version(after)
            }
        };
        match self {
            Self::Absent => ApplyChange::Created,
            Self::Unknown => ApplyChange::Applied,
            Self::Present(before) if same(before) => ApplyChange::Unchanged,
            Self::Present(_) => ApplyChange::Configured,
        }
    }
}

/// The object without what says who wrote it when: a dry run counts nothing up.
fn without_bookkeeping(object: &Value) -> Value {
    let mut object = object.clone();
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
        let change = |before: &Before, after: &Value| before.change(after, DryRun::None);
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
    fn a_dry_run_is_compared_as_a_whole() {
        let object = |version: &str, value: &str| {
            let metadata = json!({"resourceVersion": version, "managedFields": [version], "name": "a"});
            json!({"metadata": metadata, "data": {"a": value}})
        };
        let before = Before::Present(object("1", "x"));
        assert_eq!(before.change(&object("2", "x"), DryRun::Server), ApplyChange::Unchanged);
        assert_eq!(before.change(&object("1", "y"), DryRun::Server), ApplyChange::Configured);
    }
}
