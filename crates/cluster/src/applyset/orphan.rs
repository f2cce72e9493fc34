//! Giving a set up: its members stay, and are in no set any more.

use http::Method;
use serde_json::{Value, json};

use super::catalogue::no_set;
use super::claim::{CLAIM, RENEW, SetWork};
use super::events::{ApplySetEvent, ApplySetOptions, PruneFailure};
use super::hold::{SetHold, StillHeld};
use super::id::{GROUP_KINDS, GROUP_RESOURCES, ID, NAMESPACES, PART_OF, TOOLING};
use super::members::{MemberQuery, SetMember, collections, members, undefined};
use super::parent::SetParent;
use super::parent_ref::ParentRef;
use super::prune::taken;
use super::run::unsent;
use super::scope::SetScope;
use crate::client::Cluster;
use crate::exchange::Ask;
use crate::failure::not_understood;
use crate::json;
use crate::mapping::{Mapping, encode};
use smp_text::diagnostic::{Code, Diagnostic, Problems, Result};
use smp_text::path::push_step;

/// What becomes of the parent of a set that is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrphanedParent {
    /// It is deleted if it is a Secret or ConfigMap that holds nothing; otherwise it stays and is no parent any more.
    Removed,
    /// It stays, as the parent of an empty set.
    Kept,
}

/// Takes the label of a set off its members, and deletes none of them. Returns those that could not be changed; the
/// parent stays as it is then.
///
/// # Errors
/// There is no such set, or it is another tool's; its members cannot be listed.
pub fn orphan(
    cluster: &Cluster,
    options: &ApplySetOptions,
    parent_becomes: OrphanedParent,
    report: &mut (dyn FnMut(ApplySetEvent<'_>) + Send),
) -> Result<Vec<PruneFailure>> {
    cluster.wait(async {
        let at = ParentRef::resolve(cluster, &options.parent).await?;
        let parent = SetParent { at, tooling: options.tooling };
        let live = parent.read(cluster).await?.ok_or_else(|| no_set(&parent.at.object()))?;
        refuse_unserved(cluster, &parent, &live.state.scope).await?;
        let mut hold =
            SetHold::take(cluster, &parent, SetWork::Pruning, &SetScope::default(), report).await?;
        let scope = hold.scope().clone();
        let failures = match unlabelled(cluster, &parent, &mut hold, options, report).await {
            Ok(failures) => failures,
            Err(problem) => {
                drop(hold.release(cluster, &parent, &scope).await);
                return Err(problem);
            }
        };
        match parent_becomes {
            _ if !failures.is_empty() => hold.release(cluster, &parent, &scope).await.map(drop)?,
            OrphanedParent::Kept => hold.release(cluster, &parent, &SetScope::default()).await.map(drop)?,
            OrphanedParent::Removed => remove(cluster, &parent, &hold, report).await?,
        }
        Ok(failures)
    })
}

async fn unlabelled(
    cluster: &Cluster,
    parent: &SetParent,
    hold: &mut SetHold,
    options: &ApplySetOptions,
    report: &mut (dyn FnMut(ApplySetEvent<'_>) + Send),
) -> Result<Vec<PruneFailure>> {
    let kinds = hold.scope().kinds.iter();
    let mappings: Vec<Mapping> =
        kinds.filter_map(|kind| cluster.mapping_of(&kind.group, &kind.kind)).collect();
    let id = parent.at.id();
    let places = collections(&mappings, hold.scope());
    let found = members(cluster, &places, MemberQuery::Of(&id), options.parallel).await?;
    let mut failures = Vec::new();
    for member in &found {
        if hold.age() >= RENEW && hold.renew(cluster, parent, SetWork::Pruning).await? == StillHeld::No {
            return Err(taken());
        }
        match take_label_off(cluster, member, &id, options.tooling.field_manager()).await {
            Ok(()) => report(ApplySetEvent::Orphaned(&member.object)),
            Err(problem) => {
                let failure = PruneFailure { object: member.object.clone(), problem };
                report(ApplySetEvent::Failed(&failure));
                failures.push(failure);
            }
        }
    }
    Ok(failures)
}

/// Members of a kind that nothing serves for now would keep the label of a set that is no more.
async fn refuse_unserved(cluster: &Cluster, parent: &SetParent, scope: &SetScope) -> Result<()> {
    let mut lost = Vec::new();
    for kind in &scope.kinds {
        if cluster.mapping_of(&kind.group, &kind.kind).is_none()
            && cluster.has_lost(&kind.group, &kind.kind).await?
        {
            lost.push(kind.clone());
        }
    }
    let gone = undefined(cluster, &lost).await;
    let mut problems = Problems::default();
    for kind in lost.iter().filter(|kind| !gone.contains(kind)) {
        let message =
            format!("the server does not serve the kind {kind}, of which the ApplySet may have members");
        let help = format!(
            "run it again when it is served; if there are none, take it out of the annotation {GROUP_KINDS} of {}",
            parent.at.object()
        );
        problems.add(Diagnostic::error(Code::ApplySet, message).help(help));
    }
    problems.or(()).map_err(unsent)
}

/// Takes the label off an object, if it is still that one and still in the set.
async fn take_label_off(cluster: &Cluster, member: &SetMember, id: &str, manager: &str) -> Result<()> {
    let mut pointer = "/metadata/labels".to_string();
    push_step(&mut pointer, PART_OF);
    let patch = json!([
        {"op": "test", "path": "/metadata/uid", "value": member.uid},
        {"op": "test", "path": pointer, "value": id},
        {"op": "remove", "path": pointer},
    ]);
    let path = member.path();
    let ask = Ask {
        method: Method::PATCH,
        content_type: "application/json-patch+json",
        body: patch.to_string().into_bytes(),
        ..Ask::object(format!("{path}?fieldManager={}", encode(manager)))
    };
    let refusal = match cluster.ask(&ask).await?.accepted() {
        Ok(_) => return Ok(()),
        Err(refusal) if refusal.is_not_found() => return Ok(()),
        Err(refusal) => refusal,
    };
    // Sent again after its answer was lost, the patch finds no label.
    let now = cluster.ask(&Ask::object(path.as_str())).await?;
    match now.accepted() {
        Ok(answer) => {
            let object: Value = json::decode(&answer.body)
                .map_err(|error| not_understood(&cluster.endpoint, &path, &error))?;
            let label = object.pointer("/metadata/labels").and_then(|labels| labels.get(PART_OF));
            if label.is_some_and(|label| label == id) {
                Err(refusal.diagnostic(&cluster.endpoint))
            } else {
                Ok(())
            }
        }
        Err(gone) if gone.is_not_found() => Ok(()),
        Err(refusal) => Err(refusal.diagnostic(&cluster.endpoint)),
    }
}

/// Deletes the parent, or, where it is of use beyond that, makes it no parent.
async fn remove(
    cluster: &Cluster,
    parent: &SetParent,
    hold: &SetHold,
    report: &mut (dyn FnMut(ApplySetEvent<'_>) + Send),
) -> Result<()> {
    let path = parent.at.path();
    let answer = match cluster.ask(&Ask::object(path.as_str())).await?.accepted() {
        Ok(answer) => answer,
        Err(refusal) if refusal.is_not_found() => return Ok(()),
        Err(refusal) => return Err(refusal.diagnostic(&cluster.endpoint)),
    };
    let object: Value =
        json::decode(&answer.body).map_err(|error| not_understood(&cluster.endpoint, &path, &error))?;
    if object.pointer("/metadata/uid").and_then(Value::as_str) != Some(hold.parent_uid()) {
        return Err(Diagnostic::error(Code::Conflict, "the parent of the ApplySet was made anew meanwhile"));
    }
    let holds = |field: &str| object.get(field).and_then(Value::as_object).is_some_and(|map| !map.is_empty());
    let version = &object["metadata"]["resourceVersion"];
    let ask = if parent.at.is_built_in() && !holds("data") && !holds("binaryData") {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions",
            "preconditions": {"uid": hold.parent_uid(), "resourceVersion": version},
        });
        Ask { method: Method::DELETE, body: options.to_string().into_bytes(), ..Ask::object(path) }
    } else {
        let text =
            format!("{} is no parent of an ApplySet any more, and stays for what it is", parent.at.object());
        report(ApplySetEvent::Warning(&text));
        no_parent(parent, hold, version)
    };
    match cluster.ask(&ask).await?.accepted() {
        Ok(_) => Ok(()),
        Err(refusal) if refusal.is_not_found() => Ok(()),
        Err(refusal) => Err(refusal
            .diagnostic(&cluster.endpoint)
            .help("run it again: the members are in no set any more")),
    }
}

/// The request that takes what makes it a parent off an object.
fn no_parent(parent: &SetParent, hold: &SetHold, version: &Value) -> Ask {
    let nothing = Value::Null;
    let body = json!({"metadata": {
        "uid": hold.parent_uid(), "resourceVersion": version, "labels": {ID: nothing},
        "annotations": {
            TOOLING: nothing, GROUP_KINDS: nothing, GROUP_RESOURCES: nothing, NAMESPACES: nothing, CLAIM: nothing,
        },
    }});
    let path = format!("{}?fieldManager={}", parent.at.path(), encode(parent.tooling.field_manager()));
    let (content_type, body) = ("application/merge-patch+json", body.to_string().into_bytes());
    Ask { method: Method::PATCH, content_type, body, ..Ask::object(path) }
}
