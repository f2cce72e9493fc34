//! Jobs: creates Pods until enough of them succeeded or too many failed.

use std::sync::Arc;

use serde_json::{Value, json};

use super::replica_sets::set_count;
use super::replicas::{is_active, is_ready, pod_of};
use super::{JOBS, PODS, count, set_condition};
use crate::metadata::{self, meta};
use crate::state::{State, text};

const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The Pods of a Job.
struct Pods {
    active: Vec<Arc<Value>>,
    succeeded: Vec<Arc<Value>>,
    failed: usize,
}

impl State {
    /// Creates the Pods that a Job still needs, and writes its status.
    pub(super) fn run_job(&mut self, job: &Value) {
        if is_finished(job) {
            return;
        }
        let pods = self.job_pods(job);
        let end = end(job, &pods);
        let is_suspended = job["spec"]["suspend"] == true;
        if end.is_some() || is_suspended {
            pods.active.iter().for_each(|pod| self.delete_pod(pod));
        } else {
            self.create_job_pods(job, &pods);
        }
        self.write_job_status(job, end.as_ref());
    }

    fn job_pods(&self, job: &Value) -> Pods {
        let all = self.pods_of(job);
        let phase = |pod: &Value| text(pod, "/status/phase").to_string();
        Pods {
            active: all.iter().filter(|pod| is_active(pod)).cloned().collect(),
            succeeded: all.iter().filter(|pod| phase(pod) == "Succeeded").cloned().collect(),
            failed: all.iter().filter(|pod| phase(pod) == "Failed").count(),
        }
    }

    fn create_job_pods(&mut self, job: &Value, pods: &Pods) {
        let parallelism = job.pointer("/spec/parallelism").map_or(1, |_| count(job, "/spec/parallelism"));
        let parallelism = usize::try_from(parallelism).unwrap_or_default();
        let left = match completions(job) {
            Some(completions) => completions.saturating_sub(pods.succeeded.len()),
            None if pods.succeeded.is_empty() => parallelism,
            None => 0,
        };
        let mut free = indexes(job, pods);
        for _ in pods.active.len()..left.min(parallelism) {
            let mut pod = pod_of(job, &job["spec"]["template"]);
            if job["spec"]["completionMode"] == "Indexed" {
                let Some(index) = free.next() else { return };
                set_index(&mut pod, meta(job, "name"), index);
            }
            if self.create_as(PODS, pod).is_none() {
                return;
            }
        }
    }

    fn write_job_status(&mut self, job: &Value, end: Option<&JobResult>) {
        let pods = self.job_pods(job);
        let now = self.settings.clock.now();
        let mut changed = job.clone();
        let status = &mut changed["status"];
        let ready = pods.active.iter().filter(|pod| is_ready(pod)).count();
        for (field, number) in
            [("active", pods.active.len()), ("succeeded", pods.succeeded.len()), ("failed", pods.failed)]
        {
            set_count(status, field, number);
        }
        status["ready"] = ready.into();
        status["terminating"] = 0.into();
        status["uncountedTerminatedPods"] = json!({});
        let is_suspended = job["spec"]["suspend"] == true;
        if is_suspended {
            let message = "Job suspended";
            let condition = json!({"type": "Suspended", "status": "True", "reason": "JobSuspended", "message": message, "lastProbeTime": now});
            set_condition(status, condition, &now);
        } else if status["startTime"].is_null() {
            status["startTime"] = now.as_str().into();
        }
        if let Some(end) = end {
            for kind in [end.criterion, end.kind] {
                let condition = json!({"type": kind, "status": "True", "reason": end.reason, "message": end.message, "lastProbeTime": now});
                set_condition(status, condition, &now);
            }
            if end.kind == "Complete" {
                status["completionTime"] = now.as_str().into();
            }
        }
        // The probe time only changes with the condition.
        self.update_as(JOBS, keep_probe_times(changed, job), "status");
    }
}

/// The final condition of a Job.
struct JobResult {
    criterion: &'static str,
    kind: &'static str,
    reason: &'static str,
    message: &'static str,
}

fn end(job: &Value, pods: &Pods) -> Option<JobResult> {
    let limit = job.pointer("/spec/backoffLimit").map_or(6, |_| count(job, "/spec/backoffLimit"));
    let is_enough = match completions(job) {
        Some(completions) => pods.succeeded.len() >= completions,
        None => !pods.succeeded.is_empty() && pods.active.is_empty(),
    };
    if is_enough {
        return Some(JobResult {
            criterion: "SuccessCriteriaMet",
            kind: "Complete",
            reason: "CompletionsReached",
            message: "Reached expected number of succeeded pods",
        });
    }
    let is_failed = i64::try_from(pods.failed).is_ok_and(|failed| failed > limit);
    is_failed.then_some(JobResult {
        criterion: "FailureTarget",
        kind: "Failed",
        reason: "BackoffLimitExceeded",
        message: "Job has reached the specified backoff limit",
    })
}

fn is_finished(job: &Value) -> bool {
    let conditions = job["status"]["conditions"].as_array().into_iter().flatten();
    conditions
        .into_iter()
        .any(|one| matches!(one["type"].as_str(), Some("Complete" | "Failed")) && one["status"] == "True")
        || metadata::is_deleted(job)
}

/// Returns the number of Pods that must succeed; `None` if one is sufficient.
fn completions(job: &Value) -> Option<usize> {
    job["spec"]["completions"].as_u64().and_then(|number| usize::try_from(number).ok())
}

/// Returns the completion indexes for which there is no Pod.
fn indexes(job: &Value, pods: &Pods) -> impl Iterator<Item = usize> + use<> {
    let taken: rustc_hash::FxHashSet<usize> =
        pods.active.iter().chain(&pods.succeeded).filter_map(|pod| index_of(pod)).collect();
    (0..completions(job).unwrap_or_default()).filter(move |index| !taken.contains(index))
}

fn index_of(pod: &Value) -> Option<usize> {
    pod["metadata"]["annotations"][INDEX].as_str()?.parse().ok()
}

fn set_index(pod: &mut Value, job: &str, index: usize) {
    let text = index.to_string();
    pod["metadata"]["annotations"][INDEX] = text.as_str().into();
    pod["metadata"]["labels"][INDEX] = text.as_str().into();
    metadata::set(pod, "generateName", format!("{job}-{index}-").into());
    pod["spec"]["hostname"] = format!("{job}-{index}").into();
    let source =
        json!({"fieldRef": {"apiVersion": "v1", "fieldPath": format!("metadata.labels['{INDEX}']")}});
    for list in ["containers", "initContainers"] {
        for container in pod["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let mut env = container["env"].as_array().cloned().unwrap_or_default();
            env.push(json!({"name": "JOB_COMPLETION_INDEX", "valueFrom": source}));
            container["env"] = env.into();
        }
    }
}

/// Keeps the probe times of conditions that existed before.
fn keep_probe_times(mut changed: Value, job: &Value) -> Value {
    let before = job["status"]["conditions"].as_array().cloned().unwrap_or_default();
    for condition in changed["status"]["conditions"].as_array_mut().into_iter().flatten() {
        if let Some(old) = before.iter().find(|old| old["type"] == condition["type"]) {
            condition["lastProbeTime"] = old["lastProbeTime"].clone();
        }
    }
    changed
}
