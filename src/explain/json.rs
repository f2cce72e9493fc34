//! Blame for programs.

use serde::Serialize;
use serde_json::Value as Json;

use super::blame::{Blame, BlamedField, BlamedPlace, BlamedRemoval, BlamedWrite, ResourceBlame};
use crate::diagnostic::{Code, Diagnostic, Result};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonBlame<'b> {
    api_version: String,
    kind: &'b str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'b str,
    name: &'b str,
    fields: Vec<JsonField<'b>>,
    removed: Vec<JsonRemoval<'b>>,
}

#[derive(Serialize)]
struct JsonField<'b> {
    pointer: &'b str,
    value: Json,
    at: Option<JsonBlamedPlace<'b>>,
    by: &'b str,
    #[serde(rename = "in")]
    asked_in: Option<&'b str>,
    chain: Vec<JsonWrite<'b>>,
}

#[derive(Serialize)]
struct JsonWrite<'b> {
    value: Json,
    at: Option<JsonBlamedPlace<'b>>,
    by: &'b str,
}

#[derive(Serialize)]
struct JsonRemoval<'b> {
    pointer: &'b str,
    value: Json,
    at: Option<JsonBlamedPlace<'b>>,
    by: &'b str,
}

#[derive(Serialize)]
struct JsonBlamedPlace<'b> {
    file: &'b str,
    line: usize,
    column: usize,
}

/// A JSON array with an element for each resource.
///
/// # Errors
/// None with what a build makes.
pub fn blame_to_json(blame: &Blame) -> Result<String> {
    let resources: Vec<JsonBlame<'_>> = blame.resources.iter().map(resource).collect();
    serde_json::to_string_pretty(&resources)
        .map(|text| text + "\n")
        .map_err(|error| Diagnostic::error(Code::InvalidValue, format!("this is no JSON: {error}")))
}

fn resource(resource: &ResourceBlame) -> JsonBlame<'_> {
    let id = &resource.id;
    JsonBlame {
        api_version: id.gvk.api_version().to_string(),
        kind: &id.gvk.kind,
        namespace: &id.namespace,
        name: &id.name,
        fields: resource.fields.iter().filter_map(field).collect(),
        removed: resource.removed.iter().map(removal).collect(),
    }
}

fn field(field: &BlamedField) -> Option<JsonField<'_>> {
    let (present, older) = field.writes.split_first()?;
    Some(JsonField {
        pointer: &field.pointer,
        value: present.value.to_json_value(),
        at: present.at.as_ref().map(place),
        by: &present.by,
        asked_in: present.asked_at.as_ref().map(|at| &*at.file),
        chain: older.iter().map(write).collect(),
    })
}

fn write(write: &BlamedWrite) -> JsonWrite<'_> {
    JsonWrite { value: write.value.to_json_value(), at: write.at.as_ref().map(place), by: &write.by }
}

fn removal(removal: &BlamedRemoval) -> JsonRemoval<'_> {
    JsonRemoval {
        pointer: &removal.pointer,
        value: removal.last.value.to_json_value(),
        at: removal.last.at.as_ref().map(place),
        by: &removal.by,
    }
}

fn place(place: &BlamedPlace) -> JsonBlamedPlace<'_> {
    JsonBlamedPlace { file: &place.file, line: place.line, column: place.column }
}
