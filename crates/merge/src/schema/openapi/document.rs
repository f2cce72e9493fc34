//! Reads documents with many definitions: OpenAPI v2, OpenAPI v3, JSON Schema.

use super::keywords::{gvks, list_at, map_at, str_at, wrong_type};
use super::paths;
use super::schema_object::read_schema;
use crate::schema::constraints::Constraints;
use crate::schema::directives::TypeKind;
use crate::schema::model::{KindDef, Model, TypeDef};
use crate::schema::{Gvk, Scope};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Map, Node};

const GVK: &str = "x-kubernetes-group-version-kind";

/// Reads an OpenAPI v2 or v3 document, or a JSON Schema with `$defs`.
///
/// Kinds are the definitions with `x-kubernetes-group-version-kind`. Scopes and plurals come from the paths, or
/// from a `resources` list as in kustomize's own bundle.
pub fn read_document(node: &Node) -> Result<Model> {
    let map = node.as_map().ok_or_else(|| {
        let message = format!("this is not a schema: it must be a map, not {}", node.type_name());
        Diagnostic::error(Code::WrongType, message)
            .at(node.span())
            .help("pass an OpenAPI document, a JSON Schema with definitions, or a CustomResourceDefinition")
    })?;
    let mut model = Model::default();
    for (name, definition) in definitions(node, map)?.into_iter().flat_map(Map::iter) {
        add_definition(&mut model, name, definition)?;
    }
    model.definitions.values_mut().for_each(drop_defaults);
    if map.get("swagger").is_some() {
        model.definitions.values_mut().for_each(allow_unknown_fields);
    }
    if let Some(paths) = map_at(map, "paths")? {
        paths::read_paths(paths, &mut model);
    }
    for resource in list_at(map, "resources")?.into_iter().flatten() {
        add_resource(&mut model, resource)?;
    }
    Ok(model)
}

/// Drops defaults, since the documents of API servers contain a default for most fields but the servers do not set it.
fn drop_defaults(def: &mut TypeDef) {
    if let Some(constraints) = &mut def.constraints {
        constraints.default = None;
    }
    if def.constraints.as_deref().is_some_and(Constraints::is_empty) {
        def.constraints = None;
    }
    let children =
        def.fields.values_mut().chain(def.element.as_deref_mut()).chain(def.additional.as_deref_mut());
    children.for_each(drop_defaults);
}

/// Allows any fields in OpenAPI v2 objects without properties and in values without a type, as the API server does.
fn allow_unknown_fields(def: &mut TypeDef) {
    let free = matches!(def.kind, TypeKind::Object | TypeKind::Any)
        && def.reference.is_none()
        && def.fields.is_empty()
        && def.additional.is_none();
    def.preserve_unknown_fields |= free;
    let children =
        def.fields.values_mut().chain(def.element.as_deref_mut()).chain(def.additional.as_deref_mut());
    children.for_each(allow_unknown_fields);
}

fn definitions<'n>(node: &Node, map: &'n Map) -> Result<Option<&'n Map>> {
    if let Some(components) = map_at(map, "components")? {
        // A group-version document of an API server may have no schemas.
        return map_at(components, "schemas");
    }
    let definitions = map_at(map, "definitions")?;
    let definitions = if definitions.is_none() { map_at(map, "$defs")? } else { definitions };
    definitions.map(Some).ok_or_else(|| {
        Diagnostic::error(Code::InvalidValue, "not a schema document").at(node.span()).help(
            "expected OpenAPI v2 (`definitions`), OpenAPI v3 (`components.schemas`), JSON Schema (`$defs`) or \
             a CustomResourceDefinition",
        )
    })
}

fn add_definition(model: &mut Model, name: &str, definition: &Node) -> Result<()> {
    let mut def = read_schema(definition)?;
    for gvk in definition.get(GVK).into_iter().flat_map(gvks) {
        // In JSON Schema, the kind is declared as the only allowed value of `kind`.
        for name in ["apiVersion", "kind"] {
            if let Some(field) = def.fields.get_mut(name) {
                field.constraints = None;
            }
        }
        // If a kind has two definitions, the first one is used. The definitions are sorted by name.
        model.kinds.entry(gvk).or_default().root.get_or_insert_with(|| TypeDef::reference_to(name));
    }
    model.definitions.insert(name.into(), def);
    Ok(())
}

/// Reads an entry of kustomize's bundle: `{apiVersion, kind, definition, scope}`.
fn add_resource(model: &mut Model, resource: &Node) -> Result<()> {
    let map = resource.as_map().ok_or_else(|| wrong_type(resource, "resources", "a list of maps"))?;
    let gvk = Gvk::from_manifest(
        str_at(map, "apiVersion")?.unwrap_or_default(),
        str_at(map, "kind")?.unwrap_or_default(),
    );
    let kind: &mut KindDef = model.kinds.entry(gvk).or_default();
    if let Some(name) = str_at(map, "definition")? {
        kind.root = Some(TypeDef::reference_to(name));
    }
    match str_at(map, "scope")? {
        Some("Namespaced") => kind.scope = Some(Scope::Namespaced),
        Some("Cluster") => kind.scope = Some(Scope::Cluster),
        _ => {}
    }
    Ok(())
}
