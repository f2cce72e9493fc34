//! Real manifests as versions of an object: Deployments, Services, Pods and custom resources of a directory of
//! repositories, each with two others of its kind.

use std::collections::BTreeMap;
use std::path::Path;

use kubectl_smp_testing::requirements::required_env;
use smp_merge::merge::PatchRules;
use smp_merge::patch::{ApplyOptions, CreateOptions, PatchInputs, PatchType, apply, create_verified};
use smp_merge::schema::{Cursor, Gvk, Schema};
use smp_overlay::package::Package;
use smp_text::diagnostic::Code;
use smp_text::source::{Reading, SourceMap};
use smp_text::yaml::Node;

use super::case::{Case, Operation};

/// The kinds that the oracle knows, and the number of triples of each.
const BUILT_IN: [(&str, usize); 3] = [("apps/v1 Deployment", 200), ("v1 Service", 200), ("v1 Pod", 50)];
const CUSTOM: usize = 250;

/// Three versions of an object.
pub struct Triple {
    /// As `apps/v1 Deployment`.
    kind: String,
    /// The applied, the modified and the live object.
    sides: [Node; 3],
}

/// All triples, the same in each run.
pub fn triples() -> Vec<Triple> {
    let kinds = manifests_by_kind();
    let mut triples = Vec::new();
    for (kind, count) in BUILT_IN {
        triples.extend(kinds.get(kind).into_iter().flat_map(|all| triples_of_kind(kind, all, count)));
    }
    let is_custom = |kind: &str| {
        kind.split('/').next().is_some_and(|group| group.contains('.') && !group.ends_with(".k8s.io"))
    };
    let custom = kinds.iter().filter(|(kind, all)| is_custom(kind) && all.len() > 1);
    let custom: Vec<_> = custom.flat_map(|(kind, all)| triples_of_kind(kind, all, 25)).collect();
    let step = (custom.len() / CUSTOM).max(1);
    triples.extend(custom.into_iter().step_by(step).take(CUSTOM));
    triples
}

/// Each manifest with the next two. They take its name, since patches do not rename objects.
fn triples_of_kind(kind: &str, all: &[Node], count: usize) -> Vec<Triple> {
    let triple = |i: usize| {
        let mut sides = [0, 1, 2].map(|more| all[(i + more) % all.len()].clone());
        let name = sides[0].get_path(&["metadata", "name"]).cloned();
        for side in &mut sides {
            if let Some(metadata) = side.get_mut("metadata").and_then(Node::as_map_mut)
                && let Some(name) = name.clone()
            {
                metadata.insert("name", name);
            }
        }
        Triple { kind: kind.to_string(), sides }
    };
    (0..all.len()).take(count).map(triple).collect()
}

fn manifests_by_kind() -> BTreeMap<String, Vec<Node>> {
    let folder = required_env("SMP_TEST_REALWORLD", "a folder of repositories");
    let mut kinds: BTreeMap<String, Vec<Node>> = BTreeMap::new();
    for entry in walkdir::WalkDir::new(folder).sort_by_file_name() {
        let path = entry.expect("readable").into_path();
        let is_yaml = path.extension().is_some_and(|ending| ending == "yaml" || ending == "yml");
        let is_short = || std::fs::metadata(&path).is_ok_and(|data| data.is_file() && data.len() < 50_000);
        if is_yaml && is_short() {
            add_manifests(&path, &mut kinds);
        }
    }
    kinds
}

fn add_manifests(path: &Path, kinds: &mut BTreeMap<String, Vec<Node>>) {
    let Ok(text) = std::fs::read_to_string(path) else { return };
    let package = Package::from_text("x.yaml", text, Reading::Kubectl, &SourceMap::default());
    let Ok(package) = package else { return };
    for manifest in package.manifests() {
        let text = |name| manifest.get(name).and_then(Node::as_str);
        let is_named = manifest.get_path(&["metadata", "name"]).and_then(Node::as_str).is_some();
        // Some files are patches for kustomize.
        let is_patch = manifest.to_json_value().to_string().contains("\"$");
        if let (Some(version), Some(kind), true) = (text("apiVersion"), text("kind"), is_named && !is_patch) {
            kinds.entry(format!("{version} {kind}")).or_default().push(manifest.clone());
        }
    }
}

impl Triple {
    fn is_built_in(&self) -> bool {
        BUILT_IN.iter().any(|(kind, _)| *kind == self.kind)
    }

    /// The cases for the oracle: for built-in kinds, the patches that kubectl would create.
    pub fn cases(&self) -> Vec<Case> {
        if !self.is_built_in() {
            return Vec::new();
        }
        let case = |operation: Operation| Case {
            operation,
            kind: self.kind.clone(),
            sides: self.sides[..operation.sides().len()].to_vec(),
            overwrite: true,
            infer: Vec::new(),
            prepend: false,
        };
        vec![case(Operation::TwoWay), case(Operation::ThreeWay)]
    }

    /// Checks that two-way patches of each type turn the first version into the second. Three-way patches change
    /// the third so that the same patch changes nothing more.
    pub fn check_round_trips(&self, schema: &Schema) {
        let [original, modified, current] = &self.sides;
        let (version, kind) = self.kind.split_once(' ').expect("a kind");
        let cursor = schema.kind(&Gvk::from_manifest(version, kind));
        let options = CreateOptions::default();
        for way in [
            (PatchType::Strategic, PatchRules::Apiserver),
            (PatchType::Strategic, PatchRules::Overlay),
            (PatchType::Merge, PatchRules::Overlay),
            (PatchType::Json, PatchRules::Overlay),
        ] {
            let is_servers = way.1 == PatchRules::Apiserver;
            if is_servers && !self.is_built_in() {
                continue;
            }
            let cursor = cursor.unwrap_or_else(Cursor::unknown);
            let make = |original, modified, current: Option<&Node>| {
                let sides = PatchInputs { original, modified, current };
                let created = create_verified(&sides, way.0, cursor, &options.rules(way.1));
                created.map(|created| patched(way, sides.input(), &created.value, cursor))
            };
            // Only kubectl's patches may be rejected, for changes that they cannot express.
            let made = |result: smp_text::diagnostic::Result<Node>| match result {
                Ok(node) => Some(node),
                Err(error) => {
                    assert!(
                        is_servers && error.code() == Code::Unsupported,
                        "{} {way:?}: {error}",
                        self.kind
                    );
                    None
                }
            };
            if let Some(result) = made(make(original, modified, None)) {
                assert_eq!(without_nulls(&result), without_nulls(modified), "{} {way:?}", self.kind);
            }
            if let Some(result) = made(make(original, modified, Some(current))) {
                let again = made(make(modified, modified, Some(&result))).expect("nothing to say");
                assert_eq!(without_nulls(&again), without_nulls(&result), "{} {way:?}", self.kind);
            }
        }
    }
}

fn patched(
    (patch_type, rules): (PatchType, PatchRules),
    input: &Node,
    patch: &Node,
    cursor: Cursor<'_>,
) -> Node {
    let options = ApplyOptions::default().rules(rules).kind(cursor);
    let merged = apply(input.clone(), patch, patch_type, &options).expect("a patch that was tried");
    merged.node.expect("not deleted")
}

/// The object as a server stores it, with lists such as finalizers sorted.
fn without_nulls(node: &Node) -> serde_json::Value {
    fn clean(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(map) => {
                map.retain(|_, value| !value.is_null());
                map.values_mut().for_each(clean);
            }
            serde_json::Value::Array(list) => {
                list.iter_mut().for_each(clean);
                if list.iter().all(serde_json::Value::is_string) {
                    list.sort_by_key(ToString::to_string);
                }
            }
            _ => {}
        }
    }
    let mut value = node.to_json_value();
    clean(&mut value);
    value
}
