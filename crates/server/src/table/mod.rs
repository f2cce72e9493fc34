//! Tables: objects in the columns that kubectl prints.

mod access;
mod age;
mod autoscaling;
mod cluster;
mod column;
mod custom;
mod network;
mod pods;
mod storage;
mod workloads;

use serde_json::{Value, json};

use self::column::{AGE, Column, DEFAULT, Kinds};
use crate::metadata::meta;
use crate::resources::Resource;

/// The columns of the built-in kinds that have specific ones.
const BUILT_IN: [Kinds; 7] = [
    access::KINDS,
    autoscaling::KINDS,
    cluster::KINDS,
    network::KINDS,
    pods::KINDS,
    storage::KINDS,
    workloads::KINDS,
];

/// Returns an object, or its scale, as a table.
pub(crate) fn table_of_one(resource: &Resource, object: Value, include: &str, now: i64) -> Value {
    let metadata = json!({"resourceVersion": object["metadata"]["resourceVersion"]});
    table(resource, &[object], &metadata, include, now)
}

/// Returns objects as a table. Each row contains the part of its object that `includeObject` requests: by default the
/// metadata.
pub(crate) fn table(
    resource: &Resource,
    objects: &[Value],
    metadata: &Value,
    include: &str,
    now: i64,
) -> Value {
    let is_scale = objects.first().is_some_and(|object| object["kind"] == "Scale");
    let own = resource.definition["additionalPrinterColumns"].as_array().filter(|_| !is_scale);
    let columns = columns(resource, is_scale);
    let cells = |object: &Value| -> Vec<Value> {
        match own {
            Some(own) => custom::cells(own, object, now),
            None => columns.iter().map(|column| column.cell.value(object, now)).collect(),
        }
    };
    let definitions = match own {
        Some(own) => custom::definitions(own),
        None => columns.iter().filter_map(Column::definition).collect(),
    };
    let row = |object: &&Value| row(object, &cells(object), include);
    let rows: Vec<Value> = in_order(&resource.gvk.kind, objects).iter().map(row).collect();
    // With the default columns, the server writes null if there are no rows.
    let rows = if rows.is_empty() && std::ptr::eq(columns, DEFAULT) { Value::Null } else { rows.into() };
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": definitions, "rows": rows,
    })
}

/// The age of custom resources whose definition has no columns.
const AGE_OF_CUSTOM: Column = AGE.of_type("date");

fn columns(resource: &Resource, is_scale: bool) -> &'static [Column] {
    if resource.is_custom && !is_scale {
        return &[column::NAME, AGE_OF_CUSTOM];
    }
    let kind = if is_scale { "Scale" } else { &resource.gvk.kind };
    let known = BUILT_IN.iter().copied().flatten().find(|(known, _)| *known == kind);
    known.map_or(DEFAULT, |(_, columns)| columns)
}

fn row(object: &Value, cells: &[Value], include: &str) -> Value {
    let metadata = &object["metadata"];
    let included = match include {
        "Object" => object.clone(),
        "None" => Value::Null,
        _ => {
            json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
        }
    };
    let mut row = json!({"cells": cells, "object": included});
    if object["kind"] == "Pod"
        && let Some(condition) = pods::condition(object)
    {
        row["conditions"] = json!([condition]);
    }
    row
}

/// Returns the objects in the order of the rows: flow schemas by their precedence, others unchanged.
fn in_order<'o>(kind: &str, objects: &'o [Value]) -> Vec<&'o Value> {
    let mut objects: Vec<&Value> = objects.iter().collect();
    if kind == "FlowSchema" {
        objects.sort_by_key(|one| (one["spec"]["matchingPrecedence"].as_i64(), meta(one, "name")));
    }
    objects
}
