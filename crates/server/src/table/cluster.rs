//! Columns of namespaces, nodes, events, configuration, quotas, leases, priorities and flow control.

use serde_json::Value;

use super::age;
use super::column::{
    AGE, Cell, Column, Kinds, NAME, NONE, UNKNOWN, boolean, condition, entries, integer, joined, number, or,
    or_none, string, text_column,
};
use crate::state::text;

pub(super) const KINDS: Kinds = &[
    ("ComponentStatus", COMPONENT),
    ("ConfigMap", CONFIG_MAP),
    ("Event", EVENT),
    ("FlowSchema", FLOW),
    ("Lease", LEASE),
    ("Namespace", NAMESPACE),
    ("Node", NODE),
    ("PriorityClass", PRIORITY),
    ("PriorityLevelConfiguration", LEVEL),
    ("ResourceQuota", QUOTA),
    ("RuntimeClass", RUNTIME),
    ("Secret", SECRET),
    ("ServiceAccount", &[NAME, AGE]),
];

const NAMESPACE: &[Column] = &[NAME, text_column("Status", Cell::Text("/status/phase", "")), AGE];

const CONFIG_MAP: &[Column] = &[
    NAME,
    text_column(
        "Data",
        Cell::Call(|map, now| {
            let size = |at| Cell::Size(at).value(map, now).as_u64().unwrap_or_default();
            (size("/data") + size("/binaryData")).into()
        }),
    ),
    AGE,
];

const SECRET: &[Column] =
    &[NAME, text_column("Type", Cell::Text("/type", "")), text_column("Data", Cell::Size("/data")), AGE];

const NODE: &[Column] = &[
    NAME,
    text_column("Status", Cell::Show(node_status)),
    text_column("Roles", Cell::Show(roles)),
    AGE,
    text_column("Version", Cell::Text("/status/nodeInfo/kubeletVersion", "")),
    text_column("Internal-IP", Cell::Show(|node| address(node, "InternalIP"))).wide(),
    text_column("External-IP", Cell::Show(|node| address(node, "ExternalIP"))).wide(),
    text_column("OS-Image", Cell::Show(|node| about(node, "osImage"))).wide(),
    text_column("Kernel-Version", Cell::Show(kernel)).wide(),
    text_column("Container-Runtime", Cell::Show(|node| about(node, "containerRuntimeVersion"))).wide(),
];

const EVENT: &[Column] = &[
    text_column("Last Seen", Cell::Call(|event, now| last_seen(event, now).into())),
    text_column("Type", Cell::Text("/type", "")),
    text_column("Reason", Cell::Text("/reason", "")),
    text_column("Object", Cell::Show(regarding)),
    text_column("Subobject", Cell::Show(|event| text(subject(event), "/fieldPath").into())).wide(),
    text_column("Source", Cell::Show(source)).wide(),
    text_column("Message", Cell::Show(message)),
    text_column("First Seen", Cell::Call(|event, now| first_seen(event, now).into())).wide(),
    text_column("Count", Cell::Call(|event, _| count(event).into())).wide(),
    NAME.wide(),
];

const QUOTA: &[Column] = &[
    NAME,
    text_column("Request", Cell::Show(|quota| usage(quota, false))),
    text_column("Limit", Cell::Show(|quota| usage(quota, true))),
    AGE,
];

const COMPONENT: &[Column] = &[
    NAME,
    text_column("Status", Cell::Show(|one| health(one, "status"))),
    text_column("Message", Cell::Show(|one| health(one, "message"))),
    text_column("Error", Cell::Show(|one| health(one, "error"))),
];

const LEASE: &[Column] = &[NAME, text_column("Holder", Cell::Text("/spec/holderIdentity", "")), AGE];

const PRIORITY: &[Column] = &[
    NAME,
    integer("Value", Cell::Number("/value")),
    boolean("Global-Default", Cell::Flag("/globalDefault", false)),
    AGE,
    text_column("PreemptionPolicy", Cell::Text("/preemptionPolicy", "")),
];

const RUNTIME: &[Column] = &[NAME, text_column("Handler", Cell::Text("/handler", "")), AGE];

const FLOW: &[Column] = &[
    NAME,
    text_column("PriorityLevel", Cell::Text("/spec/priorityLevelConfiguration/name", "")),
    text_column("MatchingPrecedence", Cell::Number("/spec/matchingPrecedence")),
    text_column("DistinguisherMethod", Cell::Text("/spec/distinguisherMethod/type", NONE)),
    AGE,
    text_column(
        "MissingPL",
        Cell::Show(|flow| condition(flow, "Dangling").map_or("?", |one| string(one, "status")).into()),
    ),
];

const LEVEL: &[Column] = &[
    NAME,
    text_column("Type", Cell::Text("/spec/type", "")),
    text_column("NominalConcurrencyShares", Cell::Call(|level, _| limit(level, "/nominalConcurrencyShares"))),
    text_column("Queues", Cell::Call(|level, _| limit(level, "/limitResponse/queuing/queues"))),
    text_column("HandSize", Cell::Call(|level, _| limit(level, "/limitResponse/queuing/handSize"))),
    text_column(
        "QueueLengthLimit",
        Cell::Call(|level, _| limit(level, "/limitResponse/queuing/queueLengthLimit")),
    ),
    AGE,
];

fn node_status(node: &Value) -> String {
    // Of several conditions of a type, the last one is used.
    let ready = entries(node, "/status/conditions").rev().find(|condition| condition["type"] == "Ready");
    let status = match ready {
        None => "Unknown",
        Some(condition) if condition["status"] == "True" => "Ready",
        Some(_) => "NotReady",
    };
    let is_closed = node["spec"]["unschedulable"] == true;
    if is_closed { format!("{status},SchedulingDisabled") } else { status.into() }
}

fn roles(node: &Value) -> String {
    let labels = node["metadata"]["labels"].as_object().into_iter().flatten();
    let role = |(key, value): (&String, &Value)| match key.strip_prefix("node-role.kubernetes.io/") {
        Some(role) => Some(role.to_string()),
        None if key == "kubernetes.io/role" => value.as_str().map(String::from),
        None => None,
    };
    let mut roles: Vec<String> = labels.filter_map(role).filter(|role| !role.is_empty()).collect();
    roles.sort();
    roles.dedup();
    or_none(joined(roles, ","))
}

fn address(node: &Value, kind: &str) -> String {
    let found = entries(node, "/status/addresses").find(|address| address["type"] == kind);
    found.map_or(NONE, |address| string(address, "address")).into()
}

fn about(node: &Value, field: &str) -> String {
    or(string(&node["status"]["nodeInfo"], field).into(), UNKNOWN)
}

fn kernel(node: &Value) -> String {
    let architecture = text(node, "/status/nodeInfo/architecture");
    let version = about(node, "kernelVersion");
    if architecture.is_empty() { version } else { format!("{version} ({architecture})") }
}

/// Returns the object of an event, in either of its versions.
fn subject(event: &Value) -> &Value {
    event.get("involvedObject").unwrap_or_else(|| &event["regarding"])
}

fn regarding(event: &Value) -> String {
    let subject = subject(event);
    let (kind, name) = (string(subject, "kind").to_lowercase(), string(subject, "name"));
    if name.is_empty() { kind } else { format!("{kind}/{name}") }
}

/// Returns a text of an event. Each field of an event has two possible names.
fn either<'v>(event: &'v Value, one: &str, other: &str) -> &'v str {
    let found = text(event, one);
    if found.is_empty() { text(event, other) } else { found }
}

fn source(event: &Value) -> String {
    let part = |field: &str, own: &str| {
        let source = event.get("source").unwrap_or_else(|| &event["deprecatedSource"]);
        let part = string(source, field);
        if part.is_empty() { text(event, own).to_string() } else { part.to_string() }
    };
    let component = or(part("component", "/reportingComponent"), text(event, "/reportingController"));
    let host = part("host", "/reportingInstance");
    if host.is_empty() { component } else { format!("{component}, {host}") }
}

fn message(event: &Value) -> String {
    either(event, "/message", "/note").trim().into()
}

fn first_seen(event: &Value, now: i64) -> String {
    let first = either(event, "/firstTimestamp", "/deprecatedFirstTimestamp");
    age::since(if first.is_empty() { text(event, "/eventTime") } else { first }, now)
}

fn last_seen(event: &Value, now: i64) -> String {
    let last = either(event, "/lastTimestamp", "/deprecatedLastTimestamp");
    if event["series"].is_object() {
        age::since(text(event, "/series/lastObservedTime"), now)
    } else if last.is_empty() {
        first_seen(event, now)
    } else {
        age::since(last, now)
    }
}

fn count(event: &Value) -> i64 {
    if event["series"].is_object() {
        return number(event, "/series/count");
    }
    let count = number(event, "/count").max(number(event, "/deprecatedCount"));
    if count == 0 { 1 } else { count }
}

/// Returns the used and allowed amounts of a quota, either those of limits or the others.
fn usage(quota: &Value, of_limits: bool) -> String {
    let amount = |name: &str, list: &str| quota["status"][list][name].as_str().unwrap_or("0").to_string();
    let hard = quota["status"]["hard"].as_object().into_iter().flatten().map(|(name, _)| name);
    let chosen = hard.filter(|name| name.starts_with("limits.") == of_limits);
    joined(chosen.map(|name| format!("{name}: {}/{}", amount(name, "used"), amount(name, "hard"))), ", ")
}

fn health(component: &Value, field: &str) -> String {
    let healthy = entries(component, "/conditions").find(|condition| condition["type"] == "Healthy");
    match (field, healthy) {
        ("status", None) => "Unknown",
        ("status", Some(condition)) if condition["status"] == "True" => "Healthy",
        ("status", Some(_)) => "Unhealthy",
        (_, condition) => condition.map_or("", |condition| string(condition, field)),
    }
    .into()
}

/// Returns a number of a priority level's limits.
fn limit(level: &Value, at: &str) -> Value {
    level["spec"]["limited"].pointer(at).cloned().unwrap_or_else(|| NONE.into())
}
