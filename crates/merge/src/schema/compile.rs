//! Merges several schema documents into one table. The newest document takes precedence, and older ones add missing
//! data.
//!
//! Used by `kubectl smp schema compile`, which also produces the embedded Kubernetes table.

use std::collections::BTreeMap;

use smol_str::SmolStr;

use super::directives::TypeKind;
use super::model::{KindDef, Model, TypeDef};
use super::{Gvk, Scope, TypeGraph, lint};
use smp_text::diagnostic::{Diagnostic, Problems, Result, Severity};

/// The scopes of kinds in Kubernetes 1.21 to 1.37 that no document with paths contains.
///
/// JSON Schema has no paths, and a default API server does not serve alpha and beta versions.
const SCOPES: [(&str, &str, Scope); 20] = [
    ("certificates.k8s.io", "ClusterTrustBundle", Scope::Cluster),
    ("certificates.k8s.io", "PodCertificateRequest", Scope::Namespaced),
    ("coordination.k8s.io", "LeaseCandidate", Scope::Namespaced),
    ("internal.apiserver.k8s.io", "StorageVersion", Scope::Cluster),
    ("lifecycle.k8s.io", "Eviction", Scope::Namespaced),
    ("lifecycle.k8s.io", "EvictionRequest", Scope::Namespaced),
    ("networking.k8s.io", "ClusterCIDR", Scope::Cluster),
    ("policy", "PodSecurityPolicy", Scope::Cluster),
    ("resource.k8s.io", "DeviceTaintRule", Scope::Cluster),
    ("resource.k8s.io", "PodScheduling", Scope::Namespaced),
    ("resource.k8s.io", "PodSchedulingContext", Scope::Namespaced),
    ("resource.k8s.io", "ResourceClaimParameters", Scope::Namespaced),
    ("resource.k8s.io", "ResourceClass", Scope::Cluster),
    ("resource.k8s.io", "ResourceClassParameters", Scope::Namespaced),
    ("resource.k8s.io", "ResourcePoolStatusRequest", Scope::Cluster),
    ("scheduling.k8s.io", "CompositePodGroup", Scope::Namespaced),
    ("scheduling.k8s.io", "PodGroup", Scope::Namespaced),
    ("scheduling.k8s.io", "Workload", Scope::Namespaced),
    ("storage.k8s.io", "VolumeAttributesClass", Scope::Cluster),
    ("storagemigration.k8s.io", "StorageVersionMigration", Scope::Cluster),
];

/// Merges documents, newest first, and compiles the result into one table.
///
/// The newest document that contains a definition takes precedence. If it lacks the default or type of a field, an
/// older document provides it, because only OpenAPI v3 has the defaults of key fields and not every release is
/// published in that format. Removed fields are kept. Merge directives of a field are only taken from the newest
/// document with that field.
///
/// # Errors
/// [`lint`] reports errors, or the table exceeds a size limit.
pub fn compile(documents: impl IntoIterator<Item = Model>) -> Result<TypeGraph> {
    let merged = merge(documents);
    let mut problems = Problems::default();
    let is_error = |finding: &Diagnostic| finding.severity() == Severity::Error;
    lint(&merged).into_iter().filter(is_error).for_each(|error| problems.add(error));
    problems.into_result(())?;
    merged.compile()
}

/// Merges documents, newest first, without compiling them.
#[must_use]
pub fn merge(documents: impl IntoIterator<Item = Model>) -> Model {
    let mut merged = Model::default();
    for document in documents {
        for (name, older) in document.definitions {
            match merged.definitions.get_mut(&name) {
                Some(newer) => fill_type(newer, older),
                None => drop(merged.definitions.insert(name, older)),
            }
        }
        for (gvk, older) in document.kinds {
            let newer = merged.kinds.entry(gvk).or_default();
            let KindDef { root, scope, names } = older;
            newer.root = newer.root.take().or(root);
            newer.scope = newer.scope.or(scope);
            if newer.names.is_empty() {
                newer.names = names;
            }
        }
    }
    fill_kinds(&mut merged);
    merged
}

/// Adds data that the newer definition lacks from an older one.
fn fill_type(newer: &mut TypeDef, older: TypeDef) {
    if newer.kind == TypeKind::Any && newer.reference.is_none() {
        newer.kind = older.kind;
        newer.reference = older.reference;
    }
    newer.default = newer.default.take().or(older.default);
    match (&mut newer.constraints, older.constraints) {
        (Some(newer), Some(older)) => newer.fill_missing(*older),
        (newer, older) => *newer = newer.take().or(older),
    }
    for (mine, theirs) in [(&mut newer.element, older.element), (&mut newer.additional, older.additional)] {
        if let (Some(mine), Some(theirs)) = (mine, theirs) {
            fill_type(mine, *theirs);
        }
    }
    for (name, field) in older.fields {
        match newer.fields.get_mut(&name) {
            Some(mine) => fill_type(mine, field),
            None => drop(newer.fields.insert(name, field)),
        }
    }
}

/// Adds the scope and plural of each kind from its other versions, which have the same ones.
fn fill_kinds(model: &mut Model) {
    let mut known: BTreeMap<(SmolStr, SmolStr), (Option<Scope>, Vec<SmolStr>)> = BTreeMap::new();
    for (group, kind, scope) in SCOPES {
        known.insert((group.into(), kind.into()), (Some(scope), Vec::new()));
    }
    let of = |gvk: &Gvk| (gvk.group.clone(), gvk.kind.clone());
    for (gvk, def) in &model.kinds {
        let (scope, names) = known.entry(of(gvk)).or_default();
        *scope = def.scope.or(*scope);
        if names.is_empty() {
            names.clone_from(&def.names);
        }
    }
    for (gvk, def) in &mut model.kinds {
        let Some((scope, names)) = known.get(&of(gvk)) else { continue };
        def.scope = def.scope.or(*scope);
        if def.names.is_empty() {
            def.names.clone_from(names);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::openapi::read;
    use smp_text::source::SourceMap;
    use smp_text::yaml::{ParseOptions, parse_one};

    fn model(text: &str) -> Model {
        let sources = SourceMap::default();
        let id = sources.add("schema.yaml", text);
        read(&parse_one(&sources, id, ParseOptions::default()).expect("test text")).expect("readable")
    }

    fn graph(texts: &[&str]) -> TypeGraph {
        compile(texts.iter().map(|text| model(text))).expect("small")
    }

    #[test]
    fn the_newest_document_wins_and_older_ones_fill_gaps() {
        let newer = "definitions: {A: {properties: {list: {type: array, items: {type: object, properties: \
            {key: {type: string}}}, x-kubernetes-list-type: atomic}, plain: {type: array}, new: {type: string}}}}";
        let older = "definitions: {A: {properties: {list: {type: array, items: {type: object, properties: \
            {key: {type: string, default: TCP}}}, x-kubernetes-patch-strategy: merge, x-kubernetes-patch-merge-key: \
            key}, plain: {type: array, x-kubernetes-list-type: set}, gone: {type: integer}, new: {type: integer}}}}";
        let graph = graph(&[newer, older]);
        let a = graph.named("A").expect("known");
        let list = a.field("list");
        assert!(
            !list.patch_strategy().merge && list.patch_merge_key().is_none(),
            "directives are not filled in"
        );
        assert_eq!(a.field("plain").list_type(), None);
        assert_eq!(list.element().key_default("key"), Some("\"TCP\""), "defaults are");
        assert_eq!(a.field("gone").kind_name(), "integer", "removed fields stay");
        assert_eq!(a.field("new").kind_name(), "string");
    }

    #[test]
    fn versions_of_a_kind_share_scope_and_plural() {
        let kind = |version: &str| format!("{{group: example.com, version: {version}, kind: Thing}}");
        let newer = format!("definitions: {{B: {{x-kubernetes-group-version-kind: [{}]}}}}", kind("v2"));
        let older = format!(
            "definitions: {{A: {{x-kubernetes-group-version-kind: [{}]}}}}\npaths:\n  \
             /apis/example.com/v1/things: {{get: {{x-kubernetes-group-version-kind: {}}}}}\n",
            kind("v1"),
            kind("v1")
        );
        let graph = graph(&[&newer, &older]);
        let all: Vec<_> = graph
            .kind_entries()
            .map(|entry| (entry.version(), entry.scope(), entry.names().collect::<Vec<_>>()))
            .collect();
        let cluster = Some(Scope::Cluster);
        assert_eq!(all, [("v1", cluster, vec!["things"]), ("v2", cluster, vec!["things"])]);
    }
}
