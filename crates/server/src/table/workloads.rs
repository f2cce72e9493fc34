//! Columns of the kinds of `apps`, `batch` and `policy`, and of templates.

use serde_json::Value;

use super::age;
use super::column::{
    AGE, Cell, Column, Kinds, NAME, NONE, UNSET, entries, integer, is_true, number, scalar, string,
    text_column,
};
use crate::state::text;
use crate::subresources::selector_text;

const CONTAINERS: &str = "/spec/template/spec/containers";
const OF_JOBS: &str = "/spec/jobTemplate/spec/template/spec/containers";

pub(super) const KINDS: Kinds = &[
    ("ControllerRevision", REVISION),
    ("CronJob", CRON_JOB),
    ("DaemonSet", DAEMON_SET),
    ("Deployment", DEPLOYMENT),
    ("Job", JOB),
    ("PodDisruptionBudget", BUDGET),
    ("PodTemplate", TEMPLATE),
    ("ReplicaSet", REPLICA_SET),
    ("ReplicationController", REPLICA_SET),
    ("Scale", SCALE),
    ("StatefulSet", STATEFUL_SET),
];

const fn containers(at: &'static str) -> Column {
    text_column("Containers", Cell::Each(at, "name"))
}

const fn images(at: &'static str) -> Column {
    text_column("Images", Cell::Each(at, "image"))
}

const fn selector(cell: Cell) -> Column {
    text_column("Selector", cell).wide()
}

const SELECTOR: Column = selector(Cell::Labels("/spec/selector"));

const TEMPLATE: &[Column] = &[
    NAME,
    containers("/template/spec/containers"),
    images("/template/spec/containers"),
    text_column("Pod Labels", Cell::Labels("/template/metadata/labels")),
];

const BUDGET: &[Column] = &[
    NAME,
    text_column("Min Available", Cell::Show(|budget| scalar(&budget["spec"]["minAvailable"], "N/A"))),
    text_column("Max Unavailable", Cell::Show(|budget| scalar(&budget["spec"]["maxUnavailable"], "N/A"))),
    integer("Allowed Disruptions", Cell::Number("/status/disruptionsAllowed")),
    AGE,
];

/// The columns of ReplicaSets and ReplicationControllers.
const REPLICA_SET: &[Column] = &[
    NAME,
    integer("Desired", Cell::Number("/spec/replicas")),
    integer("Current", Cell::Number("/status/replicas")),
    integer("Ready", Cell::Number("/status/readyReplicas")),
    AGE,
    containers(CONTAINERS).wide(),
    images(CONTAINERS).wide(),
    SELECTOR,
];

const DEPLOYMENT: &[Column] = &[
    NAME,
    text_column("Ready", Cell::Show(ready)),
    text_column("Up-to-date", Cell::Number("/status/updatedReplicas")),
    text_column("Available", Cell::Number("/status/availableReplicas")),
    AGE,
    containers(CONTAINERS).wide(),
    images(CONTAINERS).wide(),
    selector(Cell::Show(|deployment| selector_text(&deployment["spec"]["selector"]))),
];

const STATEFUL_SET: &[Column] = &[
    NAME,
    text_column("Ready", Cell::Show(ready)),
    AGE,
    containers(CONTAINERS).wide(),
    images(CONTAINERS).wide(),
];

const DAEMON_SET: &[Column] = &[
    NAME,
    integer("Desired", Cell::Number("/status/desiredNumberScheduled")),
    integer("Current", Cell::Number("/status/currentNumberScheduled")),
    integer("Ready", Cell::Number("/status/numberReady")),
    integer("Up-to-date", Cell::Number("/status/updatedNumberScheduled")),
    integer("Available", Cell::Number("/status/numberAvailable")),
    text_column("Node Selector", Cell::Labels("/spec/template/spec/nodeSelector")),
    AGE,
    containers(CONTAINERS).wide(),
    images(CONTAINERS).wide(),
    SELECTOR,
];

const JOB: &[Column] = &[
    NAME,
    text_column("Status", Cell::Show(job_status)),
    text_column("Completions", Cell::Show(completions)),
    text_column("Duration", Cell::Call(|job, now| job_duration(job, now).into())),
    AGE,
    containers(CONTAINERS).wide(),
    images(CONTAINERS).wide(),
    SELECTOR,
];

const CRON_JOB: &[Column] = &[
    NAME,
    text_column("Schedule", Cell::Text("/spec/schedule", "")),
    text_column("Timezone", Cell::Text("/spec/timeZone", NONE)),
    text_column("Suspend", Cell::Show(suspended)).of_type("boolean"),
    integer("Active", Cell::Size("/status/active")),
    text_column("Last Schedule", Cell::Call(|job, now| last_schedule(job, now).into())),
    AGE,
    containers(OF_JOBS).wide(),
    images(OF_JOBS).wide(),
    selector(Cell::Labels("/spec/jobTemplate/spec/selector")),
];

const REVISION: &[Column] = &[
    NAME,
    text_column("Controller", Cell::Show(controller)),
    text_column("Revision", Cell::Number("/revision")),
    AGE,
];

/// The columns of the subresource `scale`.
const SCALE: &[Column] = &[
    text_column("Name", Cell::Text("/metadata/name", "")),
    integer("Desired", Cell::Number("/spec/replicas")),
    integer("Available", Cell::Number("/status/replicas")),
    AGE,
];

fn ready(object: &Value) -> String {
    format!("{}/{}", number(object, "/status/readyReplicas"), number(object, "/spec/replicas"))
}

fn job_status(job: &Value) -> String {
    let is_deleted = !job["metadata"]["deletionTimestamp"].is_null();
    let status = if is_true(job, "Complete") {
        "Complete"
    } else if is_true(job, "Failed") {
        "Failed"
    } else if is_deleted {
        "Terminating"
    } else {
        let others = ["Suspended", "FailureTarget", "SuccessCriteriaMet"];
        others.into_iter().find(|kind| is_true(job, kind)).unwrap_or("Running")
    };
    status.into()
}

fn completions(job: &Value) -> String {
    let succeeded = number(job, "/status/succeeded");
    let (wanted, parallel) = (&job["spec"]["completions"], number(job, "/spec/parallelism"));
    match wanted.as_i64() {
        Some(wanted) => format!("{succeeded}/{wanted}"),
        None if parallel > 1 => format!("{succeeded}/1 of {parallel}"),
        None => format!("{succeeded}/1"),
    }
}

fn job_duration(job: &Value, now: i64) -> String {
    match (text(job, "/status/startTime"), text(job, "/status/completionTime")) {
        ("", _) => String::new(),
        (start, "") => age::since(start, now),
        (start, end) => age::between(start, end),
    }
}

fn suspended(job: &Value) -> String {
    match job["spec"]["suspend"].as_bool() {
        None => UNSET,
        Some(true) => "True",
        Some(false) => "False",
    }
    .into()
}

fn last_schedule(job: &Value, now: i64) -> String {
    match text(job, "/status/lastScheduleTime") {
        "" => NONE.into(),
        time => age::since(time, now),
    }
}

/// Returns the controller that owns a revision, such as `statefulset.apps/web`.
fn controller(revision: &Value) -> String {
    let mut owners = entries(revision, "/metadata/ownerReferences");
    let Some(owner) = owners.find(|owner| owner["controller"] == true) else { return NONE.into() };
    let (kind, name) = (string(owner, "kind"), string(owner, "name"));
    let group = string(owner, "apiVersion").rsplit_once('/').map(|(group, _)| format!(".{group}"));
    format!("{}/{name}", format!("{kind}{}", group.unwrap_or_default()).to_lowercase())
}
