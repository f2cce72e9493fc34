//! The workloads of a build, indexed by the labels of their Pods.

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::objects::namespace_of;
use super::reference::pod_template;
use smp_overlay::resource::Resource;
use smp_text::yaml::{Map, Node};

/// The maximum number of workloads to compare with one selector. If more workloads share a label, nothing is reported.
const CANDIDATES: usize = 1000;

/// A label.
pub(super) type LabelPair<'n> = (&'n str, &'n Node);

/// A workload and the labels of its Pods.
pub(super) type WorkloadLabels<'n> = (Option<&'n Node>, &'n Resource);

/// The workloads of a build, indexed by the labels of their Pods.
#[derive(Default)]
pub(super) struct Workloads<'n> {
    all: Vec<WorkloadLabels<'n>>,
    /// The indices of workloads by namespace, label key and label value.
    by_label: FxHashMap<(&'n str, &'n str, &'n str), Vec<usize>>,
    /// The indices of workloads by namespace.
    by_namespace: FxHashMap<&'n str, Vec<usize>>,
}

impl<'n> Workloads<'n> {
    pub fn new(resources: impl Iterator<Item = &'n Resource>) -> Self {
        let mut workloads = Self::default();
        for resource in resources {
            let Some(template) = pod_template(resource) else { continue };
            let (namespace, position) = (namespace_of(resource.id()), workloads.all.len());
            workloads.all.push((template.labels, resource));
            workloads.by_namespace.entry(namespace).or_default().push(position);
            for (key, value) in template.labels.and_then(Node::as_map).into_iter().flat_map(Map::iter) {
                let Some(value) = value.scalar_text() else { continue };
                workloads.by_label.entry((namespace, key, value.as_str())).or_default().push(position);
            }
        }
        workloads
    }

    /// Returns the workload with the most labels of a selector, and their number. Returns `None` if there are no
    /// candidates or too many.
    pub fn nearest(
        &self,
        namespace: &str,
        selector: &[LabelPair<'_>],
    ) -> Option<(usize, WorkloadLabels<'n>)> {
        let lists = selector.iter().filter_map(|pair| self.with_label(namespace, *pair));
        let fewest = lists.min_by_key(|list| list.len());
        let candidates = fewest.or_else(|| self.in_namespace(namespace))?;
        if candidates.len() > CANDIDATES {
            return None;
        }
        let count = |labels: Option<&Node>| selector.iter().filter(|pair| has_label(labels, **pair)).count();
        let counted = candidates.iter().map(|i| (count(self.all[*i].0), self.all[*i]));
        counted.max_by_key(|(n, _)| *n)
    }

    /// Returns the first workload in a namespace whose labels satisfy a predicate.
    pub fn find(
        &self,
        namespace: &str,
        is_meant: impl Fn(Option<&Node>) -> bool,
    ) -> Option<WorkloadLabels<'n>> {
        let here = self.in_namespace(namespace).filter(|here| here.len() <= CANDIDATES)?;
        here.iter().map(|i| self.all[*i]).find(|(labels, _)| is_meant(*labels))
    }

    /// Returns all workloads that match a selector. Returns an empty list if there are too many candidates.
    pub fn select(&self, namespace: &str, selector: &[LabelPair<'_>]) -> Vec<WorkloadLabels<'n>> {
        let lists = selector.iter().map(|pair| self.with_label(namespace, *pair).unwrap_or_default());
        let fewest = lists.min_by_key(|list| list.len()).unwrap_or_default();
        if fewest.len() > CANDIDATES {
            return Vec::new();
        }
        let candidates = fewest.iter().map(|i| self.all[*i]);
        candidates.filter(|(labels, _)| selector.iter().all(|pair| has_label(*labels, *pair))).collect()
    }

    fn with_label<'a>(&'a self, namespace: &'a str, (key, value): LabelPair<'a>) -> Option<&'a [usize]> {
        let value = value.scalar_text().map_or("", SmolStr::as_str);
        self.by_label.get(&(namespace, key, value)).map(Vec::as_slice)
    }

    fn in_namespace(&self, namespace: &str) -> Option<&[usize]> {
        self.by_namespace.get(namespace).map(Vec::as_slice)
    }
}

/// Returns true if labels contain a pair.
pub(super) fn has_label(labels: Option<&Node>, (key, value): LabelPair<'_>) -> bool {
    labels.and_then(|labels| labels.get(key)).and_then(Node::scalar_text) == value.scalar_text()
}
