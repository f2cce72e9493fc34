//! Builds of custom resources with schemas from a lock file do not depend on the machine.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use kubectl_smp_testing::program;
use serde_json::json;
use smp_files::MemoryTree;
use smp_merge::schema::{Gvk, NamedKind, Schema, SchemaSource, TypeGraph};
use smp_overlay::overlay::{BuildOptions, Builder, Built, ChainPurpose, LockFile, LockSource, Targets};
use smp_overlay::schema_chain::{LockedSchema, SchemaChain};
use smp_text::diagnostic::{Code, Diagnostic, Severity};
use smp_text::source::SourceMap;

const BASE: &str = "\
apiVersion: ex.io/v1
kind: Gadget
metadata: {name: g}
spec: {ports: [{port: 53}, {port: 80}]}
";
const PATCH: &str = "\
apiVersion: ex.io/v1
kind: Gadget
metadata: {name: g}
spec: {ports: [{port: 80, name: web}]}
";
const KUSTOMIZATION: &str = "\
resources: [base.yaml]
patches: [{path: patch.yaml}]
";

/// A schema with atomic lists of containers.
fn deployments() -> serde_json::Value {
    let containers =
        json!({"type": "array", "x-kubernetes-list-type": "atomic", "items": {"type": "object"}});
    let template = json!({"type": "object", "properties": {"spec": {
        "type": "object", "properties": {"containers": containers},
    }}});
    json!({
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"template": template}}},
        "x-kubernetes-group-version-kind": [{"group": "apps", "version": "v1", "kind": "Deployment"}],
    })
}

fn locked(api_version: &str, kind: &str, definitions: &serde_json::Value) -> LockedSchema {
    let document = json!({"openapi": "3.0.0", "components": {"schemas": definitions}});
    let gvk = Gvk::from_manifest(api_version, kind);
    LockedSchema::new(gvk, "/openapi/v3".into(), "v1.36.0".into(), document)
}

/// A lock file with the schema of a built-in kind.
fn lock_of_deployments() -> String {
    let schemas = vec![locked("apps/v1", "Deployment", &json!({"apps.v1.Deployment": deployments()}))];
    LockFile { schemas, ..LockFile::default() }.to_text().expect("a text")
}

fn gadget() -> serde_json::Value {
    let ports = json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port"],
        "items": {"type": "object", "properties": {"port": {"type": "integer"}, "name": {"type": "string"}}}});
    json!({
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"ports": ports}}},
        "x-kubernetes-group-version-kind": [{"group": "ex.io", "version": "v1", "kind": "Gadget"}],
    })
}

fn lock() -> String {
    let schemas = vec![locked("ex.io/v1", "Gadget", &json!({"io.ex.v1.Gadget": gadget()}))];
    LockFile { schemas, ..LockFile::default() }.to_text().expect("a text")
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
fn custom_resources_merge_with_the_schema_in_the_lock_file() {
    let lock = lock();
    for locked in [false, true] {
        let built = build(Some(&lock), locked).expect("built");
        assert!(built.warnings.is_empty(), "{:?}", built.warnings);
        let text = built.to_yaml().expect("a text");
        assert!(text.contains("port: 53\n") && text.contains("name: web\n    port: 80\n"), "{text}");
    }
}

#[test]
fn locked_build_fails_instead_of_replacing_a_list_without_a_schema() {
    let built = build(None, false).expect("built, with a warning");
    assert_eq!(built.warnings.iter().map(Diagnostic::code).collect::<Vec<_>>(), [Code::NoSchema]);
    let problem = build(None, true).expect_err("a schema is missing");
    assert_eq!(problem.code(), Code::NoSchema);
    assert!(problem.help_text().is_some_and(|help| help.contains("lock --pin-schemas cluster")), "{problem}");
    assert!(!problem.labels().is_empty(), "it has a place");
}

/// A schema source, such as a cluster or a cache, that knows the kind.
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

/// Builds the patch over the base as a plain directory or as a stream.
fn build_plain(lock: Option<&str>, locked: bool, is_stream: bool) -> Result<Built, Diagnostic> {
    let mut files = vec![("base/gadget.yaml", BASE), ("over/gadget.yaml", PATCH)];
    files.extend(lock.map(|text| ("smp.lock", text)));
    let mut options = BuildOptions::default().tree(Arc::new(MemoryTree::new(files)?));
    options.locked = locked;
    options.bases = vec!["base".into()];
    let make_chain = |used| {
        let chain = SchemaChain::from_schema(Schema::embedded());
        Ok(if used == ChainPurpose::Manifests { chain.with_source(Elsewhere) } else { chain })
    };
    let builder = Builder::with_chain(SourceMap::default(), options, Box::new(make_chain), Targets::One)?;
    if is_stream { builder.build_stream(Path::new("-"), PATCH) } else { builder.build(Path::new("over")) }
}

#[test]
fn locked_build_of_a_plain_directory_uses_only_locked_schemas() {
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
fn schema_edited_by_hand_is_rejected() {
    let lock = lock().replace("\"port\"\n", "\"name\"\n").replace("[\"port\"]", "[\"name\"]");
    assert!(build(Some(&lock), false).is_err());
}

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: web, image: a}, {name: sidecar, image: s}]}}}
";
const NEW_IMAGE: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {template: {spec: {containers: [{name: web, image: b}]}}}
";

#[test]
fn locked_schema_of_a_built_in_kind_is_an_error() {
    let lock = lock_of_deployments();
    let line = 1 + lock.lines().position(|line| line.contains("\"gvk\"")).expect("an entry");
    let home = program::temp_dir(&[
        ("base/web.yaml", DEPLOYMENT),
        ("over/web.yaml", NEW_IMAGE),
        ("over/smp.lock", &lock),
        ("k/kustomization.yaml", "resources: [web.yaml]"),
        ("k/web.yaml", DEPLOYMENT),
        ("k/smp.lock", &lock),
    ]);
    for target in ["over", "k"] {
        for flags in [&[][..], &["--locked", "--strict"], &["--dialect", "kustomize"]] {
            let output = program::run(home.path(), &[&["build", target], flags].concat());
            let diagnostics = String::from_utf8(output.stderr).expect("text");
            assert_eq!(
                (output.status.code(), output.stdout.as_slice()),
                (Some(1), &b""[..]),
                "{diagnostics}"
            );
            let location = format!("{target}/smp.lock:{line}:");
            assert!(diagnostics.contains("apps/v1 Deployment is built into Kubernetes"), "{diagnostics}");
            assert!(
                diagnostics.contains(&location) && diagnostics.contains("`kubectl smp lock`"),
                "{diagnostics}"
            );
        }
        // The command in the help text fixes the error.
        let output = program::run(home.path(), &["lock", target]);
        assert!(output.status.success(), "{output:?}");
        let output = program::run(home.path(), &["build", target, "--locked", "--strict"]);
        assert!(program::stdout(&output).contains("name: sidecar"), "{output:?}");
        assert!(
            !fs::read_to_string(home.path().join(target).join("smp.lock")).expect("there").contains("apps")
        );
    }
}

#[test]
fn locked_schema_applies_only_to_its_own_kind() {
    let definitions = json!({"io.ex.v1.Gadget": gadget(), "apps.v1.Deployment": deployments()});
    let schemas = vec![locked("ex.io/v1", "Gadget", &definitions)];
    let lock = LockFile { schemas, ..LockFile::default() }.to_text().expect("a text");
    let files = [
        ("base/web.yaml", DEPLOYMENT),
        ("base/gadget.yaml", BASE),
        ("over/web.yaml", NEW_IMAGE),
        ("over/gadget.yaml", PATCH),
        ("over/smp.lock", &lock),
    ];
    let options = BuildOptions::default().tree(Arc::new(MemoryTree::new(files).expect("files")));
    let built = Builder::new(options).and_then(|builder| builder.build(Path::new("over"))).expect("built");
    let text = built.to_yaml().expect("a text");
    insta::assert_snapshot!(text, @r"
    apiVersion: ex.io/v1
    kind: Gadget
    metadata:
      name: g
    spec:
      ports:
      - port: 53
      - name: web
        port: 80
    ---
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: web
    spec:
      template:
        spec:
          containers:
          - image: b
            name: web
          - image: s
            name: sidecar
    ");
}

#[test]
fn schemas_from_a_lock_file_above_the_target_are_noted() {
    let unpatched = "resources: [base.yaml]\n";
    let lock = lock();
    let files = [
        ("base/gadget.yaml", BASE),
        ("over/gadget.yaml", PATCH),
        ("k/kustomization.yaml", KUSTOMIZATION),
        ("k/base.yaml", BASE),
        ("k/patch.yaml", PATCH),
        ("unpatched/kustomization.yaml", unpatched),
        ("unpatched/base.yaml", BASE),
        (
            "own/kustomization.yaml",
            "\
resources: [../unpatched]
patches: [{path: patch.yaml}]
",
        ),
        ("own/patch.yaml", PATCH),
        ("own/smp.lock", &lock),
        ("smp.lock", &lock),
    ];
    let tree = Arc::new(MemoryTree::new(files).expect("files"));
    let notes = |target: &str, options: BuildOptions| {
        let built =
            Builder::new(options.tree(tree.clone())).and_then(|builder| builder.build(Path::new(target)));
        let built = built.expect("built");
        assert!(built.warnings.iter().all(|warning| warning.severity() == Severity::Note), "{target}");
        built.warnings.iter().map(|note| note.message().to_string()).collect::<Vec<_>>()
    };
    let noted = "ex.io/v1 Gadget is merged by its schema in smp.lock, in a parent directory of the target";
    for (target, want) in [("over", &[noted][..]), ("k", &[noted]), ("unpatched", &[]), ("own", &[])] {
        assert_eq!(notes(target, BuildOptions::default()), want, "{target}");
    }
    let named = BuildOptions { lock: LockSource::File("/smp.lock".into()), ..BuildOptions::default() };
    assert!(notes("k", named).is_empty(), "the user named it");

    let home = program::temp_dir(&files);
    let output = program::run(home.path(), &["build", "k", "over", "--strict"]);
    let diagnostics = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.success(), "a note: {diagnostics}");
    assert_eq!(diagnostics.matches("note[schema-source]: ").count(), 1, "{diagnostics}");
    insta::assert_snapshot!(diagnostics, @r"
    note[schema-source]: ex.io/v1 Gadget is merged by its schema in smp.lock, in a parent directory of the target
     |
     = target: k
     = help: pass the file with --lock-file to use its schemas without this note
    ");
}
