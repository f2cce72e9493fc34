//! What has changed in a set since the histories of its resources were last brought up to date.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::manifest::Resource;
use smp_merge::cause::{Cause, History, Touched, Writer};

/// Which resources may have changed, and which were deleted.
#[derive(Debug, Clone, Default)]
pub(super) struct SetChanges {
    changed: ChangedPositions,
    /// Each with what deleted it, once that is known.
    deleted: Vec<(Resource, Option<Cause>)>,
    /// What emptied the resources at some positions; they are removed later.
    emptied: FxHashMap<usize, Cause>,
    /// The steps that were noted, in the order in which they were taken.
    writers: Vec<Arc<Writer>>,
}

#[derive(Debug, Clone)]
enum ChangedPositions {
    All,
    /// Those at some positions.
    Some(FxHashMap<usize, Touched>),
}

impl Default for ChangedPositions {
    fn default() -> Self {
        Self::Some(FxHashMap::default())
    }
}

impl SetChanges {
    /// What has changed in two sets of which one becomes: no note is missing when both keep histories.
    pub(super) fn joined(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        match (one, other) {
            (Some(mut one), Some(other)) => {
                one.deleted.extend(other.deleted);
                one.writers.extend(other.writers);
                Some(one)
            }
            (one, other) => one.or(other),
        }
    }

    /// Any resource may have changed, or have another position.
    pub(super) fn all(&mut self) {
        self.changed = ChangedPositions::All;
    }

    /// The resource at a position may have changed.
    pub(super) fn one(&mut self, position: usize, touched: Touched) {
        if let ChangedPositions::Some(positions) = &mut self.changed {
            match positions.entry(position) {
                Entry::Occupied(mut known) => known.get_mut().add(touched),
                Entry::Vacant(new) => drop(new.insert(touched)),
            }
        }
    }

    /// Resources were deleted.
    pub(super) fn gone(&mut self, resources: Vec<Resource>) {
        self.deleted.extend(resources.into_iter().map(|resource| (resource, None)));
    }

    /// A resource was removed by what wrote a value of it; none: by the next step that is noted.
    pub(super) fn removed(&mut self, resource: Resource, by: Option<Cause>) {
        self.deleted.push((resource, by));
    }

    /// Empty resources were removed from these positions, in ascending order; later resources have moved up.
    pub(super) fn dropped(&mut self, positions: &[usize], resources: Vec<Resource>) {
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

    /// Takes note of what a step made of the resources of the set.
    pub(super) fn note(&mut self, resources: &mut [Resource], writer: &Arc<Writer>) {
        match std::mem::take(&mut self.changed) {
            ChangedPositions::All => resources
                .par_iter_mut()
                .filter(|resource| !resource.is_empty())
                .for_each(|resource| note(resource, &Touched::All, writer)),
            ChangedPositions::Some(positions) => {
                for (position, touched) in positions {
                    let Some(resource) = resources.get_mut(position) else { continue };
                    if resource.is_empty() {
                        self.emptied.entry(position).or_insert_with(|| Cause::of(writer));
                        continue;
                    }
                    note(resource, &touched, writer);
                    if let Some(history) = &mut resource.history {
                        history.visit(writer);
                    }
                }
            }
        }
        for (_, cause) in self.deleted.iter_mut().filter(|(_, cause)| cause.is_none()) {
            *cause = Some(Cause::of(writer));
        }
        self.writers.push(Arc::clone(writer));
    }

    /// The steps that were noted.
    pub(super) fn writers(&self) -> &[Arc<Writer>] {
        &self.writers
    }

    /// What was deleted, and what deleted it.
    pub(super) fn deleted(&self) -> impl Iterator<Item = (&Resource, &Cause)> {
        self.deleted.iter().filter_map(|(resource, cause)| Some((resource, cause.as_ref()?)))
    }
}

fn note(resource: &mut Resource, touched: &Touched, writer: &Arc<Writer>) {
    if resource.history.is_some() {
        resource.follow_touched(touched, writer);
    } else {
        resource.history = Some(Box::new(History::new(resource.node(), writer)));
    }
}
