//! Live objects that were listed before they are applied or compared, and which of them an apply would certainly not
//! change.
//!
//! Server-side apply changes nothing if the manager owns exactly the applied fields with the same values, the kind is
//! built-in (except pods), and no webhook or admission policy handles its updates. The user must have permission to
//! check that and to apply the kind.

mod admission;
mod fields;

use futures::TryStreamExt as _;
use rustc_hash::FxHashSet;
use serde_json::Value;

use super::client::Cluster;
use super::json;
use super::listing::{ListOptions, ListedObject, ListedObjects};
use super::mapping::ResourceMapping;
use super::plan::ObjectTarget;
use super::request::unordered;
use admission::{Admission, may_patch};
use fields::is_unchanged;
use smp_text::diagnostic::Result;

/// Maximum number of parallel access reviews.
const REVIEWS: usize = 8;

/// The listed live objects.
pub(super) type KnownObjects = ListedObjects<KnownObject>;

/// A live object as listed.
#[derive(Debug)]
pub(super) struct KnownObject {
    pub(super) json: Vec<u8>,
    /// True if applying the object would certainly not change it.
    pub(super) is_unchanged: bool,
}

impl KnownObjects {
    /// Lists the live objects where one list request covers many. All others are read one by one later, where
    /// errors are reported as well.
    ///
    /// `manager` is the field manager whose unchanged objects are detected; none if unchanged objects are sent, too.
    pub(super) async fn list_known(
        cluster: &Cluster,
        targets: &[&ObjectTarget<'_>],
        manager: Option<&str>,
    ) -> Self {
        let keep = |target: &ObjectTarget<'_>, object| KnownObject::new(target, object, manager);
        let mut known = Self::list(cluster, targets, ListOptions::WHOLE, keep).await.unwrap_or_default();
        let bypassed = known.find_bypassed(cluster, targets).await.unwrap_or_default();
        known.for_each_present(|collection, object| object.is_unchanged &= bypassed.contains(collection));
        known
    }

    /// Returns the collections whose updates no webhook or policy handles and that the user may apply.
    async fn find_bypassed(
        &self,
        cluster: &Cluster,
        targets: &[&ObjectTarget<'_>],
    ) -> Result<FxHashSet<String>> {
        let collections: FxHashSet<(&ResourceMapping, &str)> = targets
            .iter()
            .filter(|target| {
                matches!(self.get(target), Some(ListedObject::Present(object)) if object.is_unchanged)
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
}

impl KnownObject {
    fn new(target: &ObjectTarget<'_>, object: Value, manager: Option<&str>) -> Self {
        let object = target.listed_item(object);
        let is_same = |manager| {
            let applied = json::decode(&target.body(manager).ok()?).ok()?;
            Some(is_unchanged(&applied, &object, manager))
        };
        let is_unchanged = manager.and_then(is_same).unwrap_or(false);
        Self { json: object.to_string().into_bytes(), is_unchanged }
    }
}
