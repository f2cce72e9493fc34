//! Reads schema files of any supported format: compiled, OpenAPI, JSON Schema, or CRDs.

use std::path::Path;

use super::compile;
use super::graph::FORMAT;
use super::openapi::{is_crd, read_crd, read_document};
use super::{Model, TypeGraph};
use smp_text::diagnostic::{Code, Diagnostic, Result};
use smp_text::source::SourceMap;
use smp_text::yaml::{Node, ParseOptions, decode, parse_documents};

/// Reads and compiles the bytes of a schema file.
///
/// If a file contains several YAML documents, all manifests but CRDs are ignored, as in published installation files.
pub fn read_schema(name: &Path, bytes: Vec<u8>, sources: &SourceMap) -> Result<TypeGraph> {
    if is_compiled(&bytes) {
        return TypeGraph::from_bytes(bytes).map_err(|error| error.note(in_file(name)));
    }
    read_model(name, bytes, sources)?.compile()
}

/// Returns true if the bytes start like a compiled schema of any version.
#[must_use]
pub fn is_compiled(bytes: &[u8]) -> bool {
    bytes.starts_with(FORMAT)
}

/// Reads the bytes of a schema file into a model, which can be merged with others before it is compiled.
pub fn read_model(name: &Path, bytes: Vec<u8>, sources: &SourceMap) -> Result<Model> {
    if is_compiled(&bytes) {
        return Ok(Model::from_graph(&read_schema(name, bytes, sources)?));
    }
    let id = sources.add(name, decode(bytes).map_err(|error| error.note(in_file(name)))?);
    let documents = parse_documents(sources, id, ParseOptions::kubectl())?;
    let mut models = Vec::new();
    for document in documents.iter().filter(|document| !is_other_manifest(document)) {
        models.push(if is_crd(document) { read_crd(document)? } else { read_document(document)? });
    }
    if models.is_empty() {
        return Err(Diagnostic::error(Code::InvalidValue, format!("{} contains no schema", name.display()))
            .help(
                "a schema file must be OpenAPI, JSON Schema, CustomResourceDefinitions or a compiled schema",
            ));
    }
    Ok(compile::merge(models))
}

fn in_file(name: &Path) -> String {
    format!("in the schema file {}", name.display())
}

fn is_other_manifest(document: &Node) -> bool {
    let has = |key| document.get(key).is_some();
    document.is_null() || (has("apiVersion") && has("kind") && !is_crd(document))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::{Gvk, Schema};

    fn read(text: &[u8]) -> Result<TypeGraph> {
        read_schema(Path::new("schema.yaml"), text.to_vec(), &SourceMap::default())
    }

    #[test]
    fn crds_are_read_among_other_manifests() {
        let crd = |kind: &str| {
            format!(
                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {{group: a.b, names: \
                 {{kind: {kind}}}, versions: [{{name: v1, schema: {{openAPIV3Schema: {{type: object}}}}}}]}}\n"
            )
        };
        let text = format!("---\n{}---\napiVersion: v1\nkind: Namespace\n---\n{}", crd("A"), crd("B"));
        let graph = read(text.as_bytes()).expect("readable");
        let kinds: Vec<String> = graph.kinds().map(|(gvk, _)| gvk.to_string()).collect();
        assert_eq!(kinds, ["a.b/v1 A", "a.b/v1 B"]);
    }

    #[test]
    fn compiled_schemas_are_opened_unchanged() {
        let schema = Schema::embedded();
        let (_, graph) = schema.graphs().next().expect("one");
        let mut stored = graph.to_bytes();
        let again = read(&stored).expect("readable");
        assert!(again.kind(&Gvk::from_manifest("v1", "Pod")).is_some());
        stored[5000] ^= 1;
        let [changed, older] = [stored, b"smpgrph\x01 and so on".to_vec()].map(|bytes| read(&bytes));
        for error in [changed.expect_err("a bit is wrong"), older.expect_err("another version")] {
            assert_eq!(error.notes(), ["in the schema file schema.yaml"], "{error}");
            assert!(error.message().starts_with("invalid compiled schema: "), "{error}");
        }
    }

    #[test]
    fn files_without_a_schema_are_rejected() {
        for text in ["", "---\n", "apiVersion: v1\nkind: Namespace\n", "a: [", "just text", "\u{0}"] {
            assert!(read(text.as_bytes()).is_err(), "{text:?}");
        }
        assert!(read(&[0xff, 0xfe, 0x00]).is_err());
        assert!(read(b"{\"openapi\": \"3.0.0\", \"components\": {\"schemas\": {}}}").is_ok());
    }
}
