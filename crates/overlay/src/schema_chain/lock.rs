//! Schemas that a lock file has: what a server said of one kind, kept word for word.
//!
//! Knows neither lock files nor servers.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use smp_files::hex;
use smp_merge::schema::openapi::read_document;
use smp_merge::schema::{Gvk, TypeGraph};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::path::unescape;
use smp_text::yaml::Node;

/// The schema of a kind, and where it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LockedSchema {
    /// The kind.
    #[serde(serialize_with = "gvk_fields")]
    pub gvk: Gvk,
    /// The server and the document on it, without secrets.
    pub source: String,
    /// The version that the server calls itself.
    pub server_version: String,
    /// The SHA-256 of the schema's JSON: without white space, its fields sorted.
    pub sha256: String,
    /// An OpenAPI document that has the kind and what it refers to.
    pub schema: Value,
}

fn gvk_fields<S: Serializer>(gvk: &Gvk, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    kind_of(gvk).serialize(serializer)
}

impl LockedSchema {
    /// A schema and its checksum.
    #[must_use]
    pub fn new(gvk: Gvk, source: String, server_version: String, schema: Value) -> Self {
        let sha256 = hex(&Sha256::digest(schema.to_string()));
        Self { gvk, source, server_version, sha256, schema }
    }

    /// Returns the graph that has the kind, and no other kind that the document may define.
    ///
    /// # Errors
    /// The document cannot be read, or has another kind.
    pub fn graph(&self) -> Result<TypeGraph> {
        let mut model = read_document(&Node::from(&self.schema))?;
        model.kinds.retain(|gvk, _| *gvk == self.gvk);
        let graph = model.compile()?;
        if graph.kind(&self.gvk).is_none() {
            let message = format!("the locked schema of {} has no such kind", self.gvk);
            return Err(Diagnostic::error(Code::NoSchema, message));
        }
        Ok(graph)
    }
}

/// The part of an OpenAPI document, v2 or v3, that says what a kind is: its definition and those that it refers
/// to, without descriptions, and of the paths what tells its scope and its plural. None when it has no such kind.
#[must_use]
pub fn part_of_document(document: &Value, gvk: &Gvk) -> Option<Value> {
    let (home, pointer) = match document.get("definitions") {
        Some(_) => ("definitions", "/definitions"),
        None => ("components", "/components/schemas"),
    };
    let definitions = document.pointer(pointer)?.as_object()?;
    let (name, _) = definitions.iter().find(|(_, definition)| names_kind(definition, gvk))?;
    let mut kept = Map::new();
    let mut pending = vec![name.clone()];
    while let Some(name) = pending.pop() {
        let Some(definition) = definitions.get(&name).filter(|_| !kept.contains_key(&name)) else { continue };
        let definition = without_descriptions(definition);
        references(&definition, &mut pending);
        kept.insert(name, definition);
    }
    let kept = if home == "components" { serde_json::json!({ "schemas": kept }) } else { kept.into() };
    let mut part = Map::from_iter([(home.to_string(), kept), ("paths".to_string(), paths(document, gvk))]);
    for field in ["openapi", "swagger"] {
        if let Some(version) = document.get(field) {
            part.insert(field.to_string(), version.clone());
        }
    }
    Some(part.into())
}

const KIND: &str = "x-kubernetes-group-version-kind";

fn is_kind(value: &Value, gvk: &Gvk) -> bool {
    let text = |field: &str| value.get(field).and_then(Value::as_str).unwrap_or_default();
    (text("group"), text("version"), text("kind")) == (&gvk.group, &gvk.version, &gvk.kind)
}

fn names_kind(definition: &Value, gvk: &Gvk) -> bool {
    let kinds = definition.get(KIND).and_then(Value::as_array);
    kinds.is_some_and(|kinds| kinds.iter().any(|kind| is_kind(kind, gvk)))
}

/// A schema without texts that say nothing to programs. Values of `default` and `enum` stay as they are.
fn without_descriptions(schema: &Value) -> Value {
    match schema {
        Value::Array(entries) => entries.iter().map(without_descriptions).collect(),
        Value::Object(fields) => {
            // Below `properties` a description is a schema, and no text.
            let is_said = |name: &str, value: &Value| name != "description" || !value.is_string();
            let kept = fields.iter().filter(|(name, value)| is_said(name, value));
            let field = |(name, value): (&String, &Value)| match name.as_str() {
                "default" | "enum" => (name.clone(), value.clone()),
                _ => (name.clone(), without_descriptions(value)),
            };
            Value::Object(kept.map(field).collect())
        }
        scalar => scalar.clone(),
    }
}

/// The names of the definitions that a schema refers to.
fn references(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Array(entries) => entries.iter().for_each(|entry| references(entry, names)),
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                let name = reference.rsplit('/').next().unwrap_or(reference);
                names.push(unescape(name).into_owned());
            }
            fields.values().for_each(|value| references(value, names));
        }
        _ => {}
    }
}

/// The paths of a kind, with what says that they are its own.
fn paths(document: &Value, gvk: &Gvk) -> Value {
    let all = document.get("paths").and_then(Value::as_object).into_iter().flatten();
    let own = all.filter_map(|(path, item)| {
        let operations = item.as_object()?.iter();
        let of_kind =
            operations.filter(|(_, operation)| operation.get(KIND).is_some_and(|k| is_kind(k, gvk)));
        let kept: Map<String, Value> =
            of_kind.map(|(name, _)| (name.clone(), serde_json::json!({ KIND: kind_of(gvk) }))).collect();
        (!kept.is_empty()).then(|| (path.clone(), Value::Object(kept)))
    });
    Value::Object(own.collect())
}

fn kind_of(gvk: &Gvk) -> Value {
    serde_json::json!({"group": gvk.group.as_str(), "version": gvk.version.as_str(), "kind": gvk.kind.as_str()})
}

#[cfg(test)]
mod tests;
