//! The tested objects: those in `objects.yaml`, those of real manifests, random ones generated from CRDs.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use smp_merge::schema::{Gvk, Scope};
use smp_text::source::SourceMap;
use smp_text::yaml::{ParseOptions, parse_documents};

use super::validator::Validator;
use crate::rig::{Rig, eventually};

/// The maximum number of real objects of one kind.
const MAX_PER_KIND: usize = 120;

/// CRDs in API groups of this test's own: other tests inspect all other groups.
pub struct Definitions {
    all: Vec<Value>,
    suffix: String,
}

impl Definitions {
    /// The CRDs of the shared directory and of `crds/`.
    pub fn load(name: &str) -> Self {
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live/crds");
        let shared = env::var_os("SMP_TEST_SHARED").map(|folder| PathBuf::from(folder).join("crds"));
        let files = [Some(own), shared].into_iter().flatten().flat_map(|folder| manifests_in(&folder));
        let all = files.flat_map(|file| documents(&fs::read_to_string(file).expect("a text")));
        let mut all: Vec<Value> = all.filter(|object| object["kind"] == "CustomResourceDefinition").collect();
        let suffix = format!(".{name}.example.com");
        for definition in &mut all {
            let group = format!("{}{suffix}", definition["spec"]["group"].as_str().expect("a group"));
            let plural = definition["spec"]["names"]["plural"].as_str().expect("a plural");
            definition["metadata"]["name"] = json!(format!("{plural}.{group}"));
            definition["spec"]["group"] = json!(group);
        }
        Self { all, suffix }
    }

    pub fn all(&self) -> &[Value] {
        &self.all
    }

    pub fn create(&self, rig: &Rig) {
        for definition in &self.all {
            let file = rig.file("crd.json", &definition.to_string());
            rig.kubectl(&["create", "-f", &file.to_string_lossy()]);
            let name = format!("crd/{}", definition["metadata"]["name"].as_str().expect("a name"));
            // One that has no conditions yet is an error at once.
            let wait = ["wait", "--for=condition=established", "--timeout=60s", &name];
            eventually("the definitions", || rig.try_kubectl(&wait).status == 0);
        }
    }

    pub fn delete(&self, rig: &Rig) {
        let names: Vec<&str> = self.all.iter().filter_map(|one| one["metadata"]["name"].as_str()).collect();
        rig.try_kubectl(&[&["delete", "--wait=false", "--ignore-not-found", "crd"], &names[..]].concat());
    }

    /// Moves an object into the API group that its CRD has here.
    fn adopt(&self, object: &mut Value) {
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        let Some((group, version)) = api_version.split_once('/') else { return };
        let own = format!("{group}{}", self.suffix);
        if self.all.iter().any(|one| one["spec"]["group"] == own.as_str()) {
            object["apiVersion"] = json!(format!("{own}/{version}"));
        }
    }
}

/// All objects, with their source.
pub fn all(asked: &Validator<'_>) -> Vec<(String, Value)> {
    let (schema, namespace) = (asked.schema(), asked.namespace());
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/live/verdicts/objects.yaml");
    let own = documents(&fs::read_to_string(own).expect("a text"));
    let own = own.into_iter().map(|object| ("objects.yaml".to_string(), object));
    let shared = env::var_os("SMP_TEST_SHARED").map(|folder| PathBuf::from(folder).join("realworld/dev"));
    let real = shared.into_iter().flat_map(|folder| real(&folder));
    let mut counts = std::collections::BTreeMap::new();
    let mut seen = BTreeSet::new();
    let known = own.chain(real).filter_map(|(from, mut object)| {
        asked.definitions().adopt(&mut object);
        let gvk = Gvk::from_object(&object)?;
        schema.kind(&gvk)?;
        let count: &mut usize = counts.entry(gvk.to_string()).or_default();
        if *count >= MAX_PER_KIND {
            return None;
        }
        let metadata = object.get_mut("metadata")?.as_object_mut()?;
        metadata.remove("namespace");
        if schema.scope(&gvk)? == Scope::Namespaced {
            metadata.insert("namespace".into(), json!(namespace));
        }
        let is_new = seen.insert(object.to_string());
        *count += usize::from(is_new);
        is_new.then_some((from, object))
    });
    known.collect()
}

fn real(folder: &Path) -> Vec<(String, Value)> {
    let name = |path: &Path| path.strip_prefix(folder).unwrap_or(path).display().to_string();
    let files = manifests_in(folder).into_iter();
    let objects = files.flat_map(|file| {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let is_manifest = text.contains("apiVersion:") && text.len() < 300_000;
        let objects = if is_manifest { documents(&text) } else { Vec::new() };
        objects.into_iter().map(move |object| (file.clone(), object))
    });
    let whole = objects.filter(|(_, object)| {
        object["apiVersion"].is_string()
            && object["kind"].is_string()
            && object["metadata"]["name"].is_string()
    });
    whole.map(|(file, object)| (name(&file), object)).collect()
}

/// The YAML files below a directory, sorted.
fn manifests_in(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut pending) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The objects in a text. Empty if it cannot be parsed.
pub fn documents(text: &str) -> Vec<Value> {
    let sources = SourceMap::default();
    let id = sources.add("manifest.yaml", text);
    let documents = parse_documents(&sources, id, ParseOptions::kubectl()).unwrap_or_default();
    documents.iter().map(smp_text::yaml::Node::to_json_value).collect()
}
