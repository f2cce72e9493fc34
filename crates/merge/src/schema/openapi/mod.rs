//! Reads OpenAPI v2, OpenAPI v3, JSON Schema and custom resource definitions into a [`Model`].
//!
//! Works on nodes from any source; knows nothing of files, caches or clusters.

mod crd;
mod document;
mod keywords;
mod paths;
mod schema_object;

pub use crd::defined_kinds;
pub use crd::read_added_kinds;
pub use crd::{is_crd, read_crd};
pub use document::read_document;

use super::Model;
use smp_text::diagnostic::Result;
use smp_text::yaml::Node;

/// Reads any supported schema document.
///
/// The supported documents are OpenAPI v2 documents (`definitions`, with or without `paths`), OpenAPI v3 documents
/// (`components.schemas`), JSON Schemas with definitions (`$defs`), and CustomResourceDefinitions.
pub fn read(node: &Node) -> Result<Model> {
    if is_crd(node) { read_crd(node) } else { read_document(node) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Cursor, Gvk, ListType, MapType, Scope, TypeGraph};
    use smp_text::source::SourceMap;
    use smp_text::yaml::{ParseOptions, parse_one};

    fn node(text: &str) -> Node {
        let sources = SourceMap::default();
        let id = sources.add("schema.yaml", text);
        parse_one(&sources, id, ParseOptions::default()).expect("test text")
    }

    fn graph(text: &str) -> TypeGraph {
        read(&node(text)).expect("readable").compile().expect("small")
    }

    fn thing(version: &str) -> Gvk {
        Gvk::from_manifest(&format!("example.com/{version}"), "Thing")
    }

    const OPENAPI_V2: &str = r##"
definitions:
  a.Thing:
    type: object
    x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Thing}]
    properties:
      spec: {$ref: "#/definitions/a.Spec", x-kubernetes-patch-strategy: retainKeys}
  a.Spec:
    type: object
    x-kubernetes-map-type: atomic
    properties:
      list:
        type: array
        items: {$ref: "#/definitions/a.Spec"}
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [a, b]
        x-kubernetes-patch-merge-key: a
        x-kubernetes-recommended-patch-merge-key: a,b
        x-kubernetes-patch-strategy: merge,retainKeys
      free: {type: object, additionalProperties: {type: integer}}
paths:
  /apis/example.com/v1/things:
    get: {x-kubernetes-group-version-kind: {group: example.com, version: v1, kind: Thing}}
  /apis/example.com/v1/namespaces/{namespace}/things/{name}:
    get: {x-kubernetes-group-version-kind: {group: example.com, version: v1, kind: Thing}}
  /apis/example.com/v1/namespaces/{namespace}/things/{name}/sub:
    post: {x-kubernetes-group-version-kind: {group: "", version: v1, kind: Sub}}
"##;

    #[test]
    fn openapi_v2_has_kinds_scopes_plurals_and_directives_next_to_references() {
        let graph = graph(OPENAPI_V2);
        assert_eq!(graph.scope(&thing("v1")), Some(Scope::Namespaced));
        assert_eq!(graph.scope(&Gvk::from_manifest("v1", "Sub")), Some(Scope::Namespaced));
        let names: Vec<Vec<&str>> = graph.kind_entries().map(|entry| entry.names().collect()).collect();
        assert_eq!(names, [vec![], vec!["things"]]);
        let spec = graph.kind(&thing("v1")).expect("known").field("spec");
        assert!(spec.patch_strategy().retain_keys && !spec.patch_strategy().merge);
        assert_eq!(spec.map_type(), Some(MapType::Atomic), "of the definition");
        let list = spec.field("list");
        assert_eq!(list.list_type(), Some(ListType::Map));
        assert_eq!(list.list_map_keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(list.patch_merge_key(), Some("a"));
        assert_eq!(list.recommended_merge_key(), Some("a,b"));
        assert!(list.patch_strategy().merge && list.patch_strategy().retain_keys);
        assert!(!list.element().patch_strategy().retain_keys);
        assert_eq!(spec.field("free").field("x").kind_name(), "integer");
    }

    #[test]
    fn openapi_v3_wraps_references_and_has_defaults() {
        let graph = graph(
            r##"
openapi: 3.0.0
components:
  schemas:
    a.Thing:
      type: object
      x-kubernetes-group-version-kind: [{group: example.com, version: v1, kind: Thing}]
      properties:
        port:
          default: {}
          x-kubernetes-patch-strategy: replace
          allOf: [{$ref: "#/components/schemas/a.Port"}]
    a.Port:
      type: object
      required: [port, mode]
      properties:
        port: {type: integer, default: 0}
        mode: {type: string, default: "x"}
        zero: {type: integer, default: 0}
        protocol: {type: string, default: TCP}
        bool: {type: boolean, default: true}
paths:
  /apis/example.com/v1/things:
    post: {x-kubernetes-group-version-kind: {group: example.com, version: v1, kind: Thing}}
"##,
        );
        assert_eq!(graph.scope(&thing("v1")), Some(Scope::Cluster));
        let port = graph.kind(&thing("v1")).expect("known").field("port");
        assert!(port.patch_strategy().replace);
        assert_eq!(port.type_name(), Some("a.Port"));
        assert_eq!(port.kind_name(), "object");
        let defaults = ["port", "mode", "zero", "protocol", "bool"].map(|key| port.key_default(key));
        assert_eq!(defaults, [None, Some("\"x\""), Some("0"), Some("\"TCP\""), Some("true")]);
    }

    #[test]
    fn a_group_version_without_schemas_is_empty() {
        let graph = graph("openapi: 3.0.0\ncomponents: {}\npaths: {}\n");
        assert_eq!(graph.kinds().count(), 0);
    }

    #[test]
    fn type_notations_are_understood() {
        let table = [
            ("{type: string}", "string"),
            ("{type: [string, 'null']}", "string"),
            ("{type: [integer, string]}", "int-or-string"),
            ("{oneOf: [{type: string}, {type: [number, 'null']}]}", "int-or-string"),
            ("{anyOf: [{type: integer}, {type: string}], x-kubernetes-int-or-string: true}", "int-or-string"),
            ("{type: string, format: int-or-string}", "int-or-string"),
            ("{type: [integer, string, number]}", "int-or-string"),
            ("{type: [integer, number]}", "number"),
            ("{type: [object, string]}", "any"),
            ("{oneOf: [{required: [a]}, {required: [b]}], type: object}", "object"),
            ("{properties: {a: {}}}", "object"),
            ("{items: {}}", "array"),
            ("{allOf: [{properties: {a: {type: string}}}, {type: object}]}", "object"),
            ("{type: nonsense}", "any"),
            ("{description: anything}", "any"),
            ("true", "any"),
        ];
        for (schema, want) in table {
            let graph = graph(&format!("$defs: {{T: {schema}}}"));
            assert_eq!(graph.named("T").map(Cursor::kind_name), Some(want), "{schema}");
        }
    }

    #[test]
    fn names_in_references_may_be_escaped() {
        let text =
            "definitions: {'a/b~c d': {type: string}, T: {items: {$ref: '#/definitions/a~1b~0c%20d'}}}";
        let graph = graph(text);
        assert_eq!(graph.named("T").expect("known").element().kind_name(), "string");
    }

    const CRD: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Thing, plural: things, singular: thing, shortNames: [th]}
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        type: object
        properties:
          metadata: {type: object}
          spec:
            type: object
            x-kubernetes-preserve-unknown-fields: true
            properties:
              items:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name, mode]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string, default: ''}, mode: {type: string, default: fast}}
              template: {type: object, x-kubernetes-embedded-resource: true, properties: {data: {}}}
  - name: v2
";

    #[test]
    fn custom_resources_have_metadata_and_merge_by_list_map_keys() {
        let graph = graph(CRD);
        assert_eq!(graph.scope(&thing("v1")), Some(Scope::Cluster));
        assert_eq!(graph.scope(&thing("v2")), Some(Scope::Cluster));
        assert!(graph.kind(&thing("v2")).is_none(), "a version without a schema");
        let root = graph.kind(&thing("v1")).expect("known");
        assert_eq!(root.type_name(), Some("com.example.v1.Thing"));
        assert_eq!(root.field("metadata").field("ownerReferences").patch_merge_key(), Some("uid"));
        let items = root.field("spec").field("items");
        assert!(root.field("spec").preserves_unknown_fields());
        assert_eq!(items.list_map_keys().collect::<Vec<_>>(), ["name", "mode"]);
        assert_eq!(items.element().key_default("mode"), Some("\"fast\""));
        assert_eq!(items.element().key_default("name"), None);
        let template = root.field("spec").field("template");
        assert!(template.is_embedded_resource() && template.has_field("data"));
        assert!(template.field("metadata").has_field("labels") && template.has_field("kind"));
        let names: Vec<&str> = graph.kind_entries().next().expect("one").names().collect();
        assert_eq!(names, ["things", "thing", "th"]);
    }

    #[test]
    fn crds_of_v1beta1_share_a_schema_or_have_a_single_version() {
        let head = "{apiVersion: apiextensions.k8s.io/v1beta1, kind: CustomResourceDefinition, spec: {\
            group: example.com, names: {kind: Thing, plural: things}, \
            validation: {openAPIV3Schema: {properties: {shared: {type: string}}}}";
        let shared = graph(&format!(
            "{head}, versions: [{{name: v1}}, {{name: v2, schema: {{openAPIV3Schema: {{properties: {{own: {{}}}}}}}}}}]}}}}"
        ));
        assert_eq!(shared.scope(&thing("v1")), Some(Scope::Namespaced));
        assert!(shared.kind(&thing("v1")).expect("known").has_field("shared"));
        assert!(!shared.kind(&thing("v2")).expect("known").has_field("shared"));
        let single = graph(&format!("{head}, version: v3}}}}"));
        assert!(single.kind(&thing("v3")).expect("known").has_field("shared"));
    }

    #[test]
    fn bad_documents_are_rejected_with_a_location() {
        let crd = |spec: &str| {
            format!("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {spec}")
        };
        let table = [
            ("[]".to_string(), "this is not a schema: it must be a map"),
            ("{a: b}".to_string(), "not a schema document"),
            ("{definitions: []}".to_string(), "definitions must be a map, not a list"),
            ("{definitions: {A: 1}}".to_string(), "schema must be a map, not an integer"),
            ("{definitions: {A: {properties: 1}}}".to_string(), "properties must be a map"),
            ("{definitions: {A: {type: 1}}}".to_string(), "type must be a string"),
            ("{definitions: {A: {$ref: {}}}}".to_string(), "$ref must be a string"),
            (
                "{definitions: {A: {x-kubernetes-list-type: maps}}}".to_string(),
                "invalid x-kubernetes-list-type \"maps\"",
            ),
            (
                "{definitions: {A: {x-kubernetes-list-map-keys: name}}}".to_string(),
                "x-kubernetes-list-map-keys must be a list, not a string",
            ),
            (
                "{definitions: {A: {x-kubernetes-list-map-keys: [1]}}}".to_string(),
                "x-kubernetes-list-map-keys must be a list of strings",
            ),
            (crd("1"), "spec must be a map"),
            (crd("{}"), "a CustomResourceDefinition must have names"),
            (crd("{names: {kind: A}}"), "a CustomResourceDefinition must have group"),
            (
                crd("{names: {kind: A}, group: b, versions: [{}]}"),
                "a CustomResourceDefinition must have name",
            ),
            (crd("{names: {kind: A}, group: b, versions: 1}"), "versions must be a list"),
            (crd("{names: {kind: A}, group: b}"), "a CustomResourceDefinition must have version"),
        ];
        for (text, want) in table {
            let error = read(&node(&text)).expect_err(&text);
            assert!(error.message().starts_with(want), "{text}: {error}");
            assert!(!error.labels().is_empty(), "{text}: no location");
        }
    }
}
