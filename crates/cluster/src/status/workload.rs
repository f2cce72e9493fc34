//! Readiness of workloads, computed from their replica counts.

use super::fields::{StatusCondition, generation, has_condition, int, is_true, observed_generation, text};
use super::object_status::{ObjectStatus, Readiness, StatusResult};
use smp_text::yaml::Node;

/// A replica count and its target.
struct Count {
    reason: &'static str,
    what: &'static str,
    has: i64,
    of: i64,
}

impl Count {
    /// Returns the status for the first count that is too low.
    fn first_below_target(counts: &[Self]) -> Option<ObjectStatus> {
        let short = counts.iter().find(|count| count.has < count.of)?;
        let message = format!("{} of {} {}", short.has, short.of, short.what);
        Some(ObjectStatus::in_progress(short.reason, message))
    }
}

/// Creates a count.
fn count(reason: &'static str, what: &'static str, has: i64, of: i64) -> Count {
    Count { reason, what, has, of }
}

fn surplus(actual: i64, desired: i64) -> Option<ObjectStatus> {
    (actual > desired).then(|| {
        ObjectStatus::in_progress(
            "ExtraPods",
            format!("{} surplus replicas are terminating", actual - desired),
        )
    })
}

/// Returns the desired number of replicas; the default is 1.
fn desired(object: &Node) -> i64 {
    int(object, &["spec", "replicas"], 1)
}

fn status(object: &Node, field: &str) -> i64 {
    int(object, &["status", field], 0)
}

/// The deadline value that controllers treat as no deadline.
const NO_DEADLINE: i64 = i32::MAX as i64;

/// Returns the status of a Deployment. If it is paused, the status says that the rollout only continues once it is
/// resumed.
pub(super) fn deployment(object: &Node, conditions: &[StatusCondition<'_>]) -> ObjectStatus {
    let status = rollout_status(object, conditions);
    if status.readiness != Readiness::InProgress || !is_true(object, &["spec", "paused"]) {
        return status;
    }
    let message = format!("paused; the rollout continues once it is resumed: {}", status.message);
    ObjectStatus::in_progress(status.reason, message)
}

fn rollout_status(object: &Node, conditions: &[StatusCondition<'_>]) -> ObjectStatus {
    if let Some(late) = conditions
        .iter()
        .find(|c| c.condition_type == "Progressing" && c.reason == "ProgressDeadlineExceeded")
    {
        let message =
            if late.message.is_empty() { "the progress deadline was exceeded" } else { late.message };
        return ObjectStatus::failed(late.reason, message);
    }
    let deadline = int(object, &["spec", "progressDeadlineSeconds"], NO_DEADLINE);
    let is_rolled_out = deadline == NO_DEADLINE
        || conditions.iter().any(|c| {
            c.condition_type == "Progressing" && c.status == "True" && c.reason == "NewReplicaSetAvailable"
        });
    let desired = desired(object);
    let (actual, updated) = (status(object, "replicas"), status(object, "updatedReplicas"));
    let before = [
        count("LessReplicas", "replicas exist", actual, desired),
        count("LessUpdated", "replicas are updated", updated, desired),
    ];
    let after = [
        count(
            "LessAvailable",
            "updated replicas are available",
            status(object, "availableReplicas"),
            updated,
        ),
        count("LessReady", "replicas are ready", status(object, "readyReplicas"), desired),
    ];
    let short = Count::first_below_target(&before).or_else(|| surplus(actual, desired));
    if let Some(short) = short.or_else(|| Count::first_below_target(&after)) {
        return short;
    }
    if !is_rolled_out {
        return ObjectStatus::in_progress("ReplicaSetNotAvailable", "its new ReplicaSet is not available");
    }
    if !has_condition(conditions, "Available", "True") {
        return ObjectStatus::in_progress("DeploymentNotAvailable", "not available");
    }
    ObjectStatus::current(format!("all {actual} replicas are available"))
}

pub(super) fn replica_set(object: &Node, conditions: &[StatusCondition<'_>]) -> ObjectStatus {
    if let Some(failure) =
        conditions.iter().find(|c| c.condition_type == "ReplicaFailure" && c.status == "True")
    {
        let message = if failure.message.is_empty() { "Pods cannot be created" } else { failure.message };
        return ObjectStatus::in_progress("ReplicaFailure", message);
    }
    let (desired, actual) = (desired(object), status(object, "replicas"));
    let counts = [
        count("LessLabelled", "replicas are fully labeled", status(object, "fullyLabeledReplicas"), desired),
        count("LessAvailable", "replicas are available", status(object, "availableReplicas"), desired),
        count("LessReady", "replicas are ready", status(object, "readyReplicas"), desired),
    ];
    Count::first_below_target(&counts)
        .or_else(|| surplus(actual, desired))
        .unwrap_or_else(|| ObjectStatus::current(format!("all {actual} replicas are available")))
}

pub(super) fn stateful_set(object: &Node) -> ObjectStatus {
    if text(object, &["spec", "updateStrategy", "type"], "") == "OnDelete" {
        return ObjectStatus::current("Pods are replaced manually (OnDelete)");
    }
    let (desired, actual) = (desired(object), status(object, "replicas"));
    let counts = [
        count("LessReplicas", "replicas exist", actual, desired),
        count("LessReady", "replicas are ready", status(object, "readyReplicas"), desired),
    ];
    if let Some(short) = Count::first_below_target(&counts).or_else(|| surplus(actual, desired)) {
        return short;
    }
    let partition = int(object, &["spec", "updateStrategy", "rollingUpdate", "partition"], -1);
    if partition != -1 {
        let updated = status(object, "updatedReplicas");
        let rolled =
            count("PartitionRollout", "replicas of the partition are updated", updated, desired - partition);
        let done = || ObjectStatus::current(format!("{updated} replicas of the partition are updated"));
        return Count::first_below_target(&[rolled]).unwrap_or_else(done);
    }
    let current = count("LessCurrent", "replicas are current", status(object, "currentReplicas"), desired);
    if let Some(short) = Count::first_below_target(&[current]) {
        return short;
    }
    let revision = |field| text(object, &["status", field], "");
    if revision("currentRevision") != revision("updateRevision") {
        return ObjectStatus::in_progress("RevisionMismatch", "not all replicas have the new revision");
    }
    ObjectStatus::current(format!("all {actual} replicas are ready"))
}

pub(super) fn daemon_set(object: &Node) -> StatusResult {
    if generation(object)?.is_none() {
        return Ok(ObjectStatus::in_progress("NoGeneration", "metadata.generation is missing"));
    }
    if observed_generation(object)?.is_none() {
        let message = "status.observedGeneration is missing: its controller has not observed it";
        return Ok(ObjectStatus::in_progress("NoObservedGeneration", message));
    }
    let desired = int(object, &["status", "desiredNumberScheduled"], -1);
    if desired == -1 {
        return Ok(ObjectStatus::in_progress("NoDesiredNumber", "status.desiredNumberScheduled is missing"));
    }
    let counts = [
        count("LessCurrent", "Pods are scheduled", status(object, "currentNumberScheduled"), desired),
        count("LessUpdated", "Pods are updated", status(object, "updatedNumberScheduled"), desired),
        count("LessAvailable", "Pods are available", status(object, "numberAvailable"), desired),
        count("LessReady", "Pods are ready", status(object, "numberReady"), desired),
    ];
    let done = || ObjectStatus::current(format!("all {desired} Pods are ready"));
    Ok(Count::first_below_target(&counts).unwrap_or_else(done))
}
