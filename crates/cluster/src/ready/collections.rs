//! The collections to watch: those of the objects, and for workloads those of related objects.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use tokio::sync::Notify;

use crate::mapping::ResourceMapping;
use crate::plan::ObjectTarget;
use crate::status::READY;
use crate::watch::{Collection, ObjectContent};
use smp_merge::schema::Gvk;

/// The collections, and the objects to find in each.
#[derive(Debug, Default)]
pub(super) struct WatchedCollections {
    pub(super) collections: Vec<Collection>,
    /// The objects of each collection by name, as indices of the targets.
    pub(super) targets: Vec<FxHashMap<SmolStr, usize>>,
    /// By namespace, the gates of collections that only matter while an object of the namespace is not ready.
    pub(super) gates: FxHashMap<SmolStr, Vec<Arc<Notify>>>,
    indices: FxHashMap<(Gvk, SmolStr), usize>,
}

/// Returns true if objects of a kind own Pods.
fn owns_pods(gvk: &Gvk) -> bool {
    matches!(gvk.kind.as_str(), "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" | "Job")
        && matches!(gvk.group.as_str(), "apps" | "batch")
}

fn mapping(version: &str, kind: &str, plural: &str) -> ResourceMapping {
    ResourceMapping::new(Gvk::from_manifest(version, kind), plural, true)
}

impl WatchedCollections {
    pub(super) fn new(targets: &[&ObjectTarget<'_>]) -> Self {
        let mut outlook = Self::default();
        for (position, target) in targets.iter().enumerate() {
            outlook.add(position, target);
        }
        for target in targets.iter().filter(|target| !target.object.namespace.is_empty()) {
            let namespace = &target.object.namespace;
            if owns_pods(&target.object.gvk) {
                outlook.add_companions(namespace, mapping("v1", "Pod", "pods"), None);
                if target.object.gvk.kind == "Deployment" {
                    outlook.add_companions(namespace, mapping("apps/v1", "ReplicaSet", "replicasets"), None);
                }
            }
            if !is_always_ready(&target.object.gvk) {
                outlook.add_companions(namespace, mapping("v1", "Event", "events"), Some("type=Warning"));
            }
        }
        outlook
    }

    fn add(&mut self, position: usize, target: &ObjectTarget<'_>) {
        let Some(mapping) = &target.mapping else { return };
        let (object, namespace) = (&target.object, target.object.namespace.clone());
        let is_ready = is_always_ready(&object.gvk);
        let content =
            if is_ready { ObjectContent::MetadataUnlessAnnotated(READY) } else { ObjectContent::Whole };
        let Some(&index) = self.indices.get(&(object.gvk.clone(), namespace.clone())) else {
            let (mapping, name, names) =
                (mapping.clone(), Some(object.name.clone()), vec![object.name.clone()]);
            let collection =
                Collection { mapping, namespace, name, names, fields: None, content, gate: None };
            let index = self.push(collection);
            self.targets[index].insert(object.name.clone(), position);
            return;
        };
        self.collections[index].name = None;
        self.collections[index].names.push(object.name.clone());
        self.targets[index].insert(object.name.clone(), position);
    }

    /// Adds a collection of related objects, which is watched once an object of the namespace is not ready.
    fn add_companions(
        &mut self,
        namespace: &SmolStr,
        mapping: ResourceMapping,
        fields: Option<&'static str>,
    ) {
        if let Some(&index) = self.indices.get(&(mapping.gvk.clone(), namespace.clone())) {
            if self.collections[index].gate.is_none() {
                self.collections[index].name = None;
            }
            return;
        }
        let (gate, content) = (Arc::new(Notify::new()), ObjectContent::Whole);
        self.gates.entry(namespace.clone()).or_default().push(Arc::clone(&gate));
        let namespace = namespace.clone();
        self.push(Collection {
            mapping,
            namespace,
            name: None,
            names: Vec::new(),
            fields,
            content,
            gate: Some(gate),
        });
    }

    fn push(&mut self, collection: Collection) -> usize {
        let index = self.collections.len();
        self.indices.insert((collection.mapping.gvk.clone(), collection.namespace.clone()), index);
        self.collections.push(collection);
        self.targets.push(FxHashMap::default());
        index
    }
}

/// Returns true for kinds that are ready as soon as they exist, unless they have a rule.
fn is_always_ready(gvk: &Gvk) -> bool {
    gvk.group.is_empty() && matches!(gvk.kind.as_str(), "ConfigMap" | "Secret")
}
