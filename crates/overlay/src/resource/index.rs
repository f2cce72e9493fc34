//! Indexes of the positions of resources in a set, by current and former IDs, names and kinds.
//!
//! Each index is built at its first use. It contains the hashes of keys instead of the keys, which would be much
//! larger. Later, keys are only added to it, so the key that a resource had before an update may remain. For both
//! reasons, callers must check the resource at a position again.

use std::hash::{BuildHasher, Hash};
use std::iter;
use std::sync::OnceLock;

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::id::ResId;
use super::manifest::Resource;

/// The indexes of one set.
#[derive(Debug, Default)]
pub(super) struct Indexes {
    ids: OnceLock<PositionIndex>,
    former_ids: OnceLock<PositionIndex>,
    names: OnceLock<PositionIndex>,
    kinds: OnceLock<PositionIndex>,
}

impl Indexes {
    /// Returns the positions of resources that may have this ID now.
    pub(super) fn by_id(&self, resources: &[Resource], id: &ResId) -> &[usize] {
        self.ids.get_or_init(|| PositionIndex::build(resources, ids)).get(id)
    }

    /// Returns the positions of resources that may once have had this ID.
    pub(super) fn by_former_id(&self, resources: &[Resource], id: &ResId) -> &[usize] {
        self.former_ids.get_or_init(|| PositionIndex::build(resources, former_ids)).get(id)
    }

    /// Returns the positions of resources that may have this name now, or once had it.
    pub(super) fn by_name(&self, resources: &[Resource], name: &str) -> &[usize] {
        self.names.get_or_init(|| PositionIndex::build(resources, names)).get(name)
    }

    /// Returns the positions of resources that may be of this kind now, or once were.
    pub(super) fn by_kind(&self, resources: &[Resource], kind: &str) -> &[usize] {
        self.kinds.get_or_init(|| PositionIndex::build(resources, kinds)).get(kind)
    }

    /// Adds the keys of a resource that is new at a position or has changed its ID.
    pub(super) fn add(&mut self, position: usize, resource: &Resource) {
        add_to(&mut self.ids, position, ids(resource));
        add_to(&mut self.former_ids, position, former_ids(resource));
        add_to(&mut self.names, position, names(resource));
        add_to(&mut self.kinds, position, kinds(resource));
    }
}

/// A clone builds its own indexes when it needs them.
impl Clone for Indexes {
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

fn names(resource: &Resource) -> impl Iterator<Item = &str> {
    resource.ids().map(|id| id.name.as_str())
}

fn kinds(resource: &Resource) -> impl Iterator<Item = &str> {
    resource.ids().map(|id| id.gvk.kind.as_str())
}

fn add_to(index: &mut OnceLock<PositionIndex>, position: usize, keys: impl Iterator<Item = impl Hash>) {
    if let Some(index) = index.get_mut() {
        keys.for_each(|key| index.add(key, position));
    }
}

/// Positions by the hash of one type of key.
#[derive(Debug, Default)]
struct PositionIndex(FxHashMap<u64, Positions>);

impl PositionIndex {
    fn build<'r, I: Iterator<Item: Hash>>(
        resources: &'r [Resource],
        keys: impl Fn(&'r Resource) -> I,
    ) -> Self {
        let mut index = Self::default();
        for (position, resource) in resources.iter().enumerate() {
            keys(resource).for_each(|key| index.add(key, position));
        }
        index
    }

    fn add(&mut self, key: impl Hash, position: usize) {
        let positions = self.0.entry(FxBuildHasher.hash_one(key));
        positions.and_modify(|known| known.add(position)).or_insert(Positions::One([position]));
    }

    fn get(&self, key: impl Hash) -> &[usize] {
        self.0.get(&FxBuildHasher.hash_one(key)).map_or(&[], Positions::as_slice)
    }
}

/// Ascending positions. A single position, the most frequent case, needs no allocation.
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
        // Positions arrive in ascending order, except when a resource changes its ID.
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
