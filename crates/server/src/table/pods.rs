//! Columns of Pods: summarize the states of their containers.

use serde_json::{Value, json};
use smp_merge::managed_fields::Timestamp;

use super::age;
use super::column::{
    AGE, Cell, Column, Kinds, NAME, NONE, entries, is_true, number, or_none, string, text_column,
};
use crate::state::text;

pub(super) const KINDS: Kinds = &[("Pod", POD)];

const POD: &[Column] = &[
    NAME,
    text_column("Ready", Cell::Show(|pod| summary(pod).ready())),
    text_column("Status", Cell::Show(|pod| summary(pod).status(pod))),
    text_column("Restarts", Cell::Call(|pod, now| summary(pod).restarts(now).into())),
    AGE,
    text_column("IP", Cell::Show(address)).wide(),
    text_column("Node", Cell::Text("/spec/nodeName", NONE)).wide(),
    text_column("Nominated Node", Cell::Text("/status/nominatedNodeName", NONE)).wide(),
    text_column("Readiness Gates", Cell::Show(gates)).wide(),
];

/// The state of a Pod's containers.
#[derive(Default)]
struct Summary {
    reason: String,
    ready: usize,
    all: usize,
    restarts: i64,
    /// The seconds of the time when the last container ended.
    last_end: Option<i64>,
}

impl Summary {
    fn ready(&self) -> String {
        format!("{}/{}", self.ready, self.all)
    }

    fn status(self, pod: &Value) -> String {
        let is_deleted = !pod["metadata"]["deletionTimestamp"].is_null();
        let is_finished = matches!(text(pod, "/status/phase"), "Succeeded" | "Failed");
        if is_deleted && pod["status"]["reason"] == "NodeLost" {
            "Unknown".into()
        } else if is_deleted && !is_finished {
            "Terminating".into()
        } else {
            self.reason
        }
    }

    fn restarts(&self, now: i64) -> String {
        match self.last_end {
            Some(end) if self.restarts != 0 => {
                format!("{} ({} ago)", self.restarts, age::duration(now - end))
            }
            _ => self.restarts.to_string(),
        }
    }

    /// Counts the restarts of a container.
    fn count(&mut self, status: &Value) {
        self.restarts += number(status, "/restartCount");
        let end = Timestamp::parse(text(status, "/lastState/terminated/finishedAt")).ok();
        self.last_end = self.last_end.max(end.map(Timestamp::seconds));
    }
}

fn summary(pod: &Value) -> Summary {
    let own = text(pod, "/status/reason");
    let reason = if own.is_empty() { text(pod, "/status/phase") } else { own };
    let gated = entries(pod, "/status/conditions")
        .any(|condition| condition["type"] == "PodScheduled" && condition["reason"] == "SchedulingGated");
    let mut summary = Summary {
        reason: if gated { "SchedulingGated" } else { reason }.into(),
        all: entries(pod, "/spec/containers").count()
            + entries(pod, "/spec/initContainers").filter(|one| is_sidecar(one)).count(),
        ..Summary::default()
    };
    let of_sidecars = add_init_containers(pod, &mut summary);
    if let Some(of_sidecars) = of_sidecars {
        (summary.restarts, summary.last_end) = (of_sidecars.restarts, of_sidecars.last_end);
        add_containers(pod, &mut summary);
    }
    summary
}

/// Returns true for an init container that runs alongside the others.
fn is_sidecar(container: &Value) -> bool {
    container["restartPolicy"] == "Always"
}

/// Adds the init containers, up to the first that is not done. If the Pod is initialized, returns the restarts of
/// sidecars.
fn add_init_containers(pod: &Value, summary: &mut Summary) -> Option<Summary> {
    let mut of_sidecars = Summary::default();
    let count = entries(pod, "/spec/initContainers").count();
    let mut is_initializing = false;
    for (index, status) in entries(pod, "/status/initContainerStatuses").enumerate() {
        let mut containers = entries(pod, "/spec/initContainers");
        let is_sidecar = containers.any(|one| one["name"] == status["name"] && is_sidecar(one));
        summary.count(status);
        if is_sidecar {
            of_sidecars.count(status);
        }
        let (ended, waiting) = (&status["state"]["terminated"], &status["state"]["waiting"]);
        let reason = string(waiting, "reason");
        if ended.is_object() && number(ended, "/exitCode") == 0 {
            continue;
        }
        if is_sidecar && status["started"] == true {
            summary.ready += usize::from(status["ready"] == true);
            continue;
        }
        summary.reason = if ended.is_object() {
            format!("Init:{}", end(ended))
        } else if !matches!(reason, "" | "PodInitializing") {
            format!("Init:{reason}")
        } else {
            format!("Init:{index}/{count}")
        };
        is_initializing = true;
        break;
    }
    (!is_initializing || is_true(pod, "Initialized")).then_some(of_sidecars)
}

fn add_containers(pod: &Value, summary: &mut Summary) {
    let mut is_running = false;
    let mut error = String::new();
    for status in entries(pod, "/status/containerStatuses").rev() {
        summary.count(status);
        let state = &status["state"];
        let reason = text(state, "/waiting/reason");
        if !reason.is_empty() {
            summary.reason = reason.into();
        } else if state["terminated"].is_object() {
            summary.reason = end(&state["terminated"]);
            if number(state, "/terminated/exitCode") != 0 {
                error.clone_from(&summary.reason);
            }
        } else if status["ready"] == true && state["running"].is_object() {
            is_running = true;
            summary.ready += 1;
        }
    }
    if summary.reason == "Completed" {
        let is_ready = entries(pod, "/status/conditions")
            .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
        if is_running && is_ready {
            summary.reason = "Running".into();
        } else if !error.is_empty() {
            summary.reason = error;
        } else if is_running {
            summary.reason = "NotReady".into();
        }
    }
}

/// Returns the reason why a container ended.
fn end(terminated: &Value) -> String {
    let (reason, signal) = (string(terminated, "reason"), number(terminated, "/signal"));
    if !reason.is_empty() {
        reason.into()
    } else if signal != 0 {
        format!("Signal:{signal}")
    } else {
        format!("ExitCode:{}", number(terminated, "/exitCode"))
    }
}

fn address(pod: &Value) -> String {
    let own = text(pod, "/status/podIP");
    or_none(if own.is_empty() { text(pod, "/status/podIPs/0/ip") } else { own }.into())
}

fn gates(pod: &Value) -> String {
    let gates: Vec<&Value> = entries(pod, "/spec/readinessGates").collect();
    let open = gates.iter().filter(|gate| is_true(pod, string(gate, "conditionType")));
    let open = open.count();
    if gates.is_empty() { NONE.into() } else { format!("{open}/{}", gates.len()) }
}

/// Returns the condition of a Pod's row if the Pod has ended.
pub(super) fn condition(pod: &Value) -> Option<Value> {
    let phase = text(pod, "/status/phase");
    let message = match phase {
        "Succeeded" => "The pod has completed successfully.",
        "Failed" => "The pod failed.",
        _ => return None,
    };
    Some(json!({"type": "Completed", "status": "True", "reason": phase, "message": message}))
}
