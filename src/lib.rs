//! Strategic merge, overlays and server-side apply for Kubernetes.
//!
//! This is the library behind `kubectl smp`. It merges manifests as the API server, kustomize and kyaml do, by the
//! merge schema of each kind, which it has built in, and builds kustomizations and plain overlay directories.
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
//! // A JSON merge patch would have left the first container only, and of that the image.
//! assert_eq!(pod["spec"]["containers"], json!([
//!     {"name": "web", "image": "web:2"},
//!     {"name": "log", "image": "log:1"},
//! ]));
//! # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
//! ```
//!
//! - [Two doors](#two-doors): JSON values, or trees that know their text
//! - [Recipes](#recipes)
//! - [What it is not](#what-it-is-not)
//! - [The crates](#the-crates)
//! - [Errors and warnings](#errors-and-warnings)
//! - [Features](#features)
//!
//! # Two doors
//!
//! Programs that hold `serde_json` values, such as controllers and fake clusters, need two modules: [`patch::json`]
//! and [`merge::json`]. Programs that work on manifests in files want comments, places and the order of fields kept:
//! everything else here works on [`yaml::Node`], which a [`serde_json::Value`] becomes by `Node::from` and gives back
//! by [`Node::to_json_value`](yaml::Node::to_json_value).
//!
//! # Recipes
//!
//! - [Patch an object as the server does](#patch-an-object-as-the-server-does)
//! - [Make a patch](#make-a-patch)
//! - [Merge a custom resource by its CRD](#merge-a-custom-resource-by-its-crd)
//! - [Build a directory](#build-a-directory)
//! - [Build from memory](#build-from-memory)
//! - [Upgrade what was changed locally](#upgrade-what-was-changed-locally)
//! - [Compare two objects](#compare-two-objects)
//! - [Read a schema](#read-a-schema)
//! - [Edit a text and keep its comments](#edit-a-text-and-keep-its-comments)
//! - [Answer an error as a server](#answer-an-error-as-a-server)
//!
//! ## Patch an object as the server does
//!
//! All types of patches that an API server takes go through one function. An object whose patch cannot be applied is
//! as it was. `examples/fake_client.rs` puts a whole `kube::Client` on top of it.
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
//! ## Make a patch
//!
//! From two versions of an object, or as `kubectl apply` does from three, so that what others added stays:
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
//! The API server takes no strategic merge patches for custom resources, though their CRDs say how lists merge.
//! [`PatchRules::Overlay`](merge::PatchRules::Overlay) goes by all that the schema says.
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
//! A kustomization, or a plain directory over its base, as `kubectl smp build` does, warnings listed with their
//! places:
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
//!     let place = warning.labels().first().and_then(|label| builder.sources().describe(label.span));
//!     eprintln!("{}: {warning}", place.unwrap_or_default());
//! }
//! # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
//! ```
//!
//! ## Build from memory
//!
//! No disk is needed, so that this runs in WebAssembly, too (`examples/build_in_memory.rs`):
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
//! ## Upgrade what was changed locally
//!
//! A three-way merge takes what is new upstream and keeps what was changed here; what both changed is listed.
//! [`package::merge3_packages`] does it for whole directories and their comments.
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
//! // The image is new, `paused` is ours, and of the replicas both sides had another idea.
//! assert_eq!(merged.node, Some(web("web:2", 2, true)));
//! let conflicts: Vec<_> = merged.conflicts.iter().map(|conflict| conflict.path.to_string()).collect();
//! assert_eq!(conflicts, ["spec.replicas"]);
//! # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
//! ```
//!
//! ## Compare two objects
//!
//! By their data, not their text; entries of lists are paired by their keys, wherever they stand:
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
//! ## Read a schema
//!
//! What Kubernetes says of each field, and how its lists merge:
//!
//! ```
//! use kubectl_smp::schema::{ListType, Schema, find_kind};
//!
//! let schema = Schema::embedded();
//! let (gvk, _) = find_kind(&schema, &["svc"], None)?;
//! assert_eq!(gvk.to_string(), "v1 Service");
//! let ports = schema.kind(&gvk).expect("it was found").field("spec").field("ports");
//! assert_eq!(ports.list_type(), Some(ListType::Map));
//! assert_eq!(ports.list_map_keys().collect::<Vec<_>>(), ["port", "protocol"]);
//! // Strategic merge patches go by another key.
//! assert_eq!(ports.patch_merge_key(), Some("port"));
//! # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
//! ```
//!
//! ## Edit a text and keep its comments
//!
//! Only what differs is written anew; all the rest stays byte for byte.
//!
//! ```
//! use kubectl_smp::source::{Reading, SourceMap};
//! use kubectl_smp::yaml::{Node, ParseOptions, edit, parse_documents};
//!
//! let text = "# The shop\nspec:\n    replicas: 2   # enough\n    image:   'web:1'\n";
//! let sources = SourceMap::default();
//! let options = ParseOptions::kubectl().with_comments();
//! let before = parse_documents(&sources, sources.add("web.yaml", text), options)?;
//! let mut after = before.clone();
//! let replicas = after[0].get_mut("spec").and_then(|spec| spec.get_mut("replicas")).expect("it is there");
//! replicas.value = Node::int(3).value;
//! let after: Vec<_> = after.into_iter().map(Some).collect();
//! let edited = edit(text, Reading::Kubectl, &before, &after)?;
//! assert_eq!(edited, "# The shop\nspec:\n    replicas: 3   # enough\n    image:   'web:1'\n");
//! # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
//! ```
//!
//! ## Answer an error as a server
//!
//! ```
//! use kubectl_smp::patch::json::{self, PatchType};
//! use kubectl_smp::schema::Schema;
//! use serde_json::json;
//!
//! let mut map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
//! let patch = json!([{"op": "remove", "path": "/data"}]);
//! let error = json::apply(&mut map, &patch, PatchType::Json, &Schema::embedded()).expect_err("there is none");
//! let status = error.to_status();
//! assert_eq!(status["kind"], "Status");
//! assert_eq!((&status["code"], &status["reason"]), (&json!(422), &json!("Invalid")));
//! assert_eq!(status["message"], error.to_string());
//! ```
//!
//! # What it is not
//!
//! - No client: the feature `cluster` knows what `kubectl smp` needs of an API server; for all else there is kube-rs.
//! - No validation: what a patch makes of an object may be refused by a server. Only what decides a merge is checked.
//! - No defaulting: fields that a server would fill in stay absent, though the default of a key counts where entries
//!   are told apart.
//! - No template engine; Helm charts are rendered by helm, where that is allowed.
//! - No YAML library for everyone: it reads and writes YAML as kustomize and kubectl do, with their limits.
//!
//! # The crates
//!
//! This is the face of a workspace. Each module below has the names that other programs need; what it is made of is in
//! crates that promise no stability of their own. Programs that only merge and patch need no more than the crate
//! `strategic-merge-patch`, which has no file system, regular expressions or async runtime.
//!
//! - `kubectl-smp-text`: [`source`], [`diagnostic`], [`yaml`] and [`path`].
//! - `strategic-merge-patch`: [`schema`], [`merge`], [`patch`] and [`diff`].
//! - `kubectl-smp-validate`: [`validate`].
//! - `kubectl-smp-files`: [`files`].
//! - `kubectl-smp-overlay`: [`resource`], [`overlay`] and [`package`].
//! - `kubectl-smp-inspect`: [`explain`] and [`check`].
//! - `kubectl-smp-cluster`: `cluster`.
//!
//! # Errors and warnings
//!
//! Every error is a [`Diagnostic`](diagnostic::Diagnostic): a stable [`Code`](diagnostic::Code) for programs, a message,
//! the field path, places in the texts, and what to do. Nothing is done by half when there is one. What was done and
//! perhaps not meant is a warning, which is of the same type and part of the result: nothing is ever printed.
//!
//! # Features
//!
//! - `cel`: the rules of custom resources and of admission policies, which are expressions.
//! - `cli`: the program.
//! - `cluster`: everything that talks to an API server.
//! - `remote`: remote files over HTTP; remote bases need only the git of the system.
//!
//! All are on by default. The library needs none: without them no async runtime, no HTTP client and no argument
//! parser is compiled, and it builds for `wasm32-unknown-unknown` and `wasm32-wasip1`.

// Tests are tables.
#![cfg_attr(test, allow(clippy::too_many_lines))]

#[cfg(feature = "cli")]
pub mod cli;

/// Problems and findings as data, and how they are rendered.
///
/// See [Answer an error as a server](crate#answer-an-error-as-a-server).
pub mod diagnostic {
    pub use smp_text::diagnostic::{
        Applicability, Code, Coloring, Diagnostic, Excerpt, Fix, Label, MessageFormat, MessageRenderer,
        ObjectName, RenderedPlace, ResourceName, Result, RuleText, Severity,
    };
}

/// Texts, and positions in them.
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

/// YAML that is read, edited and printed as kustomize and kubectl do.
///
/// See [Edit a text and keep its comments](crate#edit-a-text-and-keep-its-comments).
pub mod yaml {
    pub use smp_text::yaml::{
        Comments, DuplicateKeys, Entry, Key, List, Map, Meta, Node, ParseOptions, Style, Tag, Value, edit,
        is_same, parse_documents, parse_one, to_documents, to_json, to_yaml,
    };
}

/// The paths of values in objects.
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

/// Types of Kubernetes kinds, and the chain of sources that a build takes them from.
///
/// See [Read a schema](crate#read-a-schema).
pub mod schema {
    pub use smp_merge::schema::{
        Cursor, Directives, Gvk, KUBERNETES_VERSIONS, KindDef, ListMapKeys, ListType, MapType, Model,
        NamedKind, PatchStrategy, ResourcePath, Schema, SchemaSource, Scope, TypeDef, TypeGraph, TypeKind,
        find_kind, lint, openapi, read_schema,
    };
    pub use smp_overlay::schema_chain::{Links, LockedSchema, OnFailure, SchemaChain, SchemaChoice};
}

/// Strategic merges of two and three versions of an object.
///
/// See [Upgrade what was changed locally](crate#upgrade-what-was-changed-locally).
pub mod merge {
    pub use smp_merge::merge::{
        Conflict, ConflictPolicy, ConflictSide, Exceptions, InferKeys, ListOrder, MergeOptions, MergeRules,
        Merged, NullPolicy, PatchRules, Rules, apply, json, merge2, merge3,
    };
}

/// Patches of all types: how they are made and applied.
///
/// See [Patch an object as the server does](crate#patch-an-object-as-the-server-does) and
/// [Make a patch](crate#make-a-patch).
pub mod patch {
    pub use smp_merge::patch::{
        JsonPatch, JsonPatchOptions, LAST_APPLIED, PatchType, apply_json_merge, create, create_json_merge,
        create_json_patch, create_three_way, json, last_applied, parse_json_patch, with_last_applied,
    };
}

/// Comparison of two objects by their schema.
///
/// See [Compare two objects](crate#compare-two-objects).
pub mod diff {
    pub use smp_merge::diff::{Change, Comparison, canonical, compare, unified};
}

/// What an API server would refuse of an object, without a server.
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

/// Trees of files that builds read: on disk, in memory, and recorded.
///
/// See [Build from memory](crate#build-from-memory).
pub mod files {
    pub use smp_files::{
        ConfinedTree, Directory, DirectoryEntry, DiskTree, EditedTree, FileKind, FileTree, Located,
        MAX_FILE_SIZE, MemoryTree, OpenFile, ReadSet, RecordingTree, replace_file,
    };
}

/// Resources with their identity, as builds have them.
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
        BuildOptions, BuildRules, Builder, Built, ChainUse, FunctionOptions, HelmOptions, Histories, LockUse,
        MakeChain, RemoteReference, Reorder, SearchedTargets, Targets,
    };
}

/// Directories of manifests that are patched and merged in their own texts.
///
/// See [Upgrade what was changed locally](crate#upgrade-what-was-changed-locally).
pub mod package {
    pub use smp_overlay::package::{
        ChangeKind, ChangedFile, ChangedPackage, FileContent, FileRole, ManifestSelection, OtherFile,
        Package, PackageChange, PackageConflict, PackageFile, PackageMerge3, PackagePatchOptions, Patches,
        merge2_packages, merge3_packages, patch_package, write_copy, write_files,
    };
}

/// Lint: what is wrong with targets that build.
///
/// ```
/// use kubectl_smp::check::{RULES, rule_of};
///
/// let rule = RULES.iter().find(|rule| rule.code.name() == "unmatched-image").expect("a rule");
/// assert_eq!(rule_of(rule.code).map(|found| found.name), Some(rule.name));
/// ```
pub mod check {
    pub use smp_inspect::check::{
        Baseline, Baselines, CheckConfig, CheckReport, CheckedTarget, Conclusion, FixedFile, LocalFiles,
        RULES, Rule, RuleGroup, RuleSelection, TargetFindings, fixed_files, look_at, report, rule_of,
    };
}

/// Provenance: what made each value, what a target is made of, and what it read.
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
/// let options = BuildOptions { histories: Histories::Kept, ..BuildOptions::default().tree(Arc::new(tree)) };
/// let builder = Builder::new(options)?;
/// let built = builder.build(Path::new("app"))?;
/// let renderer = MessageRenderer::new(builder.sources(), MessageFormat::Short);
/// let blame = blame(&built, builder.sources(), &renderer);
/// assert_eq!(fields_at(&blame.resources[0], "data.mode").len(), 1);
/// # Ok::<(), kubectl_smp::diagnostic::Diagnostic>(())
/// ```
pub mod explain {
    pub use smp_inspect::explain::{
        Blame, BlamedField, BlamedPlace, BlamedRemoval, BlamedWrite, Blamer, BuildTree, ReadInput, ReadKind,
        Removals, ResourceBlame, TargetReads, TreeNode, TreeObject, blame, build_tree, fields_at, reads_of,
    };
}

/// Applying to a live cluster, comparing with it, waiting and pruning.
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
        DryRun, FieldValidation, LiveSchema, Object, ObjectDiff, ObjectFailure, ObjectStatus, PruneOptions,
        PruneSummary, Readiness, ServerSideApplyOptions, WaitEnd, WaitOptions, WaitVerdict, apply, delete,
        deploy, diff, live_objects, object_status, wait_until_ready,
    };
}
