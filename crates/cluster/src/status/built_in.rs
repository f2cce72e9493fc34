//! The readiness of built-in kinds: dispatch by kind, and the rules of all kinds but those in [`workload`].

use std::time::{Duration, SystemTime};

use super::fields::{StatusCondition, has_condition, int, is_true, text, time};
use super::object_status::{ObjectStatus, StatusResult};
use super::workload;
use smp_merge::schema::Gvk;
use smp_text::yaml::Node;

/// Returns the status of a kind with specific rules, or `None` for other kinds.
pub(super) fn status(
    gvk: &Gvk,
    object: &Node,
    conditions: &[StatusCondition<'_>],
    now: SystemTime,
) -> Option<StatusResult> {
    Some(match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "ConfigMap" | "Secret") | ("batch", "CronJob") => Ok(ObjectStatus::current("always ready")),
        ("policy", "PodDisruptionBudget") => Ok(ObjectStatus::current("observed by its controller")),
        ("", "Service") => Ok(service(object)),
        ("", "PersistentVolumeClaim") => Ok(claim(object)),
        ("", "Pod") => pod(object, conditions, now),
        ("apps" | "extensions", "Deployment") => Ok(workload::deployment(object, conditions)),
        ("apps" | "extensions", "ReplicaSet") => Ok(workload::replica_set(object, conditions)),
        ("apps" | "extensions", "DaemonSet") => workload::daemon_set(object),
        ("apps", "StatefulSet") => Ok(workload::stateful_set(object)),
        ("batch", "Job") => Ok(job(object, conditions)),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => Ok(definition(conditions)),
        _ => return None,
    })
}

fn service(object: &Node) -> ObjectStatus {
    let is_balanced = text(object, &["spec", "type"], "ClusterIP") == "LoadBalancer";
    if is_balanced && text(object, &["spec", "clusterIP"], "").is_empty() {
        return ObjectStatus::in_progress("NoIPAssigned", "the LoadBalancer has no cluster IP yet");
    }
    ObjectStatus::current("ready")
}

fn claim(object: &Node) -> ObjectStatus {
    match text(object, &["status", "phase"], "unknown") {
        "Bound" => ObjectStatus::current("bound"),
        phase => ObjectStatus::in_progress("NotBound", format!("not bound (phase: {phase})")),
    }
}

/// The time after which a Pod without a node is treated as unschedulable.
const SCHEDULING_TIMEOUT: Duration = Duration::from_secs(15);

fn pod(object: &Node, conditions: &[StatusCondition<'_>], now: SystemTime) -> StatusResult {
    Ok(match text(object, &["status", "phase"], "") {
        "Succeeded" => ObjectStatus::current("completed successfully"),
        "Failed" => ObjectStatus::current("completed unsuccessfully"),
        "Running" if has_condition(conditions, "Ready", "True") => ObjectStatus::current("ready"),
        "Running" => match crashing(object) {
            names if names.is_empty() => {
                ObjectStatus::in_progress("PodRunningNotReady", "running but not ready")
            }
            names => {
                let message = format!("containers in a crash loop: {}", names.join(", "));
                ObjectStatus::failed("ContainerCrashLooping", message)
            }
        },
        "Pending" => pending(object, conditions, now),
        "" => ObjectStatus::in_progress("PodNotObserved", "not observed yet"),
        phase => return Err(format!("unknown phase {phase}")),
    })
}

fn pending(object: &Node, conditions: &[StatusCondition<'_>], now: SystemTime) -> ObjectStatus {
    let unscheduled = conditions.iter().find(|c| c.condition_type == "PodScheduled" && c.status == "False");
    let Some(unscheduled) = unscheduled.filter(|c| c.reason == "Unschedulable") else {
        return ObjectStatus::in_progress("PodPending", "pending");
    };
    let made = time(object, &["metadata", "creationTimestamp"]).unwrap_or(SystemTime::UNIX_EPOCH);
    if now < made + SCHEDULING_TIMEOUT {
        return ObjectStatus::in_progress("PodNotScheduled", "not scheduled yet");
    }
    let message = if unscheduled.message.is_empty() { "no node is available" } else { unscheduled.message };
    ObjectStatus::failed("PodUnschedulable", message)
}

/// Returns the names of containers in a crash loop.
fn crashing(pod: &Node) -> Vec<&str> {
    let containers = pod.get_path(&["status", "containerStatuses"]).and_then(Node::as_list);
    let crashing = containers
        .into_iter()
        .flatten()
        .filter(|container| text(container, &["state", "waiting", "reason"], "") == "CrashLoopBackOff");
    crashing.filter_map(|container| container.get("name")?.as_str()).collect()
}

fn job(object: &Node, conditions: &[StatusCondition<'_>]) -> ObjectStatus {
    let counted = |field| int(object, &["status", field], 0);
    let parallel = int(object, &["spec", "parallelism"], 1);
    let wanted = int(object, &["spec", "completions"], parallel);
    for condition in conditions.iter().filter(|condition| condition.status == "True") {
        match condition.condition_type {
            "Complete" => {
                return ObjectStatus::current(format!("{} of {wanted} succeeded", counted("succeeded")));
            }
            "Failed" => {
                let cause = format!("{} {}", condition.reason, condition.message);
                let message = format!("{} of {wanted} failed: {}", counted("failed"), cause.trim());
                return ObjectStatus::failed("JobFailed", message.trim_end_matches([':', ' ']));
            }
            "Suspended" if is_true(object, &["spec", "suspend"]) => {
                return ObjectStatus::current("suspended");
            }
            _ => {}
        }
    }
    // The Pods of the Job are still terminating. After that, the Job fails.
    if let Some(target) =
        conditions.iter().find(|c| c.condition_type == "FailureTarget" && c.status == "True")
    {
        let cause = format!("{} {}", target.reason, target.message);
        let message = format!("fails once its Pods have terminated: {}", cause.trim());
        return ObjectStatus::failed("FailureTarget", message.trim_end_matches([':', ' ']));
    }
    if text(object, &["status", "startTime"], "").is_empty() {
        return ObjectStatus::in_progress("JobNotStarted", "not started");
    }
    let [succeeded, active, failed] = ["succeeded", "active", "failed"].map(counted);
    ObjectStatus::current(format!("running: {active} active, {succeeded} succeeded, {failed} failed"))
}

fn definition(conditions: &[StatusCondition<'_>]) -> ObjectStatus {
    for condition in conditions {
        match (condition.condition_type, condition.status) {
            ("NamesAccepted", "False") => return ObjectStatus::failed(condition.reason, condition.message),
            ("Established", "False") if condition.reason != "Installing" => {
                return ObjectStatus::failed(condition.reason, condition.message);
            }
            ("Established", "True") => return ObjectStatus::current("established"),
            _ => {}
        }
    }
    ObjectStatus::in_progress("Installing", "not established yet")
}
