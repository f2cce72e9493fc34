//! Reads custom resource definitions, `apiextensions.k8s.io/v1` and `v1beta1`.

use std::collections::BTreeMap;

use smol_str::{SmolStr, format_smolstr};

use super::keywords::{list_at, map_at, str_at, strings_at, wrong_type};
use super::schema_object::read_schema;
use crate::schema::constraints::Constraints;
use crate::schema::directives::TypeKind;
use crate::schema::embedded::{self, is_built_in};
use crate::schema::model::{KindDef, Model, TypeDef};
use crate::schema::{Gvk, Scope};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Map, Node, Resolved};

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// Returns true if a manifest is a CustomResourceDefinition.
#[must_use]
pub fn is_crd(node: &Node) -> bool {
    let text = |key| node.get(key).and_then(Node::as_str).unwrap_or_default();
    Gvk::from_manifest(text("apiVersion"), text("kind")).is_crd()
}

/// Reads the kinds that a CustomResourceDefinition defines, one for each version.
///
/// As on an API server, `metadata` always has the fields of ObjectMeta, whatever the schema declares for it. For a
/// version without a schema, only the scope is known.
pub fn read_crd(node: &Node) -> Result<Model> {
    let definition = DefinedKinds::read(node)?;
    let mut model = Model::default();
    for version in &definition.versions {
        let gvk = definition.gvk(version);
        let (scope, names) = (definition.scope, definition.names.clone());
        let mut def = KindDef { root: None, scope, names };
        if let Some(schema) = version.schema {
            let name = type_name(&gvk);
            let mut root = read_object(schema, &mut model)?;
            if definition.preserves_unknown_fields {
                preserve_unknown_fields(&mut root);
                root.constraints.get_or_insert_default().keeps_nulls = true;
            }
            model.definitions.insert(name.clone(), root);
            def.root = Some(TypeDef::reference_to(name));
        }
        model.kinds.insert(gvk, def);
    }
    Ok(model)
}

/// Reads the kinds that a CustomResourceDefinition adds to Kubernetes. As on an API server, the definition cannot
/// change a built-in kind.
pub fn read_added_kinds(node: &Node) -> Result<Model> {
    let mut model = read_crd(node)?;
    model.kinds.retain(|gvk, _| !is_built_in(gvk));
    Ok(model)
}

/// Returns the kinds that a CustomResourceDefinition defines, one for each version, without reading their schemas.
pub fn defined_kinds(node: &Node) -> Result<Vec<crate::schema::NamedKind>> {
    let definition = DefinedKinds::read(node)?;
    let kind = |version| crate::schema::NamedKind {
        gvk: definition.gvk(version),
        scope: definition.scope,
        names: definition.names.clone(),
    };
    Ok(definition.versions.iter().map(kind).collect())
}

/// The parts of a CustomResourceDefinition that apply to all versions.
struct DefinedKinds<'n> {
    group: &'n str,
    kind: &'n str,
    scope: Option<Scope>,
    /// The plural, the singular and the short names.
    names: Vec<SmolStr>,
    versions: Vec<Version<'n>>,
    /// `spec.preserveUnknownFields`. The default is true in `v1beta1` and false in `v1`.
    preserves_unknown_fields: bool,
}

impl<'n> DefinedKinds<'n> {
    fn read(node: &'n Node) -> Result<Self> {
        let spec = required_map(node, "spec")?;
        let names = required_map(spec.node, "names")?;
        Ok(Self {
            group: required_str(&spec, "group")?,
            kind: required_str(&names, "kind")?,
            scope: scope(spec.map)?,
            names: other_names(names.map)?,
            versions: versions(&spec)?,
            preserves_unknown_fields: preserves_unknown_fields(node, spec.map),
        })
    }

    fn gvk(&self, version: &Version<'_>) -> Gvk {
        Gvk { group: self.group.into(), version: version.name.into(), kind: self.kind.into() }
    }
}

/// Returns `spec.preserveUnknownFields`. The default is true in `v1beta1` and false in `v1`.
fn preserves_unknown_fields(definition: &Node, spec: &Map) -> bool {
    if let Some(Some(Resolved::Bool(preserves))) = spec.get("preserveUnknownFields").map(Node::resolve) {
        return preserves;
    }
    let version = definition.get("apiVersion").and_then(Node::as_str);
    version == Some("apiextensions.k8s.io/v1beta1")
}

struct MapNode<'n> {
    node: &'n Node,
    map: &'n Map,
}

fn missing(node: &Node, keyword: &str) -> Diagnostic {
    let message = format!("a CustomResourceDefinition must have {keyword}");
    Diagnostic::error(Code::MissingField, message).at(node.span()).field(keyword)
}

fn required_map<'n>(parent: &'n Node, keyword: &str) -> Result<MapNode<'n>> {
    let map = parent.as_map().ok_or_else(|| wrong_type(parent, "CustomResourceDefinition", "a map"))?;
    let found = map_at(map, keyword)?.zip(map.get(keyword));
    found.map(|(map, node)| MapNode { node, map }).ok_or_else(|| missing(parent, keyword))
}

fn required_str<'n>(at: &MapNode<'n>, keyword: &str) -> Result<&'n str> {
    let text = str_at(at.map, keyword)?.filter(|text| !text.is_empty());
    text.ok_or_else(|| missing(at.node, keyword))
}

fn scope(spec: &Map) -> Result<Option<Scope>> {
    Ok(match str_at(spec, "scope")? {
        // The default in v1beta1. In v1 the field is required.
        Some("Namespaced") | None => Some(Scope::Namespaced),
        Some("Cluster") => Some(Scope::Cluster),
        Some(_) => None,
    })
}

/// Returns the plural, the singular and the short names.
fn other_names(names: &Map) -> Result<Vec<SmolStr>> {
    let mut out: Vec<SmolStr> = Vec::new();
    out.push(str_at(names, "plural")?.unwrap_or_default().into());
    out.extend(str_at(names, "singular")?.map(SmolStr::from));
    out.extend(strings_at(names, "shortNames")?.into_iter().map(SmolStr::from));
    Ok(out)
}

struct Version<'n> {
    name: &'n str,
    schema: Option<&'n Node>,
}

/// Returns the versions and their schemas. In v1beta1, versions may share the schema `spec.validation`, and a single
/// version may be in `spec.version` and not in the list `spec.versions`.
fn versions<'n>(spec: &MapNode<'n>) -> Result<Vec<Version<'n>>> {
    let schema_in = |map: &'n Map, keyword| -> Result<Option<&'n Node>> {
        Ok(map_at(map, keyword)?.and_then(|holder| holder.get("openAPIV3Schema")).filter(|s| !s.is_null()))
    };
    let shared = schema_in(spec.map, "validation")?;
    let mut out = Vec::new();
    for node in list_at(spec.map, "versions")?.into_iter().flatten() {
        let map = node.as_map().ok_or_else(|| wrong_type(node, "versions", "a list of maps"))?;
        let name = required_str(&MapNode { node, map }, "name")?;
        out.push(Version { name, schema: schema_in(map, "schema")?.or(shared) });
    }
    if out.is_empty() {
        out.push(Version { name: required_str(spec, "version")?, schema: shared });
    }
    Ok(out)
}

/// Reads the schema of whole objects and adds the fields that every object has.
fn read_object(schema: &Node, model: &mut Model) -> Result<TypeDef> {
    let mut def = read_schema(schema)?;
    let mut metadata = None;
    if let Some(object_meta) = embedded::kubernetes().named(OBJECT_META) {
        metadata = Some(model.import(object_meta));
    }
    add_object_fields(&mut def, metadata.as_ref());
    add_embedded_object_fields(&mut def, metadata.as_ref());
    Ok(def)
}

/// Marks all parts of a schema as preserving undeclared fields.
fn preserve_unknown_fields(def: &mut TypeDef) {
    def.preserve_unknown_fields = true;
    let children = def.fields.values_mut().chain(def.element.as_deref_mut());
    children.chain(def.additional.as_deref_mut()).for_each(preserve_unknown_fields);
}

fn add_object_fields(def: &mut TypeDef, metadata: Option<&TypeDef>) {
    def.kind = TypeKind::Object;
    for name in ["apiVersion", "kind"] {
        def.fields.insert(name.into(), TypeDef::new(TypeKind::String));
    }
    if let Some(metadata) = metadata {
        let own = def.fields.remove("metadata").unwrap_or_default();
        def.fields
            .insert("metadata".into(), TypeDef { constraints: name_constraints(own), ..metadata.clone() });
    }
}

/// Returns the constraints on object names. These are the only constraints that a CRD may declare for `metadata`.
fn name_constraints(metadata: TypeDef) -> Option<Box<Constraints>> {
    let named = |(name, field): (SmolStr, TypeDef)| {
        let is_name = matches!(name.as_str(), "name" | "generateName");
        field.constraints.filter(|_| is_name).map(|constraints| (name, *constraints))
    };
    let properties: BTreeMap<SmolStr, Constraints> = metadata.fields.into_iter().filter_map(named).collect();
    (!properties.is_empty()).then(|| Box::new(Constraints { properties, ..Constraints::default() }))
}

/// Adds metadata to objects within a schema (`x-kubernetes-embedded-resource`).
fn add_embedded_object_fields(def: &mut TypeDef, metadata: Option<&TypeDef>) {
    if def.embedded_resource {
        add_object_fields(def, metadata);
    }
    let children = def.fields.values_mut().chain(def.element.as_deref_mut());
    for child in children.chain(def.additional.as_deref_mut()) {
        add_embedded_object_fields(child, metadata);
    }
}

/// Returns the name of a custom type in the OpenAPI documents of API servers: `com.example.v1.Thing`.
fn type_name(gvk: &Gvk) -> SmolStr {
    let group: Vec<&str> = gvk.group.split('.').rev().collect();
    format_smolstr!("{}.{}.{}", group.join("."), gvk.version, gvk.kind)
}
