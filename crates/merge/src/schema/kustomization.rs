//! Merge rules (list types and list map keys) of kustomization files, derived from the way in which kustomize treats
//! their lists. No schema document contains these rules.

use std::sync::{Arc, LazyLock};

use super::{Directives, Gvk, KindDef, ListType, Model, PatchStrategy, TypeDef, TypeGraph, TypeKind};

const KINDS: [(&str, &str); 3] = [
    ("kustomize.config.k8s.io/v1", "Kustomization"),
    ("kustomize.config.k8s.io/v1beta1", "Kustomization"),
    ("kustomize.config.k8s.io/v1alpha1", "Component"),
];

/// Lists of paths, which merge as sets.
pub const KUSTOMIZATION_PATHS: [&str; 9] = [
    "bases",
    "components",
    "configurations",
    "crds",
    "generators",
    "patchesStrategicMerge",
    "resources",
    "transformers",
    "validators",
];

/// Lists merged by key. An entry of `patches` may lack a path; such a list is atomic.
const KEYED: [(&str, &str); 7] = [
    ("configMapGenerator", "name"),
    ("helmCharts", "name"),
    ("images", "name"),
    ("patches", "path"),
    ("replicas", "name"),
    ("secretGenerator", "name"),
    ("vars", "name"),
];

static KUSTOMIZATION_TYPES: LazyLock<Arc<TypeGraph>> =
    LazyLock::new(|| Arc::new(model().compile().unwrap_or_else(|_| TypeGraph::empty())));

/// Returns the types of kustomization files. They are used only for three-way merges of these files: kustomize itself
/// merges fewer of these lists.
#[must_use]
pub fn kustomization_types() -> Arc<TypeGraph> {
    Arc::clone(&KUSTOMIZATION_TYPES)
}

fn model() -> Model {
    let list = |element, directives| TypeDef {
        element: Some(Box::new(TypeDef::new(element))),
        directives,
        ..TypeDef::new(TypeKind::Array)
    };
    let set = Directives { list_type: Some(ListType::Set), ..Directives::default() };
    let by = |name: &str, key: &str| Directives {
        list_type: Some(ListType::Map),
        list_map_keys: vec![key.into()],
        // The only lists that kustomize itself merges.
        patch_strategy: PatchStrategy { merge: name.ends_with("Generator"), ..PatchStrategy::default() },
        ..Directives::default()
    };
    let sets = KUSTOMIZATION_PATHS.map(|name| (name.into(), list(TypeKind::String, set.clone())));
    let keyed = KEYED.map(|(name, key)| (name.into(), list(TypeKind::Object, by(name, key))));
    let root = TypeDef { fields: sets.into_iter().chain(keyed).collect(), ..TypeDef::new(TypeKind::Object) };
    let kind = |(api_version, kind)| {
        let def = KindDef { root: Some(root.clone()), ..KindDef::default() };
        (Gvk::from_manifest(api_version, kind), def)
    };
    Model { kinds: KINDS.into_iter().map(kind).collect(), ..Model::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_compile() {
        let graph = kustomization_types();
        for (api_version, kind) in KINDS {
            let kind = graph.kind(&Gvk::from_manifest(api_version, kind)).expect("known");
            assert_eq!(kind.field("resources").list_type(), Some(ListType::Set));
            assert_eq!(kind.field("images").list_map_keys().collect::<Vec<_>>(), ["name"]);
        }
    }
}
