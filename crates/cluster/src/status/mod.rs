//! How far a live object is, by what it says of itself: pure functions over its tree.
//!
//! Knows no server. The rules are those of kstatus (`sigs.k8s.io/cli-utils`), which Flux and others wait by; the first
//! that applies counts:
//!
//! | object | what it says | readiness |
//! |---|---|---|
//! | any | `metadata.deletionTimestamp` is set | Terminating |
//! | any | `status.observedGeneration` is not `metadata.generation` | InProgress |
//! | any | the condition Reconciling is True | InProgress |
//! | any | the condition Stalled is True | Failed |
//! | Deployment | the condition Progressing has the reason ProgressDeadlineExceeded | Failed |
//! | Deployment | fewer replicas, updated, available or ready ones than asked for, or old ones left | InProgress |
//! | Deployment | it has a progress deadline, and no new ReplicaSet became available; it is not Available | InProgress |
//! | ReplicaSet | the condition ReplicaFailure is True; too few labelled, available, ready, or some too many | InProgress |
//! | StatefulSet | its Pods are replaced by hand (OnDelete) | Current |
//! | StatefulSet | too few replicas or ready ones, some too many, behind its partition, or not yet of the new revision | InProgress |
//! | DaemonSet | no generation was observed; too few Pods scheduled, updated, available or ready | InProgress |
//! | Pod | Succeeded, Failed, or Running and Ready | Current |
//! | Pod | Running, a container crashes again and again; not scheduled for more than 15 seconds | Failed |
//! | Pod | anything else | InProgress |
//! | Job | the condition Failed is True, or FailureTarget | Failed |
//! | Job | it has not started | InProgress |
//! | Job | complete, suspended, or started and running | Current |
//! | PersistentVolumeClaim | it is not Bound | InProgress |
//! | Service | of type LoadBalancer, without a cluster IP | InProgress |
//! | CustomResourceDefinition | its names are refused; not established for another reason than Installing | Failed |
//! | CustomResourceDefinition | not established | InProgress |
//! | ConfigMap, Secret, CronJob, PodDisruptionBudget | | Current |
//! | any other | the condition Ready is False or Unknown | InProgress |
//! | any other | | Current |
//!
//! What differs, on purpose: an `observedGeneration` that is a text is read as its number; fields of another type than
//! they must have make the object Unknown, where kstatus has an error; a field that is null is absent; a Job that is to
//! fail (FailureTarget) has failed, while kstatus waits until its Pods have ended. Two things add to
//! the rules and never take one away: the annotation [`READY`], and [`WithoutStatus::Unknown`].

mod built_in;
mod condition;
#[cfg(feature = "cel")]
mod expression;
mod fields;
mod object_status;
mod workload;

use std::time::SystemTime;

pub use condition::READY;
pub(super) use condition::ReadyRule;
use fields::{StatusCondition, field, generation, observed};
pub(super) use fields::{conditions, says, time};
use object_status::Ruled;
pub use object_status::{ObjectStatus, Readiness, WithoutStatus};

use smp_merge::schema::Gvk;
use smp_text::yaml::Node;

/// The reason of a status that the annotation [`READY`] is the cause of.
pub(super) const BY_ANNOTATION: &str = "ReadyAnnotation";

/// Says how far an object is. Its kind is given, since entries of lists do not say it.
#[must_use]
pub fn object_status(gvk: &Gvk, object: &Node, without: WithoutStatus, now: SystemTime) -> ObjectStatus {
    let status = by_rules(gvk, object, without, now)
        .unwrap_or_else(|strange| ObjectStatus::new(Readiness::Unknown, "NotUnderstood", strange));
    if status.readiness != Readiness::Current {
        return status;
    }
    match ReadyRule::of(object) {
        None => status,
        Some(Ok(rule)) => match rule.unmet(object) {
            Ok(None) => status,
            Ok(Some(why)) => ObjectStatus::in_progress(BY_ANNOTATION, why),
            Err(why) => {
                ObjectStatus::failed(BY_ANNOTATION, format!("the annotation {READY} is wrong: {why}"))
            }
        },
        Some(Err(why)) => {
            let message = format!("the annotation {READY} cannot be read: {why}");
            ObjectStatus::new(Readiness::Unknown, BY_ANNOTATION, message)
        }
    }
}

fn by_rules(gvk: &Gvk, object: &Node, without: WithoutStatus, now: SystemTime) -> Ruled {
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
    if without == WithoutStatus::Unknown
        && let Some(status) = unseen(object, &conditions)?
    {
        return Ok(status);
    }
    Ok(ready_condition(&conditions)
        .unwrap_or_else(|| ObjectStatus::current("nothing says that it is not ready")))
}

/// Whether it is being deleted, or its controller has not seen what it is now.
fn by_metadata(gvk: &Gvk, object: &Node) -> Result<Option<ObjectStatus>, String> {
    if let Some(time) = field(object, &["metadata", "deletionTimestamp"])? {
        match time.as_str() {
            Some("") => {}
            Some(_) => {
                let status = ObjectStatus::new(Readiness::Terminating, "Terminating", "it is being deleted");
                return Ok(Some(status));
            }
            None => return Err("metadata.deletionTimestamp is no text".into()),
        }
    }
    let Some(generation) = generation(object)? else { return Ok(None) };
    let Some(observed) = observed(object)?.filter(|observed| *observed != generation) else {
        return Ok(None);
    };
    let message = format!("generation {generation} of the {} is not observed yet, only {observed}", gvk.kind);
    Ok(Some(ObjectStatus::in_progress("LatestGenerationNotObserved", message)))
}

/// The first of the two conditions that kinds of any group may have for this.
fn standard_condition(conditions: &[StatusCondition<'_>]) -> Option<ObjectStatus> {
    let mut said = conditions.iter().filter(|condition| condition.status == "True");
    said.find_map(|condition| match condition.kind {
        "Reconciling" => Some(ObjectStatus::in_progress(condition.reason, condition.message)),
        "Stalled" => Some(ObjectStatus::failed(condition.reason, condition.message)),
        _ => None,
    })
}

/// Whether its controller has not been seen: it has no status, or says Ready of an older generation.
fn unseen(object: &Node, conditions: &[StatusCondition<'_>]) -> Result<Option<ObjectStatus>, String> {
    let unknown = |message: &str| ObjectStatus::new(Readiness::Unknown, "ControllerNotSeen", message);
    let is_said = field(object, &["status"])?
        .and_then(Node::as_map)
        .is_some_and(|status| status.iter().any(|(_, value)| !is_empty(value)));
    if !is_said {
        return Ok(Some(unknown("it has no status yet: its controller was not seen")));
    }
    let now = generation(object)?;
    let is_old = |condition: &&StatusCondition<'_>| {
        condition.kind == "Ready" && condition.observed.zip(now).is_some_and(|(seen, now)| seen < now)
    };
    let old = conditions.iter().find(is_old);
    Ok(old.map(|_| unknown("its condition Ready is of an older generation")))
}

fn is_empty(value: &Node) -> bool {
    let is_empty_list = value.as_list().is_some_and(Vec::is_empty);
    value.is_null() || is_empty_list || value.as_map().is_some_and(smp_text::yaml::Map::is_empty)
}

/// What the first condition Ready says whose status is one of the three.
fn ready_condition(conditions: &[StatusCondition<'_>]) -> Option<ObjectStatus> {
    let mut ready = conditions.iter().filter(|condition| condition.kind == "Ready");
    ready.find_map(|condition| match condition.status {
        "True" => Some(ObjectStatus::current("it is Ready")),
        "False" | "Unknown" => Some(ObjectStatus::in_progress(condition.reason, condition.message)),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
