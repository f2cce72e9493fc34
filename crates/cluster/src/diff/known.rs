//! Live objects that were listed before each object is compared.

use futures::TryStreamExt as _;
use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value;
use smol_str::SmolStr;
use tokio::sync::Mutex;

use super::admission::{Admission, may_patch};
use super::report::DiffOptions;
use super::unchanged::is_unchanged;
use crate::client::Cluster;
use crate::listing::{ListOptions, ListedObject, ListedObjects};
use crate::mapping::ResourceMapping;
use crate::plan::{ObjectPlan, ObjectTarget};
use crate::request::unordered;
use smp_text::diagnostic::Result;

/// Maximum number of parallel access reviews.
const REVIEWS: usize = 8;

/// The CRDs of a run by name, each with true if it changes. Only those of rejected custom resources are compared.
#[derive(Debug, Default)]
pub(super) struct ChangingCrds(pub(super) Mutex<FxHashMap<SmolStr, bool>>);

/// The listed live objects.
#[derive(Debug, Default)]
pub(super) struct KnownObjects {
    listed: ListedObjects<KnownObject>,
    /// Collections whose updates no webhook or policy handles and that the user may apply.
    bypassed: FxHashSet<String>,
}

/// A live object as listed.
#[derive(Debug)]
pub(super) struct KnownObject {
    pub(super) json: Vec<u8>,
    is_applied: bool,
}

impl KnownObjects {
    /// Lists the live objects where one list request covers many. All others are read one by one later, where
    /// errors are reported as well.
    pub(super) async fn list(cluster: &Cluster, plan: &ObjectPlan<'_>, options: &DiffOptions) -> Self {
        let targets: Vec<_> = plan.targets.iter().collect();
        let keep = |target: &ObjectTarget<'_>, object| KnownObject::new(target, object, options);
        let listed =
            ListedObjects::list(cluster, &targets, ListOptions::WHOLE, keep).await.unwrap_or_default();
        let mut known = Self { listed, bypassed: FxHashSet::default() };
        // Managed fields have a timestamp, which the shortcut does not compare.
        if !options.show_managed_fields {
            known.bypassed = known.find_bypassed(cluster, &targets).await.unwrap_or_default();
        }
        known
    }

    async fn find_bypassed(
        &self,
        cluster: &Cluster,
        targets: &[&ObjectTarget<'_>],
    ) -> Result<FxHashSet<String>> {
        let collections: FxHashSet<(&ResourceMapping, &str)> = targets
            .iter()
            .filter(|target| {
                matches!(self.listed.get(target), Some(ListedObject::Present(object)) if object.is_applied)
            })
            .filter_map(|target| Some((target.mapping.as_ref()?, target.object.namespace.as_str())))
            .collect();
        if collections.is_empty() {
            return Ok(FxHashSet::default());
        }
        let admission = Admission::load(cluster).await?;
        let bypassed = collections.into_iter().filter(|(mapping, _)| admission.is_bypassed(mapping));
        let reviews = bypassed.map(|(mapping, namespace)| async move {
            let may = may_patch(cluster, mapping, namespace).await?;
            Ok(may.then(|| mapping.collection(namespace)))
        });
        let reviews = unordered(reviews, REVIEWS);
        reviews.try_filter_map(|collection| std::future::ready(Ok(collection))).try_collect().await
    }

    /// Returns the listed object, or none if no list covered it.
    pub(super) fn get(&self, target: &ObjectTarget<'_>) -> Option<&ListedObject<KnownObject>> {
        self.listed.get(target)
    }

    /// Returns true if applying an object would certainly not change the live object.
    pub(super) fn is_unchanged(&self, target: &ObjectTarget<'_>, object: &KnownObject) -> bool {
        let collection = target.mapping.as_ref().map(|m| m.collection(&target.object.namespace));
        object.is_applied && collection.is_some_and(|collection| self.bypassed.contains(&collection))
    }
}

impl KnownObject {
    fn new(target: &ObjectTarget<'_>, mut object: Value, options: &DiffOptions) -> Self {
        // Items of a list have no API version and kind.
        if let Some(fields) = object.as_object_mut() {
            fields.insert("apiVersion".into(), target.object.gvk.api_version().as_str().into());
            fields.insert("kind".into(), target.object.gvk.kind.as_str().into());
        }
        let applied = target
            .body(&options.field_manager)
            .ok()
            .and_then(|body| serde_json::from_slice::<Value>(&body).ok());
        let is_settled =
            applied.is_some_and(|applied| is_unchanged(&applied, &object, &options.field_manager));
        Self { json: object.to_string().into_bytes(), is_applied: is_settled }
    }
}
