//! The readiness of a live object, computed from the object alone.
//!
//! The rules are those of kstatus (`sigs.k8s.io/cli-utils`), which Flux and other tools use. The first matching rule
//! applies:
//!
//! | object | state | readiness |
//! |---|---|---|
//! | any | `metadata.deletionTimestamp` is set | Terminating |
//! | any | `status.observedGeneration` differs from `metadata.generation` | InProgress |
//! | any | the condition Reconciling is True | InProgress |
//! | any | the condition Stalled is True | Failed |
//! | Deployment | the condition Progressing has the reason ProgressDeadlineExceeded | Failed |
//! | Deployment | too few replicas, or too few updated, available or ready ones; old replicas remain | InProgress |
//! | Deployment | has a progress deadline and no new ReplicaSet is available; not Available | InProgress |
//! | ReplicaSet | the condition ReplicaFailure is True; too few labeled, available or ready replicas; too many replicas | InProgress |
//! | StatefulSet | the update strategy is OnDelete | Current |
//! | StatefulSet | too few replicas or ready ones, too many replicas, rollout of the partition or revision incomplete | InProgress |
//! | DaemonSet | no observed generation; too few Pods scheduled, updated, available or ready | InProgress |
//! | Pod | Succeeded, Failed, or Running and Ready | Current |
//! | Pod | Running with a container in a crash loop; unscheduled for more than 15 seconds | Failed |
//! | Pod | otherwise | InProgress |
//! | Job | the condition Failed or FailureTarget is True | Failed |
//! | Job | not started | InProgress |
//! | Job | complete, suspended, or started and running | Current |
//! | PersistentVolumeClaim | not Bound | InProgress |
//! | Service | of type LoadBalancer without a cluster IP | InProgress |
//! | CustomResourceDefinition | names not accepted; not established for another reason than Installing | Failed |
//! | CustomResourceDefinition | not established | InProgress |
//! | ConfigMap, Secret, CronJob, PodDisruptionBudget | | Current |
//! | any other | the condition Ready is False or Unknown | InProgress |
//! | any other | | Current |
//!
//! Deliberate differences from kstatus:
//!
//! - An `observedGeneration` that is a string is parsed as a number.
//! - Fields of unexpected types make the status Unknown, where kstatus returns an error.
//! - Null fields are treated as missing.
//! - A Job with the condition FailureTarget has failed, while kstatus waits until its Pods have terminated.
//!
//! There are two additional requirements, which can only make a ready object unready: the annotation [`READY`], and
//! [`MissingStatus::Unknown`].

mod built_in;
mod fields;
mod object_status;
#[cfg(feature = "cel")]
mod ready_expression;
mod ready_rule;
mod workload;

use std::time::SystemTime;

use fields::{StatusCondition, field, generation, observed_generation};
pub(super) use fields::{conditions, has_condition, time};
use object_status::StatusResult;
pub use object_status::{MissingStatus, ObjectStatus, Readiness};
pub use ready_rule::READY;
pub(super) use ready_rule::ReadyRule;

use smp_merge::schema::Gvk;
use smp_text::yaml::Node;

/// The reason of a status that results from the annotation [`READY`].
pub(super) const READY_ANNOTATION_REASON: &str = "ReadyAnnotation";

/// Returns the status of an object. The kind is a parameter, since items of lists do not contain it.
#[must_use]
pub fn object_status(gvk: &Gvk, object: &Node, without: MissingStatus, now: SystemTime) -> ObjectStatus {
    let status = by_rules(gvk, object, without, now)
        .unwrap_or_else(|problem| ObjectStatus::new(Readiness::Unknown, "NotUnderstood", problem));
    if status.readiness != Readiness::Current {
        return status;
    }
    match ReadyRule::from_annotation(object) {
        None => status,
        Some(Ok(rule)) => match rule.failure_reason(object) {
            Ok(None) => status,
            Ok(Some(why)) => ObjectStatus::in_progress(READY_ANNOTATION_REASON, why),
            Err(why) => {
                ObjectStatus::failed(READY_ANNOTATION_REASON, format!("invalid annotation {READY}: {why}"))
            }
        },
        Some(Err(why)) => {
            let message = format!("invalid annotation {READY}: {why}");
            ObjectStatus::new(Readiness::Unknown, READY_ANNOTATION_REASON, message)
        }
    }
}

fn by_rules(gvk: &Gvk, object: &Node, without: MissingStatus, now: SystemTime) -> StatusResult {
    if let Some(status) = by_metadata(gvk, object)? {
        return Ok(status);
    }
    let conditions = conditions(object)?;
    if let Some(status) = standard_condition(&conditions) {
        return Ok(status);
    }
    if let Some(status) = built_in::status(gvk, object, &conditions, now) {
        return status;
    }
    if without == MissingStatus::Unknown
        && let Some(status) = controller_not_seen(object, &conditions)?
    {
        return Ok(status);
    }
    Ok(ready_condition(&conditions)
        .unwrap_or_else(|| ObjectStatus::current("no condition or field says otherwise")))
}

/// Returns the status of an object that is being deleted, or whose controller has not observed the latest generation.
fn by_metadata(gvk: &Gvk, object: &Node) -> Result<Option<ObjectStatus>, String> {
    if let Some(time) = field(object, &["metadata", "deletionTimestamp"])? {
        match time.as_str() {
            Some("") => {}
            Some(_) => {
                let status = ObjectStatus::new(Readiness::Terminating, "Terminating", "being deleted");
                return Ok(Some(status));
            }
            None => return Err("metadata.deletionTimestamp is not a string".into()),
        }
    }
    let Some(generation) = generation(object)? else { return Ok(None) };
    let Some(observed) = observed_generation(object)?.filter(|observed| *observed != generation) else {
        return Ok(None);
    };
    let message =
        format!("generation {generation} of the {} is not observed yet (observed: {observed})", gvk.kind);
    Ok(Some(ObjectStatus::in_progress("LatestGenerationNotObserved", message)))
}

/// Returns the status from the first standard condition. Kinds of any group may have such a condition.
fn standard_condition(conditions: &[StatusCondition<'_>]) -> Option<ObjectStatus> {
    let mut active = conditions.iter().filter(|condition| condition.status == "True");
    active.find_map(|condition| match condition.condition_type {
        "Reconciling" => Some(ObjectStatus::in_progress(condition.reason, condition.message)),
        "Stalled" => Some(ObjectStatus::failed(condition.reason, condition.message)),
        _ => None,
    })
}

/// Returns an unknown status if the controller has not set a status yet, or its condition Ready is that of an older
/// generation.
fn controller_not_seen(
    object: &Node,
    conditions: &[StatusCondition<'_>],
) -> Result<Option<ObjectStatus>, String> {
    let unknown = |message: &str| ObjectStatus::new(Readiness::Unknown, "ControllerNotSeen", message);
    let has_status = field(object, &["status"])?
        .and_then(Node::as_map)
        .is_some_and(|status| status.iter().any(|(_, value)| !is_empty(value)));
    if !has_status {
        return Ok(Some(unknown("its controller has not set a status yet")));
    }
    let now = generation(object)?;
    let is_old = |condition: &&StatusCondition<'_>| {
        condition.condition_type == "Ready"
            && condition.observed.zip(now).is_some_and(|(seen, now)| seen < now)
    };
    let old = conditions.iter().find(is_old);
    Ok(old.map(|_| unknown("the condition Ready is of an older generation")))
}

fn is_empty(value: &Node) -> bool {
    let is_empty_list = value.as_list().is_some_and(Vec::is_empty);
    value.is_null() || is_empty_list || value.as_map().is_some_and(smp_text::yaml::Map::is_empty)
}

/// Returns the status from the first condition Ready with a valid value.
fn ready_condition(conditions: &[StatusCondition<'_>]) -> Option<ObjectStatus> {
    let mut ready = conditions.iter().filter(|condition| condition.condition_type == "Ready");
    ready.find_map(|condition| match condition.status {
        "True" => Some(ObjectStatus::current("ready")),
        "False" | "Unknown" => Some(ObjectStatus::in_progress(condition.reason, condition.message)),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
