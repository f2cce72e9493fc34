//! Kinds that make Pods, by what they count.

use super::fields::{StatusCondition, generation, int, is_true, observed, says, text};
use super::object_status::{ObjectStatus, Readiness, Ruled};
use smp_text::yaml::Node;

/// What a controller counts of what.
struct Count {
    reason: &'static str,
    what: &'static str,
    has: i64,
    of: i64,
}

impl Count {
    /// The first of which there are too few.
    fn first_short(counts: &[Self]) -> Option<ObjectStatus> {
        let short = counts.iter().find(|count| count.has < count.of)?;
        let message = format!("{} of {} {}", short.has, short.of, short.what);
        Some(ObjectStatus::in_progress(short.reason, message))
    }
}

/// A count, in the order of its fields.
fn count(reason: &'static str, what: &'static str, has: i64, of: i64) -> Count {
    Count { reason, what, has, of }
}

fn surplus(there: i64, wanted: i64) -> Option<ObjectStatus> {
    (there > wanted).then(|| {
        ObjectStatus::in_progress("ExtraPods", format!("{} more than wanted still end", there - wanted))
    })
}

/// The number of replicas that is asked for; 1 where none is.
fn wanted(object: &Node) -> i64 {
    int(object, &["spec", "replicas"], 1)
}

fn status(object: &Node, field: &str) -> i64 {
    int(object, &["status", field], 0)
}

/// The deadline that stands for none: controllers treat it so.
const NO_DEADLINE: i64 = i32::MAX as i64;

/// A Deployment that is paused says so: nothing goes on with it before somebody resumes it.
pub(super) fn deployment(object: &Node, conditions: &[StatusCondition<'_>]) -> ObjectStatus {
    let status = unpaused(object, conditions);
    if status.readiness != Readiness::InProgress || !is_true(object, &["spec", "paused"]) {
        return status;
    }
    let message = format!("it is paused, and waits until it is resumed and rolled out: {}", status.message);
    ObjectStatus::in_progress(status.reason, message)
}

fn unpaused(object: &Node, conditions: &[StatusCondition<'_>]) -> ObjectStatus {
    if let Some(late) =
        conditions.iter().find(|c| c.kind == "Progressing" && c.reason == "ProgressDeadlineExceeded")
    {
        let message =
            if late.message.is_empty() { "the deadline for its progress has passed" } else { late.message };
        return ObjectStatus::failed(late.reason, message);
    }
    let deadline = int(object, &["spec", "progressDeadlineSeconds"], NO_DEADLINE);
    let is_rolled_out = deadline == NO_DEADLINE
        || conditions
            .iter()
            .any(|c| c.kind == "Progressing" && c.status == "True" && c.reason == "NewReplicaSetAvailable");
    let wanted = wanted(object);
    let (there, updated) = (status(object, "replicas"), status(object, "updatedReplicas"));
    let before = [
        count("LessReplicas", "replicas are there", there, wanted),
        count("LessUpdated", "replicas are updated", updated, wanted),
    ];
    let after = [
        count(
            "LessAvailable",
            "updated replicas are available",
            status(object, "availableReplicas"),
            updated,
        ),
        count("LessReady", "replicas are ready", status(object, "readyReplicas"), wanted),
    ];
    let short = Count::first_short(&before).or_else(|| surplus(there, wanted));
    if let Some(short) = short.or_else(|| Count::first_short(&after)) {
        return short;
    }
    if !is_rolled_out {
        return ObjectStatus::in_progress("ReplicaSetNotAvailable", "its ReplicaSet is not available");
    }
    if !says(conditions, "Available", "True") {
        return ObjectStatus::in_progress("DeploymentNotAvailable", "it is not Available");
    }
    ObjectStatus::current(format!("all {there} replicas are available"))
}

pub(super) fn replica_set(object: &Node, conditions: &[StatusCondition<'_>]) -> ObjectStatus {
    if let Some(failure) = conditions.iter().find(|c| c.kind == "ReplicaFailure" && c.status == "True") {
        let message = if failure.message.is_empty() { "Pods cannot be made" } else { failure.message };
        return ObjectStatus::in_progress("ReplicaFailure", message);
    }
    let (wanted, there) = (wanted(object), status(object, "replicas"));
    let counts = [
        count("LessLabelled", "replicas have the labels", status(object, "fullyLabeledReplicas"), wanted),
        count("LessAvailable", "replicas are available", status(object, "availableReplicas"), wanted),
        count("LessReady", "replicas are ready", status(object, "readyReplicas"), wanted),
    ];
    Count::first_short(&counts)
        .or_else(|| surplus(there, wanted))
        .unwrap_or_else(|| ObjectStatus::current(format!("all {there} replicas are available")))
}

pub(super) fn stateful_set(object: &Node) -> ObjectStatus {
    if text(object, &["spec", "updateStrategy", "type"], "") == "OnDelete" {
        return ObjectStatus::current("its Pods are replaced by hand (OnDelete)");
    }
    let (wanted, there) = (wanted(object), status(object, "replicas"));
    let counts = [
        count("LessReplicas", "replicas are there", there, wanted),
        count("LessReady", "replicas are ready", status(object, "readyReplicas"), wanted),
    ];
    if let Some(short) = Count::first_short(&counts).or_else(|| surplus(there, wanted)) {
        return short;
    }
    let partition = int(object, &["spec", "updateStrategy", "rollingUpdate", "partition"], -1);
    if partition != -1 {
        let updated = status(object, "updatedReplicas");
        let rolled =
            count("PartitionRollout", "replicas of the partition are updated", updated, wanted - partition);
        let done = || ObjectStatus::current(format!("{updated} replicas of the partition are updated"));
        return Count::first_short(&[rolled]).unwrap_or_else(done);
    }
    let current = count("LessCurrent", "replicas are current", status(object, "currentReplicas"), wanted);
    if let Some(short) = Count::first_short(&[current]) {
        return short;
    }
    let revision = |field| text(object, &["status", field], "");
    if revision("currentRevision") != revision("updateRevision") {
        return ObjectStatus::in_progress("RevisionMismatch", "not all replicas are of the new revision");
    }
    ObjectStatus::current(format!("all {there} replicas are ready"))
}

pub(super) fn daemon_set(object: &Node) -> Ruled {
    if generation(object)?.is_none() {
        return Ok(ObjectStatus::in_progress("NoGeneration", "it has no metadata.generation"));
    }
    if observed(object)?.is_none() {
        let message = "it has no status.observedGeneration: its controller was not seen";
        return Ok(ObjectStatus::in_progress("NoObservedGeneration", message));
    }
    let wanted = int(object, &["status", "desiredNumberScheduled"], -1);
    if wanted == -1 {
        return Ok(ObjectStatus::in_progress("NoDesiredNumber", "it has no status.desiredNumberScheduled"));
    }
    let counts = [
        count("LessCurrent", "Pods are scheduled", status(object, "currentNumberScheduled"), wanted),
        count("LessUpdated", "Pods are updated", status(object, "updatedNumberScheduled"), wanted),
        count("LessAvailable", "Pods are available", status(object, "numberAvailable"), wanted),
        count("LessReady", "Pods are ready", status(object, "numberReady"), wanted),
    ];
    let done = || ObjectStatus::current(format!("all {wanted} Pods are ready"));
    Ok(Count::first_short(&counts).unwrap_or_else(done))
}
