//! Builds of custom resources by the schemas that a lock file has: the same wherever they are made.

#![allow(missing_docs)]

use std::path::Path;
use std::sync::Arc;

use kubectl_smp::diagnostic::{Code, Diagnostic};
use kubectl_smp::files::MemoryTree;
use kubectl_smp::overlay::{BuildOptions, Builder, Built, ChainUse, LockFile, Targets};
use kubectl_smp::schema::{Gvk, LockedSchema, NamedKind, Schema, SchemaChain, SchemaSource, TypeGraph};
use kubectl_smp::source::SourceMap;
use serde_json::json;

const BASE: &str =
    "apiVersion: ex.io/v1\nkind: Gadget\nmetadata: {name: g}\nspec: {ports: [{port: 53}, {port: 80}]}\n";
const PATCH: &str =
    "apiVersion: ex.io/v1\nkind: Gadget\nmetadata: {name: g}\nspec: {ports: [{port: 80, name: web}]}\n";
const KUSTOMIZATION: &str = "resources: [base.yaml]\npatches: [{path: patch.yaml}]\n";

fn lock() -> String {
    let ports = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"],
        "items": {"type": "object", "properties": {"port": {"type": "integer"}, "name": {"type": "string"}}}});
    let document = json!({"openapi": "3.0.0", "components": {"schemas": {"io.ex.v1.Gadget": {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"ports": ports}}},
        "x-kubernetes-group-version-kind": [{"group": "ex.io", "version": "v1", "kind": "Gadget"}],
    }}}});
    let gvk = Gvk::from_manifest("ex.io/v1", "Gadget");
    let schema = LockedSchema::new(gvk, "/openapi/v3".into(), "v1.36.0".into(), document);
    LockFile { schemas: vec![schema], ..LockFile::default() }.to_text().expect("a text")
}

fn build(lock: Option<&str>, locked: bool) -> Result<Built, Diagnostic> {
    let mut files =
        vec![("app/kustomization.yaml", KUSTOMIZATION), ("app/base.yaml", BASE), ("app/patch.yaml", PATCH)];
    files.extend(lock.map(|text| ("app/smp.lock", text)));
    let tree = MemoryTree::new(files)?;
    let mut options = BuildOptions::default().tree(Arc::new(tree));
    options.locked = locked;
    Builder::new(options)?.build(Path::new("app"))
}

#[test]
fn custom_resources_merge_by_the_schema_of_the_lock_file() {
    let lock = lock();
    for locked in [false, true] {
        let built = build(Some(&lock), locked).expect("built");
        assert!(built.warnings.is_empty(), "{:?}", built.warnings);
        let text = built.to_yaml().expect("a text");
        assert!(text.contains("port: 53\n") && text.contains("name: web\n    port: 80\n"), "{text}");
    }
}

#[test]
fn a_locked_build_replaces_no_list_for_want_of_a_schema() {
    let built = build(None, false).expect("built, with a warning");
    assert_eq!(built.warnings.iter().map(Diagnostic::code).collect::<Vec<_>>(), [Code::NoSchema]);
    let problem = build(None, true).expect_err("a schema is missing");
    assert_eq!(problem.code(), Code::NoSchema);
    assert!(problem.help_text().is_some_and(|help| help.contains("lock --schemas cluster")), "{problem}");
    assert!(!problem.labels().is_empty(), "it has a place");
}

/// A cluster or a cache, which knows the kind.
struct Elsewhere;

impl SchemaSource for Elsewhere {
    fn name(&self) -> &'static str {
        "elsewhere"
    }

    fn lookup(&self, gvk: &Gvk) -> Result<Option<Arc<TypeGraph>>, Diagnostic> {
        let lock: serde_json::Value = serde_json::from_str(&lock()).expect("the lock is JSON");
        let document = lock["schemas"][0]["schema"].clone();
        let graph = LockedSchema::new(gvk.clone(), String::new(), String::new(), document).graph()?;
        Ok(Some(Arc::new(graph)))
    }

    fn kinds(&self) -> Result<Vec<NamedKind>, Diagnostic> {
        Ok(Vec::new())
    }
}

/// Builds the patch over the base, as a plain directory or as a stream.
fn build_plain(lock: Option<&str>, locked: bool, is_stream: bool) -> Result<Built, Diagnostic> {
    let mut files = vec![("base/gadget.yaml", BASE), ("over/gadget.yaml", PATCH)];
    files.extend(lock.map(|text| ("smp.lock", text)));
    let mut options = BuildOptions::default().tree(Arc::new(MemoryTree::new(files)?));
    options.locked = locked;
    options.bases = vec!["base".into()];
    let make_chain = |used| {
        let chain = SchemaChain::of(Schema::embedded());
        Ok(if used == ChainUse::Manifests { chain.then(Elsewhere) } else { chain })
    };
    let builder = Builder::with_chain(SourceMap::default(), options, Box::new(make_chain), Targets::One)?;
    if is_stream { builder.build_stream(Path::new("-"), PATCH) } else { builder.build(Path::new("over")) }
}

#[test]
fn a_locked_build_of_a_plain_directory_takes_no_schema_from_elsewhere() {
    let without = LockFile::default().to_text().expect("a text");
    for is_stream in [false, true] {
        let built = build_plain(None, false, is_stream).expect("built");
        assert!(built.to_yaml().expect("a text").contains("port: 53"), "it is known elsewhere");
        for text in [None, Some(without.as_str())] {
            let problem = build_plain(text, true, is_stream).expect_err("a schema is missing");
            assert_eq!(problem.code(), Code::NoSchema);
        }
        let built = build_plain(Some(&lock()), true, is_stream).expect("built");
        assert!(built.to_yaml().expect("a text").contains("port: 53"), "the lock has it");
    }
}

#[test]
fn a_schema_that_was_changed_by_hand_is_refused() {
    let lock = lock().replace("\"port\"\n", "\"name\"\n").replace("[\"port\"]", "[\"name\"]");
    assert!(build(Some(&lock), false).is_err());
}
