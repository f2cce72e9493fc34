//! The expected result of a three-way patch: the values of the manifest, and the additions of other owners.
//!
//! All patches but kubectl's are created from it, and all patches are verified against it.

use rustc_hash::FxHashSet;

use super::conflict::conflict_error;
use crate::merge::Trail;
use crate::merge::align::{self, AlignedEntry};
use crate::merge::apiserver::types::element;
use crate::merge::association::{Association, ListPolicy, is_atomic};
use crate::merge::identity::Identity;
use crate::merge::order::{Rank, permuted, server_order};
use crate::schema::{Cursor, PatchStrategy};
use smp_text::diagnostic::Result;
use smp_text::yaml::{Entry, Map, Node, Value};

/// The treatment of a value that the cluster changed and that the manifest sets to another value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OthersChanges {
    Overwritten,
    Rejected,
}

/// The maps that are replaced as a whole, so that all their fields are those of the manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AtomicMaps {
    /// Maps that are atomic in the schema.
    BySchema,
    /// None: the patch can set single fields of any map.
    None,
}

/// The rules by which the expected result is computed.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExpectedResultRules {
    /// The policy that determines which lists are associative.
    pub policy: ListPolicy,
    pub atomic_maps: AtomicMaps,
    pub others: OthersChanges,
}

/// The versions of one value: last applied (original), desired (modified) and live (current).
struct ValueVersions<'n> {
    original: Option<&'n Node>,
    modified: &'n Node,
    current: Option<&'n Node>,
}

/// The versions of one list.
#[derive(Clone, Copy)]
struct ListVersions<'n> {
    original: &'n [Node],
    modified: &'n [Node],
    current: &'n [Node],
}

impl ExpectedResultRules {
    /// Returns the expected object. `original` and `modified` must not contain nulls, except in fields in which null is
    /// a value.
    ///
    /// # Errors
    /// The manifest and the cluster changed the same value, and the patch must not overwrite changes in the cluster.
    pub fn object(self, original: &Node, modified: &Node, current: &Node, kind: Cursor<'_>) -> Result<Node> {
        let versions = ValueVersions { original: Some(original), modified, current: Some(current) };
        self.value(&versions, kind, PatchStrategy::default(), &Trail::root())
    }

    /// Merges a value. `strategy` is the patch strategy of its field or list.
    fn value(
        self,
        versions: &ValueVersions<'_>,
        cursor: Cursor<'_>,
        strategy: PatchStrategy,
        at: &Trail<'_>,
    ) -> Result<Node> {
        let ValueVersions { original, modified, current } = *versions;
        let value = match (&modified.value, current.map(|node| &node.value)) {
            (Value::Map(modified), Some(Value::Map(current))) if !self.is_atomic_map(cursor) => {
                let none = Map::new();
                let original = original.and_then(Node::as_map).unwrap_or(&none);
                Value::Map(self.maps([current, modified, original], cursor, strategy, at)?)
            }
            (Value::List(modified), Some(Value::List(current))) => {
                let original = original.and_then(Node::as_list).map(Vec::as_slice).unwrap_or_default();
                match self.lists(ListVersions { original, modified, current }, cursor, at)? {
                    Some(list) => Value::List(list),
                    None => return self.atomic_value(versions, at),
                }
            }
            _ => return self.atomic_value(versions, at),
        };
        Ok(Node { value, meta: modified.meta.clone() })
    }

    /// Returns true if a map is replaced as a whole.
    fn is_atomic_map(self, map: Cursor<'_>) -> bool {
        match (self.atomic_maps, self.policy) {
            (AtomicMaps::None, _) => false,
            (AtomicMaps::BySchema, ListPolicy::Apiserver) => map.patch_strategy().replace,
            (AtomicMaps::BySchema, _) => is_atomic(map),
        }
    }

    /// Returns the value of the manifest, which replaces the live one as a whole.
    fn atomic_value(self, versions: &ValueVersions<'_>, at: &Trail<'_>) -> Result<Node> {
        let ValueVersions { original, modified, current } = *versions;
        // In the live object, null is treated as absent.
        let theirs = current.filter(|node| !node.is_null());
        if theirs != Some(modified) && original != theirs {
            self.overwrite(modified, theirs, at)?;
        }
        Ok(modified.clone())
    }

    /// Returns true if a null in the manifest removes the field, as in kubectl.
    fn removes(self, modified: &Node) -> bool {
        self.policy == ListPolicy::Apiserver && modified.is_null()
    }

    fn overwrite(self, ours: &Node, theirs: Option<&Node>, at: &Trail<'_>) -> Result<()> {
        match self.others {
            OthersChanges::Overwritten => Ok(()),
            OthersChanges::Rejected => Err(conflict_error(ours, theirs, at)),
        }
    }

    fn maps(
        self,
        [current, modified, original]: [&Map; 3],
        map: Cursor<'_>,
        strategy: PatchStrategy,
        at: &Trail<'_>,
    ) -> Result<Map> {
        let (mut out, mut others) = (Map::new(), Vec::new());
        let mut is_touched = false;
        for row in align::fields([current, modified, original]) {
            let Some(Entry { key, .. }) = row.into_iter().flatten().next() else { continue };
            let [current, modified, original] = row.map(|entry| entry.map(|entry| &entry.value));
            let here = at.field(&key.text);
            match modified.filter(|node| !self.removes(node)) {
                Some(modified) => {
                    let versions = ValueVersions { original, modified, current };
                    let field = map.field(&key.text);
                    let value = self.value(&versions, field, field.patch_strategy(), &here)?;
                    is_touched |= current != Some(&value);
                    out.push(key.clone(), value);
                }
                // The manifest had the value before, or removes it.
                None if original.is_some() || modified.is_some() => {
                    let Some(theirs) = current else { continue };
                    is_touched = true;
                    match original {
                        Some(ours) if ours != theirs && !theirs.is_null() => {
                            self.overwrite(ours, current, &here)?;
                        }
                        _ => {}
                    }
                }
                None => others.extend(current.map(|node| Entry { key: key.clone(), value: node.clone() })),
            }
        }
        // A union has one member. If the manifest sets another member, the fields of the previous one are removed,
        // including those of other owners. A manifest without any fields of the union does not select another member.
        let selects_other_member = strategy.retain_keys
            && !modified.is_empty()
            && (is_touched || self.policy == ListPolicy::Apiserver);
        if !selects_other_member {
            out.entries_mut().extend(others);
        }
        Ok(out)
    }

    /// Merges the entries of a list. Returns `None` if the list is replaced as a whole.
    fn lists(self, lists: ListVersions<'_>, list: Cursor<'_>, at: &Trail<'_>) -> Result<Option<Vec<Node>>> {
        match Association::of_versions(list, self.policy) {
            Association::Unknown | Association::Atomic => Ok(None),
            Association::Set => set(lists).map(Some),
            association @ Association::Keyed { .. } => {
                let ListVersions { original, modified, current } = lists;
                let Some(rows) = align::entries([current, modified, original], &association) else {
                    return Ok(None);
                };
                // If the manifest changes, adds or removes a key of an entry, the entry keeps the fields that other
                // owners added.
                let rows = match &association {
                    Association::Keyed { keys, .. } => align::join_rekeyed(rows, keys, [1, 2]),
                    _ => rows,
                };
                self.entries(lists, (&rows, &association), list, at).map(Some)
            }
        }
    }

    fn entries(
        self,
        lists: ListVersions<'_>,
        (rows, association): (&[AlignedEntry<3>], &Association),
        list: Cursor<'_>,
        at: &Trail<'_>,
    ) -> Result<Vec<Node>> {
        let (mut nodes, mut ranks) = (Vec::new(), Vec::new());
        for AlignedEntry { identity, positions: [current_at, modified_at, original_at] } in rows {
            let current = current_at.map(|i| &lists.current[i]);
            let original = original_at.map(|i| &lists.original[i]);
            let trail = match association {
                Association::Keyed { keys, .. } => at.named(keys, identity),
                _ => *at,
            };
            match (modified_at.map(|i| &lists.modified[i]), original, current) {
                (Some(modified), ..) => {
                    let versions = ValueVersions { original, modified, current };
                    nodes.push(self.value(&versions, element(list), list.patch_strategy(), &trail)?);
                }
                (None, None, Some(theirs)) => nodes.push(theirs.clone()),
                (None, Some(ours), Some(theirs)) => {
                    if ours != theirs {
                        self.overwrite(ours, current, &trail)?;
                    }
                    continue;
                }
                (None, _, None) => continue,
            }
            ranks.push(Rank { patch: *modified_at, live: *current_at, last: false });
        }
        Ok(permuted(nodes, &server_order(&ranks)))
    }
}

/// Merges a set: the live scalars without those that the manifest removed, then those of the manifest, without
/// duplicates.
fn set(lists: ListVersions<'_>) -> Result<Vec<Node>> {
    let identities = |list: &[Node]| list.iter().map(Identity::from_value).collect::<Result<Vec<_>>>();
    let [current, modified, original] =
        [identities(lists.current)?, identities(lists.modified)?, identities(lists.original)?];
    let kept: FxHashSet<&Identity> = modified.iter().collect();
    let removed: FxHashSet<&Identity> = original.iter().filter(|identity| !kept.contains(identity)).collect();
    let first_positions = |identities: &[Identity]| {
        let mut positions = rustc_hash::FxHashMap::default();
        for (i, identity) in identities.iter().enumerate() {
            positions.entry(identity.clone()).or_insert(i);
        }
        positions
    };
    let (in_current, in_modified) = (first_positions(&current), first_positions(&modified));
    let (mut seen, mut nodes, mut ranks) = (FxHashSet::default(), Vec::new(), Vec::new());
    let all = current.iter().zip(lists.current).chain(modified.iter().zip(lists.modified));
    for (identity, node) in all {
        if !removed.contains(identity) && seen.insert(identity) {
            nodes.push(node.clone());
            let (patch, live) = (in_modified.get(identity).copied(), in_current.get(identity).copied());
            ranks.push(Rank { patch, live, last: false });
        }
    }
    Ok(permuted(nodes, &server_order(&ranks)))
}
