//! The objects of a target before and after a change, as the input of rules about dangerous changes.

use rustc_hash::{FxHashMap, FxHashSet};

use super::objects::namespace_of;
use super::reference::pod_template;
use super::values::{requirements, text};
use smp_overlay::resource::{ResId, Resource};
use smp_text::yaml::{Map, Node};
use smp_validate::selects;

/// An object before and after a change.
type Versions<'c> = [Option<&'c Resource>; 2];

/// The objects of a target before and after a change, with indexes for rules.
#[derive(Debug, Default)]
pub struct ChangedTarget<'c> {
    /// The identities of service accounts before and after the change, by their old name.
    service_accounts: FxHashMap<&'c str, Vec<[&'c ResId; 2]>>,
    deleted_namespaces: FxHashSet<&'c str>,
    workloads: Vec<Workload<'c>>,
    /// The indices of the workloads of a namespace.
    by_namespace: FxHashMap<&'c str, Vec<usize>>,
    /// The indices of the workloads whose Pods have a label, by namespace, key and value of the label.
    by_label: FxHashMap<[&'c str; 3], Vec<usize>>,
}

/// A version of a workload or Pod.
#[derive(Debug)]
struct Workload<'c> {
    /// The labels of its Pods.
    labels: Option<&'c Map>,
    is_deleted: bool,
}

impl<'c> ChangedTarget<'c> {
    /// Collects the objects of a target, each before and after the change.
    #[must_use]
    pub fn new(objects: impl IntoIterator<Item = Versions<'c>>) -> Self {
        let mut target = Self::default();
        objects.into_iter().for_each(|versions| target.add(versions));
        target
    }

    /// Returns the identities of a service account before and after the change, or `None` if it is not in the target or
    /// is deleted. A service account without a namespace matches any namespace.
    pub(super) fn service_account(&self, namespace: &str, name: &str) -> Option<[&'c ResId; 2]> {
        let is_meant = |old: &ResId| old.namespace == namespace || old.namespace.is_empty();
        self.service_accounts.get(name)?.iter().copied().find(|[old, _]| is_meant(old))
    }

    /// Returns true if the change deletes all Pods of a namespace that a selector matches: the namespace is deleted, or
    /// the selector matches workloads of the target and all of them are deleted. Returns false for an empty selector,
    /// since it may match Pods of other targets.
    pub(super) fn deletes_selected_pods(&self, namespace: &str, selector: Option<&Node>) -> bool {
        if self.deleted_namespaces.contains(namespace) {
            return true;
        }
        let Some(selector) = selector.filter(|selector| !requirements(Some(selector)).is_empty()) else {
            return false;
        };
        let candidates = self.candidates(namespace, selector).iter().map(|i| &self.workloads[*i]);
        let mut selected = candidates.filter(|workload| selects(selector, workload.labels));
        selected.next().is_some_and(|first| first.is_deleted) && selected.all(|other| other.is_deleted)
    }

    fn add(&mut self, versions: Versions<'c>) {
        if let [Some(old), Some(new)] = versions
            && is_core(old.id(), "ServiceAccount")
        {
            self.service_accounts.entry(&old.id().name).or_default().push([old.id(), new.id()]);
        }
        let is_deleted = versions[1].is_none();
        for version in versions.into_iter().flatten() {
            if is_deleted && is_core(version.id(), "Namespace") {
                self.deleted_namespaces.insert(&version.id().name);
            }
            if let Some(template) = pod_template(version) {
                let labels = template.labels.and_then(Node::as_map);
                self.add_workload(namespace_of(version.id()), Workload { labels, is_deleted });
            }
        }
    }

    fn add_workload(&mut self, namespace: &'c str, workload: Workload<'c>) {
        let i = self.workloads.len();
        self.by_namespace.entry(namespace).or_default().push(i);
        for (key, value) in workload.labels.into_iter().flat_map(Map::iter) {
            let label = [namespace, key, text(Some(value)).unwrap_or_default()];
            self.by_label.entry(label).or_default().push(i);
        }
        self.workloads.push(workload);
    }

    /// Returns the indices of workloads that a selector may match, which are those with its rarest label.
    fn candidates<'s>(&'s self, namespace: &'s str, selector: &'s Node) -> &'s [usize] {
        let labels = selector.get("matchLabels").and_then(Node::as_map).into_iter().flat_map(Map::iter);
        let with_label = labels.map(|(key, value)| {
            let found = self.by_label.get(&[namespace, key, text(Some(value)).unwrap_or_default()]);
            found.map_or(&[][..], Vec::as_slice)
        });
        let all = || self.by_namespace.get(namespace).map_or(&[][..], Vec::as_slice);
        with_label.min_by_key(|found| found.len()).unwrap_or_else(all)
    }
}

fn is_core(id: &ResId, kind: &str) -> bool {
    id.gvk.group.is_empty() && id.gvk.kind == kind
}
