//! Kinds of Kubernetes that have rules of their own, and the rules of those that make no Pods.

use std::time::{Duration, SystemTime};

use super::fields::{StatusCondition, int, is_true, says, text, time};
use super::object_status::{ObjectStatus, Ruled};
use super::workload;
use smp_merge::schema::Gvk;
use smp_text::yaml::Node;

/// The status of a kind that has rules of its own.
pub(super) fn status(
    gvk: &Gvk,
    object: &Node,
    conditions: &[StatusCondition<'_>],
    now: SystemTime,
) -> Option<Ruled> {
    Some(match (gvk.group.as_str(), gvk.kind.as_str()) {
        ("", "ConfigMap" | "Secret") | ("batch", "CronJob") => {
            Ok(ObjectStatus::current("it is always ready"))
        }
        ("policy", "PodDisruptionBudget") => Ok(ObjectStatus::current("it is observed")),
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
        return ObjectStatus::in_progress("NoIPAssigned", "it is a LoadBalancer, and has no cluster IP yet");
    }
    ObjectStatus::current("it is ready")
}

fn claim(object: &Node) -> ObjectStatus {
    match text(object, &["status", "phase"], "unknown") {
        "Bound" => ObjectStatus::current("it is bound"),
        phase => ObjectStatus::in_progress("NotBound", format!("it is not bound; its phase is {phase}")),
    }
}

/// How long a Pod may be without a node.
const TO_BE_SCHEDULED: Duration = Duration::from_secs(15);

fn pod(object: &Node, conditions: &[StatusCondition<'_>], now: SystemTime) -> Ruled {
    Ok(match text(object, &["status", "phase"], "") {
        "Succeeded" => ObjectStatus::current("it has ended well"),
        "Failed" => ObjectStatus::current("it has ended, and not well"),
        "Running" if says(conditions, "Ready", "True") => ObjectStatus::current("it is Ready"),
        "Running" => match crashing(object) {
            names if names.is_empty() => {
                ObjectStatus::in_progress("PodRunningNotReady", "it runs and is not Ready")
            }
            names => {
                let message = format!("containers crash again and again: {}", names.join(", "));
                ObjectStatus::failed("ContainerCrashLooping", message)
            }
        },
        "Pending" => pending(object, conditions, now),
        "" => ObjectStatus::in_progress("PodNotObserved", "it has no phase yet"),
        phase => return Err(format!("nobody knows the phase {phase}")),
    })
}

fn pending(object: &Node, conditions: &[StatusCondition<'_>], now: SystemTime) -> ObjectStatus {
    let unscheduled = conditions.iter().find(|c| c.kind == "PodScheduled" && c.status == "False");
    let Some(unscheduled) = unscheduled.filter(|c| c.reason == "Unschedulable") else {
        return ObjectStatus::in_progress("PodPending", "it is Pending");
    };
    let made = time(object, &["metadata", "creationTimestamp"]).unwrap_or(SystemTime::UNIX_EPOCH);
    if now < made + TO_BE_SCHEDULED {
        return ObjectStatus::in_progress("PodNotScheduled", "it has no node yet");
    }
    let message = if unscheduled.message.is_empty() { "no node takes it" } else { unscheduled.message };
    ObjectStatus::failed("PodUnschedulable", message)
}

/// The containers that wait after crashes.
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
        match condition.kind {
            "Complete" => {
                return ObjectStatus::current(format!("{} of {wanted} have succeeded", counted("succeeded")));
            }
            "Failed" => {
                let said = format!("{} {}", condition.reason, condition.message);
                let message = format!("{} of {wanted} have failed: {}", counted("failed"), said.trim());
                return ObjectStatus::failed("JobFailed", message.trim_end_matches([':', ' ']));
            }
            "Suspended" if is_true(object, &["spec", "suspend"]) => {
                return ObjectStatus::current("it is suspended");
            }
            _ => {}
        }
    }
    // Its Pods still end; then it is Failed.
    if let Some(target) = conditions.iter().find(|c| c.kind == "FailureTarget" && c.status == "True") {
        let said = format!("{} {}", target.reason, target.message);
        let message = format!("it fails when its Pods have ended: {}", said.trim());
        return ObjectStatus::failed("FailureTarget", message.trim_end_matches([':', ' ']));
    }
    if text(object, &["status", "startTime"], "").is_empty() {
        return ObjectStatus::in_progress("JobNotStarted", "it has not started");
    }
    let [succeeded, active, failed] = ["succeeded", "active", "failed"].map(counted);
    ObjectStatus::current(format!("it runs: {active} active, {succeeded} succeeded, {failed} failed"))
}

fn definition(conditions: &[StatusCondition<'_>]) -> ObjectStatus {
    for condition in conditions {
        match (condition.kind, condition.status) {
            ("NamesAccepted", "False") => return ObjectStatus::failed(condition.reason, condition.message),
            ("Established", "False") if condition.reason != "Installing" => {
                return ObjectStatus::failed(condition.reason, condition.message);
            }
            ("Established", "True") => return ObjectStatus::current("it is established"),
            _ => {}
        }
    }
    ObjectStatus::in_progress("Installing", "it is not established yet")
}
