//! Dissolves an ApplySet: its members are kept but no longer belong to a set.

use serde_json::{Value, json};

use super::events::{ApplySetEvent, ApplySetOptions, SetEventSink};
use super::id::{GROUP_KINDS, GROUP_RESOURCES, ID, NAMESPACES, PART_OF, REPOSITORY, TARGET, TOOLING};
use super::inventory::not_an_applyset;
use super::lock_record::{LOCK_ANNOTATION, RunStep};
use super::members::{MemberQuery, SetMember, collections, members, removed_kinds};
use super::parent::SetParent;
use super::parent_ref::ParentRef;
use super::scope::SetScope;
use super::set_lock::SetLock;
use crate::apply::patch_request;
use crate::client::Cluster;
use crate::mapping::ResourceMapping;
use crate::plan::{ObjectFailure, with_nothing_sent_note};
use crate::request::{ApiRequest, JSON_PATCH, MERGE_PATCH};
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result};
use smp_text::path::push_step;

/// Handling of the parent when a set is dissolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrphanedParent {
    /// Deletes the parent if it is a Secret or ConfigMap without data. Otherwise only its ApplySet label and
    /// annotations are removed.
    Removed,
    /// Keeps the parent, with an empty set.
    Kept,
}

/// Dissolves a set: removes its label from its members without deleting them. Returns the objects that could not be
/// changed. If there are any, the parent is not changed.
///
/// # Errors
/// There is no such set, it belongs to another tool, or its members cannot be listed.
pub fn orphan(
    cluster: &Cluster,
    options: &ApplySetOptions,
    parent_becomes: OrphanedParent,
    report: SetEventSink<'_>,
) -> Result<Vec<ObjectFailure>> {
    cluster.block_on(async {
        let parent_ref = ParentRef::resolve(cluster, &options.parent).await?;
        let parent = SetParent { parent_ref, tooling: options.tooling };
        let live = parent.read(cluster).await?.ok_or_else(|| not_an_applyset(&parent.parent_ref.object()))?;
        check_kinds_are_served(cluster, &parent, &live.state.scope).await?;
        let mut lock =
            SetLock::acquire(cluster, &parent, RunStep::Pruning, &SetScope::default(), report).await?;
        let failures = match remove_labels(cluster, &parent, &mut lock, options, report).await {
            Ok(failures) => failures,
            Err(problem) => {
                drop(lock.release_unchanged().await);
                return Err(problem);
            }
        };
        match parent_becomes {
            _ if !failures.is_empty() => lock.release_unchanged().await.map(drop)?,
            OrphanedParent::Kept => lock.release(&SetScope::default()).await.map(drop)?,
            OrphanedParent::Removed => remove_parent(cluster, &parent, &lock, report).await?,
        }
        Ok(failures)
    })
}

/// Removes the label from all members. Returns the objects that could not be changed.
async fn remove_labels(
    cluster: &Cluster,
    parent: &SetParent,
    lock: &mut SetLock<'_>,
    options: &ApplySetOptions,
    report: SetEventSink<'_>,
) -> Result<Vec<ObjectFailure>> {
    let kinds = lock.scope().kinds.iter();
    let mappings: Vec<ResourceMapping> =
        kinds.filter_map(|kind| cluster.mapping_of(&kind.group, &kind.kind)).collect();
    let id = parent.parent_ref.id();
    let searched = collections(&mappings, lock.scope());
    let found = members(cluster, &searched, MemberQuery::OfSet(&id), options.parallel).await?;
    let mut failures = Vec::new();
    for member in &found {
        lock.renew_if_due().await?;
        match remove_label(cluster, member, &id, options.tooling.field_manager()).await {
            Ok(()) => report(ApplySetEvent::Orphaned(&member.object)),
            Err(problem) => {
                let failure = ObjectFailure { object: member.object.clone(), problem };
                report(ApplySetEvent::Failed(&failure));
                failures.push(failure);
            }
        }
    }
    Ok(failures)
}

/// Returns an error if a kind of the set is currently not served, since its objects would keep the label of a dissolved
/// set.
async fn check_kinds_are_served(cluster: &Cluster, parent: &SetParent, scope: &SetScope) -> Result<()> {
    let mut unserved = Vec::new();
    for kind in &scope.kinds {
        if cluster.mapping_of(&kind.group, &kind.kind).is_none()
            && cluster.is_kind_unserved(&kind.group, &kind.kind).await?
        {
            unserved.push(kind.clone());
        }
    }
    let gone = removed_kinds(cluster, &unserved).await;
    let mut problems = Problems::default();
    for kind in unserved.iter().filter(|kind| !gone.contains(kind)) {
        let message =
            format!("the server does not serve the kind {kind}, but the ApplySet may have members of it");
        let help = format!(
            "retry once it is served; if it has no members, remove it from the annotation {GROUP_KINDS} of {}",
            parent.parent_ref.object()
        );
        problems.add(Diagnostic::error(Code::ApplySet, message).help(help));
    }
    problems.into_result(()).map_err(with_nothing_sent_note)
}

/// Removes the label from an object if it still has the same UID and is still in the set.
async fn remove_label(cluster: &Cluster, member: &SetMember, id: &str, manager: &str) -> Result<()> {
    let mut pointer = "/metadata/labels".to_string();
    push_step(&mut pointer, PART_OF);
    let patch = json!([
        {"op": "test", "path": "/metadata/uid", "value": member.uid},
        {"op": "test", "path": pointer, "value": id},
        {"op": "remove", "path": pointer},
    ]);
    let path = member.path();
    let request = patch_request(&path, manager, &patch, JSON_PATCH);
    let api_error = match cluster.send(&request).await?.into_result() {
        Ok(_) => return Ok(()),
        Err(api_error) if api_error.is_not_found() => return Ok(()),
        Err(api_error) => api_error,
    };
    // A patch that is repeated because its response was lost finds no label.
    let now: Option<Value> = cluster.find_json(&ApiRequest::object(path)).await?;
    let labels = now.as_ref().and_then(|now| now.pointer("/metadata/labels"));
    match labels.and_then(|labels| labels.get(PART_OF)) {
        Some(label) if label == id => Err(api_error.diagnostic(&cluster.endpoint)),
        _ => Ok(()),
    }
}

/// Deletes the parent. If it is a custom resource or contains data, it may have other purposes, so only its ApplySet
/// label and annotations are removed.
async fn remove_parent(
    cluster: &Cluster,
    parent: &SetParent,
    lock: &SetLock<'_>,
    report: SetEventSink<'_>,
) -> Result<()> {
    let path = parent.parent_ref.path();
    let object: Option<Value> = cluster.find_json(&ApiRequest::object(path.as_str())).await?;
    let Some(object) = object else { return Ok(()) };
    if object.pointer("/metadata/uid").and_then(Value::as_str) != Some(lock.parent().uid.as_str()) {
        return Err(Diagnostic::error(
            Code::Conflict,
            "the parent of the ApplySet was deleted and recreated meanwhile",
        ));
    }
    let has_entries =
        |field: &str| object.get(field).and_then(Value::as_object).is_some_and(|map| !map.is_empty());
    let version = &object["metadata"]["resourceVersion"];
    let request = if parent.parent_ref.is_built_in() && !has_entries("data") && !has_entries("binaryData") {
        let preconditions = json!({"uid": lock.parent().uid, "resourceVersion": version});
        ApiRequest::delete(path, json!({"preconditions": preconditions}))
    } else {
        let text =
            format!("{} is kept, but is no longer the parent of an ApplySet", parent.parent_ref.object());
        report(ApplySetEvent::Warning(&text));
        clear_parent(parent, lock, version)
    };
    let help = "retry: the members have already left the set";
    cluster.find(&request).await.map(drop).map_err(|problem| problem.help(help))
}

/// Returns the request that removes the ApplySet label and annotations from the parent.
fn clear_parent(parent: &SetParent, lock: &SetLock<'_>, version: &Value) -> ApiRequest {
    let nothing = Value::Null;
    let body = json!({"metadata": {
        "uid": lock.parent().uid, "resourceVersion": version, "labels": {ID: nothing},
        "annotations": {
            TOOLING: nothing, GROUP_KINDS: nothing, GROUP_RESOURCES: nothing, NAMESPACES: nothing, LOCK_ANNOTATION: nothing,
            TARGET: nothing, REPOSITORY: nothing,
        },
    }});
    patch_request(&parent.parent_ref.path(), parent.tooling.field_manager(), &body, MERGE_PATCH)
}
