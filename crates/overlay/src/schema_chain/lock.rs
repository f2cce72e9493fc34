//! Locked schemas: the schema of one kind as a server published it, kept verbatim.
//!
//! Does not depend on lock files or servers.

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use smp_files::hex;
use smp_merge::schema::openapi::read_document;
use smp_merge::schema::{Gvk, TypeGraph};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::path::unescape;
use smp_text::yaml::Node;

/// The schema of a kind, with its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LockedSchema {
    /// The kind.
    #[serde(serialize_with = "gvk_fields")]
    pub gvk: Gvk,
    /// The server and the path of the document, without secrets.
    pub source: String,
    /// The version that the server reports.
    pub server_version: String,
    /// The SHA-256 of the schema as JSON without white space and with sorted fields.
    pub sha256: String,
    /// An OpenAPI document with the kind and the definitions that it refers to.
    pub schema: Value,
}

fn gvk_fields<S: Serializer>(gvk: &Gvk, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    kind_of(gvk).serialize(serializer)
}

impl LockedSchema {
    /// Creates a locked schema and computes its checksum.
    #[must_use]
    pub fn new(gvk: Gvk, source: String, server_version: String, schema: Value) -> Self {
        let sha256 = hex(&Sha256::digest(schema.to_string()));
        Self { gvk, source, server_version, sha256, schema }
    }

    /// Returns the graph of the kind, without other kinds that the document may define.
    ///
    /// # Errors
    /// The document cannot be read, or does not define the kind.
    pub fn graph(&self) -> Result<TypeGraph> {
        let mut model = read_document(&Node::from(&self.schema))?;
        model.kinds.retain(|gvk, _| *gvk == self.gvk);
        let graph = model.compile()?;
        if graph.kind(&self.gvk).is_none() {
            let message = format!("locked schema of {} does not define this kind", self.gvk);
            return Err(Diagnostic::error(Code::NoSchema, message));
        }
        Ok(graph)
    }
}

/// Extracts the schema of a kind from an OpenAPI document, v2 or v3. The result has the definition and those that
/// it refers to, without descriptions, and the paths from which scope and plural are derived. Returns `None` if
/// the document does not define the kind.
#[must_use]
pub fn extract_kind(document: &Value, gvk: &Gvk) -> Option<Value> {
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

/// Returns a schema without descriptions. Values of `default` and `enum` are unchanged.
fn without_descriptions(schema: &Value) -> Value {
    match schema {
        Value::Array(entries) => entries.iter().map(without_descriptions).collect(),
        Value::Object(fields) => {
            // Below `properties`, `description` is the schema of a field instead of a text.
            let is_kept = |name: &str, value: &Value| name != "description" || !value.is_string();
            let kept = fields.iter().filter(|(name, value)| is_kept(name, value));
            let field = |(name, value): (&String, &Value)| match name.as_str() {
                "default" | "enum" => (name.clone(), value.clone()),
                _ => (name.clone(), without_descriptions(value)),
            };
            Value::Object(kept.map(field).collect())
        }
        scalar => scalar.clone(),
    }
}

/// Collects the names of the definitions that a schema refers to.
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

/// Returns the paths of a kind, reduced to the marker that they belong to it.
fn paths(document: &Value, gvk: &Gvk) -> Value {
    let all = document.get("paths").and_then(Value::as_object).into_iter().flatten();
    let own = all.filter_map(|(path, item)| {
        let operations = item.as_object()?.iter();
        let own_operations =
            operations.filter(|(_, operation)| operation.get(KIND).is_some_and(|k| is_kind(k, gvk)));
        let kept: Map<String, Value> = own_operations
            .map(|(name, _)| (name.clone(), serde_json::json!({ KIND: kind_of(gvk) })))
            .collect();
        (!kept.is_empty()).then(|| (path.clone(), Value::Object(kept)))
    });
    Value::Object(own.collect())
}

fn kind_of(gvk: &Gvk) -> Value {
    serde_json::json!({"group": gvk.group.as_str(), "version": gvk.version.as_str(), "kind": gvk.kind.as_str()})
}

#[cfg(test)]
mod tests;
