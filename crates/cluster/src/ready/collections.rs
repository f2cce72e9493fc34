//! The collections to watch: those of the objects and, for workloads, those of related objects.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;
use tokio::sync::Notify;

use crate::mapping::ResourceMapping;
use crate::plan::ObjectTarget;
use crate::status::READY;
use crate::watch::{Collection, ObjectContent};
use smp_merge::schema::{Gvk, Schema};

/// The collections, and the objects to find in each.
#[derive(Debug, Default)]
pub(super) struct WatchedCollections {
    pub(super) collections: Vec<Collection>,
    /// The objects of each collection by name, as indices of the targets.
    pub(super) targets: Vec<FxHashMap<SmolStr, usize>>,
    /// By namespace, the gates of collections that are only watched while an object of the namespace is not ready.
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
        let (mut outlook, schema) = (Self::default(), Schema::embedded());
        let is_always_ready = |target: &ObjectTarget<'_>| has_no_status(&schema, &target.object.gvk);
        for (position, target) in targets.iter().enumerate() {
            outlook.add(position, target, is_always_ready(target));
        }
        for target in targets.iter().filter(|target| !target.object.namespace.is_empty()) {
            let namespace = &target.object.namespace;
            if owns_pods(&target.object.gvk) {
                outlook.add_companions(namespace, mapping("v1", "Pod", "pods"), None);
                if target.object.gvk.kind == "Deployment" {
                    outlook.add_companions(namespace, mapping("apps/v1", "ReplicaSet", "replicasets"), None);
                }
            }
            if !is_always_ready(target) {
                outlook.add_companions(namespace, mapping("v1", "Event", "events"), Some("type=Warning"));
            }
        }
        outlook
    }

    fn add(&mut self, position: usize, target: &ObjectTarget<'_>, is_always_ready: bool) {
        let Some(mapping) = &target.mapping else { return };
        let (object, namespace) = (&target.object, target.object.namespace.clone());
        let content = if is_always_ready {
            ObjectContent::MetadataUnlessAnnotated(READY)
        } else {
            ObjectContent::Whole
        };
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

    /// Adds a collection of related objects. It is watched as soon as an object of the namespace is not ready.
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

/// Returns true for built-in kinds without a status. Their objects are ready as soon as they exist, unless they have a
/// readiness rule.
fn has_no_status(schema: &Schema, gvk: &Gvk) -> bool {
    schema.kind(gvk).is_some_and(|kind| !kind.has_field("status"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_without_status_are_ready_as_soon_as_they_exist() {
        let schema = Schema::embedded();
        for (version, kind, expected) in [
            ("v1", "ConfigMap", true),
            ("v1", "ServiceAccount", true),
            ("rbac.authorization.k8s.io/v1", "ClusterRole", true),
            ("storage.k8s.io/v1", "StorageClass", true),
            ("v1", "Service", false),
            ("apps/v1", "Deployment", false),
            ("policy/v1", "PodDisruptionBudget", false),
            ("example.com/v1", "Role", false),
        ] {
            assert_eq!(has_no_status(&schema, &Gvk::from_manifest(version, kind)), expected, "{kind}");
        }
    }
}
