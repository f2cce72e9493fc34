//! The preview of a whole run: the changes of the objects, and the objects that the ApplySet adopts and prunes.

use futures::TryStreamExt as _;
use rustc_hash::{FxHashMap, FxHashSet};
use smol_str::SmolStr;

use super::compare::removal;
use super::report::{DiffOptions, ObjectDiff, PlannedChange, Risk};
use super::{DiffReport, compare_all};
use crate::applyset::{ApplySetEvent, ApplySetOptions, ApplySetRun};
use crate::cascade::Cascade;
use crate::client::Cluster;
use crate::contents::{DeletedObjects, content_key};
use crate::dependents::{Dependents, has_pods};
use crate::json;
use crate::plan::Object;
use crate::protection::{ProtectedKind, reason_not_to_delete};
use crate::request::{ApiRequest, in_order};
use smp_merge::schema::Gvk;
use smp_overlay::resource::Resource;
use smp_text::diagnostic::{Result, counted};

/// Compares objects with the live ones, and adds the objects that their ApplySet would adopt and prune. Changes nothing
/// on the server. The resources get the label of the ApplySet.
///
/// # Errors
/// The errors of [`diff`](super::diff()), or the parent of the ApplySet cannot be used, or its members cannot be
/// listed.
pub fn preview(
    cluster: &Cluster,
    resources: &mut [Resource],
    options: &DiffOptions,
    set: Option<ApplySetOptions>,
    report: &mut (dyn FnMut(ApplySetEvent<'_>) + Send),
) -> Result<DiffReport> {
    let Some(set) = set else { return compare_all(cluster, resources, options, None) };
    let set = ApplySetRun::preview(cluster, set, resources, &options.apply)?;
    let (adopted, limit_error) = (set.adopted().to_vec(), set.limit_error().cloned());
    let parent_namespace = Some(set.parent_namespace()).filter(|name| !name.is_empty());
    let pruned = set.prune(report)?;
    let mut found = compare_all(cluster, resources, options, parent_namespace)?;
    let mut removed = cluster.block_on(removals(cluster, &pruned.pruned, options))?;
    found.add_adopted(&adopted);
    found.connect_moves(&mut removed);
    found.add_removals(removed);
    found.kept = pruned.kept;
    found.problems.extend(limit_error);
    Ok(found)
}

/// Returns the diffs of objects that would be deleted. Objects that no longer exist are omitted.
async fn removals(cluster: &Cluster, objects: &[Object], options: &DiffOptions) -> Result<Vec<ObjectDiff>> {
    let kinds: FxHashSet<&Gvk> = objects.iter().map(|object| &object.gvk).collect();
    cluster.discover(&kinds.into_iter().cloned().collect::<Vec<_>>()).await?;
    let read = objects.iter().map(|object| async move {
        let Some(mapping) = cluster.mapping(&object.gvk) else { return Ok(None) };
        let path = mapping.path(&object.namespace, &object.name);
        let Some(response) = cluster.find(&ApiRequest::object(path)).await? else { return Ok(None) };
        let live = cluster.parse_response(json::parse_object, &response)?;
        Ok(Some(removal(object, live, options)))
    });
    let read = in_order(read, options.apply.parallel);
    let mut removed: Vec<ObjectDiff> =
        read.try_filter_map(|found| std::future::ready(Ok(found))).try_collect().await?;
    let loss = Loss {
        cluster,
        cascade: options.apply.cascade,
        gone: deleted_objects(&removed),
        dependents: Dependents::new(cluster),
    };
    for one in &mut removed {
        let risk = loss.risk(one).await?;
        one.risks.extend(risk);
    }
    Ok(removed)
}

fn deleted_objects(removed: &[ObjectDiff]) -> DeletedObjects {
    let uids = removed.iter().filter_map(|one| Some(one.version.as_ref()?.uid.clone()));
    let names =
        removed.iter().map(|one| content_key(&one.object.gvk, &one.object.namespace, &one.object.name));
    DeletedObjects { uids: uids.collect(), names: names.collect() }
}

/// Finds the objects that are deleted together with pruned objects.
struct Loss<'c> {
    cluster: &'c Cluster,
    cascade: Cascade,
    /// The objects that are pruned themselves.
    gone: DeletedObjects,
    dependents: Dependents<'c>,
}

impl Loss<'_> {
    async fn risk(&self, one: &ObjectDiff) -> Result<Option<(Risk, String)>> {
        let object = &one.object;
        let Some(mapping) = self.cluster.mapping(&object.gvk) else { return Ok(None) };
        if let Some(kind) = ProtectedKind::from_gvk(&object.gvk) {
            let path = mapping.path(&object.namespace, &object.name);
            let reason = reason_not_to_delete(self.cluster, (object, &path), kind, &self.gone).await?;
            return Ok(reason.map(|reason| (Risk::DataLoss, reason)));
        }
        let Some(version) = one.version.as_ref().filter(|_| has_pods(&object.gvk)) else { return Ok(None) };
        if self.cascade == Cascade::Orphan {
            return Ok(None);
        }
        let text = match self.dependents.count_pods(object, &version.uid).await {
            Ok(0) => return Ok(None),
            Ok(pods) => format!("{} would be deleted with it", counted(pods, "Pod")),
            Err(reason) => format!("all of its Pods would be deleted with it ({reason})"),
        };
        Ok(Some((Risk::Downtime, text)))
    }
}

/// The identity of an object, whatever its version and namespace are.
type MovedKey = (SmolStr, SmolStr, SmolStr);

fn moved_key(Object { gvk, name, .. }: &Object) -> MovedKey {
    (gvk.group.clone(), gvk.kind.clone(), name.clone())
}

impl DiffReport {
    fn add_adopted(&mut self, adopted: &[Object]) {
        let adopted: FxHashSet<&Object> = adopted.iter().collect();
        for one in self.objects.iter_mut().filter(|one| adopted.contains(&one.object)) {
            let text = "it exists, and the ApplySet did not create it";
            one.risks.push((Risk::Adoption, text.into()));
            if one.change != PlannedChange::Replaced {
                one.change = PlannedChange::Adopted;
            }
        }
        let notes = adopted.iter().map(|object| {
            format!("{object} would be adopted: it exists, and the ApplySet did not create it")
        });
        self.notes.extend(notes);
    }

    /// Connects each pruned object with the new object of the same name in another namespace, unless there are several.
    fn connect_moves(&mut self, removed: &mut [ObjectDiff]) {
        let mut new: FxHashMap<MovedKey, Vec<&mut ObjectDiff>> = FxHashMap::default();
        for one in self.objects.iter_mut().filter(|one| one.change == PlannedChange::Created) {
            new.entry(moved_key(&one.object)).or_default().push(one);
        }
        let mut old: FxHashMap<MovedKey, Vec<&mut ObjectDiff>> = FxHashMap::default();
        for one in removed.iter_mut() {
            old.entry(moved_key(&one.object)).or_default().push(one);
        }
        for (key, mut new) in new {
            let ([to], Some([from])) = (new.as_mut_slice(), old.get_mut(&key).map(Vec::as_mut_slice)) else {
                continue;
            };
            to.change = PlannedChange::Moved;
            to.moved = Some(from.object.namespace.clone());
            from.moved = Some(to.object.namespace.clone());
        }
    }

    /// Adds the objects that would be pruned, except those that are shown as the predecessor of a new object.
    fn add_removals(&mut self, removed: Vec<ObjectDiff>) {
        let predecessor = |one: &ObjectDiff| {
            let name = one.predecessor.as_deref()?.into();
            Some(Object { name, ..one.object.clone() })
        };
        let shown: FxHashSet<Object> = self.objects.iter().filter_map(predecessor).collect();
        self.objects.extend(removed.into_iter().filter(|one| !shown.contains(&one.object)));
    }
}
