//! OpenAPI documents of the served kinds, written from their types.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha512};
use smp_merge::schema::{Cursor, Gvk, ListType, MapType, TypeKind};

use crate::request::Request;
use crate::state::State;

/// The response to a request for a document.
pub(crate) enum Document {
    Json(Value),
    /// The path of the current document, because the request has an outdated hash.
    Moved(String),
}

/// The kind of document.
#[derive(Clone, Copy)]
enum Format {
    Swagger,
    OpenApi,
}

impl State {
    /// Returns the document of a request. Returns `None` if there is none at its path.
    pub(crate) fn openapi(&self, request: &Request) -> Option<Document> {
        if request.path == "/openapi/v2" {
            let kinds: Vec<Gvk> = self.resources.all().iter().map(|one| one.gvk.clone()).collect();
            let definitions = self.schemas(&kinds, Format::Swagger);
            let info = json!({"title": "Kubernetes", "version": "v1.36.3"});
            return Some(Document::Json(
                json!({"swagger": "2.0", "info": info, "paths": {}, "definitions": definitions}),
            ));
        }
        let rest = request.path.strip_prefix("/openapi/v3")?.trim_matches('/');
        if rest.is_empty() {
            return Some(Document::Json(self.openapi_index()));
        }
        let kinds = self.kinds_at(rest);
        if kinds.is_empty() {
            return None;
        }
        let document = self.openapi_document(&kinds);
        let (wanted, hash) = (request.parameter("hash"), hash(&document));
        if wanted.is_empty() || wanted == hash {
            return Some(Document::Json(document));
        }
        Some(Document::Moved(format!("/openapi/v3/{rest}?hash={hash}")))
    }

    fn openapi_index(&self) -> Value {
        let mut paths = Map::new();
        for resource in self.resources.all() {
            let path = path_of(&resource.gvk);
            if !paths.contains_key(&path) {
                let hash = hash(&self.openapi_document(&self.kinds_at(&path)));
                let url = format!("/openapi/v3/{path}?hash={hash}");
                paths.insert(path, json!({"serverRelativeURL": url}));
            }
        }
        json!({"paths": paths})
    }

    fn kinds_at(&self, path: &str) -> Vec<Gvk> {
        let all = self.resources.all().iter().map(|one| &one.gvk);
        all.filter(|gvk| path_of(gvk) == path).cloned().collect()
    }

    fn openapi_document(&self, kinds: &[Gvk]) -> Value {
        let mut paths = Map::new();
        for one in self.resources.all().iter().filter(|one| kinds.contains(&one.gvk)) {
            let namespace = if one.is_namespaced { "namespaces/{namespace}/" } else { "" };
            let path = format!("/{}/{namespace}{}", path_of(&one.gvk), one.plural);
            let kind = json!({"group": one.gvk.group, "version": one.gvk.version, "kind": one.gvk.kind});
            // kubectl searches this for the support of field validation.
            let parameter = |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string"}});
            let parameters = ["dryRun", "fieldManager", "fieldValidation"].map(parameter);
            let action = |action: &str| {
                json!({
                    "parameters": parameters, "x-kubernetes-action": action,
                    "x-kubernetes-group-version-kind": kind,
                })
            };
            paths.insert(format!("{path}/{{name}}"), json!({"get": action("get"), "patch": action("patch")}));
            paths.insert(path, json!({"get": action("list"), "post": action("post")}));
        }
        json!({
            "openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.3"}, "paths": paths,
            "components": {"schemas": self.schemas(kinds, Format::OpenApi)},
        })
    }

    fn schemas(&self, kinds: &[Gvk], format: Format) -> BTreeMap<String, Value> {
        let mut writer = Writer { format, schemas: BTreeMap::new() };
        for gvk in kinds {
            let cursor = self.cursor(gvk);
            let name = cursor.type_name().map_or_else(|| custom_name(gvk), str::to_string);
            let known = cursor.type_name().map_or(cursor, |_| cursor.definition());
            let mut schema = writer.schema(if known.is_known() { known } else { cursor }, false);
            schema["x-kubernetes-group-version-kind"] =
                json!([{"group": gvk.group, "version": gvk.version, "kind": gvk.kind}]);
            writer.schemas.insert(name, schema);
        }
        writer.schemas
    }
}

fn path_of(gvk: &Gvk) -> String {
    let root = if gvk.group.is_empty() { "api" } else { "apis" };
    format!("{root}/{}", gvk.api_version())
}

fn custom_name(gvk: &Gvk) -> String {
    let group: Vec<&str> = gvk.group.split('.').rev().collect();
    format!("{}.{}.{}", group.join("."), gvk.version, gvk.kind)
}

fn hash(document: &Value) -> String {
    let digest = Sha512::digest(document.to_string());
    digest.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().concat()
}

/// Writes types as schemas, and collects the definitions that they refer to.
struct Writer {
    format: Format,
    schemas: BTreeMap<String, Value>,
}

impl Writer {
    fn schema(&mut self, cursor: Cursor<'_>, may_refer: bool) -> Value {
        if let Some(name) = cursor.type_name().filter(|_| may_refer) {
            return self.reference(name, cursor);
        }
        let mut schema = Map::new();
        if let Ok(Value::Object(constraints)) = serde_json::to_value(cursor.constraints()) {
            schema.extend(constraints);
        }
        match cursor.type_kind() {
            TypeKind::Any => {}
            TypeKind::IntOrString => {
                schema.insert("x-kubernetes-int-or-string".into(), true.into());
            }
            kind => {
                schema.insert("type".into(), kind.name().into());
            }
        }
        if cursor.type_kind() == TypeKind::Array {
            let items = self.schema(cursor.element(), true);
            schema.insert("items".into(), items);
        }
        self.add_fields(cursor, &mut schema);
        add_directives(cursor, &mut schema);
        Value::Object(schema)
    }

    fn reference(&mut self, name: &str, cursor: Cursor<'_>) -> Value {
        if !self.schemas.contains_key(name) {
            self.schemas.insert(name.into(), Value::Null);
            let schema = self.schema(cursor.definition(), false);
            self.schemas.insert(name.into(), schema);
        }
        match self.format {
            Format::Swagger => json!({"$ref": format!("#/definitions/{name}")}),
            Format::OpenApi => json!({"$ref": format!("#/components/schemas/{name}")}),
        }
    }

    fn add_fields(&mut self, cursor: Cursor<'_>, schema: &mut Map<String, Value>) {
        let fields: Vec<_> = cursor.fields().collect();
        if !fields.is_empty() {
            let properties: Map<String, Value> = fields
                .into_iter()
                .map(|(name, field)| (name.to_string(), self.schema(field, true)))
                .collect();
            schema.insert("properties".into(), properties.into());
        }
        let required: Vec<&str> = cursor.required_fields().collect();
        if !required.is_empty() {
            schema.insert("required".into(), json!(required));
        }
        if cursor.additional().is_known() {
            let values = self.schema(cursor.additional(), true);
            schema.insert("additionalProperties".into(), values);
        }
    }
}

fn add_directives(cursor: Cursor<'_>, schema: &mut Map<String, Value>) {
    let mut add = |name: &str, value: Value| schema.insert(format!("x-kubernetes-{name}"), value);
    match cursor.list_type() {
        Some(ListType::Atomic) => drop(add("list-type", "atomic".into())),
        Some(ListType::Set) => drop(add("list-type", "set".into())),
        Some(ListType::Map) => {
            add("list-type", "map".into());
            add("list-map-keys", cursor.list_map_keys().collect());
        }
        None => {}
    }
    if cursor.map_type() == Some(MapType::Atomic) {
        add("map-type", "atomic".into());
    }
    if !cursor.patch_strategy().is_none() {
        add("patch-strategy", cursor.patch_strategy().to_string().into());
    }
    if let Some(key) = cursor.patch_merge_key() {
        add("patch-merge-key", key.into());
    }
    if cursor.preserves_unknown_fields() {
        add("preserve-unknown-fields", true.into());
    }
    if cursor.is_embedded_resource() {
        add("embedded-resource", true.into());
    }
    if let Some(default) = cursor.default().and_then(|text| serde_json::from_str(text).ok()) {
        schema.insert("default".into(), default);
    }
}
