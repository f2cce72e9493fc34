//! An ordered set of resources with look-up by id.

use rustc_hash::FxHashMap;

use super::id::ResId;
use super::manifest::{Behavior, Resource};
use super::selector::Selector;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::schema::Schema;
use crate::yaml::Node;

/// Resources in the order in which they were added; no two have the same id.
#[derive(Debug, Clone, Default)]
pub struct ResourceSet {
    resources: Vec<Resource>,
    /// Positions by current id; made on demand, dropped when resources may have changed.
    by_id: Option<FxHashMap<ResId, u32>>,
    /// Positions by former ids, likewise.
    by_former_id: Option<FxHashMap<ResId, Vec<usize>>>,
}

impl ResourceSet {
    /// An empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of resources.
    #[must_use]
    pub fn len(&self) -> usize {
        self.resources.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }

    /// The resources in order.
    #[must_use]
    pub fn as_slice(&self) -> &[Resource] {
        &self.resources
    }

    /// The resources in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Resource> {
        self.resources.iter()
    }

    /// The resources, to change, sort or filter. Ids must stay distinct.
    pub fn resources_mut(&mut self) -> &mut Vec<Resource> {
        self.drop_indices();
        &mut self.resources
    }

    /// Reads all identities anew and drops what is empty.
    pub fn sync(&mut self, schema: &Schema) {
        self.drop_indices();
        self.resources.retain_mut(|r| {
            r.sync(schema);
            !r.is_empty()
        });
    }

    fn drop_indices(&mut self) {
        self.by_id = None;
        self.by_former_id = None;
    }

    fn by_id(&mut self) -> &mut FxHashMap<ResId, u32> {
        self.by_id.get_or_insert_with(|| {
            let position =
                |(i, r): (usize, &Resource)| (r.id().clone(), u32::try_from(i).unwrap_or(u32::MAX));
            self.resources.iter().enumerate().map(position).collect()
        })
    }

    /// The position of the resource that has this id now.
    pub fn position(&mut self, id: &ResId) -> Option<usize> {
        self.by_id().get(id).map(|&i| i as usize)
    }

    /// Adds a resource at the end.
    ///
    /// # Errors
    /// The id is there already; both places are named.
    pub fn append(&mut self, resource: Resource) -> Result<()> {
        if let Some(i) = self.position(resource.id()) {
            return Err(self.twice(i, &resource));
        }
        let position = u32::try_from(self.resources.len()).unwrap_or(u32::MAX);
        self.by_id().insert(resource.id().clone(), position);
        if let Some(index) = &mut self.by_former_id {
            add_former(index, self.resources.len(), &resource);
        }
        self.resources.push(resource);
        Ok(())
    }

    /// Adds all resources of another set at the end.
    ///
    /// # Errors
    /// An id is there already.
    pub fn append_all(&mut self, other: Self) -> Result<()> {
        if self.is_empty() {
            *self = other;
            return Ok(());
        }
        other.resources.into_iter().try_for_each(|r| self.append(r))
    }

    fn twice(&self, first: usize, second: &Resource) -> Diagnostic {
        let id = second.id();
        Diagnostic::error(Code::DuplicateResource, format!("there are two resources with the id {id}"))
            .label(second.node().span().at_start(), "the second one")
            .label(self.resources[first].node().span().at_start(), "the first one")
            .help("rename one, remove one, or make the second a patch of the first")
    }

    /// The positions of all resources that a selector fits.
    #[must_use]
    pub fn select(&self, selector: &Selector) -> Vec<usize> {
        self.resources.iter().enumerate().filter(|(_, r)| selector.matches(r)).map(|(i, _)| i).collect()
    }

    /// The positions of the first `most` resources that had this id.
    fn former(&mut self, id: &ResId, most: usize) -> Vec<usize> {
        let resources = &self.resources;
        let index = self.by_former_id.get_or_insert_with(|| {
            let mut index = FxHashMap::default();
            resources.iter().enumerate().for_each(|(i, resource)| add_former(&mut index, i, resource));
            index
        });
        index.get(id).into_iter().flatten().copied().take(most).collect()
    }

    /// Adds a generated resource, or lets it replace or merge with the one of its id.
    ///
    /// # Errors
    /// A `create` that exists, a `merge` or `replace` that does not, several that fit.
    pub fn absorb(&mut self, resource: Resource, schema: &Schema) -> Result<()> {
        let behavior = resource.generated.unwrap_or_default().behavior;
        let changes = matches!(behavior, Behavior::Merge | Behavior::Replace);
        let found = match self.position(resource.id()) {
            // Earlier names count as well.
            None => self.former(resource.id(), if changes { usize::MAX } else { 1 }),
            Some(i) => vec![i],
        };
        let id = resource.id();
        let at = resource.node().span();
        match (found.as_slice(), changes) {
            ([], false) => self.append(resource),
            ([], true) => Err(Diagnostic::error(
                Code::NoMatch,
                format!("{id} does not exist, so it cannot be merged with or replaced"),
            )
            .at(at)
            .help("use `behavior: create`, or generate it in a base")),
            ([i], true) => {
                let before = self.resources[*i].id().clone();
                self.resources[*i] = join(resource, &self.resources[*i], behavior);
                self.resources[*i].sync(schema);
                if *self.resources[*i].id() != before {
                    self.drop_indices();
                }
                Ok(())
            }
            ([i], false) => {
                let help = "use `behavior: merge` or `behavior: replace` to change the one that exists";
                Err(self.twice(*i, &resource).help(help))
            }
            _ => {
                Err(Diagnostic::error(Code::Ambiguous, format!("several resources could be changed by {id}"))
                    .at(at))
            }
        }
    }
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

fn add_former(index: &mut FxHashMap<ResId, Vec<usize>>, position: usize, resource: &Resource) {
    for id in &resource.previous {
        let positions = index.entry(id.clone()).or_default();
        if positions.last() != Some(&position) {
            positions.push(position);
        }
    }
}

/// Gives a generated resource the name, namespace and history of the one that it replaces, and
/// the union of labels and annotations; for `merge` also of the data.
fn join(mut new: Resource, old: &Resource, behavior: Behavior) -> Resource {
    for field in ["labels", "annotations"] {
        let strings = |r: &Resource| -> Vec<(String, String)> {
            let pairs: Vec<_> = match field {
                "labels" => r.labels().collect(),
                _ => r.annotations().collect(),
            };
            pairs.into_iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
        };
        let mut pairs: std::collections::BTreeMap<_, _> = strings(old).into_iter().collect();
        pairs.extend(strings(&new));
        new.set_strings(field, pairs.iter().map(|(k, v)| (k.as_str(), v.as_str())));
    }
    new.set_name(&old.id().name);
    new.set_namespace(&old.id().namespace);
    if behavior == Behavior::Merge {
        for field in ["data", "binaryData"] {
            join_data(&mut new, old, field);
        }
        new.origin = old.origin.clone().or(new.origin);
    }
    let hash = new.generated.is_some_and(|g| g.name_hash);
    new.generated = old.generated.map(|g| super::Generated { name_hash: g.name_hash && hash, ..g });
    new.transformations.clone_from(&old.transformations);
    new.previous.clone_from(&old.previous);
    new.prefixes.clone_from(&old.prefixes);
    new.suffixes.clone_from(&old.suffixes);
    new.referred_by.clone_from(&old.referred_by);
    new.vars.clone_from(&old.vars);
    new.from_helm = old.from_helm;
    new
}

/// The union of a data field, sorted by key; the new values win. All values become strings.
fn join_data(new: &mut Resource, old: &Resource, field: &str) {
    let entries = |r: &Resource| r.node().get(field).and_then(Node::as_map).cloned().unwrap_or_default();
    let mut union: std::collections::BTreeMap<_, _> =
        entries(old).into_iter().map(|e| (e.key.text.clone(), e)).collect();
    union.extend(entries(new).into_iter().map(|e| (e.key.text.clone(), e)));
    let Some(map) = new.node_mut().as_map_mut() else { return };
    map.remove(field);
    if !union.is_empty() {
        let strings = union.into_values().map(|e| {
            let text = if e.value.is_null() { None } else { e.value.scalar_text().cloned() };
            (e.key, Node::string(text.unwrap_or_default()).with_span(e.value.span()))
        });
        map.push(field, Node::map(strings.collect()));
    }
}
