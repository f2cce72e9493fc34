//! Lists live objects before they are applied or compared, and detects those that an apply would not change.
//!
//! Server-side apply changes nothing if the manager owns exactly the applied fields with the same values, the kind is
//! built-in but not Pod, and no webhook or admission policy handles its updates. The user must have permission to check
//! that and to apply the kind.

mod admission;
mod fields;

use futures::future::{OptionFuture, join3};
use futures::{StreamExt as _, TryStreamExt as _};
use rustc_hash::FxHashSet;
use serde_json::Value;

use super::client::Cluster;
use super::json;
use super::listing::{ListOptions, ListedObject, ListedObjects, unlisted};
use super::mapping::ResourceMapping;
use super::plan::ObjectTarget;
use super::request::{ApiRequest, unordered};
pub(super) use admission::Admission;
use admission::{is_skippable, may_patch};
use fields::is_unchanged;
use smp_text::diagnostic::Result;

/// Maximum number of parallel access reviews.
const REVIEWS: usize = 8;

/// Maximum number of objects that are read in parallel.
const READS: usize = 16;

/// The listed live objects.
pub(super) type KnownObjects = ListedObjects<KnownObject>;

/// A live object as listed.
#[derive(Debug)]
pub(super) struct KnownObject {
    pub(super) json: Vec<u8>,
    /// True if an apply certainly does not change the object.
    pub(super) is_unchanged: bool,
}

impl KnownObjects {
    /// Lists the live objects of collections that contain many of them. Reads the other objects one by one if they need
    /// not be sent when they are unchanged. Objects that cannot be read are read again later, which also reports
    /// errors.
    ///
    /// `manager` is the field manager whose unchanged objects are detected; `None` if unchanged objects are also sent.
    /// `admission` is loaded when it is needed.
    pub(super) async fn list_known(
        cluster: &Cluster,
        targets: &[&ObjectTarget<'_>],
        manager: Option<&str>,
        admission: &mut Option<Admission>,
    ) -> Self {
        let keep = |target: &ObjectTarget<'_>, object| KnownObject::new(target, object, manager);
        let may_be_skipped = |target: &&ObjectTarget<'_>| {
            manager.is_some() && target.mapping.as_ref().is_some_and(is_skippable)
        };
        let unlisted_targets: Vec<_> = unlisted(targets).into_iter().filter(may_be_skipped).collect();
        let is_missing = admission.is_none() && targets.iter().any(may_be_skipped);
        let loaded = OptionFuture::from(is_missing.then(|| Admission::load(cluster)));
        let lists = Self::list(cluster, targets, ListOptions::WHOLE, keep);
        let (known, read, loaded) = join3(lists, read_each(cluster, unlisted_targets), loaded).await;
        let mut known = known.unwrap_or_default();
        for (target, object) in read.unwrap_or_default() {
            known.insert(target, object.map(|object| keep(target, object)));
        }
        if let Some(Ok(loaded)) = loaded {
            *admission = Some(loaded);
        }
        let bypassed = match admission {
            Some(admission) => known.find_bypassed(cluster, targets, admission).await.unwrap_or_default(),
            None => FxHashSet::default(),
        };
        known.for_each_present(|collection, object| object.is_unchanged &= bypassed.contains(collection));
        known
    }

    /// Returns the collections whose updates no webhook or policy handles and that the user may apply.
    async fn find_bypassed(
        &self,
        cluster: &Cluster,
        targets: &[&ObjectTarget<'_>],
        admission: &Admission,
    ) -> Result<FxHashSet<String>> {
        let collections: FxHashSet<(&ResourceMapping, &str)> = targets
            .iter()
            .filter(|target| {
                matches!(self.get(target), Some(ListedObject::Present(object)) if object.is_unchanged)
            })
            .filter_map(|target| Some((target.mapping.as_ref()?, target.object.namespace.as_str())))
            .collect();
        let bypassed = collections.into_iter().filter(|(mapping, _)| admission.is_bypassed(mapping));
        let reviews = bypassed.map(|(mapping, namespace)| async move {
            let may = may_patch(cluster, mapping, namespace).await?;
            Ok(may.then(|| mapping.collection(namespace)))
        });
        let reviews = unordered(reviews, REVIEWS);
        reviews.try_filter_map(|collection| std::future::ready(Ok(collection))).try_collect().await
    }
}

/// Reads objects one by one. Omits those that cannot be read.
///
/// # Errors
/// The server does not respond.
async fn read_each<'t, 'p>(
    cluster: &Cluster,
    targets: Vec<&'t ObjectTarget<'p>>,
) -> Result<Vec<(&'t ObjectTarget<'p>, ListedObject<Value>)>> {
    let reads = targets.into_iter().map(|target| async move {
        let Some(path) = target.served_path() else { return Ok(None) };
        let object = match cluster.send(&ApiRequest::object(path)).await?.into_result() {
            Ok(response) => json::decode(&response.body).ok().filter(|object| target.is_named_as(object)),
            Err(api_error) if api_error.is_not_found() => return Ok(Some((target, ListedObject::Absent))),
            Err(_) => None,
        };
        Ok(object.map(|object| (target, ListedObject::Present(object))))
    });
    unordered(reads, READS).filter_map(|read| std::future::ready(read.transpose())).try_collect().await
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
