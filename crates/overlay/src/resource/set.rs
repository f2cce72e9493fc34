//! An ordered set of resources that can be looked up by ID, name and kind.

use std::mem;
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::changes::SetChanges;
use super::copied::Copied;
use super::id::ResId;
use super::index::Indexes;
use super::manifest::Resource;
use super::selector::Selector;
use smp_merge::cause::{Cause, Touched, Writer};
use smp_merge::schema::Schema;
use smp_text::diagnostic::{Code, Diagnostic, Result};

/// Resources in the order in which they were added; no two have the same ID.
///
/// ```
/// use smp_overlay::resource::{Resource, ResourceSet};
/// use smp_merge::schema::Schema;
///
/// let schema = Schema::embedded();
/// let mut set = ResourceSet::new();
/// for name in ["web", "log"] {
///     let text = format!("{{apiVersion: apps/v1, kind: Deployment, metadata: {{name: {name}, namespace: shop}}}}");
///     set.append(Resource::new(text.parse()?, &schema)?)?;
/// }
/// let found: Vec<_> = set.by_name("log").collect();
/// assert_eq!(found, [1]);
/// assert_eq!(set.as_slice()[1].id().to_string(), "Deployment.apps log in namespace shop");
/// let again = Resource::new(set.as_slice()[0].node().clone(), &schema)?;
/// assert!(set.append(again).is_err(), "the id exists");
/// # Ok::<(), smp_text::diagnostic::Diagnostic>(())
/// ```
///
/// [`ResourceSet::update`] and [`ResourceSet::append`] keep the indexes up to date. Other changes that may
/// change IDs drop the indexes, which are then built again at the next use.
#[derive(Debug, Clone, Default)]
pub struct ResourceSet {
    resources: Vec<Resource>,
    indexes: Indexes,
    copied: Copied,
    /// True if IDs may have changed since the last check that they are distinct.
    ids_changed: bool,
    /// The changes since histories were last updated, or `None` if no histories are kept.
    changes: Option<SetChanges>,
}

impl ResourceSet {
    /// Creates an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the number of resources.
    #[must_use]
    pub fn len(&self) -> usize {
        self.resources.len()
    }

    /// Returns true if the set has no resources.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }

    /// Returns the resources in order.
    #[must_use]
    pub fn as_slice(&self) -> &[Resource] {
        &self.resources
    }

    /// Iterates over the resources in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Resource> {
        self.resources.iter()
    }

    /// Returns all resources, to change, sort or filter them. [`ResourceSet::check_ids`] finds IDs that
    /// became equal.
    pub fn resources_mut(&mut self) -> &mut Vec<Resource> {
        self.indexes = Indexes::default();
        self.ids_changed = true;
        if let Some(changes) = &mut self.changes {
            changes.mark_all();
        }
        &mut self.resources
    }

    /// Changes each resource that is not empty, in parallel if there are many.
    ///
    /// # Errors
    /// Returns the error of the first resource for which `change` fails. Resources after it may or may not be changed.
    pub fn change_each(&mut self, change: impl Fn(&mut Resource) -> Result<()> + Sync) -> Result<()> {
        let change_all = |resources: &mut [Resource]| {
            resources.iter_mut().filter(|resource| !resource.is_empty()).try_for_each(&change)
        };
        let resources = self.resources_mut();
        if !is_worth_threads(resources.len()) {
            return change_all(resources);
        }
        let changed: Vec<Result<()>> = resources.par_chunks_mut(CHUNK_SIZE).map(change_all).collect();
        changed.into_iter().collect()
    }

    /// Returns the number of bytes copied into the resources.
    #[must_use]
    pub fn copied(&self) -> Copied {
        self.copied
    }

    /// Sets the number of bytes copied into the resources.
    pub fn set_copied(&mut self, copied: Copied) {
        self.copied = copied;
    }

    /// Counts the bytes of a value that may be copied into each of several resources.
    ///
    /// # Errors
    /// The total exceeds the limit of a build.
    pub fn count_copies(&mut self, bytes: usize, resources: usize) -> Result<()> {
        self.copied.add_to_each(bytes, resources)
    }

    /// Changes the resource at a position and returns the result of `change`, or `None` if the position does
    /// not exist.
    ///
    /// A resource that is empty afterwards is deleted. Lookups no longer find it, but it keeps its position until
    /// [`ResourceSet::remove_empty`] is called.
    pub fn update<R>(&mut self, position: usize, change: impl FnOnce(&mut Resource) -> R) -> Option<R> {
        self.update_touched(position, |resource| (change(resource), Touched::All))
    }

    /// Like [`ResourceSet::update`], but `change` also returns the values that it may have changed. The
    /// histories of all other values are not compared.
    pub(crate) fn update_touched<R>(
        &mut self,
        position: usize,
        change: impl FnOnce(&mut Resource) -> (R, Touched),
    ) -> Option<R> {
        let resource = self.resources.get_mut(position)?;
        let (id, previous) = (resource.id().clone(), resource.previous.clone());
        let (done, touched) = change(resource);
        if let Some(changes) = &mut self.changes {
            changes.mark(position, touched);
        }
        if *resource.id() != id || *resource.previous != *previous {
            self.indexes.add(position, resource);
            self.ids_changed = true;
        }
        Some(done)
    }

    /// Removes empty resources.
    pub fn remove_empty(&mut self) {
        if self.resources.iter().any(Resource::is_empty) {
            self.drop_empty();
        }
    }

    /// Removes the resources for which `is_dropped` returns true. The cause is the last write of the value at
    /// `cause_path`.
    pub fn remove_where(&mut self, cause_path: &[&str], is_dropped: impl Fn(&Resource) -> bool) {
        let dropped: Vec<Resource> =
            self.resources_mut().extract_if(.., |resource| is_dropped(resource)).collect();
        let Some(changes) = &mut self.changes else { return };
        for resource in dropped {
            let writes = resource.history.as_deref().and_then(|history| history.writes_at(cause_path));
            let by = writes.and_then(|writes| writes.first()).map(|last| last.by.clone());
            changes.add_deleted_by(resource, by);
        }
    }

    /// Updates the identities of all resources and removes empty ones.
    pub fn sync(&mut self, schema: &Schema) {
        for resource in self.resources_mut().iter_mut().filter(|resource| !resource.is_empty()) {
            resource.sync(schema);
        }
        self.drop_empty();
    }

    fn drop_empty(&mut self) {
        self.indexes = Indexes::default();
        let positions: Vec<usize> = (0..self.len()).filter(|&i| self.resources[i].is_empty()).collect();
        let gone: Vec<Resource> = self.resources.extract_if(.., |resource| resource.is_empty()).collect();
        if let Some(changes) = &mut self.changes {
            changes.remove_emptied(&positions, gone);
        }
    }

    /// Replaces all resources with others that a function or plugin created from them.
    ///
    /// If histories are kept, the resources at the positions in `kept` were returned and keep their histories; the
    /// others are recorded as deleted.
    pub fn replace(&mut self, others: Self, kept: &FxHashSet<usize>) {
        let (before, changes) = (mem::take(&mut self.resources), self.changes.take());
        *self = Self { changes, ..others };
        if let Some(changes) = &mut self.changes {
            let gone = before.into_iter().enumerate().filter(|(i, _)| !kept.contains(i));
            changes.add_deleted(gone.map(|(_, resource)| resource).collect());
            changes.mark_all();
        }
    }

    /// Starts keeping histories.
    pub fn keep_histories(&mut self) {
        self.changes.get_or_insert_default();
    }

    /// Returns true if histories are kept.
    #[must_use]
    pub fn has_histories(&self) -> bool {
        self.changes.is_some()
    }

    /// Records a step in the histories of the resources that it may have changed, if histories are kept.
    pub fn record(&mut self, writer: &Arc<Writer>) {
        if let Some(changes) = &mut self.changes {
            changes.record(&mut self.resources, writer);
        }
    }

    /// Records a resource that was deleted before it was added to this set.
    pub fn record_deleted(&mut self, resource: Resource, by: &Arc<Writer>) {
        if let Some(changes) = &mut self.changes {
            changes.add_deleted(vec![resource]);
            changes.record(&mut [], by);
        }
    }

    /// Returns the resources that were deleted during the build and the cause of each deletion, if histories
    /// are kept.
    pub fn deleted(&self) -> impl Iterator<Item = (&Resource, &Cause)> {
        self.changes.iter().flat_map(SetChanges::deleted)
    }

    /// Returns the recorded steps in order, if histories are kept.
    #[must_use]
    pub fn writers(&self) -> &[Arc<Writer>] {
        self.changes.as_ref().map(SetChanges::writers).unwrap_or_default()
    }

    /// Returns the position of the resource that has this ID now.
    #[must_use]
    pub fn position(&self, id: &ResId) -> Option<usize> {
        let has_it = |i: &usize| self.is_match(*i, |r| r.id() == id);
        self.indexes.by_id(&self.resources, id).iter().copied().rfind(has_it)
    }

    /// Returns true if another resource has the same ID as the one at a position.
    #[must_use]
    pub fn shares_id(&self, position: usize) -> bool {
        let Some(id) = self.resources.get(position).map(Resource::id) else { return false };
        let same = self.indexes.by_id(&self.resources, id).iter().filter(|&&i| i != position);
        same.copied().any(|i| self.is_match(i, |r| r.id() == id))
    }

    /// Returns the ascending positions of all resources that once had this ID.
    pub fn by_former_id(&self, id: &ResId) -> impl Iterator<Item = usize> {
        let had_it = move |i: &usize| self.is_match(*i, |r| r.previous.contains(id));
        self.indexes.by_former_id(&self.resources, id).iter().copied().filter(had_it)
    }

    /// Returns the ascending positions of all resources that have or had this ID.
    #[must_use]
    pub fn by_any_id(&self, id: &ResId) -> Vec<usize> {
        let has_it = |i: &usize| self.is_match(*i, |r| r.id() == id);
        let now = self.indexes.by_id(&self.resources, id).iter().copied().filter(has_it);
        let mut positions: Vec<usize> = now.chain(self.by_former_id(id)).collect();
        positions.sort_unstable();
        positions.dedup();
        positions
    }

    /// Returns the ascending positions of all resources that have or had this name.
    pub fn by_name(&self, name: &str) -> impl Iterator<Item = usize> {
        let has_it = move |i: &usize| self.is_match(*i, |r| r.ids().any(|id| id.name == name));
        self.indexes.by_name(&self.resources, name).iter().copied().filter(has_it)
    }

    /// Returns the ascending positions of all resources that match a selector.
    #[must_use]
    pub fn select(&self, selector: &Selector) -> Vec<usize> {
        self.find(selector.name.exact(), selector.kind.exact(), |resource| selector.matches(resource))
    }

    /// Returns the ascending positions of all resources for which `fits` returns true.
    ///
    /// With a name, or else a kind, only the resources that have or had it are examined.
    pub fn find(
        &self,
        name: Option<&str>,
        kind: Option<&str>,
        fits: impl Fn(&Resource) -> bool,
    ) -> Vec<usize> {
        let fits = |i: &usize| self.is_match(*i, &fits);
        let candidates = match (name, kind) {
            (Some(name), _) => self.indexes.by_name(&self.resources, name),
            (None, Some(kind)) => self.indexes.by_kind(&self.resources, kind),
            (None, None) => return (0..self.len()).filter(fits).collect(),
        };
        candidates.iter().copied().filter(fits).collect()
    }

    /// Returns true if there is a resource at a position, and `fits` returns true for it.
    fn is_match(&self, position: usize, fits: impl Fn(&Resource) -> bool) -> bool {
        self.resources.get(position).is_some_and(|resource| !resource.is_empty() && fits(resource))
    }

    /// Reserves memory for further resources.
    pub(crate) fn reserve(&mut self, resources: usize) {
        self.resources.reserve(resources);
    }

    /// Appends a resource.
    ///
    /// # Errors
    /// The ID exists in the set. The error has both locations.
    pub fn append(&mut self, resource: Resource) -> Result<()> {
        if let Some(i) = self.position(resource.id()) {
            return Err(self.duplicate_error_with_help(i, &resource));
        }
        self.indexes.add(self.resources.len(), &resource);
        if let Some(changes) = self.changes.as_mut().filter(|_| resource.history.is_none()) {
            changes.mark(self.resources.len(), Touched::All);
        }
        self.resources.push(resource);
        Ok(())
    }

    /// Appends all resources of another set.
    ///
    /// # Errors
    /// An ID exists in this set, or twice in the other one.
    pub fn append_all(&mut self, mut other: Self) -> Result<()> {
        let mut copied = self.copied;
        copied.merge(other.copied);
        let changes = SetChanges::join(self.changes.take(), other.changes.take());
        if self.is_empty() {
            let checked = other.check_ids();
            *self = Self { copied, changes, ..other };
            return checked;
        }
        (self.copied, self.changes) = (copied, changes);
        other.resources.into_iter().try_for_each(|r| self.append(r))
    }

    /// Returns the positions of the first two resources that have the same ID.
    #[must_use]
    pub fn equal_ids(&self) -> Option<[usize; 2]> {
        let mut seen: FxHashMap<&ResId, usize> = FxHashMap::default();
        let mut all = self.resources.iter().enumerate().filter(|(_, resource)| !resource.is_empty());
        all.find_map(|(i, resource)| seen.insert(resource.id(), i).map(|first| [first, i]))
    }

    /// Checks that no two resources have the same ID, since transformers can make IDs equal.
    ///
    /// # Errors
    /// Two resources have the same ID. The error has both locations.
    pub fn check_ids(&mut self) -> Result<()> {
        if !self.ids_changed {
            return Ok(());
        }
        if let Some([first, second]) = self.equal_ids() {
            return Err(self.duplicate_error(first, &self.resources[second]).help(
                "a prefix, suffix, namespace, patch, replacement or variable made them equal: rename one resource, or \
                 change what sets its name or namespace",
            ));
        }
        self.ids_changed = false;
        Ok(())
    }

    /// Creates the error for a resource that has the ID of the resource at a position, with the usual help.
    pub(crate) fn duplicate_error_with_help(&self, first: usize, second: &Resource) -> Diagnostic {
        self.duplicate_error(first, second)
            .help("rename or remove one of them, or make the second one a patch of the first")
    }

    fn duplicate_error(&self, first: usize, second: &Resource) -> Diagnostic {
        let (id, first) = (second.id(), &self.resources[first]);
        let label = |which: &str, resource: &Resource| {
            let mut original = resource.original_id().clone();
            // Former IDs have the namespace `default` where the manifest has none.
            if id.namespace.is_empty() && original.namespace == "default" {
                original.namespace.clone_from(&id.namespace);
            }
            if original == *id { which.to_string() } else { format!("{which}, originally {original}") }
        };
        Diagnostic::error(
            Code::DuplicateResource,
            format!("two resources have the same group, kind, namespace and name: {id}"),
        )
        .label(second.node().span().at_start(), label("second resource", second))
        .label(first.node().span().at_start(), label("first resource", first))
    }
}

/// The number of resources that one task changes.
pub(crate) const CHUNK_SIZE: usize = 64;

/// Returns true if a step on this number of resources is faster in parallel. Within the thread pool it never is,
/// because other targets keep all processors busy.
pub(crate) fn is_worth_threads(resources: usize) -> bool {
    resources >= 4 * CHUNK_SIZE && rayon::current_thread_index().is_none()
}

impl<'s> IntoIterator for &'s ResourceSet {
    type Item = &'s Resource;
    type IntoIter = std::slice::Iter<'s, Resource>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for ResourceSet {
    type Item = Resource;
    type IntoIter = std::vec::IntoIter<Resource>;

    fn into_iter(self) -> Self::IntoIter {
        self.resources.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Pattern;
    use smp_text::source::SourceMap;
    use smp_text::yaml::{Map, Node, ParseOptions, parse_documents};

    const THREE: &str = "{apiVersion: v1, kind: A, metadata: {name: x}}\n---\n\
                         {apiVersion: v1, kind: A, metadata: {name: y, namespace: n}}\n---\n\
                         {apiVersion: v1, kind: B, metadata: {name: x}}\n";

    fn set(text: &str) -> ResourceSet {
        let sources = SourceMap::default();
        let id = sources.add("t.yaml", text);
        let mut set = ResourceSet::new();
        for node in parse_documents(&sources, id, ParseOptions::default()).expect("YAML") {
            set.append(Resource::new(node, &Schema::empty()).expect("a resource")).expect("distinct");
        }
        set
    }

    /// Returns what a selector matches, and checks that the updated indexes, new indexes and a search without
    /// an index agree.
    fn selected(set: &ResourceSet, kind: &str, name: &str) -> Vec<usize> {
        let pattern = |text| Pattern::new(text).expect("valid");
        let selector = Selector { kind: pattern(kind), name: pattern(name), ..Selector::default() };
        let found = set.select(&selector);
        assert_eq!(found, set.clone().select(&selector), "same with new indexes");
        assert_eq!(found, set.find(None, None, |r| selector.matches(r)), "same without an index");
        found
    }

    #[test]
    fn selectors_match_the_same_resources_with_an_index() {
        let mut set = set(THREE);
        assert_eq!(selected(&set, "", "x"), [0, 2]);
        assert_eq!(selected(&set, "A", ""), [0, 1]);
        assert_eq!(selected(&set, "A|B", "x|y"), [0, 1, 2]);
        assert!(selected(&set, "B", "y").is_empty());
        set.update(1, |r| {
            r.store_previous_id();
            r.set_name("z");
        });
        assert_eq!(selected(&set, "", "y"), [1], "the former name");
        assert_eq!(selected(&set, "", "z"), [1], "the current name");
    }

    #[test]
    fn indexes_follow_updates() {
        let mut set = set(THREE);
        let id = |set: &ResourceSet, i: usize| set.as_slice()[i].id().clone();
        let (first, second) = (id(&set, 0), id(&set, 1));
        assert_eq!((set.position(&second), set.by_any_id(&second)), (Some(1), vec![1]));
        set.update(1, |r| {
            r.store_previous_id();
            r.set_name("a");
        });
        assert_eq!((set.position(&second), set.by_any_id(&second)), (None, vec![1]));
        assert_eq!(set.position(&id(&set, 1)), Some(1));
        set.update(0, |r| r.previous.push(second.clone()));
        assert_eq!(set.by_any_id(&second), [0, 1]);
        assert_eq!((set.by_name("x").collect::<Vec<_>>(), set.by_name("y").count()), (vec![0, 2], 2));
        // A former name that was not stored as a former ID is not found.
        set.update(2, |r| r.set_name("q"));
        assert_eq!(set.by_name("x").collect::<Vec<_>>(), [0]);
        // Of two resources with one ID, the last one is found.
        set.update(2, |r| {
            r.set_name("x");
            r.set_kind("A", &Schema::empty());
        });
        assert_eq!((set.position(&first), set.by_any_id(&first)), (Some(2), vec![0, 2]));
        assert_eq!([0, 1, 2].map(|i| set.shares_id(i)), [true, false, true]);
        set.update(2, |r| *r.node_mut() = Node::map(Map::new()));
        assert_eq!(set.by_any_id(&first), [0], "the other was deleted");
        set.remove_empty();
        assert_eq!((set.len(), set.position(&first)), (2, Some(0)));
        assert_eq!(set.update(7, |_| ()), None);
    }
}
