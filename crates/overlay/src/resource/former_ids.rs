//! The former IDs of a resource.

use std::ops::Deref;

use super::id::ResId;

/// Former IDs, the oldest first, without consecutive duplicates.
///
/// kustomize records the ID of a resource before each step that might change it; most steps do not.
#[derive(Debug, Clone, Default)]
pub struct FormerIds {
    ids: Vec<ResId>,
    /// The number of times that each ID was recorded in a row.
    counts: Vec<usize>,
}

/// The number of IDs from which memory for further ones is reserved. Most resources have one or two.
const MANY: usize = 4;

impl FormerIds {
    /// Records an ID.
    pub fn push(&mut self, id: ResId) {
        match self.counts.last_mut() {
            Some(counts) if self.ids.last().is_some_and(|last| is_identical(last, &id)) => *counts += 1,
            _ => {
                if self.ids.len() < MANY {
                    self.ids.reserve_exact(1);
                    self.counts.reserve_exact(1);
                }
                self.ids.push(id);
                self.counts.push(1);
            }
        }
    }

    /// Removes all IDs.
    pub fn clear(&mut self) {
        self.ids.clear();
        self.counts.clear();
    }

    /// Returns the IDs, each as often as it was recorded.
    pub fn with_repeats(&self) -> impl Iterator<Item = &ResId> {
        self.ids.iter().zip(&self.counts).flat_map(|(id, counts)| std::iter::repeat_n(id, *counts))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut ResId> {
        self.ids.iter_mut()
    }
}

/// Returns true if two IDs are identical, including the way the namespace is written.
fn is_identical(a: &ResId, b: &ResId) -> bool {
    a.gvk == b.gvk && a.name == b.name && a.namespace == b.namespace && a.cluster_scoped == b.cluster_scoped
}

impl Deref for FormerIds {
    type Target = [ResId];

    fn deref(&self) -> &[ResId] {
        &self.ids
    }
}

impl FromIterator<ResId> for FormerIds {
    fn from_iter<I: IntoIterator<Item = ResId>>(ids: I) -> Self {
        let mut former = Self::default();
        ids.into_iter().for_each(|id| former.push(id));
        former
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str, namespace: &str) -> ResId {
        ResId { name: name.into(), namespace: namespace.into(), ..ResId::default() }
    }

    #[test]
    fn repetitions_are_counted() {
        let ids = [id("a", ""), id("a", ""), id("a", "default"), id("b", ""), id("a", ""), id("a", "")];
        let former: FormerIds = ids.iter().cloned().collect();
        let names = |ids: &mut dyn Iterator<Item = &ResId>| {
            ids.map(|id| format!("{}/{}", id.namespace, id.name)).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names(&mut former.iter()), "/a default/a /b /a");
        assert_eq!(names(&mut former.with_repeats()), names(&mut ids.iter()));
    }
}
