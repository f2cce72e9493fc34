//! Changes of a resource set since the histories of its resources were last updated.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::manifest::Resource;
use smp_merge::cause::{Cause, History, Touched, Writer};

/// The resources of a set that may have changed, and those that were deleted.
#[derive(Debug, Clone, Default)]
pub(super) struct SetChanges {
    changed: ChangedPositions,
    /// The deleted resources, each with its cause when that is known.
    deleted: Vec<(Resource, Option<Cause>)>,
    /// The causes that emptied resources, by position. Empty resources are removed from the set later.
    emptied: FxHashMap<usize, Cause>,
    /// The recorded steps, in order.
    writers: Vec<Arc<Writer>>,
}

#[derive(Debug, Clone)]
enum ChangedPositions {
    All,
    /// The resources at these positions.
    Some(FxHashMap<usize, Touched>),
}

impl Default for ChangedPositions {
    fn default() -> Self {
        Self::Some(FxHashMap::default())
    }
}

impl SetChanges {
    /// Joins the changes of two sets that become one. Nothing is lost if both keep histories.
    pub(super) fn join(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(mut one), Some(other)) => {
                one.deleted.extend(other.deleted);
                one.writers.extend(other.writers);
                Some(one)
            }
            (one, other) => one.or(other),
        }
    }

    /// Marks all resources and their positions as possibly changed.
    pub(super) fn mark_all(&mut self) {
        self.changed = ChangedPositions::All;
    }

    /// Marks the resource at a position as possibly changed.
    pub(super) fn mark(&mut self, position: usize, touched: Touched) {
        if let ChangedPositions::Some(positions) = &mut self.changed {
            match positions.entry(position) {
                Entry::Occupied(mut known) => known.get_mut().add(touched),
                Entry::Vacant(new) => drop(new.insert(touched)),
            }
        }
    }

    /// Records deleted resources.
    pub(super) fn add_deleted(&mut self, resources: Vec<Resource>) {
        self.deleted.extend(resources.into_iter().map(|resource| (resource, None)));
    }

    /// Records a deleted resource. Without a cause, the next recorded step becomes the cause.
    pub(super) fn add_deleted_by(&mut self, resource: Resource, by: Option<Cause>) {
        self.deleted.push((resource, by));
    }

    /// Records that empty resources were removed from these ascending positions, so that later resources
    /// moved up.
    pub(super) fn remove_emptied(&mut self, positions: &[usize], resources: Vec<Resource>) {
        let by: Vec<Option<Cause>> = positions.iter().map(|position| self.emptied.remove(position)).collect();
        self.deleted.extend(resources.into_iter().zip(by));
        if let ChangedPositions::Some(changed) = &mut self.changed {
            let kept = changed.drain().filter(|(position, _)| positions.binary_search(position).is_err());
            let moved = kept.map(|(position, touched)| {
                (position - positions.partition_point(|dropped| *dropped < position), touched)
            });
            *changed = moved.collect::<Vec<_>>().into_iter().collect();
        }
    }

    /// Records a step in the histories of the resources that may have changed.
    pub(super) fn record(&mut self, resources: &mut [Resource], writer: &Arc<Writer>) {
        match std::mem::take(&mut self.changed) {
            ChangedPositions::All => resources
                .par_iter_mut()
                .filter(|resource| !resource.is_empty())
                .for_each(|resource| note(resource, &Touched::All, writer)),
            ChangedPositions::Some(positions) => {
                for (position, touched) in positions {
                    let Some(resource) = resources.get_mut(position) else { continue };
                    if resource.is_empty() {
                        self.emptied.entry(position).or_insert_with(|| Cause::from_writer(writer));
                        continue;
                    }
                    note(resource, &touched, writer);
                    if let Some(history) = &mut resource.history {
                        history.record_selection(writer);
                    }
                }
            }
        }
        for (_, cause) in self.deleted.iter_mut().filter(|(_, cause)| cause.is_none()) {
            *cause = Some(Cause::from_writer(writer));
        }
        self.writers.push(Arc::clone(writer));
    }

    /// Returns the recorded steps.
    pub(super) fn writers(&self) -> &[Arc<Writer>] {
        &self.writers
    }

    /// Returns the deleted resources and the causes of their deletion.
    pub(super) fn deleted(&self) -> impl Iterator<Item = (&Resource, &Cause)> {
        self.deleted.iter().filter_map(|(resource, cause)| Some((resource, cause.as_ref()?)))
    }
}

fn note(resource: &mut Resource, touched: &Touched, writer: &Arc<Writer>) {
    if resource.history.is_some() {
        resource.record_touched(touched, writer);
    } else {
        resource.history = Some(Box::new(History::new(resource.node(), writer)));
    }
}
