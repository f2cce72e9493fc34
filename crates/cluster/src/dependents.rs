//! Dependents of objects: the Pods that are deleted with the workload that owns them.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use smol_str::SmolStr;
use tokio::sync::{Mutex, OnceCell};

use super::client::Cluster;
use super::listing::list_metadata;
use super::plan::Object;
use smp_merge::schema::Gvk;
use smp_text::diagnostic::Result;

/// Kinds whose Pods keep running if the object is replaced with `--cascade=orphan`, since the new object adopts them by
/// its selector.
const ADOPTING_KINDS: [&str; 4] = ["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"];

/// Returns true if a new object of the kind adopts the Pods of a deleted one.
pub(crate) fn adopts_pods(gvk: &Gvk) -> bool {
    gvk.group == "apps" && ADOPTING_KINDS.contains(&gvk.kind.as_str())
}

/// Returns true if objects of the kind own Pods, directly or through other objects.
pub(crate) fn has_pods(gvk: &Gvk) -> bool {
    adopts_pods(gvk) || (gvk.group == "batch" && ["Job", "CronJob"].contains(&gvk.kind.as_str()))
}

/// The UIDs of the objects of a kind in a namespace, by the UID of their owner, or the reason why they are unknown.
type Owned = std::result::Result<FxHashMap<String, Vec<String>>, String>;

/// Lists of a kind in a namespace. Each of them is requested once.
type OwnedLists = FxHashMap<(&'static str, SmolStr), Arc<OnceCell<Owned>>>;

/// Counts the Pods that are deleted with a workload. Each list is requested once.
#[derive(Debug)]
pub(crate) struct Dependents<'c> {
    cluster: &'c Cluster,
    lists: Mutex<OwnedLists>,
}

impl<'c> Dependents<'c> {
    pub(crate) fn new(cluster: &'c Cluster) -> Self {
        Self { cluster, lists: Mutex::default() }
    }

    /// Counts the Pods that an object with a UID owns, directly or through ReplicaSets and Jobs.
    ///
    /// # Errors
    /// The reason why the number is unknown.
    pub(crate) async fn count_pods(&self, object: &Object, uid: &str) -> std::result::Result<usize, String> {
        let mut owners = FxHashSet::from_iter([uid.to_string()]);
        for (group, kind) in [("apps", "ReplicaSet"), ("batch", "Job")] {
            let owned = self.owned(group, kind, &object.namespace, &owners).await?;
            owners.extend(owned);
        }
        Ok(self.owned("", "Pod", &object.namespace, &owners).await?.len())
    }

    /// Returns the UIDs of the objects of a kind with one of the owners.
    async fn owned(
        &self,
        group: &'static str,
        kind: &'static str,
        namespace: &SmolStr,
        owners: &FxHashSet<String>,
    ) -> std::result::Result<FxHashSet<String>, String> {
        let list = Arc::clone(self.lists.lock().await.entry((kind, namespace.clone())).or_default());
        let owned =
            list.get_or_init(|| self.list(group, kind, namespace)).await.as_ref().map_err(Clone::clone)?;
        Ok(owners.iter().filter_map(|owner| owned.get(owner)).flatten().cloned().collect())
    }

    async fn list(&self, group: &str, kind: &str, namespace: &str) -> Owned {
        let listed: Result<Vec<Value>> = async {
            self.cluster.discover_all().await?;
            let Some(mapping) = self.cluster.mapping_of(group, kind) else { return Ok(Vec::new()) };
            let listed = list_metadata(self.cluster, &mapping.collection(namespace), "").await?;
            listed.map_err(|api_error| api_error.diagnostic(&self.cluster.endpoint))
        }
        .await;
        let mut owned: FxHashMap<String, Vec<String>> = FxHashMap::default();
        for item in listed.map_err(|problem| problem.message().to_string())? {
            let Some(uid) = item.pointer("/metadata/uid").and_then(Value::as_str) else { continue };
            let references = item.pointer("/metadata/ownerReferences").and_then(Value::as_array);
            for owner in references.into_iter().flatten().filter_map(|owner| owner["uid"].as_str()) {
                owned.entry(owner.to_string()).or_default().push(uid.to_string());
            }
        }
        Ok(owned)
    }
}
