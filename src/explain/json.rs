//! Blame for programs.

use serde::Serialize;
use serde_json::Value as Json;
use smol_str::SmolStr;

use super::blame::{Blame, BlamedField, BlamedPlace, BlamedRemoval, BlamedWrite, ResourceBlame};
use super::live_field::{LiveField, LiveState, UnbuiltField};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::yaml::Node;

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
    /// Whether the cluster has it, where that was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unbuilt: Option<Vec<JsonUnbuilt<'b>>>,
}

#[derive(Serialize)]
struct JsonUnbuilt<'b> {
    pointer: &'b str,
    value: Json,
    managers: &'b [SmolStr],
}

#[derive(Serialize)]
struct JsonLive<'b> {
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Json>,
    differs: bool,
    managers: &'b [SmolStr],
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
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<JsonLive<'b>>,
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
        live: (resource.live != LiveState::Unasked).then_some(resource.live == LiveState::Present),
        unbuilt: (resource.live == LiveState::Present)
            .then(|| resource.unbuilt.iter().map(unbuilt).collect()),
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
        live: field.live.as_ref().map(live),
    })
}

fn live(live: &LiveField) -> JsonLive<'_> {
    let value = live.value.as_ref().map(Node::to_json_value);
    JsonLive { value, differs: live.differs, managers: &live.managers }
}

fn unbuilt(field: &UnbuiltField) -> JsonUnbuilt<'_> {
    JsonUnbuilt { pointer: &field.pointer, value: field.value.to_json_value(), managers: &field.managers }
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
