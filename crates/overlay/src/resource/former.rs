//! What a resource was called before.

use std::ops::Deref;

use super::id::ResId;

/// Former ids, the oldest first, without the same one twice in a row.
///
/// kustomize notes the id of a resource before each step that might change it, most of which do not.
#[derive(Debug, Clone, Default)]
pub struct FormerIds {
    ids: Vec<ResId>,
    /// How often each was noted.
    times: Vec<usize>,
}

impl FormerIds {
    /// Notes an id once more.
    pub fn push(&mut self, id: ResId) {
        match self.times.last_mut() {
            Some(times) if self.ids.last().is_some_and(|last| is_written_alike(last, &id)) => *times += 1,
            _ => {
                self.ids.push(id);
                self.times.push(1);
            }
        }
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.ids.clear();
        self.times.clear();
    }

    /// The ids, each as often as it was noted.
    pub fn noted(&self) -> impl Iterator<Item = &ResId> {
        self.ids.iter().zip(&self.times).flat_map(|(id, times)| std::iter::repeat_n(id, *times))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut ResId> {
        self.ids.iter_mut()
    }
}

/// Whether nothing tells two ids apart, not even how they are written.
fn is_written_alike(a: &ResId, b: &ResId) -> bool {
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
        assert_eq!(names(&mut former.noted()), names(&mut ids.iter()));
    }
}
