//! Problems of Pods: containers that do not start or that end with an error, Pods that are not scheduled, and warning
//! events.

use std::fmt;
use std::time::SystemTime;

use crate::status::{conditions, has_condition};
use smp_text::yaml::{Node, Resolved};

/// A problem of a Pod.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PodProblem {
    /// The name of the Pod.
    pub pod: String,
    /// The name of the container, if the problem is that of a container.
    pub container: Option<String>,
    /// The reason, such as `ImagePullBackOff`.
    pub reason: String,
    /// The message. May be empty, and may contain any text.
    pub message: String,
    /// The last exit of the container, if it had started.
    pub exit: Option<ContainerExit>,
    /// The last lines of the container's log. Only read once a wait has ended.
    pub log: Vec<String>,
}

/// The last event of type Warning about an object, or about objects that belong to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WarningEvent {
    /// The reason, such as `FailedScheduling`.
    pub reason: String,
    /// The message. May contain any text.
    pub message: String,
    /// The time of the last occurrence.
    pub time: Option<SystemTime>,
}

/// The end of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContainerExit {
    /// The exit code.
    pub code: i64,
    /// The reason, such as `Error` or `OOMKilled`.
    pub reason: String,
    /// The termination message. May be empty, and may contain any text.
    pub message: String,
}

impl fmt::Display for PodProblem {
    /// Formats the problem, for example as `web-5d4, container app: CrashLoopBackOff: back-off 5m0s; it exited with
    /// code 1 (Error)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.pod)?;
        if let Some(container) = &self.container {
            write!(f, ", container {container}")?;
        }
        write!(f, ": {}", self.reason)?;
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        let Some(exit) = &self.exit else { return Ok(()) };
        write!(f, "; it exited with code {}", exit.code)?;
        if !exit.reason.is_empty() {
            write!(f, " ({})", exit.reason)?;
        }
        if exit.message.is_empty() { Ok(()) } else { write!(f, ": {}", exit.message.trim_end()) }
    }
}

/// Reasons of waiting containers that do not start without intervention.
const WAITING_REASONS: [&str; 8] = [
    "CrashLoopBackOff",
    "CreateContainerConfigError",
    "CreateContainerError",
    "ErrImageNeverPull",
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "RunContainerError",
];

/// The help for reasons of problems and warning events.
const HELP: [(&str, &str); 12] = [
    ("ErrImagePull", IMAGE_HELP),
    ("ImagePullBackOff", IMAGE_HELP),
    ("InvalidImageName", IMAGE_HELP),
    ("ErrImageNeverPull", "the image must exist on the node, because imagePullPolicy is Never"),
    ("OOMKilled", "the container needs more memory than its limit: raise resources.limits.memory"),
    ("CrashLoopBackOff", "the container ends soon after its start: check its log, command and configuration"),
    ("Error", "the container ended with an error: check its log, command and configuration"),
    (
        "CreateContainerConfigError",
        "check that the ConfigMaps, Secrets and keys that the container refers to exist",
    ),
    ("CreateContainerError", START_HELP),
    ("RunContainerError", START_HELP),
    ("Unschedulable", SCHEDULING_HELP),
    ("FailedScheduling", SCHEDULING_HELP),
];
const IMAGE_HELP: &str =
    "check the name and tag of the image, and that imagePullSecrets give access to its registry";
const START_HELP: &str =
    "check the command, the working directory, volumes and the security context of the container";
const SCHEDULING_HELP: &str =
    "no node fits: check resource requests, node selectors, affinity, tolerations and volume claims";

fn help_for(reason: &str) -> Option<&'static str> {
    HELP.iter().find(|(known, _)| *known == reason).map(|(_, help)| *help)
}

impl PodProblem {
    /// Returns the help for the problem, if it is a known one.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        let exit =
            self.exit.as_ref().map(|exit| exit.reason.as_str()).filter(|reason| *reason == "OOMKilled");
        help_for(exit.unwrap_or(&self.reason))
    }

    /// Returns the problem of a Pod, and true if the Pod cannot become ready without intervention because of it.
    pub(super) fn find(pod: &Node) -> Option<(Self, bool)> {
        let name = text(pod, &["metadata", "name"]).unwrap_or_default();
        let in_container = |container: &Node, state: &Node, exit: Option<&Node>| Self {
            pod: name.to_string(),
            container: text(container, &["name"]).map(str::to_string),
            reason: text(state, &["reason"]).unwrap_or_default().to_string(),
            message: text(state, &["message"]).unwrap_or_default().to_string(),
            exit: exit.map(ContainerExit::read),
            log: Vec::new(),
        };
        let waiting = containers(pod).find_map(|container| {
            let state = container.get_path(&["state", "waiting"])?;
            let is_problem = text(state, &["reason"]).is_some_and(|reason| WAITING_REASONS.contains(&reason));
            let exit = container.get_path(&["lastState", "terminated"]);
            is_problem.then(|| (in_container(container, state, exit), true))
        });
        let ended = || {
            containers(pod).find_map(|container| {
                let state = container.get_path(&["state", "terminated"])?;
                let problem = in_container(container, state, Some(state));
                (exit_code(state) != 0).then(|| (Self { message: String::new(), ..problem }, false))
            })
        };
        waiting.or_else(ended).or_else(|| Self::unscheduled(pod, name))
    }

    fn unscheduled(pod: &Node, name: &str) -> Option<(Self, bool)> {
        let conditions = conditions(pod).ok()?;
        let condition = conditions.iter().find(|condition| {
            condition.condition_type == "PodScheduled"
                && condition.status == "False"
                && condition.reason == "Unschedulable"
        })?;
        let problem = Self {
            pod: name.to_string(),
            container: None,
            reason: condition.reason.to_string(),
            message: condition.message.to_string(),
            exit: None,
            log: Vec::new(),
        };
        // An autoscaler may add a node.
        Some((problem, false))
    }
}

impl WarningEvent {
    /// Returns the help for the event, if it is a known one.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        let has = |part: &str| self.message.contains(part);
        match self.reason.as_str() {
            "FailedCreate" if has("exceeded quota") => {
                Some("raise the ResourceQuota of the namespace, or lower replicas or resource requests")
            }
            "FailedCreate" if has("is forbidden") => Some(
                "an admission plugin or policy rejects the Pods: change the Pod template as the event says",
            ),
            "Unhealthy" => Some(
                "a probe fails: check its path, port and timing (initialDelaySeconds, failureThreshold), and the log",
            ),
            "FailedMount" | "FailedAttachVolume" => {
                Some("check that the volumes, ConfigMaps and Secrets that the Pod mounts exist")
            }
            reason => help_for(reason),
        }
    }
}

impl ContainerExit {
    fn read(state: &Node) -> Self {
        let field = |name| text(state, &[name]).unwrap_or_default().to_string();
        Self { code: exit_code(state), reason: field("reason"), message: field("message") }
    }
}

fn exit_code(state: &Node) -> i64 {
    match state.get("exitCode").and_then(Node::resolve) {
        Some(Resolved::Int(code)) => code,
        _ => 0,
    }
}

fn text<'n>(node: &'n Node, path: &[&str]) -> Option<&'n str> {
    node.get_path(path).and_then(Node::as_str)
}

/// Returns the status of each container of a Pod.
pub(super) fn containers(pod: &Node) -> impl Iterator<Item = &Node> {
    let lists = ["initContainerStatuses", "containerStatuses"];
    lists.into_iter().filter_map(|list| pod.get_path(&["status", list])?.as_list()).flatten()
}

/// Returns true if a Pod is ready or has completed.
pub(super) fn is_ready(pod: &Node) -> bool {
    conditions(pod).is_ok_and(|conditions| has_condition(&conditions, "Ready", "True"))
        || text(pod, &["status", "phase"]) == Some("Succeeded")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: &str) -> Option<(String, bool, Option<&'static str>)> {
        let pod: Node = format!("{{metadata: {{name: p}}, status: {status}}}").parse().expect("a pod");
        let (problem, is_blocking) = PodProblem::find(&pod)?;
        Some((problem.to_string(), is_blocking, problem.help()))
    }

    #[test]
    fn problems_of_pods_are_recognized() {
        let table = [
            (
                "{containerStatuses: [{name: a, state: {waiting: {reason: ImagePullBackOff, message: 'not found'}}}]}",
                "p, container a: ImagePullBackOff: not found",
                true,
                "imagePullSecrets",
            ),
            (
                "{containerStatuses: [{name: a, state: {waiting: {reason: CrashLoopBackOff}}, lastState:
                    {terminated: {exitCode: 2, reason: Error, message: 'no config'}}}]}",
                "p, container a: CrashLoopBackOff; it exited with code 2 (Error): no config",
                true,
                "check its log",
            ),
            (
                "{initContainerStatuses: [{name: i, state: {waiting: {reason: CrashLoopBackOff}}, lastState:
                    {terminated: {exitCode: 137, reason: OOMKilled}}}]}",
                "p, container i: CrashLoopBackOff; it exited with code 137 (OOMKilled)",
                true,
                "limits.memory",
            ),
            (
                "{phase: Failed, containerStatuses: [{name: a, state: {terminated: {exitCode: 3, reason: Error}}}]}",
                "p, container a: Error; it exited with code 3 (Error)",
                false,
                "ended with an error",
            ),
            (
                "{conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: 0/3 nodes}]}",
                "p: Unschedulable: 0/3 nodes",
                false,
                "no node fits",
            ),
        ];
        for (status, text, is_blocking, help) in table {
            let (shown, blocks, advice) = of(status).expect(text);
            assert_eq!((shown.as_str(), blocks), (text, is_blocking));
            assert!(advice.is_some_and(|advice| advice.contains(help)), "{text}: {advice:?}");
        }
        for fine in [
            "{phase: Running, containerStatuses: [{name: a, state: {running: {}}}]}",
            "{containerStatuses: [{name: a, state: {waiting: {reason: ContainerCreating}}}]}",
            "{phase: Succeeded, containerStatuses: [{name: a, state: {terminated: {exitCode: 0}}}]}",
            "{}",
        ] {
            assert_eq!(of(fine), None, "{fine}");
        }
    }

    #[test]
    fn warning_events_have_help() {
        let event = |reason: &str, message: &str| {
            WarningEvent { reason: reason.into(), message: message.into(), time: None }.help()
        };
        for (reason, message, part) in [
            ("FailedCreate", "pods \"a\" is forbidden: exceeded quota: small", "ResourceQuota"),
            ("FailedCreate", "pods \"a\" is forbidden: violates PodSecurity", "admission"),
            ("Unhealthy", "Readiness probe failed: 500", "probe"),
            ("FailedScheduling", "0/1 nodes are available", "no node fits"),
            ("FailedMount", "configmap \"a\" not found", "volumes"),
        ] {
            assert!(event(reason, message).is_some_and(|help| help.contains(part)), "{reason}");
        }
        assert_eq!(event("Other", ""), None);
    }
}
