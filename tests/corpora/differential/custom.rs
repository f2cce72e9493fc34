//! The built-in kinds as custom resources: each as a CRD with the content of the embedded table.

use kubectl_smp_testing::generate::KINDS;
use serde_json::{Map, Value as Json, json};
use smp_merge::schema::{Cursor, Gvk, ListType, Schema, TypeKind};

use super::case::Schemas;

/// Schemas that know the kinds from CRDs alone.
pub fn schemas() -> Schemas {
    let embedded = Schema::embedded();
    let definition = |(api_version, kind): (&str, &str)| {
        let root = embedded.kind(&Gvk::from_manifest(api_version, kind)).expect("built in");
        let custom = custom_version(api_version);
        let (group, version) = custom.split_once('/').expect("a group");
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "spec": {"group": group, "names": {"kind": kind}, "scope": "Namespaced",
                "versions": [{"name": version, "schema": {"openAPIV3Schema": described(root)}}]},
        })
    };
    let definitions = KINDS.map(definition);
    let kubernetes = Schema::empty().with_crds(&definitions).expect("definitions");
    Schemas { kubernetes, kustomize: Schema::kustomize(), version: custom_version }
}

/// A group that is not built in.
fn custom_version(api_version: &str) -> String {
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    format!("{group}.example.com/{version}")
}

/// The CRD schema of a type. The types of these kinds are finite.
fn described(cursor: Cursor<'_>) -> Json {
    let mut out = Map::new();
    let mut say = |word: &str, value: Json| drop(out.insert(word.to_string(), value));
    match cursor.type_kind() {
        TypeKind::Any => {}
        TypeKind::IntOrString => say("x-kubernetes-int-or-string", json!(true)),
        kind => say("type", kind.name().into()),
    }
    let fields: Map<String, Json> =
        cursor.fields().map(|(name, field)| (name.to_string(), described(field))).collect();
    if !fields.is_empty() {
        say("properties", fields.into());
    }
    for (word, inner) in [("items", cursor.element()), ("additionalProperties", cursor.additional())] {
        if inner.is_known() {
            say(word, described(inner));
        }
    }
    if let Some(default) = cursor.default().and_then(|text| serde_json::from_str(text).ok()) {
        say("default", default);
    }
    out.extend(merging(cursor));
    Json::Object(out)
}

/// The CRD extensions about list merging.
fn merging(cursor: Cursor<'_>) -> Map<String, Json> {
    let mut out = Map::new();
    let mut say = |word: &str, value: Json| drop(out.insert(word.to_string(), value));
    let directives = cursor.directives();
    let list_type = directives.list_type.map(|list_type| match list_type {
        ListType::Atomic => "atomic",
        ListType::Set => "set",
        ListType::Map => "map",
    });
    let strategy = directives.patch_strategy.to_string();
    let words = [
        ("x-kubernetes-list-type", list_type),
        ("x-kubernetes-patch-strategy", Some(strategy.as_str()).filter(|text| !text.is_empty())),
        ("x-kubernetes-patch-merge-key", directives.patch_merge_key.as_deref()),
    ];
    for (word, text) in words {
        if let Some(text) = text {
            say(word, text.into());
        }
    }
    if !directives.list_map_keys.is_empty() {
        let keys = directives.list_map_keys.iter().map(|key| Json::from(key.as_str()));
        say("x-kubernetes-list-map-keys", keys.collect());
    }
    out
}
