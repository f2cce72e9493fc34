//! Positions of resources in a set, by what they are and were called.
//!
//! Each index is made when it is first asked. It then follows the set by additions alone: what a resource
//! was called before an update may stay, so that whoever finds a position looks at the resource again.
//! Knows nothing of how resources are changed.

use std::borrow::Borrow;
use std::hash::Hash;
use std::iter;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;
use smol_str::SmolStr;

use super::id::ResId;
use super::manifest::Resource;

/// The indices of one set.
#[derive(Debug, Default)]
pub(super) struct Indices {
    ids: OnceLock<PositionIndex<ResId>>,
    former_ids: OnceLock<PositionIndex<ResId>>,
    names: OnceLock<PositionIndex<SmolStr>>,
    kinds: OnceLock<PositionIndex<SmolStr>>,
}

impl Indices {
    /// Positions of resources that may have this id now.
    pub(super) fn by_id(&self, resources: &[Resource], id: &ResId) -> &[usize] {
        self.ids.get_or_init(|| PositionIndex::of(resources, ids)).get(id)
    }

    /// Positions of resources that may once have had this id.
    pub(super) fn by_former_id(&self, resources: &[Resource], id: &ResId) -> &[usize] {
        self.former_ids.get_or_init(|| PositionIndex::of(resources, former_ids)).get(id)
    }

    /// Positions of resources that may have, or have had, this name.
    pub(super) fn by_name(&self, resources: &[Resource], name: &str) -> &[usize] {
        self.names.get_or_init(|| PositionIndex::of(resources, names)).get(name)
    }

    /// Positions of resources that may be, or have been, of this kind.
    pub(super) fn by_kind(&self, resources: &[Resource], kind: &str) -> &[usize] {
        self.kinds.get_or_init(|| PositionIndex::of(resources, kinds)).get(kind)
    }

    /// Takes note of a resource that is new at a position, or is called otherwise now.
    pub(super) fn add(&mut self, position: usize, resource: &Resource) {
        add_to(&mut self.ids, position, ids(resource));
        add_to(&mut self.former_ids, position, former_ids(resource));
        add_to(&mut self.names, position, names(resource));
        add_to(&mut self.kinds, position, kinds(resource));
    }
}

/// A copy makes indices of its own when it needs any.
impl Clone for Indices {
    fn clone(&self) -> Self {
        Self::default()
    }
}

fn ids(resource: &Resource) -> impl Iterator<Item = &ResId> {
    iter::once(resource.id())
}

fn former_ids(resource: &Resource) -> impl Iterator<Item = &ResId> {
    resource.previous.iter()
}

fn names(resource: &Resource) -> impl Iterator<Item = &SmolStr> {
    resource.ids().map(|id| &id.name)
}

fn kinds(resource: &Resource) -> impl Iterator<Item = &SmolStr> {
    resource.ids().map(|id| &id.gvk.kind)
}

fn add_to<'r, K: Clone + Eq + Hash + 'r>(
    index: &mut OnceLock<PositionIndex<K>>,
    position: usize,
    keys: impl Iterator<Item = &'r K>,
) {
    if let Some(index) = index.get_mut() {
        keys.for_each(|key| index.add(key, position));
    }
}

/// Positions by one sort of key.
#[derive(Debug)]
struct PositionIndex<K>(FxHashMap<K, Positions>);

impl<K: Clone + Eq + Hash> PositionIndex<K> {
    fn of<'r, I: Iterator<Item = &'r K>>(resources: &'r [Resource], keys: impl Fn(&'r Resource) -> I) -> Self
    where
        K: 'r,
    {
        let mut index = Self(FxHashMap::default());
        for (position, resource) in resources.iter().enumerate() {
            keys(resource).for_each(|key| index.add(key, position));
        }
        index
    }

    fn add(&mut self, key: &K, position: usize) {
        match self.0.get_mut(key) {
            Some(positions) => positions.add(position),
            None => drop(self.0.insert(key.clone(), Positions::One([position]))),
        }
    }

    fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> &[usize]
    where
        K: Borrow<Q>,
    {
        self.0.get(key).map_or(&[], Positions::as_slice)
    }
}

/// Ascending positions; a single one, as most are, takes no memory of its own.
#[derive(Debug)]
enum Positions {
    One([usize; 1]),
    Several(Vec<usize>),
}

impl Positions {
    fn as_slice(&self) -> &[usize] {
        match self {
            Self::One(one) => one,
            Self::Several(all) => all,
        }
    }

    fn add(&mut self, position: usize) {
        // Positions come in ascending order, except when a resource is called otherwise.
        let Err(at) = self.as_slice().binary_search(&position) else { return };
        match self {
            Self::One([other]) => {
                let mut both = vec![*other];
                both.insert(at, position);
                *self = Self::Several(both);
            }
            Self::Several(all) => all.insert(at, position),
        }
    }
}
