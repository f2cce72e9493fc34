//! JSON output of blame.

use std::io;

use rayon::prelude::*;
use serde::Serialize;
use serde_json::ser::{Formatter as _, PrettyFormatter, Serializer};
use smol_str::SmolStr;

use super::blame::{Blame, BlamedField, BlamedLocation, BlamedRemoval, BlamedWrite, Blamer, ResourceBlame};
use super::live_field::{LiveField, LiveOnlyField, LiveState};
use smp_text::diagnostic::{Code, Diagnostic, Result, escaped_json};
use smp_text::yaml::{Node, Resolved};

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
    /// The presence of the object in the cluster, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<bool>,
    #[serde(rename = "liveOnly", skip_serializing_if = "Option::is_none")]
    unbuilt: Option<Vec<JsonUnbuilt<'b>>>,
}

/// Serializes a value like [`Node::to_json_value`].
struct JsonValue<'b>(&'b Node);

impl Serialize for JsonValue<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self.0.resolve() {
            // Most values are strings. They need not be copied.
            Some(Resolved::Str(text)) => serializer.serialize_str(text),
            _ => self.0.to_json_value().serialize(serializer),
        }
    }
}

#[derive(Serialize)]
struct JsonUnbuilt<'b> {
    pointer: &'b str,
    value: JsonValue<'b>,
    managers: &'b [SmolStr],
}

#[derive(Serialize)]
struct JsonLive<'b> {
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<JsonValue<'b>>,
    differs: bool,
    managers: &'b [SmolStr],
}

#[derive(Serialize)]
struct JsonField<'b> {
    pointer: &'b str,
    #[serde(flatten)]
    present: JsonWrite<'b>,
    history: Vec<JsonWrite<'b>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<JsonLive<'b>>,
}

#[derive(Serialize)]
struct JsonWrite<'b> {
    value: JsonValue<'b>,
    at: Option<JsonLocation<'b>>,
    by: &'b str,
    #[serde(rename = "in")]
    asked_in: Option<&'b str>,
}

#[derive(Serialize)]
struct JsonRemoval<'b> {
    pointer: &'b str,
    #[serde(flatten)]
    last: JsonWrite<'b>,
}

#[derive(Serialize)]
struct JsonLocation<'b> {
    file: &'b str,
    line: usize,
    column: usize,
}

/// Renders a JSON array with an element for each resource.
///
/// # Errors
/// A value cannot be represented in JSON. No build creates such a value.
pub fn blame_to_json(blame: &Blame) -> Result<String> {
    let elements = blame.resources.par_iter().map(element).collect::<Result<Vec<String>>>()?;
    Ok(parts_of(elements).concat())
}

/// Renders the same array in parts, one resource at a time, to save memory.
///
/// # Errors
/// The errors of [`blame_to_json`].
pub fn blame_to_json_parts(blamer: &Blamer<'_>) -> Result<Vec<String>> {
    let elements = blamer.each_shown(|_, resource| element(&resource));
    Ok(parts_of(elements.into_iter().collect::<Result<Vec<String>>>()?))
}

/// The separator before each element except the first.
const SEPARATOR: &str = ",\n";

/// Joins elements to the parts of an array.
fn parts_of(elements: Vec<String>) -> Vec<String> {
    let mut parts = vec!["[".to_string()];
    parts.extend(elements);
    let end = match parts.get_mut(1) {
        Some(first) => {
            // Removes the comma and keeps the line break.
            first.drain(..1);
            "\n]\n"
        }
        None => "]\n",
    };
    parts.push(end.into());
    parts
}

/// Renders an array element, including the separator before it.
fn element(blame: &ResourceBlame) -> Result<String> {
    let mut text = SEPARATOR.as_bytes().to_vec();
    text.extend_from_slice(b"  ");
    let mut layout = PrettyFormatter::new();
    let failed = |error: &dyn std::fmt::Display| {
        Diagnostic::error(Code::InvalidValue, format!("cannot be written as JSON: {error}"))
    };
    // Elements are indented by one level.
    layout.begin_array(&mut io::sink()).map_err(|error| failed(&error))?;
    let mut serializer = Serializer::with_formatter(&mut text, layout);
    resource(blame).serialize(&mut serializer).map_err(|error| failed(&error))?;
    String::from_utf8(text).map(|text| escaped_json(&text)).map_err(|error| failed(&error))
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
        live: (resource.live != LiveState::Unknown).then_some(resource.live == LiveState::Present),
        unbuilt: (resource.live == LiveState::Present)
            .then(|| resource.live_only.iter().map(unbuilt).collect()),
    }
}

fn field(field: &BlamedField) -> Option<JsonField<'_>> {
    let (present, older) = field.writes.split_first()?;
    Some(JsonField {
        pointer: &field.pointer,
        present: write(present),
        history: older.iter().map(write).collect(),
        live: field.live.as_deref().map(live),
    })
}

fn live(live: &LiveField) -> JsonLive<'_> {
    let value = live.value.as_ref().map(JsonValue);
    JsonLive { value, differs: live.differs, managers: &live.managers }
}

fn unbuilt(field: &LiveOnlyField) -> JsonUnbuilt<'_> {
    JsonUnbuilt { pointer: &field.pointer, value: JsonValue(&field.value), managers: &field.managers }
}

fn write(write: &BlamedWrite) -> JsonWrite<'_> {
    JsonWrite {
        value: JsonValue(&write.value),
        at: write.at.as_ref().map(location),
        by: &write.by,
        asked_in: write.caused_at.as_ref().map(|at| &*at.file),
    }
}

fn removal(removal: &BlamedRemoval) -> JsonRemoval<'_> {
    let asked_in = removal.caused_at.as_ref().map(|at| &*at.file);
    let last = JsonWrite { by: &removal.by, asked_in, ..write(&removal.last) };
    JsonRemoval { pointer: &removal.pointer, last }
}

fn location(location: &BlamedLocation) -> JsonLocation<'_> {
    JsonLocation { file: &location.file, line: location.line, column: location.column }
}
