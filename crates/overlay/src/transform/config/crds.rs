//! Field specs from type definitions: the `crds` field of a kustomization.
//!
//! As in kustomize, the documents are OpenAPI definitions by type name, not CustomResourceDefinitions.

use smol_str::{SmolStr, format_smolstr};

use super::transformer_config::TransformerConfig;
use crate::transform::field_spec::{FieldSpec, NameBackReference};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::yaml::{Map, Node};

/// Returns the field specs that a document of `crds` defines.
///
/// # Errors
/// A definition is not a map, specs contradict each other, or definitions refer to each other in a cycle.
pub fn config_from_crds(document: &Node) -> Result<TransformerConfig> {
    let mut config = TransformerConfig::default();
    if document.is_null() {
        return Ok(config);
    }
    let definitions = document.as_map().ok_or_else(|| not_definitions(document))?;
    for (name, definition) in definitions.iter() {
        if definition.as_map().is_none() && !definition.is_null() {
            return Err(not_definitions(definition));
        }
        let is_kind =
            |map: &Map| ["kind", "apiVersion", "metadata"].iter().all(|field| map.contains_key(field));
        if properties(definition).is_some_and(is_kind) {
            let kind = name.rsplit('.').next().unwrap_or(name);
            let mut reader =
                DefinitionReader { definitions, kind: kind.into(), config: TransformerConfig::default() };
            reader.read(name, &mut Vec::new()).map_err(|d| d.at(definition.span()))?;
            config = config.merge(&reader.config)?;
        }
    }
    Ok(config)
}

fn not_definitions(node: &Node) -> Diagnostic {
    let message = format!("expected OpenAPI definitions by type name, found {}", node.type_name());
    Diagnostic::error(Code::WrongType, message)
        .at(node.span())
        .help("`crds` takes OpenAPI definitions; list CustomResourceDefinitions under `resources`")
}

/// Returns `Schema.properties` of a definition. Field names are case-insensitive, as in Go's decoder.
fn properties(definition: &Node) -> Option<&Map> {
    let schema = definition.as_map()?.iter().find(|(key, _)| key.eq_ignore_ascii_case("schema"))?.1;
    schema.get("properties")?.as_map()
}

/// The maximum depth of references between definitions. kustomize never returns from a cycle.
const MAX_DEPTH: usize = 50;

struct DefinitionReader<'d> {
    definitions: &'d Map,
    /// The kind that owns the fields.
    kind: SmolStr,
    config: TransformerConfig,
}

impl<'d> DefinitionReader<'d> {
    /// Reads the properties of a type at a path below the kind.
    fn read(&mut self, type_name: &str, path: &mut Vec<&'d str>) -> Result<()> {
        if path.len() > MAX_DEPTH {
            let message = format!("the definitions of `{}` refer to each other in a cycle", self.kind);
            return Err(Diagnostic::error(Code::Cycle, message));
        }
        let Some(properties) = self.definitions.get(type_name).and_then(properties) else { return Ok(()) };
        for (name, property) in properties.iter() {
            path.push(name);
            self.read_extensions(property, path)?;
            if let Some(reference) = property.get("$ref").and_then(Node::as_str) {
                self.read(reference, path)?;
            }
            path.pop();
        }
        Ok(())
    }

    /// Adds the field specs of the extensions of a property.
    fn read_extensions(&mut self, property: &Node, path: &[&str]) -> Result<()> {
        let extension = |name: &str| property.get(name).and_then(Node::as_str);
        let config = &mut self.config;
        let field = FieldSpec { kind: self.kind.clone(), ..FieldSpec::for_all_kinds(&path.join("/")) };
        if extension("x-kubernetes-annotation").is_some() {
            config.common_annotations = config.common_annotations.with(field.clone())?;
        }
        if extension("x-kubernetes-label-selector").is_some() {
            config.common_labels = config.common_labels.with(field.clone())?;
        }
        if extension("x-kubernetes-identity").is_some() {
            config.name_prefix = config.name_prefix.with(field.clone())?;
        }
        let (version, kind) =
            (extension("x-kubernetes-object-ref-api-version"), extension("x-kubernetes-object-ref-kind"));
        if let (Some(version), Some(kind)) = (version, kind) {
            let key = extension("x-kubernetes-object-ref-name-key").unwrap_or("name");
            let target = NameBackReference {
                version: version.into(),
                kind: kind.into(),
                field_specs: vec![FieldSpec { path: format_smolstr!("{}/{key}", field.path), ..field }],
                ..NameBackReference::default()
            };
            config.name_reference = config.name_reference.with(target)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transform::testing::nodes;

    fn read(text: &str) -> Result<TransformerConfig> {
        config_from_crds(&nodes(text)[0])
    }

    fn paths(specs: &[FieldSpec]) -> Vec<String> {
        specs.iter().map(|s| format!("{}:{}", s.kind, s.path)).collect()
    }

    #[test]
    fn extensions_of_nested_types_become_field_specs() {
        let config = read(
            r#"
"example.com/v1.Bee":
  schema:
    properties:
      apiVersion: {type: string}
      kind: {type: string}
      metadata: {$ref: elsewhere}
      spec: {$ref: example.com/v1.BeeSpec}
      note: {x-kubernetes-annotation: ""}
"example.com/v1.BeeSpec":
  Schema:
    properties:
      flower: {x-kubernetes-object-ref-api-version: v1, x-kubernetes-object-ref-kind: Flower}
      hive:
        x-kubernetes-object-ref-api-version: v1
        x-kubernetes-object-ref-kind: Hive
        x-kubernetes-object-ref-name-key: hiveName
      selector: {x-kubernetes-label-selector: ""}
      id: {x-kubernetes-identity: "", x-kubernetes-annotation: 1}
"#,
        )
        .expect("definitions");
        assert_eq!(paths(config.common_annotations.as_slice()), ["Bee:note"]);
        assert_eq!(paths(config.common_labels.as_slice()), ["Bee:spec/selector"]);
        assert_eq!(paths(config.name_prefix.as_slice()), ["Bee:spec/id"]);
        let references = config.name_reference.as_slice();
        let targets: Vec<_> = references.iter().map(|r| (r.kind.as_str(), paths(&r.field_specs))).collect();
        let want = [("Flower", "Bee:spec/flower/name"), ("Hive", "Bee:spec/hive/hiveName")];
        assert_eq!(targets, want.map(|(kind, path)| (kind, vec![path.to_string()])));
    }

    #[test]
    fn cycles_and_crd_manifests_are_rejected() {
        let error = read(
            "
A: {Schema: {properties: {kind: {}, apiVersion: {}, metadata: {}, b: {$ref: B}}}}
B: {Schema: {properties: {a: {$ref: A}}}}
",
        )
        .expect_err("a cycle");
        assert_eq!(error.code(), Code::Cycle);
        let error =
            read("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}").expect_err("a CRD");
        assert_eq!(error.code(), Code::WrongType);
    }
}
