//! How versions of kustomization files merge, which no document says: by what kustomize makes of their lists.

use std::sync::{Arc, LazyLock};

use super::{Directives, Gvk, KindDef, ListType, Model, TypeDef, TypeGraph, TypeKind};

const KINDS: [(&str, &str); 3] = [
    ("kustomize.config.k8s.io/v1", "Kustomization"),
    ("kustomize.config.k8s.io/v1beta1", "Kustomization"),
    ("kustomize.config.k8s.io/v1alpha1", "Component"),
];

/// Lists of paths, in which none counts twice.
const SETS: [&str; 9] = [
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

/// Lists whose entries have names of their own.
const BY_NAME: [&str; 5] = ["configMapGenerator", "images", "replicas", "secretGenerator", "vars"];

static FILES: LazyLock<Arc<TypeGraph>> =
    LazyLock::new(|| Arc::new(model().compile().unwrap_or_else(|_| TypeGraph::empty())));

/// The types of kustomization files, for merges of their versions alone: kustomize itself knows less.
#[must_use]
pub fn kustomization_files() -> Arc<TypeGraph> {
    Arc::clone(&FILES)
}

fn model() -> Model {
    let list = |element, directives| TypeDef {
        element: Some(Box::new(TypeDef::of(element))),
        directives,
        ..TypeDef::of(TypeKind::Array)
    };
    let set = Directives { list_type: Some(ListType::Set), ..Directives::default() };
    let by_name = Directives {
        list_type: Some(ListType::Map),
        list_map_keys: vec!["name".into()],
        ..Directives::default()
    };
    let sets = SETS.map(|name| (name.into(), list(TypeKind::String, set.clone())));
    let named = BY_NAME.map(|name| (name.into(), list(TypeKind::Object, by_name.clone())));
    let root = TypeDef { fields: sets.into_iter().chain(named).collect(), ..TypeDef::of(TypeKind::Object) };
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
        let graph = kustomization_files();
        for (api_version, kind) in KINDS {
            let kind = graph.kind(&Gvk::from_manifest(api_version, kind)).expect("known");
            assert_eq!(kind.field("resources").list_type(), Some(ListType::Set));
            assert_eq!(kind.field("images").list_map_keys().collect::<Vec<_>>(), ["name"]);
        }
    }
}
