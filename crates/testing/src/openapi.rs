//! Kinds and merge directives of raw OpenAPI documents, compared with the embedded schema.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use smp_merge::schema::{Cursor, Gvk, ListType, MapType, Schema};

/// Fields whose directives changed after Kubernetes 1.36.
pub const CHANGED_IN_1_37: [&str; 1] = ["io.k8s.api.core.v1.PodStatus.nodeAllocatableResourceClaimStatuses"];

pub const DIRECTIVES: [&str; 6] = [
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-recommended-patch-merge-key",
];

/// The raw documents: definitions by name, and kinds with their scope if a path shows it.
#[derive(Default)]
pub struct Documents {
    pub definitions: BTreeMap<String, Value>,
    pub kinds: BTreeSet<Gvk>,
    namespaced: BTreeSet<Gvk>,
    cluster: BTreeSet<Gvk>,
}

fn gvk(value: &Value) -> Gvk {
    let text = |key: &str| value[key].as_str().unwrap_or_default().into();
    Gvk { group: text("group"), version: text("version"), kind: text("kind") }
}

impl Documents {
    pub fn add(&mut self, document: &Value) {
        let sections = [&document["components"]["schemas"], &document["definitions"]];
        for (name, definition) in sections.into_iter().filter_map(Value::as_object).flatten() {
            let kinds = definition["x-kubernetes-group-version-kind"].as_array();
            self.kinds.extend(kinds.into_iter().flatten().map(gvk));
            self.definitions.insert(name.clone(), definition.clone());
        }
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            for operation in item.as_object().into_iter().flat_map(|item| item.values()) {
                let kind = &operation["x-kubernetes-group-version-kind"];
                let scope = if path.contains("namespaces/{namespace}") {
                    &mut self.namespaced
                } else {
                    &mut self.cluster
                };
                scope.extend(kind.is_object().then(|| gvk(kind)));
            }
        }
        for resource in document["resources"].as_array().into_iter().flatten() {
            let text = |key: &str| resource[key].as_str().unwrap_or_default();
            let kind = Gvk::from_manifest(text("apiVersion"), text("kind"));
            match text("scope") {
                "Namespaced" => drop(self.namespaced.insert(kind)),
                "Cluster" => drop(self.cluster.insert(kind)),
                _ => {}
            }
        }
    }
}

/// Returns a directive of the embedded schema as JSON.
fn answer(cursor: Cursor<'_>, directive: &str) -> Option<Value> {
    let strategy = || {
        let strategy = cursor.patch_strategy();
        let words =
            [(strategy.merge, "merge"), (strategy.replace, "replace"), (strategy.retain_keys, "retainKeys")];
        let words: Vec<&str> = words.into_iter().filter(|(has, _)| *has).map(|(_, word)| word).collect();
        (!words.is_empty()).then(|| words.join(",").into())
    };
    let keys: Vec<&str> = cursor.list_map_keys().collect();
    match directive {
        "x-kubernetes-list-type" => cursor.list_type().map(|kind| match kind {
            ListType::Atomic => "atomic".into(),
            ListType::Set => "set".into(),
            ListType::Map => "map".into(),
        }),
        "x-kubernetes-map-type" => cursor.map_type().map(|kind| match kind {
            MapType::Granular => "granular".into(),
            MapType::Atomic => "atomic".into(),
        }),
        "x-kubernetes-list-map-keys" => (!keys.is_empty()).then(|| keys.into()),
        "x-kubernetes-patch-strategy" => strategy(),
        "x-kubernetes-patch-merge-key" => cursor.patch_merge_key().map(Into::into),
        _ => cursor.recommended_merge_key().map(Into::into),
    }
}

#[derive(Default)]
pub struct Counts {
    pub documents: BTreeMap<&'static str, usize>,
    pub table: BTreeMap<&'static str, usize>,
    pub differences: Vec<String>,
    pub fields: usize,
}

/// Returns a directive of a raw schema, following its reference if it has none itself.
fn raw<'d>(documents: &'d Documents, schema: &'d Value, directive: &str) -> Option<&'d Value> {
    let own = schema.get(directive);
    let reference = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str());
    let target = || documents.definitions.get(reference?.rsplit('/').next()?)?.get(directive);
    own.or_else(target)
}

fn compare(documents: &Documents, schema: &Value, cursor: Cursor<'_>, path: &str, counts: &mut Counts) {
    counts.fields += 1;
    for directive in DIRECTIVES {
        let (want, have) = (raw(documents, schema, directive), answer(cursor, directive));
        *counts.documents.entry(directive).or_default() += usize::from(want.is_some());
        *counts.table.entry(directive).or_default() += usize::from(have.is_some());
        if want != have.as_ref() {
            counts.differences.push(path.to_string());
        }
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        assert!(cursor.has_field(name), "{path}.{name} is missing in the embedded schema");
        compare(documents, field, cursor.field(name), &format!("{path}.{name}"), counts);
    }
    if schema["items"].is_object() {
        compare(documents, &schema["items"], cursor.element(), &format!("{path}[]"), counts);
    }
    if schema["additionalProperties"].is_object() {
        compare(
            documents,
            &schema["additionalProperties"],
            cursor.additional(),
            &format!("{path}.*"),
            counts,
        );
    }
}

pub fn compare_directives(documents: &Documents, schema: &Schema) -> Counts {
    let mut counts = Counts::default();
    for (name, definition) in &documents.definitions {
        let cursor = schema.named(name).unwrap_or_else(|| panic!("{name} is missing in the embedded schema"));
        compare(documents, definition, cursor, name, &mut counts);
    }
    counts.differences.dedup();
    counts
}

pub fn check_kinds(documents: &Documents, schema: &Schema) {
    use smp_merge::schema::Scope::{Cluster, Namespaced};
    let unknown: Vec<_> = documents.kinds.iter().filter(|gvk| schema.kind(gvk).is_none()).collect();
    assert!(unknown.is_empty(), "kinds missing in the embedded schema: {unknown:?}");
    for gvk in documents.namespaced.union(&documents.cluster) {
        let want = if documents.namespaced.contains(gvk) { Namespaced } else { Cluster };
        assert_eq!(schema.scope(gvk), Some(want), "{gvk}");
    }
}
