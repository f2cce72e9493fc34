//! Strategic merge, kustomize builds, lint and server-side apply for Kubernetes.
//!
//! This is the library behind `kubectl smp`. It merges manifests exactly like the API server, kustomize and kyaml, with
//! embedded merge schemas for all built-in kinds. It builds kustomizations and plain overlay directories.
//!
//! ```
//! use kubectl_smp::patch::json::{self, PatchType};
//! use kubectl_smp::schema::Schema;
//! use serde_json::json;
//!
//! let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [
//!     {"name": "web", "image": "web:1"},
//!     {"name": "log", "image": "log:1"},
//! ]}});
//! let patch = json!({"spec": {"containers": [{"name": "web", "image": "web:2"}]}});
//!
//! json::apply(&mut pod, &patch, PatchType::Strategic, &Schema::embedded())?;
//!
//! // A JSON merge patch would have kept only the first container, and only its image.
//! assert_eq!(pod["spec"]["containers"], json!([
//!     {"name": "web", "image": "web:2"},
//!     {"name": "log", "image": "log:1"},
//! ]));
//! # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
//! ```
//!
//! - [Choosing an API](#choosing-an-api): `serde_json` values, or YAML nodes with comments and source locations
//! - [Recipes](#recipes)
//! - [Out of scope](#out-of-scope)
//! - [The crates](#the-crates)
//! - [Errors and warnings](#errors-and-warnings)
//! - [Features](#features)
//!
//! # Choosing an API
//!
//! Programs with `serde_json` values, such as controllers and fake clients, need only [`patch::json`],
//! [`merge::json`], [`managed_fields`] and [`defaults`]. All other modules work on [`yaml::Node`], which keeps comments,
//! source locations and the order of fields of manifests in files. `Node::from` converts a [`serde_json::Value`] to a
//! node, and [`Node::to_json_value`](yaml::Node::to_json_value) converts it back.
//!
//! # Recipes
//!
//! - [Patch an object like the API server](#patch-an-object-like-the-api-server)
//! - [Create a patch](#create-a-patch)
//! - [Merge a custom resource by its CRD](#merge-a-custom-resource-by-its-crd)
//! - [Build a directory](#build-a-directory)
//! - [Build from memory](#build-from-memory)
//! - [Upgrade a customized package](#upgrade-a-customized-package)
//! - [Compare two objects](#compare-two-objects)
//! - [Apply server-side without a server](#apply-server-side-without-a-server)
//! - [Inspect a schema](#inspect-a-schema)
//! - [Edit YAML and keep its comments](#edit-yaml-and-keep-its-comments)
//! - [Convert an error to a Kubernetes Status](#convert-an-error-to-a-kubernetes-status)
//!
//! ## Patch an object like the API server
//!
//! One function applies all patch types of the API server. If a patch fails, the object is unchanged. The crate
//! `kubernetes-test-server` is a complete API server in memory on top of it.
//!
//! ```
//! use kubectl_smp::patch::json::{self, PatchType};
//! use kubectl_smp::schema::Schema;
//! use serde_json::json;
//!
//! let schema = Schema::embedded();
//! let mut map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "finalizers": ["x/y"]}});
//! let patches = [
//!     ("application/strategic-merge-patch+json", json!({"metadata": {"finalizers": ["x/z"]}})),
//!     ("application/merge-patch+json", json!({"data": {"mode": "prod"}})),
//!     ("application/json-patch+json", json!([{"op": "add", "path": "/data/size", "value": "3"}])),
//! ];
//! for (content_type, patch) in patches {
//!     let patch_type = PatchType::from_content_type(content_type).expect("one of three");
//!     let warnings = json::apply(&mut map, &patch, patch_type, &schema)?;
//!     assert!(warnings.is_empty());
//! }
//! assert_eq!(map["metadata"]["finalizers"], json!(["x/z", "x/y"]));
//! assert_eq!(map["data"], json!({"mode": "prod", "size": "3"}));
//! # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
//! ```
//!
//! ## Create a patch
//!
//! A two-way patch needs two versions of an object. A three-way patch, as created by `kubectl apply`, also keeps the
//! fields that other clients added:
//!
//! ```
//! use kubectl_smp::patch::json::{self, ObjectVersions, PatchType};
//! use kubectl_smp::schema::Schema;
//! use serde_json::json;
//!
//! let schema = Schema::embedded();
//! let web = |spec| json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec});
//! let applied = web(json!({"replicas": 2, "paused": true}));
//! let wanted = web(json!({"replicas": 3}));
//! let mut live = applied.clone();
//! live["metadata"]["finalizers"] = json!(["others/one"]);
//!
//! let two_way = json::create(&applied, &wanted, PatchType::Strategic, &schema)?;
//! assert_eq!(two_way.value, json!({"spec": {"replicas": 3, "paused": null}}));
//!
//! let versions = ObjectVersions { original: &applied, modified: &wanted, current: &live };
//! let three_way = json::create_three_way(versions, PatchType::Merge, &schema)?;
//! json::apply(&mut live, &three_way.value, PatchType::Merge, &schema)?;
//! assert_eq!(live["spec"], json!({"replicas": 3}));
//! assert_eq!(live["metadata"]["finalizers"], json!(["others/one"]));
//! # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
//! ```
//!
//! ## Merge a custom resource by its CRD
//!
//! The API server rejects strategic merge patches for custom resources, although CRDs define how lists merge.
//! [`PatchRules::Overlay`](merge::PatchRules::Overlay) merges lists by the list type and list map keys of the CRD.
//!
//! ```
//! use kubectl_smp::merge::PatchRules;
//! use kubectl_smp::patch::json::{PatchType, PatchingOptions, apply_with};
//! use kubectl_smp::schema::Schema;
//! use serde_json::json;
//!
//! let crd = json!({
//!     "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
//!     "spec": {
//!         "group": "example.com", "names": {"kind": "Gadget", "plural": "gadgets"}, "scope": "Namespaced",
//!         "versions": [{"name": "v1", "schema": {"openAPIV3Schema": {"type": "object", "properties": {
//!             "ports": {
//!                 "type": "array", "x-kubernetes-list-type": "map",
//!                 "x-kubernetes-list-map-keys": ["port", "protocol"],
//!                 "items": {"type": "object", "properties": {
//!                     "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"},
//!                     "name": {"type": "string"},
//!                 }},
//!             },
//!         }}}}],
//!     },
//! });
//! let schema = Schema::embedded().with_crds(&[crd])?;
//! let mut gadget = json!({"apiVersion": "example.com/v1", "kind": "Gadget", "ports": [
//!     {"port": 53, "protocol": "UDP", "name": "dns"}, {"port": 53, "name": "dns-tcp"},
//! ]});
//! let patch = json!({"ports": [{"port": 53, "protocol": "TCP", "name": "renamed"}]});
//! let options = PatchingOptions::default().rules(PatchRules::Overlay);
//! apply_with(&mut gadget, &patch, PatchType::Strategic, &schema, &options)?;
//! assert_eq!(gadget["ports"][0]["name"], "dns");
//! assert_eq!(gadget["ports"][1]["name"], "renamed");
//! # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
//! ```
//!
//! ## Build a directory
//!
//! Builds a kustomization, or a plain directory over its base, like `kubectl smp build`. Warnings have source locations:
//!
//! ```
//! use std::path::Path;
//!
//! use kubectl_smp::overlay::{BuildOptions, Builder};
//!
//! # let target = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/kustomize/overlays/production");
//! let builder = Builder::new(BuildOptions::default())?;
//! let built = builder.build(Path::new(target))?;
//! let text = built.to_yaml()?;
//! assert!(text.contains("kind: Deployment"));
//! for warning in &built.warnings {
//!     let location = warning.labels().first().and_then(|label| builder.sources().describe(label.span));
//!     eprintln!("{}: {warning}", location.unwrap_or_default());
//! }
//! # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
//! ```
//!
//! ## Build from memory
//!
//! A build from memory needs no file system, so it also runs in WebAssembly (`examples/build_in_memory.rs`):
//!
//! ```
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! use kubectl_smp::files::MemoryTree;
//! use kubectl_smp::overlay::{BuildOptions, Builder};
//!
//! let tree = MemoryTree::new([
//!     ("base/kustomization.yaml", "resources: [map.yaml]"),
//!     ("base/map.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {mode: dev}}"),
//!     ("prod/kustomization.yaml", "resources: [../base]\nnamespace: shop\npatches: [{path: patch.yaml}]"),
//!     ("prod/patch.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {mode: prod}}"),
//! ])?;
//! let built = Builder::new(BuildOptions::default().tree(Arc::new(tree)))?.build(Path::new("prod"))?;
//! let want = "apiVersion: v1\ndata:\n  mode: prod\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: shop\n";
//! assert_eq!(built.to_yaml()?, want);
//! # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
//! ```
//!
//! ## Upgrade a customized package
//!
//! A three-way merge applies the upstream changes and keeps the local ones. Fields that both sides changed are
//! conflicts. [`package::merge3_packages`] merges whole directories and keeps their comments.
//!
//! ```
//! use kubectl_smp::merge::{MergeOptions, json};
//! use kubectl_smp::schema::Schema;
//! use serde_json::json;
//!
//! let web = |image: &str, replicas: u32, paused: bool| json!({
//!     "apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": replicas, "paused": paused,
//!         "template": {"spec": {"containers": [{"name": "web", "image": image}]}}},
//! });
//! let (before, after) = (web("web:1", 1, false), web("web:2", 2, false));
//! let local = web("web:1", 5, true);
//! let merged = json::merge3(&before, &after, &local, &Schema::embedded(), &MergeOptions::default())?;
//! // The image is from upstream, `paused` is from the local version, and both sides changed the replicas.
//! assert_eq!(merged.node, Some(web("web:2", 2, true)));
//! let conflicts: Vec<_> = merged.conflicts.iter().map(|conflict| conflict.path.to_string()).collect();
//! assert_eq!(conflicts, ["spec.replicas"]);
//! # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
//! ```
//!
//! ## Compare two objects
//!
//! Compares data, not text. List entries are matched by their merge keys, in any order:
//!
//! ```
//! use kubectl_smp::diff::compare;
//! use kubectl_smp::schema::{Gvk, Schema};
//! use kubectl_smp::yaml::Node;
//!
//! let one: Node = "{kind: Pod, spec: {containers: [{name: a, image: x}, {name: b, image: 'y'}]}}".parse()?;
//! let other: Node = "{kind: Pod, spec: {containers: [{name: b, image: z}, {name: a, image: x}]}}".parse()?;
//! let schema = Schema::embedded();
//! let pod = schema.kind(&Gvk::from_manifest("v1", "Pod")).expect("built in");
//! let comparison = compare(Some(&one), Some(&other), pod);
//! let paths: Vec<_> = comparison.changes().iter().map(|change| change.path.to_string()).collect();
//! assert_eq!(paths, ["spec.containers[name=b].image"]);
//! # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
//! ```
//!
//! ## Apply server-side without a server
//!
//! ```
//! use kubectl_smp::defaults;
//! use kubectl_smp::managed_fields::{Applied, Options, apply, extract};
//! use kubectl_smp::schema::Schema;
//! use serde_json::json;
//!
//! let schema = Schema::embedded();
//! let options = Options::new(&schema).time("2026-01-31T12:00:00Z");
//! let service = |kind: &str| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"type": kind}});
//! let mut live = apply(None, &service("NodePort"), "deployer", &options)?.into_object()?;
//! defaults::fill(&mut live, &schema);
//! assert_eq!(live["spec"]["sessionAffinity"], "None");
//!
//! // Fields of other field managers are conflicts, with the API server's messages.
//! let Applied::Conflicts(found) = apply(Some(&live), &service("ClusterIP"), "person", &options)? else { panic!("no conflict") };
//! assert_eq!(found.message(), r#"Apply failed with 1 conflict: conflict with "deployer": .spec.type"#);
//!
//! // The fields that a manager has applied form a manifest.
//! assert_eq!(extract(&live, "deployer", &options)?, Some(service("NodePort")));
//! # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
//! ```
//!
//! ## Inspect a schema
//!
//! The schema has the type of each field and the merge keys of its lists:
//!
//! ```
//! use kubectl_smp::schema::{ListType, Schema, find_kind};
//!
//! let schema = Schema::embedded();
//! let (gvk, _) = find_kind(&schema, &["svc"], None)?;
//! assert_eq!(gvk.to_string(), "v1 Service");
//! let ports = schema.kind(&gvk).expect("found").field("spec").field("ports");
//! assert_eq!(ports.list_type(), Some(ListType::Map));
//! assert_eq!(ports.list_map_keys().collect::<Vec<_>>(), ["port", "protocol"]);
//! // Strategic merge patches use another merge key.
//! assert_eq!(ports.patch_merge_key(), Some("port"));
//! # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
//! ```
//!
//! ## Edit YAML and keep its comments
//!
//! Only changed values are rewritten. All other text stays the same, byte for byte.
//!
//! ```
//! use kubectl_smp::source::{Reading, SourceMap};
//! use kubectl_smp::yaml::{Node, ParseOptions, edit_text, parse_documents};
//!
//! let text = "# The shop\nspec:\n    replicas: 2   # enough\n    image:   'web:1'\n";
//! let sources = SourceMap::default();
//! let options = ParseOptions::kubectl().with_comments();
//! let before = parse_documents(&sources, sources.add("web.yaml", text), options)?;
//! let mut after = before.clone();
//! let replicas = after[0].get_mut("spec").and_then(|spec| spec.get_mut("replicas")).expect("exists");
//! replicas.value = Node::int(3).value;
//! let after: Vec<_> = after.into_iter().map(Some).collect();
//! let edited = edit_text(text, Reading::Kubectl, &before, &after)?;
//! assert_eq!(edited, "# The shop\nspec:\n    replicas: 3   # enough\n    image:   'web:1'\n");
//! # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
//! ```
//!
//! ## Convert an error to a Kubernetes Status
//!
//! ```
//! use kubectl_smp::patch::json::{self, PatchType};
//! use kubectl_smp::schema::Schema;
//! use serde_json::json;
//!
//! let mut map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
//! let patch = json!([{"op": "remove", "path": "/data"}]);
//! let error = json::apply(&mut map, &patch, PatchType::Json, &Schema::embedded()).expect_err("no data");
//! let status = error.to_status();
//! assert_eq!(status["kind"], "Status");
//! assert_eq!((&status["code"], &status["reason"]), (&json!(422), &json!("Invalid")));
//! assert_eq!(status["message"], error.to_string());
//! ```
//!
//! # Out of scope
//!
//! - A general client: the feature `cluster` only covers the needs of `kubectl smp`. Use kube-rs for everything else.
//! - Validation during a merge: a merge checks only the fields that it needs. Use [`validate`] for the result.
//! - Defaulting during a merge: absent fields stay absent. Only the defaults of merge keys are used to match list
//!   entries. [`defaults::fill`] sets the defaults of the API server.
//! - Templates: Helm charts are rendered by helm, if it is enabled.
//! - A general YAML library: YAML is read and written exactly as kustomize and kubectl do, including their limits.
//!
//! # The crates
//!
//! This crate is the public API of a workspace. The other crates have no stability guarantee. Programs that only merge
//! and patch can depend on `strategic-merge-patch` alone, which needs no file system, regular expressions or async
//! runtime.
//!
//! - `kubectl-smp-text`: [`source`], [`diagnostic`], [`yaml`] and [`path`].
//! - `strategic-merge-patch`: [`schema`], [`merge`], [`patch`], [`managed_fields`], [`defaults`] and [`diff`].
//! - `kubectl-smp-validate`: [`validate`].
//! - `kubectl-smp-files`: [`files`].
//! - `kubectl-smp-overlay`: [`resource`], [`overlay`] and [`package`].
//! - `kubectl-smp-inspect`: [`explain`] and [`check`].
//! - `kubectl-smp-cluster`: `cluster`.
//!
//! The live preview, `preview`, is part of this crate.
//!
//! # Errors and warnings
//!
//! Every error is a [`Diagnostic`](diagnostic::Diagnostic) with a stable [`Code`](diagnostic::Code), a message, the field
//! path, source locations and a help text. A failed operation changes nothing. Warnings have the same type and are part
//! of the result; the library never prints.
//!
//! # Features
//!
//! - `cel`: CEL validation rules of custom resources and admission policies.
//! - `cli`: the command line program.
//! - `cluster`: access to an API server.
//! - `preview`: the model of the live preview and its page, and the command.
//! - `remote`: remote files over HTTP. Remote bases only need the `git` command.
//!
//! All features are enabled by default, and the library needs none of them. Without features, no async runtime, HTTP
//! client or argument parser is compiled, and the library builds for `wasm32-unknown-unknown` and `wasm32-wasip1`.

// Table-driven tests are long.
#![cfg_attr(test, allow(clippy::too_many_lines))]

#[cfg(feature = "cli")]
pub mod cli;

#[cfg(feature = "preview")]
pub mod preview;

/// Errors, warnings and findings as data, and their rendering.
///
/// See [Convert an error to a Kubernetes Status](crate#convert-an-error-to-a-kubernetes-status).
pub mod diagnostic {
    pub use smp_text::diagnostic::{
        Applicability, Code, ColorMode, Diagnostic, Excerpt, Fix, Label, MessageFormat, MessageRenderer,
        ObjectName, RenderedLocation, ResourceName, Result, RuleText, Severity,
    };
}

/// Source texts and source locations.
///
/// ```
/// use kubectl_smp::source::SourceMap;
/// use kubectl_smp::yaml::{ParseOptions, parse_documents};
///
/// let sources = SourceMap::default();
/// let id = sources.add("map.yaml", "kind: ConfigMap\ndata: {a: b}\n");
/// let documents = parse_documents(&sources, id, ParseOptions::default())?;
/// assert_eq!(sources.describe(documents[0].span()), Some("map.yaml:1:1".into()));
/// # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
/// ```
pub mod source {
    pub use smp_text::source::{Reading, Source, SourceId, SourceMap, Span};
}

/// YAML parsing, editing and printing as in kustomize and kubectl.
///
/// See [Edit YAML and keep its comments](crate#edit-yaml-and-keep-its-comments).
pub mod yaml {
    pub use smp_text::yaml::{
        Comments, DuplicateKeys, Entry, Key, List, Map, Meta, Node, ParseOptions, Style, Tag, Value,
        edit_text, is_unchanged, parse_documents, parse_one, to_documents, to_json, to_yaml,
    };
}

/// Field paths in objects.
///
/// ```
/// use kubectl_smp::path::{FieldPath, PathElement};
///
/// let mut path = FieldPath::default();
/// path.push(PathElement::Field("spec".into()));
/// path.push(PathElement::Index(0));
/// assert_eq!(path.to_string(), "spec[0]");
/// ```
pub mod path {
    pub use smp_text::path::{FieldPath, PathElement, PathValue};
}

/// Schemas of Kubernetes kinds, and the chain of schema sources of a build.
///
/// See [Inspect a schema](crate#inspect-a-schema).
pub mod schema {
    pub use smp_merge::schema::{
        Cursor, Directives, Gvk, KUBERNETES_VERSIONS, KindDef, ListMapKeys, ListType, MapType, Model,
        NamedKind, PatchStrategy, ResourcePath, Schema, SchemaSource, Scope, TypeDef, TypeGraph, TypeKind,
        find_kind, lint, openapi, read_schema,
    };
    pub use smp_overlay::schema_chain::{ChainSources, LockedSchema, OnFailure, SchemaChain, SchemaChoice};
}

/// Two-way and three-way strategic merges.
///
/// See [Upgrade a customized package](crate#upgrade-a-customized-package).
pub mod merge {
    pub use smp_merge::merge::{
        Conflict, ConflictPolicy, ConflictSide, Exceptions, InferKeys, ListOrder, MergeOptions, MergeRules,
        Merged, NullPolicy, PatchRules, Rules, apply, json, merge2, merge3,
    };
}

/// Creating and applying patches of all types.
///
/// See [Patch an object like the API server](crate#patch-an-object-like-the-api-server) and
/// [Create a patch](crate#create-a-patch).
pub mod patch {
    pub use smp_merge::patch::{
        JsonPatch, JsonPatchOptions, LAST_APPLIED, PatchType, apply_json_merge, create, create_json_merge,
        create_json_patch, create_three_way, json, last_applied, parse_json_patch, with_last_applied,
    };
}

/// Server-side apply without a server: ownership of fields, conflicts and managed fields.
///
/// See [Apply server-side without a server](crate#apply-server-side-without-a-server).
pub mod managed_fields {
    pub use smp_merge::managed_fields::{
        Applied, Conflict, Conflicts, Converter, FieldSet, ManagedFields, Manager, Operation, Options, Owner,
        OwnershipStep, Path, PathElement, PathPattern, ReplicasPaths, Timestamp, apply, apply_typed,
        conflicts, drop_manager, extract, extract_fields, extract_typed, find_path, give, keep_times, take,
        update, update_typed,
    };
}

/// The defaults of the API server.
pub mod defaults {
    pub use smp_merge::defaults::{empty, fill, fill_value};
}

/// Comparison of two objects by their schema.
///
/// See [Compare two objects](crate#compare-two-objects).
pub mod diff {
    pub use smp_merge::diff::{Change, Comparison, canonical, compare, unified};
}

/// Local validation of objects by the rules of the API server.
///
/// ```
/// use kubectl_smp::schema::Schema;
/// use kubectl_smp::validate::{ValidateOptions, validate};
/// use kubectl_smp::yaml::Node;
///
/// let text = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {retries: 3}}";
/// let found = validate(&text.parse::<Node>()?, &Schema::embedded(), &ValidateOptions::default());
/// assert_eq!((found[0].rule.code(), found[0].path.to_string()), ("wrong-type", "data.retries".into()));
/// # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
/// ```
pub mod validate {
    #[cfg(feature = "cel")]
    pub use smp_validate::AdmissionPolicies;
    pub use smp_validate::{VALIDATION_RULES, ValidateOptions, ValidationRule, Violation, validate};
}

/// File trees for builds: on disk, in memory, and recording.
///
/// See [Build from memory](crate#build-from-memory).
pub mod files {
    pub use smp_files::{
        ConfinedTree, Directory, DirectoryEntry, DiskTree, EditedTree, FileKind, FileTree, Located,
        MAX_FILE_SIZE, MemoryTree, OpenFile, ReadSet, RecordingTree, replace_file,
    };
}

/// Resources and their IDs during a build.
///
/// ```
/// use std::path::Path;
/// use std::sync::Arc;
///
/// use kubectl_smp::files::MemoryTree;
/// use kubectl_smp::overlay::{BuildOptions, Builder};
///
/// let tree = MemoryTree::new([
///     ("app/kustomization.yaml", "namePrefix: my-\nresources: [map.yaml]"),
///     ("app/map.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"),
/// ])?;
/// let built = Builder::new(BuildOptions::default().tree(Arc::new(tree)))?.build(Path::new("app"))?;
/// let id = built.resources.iter().next().expect("one").id();
/// assert_eq!((id.gvk.kind.as_str(), id.name.as_str()), ("ConfigMap", "my-a"));
/// # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
/// ```
pub mod resource {
    pub use smp_overlay::resource::{LabelSelector, Pattern, ResId, Resource, ResourceSet, Selector};
}

/// Builds of kustomizations and plain overlays.
///
/// See [Build a directory](crate#build-a-directory).
pub mod overlay {
    pub use smp_overlay::overlay::{
        BuildOptions, BuildRules, Builder, Built, ChainPurpose, FunctionOptions, HelmOptions, Histories,
        LockSource, MakeChain, RemoteReference, Reorder, TargetSelection, Targets,
    };
}

/// Patching and merging directories of manifests, with comments and layout kept.
///
/// See [Upgrade a customized package](crate#upgrade-a-customized-package).
pub mod package {
    pub use smp_overlay::package::{
        ChangeKind, ChangedFile, ChangedPackage, FileContent, FileRole, ManifestSelection, OtherFile,
        Package, PackageChange, PackageConflict, PackageFile, PackageMerge3, PackagePatchOptions, Patches,
        merge2_packages, merge3_packages, patch_package, write_copy, write_files,
    };
}

/// Lint rules for built targets.
///
/// ```
/// use kubectl_smp::check::{RULES, rule_by_code};
///
/// let rule = RULES.iter().find(|rule| rule.code.name() == "unmatched-image").expect("a rule");
/// assert_eq!(rule_by_code(rule.code).map(|found| found.title), Some(rule.title));
/// ```
pub mod check {
    pub use smp_inspect::check::{
        Baseline, Baselines, CheckConfig, CheckReport, CheckedTarget, Conclusion, FixedFile, LocalFiles,
        RULES, Rule, RuleGroup, RuleSelection, TargetFindings, check_target, fixed_files, report,
        rule_by_code,
    };
}

/// Provenance of values, the parts of a target, and the inputs of a build.
///
/// ```
/// use std::path::Path;
/// use std::sync::Arc;
///
/// use kubectl_smp::diagnostic::{MessageFormat, MessageRenderer};
/// use kubectl_smp::explain::{blame, fields_at};
/// use kubectl_smp::files::MemoryTree;
/// use kubectl_smp::overlay::{BuildOptions, Builder, Histories};
///
/// let tree = MemoryTree::new([
///     ("app/kustomization.yaml", "resources: [map.yaml]\npatches: [{path: patch.yaml}]"),
///     ("app/map.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {mode: dev}}"),
///     ("app/patch.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {mode: prod}}"),
/// ])?;
/// let options = BuildOptions { histories: Histories::Enabled, ..BuildOptions::default().tree(Arc::new(tree)) };
/// let builder = Builder::new(options)?;
/// let built = builder.build(Path::new("app"))?;
/// let renderer = MessageRenderer::new(builder.sources(), MessageFormat::Short);
/// let blame = blame(&built, builder.sources(), &renderer);
/// assert_eq!(fields_at(&blame.resources[0], "data.mode").len(), 1);
/// # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
/// ```
pub mod explain {
    pub use smp_inspect::explain::{
        Blame, BlamedField, BlamedLocation, BlamedRemoval, BlamedWrite, Blamer, BuildTree, ReadInput,
        ReadKind, Removals, ResourceBlame, TargetReads, TreeNode, TreeObject, blame, build_tree,
        collect_reads, fields_at,
    };
}

/// Apply, diff, wait and prune on a live cluster.
///
/// ```no_run
/// use kubectl_smp::cluster::{Cluster, ConnectOptions};
///
/// let cluster = Cluster::connect(&ConnectOptions::default())?;
/// # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
/// ```
#[cfg(feature = "cluster")]
pub mod cluster {
    pub use smp_cluster::{
        AppliedObject, ApplyChange, ApplySetOptions, ApplySummary, Cascade, Cluster, ConnectOptions,
        DeleteOptions, DeleteSummary, DeployEvent, DeployOptions, DeploySummary, DiffOptions, DiffReport,
        DryRun, FieldValidation, LiveSchema, LiveVersion, Object, ObjectDiff, ObjectFailure, ObjectStatus,
        PlannedChange, PruneOptions, PruneSummary, Readiness, Risk, ServerSideApplyOptions, WaitEnd,
        WaitOptions, WaitResult, apply, delete, deploy, diff, live_objects, object_status, preview,
        wait_until_ready,
    };
}
