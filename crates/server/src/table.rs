//! Tables: objects in the columns that kubectl prints.

use std::fmt::Write as _;

use serde_json::{Value, json};
use smp_merge::managed_fields::Timestamp;

use crate::metadata::meta;
use crate::resources::Resource;
use crate::state::text;

/// Returns the cell of an object at a time.
type Cell<'r> = Box<dyn Fn(&Value, i64) -> Value + 'r>;

/// A column: its name, its type, and the cell of an object.
struct Column<'r> {
    definition: Value,
    cell: Cell<'r>,
}

/// Returns objects as a table. Rows have what `includeObject` wants of their object: by default its metadata.
pub(crate) fn table(
    resource: &Resource,
    objects: &[Value],
    metadata: &Value,
    include: &str,
    now: i64,
) -> Value {
    let columns = columns(resource);
    let row = |object: &Value| {
        let cells: Vec<Value> = columns.iter().map(|column| (column.cell)(object, now)).collect();
        let metadata = &object["metadata"];
        let included = match include {
            "Object" => object.clone(),
            "None" => Value::Null,
            _ => {
                json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
            }
        };
        json!({"cells": cells, "object": included})
    };
    let rows: Vec<Value> = objects.iter().map(row).collect();
    let definitions: Vec<&Value> = columns.iter().map(|column| &column.definition).collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": definitions, "rows": rows,
    })
}

fn columns(resource: &Resource) -> Vec<Column<'_>> {
    let name = column("Name", "string", "name", |object, _| meta(object, "name").into());
    let mut all = vec![name];
    let own = resource.definition["additionalPrinterColumns"].as_array();
    if let Some(own) = own {
        all.extend(own.iter().map(custom_column));
        return all;
    }
    all.extend(built_in_columns(&resource.gvk.kind));
    all.push(column("Age", "string", "", |object, now| age(meta(object, "creationTimestamp"), now).into()));
    all
}

fn column<'r>(name: &str, kind: &str, format: &str, cell: impl Fn(&Value, i64) -> Value + 'r) -> Column<'r> {
    let definition = json!({"name": name, "type": kind, "format": format, "description": "", "priority": 0});
    Column { definition, cell: Box::new(cell) }
}

fn custom_column(column: &Value) -> Column<'_> {
    let part = |field: &str| column[field].as_str().unwrap_or_default();
    let (path, kind) = (part("jsonPath"), part("type"));
    let definition = json!({
        "name": column["name"], "type": kind, "format": part("format"), "description": part("description"),
        "priority": column["priority"].as_i64().unwrap_or_default(),
    });
    let cell = move |object: &Value, now: i64| match find(object, path) {
        None => Value::Null,
        Some(value) if kind == "date" => age(value.as_str().unwrap_or_default(), now).into(),
        Some(value) if kind == "string" && !value.is_string() => value.to_string().into(),
        Some(value) => value.clone(),
    };
    Column { definition, cell: Box::new(cell) }
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn built_in_columns(kind: &str) -> Vec<Column<'static>> {
    let count = |object: &Value, at: &str| object.pointer(at).and_then(Value::as_i64).unwrap_or_default();
    let number = move |name: &str, at: &'static str| {
        column(name, "integer", "", move |object, _| count(object, at).into())
    };
    let of_text =
        |name: &str, at: &'static str| column(name, "string", "", move |object, _| text(object, at).into());
    let size = |name: &str, at: &'static str| {
        let size = |object: &Value, at: &str| {
            object.pointer(at).and_then(Value::as_object).map_or(0, serde_json::Map::len)
        };
        column(name, "integer", "", move |object, _| size(object, at).into())
    };
    let ready = move |wanted: &'static str| {
        column("Ready", "string", "", move |object, _| {
            format!("{}/{}", count(object, "/status/readyReplicas"), count(object, wanted)).into()
        })
    };
    match kind {
        "ConfigMap" => vec![size("Data", "/data")],
        "Secret" => vec![of_text("Type", "/type"), size("Data", "/data")],
        "Namespace" => vec![of_text("Status", "/status/phase")],
        "Pod" => vec![
            column("Ready", "string", "", |pod, _| pod_ready(pod).into()),
            of_text("Status", "/status/phase"),
            column("Restarts", "string", "", |pod, _| restarts(pod).to_string().into()),
        ],
        "Deployment" => vec![
            ready("/spec/replicas"),
            number("Up-to-date", "/status/updatedReplicas"),
            number("Available", "/status/availableReplicas"),
        ],
        "StatefulSet" => vec![ready("/spec/replicas")],
        "ReplicaSet" => vec![
            number("Desired", "/spec/replicas"),
            number("Current", "/status/replicas"),
            number("Ready", "/status/readyReplicas"),
        ],
        "Service" => vec![
            of_text("Type", "/spec/type"),
            of_text("Cluster-IP", "/spec/clusterIP"),
            column("External-IP", "string", "", |_, _| "<none>".into()),
            column("Port(s)", "string", "", |service, _| ports(service).into()),
        ],
        _ => Vec::new(),
    }
}

fn pod_ready(pod: &Value) -> String {
    let all = pod["spec"]["containers"].as_array().map_or(0, Vec::len);
    let statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
    format!("{}/{all}", statuses.filter(|status| status["ready"] == true).count())
}

fn restarts(pod: &Value) -> i64 {
    let statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
    statuses.filter_map(|status| status["restartCount"].as_i64()).sum()
}

fn ports(service: &Value) -> String {
    let mut found = String::new();
    for port in service["spec"]["ports"].as_array().into_iter().flatten() {
        let node = port["nodePort"].as_i64().map_or_else(String::new, |node| format!(":{node}"));
        let comma = if found.is_empty() { "" } else { "," };
        let protocol = port["protocol"].as_str().unwrap_or("TCP");
        let _ = write!(found, "{comma}{}{node}/{protocol}", port["port"]);
    }
    if found.is_empty() { "<none>".into() } else { found }
}

/// Finds a value by a simple JSON path: `.status.conditions[?(@.type=="Ready")].status`.
fn find<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    let mut value = object;
    let mut rest = path.trim_start_matches('$');
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('[') {
            let (inside, after) = after.split_once(']')?;
            value = entry(value, inside)?;
            rest = after;
        } else {
            let after = rest.strip_prefix('.').unwrap_or(rest);
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (name, after) = after.split_at(end);
            value = if name.is_empty() { value } else { value.get(name)? };
            rest = after;
        }
    }
    Some(value)
}

fn entry<'v>(list: &'v Value, inside: &str) -> Option<&'v Value> {
    let name = inside.trim_matches(['\'', '"']);
    if let Ok(index) = name.parse::<usize>() {
        return list.get(index);
    }
    let Some(filter) = inside.strip_prefix("?(@.").and_then(|rest| rest.strip_suffix(')')) else {
        return list.get(name);
    };
    let (field, wanted) = filter.split_once("==")?;
    let wanted = wanted.trim().trim_matches(['\'', '"']);
    list.as_array()?.iter().find(|one| one[field.trim()] == wanted)
}

/// Returns the time since a timestamp as kubectl shows it.
fn age(since: &str, now: i64) -> String {
    let Ok(since) = Timestamp::parse(since) else { return "<unknown>".into() };
    let seconds = (now - since.seconds()).max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 if seconds % 60 != 0 => format!("{minutes}m{}s", seconds % 60),
        120..10_800 => format!("{minutes}m"),
        10_800..28_800 if minutes % 60 != 0 => format!("{hours}h{}m", minutes % 60),
        10_800..172_800 => format!("{hours}h"),
        172_800..691_200 if hours % 24 != 0 => format!("{days}d{}h", hours % 24),
        172_800..63_072_000 => format!("{days}d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_json_paths() {
        let object = json!({"spec": {"parts": [{"id": 1}]}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        assert_eq!(find(&object, ".spec.parts[0].id"), Some(&json!(1)));
        assert_eq!(find(&object, r#".status.conditions[?(@.type=="Ready")].status"#), Some(&json!("True")));
        assert_eq!(find(&object, ".spec.none"), None);
    }

    #[test]
    fn ages_are_short() {
        let of = |seconds: i64| age("1970-01-01T00:00:00Z", seconds);
        for (seconds, want) in
            [(5, "5s"), (119, "119s"), (125, "2m5s"), (3600, "60m"), (86_400, "24h"), (259_200, "3d")]
        {
            assert_eq!(of(seconds), want);
        }
    }
}
